package diag

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestClosest(t *testing.T) {
	known := []string{"insert", "update", "select", "promises", "processes", "ledger"}
	for _, c := range []struct{ word, want, reason string }{
		{"insrt", "insert", "a letter left out"},
		{"promisses", "promises", "a letter too many"},
		{"legder", "ledger", "two neighbours swapped count once"},
		{"UPDATE", "update", "case does not matter"},
		{"frobnicate", "", "nothing is near"},
		{"", "", "nothing to compare"},
	} {
		got, ok := Closest(c.word, known)
		if got != c.want || ok != (c.want != "") {
			t.Errorf("Closest(%q) = %q, %v; want %q (%s)", c.word, got, ok, c.want, c.reason)
		}
	}
}

func TestDistanceIsSymmetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-d]{0,8}`)
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		d := distance(a, b)
		if d != distance(b, a) || (d == 0) != (a == b) || d > max(len(a), len(b)) {
			t.Fatalf("distance(%q, %q) = %d, the other way %d", a, b, d, distance(b, a))
		}
	})
}

func TestListSortsDropsTwinsAndKeepsWarnings(t *testing.T) {
	var l List
	if l.Err() != nil {
		t.Fatal("an empty list is an error")
	}
	l.Warnf(Pos{File: "a", Line: 9, Column: 1}, "W1", "odd")
	if l.Err() != nil {
		t.Fatal("a warning alone is an error")
	}
	l.Errorf(Pos{File: "b", Line: 1, Column: 1}, "E2", "second file")
	l.Errorf(Pos{File: "a", Line: 2, Column: 5}, "E1", "later column")
	l.Errorf(Pos{File: "a", Line: 2, Column: 1}, "E1", "earlier column")
	l.Errorf(Pos{File: "a", Line: 2, Column: 1}, "E1", "earlier column")
	var e *Err
	if err := l.Err(); !errors.As(err, &e) {
		t.Fatalf("Err() = %v, want *Err", err)
	}
	want := "a:2:1: earlier column  [E1]\na:2:5: later column  [E1]\na:9:1: warning: odd  [W1]\nb:1:1: second file  [E2]"
	if e.Error() != want {
		t.Errorf("got\n%s\nwant\n%s", e.Error(), want)
	}
}

func TestRender(t *testing.T) {
	src := "one\r\n  - effect moves_money happens at most one time\r\n"
	var b strings.Builder
	Render(&b, []Diagnostic{{
		Code: "RP031", Pos: Pos{File: "inbox.yaml", Line: 2, Column: 32, EndColumn: 48},
		Expected: "'at most once' or 'exactly once'", Found: "'at most one time'",
		Hint: "did you mean: effect moves_money happens at most once per transfer",
	}}, map[string][]byte{"inbox.yaml": []byte(src)}, false)
	want := `inbox.yaml:2:32: expected 'at most once' or 'exactly once', found 'at most one time'  [RP031]
   2 |   - effect moves_money happens at most one time
     |                                ^^^^^^^^^^^^^^^^
  hint: did you mean: effect moves_money happens at most once per transfer
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func FuzzRender(f *testing.F) {
	f.Add([]byte("a\tb\n"), 1, 2, 3)
	f.Add([]byte("\xff\n"), 1, 900, -3)
	f.Fuzz(func(t *testing.T, src []byte, line, col, end int) {
		var b strings.Builder
		p := Pos{File: "f", Line: min(line, 1000), Column: min(col, 100000), EndColumn: min(end, 100000)}
		Render(&b, []Diagnostic{{Pos: p, Message: "m"}}, map[string][]byte{"f": src}, true)
	})
}
