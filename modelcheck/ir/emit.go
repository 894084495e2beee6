package ir

import (
	"math/bits"
	"slices"
)

type (
	intFn  func(v []uint64, e env) int
	boolFn func(v []uint64, e env) bool
)

// test is one condition on a state, most of them without a call.
type test struct {
	kind  testKind
	shift uint8
	word  uint16
	other uint16 // tSame: word and
	oshft uint8  // shift of the second cell
	mask  uint64
	val   uint64
	more  *testMore
}

// testMore is what the less simple tests need.
type testMore struct {
	table []uint64 // tTable: bit set over the window
	any   [][]test // tAny: one of these lists holds
	fn    boolFn
}

type testKind uint8

// The kinds of tests, cheapest first.
const (
	tEq    testKind = iota // word & mask == val
	tNe                    // word & mask != val
	tBits                  // bit (word >> shift & mask) of val
	tSame                  // two cells hold the same raw number
	tTable                 // the same as tBits, of table
	tAny
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
	case tSame:
		return (v[t.word]>>t.shift^v[t.other]>>t.oshft)&t.mask == 0
	case tTable:
		i := v[t.word] >> t.shift & t.mask
		return t.more.table[i>>6]>>(i&63)&1 != 0
	case tAny:
		for _, ts := range t.more.any {
			if holdAll(ts, v, e) {
				return true
			}
		}
		return false
	}
	return t.more.fn(v, e)
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

// cheapFirst orders tests by cost; conditions have no effects, so order is free.
func cheapFirst(ts []test) []test {
	slices.SortStableFunc(ts, func(a, b test) int { return int(a.kind) - int(b.kind) })
	return ts
}

// test gives one test for a condition that is not constant true.
func (m emitter) test(n *node) test {
	if n.isConst() {
		v := n.val > 0
		return closure(func([]uint64, env) bool { return v })
	}
	if t, ok := m.simple(n); ok {
		return t
	}
	if w, ok := windowOf(n); ok && w.width <= tableWindow {
		return m.table(n, w)
	}
	if n.op == nOr {
		any := make([][]test, len(n.kids))
		for i, k := range n.kids {
			any[i] = m.tests(k)
		}
		return test{kind: tAny, more: &testMore{any: any}}
	}
	return closure(m.cond(n))
}

func closure(f boolFn) test { return test{kind: tFn, more: &testMore{fn: f}} }

// simple recognises comparisons of a cell with a constant.
func (m emitter) simple(n *node) (test, bool) {
	switch n.op {
	case nCell:
		if f := n.cell.info; !f.opt && f.lo == 0 && f.hi == 1 {
			bit := uint64(1) << n.cell.shift
			return test{kind: tEq, word: uint16(n.cell.word), mask: bit, val: bit}, true
		}
	case nNot:
		t, ok := m.simple(n.kids[0])
		if ok && t.kind == tEq {
			t.kind = tNe
			return t, true
		}
	case nEq:
		a, b := n.kids[0], n.kids[1]
		if a.op == nCell && b.op == nCell && alike(a.cell.info, b.cell.info) {
			c, d := a.cell, b.cell
			return test{kind: tSame, word: uint16(c.word), shift: uint8(c.shift), other: uint16(d.word), oshft: uint8(d.shift), mask: c.mask}, true
		}
		if a.op == nCell && b.isConst() {
			raw, ok := a.cell.info.encode(b.val)
			if !ok {
				return test{}, false
			}
			c := a.cell
			return test{kind: tEq, word: uint16(c.word), mask: c.mask << c.shift, val: raw << c.shift}, true
		}
	}
	return test{}, false
}

func (m emitter) table(n *node, w window) test {
	t := test{kind: tBits, word: uint16(w.word), shift: uint8(w.shift), mask: 1<<w.width - 1}
	if w.width > bitsWindow {
		t.kind = tTable
		t.more = &testMore{table: make([]uint64, 1<<(w.width-bitsWindow))}
	}
	w.tabulate(n, m.words, func(raw uint64, v int) {
		switch {
		case v <= 0:
		case t.kind == tBits:
			t.val |= 1 << raw
		default:
			t.more.table[raw>>6] |= 1 << (raw & 63)
		}
	})
	if t.kind == tBits {
		t.sharpen(n)
	}
	return t
}

// sharpen turns a test of one cell that singles out one value, or all but one,
// into a comparison.
func (t *test) sharpen(n *node) {
	var c *cell
	one := n.reads(func(d *cell) {
		if c != nil && c != d {
			c = &cell{width: 99}
		} else {
			c = d
		}
	})
	if !one || c == nil || c.width == 99 {
		return
	}
	valid := c.info.none
	if c.info.opt {
		valid++
	}
	all := ^uint64(0) >> (64 - valid)
	yes, no := t.val&all, all&^t.val
	switch {
	case bits.OnesCount64(yes) == 1:
		*t = test{kind: tEq, word: t.word, mask: c.mask << c.shift, val: uint64(bits.TrailingZeros64(yes)) << c.shift}
	case bits.OnesCount64(no) == 1:
		*t = test{kind: tNe, word: t.word, mask: c.mask << c.shift, val: uint64(bits.TrailingZeros64(no)) << c.shift}
	}
}

// cond gives a closure for a condition.
func (m emitter) cond(n *node) boolFn {
	switch n.op {
	case nAnd:
		return allOf(m.tests(n))
	case nOr:
		t := m.test(n)
		return func(v []uint64, e env) bool { return t.holds(v, e) }
	case nNot:
		t := m.test(n.kids[0])
		return func(v []uint64, e env) bool { return !t.holds(v, e) }
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

func (m emitter) equal(n *node) boolFn {
	a, b := n.kids[0], n.kids[1]
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
