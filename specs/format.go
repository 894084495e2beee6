package specs

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/filekind"
	"github.com/relplan/relplan/internal/yamlx"
)

// Promise styles of FormatOptions.
const (
	KeepPromises = ""
	AsSentences  = "sentences"
	AsMaps       = "maps"
)

// FormatOptions choose what Format changes beside layout.
type FormatOptions struct {
	Promises string // KeepPromises, AsSentences or AsMaps
}

// Format gives src in the standard layout: two spaces per level, dashes
// indented below their key, no trailing spaces, at most one blank line, and the
// current names of keys. Comments and everything inside a line stay. The result
// means the same: it is read again and compared. Diagnostics are given only
// where src is not readable as YAML or is no spec; then the result is nil.
func Format(file string, src []byte, o FormatOptions) ([]byte, []diag.Diagnostic) {
	l := &diag.List{}
	docs := parseYAML(file, src, l)
	if l.HasErrors() {
		return nil, l.Sorted()
	}
	if len(docs) != 1 || docs[0].Kind() != yamlx.Mapping {
		found := "a file that is no YAML mapping"
		switch {
		case len(docs) == 0:
			found = "an empty file"
		case len(docs) > 1:
			found = fmt.Sprintf("%d YAML documents", len(docs))
		}
		return nil, noSpec(diag.Pos{File: file, Line: 1, Column: 1}, found)
	}
	if kind := filekind.Of(docs[0]); kind != filekind.Spec {
		return nil, noSpec(docs[0].Pos(), kind.String())
	}
	want := treeText(docs[0])
	for _, reindent := range []bool{true, false} {
		f := newFormatter(string(src), docs[0])
		if reindent {
			f.place(docs[0], 0)
		}
		out := f.render()
		if got, ok := reread(file, out); ok && got == want {
			return convert(file, out, o)
		}
	}
	return src, nil // a layout that this formatter does not understand stays as it is
}

func noSpec(at diag.Pos, found string) []diag.Diagnostic {
	return []diag.Diagnostic{{Code: "RP001", Pos: at, Message: "expected a spec, found " + found, Expected: "a spec", Found: found, Hint: "a spec starts with `relplan: v1` and has `system:`"}}
}

func reread(file, src string) (string, bool) {
	l := &diag.List{}
	docs := parseYAML(file, []byte(src), l)
	if l.HasErrors() || len(docs) != 1 {
		return "", false
	}
	return treeText(docs[0]), true
}

// treeText prints what a file says, without layout.
func treeText(n *yamlx.Node) string {
	switch n.Kind() {
	case yamlx.Mapping:
		var b strings.Builder
		b.WriteString("{")
		for _, e := range n.Entries() {
			fmt.Fprintf(&b, "%q:%s,", e.Key.Value(), treeText(e.Value))
		}
		return b.String() + "}"
	case yamlx.Sequence:
		var b strings.Builder
		b.WriteString("[")
		for _, i := range n.Items() {
			b.WriteString(treeText(i) + ",")
		}
		return b.String() + "]"
	case yamlx.Scalar:
		return fmt.Sprintf("%v%q", n.Quoted(), n.Value())
	}
	return "null"
}

// formatter moves lines; it never changes what stands in them.
type formatter struct {
	lines  []string
	indent map[int]int  // new indentation of a line (from 1) that starts with a key or dash
	dash   map[int]int  // line: spaces between a dash and its item to make one
	frozen map[int]bool // lines inside a block scalar
	from   map[int]int  // block scalar lines: the line whose shift they follow
}

func newFormatter(src string, root *yamlx.Node) *formatter {
	src = strings.TrimPrefix(src, "\ufeff")
	src = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(src)
	f := &formatter{lines: strings.Split(src, "\n"), indent: map[int]int{}, dash: map[int]int{}, frozen: map[int]bool{}, from: map[int]int{}}
	f.freeze(root, 0)
	return f
}

func (f *formatter) line(n int) string {
	if n < 1 || n > len(f.lines) {
		return ""
	}
	return f.lines[n-1]
}

func (f *formatter) char(p diag.Pos) rune {
	r := []rune(f.line(p.Line))
	if p.Column < 1 || p.Column > len(r) {
		return 0
	}
	return r[p.Column-1]
}

func spaces(s string) int { return len(s) - len(strings.TrimLeft(s, " ")) }

// freeze marks the lines of block scalars; parent is the indentation of the
// line that holds their indicator.
func (f *formatter) freeze(n *yamlx.Node, parent int) {
	for _, e := range n.Entries() {
		f.freeze(e.Value, e.Key.Pos().Column-1)
	}
	for _, i := range n.Items() {
		f.freeze(i, n.Pos().Column-1)
	}
	if n.Kind() != yamlx.Scalar || !n.Quoted() {
		return
	}
	p := n.Pos()
	if c := f.char(p); c != '|' && c != '>' {
		return
	}
	for k := p.Line + 1; k <= len(f.lines); k++ {
		if s := f.line(k); strings.TrimSpace(s) != "" && spaces(s) <= parent {
			break
		}
		f.frozen[k] = true
		f.from[k] = p.Line
	}
}

// first says whether the position is the first thing on its line, apart from
// dashes.
func (f *formatter) first(p diag.Pos) bool {
	r := []rune(f.line(p.Line))
	if p.Column-1 > len(r) {
		return false
	}
	return strings.Trim(string(r[:p.Column-1]), " -") == ""
}

// place sets the indentation of a block mapping or list at column col (from 0).
func (f *formatter) place(n *yamlx.Node, col int) {
	if c := f.char(n.Pos()); c == '{' || c == '[' {
		return // flow style: its lines follow the first one
	}
	for i, e := range n.Entries() {
		p := e.Key.Pos()
		if f.first(p) && (i > 0 || strings.TrimSpace(string([]rune(f.line(p.Line))[:p.Column-1])) == "") {
			f.indent[p.Line] = col
		}
		f.place(e.Value, col+2)
	}
	if n.Kind() != yamlx.Sequence {
		return
	}
	at := n.Pos().Column
	for _, i := range n.Items() {
		p := i.Pos()
		r := []rune(f.line(p.Line))
		if p.Column <= at || p.Column-1 > len(r) || at > len(r) || r[at-1] != '-' || strings.TrimSpace(string(r[:at-1])) != "" {
			continue // the item starts on a line of its own, or behind another dash
		}
		f.indent[p.Line] = col
		if strings.TrimSpace(string(r[at:p.Column-1])) == "" {
			f.dash[p.Line] = p.Column - 1 - at
		}
		f.place(i, col+2)
	}
}

var trailing = regexp.MustCompile(`[ \t]+$`)

// render writes the lines with their new indentation.
func (f *formatter) render() string {
	var out []string
	shift := 0
	for k := 1; k <= len(f.lines); k++ {
		s := f.line(k)
		if f.frozen[k] {
			out = append(out, move(s, f.shiftOf(f.from[k])))
			continue
		}
		s = trailing.ReplaceAllString(s, "")
		if s == "" {
			if len(out) > 0 && out[len(out)-1] != "" {
				out = append(out, "")
			}
			continue
		}
		if strings.HasPrefix(strings.TrimSpace(s), "#") {
			out = append(out, move(s, f.comment(k)))
			continue
		}
		if _, ok := f.indent[k]; ok {
			shift = f.shiftOf(k)
			if extra := f.dash[k] - 1; extra > 0 {
				at := spaces(s)
				s = s[:at+2] + strings.TrimLeft(s[at+1:], " ")
			}
		}
		out = append(out, move(s, shift))
	}
	return strings.TrimRight(strings.Join(out, "\n"), "\n") + "\n"
}

func (f *formatter) shiftOf(k int) int {
	n, ok := f.indent[k]
	if !ok {
		return 0
	}
	return n - spaces(f.line(k))
}

// comment is the shift of a line that holds a comment only: that of the next
// line with content that stands in the same column, else of the one before,
// else of the next line.
func (f *formatter) comment(k int) int {
	at := spaces(f.line(k))
	next := 0
	for j := k + 1; j <= len(f.lines); j++ {
		if _, ok := f.indent[j]; ok {
			if spaces(f.line(j)) == at {
				return f.shiftOf(j)
			}
			next = j
			break
		}
	}
	for j := k - 1; j >= 1; j-- {
		if _, ok := f.indent[j]; ok && spaces(f.line(j)) <= at {
			if spaces(f.line(j)) == at || next == 0 {
				return f.shiftOf(j)
			}
			break
		}
	}
	if next > 0 {
		return f.shiftOf(next)
	}
	return 0
}

func move(s string, by int) string {
	if strings.TrimSpace(s) == "" {
		return strings.TrimSpace(s)
	}
	if by >= 0 {
		return strings.Repeat(" ", by) + s
	}
	return s[min(-by, spaces(s)):]
}
