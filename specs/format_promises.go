package specs

import (
	"fmt"
	"strings"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/yamlx"
)

// edit replaces characters of lines: from line a, column from, to line b,
// column to (exclusive); columns from 0.
type lineEdit struct {
	a, b     int
	from, to int
	text     string
}

// convert renames old keys and turns promises into the wanted style.
func convert(file, src string, o FormatOptions) ([]byte, []diag.Diagnostic) {
	l := &diag.List{}
	docs := parseYAML(file, []byte(src), l)
	if len(docs) != 1 || l.HasErrors() {
		return []byte(src), nil
	}
	lines := strings.Split(src, "\n")
	var edits []lineEdit
	for _, e := range docs[0].Get("resources").Entries() {
		if k, _ := e.Value.Lookup("late_requests"); k != nil {
			p := k.Pos()
			edits = append(edits, lineEdit{p.Line, p.Line, p.Column - 1, p.Column - 1 + len("late_requests"), "can_arrive_late"})
		}
	}
	if o.Promises != KeepPromises {
		c := converter{d: newDecoder(file, docs[0], &diag.List{}), lines: lines, to: o.Promises}
		c.section(docs[0].Get("promises"), promiseForms)
		c.section(docs[0].Get("must_be_possible"), possibleForms)
		edits = append(edits, c.edits...)
	}
	return []byte(apply(lines, edits)), nil
}

// apply makes the edits, the last one first.
func apply(lines []string, edits []lineEdit) string {
	for i := range edits {
		for j := i; j > 0; j-- {
			a, b := edits[j-1], edits[j]
			if a.a < b.a || a.a == b.a && a.from <= b.from {
				edits[j-1], edits[j] = b, a
			}
		}
	}
	for _, e := range edits {
		first, last := []rune(lines[e.a-1]), []rune(lines[e.b-1])
		if e.from > len(first) || e.to > len(last) {
			continue
		}
		joined := string(first[:e.from]) + e.text + string(last[e.to:])
		lines = append(lines[:e.a-1:e.a-1], append([]string{joined}, lines[e.b:]...)...)
	}
	return strings.Join(lines, "\n")
}

type converter struct {
	d     *decoder
	lines []string
	to    string
	edits []lineEdit
}

func (c *converter) section(n *yamlx.Node, forms []*form) {
	for _, e := range n.Entries() {
		c.promise(e.Value, forms)
	}
	for _, i := range n.Items() {
		c.promise(i, forms)
	}
}

func (c *converter) promise(n *yamlx.Node, forms []*form) {
	switch {
	case n.Kind() == yamlx.Scalar && c.to == AsMaps:
		c.toMap(n, forms)
	case n.Kind() == yamlx.Mapping && c.to == AsSentences && len(n.Entries()) == 1:
		c.toSentence(n, forms)
	}
}

// toMap replaces a sentence that stands on one line.
func (c *converter) toMap(n *yamlx.Node, forms []*form) {
	p := n.Pos()
	if p.EndColumn == 0 {
		return
	}
	prepare()
	s := split(n)
	var f *form
	var got map[string]match
	for _, x := range forms {
		if g, _, _, ok := s.try(x); ok {
			f, got = x, g
			if c.named(x, g) {
				break
			}
		}
	}
	if f == nil {
		return
	}
	c.edits = append(c.edits, lineEdit{p.Line, p.Line, p.Column - 1, p.EndColumn - 1, mapText(f, got)})
}

// named says whether the operations of the sentence exist: "every row of T .."
// against an operation called row.
func (c *converter) named(f *form, got map[string]match) bool {
	ops := c.d.root.Get("operations")
	for _, p := range f.phrases {
		if p.slot == "op" && ops.Get(got[p.arg].text) == nil && ops.Get(strings.TrimSuffix(got[p.arg].text, "s")) == nil {
			return false
		}
	}
	return true
}

func mapText(f *form, got map[string]match) string {
	var parts []string
	for _, name := range f.argNames() {
		v := got[name].text
		if n, ok := countWord(v); ok {
			v = fmt.Sprint(n)
		}
		if strings.ContainsAny(v, ",{}[]:#'\"") {
			v = `"` + strings.ReplaceAll(v, `"`, `'`) + `"`
		}
		parts = append(parts, name+": "+v)
	}
	for _, name := range sortedKeys(f.flags) {
		parts = append(parts, name+": "+f.flags[name])
	}
	return "{" + f.key + ": {" + strings.Join(parts, ", ") + "}}"
}

// toSentence replaces the map form, in flow style on one line or in block style
// without comments.
func (c *converter) toSentence(n *yamlx.Node, forms []*form) {
	l := &diag.List{}
	d := newDecoder(c.d.file, c.d.root, l)
	f, got := d.mapForm(n, forms, "RP032")
	if f == nil || l.HasErrors() {
		return
	}
	text := sentenceOf(f, func(name string) string { return got[name].text })
	p := n.Pos()
	r := []rune(c.lines[p.Line-1])
	if p.Column <= len(r) && r[p.Column-1] == '{' {
		if end := closing(r, p.Column-1); end > 0 {
			c.edits = append(c.edits, lineEdit{p.Line, p.Line, p.Column - 1, end, text})
		}
		return
	}
	last := lastPos(n)
	if last.EndColumn == 0 || hasComment(c.lines[p.Line-1:last.Line]) {
		return
	}
	c.edits = append(c.edits, lineEdit{p.Line, last.Line, p.Column - 1, last.EndColumn - 1, text})
}

// closing is the column behind the bracket that closes the one at i.
func closing(r []rune, i int) int {
	depth := 0
	quote := rune(0)
	for ; i < len(r); i++ {
		switch {
		case quote != 0:
			if r[i] == quote {
				quote = 0
			}
		case r[i] == '\'' || r[i] == '"':
			quote = r[i]
		case r[i] == '{' || r[i] == '[':
			depth++
		case r[i] == '}' || r[i] == ']':
			depth--
			if depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

func lastPos(n *yamlx.Node) diag.Pos {
	last := n.Pos()
	for _, e := range n.Entries() {
		if p := lastPos(e.Value); p.Line > last.Line || p.Line == last.Line && p.Column > last.Column {
			last = p
		}
	}
	return last
}

func hasComment(lines []string) bool {
	for _, l := range lines {
		if strings.Contains(l, "#") {
			return true
		}
	}
	return false
}
