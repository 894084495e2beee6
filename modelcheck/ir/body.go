package ir

import (
	"fmt"
	"slices"
)

// bodies compiles statements of one action instance. Constant assignments merge
// into masks; reads of cells whose value is known are folded.
type bodies struct {
	r    *resolver
	m    emitter
	cuts *cutTable
	// looping counts the unrolled loops around.
	looping int
	// sorts are the rank sorts whose cells the body may change.
	sorts []string
	// kept are the run-time locals that stand for derived variables; unused
	// ones are not to be kept.
	kept   []*keptVar
	unused []*varInfo
}

// keptVar is a derived variable that the body reads: its value now, while the
// program counter already says something else.
type keptVar struct {
	cell *cell
	node *node
	read bool
}

// list compiles statements in their own scope.
func (b *bodies) list(ss []Stmt) []op {
	saved := b.r.bits
	var lets []*Local
	var out []op
	for _, s := range ss {
		if l, ok := s.(Let); ok {
			out = b.let(out, l)
			lets = append(lets, l.Local)
			continue
		}
		out = b.stmt(out, s)
	}
	for _, l := range lets {
		delete(b.r.scope, l)
	}
	b.r.bits = saved
	return fuse(out, b.m.words)
}

func (b *bodies) let(out []op, l Let) []op {
	n := b.r.expr(l.Value)
	if n.isConst() || n.op == nLocal {
		b.r.scope[l.Local] = n
		return out
	}
	x := b.r.local(n.lo, n.hi, n.opt)
	b.r.scope[l.Local] = x
	return append(out, op{kind: oMore, more: &opMore{kind: mLet, loc: x.loc, value: b.m.number(n)}})
}

func (b *bodies) stmt(out []op, s Stmt) []op {
	switch s := s.(type) {
	case Assign:
		f, at := b.r.l.vars[s.Var], b.r.exprs(s.At)
		return b.assign(out, f, at, b.r.expr(s.Value))
	case If:
		return b.branch(out, s)
	case ForEach:
		return b.forEach(out, s)
	case Put:
		return b.put(out, s)
	case Drop:
		return b.drop(out, s)
	case Fresh:
		return b.symbol(out, mFresh, s.Var, s.At)
	case Next:
		return b.symbol(out, mNext, s.Var, s.At)
	case Cut:
		return append(out, b.cut(b.cuts.reason(CutInfo{Reason: s.Reason})))
	}
	panic("ir: unknown statement") // Validate has refused it
}

func (b *bodies) cut(reason *CutInfo) op {
	return op{kind: oMore, more: &opMore{kind: mCut, cut: reason}}
}

func (b *bodies) touch(f *varInfo) {
	if f.v.Type.Kind == Rank && !slices.Contains(b.sorts, f.v.Type.Sort) {
		b.sorts = append(b.sorts, f.v.Type.Sort)
	}
}

// inUse is the condition that the slots among the indices are in use.
func (b *bodies) inUse(f *varInfo, at []*node) *node {
	var kids []*node
	for d, ix := range f.v.Index {
		if ix.Pool != nil && ix.Pool.Used != f.v {
			kids = append(kids, b.r.used(ix, at[d]))
		}
	}
	return logic(nAnd, kids)
}

// guarded runs write if the slots among the indices are in use, else it cuts.
func (b *bodies) guarded(out []op, f *varInfo, at []*node, write func(out []op) []op) []op {
	live := b.inUse(f, at)
	switch {
	case live.isTrue():
		return write(out)
	case live.isFalse():
		return append(out, b.cut(b.cuts.nowhere(f.v)))
	}
	ops := write(nil)
	b.r.forget(f)
	return append(out, op{kind: oMore, more: &opMore{kind: mIf, cond: b.m.tests(live), then: ops, other: []op{b.cut(b.cuts.nowhere(f.v))}}})
}

func (b *bodies) assign(out []op, f *varInfo, at []*node, value *node) []op {
	return b.guarded(out, f, at, func(out []op) []op { return b.assignLive(out, f, at, value) })
}

func (b *bodies) assignLive(out []op, f *varInfo, at []*node, value *node) []op {
	if f.derived != nil {
		return b.assignDerived(out, f, at, value)
	}
	b.touch(f)
	i, static, inside := f.address(at)
	none := b.cuts.nowhere(f.v)
	if static && !inside {
		return append(out, b.cut(none))
	}
	if !static {
		b.r.forget(f)
		return append(out, op{kind: oMore, more: &opMore{kind: mSetAt, f: f, cells: flatten(f), at: b.m.address(f, at),
			value: b.m.number(value), cut: b.cuts.left(f.v), none: none}})
	}
	c := f.cells[i]
	b.r.known = b.r.known.without(func(d *cell) bool { return d == c })
	if value.isConst() {
		raw, ok := f.encode(value.val)
		if !ok {
			return append(out, b.cut(b.cuts.left(f.v)))
		}
		b.r.known = append(b.r.known, fact{c, value.val})
		return mask(out, c.word, c.mask<<c.shift, raw<<c.shift)
	}
	if w, ok := windowOf(value); ok && w.width <= tableWindow {
		return append(out, b.table(c, value, w))
	}
	return append(out, op{kind: oMore, more: &opMore{kind: mSet, f: f, cell: c, value: b.m.number(value), cut: b.cuts.left(f.v)}})
}

// mask appends a constant write.
func mask(out []op, word int, clear, set uint64) []op {
	w := write{clear, set}
	if n := len(out); n > 0 && out[n-1].kind == oMask && int(out[n-1].word) == word {
		out[n-1].write = out[n-1].write.then(w)
		return out
	}
	return append(out, op{kind: oMask, word: uint16(word), write: w})
}

// table is an assignment whose value is a function of a few bits.
func (b *bodies) table(c *cell, value *node, w window) op {
	o := op{kind: oTable, word: uint16(c.word), src: uint16(w.word), shift: uint8(w.shift), wmask: 1<<w.width - 1,
		table: make([]write, 1<<w.width)}
	w.tabulate(value, b.m.words, func(raw uint64, v int) {
		x, ok := c.info.encode(v)
		o.table[raw] = write{c.mask << c.shift, x << c.shift}
		if !ok {
			o.table[raw], o.cut = noWrite, b.cuts.left(c.info.v)
		}
	})
	return o
}

// apart compiles a list that may or may not run, from the facts of now.
func (b *bodies) apart(learn *node, ss []Stmt) (ops []op, after facts) {
	saved := b.r.known
	if learn != nil {
		b.r.learn(learn)
	}
	ops = b.list(ss)
	after, b.r.known = b.r.known, saved
	return ops, after
}

func (b *bodies) branch(out []op, s If) []op {
	c := b.r.expr(s.Cond)
	switch {
	case c.isTrue():
		return append(out, b.list(s.Then)...)
	case c.isFalse():
		return append(out, b.list(s.Else)...)
	}
	then, a := b.apart(c, s.Then)
	other, d := b.apart(notNode(c), s.Else)
	b.r.known = a.common(d)
	if len(then)+len(other) == 0 {
		return out
	}
	o := &opMore{kind: mIf, cond: b.m.tests(c), then: then, other: other}
	o.rare = b.looping > 0 && len(other) == 0 && len(o.cond) == 1 && o.cond[0].kind == tEq && len(then) < 1<<16
	return append(out, op{kind: oMore, more: o})
}

func (b *bodies) forEach(out []op, s ForEach) []op {
	b.looping++
	unrolled := b.r.over(s.Local, s.Over, func(x *node) { out = b.branch1(out, b.r.used(s.Over, x), s.Body) })
	b.looping--
	if unrolled {
		return out
	}
	for _, f := range b.r.assigned(s.Body, nil) {
		b.r.forget(f)
		b.touch(f)
	}
	saved := b.r.bits
	x := b.r.local(0, s.Over.size()-1, false)
	b.r.scope[s.Local] = x
	body := b.branch1(nil, b.r.used(s.Over, x), s.Body)
	delete(b.r.scope, s.Local)
	b.r.bits = saved
	for _, f := range b.r.assigned(s.Body, nil) {
		b.r.forget(f)
	}
	return append(out, op{kind: oMore, more: &opMore{kind: mLoop, loc: x.loc, n: s.Over.size(), then: body}})
}

// branch1 is an If with a resolved condition and no else.
func (b *bodies) branch1(out []op, c *node, ss []Stmt) []op {
	switch {
	case c.isTrue():
		return append(out, b.list(ss)...)
	case c.isFalse():
		return out
	}
	then, after := b.apart(c, ss)
	b.r.known = b.r.known.common(after)
	return append(out, op{kind: oMore, more: &opMore{kind: mIf, cond: b.m.tests(c), then: then}})
}

func (b *bodies) put(out []op, s Put) []op {
	used := b.r.l.vars[s.Pool.Used]
	o := &opMore{kind: mPut, cut: b.cuts.full(s.Pool), n: s.Pool.Cap}
	for _, c := range used.cells {
		o.used = append(o.used, b.m.test(cellNode(c)))
	}
	mark := Assign{Var: s.Pool.Used, At: []Expr{Use{s.Slot}}, Value: Const{1}}
	body := append([]Stmt{mark}, s.Body...)
	before := b.r.known
	for _, f := range b.r.assigned(body, nil) {
		b.r.forget(f)
	}
	after := b.r.known
	unrolled := b.r.over(s.Slot, Index{Pool: s.Pool}, func(*node) {
		b.r.known = before
		o.each = append(o.each, b.list(body))
	})
	if !unrolled {
		o.kind = mPutLoop
		bits := b.r.bits
		x := b.r.local(0, s.Pool.Cap-1, false)
		b.r.scope[s.Slot], o.loc = x, x.loc
		b.r.known = after
		o.then = b.list(body)
		delete(b.r.scope, s.Slot)
		b.r.bits = bits
	}
	b.r.known = after
	return append(out, op{kind: oMore, more: o})
}

func (b *bodies) drop(out []op, s Drop) []op {
	slot := b.r.expr(s.Slot)
	ix := Index{Pool: s.Pool}
	for _, f := range b.r.l.vars {
		if slices.Contains(f.v.Index, ix) {
			b.touch(f)
			b.r.forget(f)
		}
	}
	if slot.isConst() {
		return append(out, b.reset(s.Pool, slot.val)...)
	}
	o := &opMore{kind: mDrop, at: b.m.number(slot)}
	for i := range s.Pool.Cap {
		o.each = append(o.each, b.reset(s.Pool, i))
	}
	return append(out, op{kind: oMore, more: o})
}

// reset gives the slot's cells their initial values.
func (b *bodies) reset(p *Pool, slot int) []op {
	var out []op
	for _, c := range b.r.l.cells {
		v := c.info.v
		if c.width == 0 || !slices.Contains(v.Index, Index{Pool: p}) {
			continue
		}
		for d, x := range c.info.at(c.id - c.info.cells[0].id) {
			if v.Index[d].Pool == p && x == slot {
				raw, _ := c.info.encode(v.Initial)
				out = mask(out, c.word, c.mask<<c.shift, raw<<c.shift)
			}
		}
	}
	return out
}

func (b *bodies) symbol(out []op, kind moreKind, v *Var, at []Expr) []op {
	f, idx := b.r.l.vars[v], b.r.exprs(at)
	return b.guarded(out, f, idx, func(out []op) []op { return b.symbolLive(out, kind, f, idx) })
}

func (b *bodies) symbolLive(out []op, kind moreKind, f *varInfo, idx []*node) []op {
	v := f.v
	b.touch(f)
	o := &opMore{kind: kind, f: f, cut: b.cuts.exhausted(v), none: b.cuts.nowhere(v)}
	o.group = b.r.l.tokens
	if kind == mNext {
		o.group = b.r.l.ranks[v.Type.Sort]
	}
	i, static, inside := f.address(idx)
	if static && !inside {
		return append(out, b.cut(o.none))
	}
	b.r.forget(f)
	if static {
		o.cell = f.cells[i]
	} else {
		o.cells, o.at = flatten(f), b.m.address(f, idx)
	}
	return append(out, op{kind: oMore, more: o})
}

// finish appends the renumbering of the rank sorts that the body may change.
func (b *bodies) finish(out []op) []op {
	for _, s := range b.sorts {
		out = append(out, op{kind: oMore, more: &opMore{kind: mNextSort, group: b.r.l.ranks[s]}})
	}
	return out
}

// CutInfo says why a successor could not be represented, so that a caller can
// enlarge what was too small and compile again.
type CutInfo struct {
	Reason string // as in the result's limits
	Var    *Var   // the variable whose range or symbols were exhausted, or nil
	Pool   *Pool  // the pool that was full, or nil
	// Misused is set when a variable was assigned at no element: an error of
	// the program, which no capacity repairs.
	Misused bool
}

// cutTable holds one CutInfo per reason.
type cutTable struct{ index map[string]*CutInfo }

func (t *cutTable) reason(c CutInfo) *CutInfo {
	if i, ok := t.index[c.Reason]; ok {
		return i
	}
	if t.index == nil {
		t.index = map[string]*CutInfo{}
	}
	t.index[c.Reason] = &c
	return &c
}

func (t *cutTable) left(v *Var) *CutInfo {
	return t.reason(CutInfo{Reason: fmt.Sprintf("%s left %s", v.Name, v.Type), Var: v})
}

func (t *cutTable) nowhere(v *Var) *CutInfo {
	return t.reason(CutInfo{Reason: v.Name + " assigned at no element", Var: v, Misused: true})
}

func (t *cutTable) full(p *Pool) *CutInfo {
	return t.reason(CutInfo{Reason: p.Name + " is full", Pool: p})
}

func (t *cutTable) exhausted(v *Var) *CutInfo {
	return t.reason(CutInfo{Reason: v.Name + ": no fresh symbol left", Var: v})
}
