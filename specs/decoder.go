package specs

import (
	"errors"
	"fmt"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/quantity"
	"github.com/relplan/relplan/internal/yamlx"
	"github.com/relplan/relplan/specs/ast"
)

// Limits of the language, far above what a search could explore.
const (
	maxInstances  = 64
	maxOperations = 64
	maxBudget     = 100
	maxSteps      = 2000 // of one process
)

// decoder turns the nodes of one file into the Spec of one variant. What is
// wrong goes to l; what depends on something wrong is left out silently.
type decoder struct {
	l      *diag.List
	file   string
	root   *yamlx.Node
	spec   *ast.Spec
	params map[string]*param // by name, with the value of this variant
	order  []*param

	resources map[string]*ast.Resource
	tables    map[string]*ast.Table
	ops       map[string]*ast.Operation
	procs     map[string]*ast.Process
	effects   map[string]*ast.Effect
	durations map[string]*ast.Duration
	faults    map[string][]*ast.Fault // by name; present with an empty list for budget 0
	declared  map[string]bool         // names whose declaration was wrong: no cascade

	raw      map[*ast.Process]*rawProcess
	inf      *inferer
	excluded []*rawStep // by only:
	kvFields map[*ast.Resource][]string
	later    []func() // run after every name is declared

	noOps  bool                  // no operations: their names are not reported
	loose  map[*ast.Process]bool // its trigger is wrong: unknown names are not reported
	writes map[*ast.Column]bool  // named in a row or set of some variant
	hints  map[string]bool       // sections that an unknown key was meant for
	syms   map[string]diag.Pos
}

var nameForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
var variantForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
var symbolForm = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)

// sub gives the node that stands for n: the parameter's value where n is `$name`.
func (d *decoder) sub(n *yamlx.Node) *yamlx.Node {
	if n.Kind() != yamlx.Scalar || n.Quoted() || !strings.HasPrefix(n.Value(), "$") {
		return n
	}
	name := n.Value()[1:]
	if !nameForm.MatchString(name) {
		return n
	}
	p, ok := d.params[name]
	if !ok {
		d.unknown(n.Pos(), "RP050", "parameter", "$"+name, d.paramNames("$"))
		return nil
	}
	return p.value
}

func (d *decoder) paramNames(prefix string) []string {
	var out []string
	for _, p := range d.order {
		out = append(out, prefix+p.name)
	}
	return out
}

func (d *decoder) errorf(p diag.Pos, code, format string, a ...any) {
	d.l.Errorf(p, code, format, a...)
}

// wanted adds "expected X, found Y" at n.
func (d *decoder) wanted(n *yamlx.Node, at diag.Pos, code, expected, hint string) {
	if n != nil {
		at = n.Pos()
	}
	d.l.Add(diag.Diagnostic{Code: code, Pos: at, Message: "expected " + expected + ", found " + n.Describe(),
		Found: n.Describe(), Expected: expected, Hint: hint})
}

// suggest gives the known word nearest to word, also by prefix: `msg` for `m`.
func suggest(word string, known []string) (string, bool) {
	if c, ok := diag.Closest(word, known); ok {
		return c, true
	}
	best := ""
	for _, k := range known {
		if k == "" {
			continue
		}
		if (strings.HasPrefix(word, k) || strings.HasPrefix(k, word)) && len(k) > len(best) {
			best = k
		}
	}
	if best != "" {
		return best, true
	}
	// words of a name in another order or number: inbox_rows for rows_inbox
	for _, k := range known {
		if len(word) > 3 && len(k) > 3 && (strings.Contains(k, word) || strings.Contains(word, k)) {
			return k, true
		}
	}
	return "", false
}

func (d *decoder) unknown(p diag.Pos, code, what, name string, known []string) {
	if d.declared[name] {
		return // its own declaration is already an error
	}
	dg := diag.Diagnostic{Code: code, Pos: p, Message: fmt.Sprintf("unknown %s '%s'", what, name), Found: "'" + name + "'"}
	if c, ok := suggest(name, known); ok {
		dg.Hint = "did you mean: " + c
	} else if len(known) > 0 && len(known) <= 12 {
		k := append([]string(nil), known...)
		sort.Strings(k)
		dg.Hint = "known: " + strings.Join(k, ", ")
	} else if len(known) == 0 {
		dg.Hint = "none is declared"
	}
	d.l.Add(dg)
}

// trap reports what YAML does to `key: hash(a, b)` in a flow mapping: it splits
// at the comma without an error. It says whether there was one.
func (d *decoder) trap(n *yamlx.Node) bool {
	bad := false
	for i, e := range n.Entries() {
		v := e.Value
		if v.Kind() == yamlx.Scalar && !v.Quoted() && opens(v.Value()) > 0 && i+1 < len(n.Entries()) {
			next := n.Entries()[i+1]
			if next.Value.Kind() == yamlx.Null {
				d.l.Add(diag.Diagnostic{Code: "RP005", Pos: v.Pos(), Found: v.Describe(),
					Message: fmt.Sprintf("the comma in '%s, %s' ends the value: YAML reads %q as a key of its own", v.Value(), next.Key.Value(), next.Key.Value()),
					Hint:    fmt.Sprintf("quote it: %s: \"%s, %s\", or write the mapping on several lines", e.Key.Value(), v.Value(), next.Key.Value())})
				bad = true
			}
		}
		if v.Kind() == yamlx.Null && !bad && opens(e.Key.Value()) < 0 {
			d.l.Add(diag.Diagnostic{Code: "RP005", Pos: e.Key.Pos(), Found: e.Key.Describe(),
				Message: fmt.Sprintf("a key %q without a value: YAML has split an expression at its comma", e.Key.Value()),
				Hint:    "quote the whole expression, or write the mapping on several lines"})
			bad = true
		}
	}
	return bad
}

// opens is the number of parentheses opened and not closed.
func opens(s string) int {
	return strings.Count(s, "(") - strings.Count(s, ")") + strings.Count(s, "[") - strings.Count(s, "]")
}

// mapping gives the entries of n, or says that a mapping was expected.
func (d *decoder) mapping(n *yamlx.Node, at diag.Pos, what string) []yamlx.Entry {
	n = d.sub(n)
	switch n.Kind() {
	case yamlx.Mapping:
		if d.trap(n) {
			return nil
		}
		return n.Entries()
	case yamlx.Null:
		if n == nil {
			return nil
		}
	}
	d.wanted(n, at, "RP004", what, "")
	return nil
}

// keys reports the keys of n that are not known.
func (d *decoder) keys(n *yamlx.Node, known ...string) { yamlx.UnknownKeys(n, d.l, "RP002", known...) }

// lacks says whether n has no such key, nor one that was meant to be it.
func (d *decoder) lacks(n *yamlx.Node, key string) bool {
	for _, e := range n.Entries() {
		if c, _ := diag.Closest(e.Key.Value(), []string{key}); e.Key.Value() == key || c == key {
			return false
		}
	}
	return true
}

// word reads a plain word.
func (d *decoder) word(n *yamlx.Node, at diag.Pos, what string) (string, bool) {
	n = d.sub(n)
	if n.Kind() != yamlx.Scalar {
		d.wanted(n, at, "RP004", what, "")
		return "", false
	}
	return n.Value(), true
}

// oneOf reads a word of a closed list.
func (d *decoder) oneOf(n *yamlx.Node, at diag.Pos, words ...string) (string, bool) {
	n = d.sub(n)
	expected := strings.Join(words, ", ")
	if i := strings.LastIndex(expected, ", "); i >= 0 {
		expected = expected[:i] + " or " + expected[i+2:]
	}
	if n.Kind() == yamlx.Scalar {
		for _, w := range words {
			if n.Value() == w {
				return w, true
			}
		}
		hint := ""
		if c, ok := diag.Closest(n.Value(), words); ok {
			hint = "did you mean: " + c
		}
		d.wanted(n, at, "RP004", expected, hint)
		return "", false
	}
	d.wanted(n, at, "RP004", expected, "")
	return "", false
}

// flag reads true or false.
func (d *decoder) flag(n *yamlx.Node, at diag.Pos) bool {
	n = d.sub(n)
	v, ok := n.Bool()
	if !ok {
		hint := ""
		switch strings.ToLower(n.Value()) {
		case "yes", "on":
			hint = "write true; yes and on are words here, not truth values"
		case "no", "off":
			hint = "write false; no and off are words here, not truth values"
		}
		d.wanted(n, at, "RP004", "true or false", hint)
		return true // what follows from false is not reported too
	}
	return v
}

// number reads a whole number between lo and hi.
func (d *decoder) number(n *yamlx.Node, at diag.Pos, lo, hi int) (int, bool) {
	n = d.sub(n)
	v, ok := n.Int()
	if !ok || v < int64(lo) || v > int64(hi) {
		d.wanted(n, at, "RP004", fmt.Sprintf("a whole number from %d to %d", lo, hi), "")
		return 0, false
	}
	return int(v), true
}

var zeroTime = regexp.MustCompile(`^0[a-z]+$`)

// duration reads `7d`, the name of a duration, or `none`; of says whose it is.
func (d *decoder) duration(n *yamlx.Node, at diag.Pos, of string) *ast.Duration {
	n = d.sub(n)
	if n.Kind() != yamlx.Scalar {
		d.wanted(n, at, "RP043", "a length of time such as 30s, or the name of a duration", "")
		return nil
	}
	v := n.Value()
	if v == "none" {
		return &ast.Duration{Pos: n.Pos(), Name: of, Inline: true, None: true}
	}
	if known, ok := d.durations[v]; ok {
		return known
	}
	length, err := quantity.ParseDuration(v)
	switch {
	case err == nil && length > 0:
		dur := &ast.Duration{Pos: n.Pos(), Name: of, Inline: true, Length: length}
		d.spec.Durations = append(d.spec.Durations, dur)
		return dur
	case err == nil && zeroTime.MatchString(v), err == nil:
		d.wanted(n, at, "RP043", "a length of time above zero", "to have no limit, write: none")
	case nameForm.MatchString(v):
		var known []string
		for k := range d.durations {
			known = append(known, k)
		}
		sort.Strings(known)
		d.unknown(n.Pos(), "RP043", "duration", v, known)
	default:
		d.wanted(n, at, "RP043", "a length of time such as 30s, or the name of a duration", firstLine(err))
	}
	return nil
}

func firstLine(err error) string {
	var syntax *quantity.SyntaxError
	if errors.As(err, &syntax) {
		return syntax.Hint
	}
	s := err.Error()
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		s = s[:i]
	}
	return s
}

// list gives the items of a list; a single value counts as a list of one.
func (d *decoder) list(n *yamlx.Node) []*yamlx.Node {
	n = d.sub(n)
	switch n.Kind() {
	case yamlx.Sequence:
		out := make([]*yamlx.Node, 0, len(n.Items()))
		for _, i := range n.Items() {
			out = append(out, d.sub(i))
		}
		return out
	case yamlx.Null:
		return nil
	}
	return []*yamlx.Node{n}
}

// name reads the name of something declared, refusing what the language cannot refer to.
func (d *decoder) name(k *yamlx.Node, what string) bool {
	v := k.Value()
	switch {
	case !nameForm.MatchString(v):
		d.errorf(k.Pos(), "RP006", "%s %q: a name starts with a letter and goes on with letters, digits and _", what, v)
		d.declared[v] = true
		return false
	case reserved[v]:
		d.errorf(k.Pos(), "RP006", "%s %q: this word has a meaning of its own in expressions", what, v)
		d.declared[v] = true
		return false
	}
	return true
}

var reserved = map[string]bool{"and": true, "or": true, "not": true, "implies": true, "if": true, "else": true, "in": true, "where": true,
	"none": true, "true": true, "false": true, "me": true, "my_run": true, "row": true}

var countWords = map[string]int{"one": 1, "two": 2, "three": 3, "four": 4, "once": 1, "twice": 2, "thrice": 3}

// countWord reads `two` or `2`.
func countWord(s string) (int, bool) {
	if n, ok := countWords[s]; ok {
		return n, true
	}
	n, err := strconv.Atoi(s)
	return n, err == nil && n > 0 && n <= maxOperations
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}
