package ir

import (
	"errors"
	"math/bits"
	"slices"
)

// unrollLimit bounds how many copies of a quantifier's or loop's body are made,
// nested ones multiplied; beyond it the body is compiled once, with a run-time
// local.
const unrollLimit = 128

var errLocals = errors.New("needs more than 64 bits of run-time locals; use fewer or narrower Lets")

// resolver turns expressions of one action instance into nodes. It knows the
// values of some locals and of some cells.
type resolver struct {
	l     *layout
	scope map[*Local]*node
	bits  uint // of the environment word in use
	times int  // copies made of the current place
	known facts
	full  bool // the environment word overflowed
	kept  map[*cell]*keptVar
}

// facts are cells with known values.
type facts []fact

type fact struct {
	c *cell
	v int
}

func (fs facts) get(c *cell) (int, bool) {
	for _, f := range fs {
		if f.c == c {
			return f.v, true
		}
	}
	return 0, false
}

func (fs facts) without(drop func(*cell) bool) facts {
	var out facts
	for _, f := range fs {
		if !drop(f.c) {
			out = append(out, f)
		}
	}
	return out
}

func (fs facts) with(c *cell, v int) facts {
	out := fs.without(func(d *cell) bool { return d == c })
	return append(out, fact{c, v})
}

// common keeps the facts that hold in both.
func (fs facts) common(gs facts) facts {
	return fs.without(func(c *cell) bool {
		a, _ := fs.get(c)
		b, ok := gs.get(c)
		return !ok || a != b
	})
}

func newResolver(l *layout) *resolver {
	return &resolver{l: l, scope: map[*Local]*node{}, times: 1}
}

// local reserves bits of the environment for values lo..hi (and None if opt).
// The caller gives them back by restoring r.bits.
func (r *resolver) local(lo, hi int, opt bool) *node {
	if hi < lo {
		lo, hi = 0, 0
	}
	n := uint64(hi-lo) + 1
	if opt {
		n++
	}
	w := uint(bits.Len64(n - 1))
	x := local{shift: r.bits, width: w, lo: lo, hi: hi}
	r.bits += w
	if r.bits > 64 {
		r.full = true
		r.bits, x.shift = 0, 0
	}
	return &node{op: nLocal, loc: x, lo: lo, hi: hi, opt: opt, size: 1}
}

func (r *resolver) exprs(es []Expr) []*node {
	out := make([]*node, len(es))
	for i, e := range es {
		out[i] = r.expr(e)
	}
	return out
}

func (r *resolver) expr(e Expr) *node {
	switch e := e.(type) {
	case Const:
		return constant(e.Value)
	case Use:
		return r.scope[e.Local]
	case Load:
		return r.load(r.l.vars[e.Var], r.exprs(e.At))
	case Binary:
		return r.binary(e)
	case Not:
		return notNode(r.expr(e.A))
	case Cond:
		c := r.expr(e.If)
		if c.isConst() {
			if c.isTrue() {
				return r.expr(e.A)
			}
			return r.expr(e.B)
		}
		return condNode(c, r.expr(e.A), r.expr(e.B))
	case Exists:
		return r.exists(e)
	case Count:
		return r.count(e)
	case Best:
		return r.best(e)
	}
	panic("ir: unknown expression") // Validate has refused it
}

func (r *resolver) binary(e Binary) *node {
	a := r.expr(e.A)
	switch e.Op {
	case And:
		if a.isFalse() {
			return a
		}
		return logic(nAnd, []*node{a, r.expr(e.B)})
	case Or:
		if a.isTrue() {
			return flag(true)
		}
		return logic(nOr, []*node{a, r.expr(e.B)})
	}
	b := r.expr(e.B)
	switch e.Op {
	case Add:
		return sumNode(nAdd, a, b)
	case Sub:
		return sumNode(nSub, a, b)
	case Eq:
		return compareNode(nEq, a, b)
	case Ne:
		return notNode(compareNode(nEq, a, b))
	case Lt:
		return compareNode(nLt, a, b)
	}
	return compareNode(nLe, a, b)
}

// load reads a cell: folded if its value is known, direct if its address is.
func (r *resolver) load(f *varInfo, at []*node) *node {
	i, static, inside := f.address(at)
	switch {
	case static && !inside:
		return constant(f.outside())
	case static:
		c := f.cells[i]
		if v, ok := r.known.get(c); ok {
			return constant(v)
		}
		if f.derived != nil {
			return r.derived(f, i, at)
		}
		return cellNode(c)
	case f.derived != nil:
		return r.derivedAt(f, at)
	}
	n := inner(nArr, f.lo, f.hi, f.opt || !inside && f.outside() == None, at...)
	n.arr = f
	return n
}

// address gives the cell number if all indices are constant (static). inside
// is false if an index is, or may be, None or outside its set.
func (f *varInfo) address(at []*node) (i int, static, inside bool) {
	static, inside = true, true
	for d, k := range at {
		if k.opt || k.lo < 0 || k.hi >= f.dims[d] {
			inside = false
		}
		if !k.isConst() {
			static = false
			continue
		}
		i = i*f.dims[d] + k.val
	}
	if !static {
		i = -1
	}
	return i, static, inside
}

// over calls body for every element with the local bound to it, or returns
// false if there would be too many copies.
func (r *resolver) over(l *Local, ix Index, body func(element *node)) bool {
	n := ix.size()
	if n > 1 && r.times*n > unrollLimit {
		return false
	}
	r.times *= max(n, 1)
	for i := range n {
		r.scope[l] = constant(i)
		body(r.scope[l])
	}
	delete(r.scope, l)
	r.times /= max(n, 1)
	return true
}

// loop binds the local to a run-time local and builds a looping node.
func (r *resolver) loop(op nodeOp, l *Local, ix Index, body func() []*node) *node {
	saved := r.bits
	x := r.local(0, ix.size()-1, false)
	r.scope[l] = x
	kids := body()
	delete(r.scope, l)
	r.bits = saved
	n := inner(op, 0, 1, false, kids...)
	n.loc, n.n = x.loc, ix.size()
	return n
}

// used is the condition that slot x is in use; true for sets.
func (r *resolver) used(ix Index, x *node) *node {
	if ix.Pool == nil {
		return flag(true)
	}
	return r.load(r.l.vars[ix.Pool.Used], []*node{x})
}

// where is the condition on the element bound to l, with use of the slot.
func (r *resolver) where(ix Index, l *Local, w Expr) *node {
	u := r.used(ix, r.scope[l])
	if u.isFalse() || w == nil {
		return u
	}
	return logic(nAnd, []*node{u, r.expr(w)})
}

func (r *resolver) exists(e Exists) *node {
	var kids []*node
	if r.over(e.Local, e.Over, func(*node) { kids = append(kids, r.where(e.Over, e.Local, e.Where)) }) {
		return logic(nOr, kids)
	}
	return r.loop(nExists, e.Local, e.Over, func() []*node { return []*node{r.where(e.Over, e.Local, e.Where)} })
}

func (r *resolver) count(e Count) *node {
	var kids []*node
	if r.over(e.Local, e.Over, func(*node) { kids = append(kids, r.where(e.Over, e.Local, e.Where)) }) {
		return countNode(kids)
	}
	n := r.loop(nCount, e.Local, e.Over, func() []*node { return []*node{r.where(e.Over, e.Local, e.Where)} })
	n.hi = e.Over.size()
	return n
}

func (r *resolver) best(e Best) *node {
	op := nLeast
	if e.Max {
		op = nMost
	}
	var pairs []*node
	pair := func() []*node { return []*node{r.where(e.Over, e.Local, e.Where), r.expr(e.Of)} }
	if r.over(e.Local, e.Over, func(*node) { pairs = append(pairs, pair()...) }) {
		return bestNode(op, pairs)
	}
	n := r.loop(nBest, e.Local, e.Over, pair)
	n.lo, n.hi, n.opt = n.kids[1].lo, n.kids[1].hi, true
	n.val = bit(e.Max)
	return n
}

// forget drops what is known of the variable's cells.
func (r *resolver) forget(f *varInfo) {
	r.known = r.known.without(func(c *cell) bool { return c.info == f })
}

// learn adds what a condition that holds says about single cells.
func (r *resolver) learn(n *node) {
	switch {
	case n.op == nAnd:
		for _, k := range n.kids {
			r.learn(k)
		}
	case n.op == nCell:
		if f := n.cell.info; !f.opt && f.lo == 0 && f.hi == 1 {
			r.known = r.known.with(n.cell, 1)
		}
	case n.op == nEq && n.kids[0].op == nCell && n.kids[1].isConst():
		r.known = r.known.with(n.kids[0].cell, n.kids[1].val)
	case n.op == nNot && n.kids[0].op == nCell:
		if f := n.kids[0].cell.info; !f.opt && f.lo == 0 && f.hi == 1 {
			r.known = r.known.with(n.kids[0].cell, 0)
		}
	}
}

// assigned lists the variables that statements may change.
func (r *resolver) assigned(ss []Stmt, out []*varInfo) []*varInfo {
	add := func(v *Var) {
		if f := r.l.vars[v]; !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	pool := func(p *Pool) {
		for v := range r.l.vars {
			if slices.Contains(v.Index, Index{Pool: p}) {
				add(v)
			}
		}
	}
	for _, s := range ss {
		switch s := s.(type) {
		case Assign:
			add(s.Var)
		case Fresh:
			add(s.Var)
		case Next:
			add(s.Var)
		case If:
			out = r.assigned(s.Then, out)
			out = r.assigned(s.Else, out)
		case ForEach:
			out = r.assigned(s.Body, out)
		case Put:
			add(s.Pool.Used)
			out = r.assigned(s.Body, out)
		case Drop:
			pool(s.Pool)
		}
	}
	return out
}
