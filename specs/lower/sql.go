package lower

import (
	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// tableOf is where the rows of a table are, nil if nobody ever reads them.
func (lw *lowering) tableOf(a *ast.Table) *table { return lw.tables[a] }

func (em *emitter) reader() reader { return reader{em.p, em.me, em.by, em.byMe} }

// inSQL says whether the step runs inside an open transaction of its resource.
func (em *emitter) inSQL(s *ast.Step) bool {
	return em.in != nil && s.Resource != nil && s.Resource.Kind == ast.SQLKind
}

// rows is the scope of an expression over a candidate row.
func (em *emitter) rows(t *table, at ir.Expr, stmts *[]ir.Stmt) scope {
	sc := em.scope(stmts).with(t.candidate(at, em.reader()))
	sc.settled = func(c *ast.ColumnRef) ir.Expr { return t.settledAt(at, c, em.reader()) }
	return sc
}

// match is true if the step's where holds for a row the run can see.
func (em *emitter) match(t *table, s *ast.Step, at ir.Expr) ir.Expr {
	if sn := em.snapTable(t, s); sn != nil {
		seen, get := t.old(sn, at, em.me)
		return and(seen, em.scope(nil).with(func(c *ast.ColumnRef) value { return get(t.refName(c)) }).cond(s.Where))
	}
	m := and(t.visible(at, em.reader()), em.rows(t, at, nil).cond(s.Where))
	m = and(m, em.inSnapshot(t, s, at))
	if s.Verb == ast.VerbSelect && s.Skip {
		m = and(m, not(t.locked(at, em.reader())))
	}
	return m
}

// statement is a sql step with its candidates.
type statement struct {
	em *emitter
	t  *table
	s  *ast.Step
	at ir.Expr // the one place, if where fixes the key; else nil
}

func (em *emitter) statement(n *node) *statement {
	t := em.lw.tableOf(n.step.Table)
	if n.step.Table == nil { // select: of a kv looks at its entries
		t = em.lw.kvs[n.step.Resource]
	}
	st := &statement{em: em, t: t, s: n.step}
	if t != nil {
		if at, ok := t.direct(n.step.Where, em.scope(nil)); ok {
			st.at = at
		}
	}
	return st
}

// any is true if cond holds for some candidate row.
func (st *statement) any(cond func(at ir.Expr) ir.Expr) ir.Expr {
	if st.at != nil {
		return cond(st.at)
	}
	return st.t.some(cond)
}

// all runs body for every candidate for which cond holds.
func (st *statement) all(cond func(at ir.Expr) ir.Expr, body func(at ir.Expr) []ir.Stmt) []ir.Stmt {
	if st.at != nil {
		return body(st.at) // the outcome's guard has tested it
	}
	return st.t.each(func(at ir.Expr) []ir.Stmt { return when(cond(at), body(at), nil) })
}

func (st *statement) match(at ir.Expr) ir.Expr { return st.em.match(st.t, st.s, at) }

// waits is true while a row that matches is locked by another transaction.
func (st *statement) waits() ir.Expr {
	return st.any(func(at ir.Expr) ir.Expr { return and(st.match(at), st.t.locked(at, st.em.reader())) })
}

// lossySQL: a statement outside a block is a request of its own.
func (em *emitter) lossySQL(s *ast.Step) bool { return !em.inSQL(s) }

func (em *emitter) insertPlan(n *node) plan {
	s, t := n.step, em.lw.tableOf(n.step.Table)
	pl := plan{lossy: em.lossySQL(s)}
	if t == nil {
		marks := len(s.Effects)+len(s.Undoes) > 0
		pl.outcomes = []*outcome{{done: true, guard: yes, pure: !marks}}
		return pl
	}
	cells := em.cells(s, nil)
	conflict, blocked := em.conflicts(t, s, cells)
	pl.blocked = blocked
	pl.outcomes = append(pl.outcomes, &outcome{done: true, guard: not(conflict), do: func(em *emitter) []ir.Stmt {
		return append(em.ownCommit(s), em.insertRow(t, s)...)
	}})
	if isFalse(conflict) {
		return pl
	}
	if s.Verb == ast.VerbUpsert {
		pl.outcomes = append(pl.outcomes, em.upsertConflict(t, s, conflict))
		return pl
	}
	pl.outcomes = append(pl.outcomes, &outcome{branch: ast.IfExists, guard: conflict, pure: true, text: "it is there already", why: Duplicate})
	return pl
}

// cells evaluates the row of a step; stmts nil: without fresh values.
func (em *emitter) cells(s *ast.Step, stmts *[]ir.Stmt) map[string]value {
	out := map[string]value{}
	for _, c := range s.Row {
		t := em.lw.tableOf(s.Table)
		if t != nil && !t.stores(c.Name) {
			continue
		}
		out[c.Name] = em.value(c.Value, stmts)
	}
	return out
}

func (t *table) stores(name string) bool {
	return t.column(name) != nil || t.pool == nil && name == t.key
}

// insertRow makes the row: hidden and locked in a transaction.
func (em *emitter) insertRow(t *table, s *ast.Step) []ir.Stmt {
	var out []ir.Stmt
	cells := em.cells(s, &out)
	for k, v := range cells {
		cells[k] = v
	}
	out = append(out, em.nextSequence(t, cells)...)
	then := func(at ir.Expr) []ir.Stmt {
		return append(em.leaseAfter(t, s, at, nil), em.lw.monitors.wrote(em, t, s, at)...)
	}
	fresh := t.insert(cells, func(at ir.Expr) []ir.Stmt {
		var in []ir.Stmt
		if em.inSQL(s) {
			in = append(in, set(t.hidden, yes, at), em.own(t, at))
		} else {
			in = append(in, t.startTimed(at)...)
		}
		return append(in, then(at)...)
	})
	if !em.inSQL(s) || !t.reinserts {
		return append(out, fresh...)
	}
	at := cells[t.key].at(t.leaf.key)
	return append(out, when(load(t.deleted, at), append(t.insertAgain(cells, at), then(at)...), fresh)...)
}

// insertAgain makes a row that the transaction has deleted a changed one: for
// everybody else the old one stands until the commit.
func (t *table) insertAgain(cells map[string]value, at ir.Expr) []ir.Stmt {
	out := []ir.Stmt{set(t.deleted, no, at), set(t.updated, yes, at)}
	for _, c := range t.columns {
		if v, ok := cells[c.name]; ok {
			out = append(out, c.assign(c.shadow, v, at)...)
			continue
		}
		for _, v := range c.shadow {
			out = append(out, set(v, num(v.Initial), at))
		}
	}
	return out
}

// ownCommit: outside a block the statement is a commit of its own.
func (em *emitter) ownCommit(s *ast.Step) []ir.Stmt {
	if em.inSQL(s) {
		return nil
	}
	return em.lw.beforeCommit(s.Resource)
}

// own takes the row's lock.
func (em *emitter) own(t *table, at ir.Expr) ir.Stmt {
	for _, o := range t.owners {
		if o.p == em.p {
			return set(o.v, em.me, at)
		}
	}
	return ir.Cut{Reason: t.name + " cannot be locked by " + em.p.ast.Name}
}

// conflicts says when a new row hits a unique key, and when the statement
// waits for another transaction to decide about one (R2, R4, R8).
func (em *emitter) conflicts(t *table, s *ast.Step, cells map[string]value) (conflict, blocked ir.Expr) {
	conflict, blocked = no, no
	r := em.reader()
	for _, u := range t.ast.Unique {
		if !em.canConflict(u, s, cells) {
			continue
		}
		here := func(cond func(at ir.Expr) ir.Expr) ir.Expr {
			if t.pool == nil && len(u.Columns) == 1 && u.Columns[0].Name == t.key && len(u.Scope) == 0 {
				return cond(cells[t.key].at(t.leaf.key))
			}
			return t.some(cond)
		}
		conflict = or(conflict, here(func(at ir.Expr) ir.Expr {
			return and(t.visible(at, r), t.sameKey(u, cells, at, r))
		}))
		blocked = or(blocked, here(func(at ir.Expr) ir.Expr { return t.undecided(u, cells, at, r) }))
	}
	return conflict, blocked
}

// canConflict is false if a column of the key is fresh() or not part of the row.
func (em *emitter) canConflict(u *ast.Unique, s *ast.Step, cells map[string]value) bool {
	for _, c := range append(append([]*ast.Column{}, u.Columns...), u.Scope...) {
		v, ok := cells[c.Name]
		if !ok || len(v.leaves) == 0 {
			return false
		}
		for _, cell := range s.Row {
			if cell.Name == c.Name && hasFresh(cell.Value) {
				return false
			}
		}
	}
	if u.Where != nil {
		sc := em.scope(nil).with(func(c *ast.ColumnRef) value { return cells[c.Column.Name] })
		return !isFalse(sc.cond(u.Where))
	}
	return true
}

func hasFresh(e ast.Expr) bool {
	found := false
	ast.Walk(e, func(c ast.Expr) bool {
		if _, ok := c.(*ast.Fresh); ok {
			found = true
		}
		return !found
	})
	return found
}

// sameKey is true if the row at that place has the key of the cells.
func (t *table) sameKey(u *ast.Unique, cells map[string]value, at ir.Expr, r reader) ir.Expr {
	out := yes
	for _, c := range append(append([]*ast.Column{}, u.Columns...), u.Scope...) {
		v := cells[c.Name]
		if t.pool == nil && c.Name == t.key {
			out = and(out, same(at, v.at(t.leaf.key)))
			continue
		}
		out = and(out, v.present(), equal(t.get(c.Name, at, r), v))
	}
	if u.Where != nil {
		sc := scope{lw: t.lw}
		out = and(out, sc.with(t.candidate(at, r)).cond(u.Where),
			sc.with(func(c *ast.ColumnRef) value { return cells[c.Column.Name] }).cond(u.Where))
	}
	return out
}

// undecided is true if another open transaction has inserted, deleted or
// re-keyed the row at that place, which has (or had) the key.
func (t *table) undecided(u *ast.Unique, cells map[string]value, at ir.Expr, r reader) ir.Expr {
	changing := no
	if t.hidden != nil {
		changing = or(changing, load(t.hidden, at))
	}
	if t.deleted != nil {
		changing = or(changing, load(t.deleted, at))
	}
	rekeyed := no
	for _, c := range u.Columns {
		if col := t.column(c.Name); col != nil && col.shadow != nil {
			rekeyed = load(t.updated, at)
		}
	}
	locked := t.locked(at, r)
	if isFalse(locked) || isFalse(or(changing, rekeyed)) {
		return no
	}
	old := t.sameKey(u, cells, at, reader{})
	out := and(or(changing, rekeyed), old)
	if !isFalse(rekeyed) {
		out = or(out, and(rekeyed, t.sameShadow(u, cells, at)))
	}
	return and(locked, out)
}

// sameShadow compares the key with the values another transaction has set.
func (t *table) sameShadow(u *ast.Unique, cells map[string]value, at ir.Expr) ir.Expr {
	out := yes
	for _, c := range append(append([]*ast.Column{}, u.Columns...), u.Scope...) {
		col := t.column(c.Name)
		v := cells[c.Name]
		if col == nil || col.shadow == nil {
			out = and(out, v.present(), equal(t.get(c.Name, at, reader{}), v))
			continue
		}
		var ls []leaf
		for i, pt := range col.parts {
			ls = append(ls, leaf{pt.key, pt.typ, load(col.shadow[i], at)})
		}
		out = and(out, v.present(), equal(newValue(ls...), v))
	}
	return out
}

func (em *emitter) upsertConflict(t *table, s *ast.Step, conflict ir.Expr) *outcome {
	return &outcome{done: true, guard: conflict, text: "it is there already and is overwritten", why: Overwritten, do: func(em *emitter) []ir.Stmt {
		var out []ir.Stmt
		out = append(out, em.ownCommit(s)...)
		cells := em.cells(s, &out)
		hit := func(at ir.Expr) ir.Expr {
			c := no
			for _, u := range t.ast.Unique {
				if em.canConflict(u, s, cells) {
					c = or(c, t.sameKey(u, cells, at, em.reader()))
				}
			}
			return and(t.visible(at, em.reader()), c)
		}
		return append(out, t.each(func(at ir.Expr) []ir.Stmt { return when(hit(at), em.setRow(t, s, at, cells), nil) })...)
	}}
}

func (em *emitter) updatePlan(n *node) plan {
	st := em.statement(n)
	pl := plan{lossy: em.lossySQL(n.step)}
	if st.t == nil {
		pl.outcomes = []*outcome{{done: true, guard: yes, pure: len(n.step.Effects) == 0}}
		return pl
	}
	found := st.any(st.match)
	pl.blocked = or(st.waits(), em.updateWaits(st))
	clash := em.updateConflict(st)
	pl.outcomes = append(pl.outcomes, &outcome{done: true, guard: and(found, not(clash)), do: func(em *emitter) []ir.Stmt {
		st := em.statement(n)
		return append(em.ownCommit(st.s), st.all(st.match, func(at ir.Expr) []ir.Stmt {
			var out []ir.Stmt
			cells := em.newCells(st.t, st.s, at, &out)
			return append(out, em.setRow(st.t, st.s, at, cells)...)
		})...)
	}})
	if !isFalse(clash) {
		pl.outcomes = append(pl.outcomes, &outcome{branch: ast.IfExists, guard: and(found, clash), pure: true, text: "another row has the key", why: Duplicate})
	}
	pl.outcomes = append(pl.outcomes, em.noRow(n, not(found)))
	return em.unlessOutdated(pl, st)
}

// unlessOutdated adds the error `serialization` of a repeatable read
// transaction that would write or lock a row changed since its snapshot.
func (em *emitter) unlessOutdated(pl plan, st *statement) plan {
	bad := em.outdated(st)
	if isFalse(bad) {
		return pl
	}
	for _, o := range pl.outcomes {
		o.guard = and(not(bad), o.guard)
	}
	pl.outcomes = append(pl.outcomes, &outcome{branch: ast.OnError, guard: bad, pure: true, text: "serialization failure: the row was changed since the snapshot", why: Serialization})
	return pl
}

// noRow is the outcome "no row matches".
func (em *emitter) noRow(n *node, guard ir.Expr) *outcome {
	return &outcome{branch: ast.IfNone, guard: guard, pure: true, text: "no row matches", why: NoneMatches}
}

// newCells evaluates set: for a row. The values are taken before any is stored.
func (em *emitter) newCells(t *table, s *ast.Step, at ir.Expr, stmts *[]ir.Stmt) map[string]value {
	cells := map[string]value{}
	sc := em.rows(t, at, stmts)
	for _, c := range s.Row {
		if t.column(c.Name) == nil {
			continue
		}
		v := sc.value(c.Value)
		if readsRow(c.Value) {
			v = em.freeze(c.Name, v, stmts)
		}
		cells[c.Name] = v
	}
	return cells
}

// setRow changes a row: at once, or in the open transaction.
func (em *emitter) setRow(t *table, s *ast.Step, at ir.Expr, cells map[string]value) []ir.Stmt {
	was := em.leaseBefore(t, s, at)
	out := em.lw.monitors.writes(em, t, s, at)
	out = append(out, was.stmts...)
	if !em.inSQL(s) {
		out = append(out, t.write(at, cells)...)
	} else {
		out = append(out, em.setOpen(t, at, cells)...)
	}
	out = append(out, em.leaseAfter(t, s, at, was)...)
	return append(out, em.lw.monitors.wrote(em, t, s, at)...)
}

// setOpen writes into the shadow columns of a committed row, or straight into a
// row that this transaction has made.
func (em *emitter) setOpen(t *table, at ir.Expr, cells map[string]value) []ir.Stmt {
	var shadow []ir.Stmt
	first := not(and(load(t.updated, at), t.mine(at, em.reader())))
	var copyAll, assign []ir.Stmt
	for _, c := range t.columns {
		if c.shadow == nil {
			continue
		}
		for i := range c.vars {
			copyAll = append(copyAll, set(c.shadow[i], load(c.vars[i], at), at))
		}
		if v, ok := cells[c.name]; ok {
			assign = append(assign, c.assign(c.shadow, v, at)...)
		}
	}
	shadow = append(shadow, when(first, copyAll, nil)...)
	shadow = append(shadow, assign...)
	shadow = append(shadow, set(t.updated, yes, at), em.own(t, at))
	own := no
	if t.hidden != nil {
		own = load(t.hidden, at)
	}
	return when(own, t.write(at, cells), shadow)
}

func (em *emitter) deletePlan(n *node) plan {
	st := em.statement(n)
	pl := plan{lossy: em.lossySQL(n.step)}
	if st.t == nil {
		pl.outcomes = []*outcome{{done: true, guard: yes, pure: len(n.step.Effects) == 0}}
		return pl
	}
	found := st.any(st.match)
	pl.blocked = st.waits()
	pl.outcomes = append(pl.outcomes, &outcome{done: true, guard: found, do: func(em *emitter) []ir.Stmt {
		st := em.statement(n)
		return append(em.ownCommit(st.s), st.all(st.match, func(at ir.Expr) []ir.Stmt { return em.deleteRow(st.t, st.s, at) })...)
	}}, em.noRow(n, not(found)))
	return em.unlessOutdated(pl, st)
}

func (em *emitter) deleteRow(t *table, s *ast.Step, at ir.Expr) []ir.Stmt {
	if !em.inSQL(s) {
		return t.remove(at)
	}
	mark := []ir.Stmt{set(t.deleted, yes, at), em.own(t, at)}
	own := no
	if t.hidden != nil {
		own = load(t.hidden, at)
	}
	return when(own, t.remove(at), mark)
}
