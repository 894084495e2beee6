package expr

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// dump prints the tree with full parentheses.
func dump(n Node) string {
	switch x := n.(type) {
	case *Word:
		return x.Name
	case *Int:
		return fmt.Sprint(x.Value)
	case *Text:
		return "'" + x.Value + "'"
	case *Field:
		return dump(x.X) + "." + x.Name
	case *Unary:
		return "(" + x.Op + " " + dump(x.X) + ")"
	case *Binary:
		return "(" + dump(x.X) + " " + x.Op + " " + dump(x.Y) + ")"
	case *In:
		return fmt.Sprintf("(in %v %s %s)", x.Not, dump(x.X), dump(x.List))
	case *Cond:
		return "(" + dump(x.X) + " if " + dump(x.If) + " else " + dump(x.Y) + ")"
	case *Call:
		var a []string
		for _, y := range x.Args {
			a = append(a, dump(y))
		}
		s := x.Func + "(" + strings.Join(a, ", ")
		if x.Where != nil {
			s += " where " + dump(x.Where)
		}
		if x.Ops {
			s += " ops"
		}
		return s + ")"
	case *The:
		return "(the " + x.Name + " where " + dump(x.Where) + ")"
	case *Each:
		return "(each " + x.Name + ")"
	case *List:
		var a []string
		for _, y := range x.Items {
			a = append(a, dump(y))
		}
		return "[" + strings.Join(a, ", ") + "]"
	case *Range:
		return fmt.Sprintf("%d .. %d", x.Lo, x.Hi)
	}
	return "?"
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ in, want, reason string }{
		{"m.op", "m.op", "field access"},
		{"r.token + 1", "(r.token + 1)", "sum of a field"},
		{"rec != none and rec.status == COMPLETED", "((rec != none) and (rec.status == COMPLETED))", "and is looser than comparison"},
		{"a or b and not c == d", "(a or (b and (not (c == d))))", "not is looser than comparison, tighter than and"},
		{"epoch < t.epoch or epoch == t.epoch and not open", "((epoch < t.epoch) or ((epoch == t.epoch) and (not open)))", "report 83"},
		{"a - b - c", "((a - b) - c)", "left to right"},
		{"a implies b implies c", "(a implies (b implies c))", "implies nests to the right"},
		{"q.route if scope == route_key else none", "(q.route if (scope == route_key) else none)", "report 11"},
		{"hash(q.op, token)", "hash(q.op, token)", "call"},
		{"count(sends where n > 1 ops) <= spent(crash)", "(count(sends where (n > 1) ops) <= spent(crash))", "report 39"},
		{"not exists(cache where v < 2)", "(not exists(cache where (v < 2)))", "report 112"},
		{"unique == []", "(unique == [])", "report 67"},
		{"state in [S, A]", "(in false state [S, A])", "membership"},
		{"state not in [S]", "(in true state [S])", "negated membership"},
		{"the req where n == 2", "(the req where (n == 2))", "finds an operation"},
		{"each job", "(each job)", "one per operation"},
		{"0 .. 3", "0 .. 3", "range"},
		{"-1 .. 3", "-1 .. 3", "negative range"},
		{"the", "the", "a word is a keyword only where it must be"},
		{"x == 'a b'", "(x == 'a b')", "text"},
		{"((a))", "a", "parentheses leave no trace"},
	} {
		n, err := ParseOrRange(c.in)
		if err != nil {
			t.Errorf("%s: %q: %v", c.reason, c.in, err)
			continue
		}
		if got := dump(n); got != c.want {
			t.Errorf("%s: %q: got %s, want %s", c.reason, c.in, got, c.want)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		in     string
		start  int
		part   string
		reason string
	}{
		{"entry != = none", 9, "'='", "e6: the stray ="},
		{"a = b", 2, "'='", "assignment for comparison"},
		{"a && b", 2, "'&&'", "other language"},
		{"a == ", 5, "the end of the expression", "cut short"},
		{"hash(a, b", 9, "')'", "open parenthesis"},
		{"a < b < c", 6, "chain", "chained comparison"},
		{"a b", 2, "an operator", "two values"},
		{"30s", 0, "'30s'", "duration in an expression"},
		{"'abc", 0, "closing", "open text"},
		{"a.", 2, "a field name", "field missing"},
		{"x if y", 6, "'else'", "half a conditional"},
		{"3 .. 1", 5, "smaller to a larger", "empty range"},
		{"12345678901", 0, "nine digits", "too large"},
		{"a ~ b", 2, "'~'", "unknown character"},
		{"", 0, "a value", "nothing"},
		{strings.Repeat("(", 100) + "a", 60, "levels deep", "nesting"},
	} {
		_, err := ParseOrRange(c.in)
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%s: %q: no error", c.reason, c.in)
			continue
		}
		if e.Start != c.start || !strings.Contains(e.Error()+e.Expected+e.Found, c.part) {
			t.Errorf("%s: %q: got %d %q (%s)", c.reason, c.in, e.Start, e.Error(), e.Found)
		}
	}
}

// FuzzParse: no panic, spans inside the text and inside the parent's span.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"a.b + 1 == c and not d", "count(x where y == 'z')", "a if b else c", "[a, b]", "0 .. 3", "the x where y", "((", "ü.x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseOrRange(s)
		length := len([]rune(s))
		if err != nil {
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("not an *Error: %v", err)
			}
			if e.Start < 0 || e.Start > length+1 {
				t.Fatalf("error outside the text: %d of %d", e.Start, length)
			}
			return
		}
		Walk(n, func(x Node) {
			if a, b := x.Span(); a < 0 || b > length || a >= b {
				t.Fatalf("%T has span %d..%d of %d", x, a, b, length)
			}
		})
	})
}
