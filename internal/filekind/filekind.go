// Package filekind tells plan, spec and statements files apart by content.
package filekind

import (
	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/yamlx"
)

// Kind of a relplan file.
type Kind uint8

// The kinds; None is any other file.
const (
	None Kind = iota
	Plan
	Spec
	Statements
)

var markers = []struct {
	key  string
	kind Kind
}{{"plan", Plan}, {"system", Spec}, {"statements", Statements}}

// String names the kind as messages do.
func (k Kind) String() string {
	return [...]string{"no relplan file", "a plan", "a spec", "a statements file"}[k]
}

// Of gives the kind of a document: the first of the three keys in it decides.
// Without `relplan:` it is None.
func Of(doc *yamlx.Node) Kind {
	if doc.Get("relplan") == nil {
		return None
	}
	for _, e := range doc.Entries() {
		for _, m := range markers {
			if e.Key.Value() == m.key {
				return m.kind
			}
		}
	}
	return None
}

// Expect adds an error unless doc is of the wanted kind and of version v1.
func Expect(doc *yamlx.Node, want Kind, file string, l *diag.List) bool {
	pos := diag.Pos{File: file, Line: 1, Column: 1}
	if doc == nil {
		l.Add(diag.Diagnostic{Code: "FILE", Pos: pos, Message: "the file is empty", Expected: want.String(), Hint: Hint})
		return false
	}
	if got := Of(doc); got != want {
		l.Add(diag.Diagnostic{Code: "FILE", Pos: doc.Pos(), Message: "expected " + want.String() + ", found " + got.String(), Expected: want.String(), Found: got.String(), Hint: Hint})
		return false
	}
	if v := doc.Get("relplan"); v.Value() != "v1" {
		l.Add(diag.Diagnostic{Code: "FILE", Pos: v.Pos(), Message: "expected version v1, found " + v.Describe(), Expected: "v1", Found: v.Describe()})
		return false
	}
	return true
}

// Hint names the kinds of relplan files.
const Hint = "`relplan: v1` with `plan:` is a plan, with `system:` a spec, with `statements:` retry statements"
