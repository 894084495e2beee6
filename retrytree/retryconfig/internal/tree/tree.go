// Package tree holds one document of a configuration file, whatever its syntax:
// mappings, sequences and scalars with positions. Readers see only this, so that the
// same reader reads YAML, JSON with comments, properties and INI.
package tree

import "fmt"

// Kind is the kind of a node. The zero value is Null: nothing there.
type Kind uint8

// The kinds of nodes.
const (
	Null Kind = iota
	Scalar
	Map
	Seq
)

// Pos is a place in a file: 1-based line and column, columns in characters.
type Pos struct{ Line, Col int }

// Node is one value. All methods work on nil, which stands for an absent value.
type Node struct {
	Kind    Kind
	Quoted  bool   // a string by its syntax: quoted, or a block scalar
	Text    string // of a scalar, unquoted
	Tag     string // explicit YAML tag such as "!GetAtt", or ""
	Pos     Pos
	Entries []Entry // of a mapping, in file order
	Items   []*Node // of a sequence
}

// Entry is one key of a mapping with its value.
type Entry struct {
	Key    string
	KeyPos Pos
	Value  *Node
}

// Error is a syntax error, or a limit that was passed, with its place.
type Error struct {
	Pos     Pos
	Message string
}

func (e *Error) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Pos.Line, e.Pos.Col, e.Message)
}

// Limits bounds what a parser builds.
const (
	MaxDepth = 200
	MaxNodes = 600_000
)

// Get follows keys through mappings and gives nil when one is absent.
func (n *Node) Get(keys ...string) *Node {
	for _, k := range keys {
		e := n.Entry(k)
		if e == nil {
			return nil
		}
		n = e.Value
	}
	return n
}

// Entry gives the last entry with this key, or nil.
func (n *Node) Entry(key string) *Entry {
	if n == nil || n.Kind != Map {
		return nil
	}
	for i := len(n.Entries) - 1; i >= 0; i-- {
		if n.Entries[i].Key == key {
			return &n.Entries[i]
		}
	}
	return nil
}

// Has reports whether the key is present, also with a null value.
func (n *Node) Has(key string) bool { return n.Entry(key) != nil }

// First gives the value of the first of several spellings of a key that is present.
func (n *Node) First(keys ...string) *Node {
	for _, k := range keys {
		if v := n.Get(k); v != nil {
			return v
		}
	}
	return nil
}

// Str gives the text of a scalar, or "".
func (n *Node) Str() string {
	if n == nil || n.Kind != Scalar {
		return ""
	}
	return n.Text
}

// Missing reports an absent or null value.
func (n *Node) Missing() bool { return n == nil || n.Kind == Null }

// Is reports whether the node has the kind; nil has none but Null.
func (n *Node) Is(k Kind) bool {
	if n == nil {
		return k == Null
	}
	return n.Kind == k
}

// List gives the items of a sequence; nil for anything else.
func (n *Node) List() []*Node {
	if n == nil || n.Kind != Seq {
		return nil
	}
	return n.Items
}

// Map gives the entries of a mapping; nil for anything else.
func (n *Node) Map() []Entry {
	if n == nil || n.Kind != Map {
		return nil
	}
	return n.Entries
}

// Bool gives a boolean scalar: the plain words true and false.
func (n *Node) Bool() (v, ok bool) {
	switch n.Str() {
	case "true", "True", "TRUE":
		return true, !n.Quoted
	case "false", "False", "FALSE":
		return false, !n.Quoted
	}
	return false, false
}

// At gives the position, the zero position for nil.
func (n *Node) At() Pos {
	if n == nil {
		return Pos{}
	}
	return n.Pos
}

// Walk calls f for every node below and including n, parents first, with the path
// of keys that leads to it; f returns false to stop going down.
func (n *Node) Walk(f func(path []string, n *Node) bool) { n.walk(nil, f) }

func (n *Node) walk(path []string, f func([]string, *Node) bool) {
	if n == nil || !f(path, n) {
		return
	}
	for _, e := range n.Map() {
		e.Value.walk(append(path, e.Key), f)
	}
	for _, it := range n.List() {
		it.walk(append(path, "-"), f)
	}
}

// Items0 gives the first item of a sequence, or nil.
func (n *Node) Items0() *Node {
	if l := n.List(); len(l) > 0 {
		return l[0]
	}
	return nil
}
