package ir

import "slices"

// derived reads a derived variable of instance i.
func (r *resolver) derived(f *varInfo, i int, at []*node) *node {
	if k := r.kept[f.cells[i]]; k != nil {
		k.read = true
		return k.node
	}
	return r.follow(f, at)
}

// derivedAt reads a derived variable of an instance that is not known here.
func (r *resolver) derivedAt(f *varInfo, at []*node) *node {
	n := r.follow(f, at)
	for i, c := range f.cells {
		if k := r.kept[c]; k != nil {
			k.read = true
			n = condNode(compareNode(nEq, at[0], constant(i)), k.node, n)
		} else if v, ok := r.known.get(c); ok {
			n = condNode(compareNode(nEq, at[0], constant(i)), constant(v), n)
		}
	}
	return n
}

// follow gives the value that the program counter implies.
func (r *resolver) follow(f *varInfo, at []*node) *node {
	d := f.derived
	pc := r.load(d.pc, at)
	value := func(s source) *node {
		if s.from == nil {
			return constant(s.value)
		}
		return r.load(s.from, at)
	}
	if pc.isConst() && pc.val >= 0 && pc.val < len(d.by) {
		return value(d.by[pc.val])
	}
	common, times := source{}, 0
	for _, s := range d.by {
		n := 0
		for _, t := range d.by {
			n += bit(s == t)
		}
		if n > times {
			common, times = s, n
		}
	}
	n := value(common)
	for i, s := range d.by {
		if s != common {
			n = condNode(compareNode(nEq, pc, constant(i)), value(s), n)
		}
	}
	if pc.opt { // no such instance
		n = condNode(compareNode(nEq, pc, constant(None)), constant(f.outside()), n)
	}
	return n
}

// begin keeps the values that derived variables of the acting instance have
// before the body, as far as the body reads them.
func (b *bodies) begin(in instance) []op {
	b.r.kept = map[*cell]*keptVar{}
	var out []op
	changed := b.r.assigned(in.action.Body, nil)
	for _, v := range b.readVars(in.action.Body) {
		f := b.r.l.vars[v]
		if f.derived == nil {
			continue
		}
		for _, i := range in.elements(v.Index[0].Set) {
			if b.r.kept[f.cells[i]] == nil {
				out = b.keep(out, f, i, changed)
			}
		}
	}
	return out
}

// keep stores the value of instance i now; in a run-time local if the body may
// change what it follows from.
func (b *bodies) keep(out []op, f *varInfo, i int, changed []*varInfo) []op {
	c := f.cells[i]
	n := b.r.load(f, []*node{constant(i)})
	stable := n.isConst() || n.op == nLocal || n.reads(func(d *cell) {}) && !n.touches(changed)
	if n.isConst() {
		b.r.known = append(b.r.known, fact{c, n.val})
	}
	k := &keptVar{cell: c, node: n}
	if !slices.Contains(b.unused, f) && (!stable || slices.Contains(changed, f)) {
		x := b.r.local(f.lo, f.hi, f.opt)
		k.node = x
		b.kept = append(b.kept, k)
		out = append(out, op{kind: oMore, more: &opMore{kind: mLet, loc: x.loc, value: b.m.number(n)}})
	}
	b.r.kept[c] = k
	return out
}

// touches reports whether the node reads a cell of the variables.
func (n *node) touches(vs []*varInfo) bool {
	hit := false
	n.reads(func(c *cell) { hit = hit || slices.Contains(vs, c.info) })
	return hit
}

// idle lists the derived variables whose locals nothing read.
func (b *bodies) idle() []*varInfo {
	var out []*varInfo
	read := map[*varInfo]bool{}
	for _, k := range b.kept {
		read[k.cell.info] = read[k.cell.info] || k.read
	}
	for f, r := range read {
		if !r {
			out = append(out, f)
		}
	}
	if len(out) > 0 {
		out = append(out, b.unused...)
	}
	return out
}

// elements lists the elements of the set that Self and the parameters are.
func (in instance) elements(s *Set) []int {
	var out []int
	if q := in.action.Proc; q != nil && q.Instances == s {
		out = append(out, in.self)
	}
	for i, p := range in.action.Params {
		if p.Over.Set == s {
			out = append(out, in.params[i])
		}
	}
	return out
}

// assignDerived follows an assignment to a derived variable: its new value is
// what the program counter will say at the end of the body.
func (b *bodies) assignDerived(out []op, f *varInfo, at []*node, value *node) []op {
	c := f.cells[at[0].val]
	b.r.known = b.r.known.without(func(d *cell) bool { return d == c })
	if value.isConst() {
		b.r.known = append(b.r.known, fact{c, value.val})
	}
	k := b.r.kept[c]
	if k == nil || k.node.op != nLocal || !slices.Contains(b.kept, k) {
		return out
	}
	return append(out, op{kind: oMore, more: &opMore{kind: mLet, loc: k.node.loc, value: b.m.number(value)}})
}

// readVars lists the variables that statements read, in order.
func (b *bodies) readVars(ss []Stmt) []*Var {
	var out []*Var
	add := func(v *Var) {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	eachExpr(ss, func(e Expr) { eachLoad(e, add) })
	return out
}

// eachExpr calls f for the expressions of statements.
func eachExpr(ss []Stmt, f func(Expr)) {
	all := func(es []Expr) {
		for _, e := range es {
			f(e)
		}
	}
	for _, s := range ss {
		switch s := s.(type) {
		case Assign:
			all(s.At)
			f(s.Value)
		case If:
			f(s.Cond)
			eachExpr(s.Then, f)
			eachExpr(s.Else, f)
		case ForEach:
			eachExpr(s.Body, f)
		case Let:
			f(s.Value)
		case Put:
			eachExpr(s.Body, f)
		case Drop:
			f(s.Slot)
		case Fresh:
			all(s.At)
		case Next:
			all(s.At)
		}
	}
}

// eachLoad calls f for the variables that an expression reads.
func eachLoad(e Expr, f func(*Var)) {
	switch e := e.(type) {
	case Load:
		f(e.Var)
		for _, x := range e.At {
			eachLoad(x, f)
		}
	case Binary:
		eachLoad(e.A, f)
		eachLoad(e.B, f)
	case Not:
		eachLoad(e.A, f)
	case Cond:
		eachLoad(e.If, f)
		eachLoad(e.A, f)
		eachLoad(e.B, f)
	case Exists:
		eachLoad(e.Where, f)
	case Count:
		eachLoad(e.Where, f)
	case Best:
		eachLoad(e.Where, f)
		eachLoad(e.Of, f)
	}
}
