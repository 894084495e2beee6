package lower

import (
	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// selectPlan reads one row (or none, or a count). Several rows that match with
// nothing to order them are several successors: the engine chooses.
func (em *emitter) selectPlan(n *node) plan {
	s := n.step
	if s.Replica {
		return em.replicaPlan(n)
	}
	st := em.statement(n)
	pl := plan{lossy: em.lossySQL(s)}
	if st.t == nil { // a table that nobody writes
		pl.outcomes = []*outcome{{done: true, guard: yes, pure: true, do: func(em *emitter) []ir.Stmt {
			delete(em.env, s.As)
			if s.Count {
				em.env[s.As] = integer(num(0), 0, 0, false)
			}
			return nil
		}}}
		return pl
	}
	if s.Lock && !s.Skip {
		pl.blocked = st.waits()
	}
	if s.Count {
		pl.outcomes = []*outcome{em.countOutcome(n)}
		return pl
	}
	if s.NoWait && pl.blocked != nil {
		pl.outcomes = append(pl.outcomes, &outcome{branch: ast.OnError, guard: pl.blocked, pure: true, text: "the row is locked", why: RowLocked})
		busy := pl.blocked
		pl.blocked = nil
		defer func() {
			for _, o := range pl.outcomes[1:] {
				o.guard = and(not(busy), o.guard)
			}
		}()
	}
	pl.outcomes = append(pl.outcomes, em.found(n, st), em.nothing(n, st))
	if s.Lock {
		return em.unlessOutdated(pl, st)
	}
	return pl
}

// found binds a row.
func (em *emitter) found(n *node, st *statement) *outcome {
	s := n.step
	o := &outcome{done: true, pure: true, text: "finds"}
	if s.Lock && em.inSQL(s) {
		o.pure = false
	}
	place := st.at
	if place != nil {
		o.guard = st.match(place)
	} else {
		l := &ir.Local{Name: st.t.name + " row"}
		place = use(l)
		o.params = []ir.Param{{Local: l, Over: st.t.over}}
		o.guard = and(st.match(place), em.firstInOrder(st, place))
	}
	o.shows = []any{rowText{st.t, place}}
	seen := em.rowSeen(st.t, s, place)
	o.reads = &seen
	o.do = func(em *emitter) []ir.Stmt {
		var out []ir.Stmt
		em.bind(s.As, em.p.onlyRead(s.As, em.rowSeen(st.t, s, place)), &out)
		out = append(out, em.passRow(st, place)...)
		if s.Lock && em.inSQL(s) {
			out = append(out, em.own(st.t, place))
		}
		return append(out, em.lw.monitors.read(em, st.t, n, place)...)
	}
	return o
}

// rowSeen is the row as the statement sees it: a snapshot's, or the newest.
func (em *emitter) rowSeen(t *table, s *ast.Step, at ir.Expr) value {
	sn := em.snapTable(t, s)
	if sn == nil {
		return t.row(at, em.reader())
	}
	_, get := t.old(sn, at, em.me)
	return t.rowOf(get)
}

// rowOf is a row by what its columns hold.
func (t *table) rowOf(get func(string) value) value {
	ls := []leaf{here(yes)}
	if t.pool == nil && t.key != "" {
		ls = append(ls, get(t.key).below("."+t.key)...)
	}
	for _, c := range t.columns {
		ls = append(ls, get(c.name).below("."+c.name)...)
	}
	return newValue(ls...)
}

// firstInOrder is true if no other matching row comes before it.
func (em *emitter) firstInOrder(st *statement, at ir.Expr) ir.Expr {
	by := st.s.OrderBy
	if by == nil {
		return yes
	}
	sort := func(at ir.Expr) value { return em.rowSeen(st.t, st.s, at).field(st.t.refName(by)) }
	mine := sort(at)
	return not(st.t.some(func(other ir.Expr) ir.Expr {
		theirs := sort(other)
		before := less(ir.Lt, theirs, mine)
		if st.s.Desc {
			before = less(ir.Lt, mine, theirs)
		}
		return and(st.match(other), before)
	}))
}

func (em *emitter) nothing(n *node, st *statement) *outcome {
	return &outcome{done: true, pure: true, guard: not(st.any(st.match)), text: "finds nothing", why: NoneMatches, do: func(em *emitter) []ir.Stmt {
		if n.step.As != nil {
			delete(em.env, n.step.As)
		}
		return append(em.passRead(n.step), em.lw.monitors.readNone(em, st.t, n)...)
	}}
}

func (em *emitter) countOutcome(n *node) *outcome {
	rows := func(em *emitter) value {
		st := em.statement(n)
		l := &ir.Local{Name: st.t.name + " row"}
		return integer(count(l, st.t.over, st.match(use(l))), 0, 1<<20, false)
	}
	seen := rows(em)
	return &outcome{done: true, pure: true, guard: yes, reads: &seen, do: func(em *emitter) []ir.Stmt {
		var out []ir.Stmt
		em.bind(n.step.As, rows(em), &out)
		return append(out, em.passRead(n.step)...)
	}}
}

// onlyRead drops the leaves of a value that the name's readers never look at.
func (p *process) onlyRead(v *ast.Var, val value) value {
	if v == nil {
		return value{}
	}
	wanted := map[string]bool{}
	for _, s := range p.byVar[v] {
		wanted[s.key] = p.read[s.id]
	}
	var out []leaf
	for _, l := range val.leaves {
		if wanted[l.key] || l.key == "?" {
			out = append(out, l)
		}
	}
	return newValue(out...)
}
