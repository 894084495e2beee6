package ir

import "github.com/relplan/relplan/modelcheck"

// makeShape derives the symmetries from the types: every set that is not
// ordered is interchangeable, the slots of a pool are, and token values are.
func (m *Model) makeShape() {
	s := &modelcheck.Shape{Words: m.l.words}
	m.shape, m.sets, m.pools = s, map[*Set]int{}, map[*Pool]int{}
	for _, x := range m.Program.Sets {
		if !x.Ordered {
			m.sets[x] = len(s.Sets)
			s.Sets = append(s.Sets, modelcheck.Set{Name: x.Name, Size: x.Size})
		}
	}
	for _, x := range m.Program.Pools {
		m.pools[x] = len(s.Sets)
		s.Sets = append(s.Sets, modelcheck.Set{Name: x.Name, Size: x.Cap, Value: true})
	}
	symbols := -1
	if len(m.l.tokens) > 0 {
		symbols = len(s.Sets)
		s.Sets = append(s.Sets, modelcheck.Set{Name: "symbols", Size: m.l.symbols, Value: true})
	}
	type part struct {
		f       *varInfo
		ordered int // number of the combination of ordered indices
	}
	groups := map[part]int{}
	for _, v := range m.Program.Vars {
		f := m.l.vars[v]
		ref := m.refTo(v, symbols)
		for n, c := range f.cells {
			if c.width == 0 {
				continue
			}
			at := f.at(n)
			key := part{f: f}
			var index []modelcheck.Element
			for d, ix := range v.Index {
				if e, ok := m.element(ix, at[d]); ok {
					index = append(index, e)
				} else {
					key.ordered = key.ordered*f.dims[d] + at[d]
				}
			}
			g, ok := groups[key]
			if !ok {
				g = len(groups)
				groups[key] = g
			}
			s.Fields = append(s.Fields, modelcheck.Field{Name: cellName(v, at), Word: c.word, Shift: int(c.shift), Bits: int(c.width),
				Index: index, RefTo: ref, Group: g})
		}
	}
}

// element gives the interchangeable element of an index, false if it is ordered.
func (m *Model) element(ix Index, i int) (modelcheck.Element, bool) {
	set, ok := 0, false
	if ix.Pool != nil {
		set, ok = m.pools[ix.Pool]
	} else {
		set, ok = m.sets[ix.Set]
	}
	return modelcheck.Element{Set: set, Index: i}, ok
}

func (m *Model) refTo(v *Var, symbols int) *int {
	switch v.Type.Kind {
	case Token:
		return &symbols
	case Ref:
		if i, ok := m.sets[v.Type.Set]; ok {
			return &i
		}
	}
	return nil
}
