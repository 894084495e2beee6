package yamlx

import (
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/relplan/relplan/internal/diag"
)

// Kind is what a node is.
type Kind uint8

// Node kinds. An empty value is Null, also where a mapping or list would stand.
const (
	Null Kind = iota
	Scalar
	Mapping
	Sequence
)

// String names the kind as a message would.
func (k Kind) String() string {
	return [...]string{"nothing", "a single value", "a mapping", "a list"}[k]
}

// Node is a YAML value with its position. Aliases are followed and merge keys
// expanded, so a reader sees plain values only.
type Node struct {
	y    *yaml.Node
	doc  *document
	kids []*Node // Sequence
	ents []Entry // Mapping
}

// Entry is one key of a mapping with its value, in file order.
type Entry struct {
	Key   *Node
	Value *Node
}

// Kind of the node; a nil node is Null.
func (n *Node) Kind() Kind {
	if n == nil {
		return Null
	}
	switch n.y.Kind {
	case yaml.MappingNode:
		return Mapping
	case yaml.SequenceNode:
		return Sequence
	default:
		if n.y.Tag == "!!null" {
			return Null
		}
		return Scalar
	}
}

// Pos is where the node stands; for a scalar it spans its text.
func (n *Node) Pos() diag.Pos {
	if n == nil {
		return diag.Pos{}
	}
	p := diag.Pos{File: n.doc.file, Line: n.y.Line, Column: n.y.Column}
	if n.y.Kind == yaml.ScalarNode {
		p.EndColumn = n.doc.scalarEnd(n.y)
	}
	return p
}

// Start is the line and column where the node starts: Pos without looking for its end.
func (n *Node) Start() (line, column int) {
	if n == nil {
		return 0, 0
	}
	return n.y.Line, n.y.Column
}

// At is the position of the character with the given offset in Value; where
// the value is folded over lines it is the start of the scalar.
func (n *Node) At(offset int) diag.Pos {
	p := n.Pos()
	value := []rune(n.Value())
	if offset < 0 || offset > len(value) {
		return p
	}
	switch n.y.Style &^ yaml.TaggedStyle {
	case yaml.LiteralStyle:
		before := string(value[:offset])
		p.Line += 1 + strings.Count(before, "\n")
		indent := n.doc.indent(n.y.Line + 1)
		p.Column = 1 + indent + len([]rune(before[strings.LastIndexByte(before, '\n')+1:]))
	case yaml.FoldedStyle:
		return p
	default:
		if !n.doc.onOneLine(n.y) {
			return p
		}
		p.Column += offset
		if n.Quoted() {
			p.Column++
		}
	}
	p.EndColumn = p.Column + 1
	return p
}

// Value is the text of a scalar, "" for anything else.
func (n *Node) Value() string {
	if n.Kind() != Scalar {
		return ""
	}
	return n.y.Value
}

// Quoted tells whether the scalar stands in quotes (or a block), so that it is text whatever it looks like.
func (n *Node) Quoted() bool {
	const q = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	return n.Kind() == Scalar && n.y.Style&q != 0
}

// Tag is the resolved tag: "!!str", "!!int", "!!bool", "!!float", "!!null",
// "!!timestamp" or the file's own.
func (n *Node) Tag() string {
	if n == nil {
		return "!!null"
	}
	return n.y.Tag
}

// Comment is the text of the comments that belong to the node (above it and
// behind it), with their # signs.
func (n *Node) Comment() string {
	if n == nil {
		return ""
	}
	return strings.TrimSpace(n.y.HeadComment + "\n" + n.y.LineComment)
}

// Entries of a mapping in file order; nil for anything else.
func (n *Node) Entries() []Entry {
	if n == nil {
		return nil
	}
	return n.ents
}

// Items of a list; nil for anything else.
func (n *Node) Items() []*Node {
	if n == nil {
		return nil
	}
	return n.kids
}

// Get is the value under key, nil if there is none.
func (n *Node) Get(key string) *Node {
	_, v := n.Lookup(key)
	return v
}

// Lookup is the key node and the value under key, nil if there is none.
func (n *Node) Lookup(key string) (k, v *Node) {
	for _, e := range n.Entries() {
		if e.Key.y.Value == key {
			return e.Key, e.Value
		}
	}
	return nil, nil
}

// Bool reads true or false and nothing else: yes, no, on and off are text.
func (n *Node) Bool() (value, ok bool) {
	if n.Kind() != Scalar || n.Quoted() {
		return false, false
	}
	return n.y.Value == "true", n.y.Value == "true" || n.y.Value == "false"
}

// Int reads a decimal integer.
func (n *Node) Int() (int64, bool) {
	if n.Kind() != Scalar || n.Quoted() {
		return 0, false
	}
	v, err := strconv.ParseInt(n.y.Value, 10, 64)
	return v, err == nil
}

// Float reads a decimal number.
func (n *Node) Float() (float64, bool) {
	if n.Kind() != Scalar || n.Quoted() || (n.y.Tag != "!!float" && n.y.Tag != "!!int") {
		return 0, false
	}
	v, err := strconv.ParseFloat(n.y.Value, 64)
	return v, err == nil
}

// Describe says what the node is for a message: 'text' or "a list".
func (n *Node) Describe() string {
	if n.Kind() == Scalar {
		v := []rune(n.y.Value)
		if len(v) > 60 {
			return "'" + string(v[:57]) + "...'"
		}
		return "'" + n.y.Value + "'"
	}
	return n.Kind().String()
}

// UnknownKeys adds an error for each key of the mapping n that is not known,
// with the nearest known one as a hint.
func UnknownKeys(n *Node, l *diag.List, code string, known ...string) {
	set := make(map[string]bool, len(known))
	for _, k := range known {
		set[k] = true
	}
	for _, e := range n.Entries() {
		if set[e.Key.y.Value] {
			continue
		}
		d := diag.Diagnostic{Code: code, Pos: e.Key.Pos(), Message: "unknown key " + e.Key.Describe(), Found: e.Key.Describe()}
		if near, ok := diag.Closest(e.Key.y.Value, known); ok {
			d.Hint = "did you mean: " + near
		} else {
			d.Hint = "known keys: " + strings.Join(known, ", ")
		}
		l.Add(d)
	}
}
