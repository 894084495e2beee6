// Package yamlx reads YAML into nodes with positions. It is the only importer
// of the YAML library. It refuses duplicate keys, alias bombs, and files that
// are too large or too deep; yes, no, on and off stay text.
package yamlx

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/relplan/relplan/internal/diag"
)

// Limits bound what Parse accepts. A zero field means its default.
type Limits struct {
	MaxBytes int // of source; default 4 MiB
	MaxDepth int // of nesting; default 100
	MaxNodes int // after aliases are followed; default 200,000
}

func (l Limits) orDefaults() Limits {
	def := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	def(&l.MaxBytes, 4<<20)
	def(&l.MaxDepth, 100)
	def(&l.MaxNodes, 200_000)
	return l
}

// Code of every diagnostic of this package.
const Code = "YAML"

// Parse reads all documents of src. What cannot be read is added to l and left
// out; documents that are empty are left out too.
func Parse(file string, src []byte, lim Limits, l *diag.List) (docs []*Node) {
	lim = lim.orDefaults()
	if len(src) > lim.MaxBytes {
		l.Errorf(diag.Pos{File: file}, Code, "file has %d bytes, at most %d are read", len(src), lim.MaxBytes)
		return nil
	}
	src = bytes.TrimPrefix(src, []byte("\ufeff"))
	if !checkText(file, src, l) {
		return nil
	}
	b := &builder{doc: &document{file: file, lines: splitLines(string(src))}, lim: lim, l: l}
	defer func() {
		if r := recover(); r != nil { // a defect of the YAML library must not take the caller down
			l.Errorf(diag.Pos{File: file}, Code, "not readable as YAML: %v", r)
		}
	}()
	dec := yaml.NewDecoder(bytes.NewReader(src))
	for {
		var y yaml.Node
		err := dec.Decode(&y)
		if errors.Is(err, io.EOF) {
			return docs
		}
		if err != nil {
			l.Add(b.syntaxError(err))
			return docs
		}
		if y.Kind != yaml.DocumentNode || len(y.Content) != 1 || y.Content[0].Tag == "!!null" {
			continue
		}
		b.nodes = 0
		if n := b.build(y.Content[0], 1); n != nil && !b.refused {
			docs = append(docs, n)
		}
		if b.refused {
			return docs
		}
	}
}

// checkText refuses what is not UTF-8 text, at the first such place.
func checkText(file string, src []byte, l *diag.List) bool {
	line, col := 1, 1
	for i := 0; i < len(src); {
		r, size := utf8.DecodeRune(src[i:])
		if r == utf8.RuneError && size == 1 || r == 0 {
			l.Errorf(diag.Pos{File: file, Line: line, Column: col}, Code, "byte 0x%02x is not UTF-8 text", src[i])
			return false
		}
		if r == '\n' {
			line, col = line+1, 0
		}
		i, col = i+size, col+1
	}
	return true
}

type builder struct {
	doc     *document
	lim     Limits
	l       *diag.List
	nodes   int
	path    []*yaml.Node // aliases being followed, to refuse one inside itself
	refused bool
}

func (b *builder) pos(y *yaml.Node) diag.Pos {
	return diag.Pos{File: b.doc.file, Line: y.Line, Column: y.Column}
}

func (b *builder) refuse(y *yaml.Node, format string, args ...any) *Node {
	if !b.refused {
		b.l.Errorf(b.pos(y), Code, format, args...)
	}
	b.refused = true
	return nil
}

func (b *builder) build(y *yaml.Node, depth int) *Node {
	b.nodes++
	switch {
	case b.refused:
		return nil
	case b.nodes > b.lim.MaxNodes:
		return b.refuse(y, "more than %d values once aliases are followed", b.lim.MaxNodes)
	case depth > b.lim.MaxDepth:
		return b.refuse(y, "nested more than %d levels deep", b.lim.MaxDepth)
	}
	n := &Node{y: y, doc: b.doc}
	switch y.Kind {
	case yaml.AliasNode:
		for _, p := range b.path {
			if p == y.Alias {
				return b.refuse(y, "alias *%s stands inside its own anchor", y.Value)
			}
		}
		b.path = append(b.path, y.Alias)
		defer func() { b.path = b.path[:len(b.path)-1] }()
		return b.build(y.Alias, depth)
	case yaml.SequenceNode:
		for _, c := range y.Content {
			if k := b.build(c, depth+1); k != nil {
				n.kids = append(n.kids, k)
			}
		}
	case yaml.MappingNode:
		b.buildMapping(n, depth)
	}
	return n
}

func (b *builder) buildMapping(n *Node, depth int) {
	seen := map[string]*yaml.Node{}
	var merged []Entry
	for i := 0; i+1 < len(n.y.Content); i += 2 {
		ky := n.y.Content[i]
		if ky.Tag == "!!merge" {
			merged = append(merged, b.merge(n.y.Content[i+1], depth)...)
			continue
		}
		if ky.Kind == yaml.AliasNode {
			ky = ky.Alias
		}
		if ky.Kind != yaml.ScalarNode {
			b.l.Errorf(b.pos(ky), Code, "a key must be a single value, found %s", (&Node{y: ky, doc: b.doc}).Kind())
			continue
		}
		if first, dup := seen[ky.Value]; dup {
			k := &Node{y: ky, doc: b.doc}
			b.l.Add(diag.Diagnostic{Code: Code, Pos: k.Pos(), Message: fmt.Sprintf("key %q stands twice in one mapping", ky.Value),
				Hint: fmt.Sprintf("the first one stands at line %d", first.Line)})
			continue
		}
		seen[ky.Value] = ky
		if v := b.build(n.y.Content[i+1], depth+1); v != nil {
			text := *ky
			text.Tag = "!!str" // a key is text, also null and 5
			n.ents = append(n.ents, Entry{Key: &Node{y: &text, doc: b.doc}, Value: v})
		}
	}
	for _, e := range merged {
		if _, own := seen[e.Key.y.Value]; !own {
			seen[e.Key.y.Value] = e.Key.y
			n.ents = append(n.ents, e)
		}
	}
}

// merge gives the entries that `<<: y` brings in; earlier mappings win.
func (b *builder) merge(y *yaml.Node, depth int) []Entry {
	m := b.build(y, depth+1)
	switch {
	case m == nil:
		return nil
	case m.Kind() == Mapping:
		return m.ents
	case m.Kind() == Sequence:
		var all []Entry
		for _, k := range m.kids {
			if k.Kind() != Mapping {
				b.l.Errorf(k.Pos(), Code, "<< takes a mapping or a list of mappings, found %s", k.Describe())
			}
			all = append(all, k.ents...)
		}
		return all
	default:
		b.l.Errorf(m.Pos(), Code, "<< takes a mapping or a list of mappings, found %s", m.Describe())
		return nil
	}
}
