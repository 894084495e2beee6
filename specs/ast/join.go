package ast

import "sort"

// maxTypeDepth bounds records and hashes inside each other.
const maxTypeDepth = 6

// Clone gives a copy that shares nothing with t.
func (t *Type) Clone() *Type {
	c := &Type{}
	c.Join(t)
	return c
}

// Depth of records and hashes inside each other; 0 for plain values.
func (t *Type) Depth() int { return t.depth(0) }

func (t *Type) depth(at int) int {
	if t == nil || at > maxTypeDepth+1 {
		return 0
	}
	deepest := 0
	for i := range t.Alts {
		for _, e := range t.Alts[i].Elems {
			deepest = max(deepest, 1+e.depth(at+1))
		}
		for _, f := range t.Alts[i].Fields {
			deepest = max(deepest, 1+f.Type.depth(at+1))
		}
	}
	return deepest
}

// TooDeep says whether records or hashes nest beyond what is finite in practice.
func (t *Type) TooDeep() bool { return t.Depth() > maxTypeDepth }

// Join adds the alternatives of o to t and says whether t has grown.
func (t *Type) Join(o *Type) bool {
	if o == nil || o == t {
		return false
	}
	grown := false
	for i := range o.Alts {
		grown = t.joinAlt(&o.Alts[i]) || grown
	}
	return grown
}

// same says whether a and b describe one alternative that can be merged.
func (a *Alt) same(b *Alt) bool {
	return a.Kind == b.Kind && a.Operation == b.Operation && a.OpField == b.OpField && a.Process == b.Process && a.Resource == b.Resource &&
		a.Table == b.Table && len(a.Elems) == len(b.Elems)
}

func (t *Type) joinAlt(b *Alt) bool {
	for i := range t.Alts {
		if t.Alts[i].same(b) {
			return t.Alts[i].merge(b)
		}
	}
	c := *b
	c.Symbols = SortedSymbols(b.Symbols, nil)
	c.Elems, c.Fields = nil, nil
	for _, e := range b.Elems {
		c.Elems = append(c.Elems, e.Clone())
	}
	for _, f := range b.Fields {
		c.Fields = append(c.Fields, &Field{Pos: f.Pos, Name: f.Name, Type: f.Type.Clone()})
	}
	t.Alts = append(t.Alts, c)
	sort.SliceStable(t.Alts, func(i, j int) bool { return t.Alts[i].Kind < t.Alts[j].Kind })
	return true
}

func (a *Alt) merge(b *Alt) bool {
	grown := false
	switch a.Kind {
	case KindInt:
		if a.Named && !b.Named {
			return false
		}
		if b.Named && !a.Named {
			a.Lo, a.Hi, a.Named = b.Lo, b.Hi, true
			return true
		}
		if b.Lo < a.Lo {
			a.Lo, grown = b.Lo, true
		}
		if b.Hi > a.Hi {
			a.Hi, grown = b.Hi, true
		}
	case KindSymbol, KindText:
		u := SortedSymbols(a.Symbols, b.Symbols)
		grown = len(u) > len(a.Symbols)
		a.Symbols = u
	case KindHash:
		for i := range a.Elems {
			grown = a.Elems[i].Join(b.Elems[i]) || grown
		}
	case KindRecord:
		grown = a.mergeFields(b)
	}
	return grown
}

// mergeFields joins records: a field that one of them lacks may be none.
func (a *Alt) mergeFields(b *Alt) bool {
	grown := false
	none := &Type{Alts: []Alt{{Kind: KindNone}}}
	find := func(list []*Field, name string) *Field {
		for _, f := range list {
			if f.Name == name {
				return f
			}
		}
		return nil
	}
	for _, f := range a.Fields {
		if o := find(b.Fields, f.Name); o != nil {
			grown = f.Type.Join(o.Type) || grown
		} else {
			grown = f.Type.Join(none) || grown
		}
	}
	for _, f := range b.Fields {
		if find(a.Fields, f.Name) == nil {
			n := &Field{Pos: f.Pos, Name: f.Name, Type: f.Type.Clone()}
			n.Type.Join(none)
			a.Fields = append(a.Fields, n)
			grown = true
		}
	}
	sort.SliceStable(a.Fields, func(i, j int) bool { return a.Fields[i].Name < a.Fields[j].Name })
	return grown
}
