package ir

import (
	"fmt"
	"math/bits"
)

// cell is one packed variable cell: a group of bits in one word.
//
// A value v is stored as v - lo; None, where the variable is optional, as the
// number after the last value. So an element of a set is stored as its
// position, and None lies outside every index.
type cell struct {
	id    int
	info  *varInfo
	word  int
	shift uint
	width uint
	mask  uint64 // (1 << width) - 1, not shifted
}

// varInfo is a variable with its effective bounds and its cells in index order
// (last index fastest).
type varInfo struct {
	v      *Var
	lo, hi int
	opt    bool
	none   uint64 // raw value of None, or one above every raw value
	width  uint
	dims   []int
	cells  []*cell
	// derived is nil, or says how the value follows from the program counter;
	// then the cells have no bits.
	derived *derivation
}

// values is the number of values of a cell.
func (f *varInfo) values() int { return f.hi - f.lo + 1 + bit(f.opt) }

// encode gives the raw value of v, false if v is not a value of the variable.
func (f *varInfo) encode(v int) (uint64, bool) {
	if v == None {
		return f.none, f.opt
	}
	return uint64(v - f.lo), f.lo <= v && v <= f.hi
}

// decode gives the value of a raw number.
func (f *varInfo) decode(raw uint64) int {
	if raw >= f.none {
		return None
	}
	return int(raw) + f.lo
}

// outside is the value of a read at no element.
func (f *varInfo) outside() int {
	if f.v.Type.Kind == Bool && !f.opt {
		return 0
	}
	return None
}

func (c *cell) read(s []uint64) int {
	if d := c.info.derived; d != nil {
		i := c.id - c.info.cells[0].id
		if x := d.by[d.pc.cells[i].read(s)]; x.from == nil {
			return x.value
		} else {
			return x.from.cells[i].read(s)
		}
	}
	return c.info.decode(s[c.word] >> c.shift & c.mask)
}

func (c *cell) write(s []uint64, raw uint64) {
	s[c.word] = s[c.word]&^(c.mask<<c.shift) | raw<<c.shift
}

// layout places every cell.
type layout struct {
	words int
	vars  map[*Var]*varInfo
	cells []*cell
	// tokens and ranks list the cells that hold symbols and positions.
	tokens  []*cell
	symbols int // number of token values
	ranks   map[string][]*cell
	sorts   []string // of ranks, by first declaration
}

// newLayout measures the variables and packs them: the cells of one element of
// a set side by side, the program counter first, no cell across two words.
func newLayout(p *Program, hot func(*Var) int, o Options) *layout {
	l := &layout{vars: map[*Var]*varInfo{}, ranks: map[string][]*cell{}}
	for _, v := range p.Vars {
		l.measure(v)
	}
	l.symbolBounds(p)
	for _, v := range p.Vars {
		f := l.vars[v]
		f.finish()
		for _, c := range f.cells {
			c.id, c.width, c.mask = len(l.cells), f.width, 1<<f.width-1
			l.cells = append(l.cells, c)
		}
	}
	if !o.NoElimination {
		derive(p, l)
	}
	l.place(p, hot)
	return l
}

func (l *layout) measure(v *Var) {
	f := &varInfo{v: v, opt: v.Type.Optional}
	f.lo, f.hi = v.Type.bounds()
	n := 1
	for _, ix := range v.Index {
		f.dims = append(f.dims, ix.size())
		n *= ix.size()
	}
	f.cells = make([]*cell, n)
	for i := range f.cells {
		f.cells[i] = &cell{info: f}
	}
	l.vars[v] = f
	switch v.Type.Kind {
	case Token:
		l.tokens = append(l.tokens, f.cells...)
	case Rank:
		if _, ok := l.ranks[v.Type.Sort]; !ok {
			l.sorts = append(l.sorts, v.Type.Sort)
		}
		l.ranks[v.Type.Sort] = append(l.ranks[v.Type.Sort], f.cells...)
	}
}

// symbolBounds gives all tokens, and all ranks of one sort, the same bounds: by
// default one symbol more than can be held at once, so that there is always a
// fresh one.
func (l *layout) symbolBounds(p *Program) {
	token, rank := -1, map[string]int{}
	for _, v := range p.Vars {
		switch v.Type.Kind {
		case Token:
			token = max(token, v.Type.Hi, v.Initial)
		case Rank:
			rank[v.Type.Sort] = max(rank[v.Type.Sort], v.Type.Hi, v.Initial)
		}
	}
	if token == 0 {
		token = len(l.tokens)
	}
	for _, v := range p.Vars {
		f := l.vars[v]
		switch v.Type.Kind {
		case Token:
			f.hi = token
		case Rank:
			f.hi = rank[v.Type.Sort]
			if f.hi == 0 {
				f.hi = len(l.ranks[v.Type.Sort])
			}
		}
	}
	l.symbols = token + 1
}

func (f *varInfo) finish() {
	f.none = uint64(f.hi - f.lo + 1)
	n := f.none
	if f.opt {
		n++
	}
	if n > 1 {
		f.width = uint(bits.Len64(n - 1))
	}
}

// block is a list of cells that should share a word: those of one element.
type block struct {
	cells []*cell
	bits  uint
}

// blocks groups the cells by element, hot variables first.
func (l *layout) blocks(p *Program, hot func(*Var) int) []block {
	var out []block
	seen := map[Index]bool{}
	var order []Index
	for _, q := range p.Procs {
		if ix := (Index{Set: q.Instances}); !seen[ix] {
			seen[ix] = true
			order = append(order, ix)
		}
	}
	for _, v := range p.Vars {
		if len(v.Index) == 1 && !seen[v.Index[0]] {
			seen[v.Index[0]] = true
			order = append(order, v.Index[0])
		}
	}
	for _, ix := range order {
		var vs []*Var
		for _, v := range p.Vars {
			if len(v.Index) == 1 && v.Index[0] == ix {
				vs = append(vs, v)
			}
		}
		sortStable(vs, hot)
		for i := range ix.size() {
			var b block
			for _, v := range vs {
				b.add(l.vars[v].cells[i])
			}
			out = append(out, b)
		}
	}
	for _, v := range p.Vars {
		if len(v.Index) != 1 {
			for _, c := range l.vars[v].cells {
				var b block
				b.add(c)
				out = append(out, b)
			}
		}
	}
	return out
}

func (b *block) add(c *cell) {
	b.cells = append(b.cells, c)
	b.bits += c.width
}

func sortStable(vs []*Var, hot func(*Var) int) {
	for i := 1; i < len(vs); i++ { // insertion: the lists are short and the order must be stable
		for j := i; j > 0 && hot(vs[j]) > hot(vs[j-1]); j-- {
			vs[j], vs[j-1] = vs[j-1], vs[j]
		}
	}
}

// place packs whole blocks if that takes no more words than packing cells.
func (l *layout) place(p *Program, hot func(*Var) int) {
	bs := l.blocks(p, hot)
	var single []block
	for _, b := range bs {
		for _, c := range b.cells {
			single = append(single, block{[]*cell{c}, c.width})
		}
	}
	loose := pack(single)
	l.words = max(1, pack(bs))
	if loose < l.words {
		l.words = max(1, pack(single))
	}
}

// pack places blocks first fit; a block of more than a word is split at cells.
func pack(bs []block) int {
	var used []uint
	put := func(cs []*cell, n uint) {
		w := 0
		for w < len(used) && used[w]+n > 64 {
			w++
		}
		if w == len(used) {
			used = append(used, 0)
		}
		for _, c := range cs {
			c.word, c.shift = w, used[w]
			used[w] += c.width
			if c.width == 0 {
				c.shift = 0
			}
		}
	}
	for _, b := range bs {
		if b.bits <= 64 {
			put(b.cells, b.bits)
			continue
		}
		for _, c := range b.cells {
			put([]*cell{c}, c.width)
		}
	}
	return len(used)
}

// cellName prints a cell as errors, cut reasons and histories name it.
func cellName(v *Var, at []int) string {
	s := v.Name
	for i, x := range at {
		if ix := v.Index[i]; ix.Pool != nil {
			s += fmt.Sprintf("[%d]", x+1)
		} else {
			s += "[" + ix.Set.element(x) + "]"
		}
	}
	return s
}

// at gives the indices of cell number n of the variable.
func (f *varInfo) at(n int) []int {
	at := make([]int, len(f.dims))
	for i := len(f.dims) - 1; i >= 0; i-- {
		at[i] = n % f.dims[i]
		n /= f.dims[i]
	}
	return at
}

// initial writes the initial values of all variables.
func (l *layout) initial(s []uint64) {
	for _, c := range l.cells {
		if c.width > 0 {
			raw, _ := c.info.encode(c.info.v.Initial)
			c.write(s, raw)
		}
	}
}
