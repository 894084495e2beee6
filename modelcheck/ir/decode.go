package ir

import (
	"slices"
	"strings"
)

// Value reads a variable cell from a packed state. It panics if the variable is
// not the program's or the indices are outside.
func (m *Model) Value(state []uint64, v *Var, at ...int) int {
	f := m.l.vars[v]
	i := 0
	for d, x := range at {
		if x < 0 || x >= f.dims[d] {
			panic("ir: index outside " + v.Name)
		}
		i = i*f.dims[d] + x
	}
	return f.cells[i].read(state)
}

// Cell is the value of one variable cell.
type Cell struct {
	Var   *Var
	At    []int
	Value int
}

// Name is the printed cell, such as state[order 1].
func (c Cell) Name() string { return cellName(c.Var, c.At) }

// Text is the printed value.
func (c Cell) Text() string { return c.Var.Type.Format(c.Value) }

// String prints "name = value".
func (c Cell) String() string { return c.Name() + " = " + c.Text() }

// Decode lists the cells of a packed state in order of declaration. Slots of
// pools that are not in use are left out.
func (m *Model) Decode(state []uint64) []Cell {
	var out []Cell
	for _, v := range m.Program.Vars {
		f := m.l.vars[v]
		for n, c := range f.cells {
			if at := f.at(n); !m.unused(state, v, at) {
				out = append(out, Cell{v, at, c.read(state)})
			}
		}
	}
	return out
}

func (m *Model) unused(state []uint64, v *Var, at []int) bool {
	for d, ix := range v.Index {
		if ix.Pool != nil && m.Value(state, ix.Pool.Used, at[d]) == 0 {
			return true
		}
	}
	return false
}

// Diff lists the cells whose values differ between two packed states, with the
// values of the second; a slot that was emptied shows as its Used cell.
func (m *Model) Diff(before, after []uint64) []Cell {
	var out []Cell
	for _, v := range m.Program.Vars {
		f := m.l.vars[v]
		for n, c := range f.cells {
			at := f.at(n)
			if x := c.read(after); x != c.read(before) && (!m.unused(after, v, at) || m.isUsed(v)) {
				out = append(out, Cell{v, at, x})
			}
		}
	}
	return out
}

func (m *Model) isUsed(v *Var) bool {
	return slices.ContainsFunc(m.Program.Pools, func(p *Pool) bool { return p.Used == v })
}

// Print writes a state as "name = value" lines, for tests and debugging.
func (m *Model) Print(state []uint64) string {
	var b strings.Builder
	for _, c := range m.Decode(state) {
		b.WriteString(c.String())
		b.WriteByte('\n')
	}
	return b.String()
}

// Encode packs cell values; cells not given hold their initial values. It
// reports false if a value is outside its type.
func (m *Model) Encode(cells []Cell) ([]uint64, bool) {
	s := make([]uint64, m.l.words)
	m.l.initial(s)
	for _, k := range cells {
		f := m.l.vars[k.Var]
		i := 0
		for d, x := range k.At {
			i = i*f.dims[d] + x
		}
		raw, ok := f.encode(k.Value)
		if !ok {
			return nil, false
		}
		if f.derived == nil {
			f.cells[i].write(s, raw)
		}
	}
	return s, true
}
