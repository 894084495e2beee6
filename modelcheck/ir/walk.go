package ir

// walk executes a body symbolically for the analysis of derive.go.
type walk struct {
	d       *deriver
	subject *Local
	next    int // next fresh value number
}

// path is one way through a body: the value numbers of the instance's variables
// and of locals, and which numbers are constants.
type path struct {
	number map[*Var]int
	locals map[*Local]int
	consts map[int]int
}

func (p *path) clone() *path {
	q := &path{map[*Var]int{}, map[*Local]int{}, map[int]int{}}
	for k, v := range p.number {
		q.number[k] = v
	}
	for k, v := range p.locals {
		q.locals[k] = v
	}
	for k, v := range p.consts {
		q.consts[k] = v
	}
	return q
}

func (w *walk) fresh() int {
	w.next++
	return w.next
}

func (w *walk) constant(p *path, v int) int {
	for n, c := range p.consts {
		if c == v && n < 0 {
			return n
		}
	}
	n := -len(p.consts) - 1
	for {
		if _, taken := p.consts[n]; !taken {
			break
		}
		n--
	}
	p.consts[n] = v
	return n
}

func (w *walk) start(r *relation, at int) *path {
	p := &path{map[*Var]int{}, map[*Local]int{}, map[int]int{}}
	for i, v := range w.d.vars {
		if c, ok := r.consts[r.number[i]]; ok {
			p.number[v] = w.constant(p, c)
		} else {
			p.number[v] = r.number[i]
		}
	}
	p.number[w.d.q.PC] = w.constant(p, at)
	return p
}

// run executes statements on all paths; false if there are too many.
func (w *walk) run(ps []*path, ss []Stmt) ([]*path, bool) {
	for _, s := range ss {
		var out []*path
		for _, p := range ps {
			qs, ok := w.stmt(p, s)
			if !ok {
				return nil, false
			}
			out = append(out, qs...)
		}
		if len(out) > maxPaths {
			return nil, false
		}
		ps = out
	}
	return ps, true
}

// tracked reports whether a cell is a variable of the subject.
func (w *walk) tracked(v *Var, at []Expr) bool {
	_, ok := w.d.place[v]
	if !ok && v != w.d.q.PC || len(at) != 1 {
		return false
	}
	u, isUse := at[0].(Use)
	return isUse && u.Local == w.subject
}

func (w *walk) stmt(p *path, s Stmt) ([]*path, bool) {
	switch s := s.(type) {
	case Assign:
		if w.tracked(s.Var, s.At) {
			p.number[s.Var] = w.assigned(p, s.Var, s.Value)
		}
	case Let:
		p.locals[s.Local] = w.expr(p, s.Value)
	case If:
		return w.branch(p, s)
	case ForEach:
		w.blur(p, s.Body)
	case Put:
		return w.run([]*path{p}, s.Body)
	case Cut:
		return nil, true
	}
	return []*path{p}, true
}

// blur forgets what a loop may write.
func (w *walk) blur(p *path, ss []Stmt) {
	writes(ss, func(v *Var, at []Expr) {
		if w.tracked(v, at) {
			p.number[v] = w.fresh()
		}
	})
}

// assigned is the number of a stored value: a fresh one if storing may cut.
func (w *walk) assigned(p *path, v *Var, e Expr) int {
	n := w.expr(p, e)
	if c, ok := p.consts[n]; ok {
		if v.Type.holds(c) {
			return n
		}
		return w.fresh()
	}
	if l, ok := e.(Load); ok && within(l.Var.Type, v.Type) {
		return n
	}
	if _, ok := e.(Use); ok && v.Type.Kind == Ref && !v.Type.Set.Ordered {
		return n
	}
	return w.fresh()
}

// within reports whether every value of a is one of b.
func within(a, b Type) bool {
	alo, ahi := a.bounds()
	blo, bhi := b.bounds()
	return a.Kind != Token && a.Kind != Rank && alo >= blo && ahi <= bhi && (b.Optional || !a.Optional)
}

func (w *walk) branch(p *path, s If) ([]*path, bool) {
	var out []*path
	for _, side := range []struct {
		holds bool
		body  []Stmt
	}{{true, s.Then}, {false, s.Else}} {
		q := p.clone()
		if !w.assume(q, s.Cond, side.holds) {
			continue
		}
		qs, ok := w.run([]*path{q}, side.body)
		if !ok {
			return nil, false
		}
		out = append(out, qs...)
	}
	return out, true
}

// assume adds what a condition says; false if it contradicts what is known.
func (w *walk) assume(p *path, e Expr, holds bool) bool {
	switch e := e.(type) {
	case Const:
		return (e.Value > 0) == holds
	case Not:
		return w.assume(p, e.A, !holds)
	case Binary:
		switch e.Op {
		case And:
			if holds {
				return w.assume(p, e.A, true) && w.assume(p, e.B, true)
			}
		case Or:
			if !holds {
				return w.assume(p, e.A, false) && w.assume(p, e.B, false)
			}
		case Eq, Ne:
			return w.equal(p, e, (e.Op == Eq) == holds)
		}
	case Load:
		if c, ok := p.consts[w.expr(p, e)]; ok {
			return (c > 0) == holds
		}
	}
	return true
}

func (w *walk) equal(p *path, e Binary, holds bool) bool {
	a, b := w.expr(p, e.A), w.expr(p, e.B)
	x, isX := p.consts[a]
	y, isY := p.consts[b]
	switch {
	case isX && isY:
		return (x == y) == holds
	case a == b:
		return holds
	case !holds:
		return true
	case isX:
		w.rename(p, b, a)
	default:
		w.rename(p, a, b)
	}
	return true
}

// rename gives number from the meaning of to: they are equal on this path.
func (w *walk) rename(p *path, from, to int) {
	for v, n := range p.number {
		if n == from {
			p.number[v] = to
		}
	}
	for l, n := range p.locals {
		if n == from {
			p.locals[l] = to
		}
	}
}

// expr is the value number of an expression.
func (w *walk) expr(p *path, e Expr) int {
	switch e := e.(type) {
	case Const:
		return w.constant(p, e.Value)
	case Use:
		n, ok := p.locals[e.Local]
		if !ok {
			n = w.fresh()
			p.locals[e.Local] = n
		}
		return n
	case Load:
		if w.tracked(e.Var, e.At) {
			return p.number[e.Var]
		}
	}
	return w.fresh()
}
