package ir

type (
	intFn  func(v []uint64, e env) int
	boolFn func(v []uint64, e env) bool
)

// test is one condition on a state, most of them without a call.
type test struct {
	kind  testKind
	shift uint8
	word  int32
	mask  uint64
	val   uint64
	table []uint64 // tTable: bit set over the window
	fn    boolFn
}

type testKind uint8

const (
	tEq    testKind = iota // word & mask == val
	tNe                    // word & mask != val
	tBits                  // bit (word >> shift & mask) of val
	tTable                 // the same of table
	tFn
)

func (t *test) holds(v []uint64, e env) bool {
	switch t.kind {
	case tEq:
		return v[t.word]&t.mask == t.val
	case tNe:
		return v[t.word]&t.mask != t.val
	case tBits:
		return t.val>>(v[t.word]>>t.shift&t.mask)&1 != 0
	case tTable:
		i := v[t.word] >> t.shift & t.mask
		return t.table[i>>6]>>(i&63)&1 != 0
	}
	return t.fn(v, e)
}

func holdAll(ts []test, v []uint64, e env) bool {
	for i := range ts {
		if !ts[i].holds(v, e) {
			return false
		}
	}
	return true
}

// window is a run of adjacent bits of one word that covers all that a node
// reads.
type window struct {
	word  int
	shift uint
	width uint
}

// Widths of windows that are tabulated.
const (
	bitsWindow  = 6 // one word of bits
	tableWindow = 8
)

// windowOf finds the window of a node that reads cells of one word only.
func windowOf(n *node) (w window, ok bool) {
	lo, hi, word := uint(64), uint(0), -1
	ok = n.reads(func(c *cell) {
		if word >= 0 && c.word != word {
			word = -2
		}
		if word != -2 {
			word = c.word
		}
		lo, hi = min(lo, c.shift), max(hi, c.shift+c.width)
	})
	if !ok || word < 0 {
		return window{}, false
	}
	return window{word, lo, hi - lo}, true
}

// tabulate calls f with the node's value for every content of the window.
func (w window) tabulate(n *node, words int, f func(raw uint64, v int)) {
	v := make([]uint64, words)
	for raw := range uint64(1) << w.width {
		v[w.word] = raw << w.shift
		f(raw, n.eval(v, 0))
	}
}

// emitter turns nodes into tests and closures for states of words words.
type emitter struct{ words int }

// tests gives a conjunction that holds iff n is true.
func (m emitter) tests(n *node) []test {
	if n.isTrue() {
		return nil
	}
	if n.op != nAnd {
		return []test{m.test(n)}
	}
	if w, ok := windowOf(n); ok && w.width <= bitsWindow {
		return []test{m.table(n, w)}
	}
	var out []test
	for _, k := range n.kids {
		t := m.test(k)
		if t.kind == tEq && merge(out, t) {
			continue
		}
		out = append(out, t)
	}
	return cheapFirst(out)
}

// merge adds an equality to one on the same word; overlapping masks stay apart.
func merge(ts []test, t test) bool {
	for i := range ts {
		if q := &ts[i]; q.kind == tEq && q.word == t.word && q.mask&t.mask == 0 {
			q.mask |= t.mask
			q.val |= t.val
			return true
		}
	}
	return false
}

// cheapFirst puts calls last; conditions have no effects, so order is free.
func cheapFirst(ts []test) []test {
	var out []test
	for _, t := range ts {
		if t.kind != tFn {
			out = append(out, t)
		}
	}
	for _, t := range ts {
		if t.kind == tFn {
			out = append(out, t)
		}
	}
	return out
}

// test gives one test for a condition that is not constant true.
func (m emitter) test(n *node) test {
	if n.isConst() {
		return test{kind: tFn, fn: func([]uint64, env) bool { return n.val > 0 }}
	}
	if t, ok := m.simple(n); ok {
		return t
	}
	if w, ok := windowOf(n); ok && w.width <= tableWindow {
		return m.table(n, w)
	}
	return test{kind: tFn, fn: m.cond(n)}
}

// simple recognises comparisons of a cell with a constant.
func (m emitter) simple(n *node) (test, bool) {
	switch n.op {
	case nCell:
		if f := n.cell.info; !f.opt && f.lo == 0 && f.hi == 1 {
			bit := uint64(1) << n.cell.shift
			return test{kind: tEq, word: int32(n.cell.word), mask: bit, val: bit}, true
		}
	case nNot:
		t, ok := m.simple(n.kids[0])
		if ok && t.kind == tEq {
			t.kind = tNe
			return t, true
		}
	case nEq:
		a, b := n.kids[0], n.kids[1]
		if a.op == nCell && b.isConst() {
			raw, ok := a.cell.info.encode(b.val)
			if !ok {
				return test{}, false
			}
			c := a.cell
			return test{kind: tEq, word: int32(c.word), mask: c.mask << c.shift, val: raw << c.shift}, true
		}
	}
	return test{}, false
}

func (m emitter) table(n *node, w window) test {
	t := test{kind: tBits, word: int32(w.word), shift: uint8(w.shift), mask: 1<<w.width - 1}
	if w.width > bitsWindow {
		t.kind = tTable
		t.table = make([]uint64, 1<<(w.width-bitsWindow))
	}
	w.tabulate(n, m.words, func(raw uint64, v int) {
		switch {
		case v <= 0:
		case t.kind == tBits:
			t.val |= 1 << raw
		default:
			t.table[raw>>6] |= 1 << (raw & 63)
		}
	})
	return t
}

// cond gives a closure for a condition.
func (m emitter) cond(n *node) boolFn {
	switch n.op {
	case nAnd:
		return allOf(m.tests(n))
	case nOr:
		return anyOf(m.each(n.kids))
	case nNot:
		if t := m.test(n.kids[0]); true {
			return func(v []uint64, e env) bool { return !t.holds(v, e) }
		}
	case nEq:
		return m.equal(n)
	case nLt, nLe:
		return m.ordered(n)
	case nExists:
		return m.exists(n)
	case nCond:
		c, a, b := m.test(n.kids[0]), m.test(n.kids[1]), m.test(n.kids[2])
		return func(v []uint64, e env) bool {
			if c.holds(v, e) {
				return a.holds(v, e)
			}
			return b.holds(v, e)
		}
	}
	f := m.number(n)
	return func(v []uint64, e env) bool { return f(v, e) > 0 }
}

func (m emitter) each(ns []*node) []test {
	out := make([]test, len(ns))
	for i, k := range ns {
		out[i] = m.test(k)
	}
	return out
}

func allOf(ts []test) boolFn {
	return func(v []uint64, e env) bool { return holdAll(ts, v, e) }
}

func anyOf(ts []test) boolFn {
	ts = cheapFirst(ts)
	return func(v []uint64, e env) bool {
		for i := range ts {
			if ts[i].holds(v, e) {
				return true
			}
		}
		return false
	}
}

// equal compares, raw numbers where both sides are coded alike.
func (m emitter) equal(n *node) boolFn {
	a, b := n.kids[0], n.kids[1]
	if a.op == nCell && b.op == nCell && alike(a.cell.info, b.cell.info) {
		c, d := a.cell, b.cell
		cw, cs, dw, ds, mask := c.word, c.shift, d.word, d.shift, c.mask
		return func(v []uint64, _ env) bool { return (v[cw]>>cs^v[dw]>>ds)&mask == 0 }
	}
	f, g := m.number(a), m.number(b)
	if b.isConst() {
		k := b.val
		return func(v []uint64, e env) bool { return f(v, e) == k }
	}
	return func(v []uint64, e env) bool { return f(v, e) == g(v, e) }
}

func alike(a, b *varInfo) bool {
	return a.lo == b.lo && a.hi == b.hi && a.width == b.width
}

func (m emitter) ordered(n *node) boolFn {
	a, b := n.kids[0], n.kids[1]
	f, g := m.number(a), m.number(b)
	op := n.op
	if a.opt || b.opt {
		return func(v []uint64, e env) bool { return compare(op, f(v, e), g(v, e)) }
	}
	if op == nLt {
		return func(v []uint64, e env) bool { return f(v, e) < g(v, e) }
	}
	return func(v []uint64, e env) bool { return f(v, e) <= g(v, e) }
}

func (m emitter) exists(n *node) boolFn {
	x, size, where := n.loc, n.n, m.test(n.kids[0])
	return func(v []uint64, e env) bool {
		for i := range size {
			if where.holds(v, x.set(e, i)) {
				return true
			}
		}
		return false
	}
}

// number gives a closure for a value.
func (m emitter) number(n *node) intFn {
	if n.size > 1 {
		if w, ok := windowOf(n); ok && w.width <= tableWindow {
			return m.numberTable(n, w)
		}
	}
	switch n.op {
	case nConst:
		k := n.val
		return func([]uint64, env) int { return k }
	case nCell:
		return readCell(n.cell)
	case nLocal:
		x := n.loc
		return func(_ []uint64, e env) int { return x.get(e) }
	case nArr:
		return m.element(n)
	case nAdd, nSub:
		return m.sum(n)
	case nCond:
		c, a, b := m.test(n.kids[0]), m.number(n.kids[1]), m.number(n.kids[2])
		return func(v []uint64, e env) int {
			if c.holds(v, e) {
				return a(v, e)
			}
			return b(v, e)
		}
	case nSum:
		ts := m.each(n.kids)
		return func(v []uint64, e env) int {
			k := 0
			for i := range ts {
				if ts[i].holds(v, e) {
					k++
				}
			}
			return k
		}
	case nLeast, nMost:
		return m.best(n)
	case nCount, nBest:
		return m.loop(n)
	}
	f := m.cond(n)
	return func(v []uint64, e env) int { return bit(f(v, e)) }
}

func readCell(c *cell) intFn {
	w, s, mask, lo := c.word, c.shift, c.mask, c.info.lo
	if !c.info.opt {
		return func(v []uint64, _ env) int { return int(v[w]>>s&mask) + lo }
	}
	none := c.info.none
	return func(v []uint64, _ env) int {
		raw := v[w] >> s & mask
		if raw >= none {
			return None
		}
		return int(raw) + lo
	}
}

func (m emitter) numberTable(n *node, w window) intFn {
	t := make([]int, 1<<w.width)
	w.tabulate(n, m.words, func(raw uint64, v int) { t[raw] = v })
	word, shift, mask := w.word, w.shift, uint64(1)<<w.width-1
	return func(v []uint64, _ env) int { return t[v[word]>>shift&mask] }
}

func (m emitter) sum(n *node) intFn {
	f, g, op := m.number(n.kids[0]), m.number(n.kids[1]), n.op
	switch {
	case n.opt:
		return func(v []uint64, e env) int { return arith(op, f(v, e), g(v, e)) }
	case op == nSub:
		return func(v []uint64, e env) int { return f(v, e) - g(v, e) }
	}
	return func(v []uint64, e env) int { return f(v, e) + g(v, e) }
}

// element reads an array at a computed index.
func (m emitter) element(n *node) intFn {
	at := m.address(n.arr, n.kids)
	outside := n.arr.outside()
	cells := flatten(n.arr)
	lo, none := n.arr.lo, n.arr.none
	return func(v []uint64, e env) int {
		i := at(v, e)
		if i < 0 {
			return outside
		}
		c := &cells[i]
		raw := v[c.word] >> c.shift & c.mask
		if raw >= none {
			return None
		}
		return int(raw) + lo
	}
}

// flatten copies the cells of an array side by side.
func flatten(f *varInfo) []cell {
	cells := make([]cell, len(f.cells))
	for i, c := range f.cells {
		cells[i] = *c
	}
	return cells
}

// address computes a cell number, -1 outside.
func (m emitter) address(f *varInfo, at []*node) intFn {
	if len(at) == 1 {
		x, n := m.number(at[0]), f.dims[0]
		return func(v []uint64, e env) int {
			if i := x(v, e); uint(i) < uint(n) {
				return i
			}
			return -1
		}
	}
	xs := make([]intFn, len(at))
	for i, k := range at {
		xs[i] = m.number(k)
	}
	dims := f.dims
	return func(v []uint64, e env) int {
		i := 0
		for d, x := range xs {
			k := x(v, e)
			if uint(k) >= uint(dims[d]) {
				return -1
			}
			i = i*dims[d] + k
		}
		return i
	}
}

func (m emitter) best(n *node) intFn {
	var where []test
	var of []intFn
	for i := 0; i < len(n.kids); i += 2 {
		where = append(where, m.test(n.kids[i]))
		of = append(of, m.number(n.kids[i+1]))
	}
	most := n.op == nMost
	return func(v []uint64, e env) int {
		best := None
		for i := range where {
			if where[i].holds(v, e) {
				best = better(most, best, of[i](v, e))
			}
		}
		return best
	}
}

func (m emitter) loop(n *node) intFn {
	x, size, where, most := n.loc, n.n, m.test(n.kids[0]), n.val == 1
	if n.op == nCount {
		return func(v []uint64, e env) int {
			k := 0
			for i := range size {
				if where.holds(v, x.set(e, i)) {
					k++
				}
			}
			return k
		}
	}
	of := m.number(n.kids[1])
	return func(v []uint64, e env) int {
		best := None
		for i := range size {
			if e := x.set(e, i); where.holds(v, e) {
				best = better(most, best, of(v, e))
			}
		}
		return best
	}
}
