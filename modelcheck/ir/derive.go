package ir

import "slices"

// A variable of a process instance whose value follows from the program counter
// at every location - a constant, or the value of another variable of the same
// instance - needs no bits. Eliminating it maps states one to one, so counts,
// verdicts and histories stay the same; only the packed state is smaller.
//
// The analysis runs each action symbolically from each location with value
// numbers, splitting paths at Ifs, and joins what is known at the location where
// a path ends, until nothing changes.

// derivation says where the value of an eliminated variable comes from.
type derivation struct {
	pc *varInfo
	by []source // per location
}

// source is a constant or a stored variable of the same instance.
type source struct {
	from  *varInfo // nil: constant
	value int
}

// Limits of the analysis; beyond them nothing is eliminated for the process.
const (
	maxPaths  = 128
	maxLocals = 64
)

// derive finds the variables to eliminate.
func derive(p *Program, l *layout) {
	for _, q := range p.Procs {
		d := newDeriver(p, l, q)
		if d != nil && d.fixpoint() {
			d.eliminate()
		}
	}
}

// deriver analyses one process.
type deriver struct {
	p     *Program
	l     *layout
	q     *Proc
	vars  []*Var // eligible, and those they may equal; all indexed by the instances
	place map[*Var]int
	facts []*relation // per location, nil: not reached
	// moves are the actions that write variables of an instance.
	moves []move
}

// move is an action with the local of the instance it changes.
type move struct {
	a       *Action
	subject *Local
}

// relation is what is known of the variables at a location: equal numbers,
// equal values; constants by number.
type relation struct {
	number []int
	consts map[int]int
}

func newDeriver(p *Program, l *layout, q *Proc) *deriver {
	for _, o := range p.Procs {
		if o != q && o.Instances == q.Instances {
			return nil
		}
	}
	d := &deriver{p: p, l: l, q: q, place: map[*Var]int{}}
	own := func(v *Var) bool { return len(v.Index) == 1 && v.Index[0].Set == q.Instances }
	bad := map[*Var]bool{}
	for _, a := range p.Actions {
		subject, ok := d.subjectOf(a, own, bad)
		if !ok {
			return nil
		}
		if subject != nil {
			d.moves = append(d.moves, move{a, subject})
		}
	}
	for _, ss := range p.Initial {
		writes(ss, func(v *Var, _ []Expr) { bad[v] = true })
	}
	if bad[q.PC] {
		return nil
	}
	for _, v := range p.Vars {
		if own(v) && v != q.PC && !bad[v] && v.Type.Kind != Token && v.Type.Kind != Rank {
			d.place[v] = len(d.vars)
			d.vars = append(d.vars, v)
		}
	}
	if len(d.vars) == 0 || len(d.vars) > maxLocals || q.Instances.Size == 0 {
		return nil
	}
	d.facts = make([]*relation, len(q.Locations))
	return d
}

// subjectOf gives the one local at which the action writes variables of the
// process; a variable written elsewhere is bad, and so is the process if it is
// the program counter.
func (d *deriver) subjectOf(a *Action, own func(*Var) bool, bad map[*Var]bool) (subject *Local, ok bool) {
	if a.Proc == d.q {
		subject = a.Self
		if subject == nil {
			return nil, false
		}
	}
	writes(a.Body, func(v *Var, at []Expr) {
		if !own(v) {
			return
		}
		u, isUse := at[0].(Use)
		if !isUse || !d.isSubject(a, u.Local) || subject != nil && subject != u.Local {
			bad[v] = true
			return
		}
		subject = u.Local
	})
	return subject, true
}

func (d *deriver) isSubject(a *Action, l *Local) bool {
	if a.Proc == d.q && l == a.Self {
		return true
	}
	return slices.ContainsFunc(a.Params, func(p Param) bool { return p.Local == l && p.Over.Set == d.q.Instances })
}

// writes calls f for every variable cell that statements may write.
func writes(ss []Stmt, f func(v *Var, at []Expr)) {
	for _, s := range ss {
		switch s := s.(type) {
		case Assign:
			f(s.Var, s.At)
		case Fresh:
			f(s.Var, s.At)
		case Next:
			f(s.Var, s.At)
		case If:
			writes(s.Then, f)
			writes(s.Else, f)
		case ForEach:
			writes(s.Body, f)
		case Put:
			writes(s.Body, f)
		}
	}
}

// fixpoint fills facts; false if the analysis gives up.
func (d *deriver) fixpoint() bool {
	first := &relation{consts: map[int]int{}}
	for _, v := range d.vars {
		n := slices.IndexFunc(d.vars, func(y *Var) bool { return y.Initial == v.Initial })
		first.number = append(first.number, n)
		first.consts[n] = v.Initial
	}
	d.join(d.q.PC.Initial, first)
	for changed, rounds := true, 0; changed; rounds++ {
		if rounds > 200 {
			return false
		}
		changed = false
		for _, m := range d.moves {
			for at := range d.q.Locations {
				if d.facts[at] == nil || m.a.Proc == d.q && m.a.At != at || !d.enabled(m, at) {
					continue
				}
				c, ok := d.step(m, at)
				if !ok {
					return false
				}
				changed = changed || c
			}
		}
	}
	return true
}

// enabled reports whether the guard can hold at the location.
func (d *deriver) enabled(m move, at int) bool {
	if m.a.Guard == nil || d.q.Instances.Ordered {
		return true
	}
	r := newResolver(d.l)
	bind := func(l *Local, ix Index) {
		if l == m.subject {
			r.scope[l] = constant(0)
		} else {
			r.scope[l] = r.local(0, ix.size()-1, false)
		}
	}
	if m.a.Self != nil {
		bind(m.a.Self, Index{Set: m.a.Proc.Instances})
	}
	for _, p := range m.a.Params {
		bind(p.Local, p.Over)
	}
	r.known = facts{{d.l.vars[d.q.PC].cells[0], at}}
	return !r.expr(m.a.Guard).isFalse()
}

// step runs an action from a location and joins where its paths end.
func (d *deriver) step(m move, at int) (changed, ok bool) {
	w := &walk{d: d, subject: m.subject, next: 1 << 20}
	start := w.start(d.facts[at], at)
	ends, ok := w.run([]*path{start}, m.a.Body)
	if !ok {
		return false, false
	}
	for _, e := range ends {
		to, known := e.consts[e.number[d.q.PC]]
		if !known {
			return false, false
		}
		if to < 0 || to >= len(d.q.Locations) {
			continue
		}
		r := &relation{consts: map[int]int{}}
		for _, v := range d.vars {
			n := e.number[v]
			r.number = append(r.number, n)
			if c, ok := e.consts[n]; ok {
				r.consts[n] = c
			}
		}
		changed = d.join(to, r) || changed
	}
	return changed, true
}

// join keeps what both relations know; it reports a change.
func (d *deriver) join(at int, r *relation) bool {
	old := d.facts[at]
	if old == nil {
		d.facts[at] = r
		return true
	}
	type pair struct{ a, b int }
	classes := map[pair]int{}
	out := &relation{consts: map[int]int{}}
	same := true
	for i := range d.vars {
		k := pair{old.number[i], r.number[i]}
		n, ok := classes[k]
		if !ok {
			n = i
			classes[k] = n
			a, isA := old.consts[k.a]
			if b, isB := r.consts[k.b]; isA && isB && a == b {
				out.consts[n] = a
			}
			_, still := out.consts[n]
			same = same && isA == still
		}
		out.number = append(out.number, n)
	}
	for i := range d.vars {
		for j := range i {
			same = same && (old.number[i] == old.number[j]) == (out.number[i] == out.number[j])
		}
	}
	d.facts[at] = out
	return !same
}

// eliminate chooses variables whose value is known at every location that is
// reached, wide ones first.
func (d *deriver) eliminate() {
	pc := d.l.vars[d.q.PC]
	order := slices.Clone(d.vars)
	slices.SortStableFunc(order, func(a, b *Var) int { return d.l.vars[b].values() - d.l.vars[a].values() })
	gone := map[*Var]bool{}
	needed := map[*Var]bool{} // others are copies of these
	for _, v := range order {
		if needed[v] || d.l.vars[v].values() == 1 {
			continue
		}
		by, from, ok := d.sources(v, gone)
		if !ok {
			continue
		}
		gone[v] = true
		for _, y := range from {
			needed[y] = true
		}
		f := d.l.vars[v]
		f.derived, f.width = &derivation{pc: pc, by: by}, 0
		for _, c := range f.cells {
			c.width, c.mask = 0, 0
		}
	}
}

func (d *deriver) sources(v *Var, gone map[*Var]bool) (by []source, from []*Var, ok bool) {
	i := d.place[v]
	for at := range d.q.Locations {
		r := d.facts[at]
		if r == nil {
			by = append(by, source{value: v.Initial})
			continue
		}
		if c, ok := r.consts[r.number[i]]; ok {
			by = append(by, source{value: c})
			continue
		}
		j := slices.IndexFunc(d.vars, func(y *Var) bool { return y != v && !gone[y] && r.number[d.place[y]] == r.number[i] })
		if j < 0 {
			return nil, nil, false
		}
		by = append(by, source{from: d.l.vars[d.vars[j]]})
		from = append(from, d.vars[j])
	}
	return by, from, true
}
