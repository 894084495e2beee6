package lower

import (
	"fmt"
	"slices"

	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// Isolation above read committed.
//
// repeatable_read: plain reads of a transaction see the rows as they were at
// its first statement. The snapshot is a copy of the columns per instance, kept
// while the transaction is open. With the postgres profile a write or locking
// read looks for rows in the snapshot too; finding one that a later commit has
// changed is the error `serialization`, and a first statement that has to wait
// may have its snapshot from before the wait. With mysql (InnoDB) they look for
// the newest rows and act on them (R4).
//
// serializable: a transaction that writes reads what is committed and can commit
// only if each of its reads gives the same rows now; so it makes no difference
// that it did not read from its snapshot. A transaction that can only read sees
// its snapshot and commits, however old it is by then; in InnoDB its reads lock,
// so it is judged like one that writes.

// snapshot is the copy of a table for the transactions of one process.
type snapshot struct {
	p    *process
	used *ir.Var // Bool per row and instance
	vars map[*ir.Var]*ir.Var
	// newer: a commit has changed the row since the snapshot (postgres).
	newer *ir.Var
}

func repeatable(r *ast.Resource) bool {
	return r != nil && r.SQL != nil && r.SQL.Isolation == ast.RepeatableRead
}

func innoDB(r *ast.Resource) bool { return r.SQL.Engine == "mysql" || r.SQL.Engine == "mariadb" }

// refusesStale is true where a write on a row newer than the snapshot is an
// error.
func refusesStale(r *ast.Resource) bool { return repeatable(r) && !innoDB(r) }

// seesSnapshot is true for a block whose plain reads see the rows as they were
// at its first statement.
func seesSnapshot(block *ast.Step) bool {
	r := block.Resource
	return repeatable(r) || serializable(r) && !innoDB(r) && onlyReads(block.Do)
}

func onlyReads(steps []*ast.Step) bool {
	return !slices.ContainsFunc(steps, func(s *ast.Step) bool {
		switch s.Verb {
		case ast.VerbInsert, ast.VerbUpsert, ast.VerbUpdate, ast.VerbDelete:
			return true
		case ast.VerbSelect:
			return s.Lock
		}
		return !onlyReads(s.Do)
	})
}

func serializable(r *ast.Resource) bool {
	return r != nil && r.SQL != nil && r.SQL.Isolation == ast.Serializable
}

// makeSnapshots gives processes with repeatable read transactions their flags
// and the tables they read their copies.
func (p *process) makeSnapshots() {
	for _, s := range p.ast.All {
		if s.Verb != ast.VerbTransaction || !seesSnapshot(s) {
			continue
		}
		if p.snapOpen == nil {
			p.snapOpen = p.perInstance("snapshot", ir.Type{Kind: ir.Bool})
		}
		for _, d := range s.Do {
			if t := p.lw.tables[d.Table]; t != nil && d.Table != nil {
				t.snapshotFor(p, refusesStale(s.Resource))
			}
		}
	}
}

func (t *table) snapshotFor(p *process, errors bool) {
	if t.snapshotOf(p) != nil {
		return
	}
	ix := []ir.Index{t.over, ir.In(p.set)}
	v := func(name string, ty ir.Type, initial int) *ir.Var {
		return t.lw.variable(&ir.Var{Name: name + " in the snapshot of " + p.ast.Name, Index: ix, Type: ty, Initial: initial})
	}
	s := &snapshot{p: p, vars: map[*ir.Var]*ir.Var{}}
	s.used = v(t.name, ir.Type{Kind: ir.Bool}, 0)
	for _, c := range t.columns {
		for _, x := range c.vars {
			s.vars[x] = v(x.Name, x.Type, x.Initial)
		}
	}
	if errors {
		s.newer = v(t.name+" newer than", ir.Type{Kind: ir.Bool}, 0)
	}
	t.snapshots = append(t.snapshots, s)
}

func (t *table) snapshotOf(p *process) *snapshot {
	for _, s := range t.snapshots {
		if s.p == p {
			return s
		}
	}
	return nil
}

// openSnapshot runs with the first statement of a transaction.
func (em *emitter) openSnapshot(n *node) []ir.Stmt {
	if em.in == nil || em.p.snapOpen == nil || !seesSnapshot(em.in.step) || !inTransaction(n.step) {
		return nil
	}
	var copyAll []ir.Stmt
	for _, a := range em.in.step.Resource.SQL.Tables {
		t := em.lw.tables[a]
		if t == nil || t.snapshotOf(em.p) == nil {
			continue
		}
		s := t.snapshotOf(em.p)
		copyAll = append(copyAll, t.each(func(at ir.Expr) []ir.Stmt {
			seen := t.visible(at, reader{})
			if t.pool == nil {
				seen = and(load(t.used, at), seen)
			}
			out := []ir.Stmt{set(s.used, yes, at, em.me)}
			for _, c := range t.columns {
				for _, x := range c.vars {
					out = append(out, set(s.vars[x], load(x, at), at, em.me))
				}
			}
			return when(seen, out, nil)
		})...)
	}
	copyAll = append(copyAll, set(em.p.snapOpen, yes, em.me))
	return when(not(load(em.p.snapOpen, em.me)), copyAll, nil)
}

// earlySnapshot is the moment at which a first statement that has to wait takes
// its snapshot, before the wait: no step of the history, and nothing that the
// statement must pass.
func (p *process) earlySnapshot(n *node, blocked ir.Expr, order int) {
	em := p.emitter(n)
	if !p.looksBeforeItWaits(n) {
		return
	}
	guard := and(blocked, not(load(p.snapOpen, em.me)))
	p.emit(n, &arming{outcome: &outcome{guard: yes, stay: true}, guard: guard, silent: true, order: order}, func(em *emitter) []ir.Stmt {
		return append(em.openSnapshot(n), em.settle(n)...)
	})
}

// looksBeforeItWaits says whether a statement, as the first of its transaction,
// takes the snapshot before it waits for a lock.
func (p *process) looksBeforeItWaits(n *node) bool {
	em := p.emitter(n)
	return em.in != nil && p.snapOpen != nil && inTransaction(n.step) && refusesStale(em.in.step.Resource)
}

// closeSnapshot forgets the copy at the end of a transaction.
func (em *emitter) closeSnapshot(block *ast.Step) []ir.Stmt {
	if em.p.snapOpen == nil || !seesSnapshot(block) {
		return nil
	}
	var out []ir.Stmt
	for _, a := range block.Resource.SQL.Tables {
		t := em.lw.tables[a]
		if t == nil || t.snapshotOf(em.p) == nil {
			continue
		}
		s := t.snapshotOf(em.p)
		out = append(out, t.each(func(at ir.Expr) []ir.Stmt {
			body := []ir.Stmt{set(s.used, no, at, em.me)}
			for _, c := range t.columns {
				for _, x := range c.vars {
					body = append(body, set(s.vars[x], num(x.Initial), at, em.me))
				}
			}
			if s.newer != nil {
				body = append(body, set(s.newer, no, at, em.me))
			}
			return body
		})...)
	}
	return append(out, set(em.p.snapOpen, no, em.me))
}

// changed marks a row that a commit changes as newer than the open snapshots.
func (t *table) changed(at ir.Expr) []ir.Stmt {
	var out []ir.Stmt
	for _, s := range t.snapshots {
		if s.newer == nil {
			continue
		}
		l := &ir.Local{Name: s.p.ast.Name}
		body := when(load(s.p.snapOpen, use(l)), []ir.Stmt{set(s.newer, yes, at, use(l))}, nil)
		out = append(out, ir.ForEach{Local: l, Over: ir.In(s.p.set), Body: body})
	}
	return out
}

// snapRow is true where the reader must look at its snapshot: a plain read in a
// repeatable read transaction, of a row it has not written itself.
func (em *emitter) snapTable(t *table, s *ast.Step) *snapshot {
	if t == nil || em.in == nil || s.Verb != ast.VerbSelect || s.Lock || !seesSnapshot(em.in.step) {
		return nil
	}
	return t.snapshotOf(em.p)
}

// old is a row as the snapshot has it.
func (t *table) old(s *snapshot, at, me ir.Expr) (seen ir.Expr, get func(name string) value) {
	open := load(s.p.snapOpen, me)
	mine := t.mine(at, reader{p: s.p, me: me})
	now := reader{p: s.p, me: me}
	visible := t.visible(at, now)
	if t.pool == nil {
		visible = and(load(t.used, at), visible)
	}
	fresh := or(not(open), mine)
	seen = pick(fresh, visible, load(s.used, at, me))
	get = func(name string) value {
		if t.pool == nil && name == t.key {
			return t.get(name, at, now)
		}
		c := t.column(name)
		if c == nil {
			return value{}
		}
		cur := t.get(name, at, now)
		var ls []leaf
		for i, pt := range c.parts {
			ls = append(ls, leaf{pt.key, pt.typ, pick(fresh, cur.at(pt.key), load(s.vars[c.vars[i]], at, me))})
		}
		return newValue(ls...)
	}
	return seen, get
}

// outdated is true if a row that the statement finds in its snapshot was changed
// by a commit since: postgres answers with an error (R4).
func (em *emitter) outdated(st *statement) ir.Expr {
	if em.in == nil || !inTransaction(st.s) || !seesSnapshot(em.in.step) {
		return no
	}
	s := st.t.snapshotOf(em.p)
	if s == nil || s.newer == nil {
		return no
	}
	return st.any(func(at ir.Expr) ir.Expr {
		return and(st.matchOld(at), load(s.newer, at, em.me), not(st.t.mine(at, em.reader())))
	})
}

// inSnapshot: with the postgres profile a write or locking read finds the rows
// that are as in its snapshot, and its own; mysql acts on the newest version.
func (em *emitter) inSnapshot(t *table, s *ast.Step, at ir.Expr) ir.Expr {
	if em.in == nil || !inTransaction(s) || !seesSnapshot(em.in.step) {
		return yes
	}
	sn := t.snapshotOf(em.p)
	if sn == nil || sn.newer == nil {
		return yes
	}
	same := and(load(sn.used, at, em.me), not(load(sn.newer, at, em.me)))
	return or(not(load(em.p.snapOpen, em.me)), t.mine(at, em.reader()), same)
}

// matchOld: the row matches as the snapshot saw it.
func (st *statement) matchOld(at ir.Expr) ir.Expr {
	seen, get := st.t.old(st.t.snapshotOf(st.em.p), at, st.em.me)
	sc := st.em.scope(nil).with(func(c *ast.ColumnRef) value { return get(st.t.refName(c)) })
	return and(seen, sc.cond(st.s.Where))
}

// Serializable.

// readMark remembers that a transaction has passed a read, and what it gave.
type readMark struct {
	step *ast.Step
	done *ir.Var
	// count is how many committed rows a count has found, where the transaction
	// may have changed the table itself; else the name has it.
	count *ir.Var
}

// makeReadMarks gives each plain or locking read of a serializable transaction
// that does not see its snapshot a flag.
func (p *process) makeReadMarks() {
	for _, s := range p.ast.All {
		t := p.lw.tables[s.Table]
		if s.Verb != ast.VerbSelect || !inTransaction(s) || !serializable(s.Resource) || seesSnapshot(s.Block) || t == nil {
			continue
		}
		m := &readMark{step: s, done: p.perInstance(fmt.Sprintf("read of line %d", s.Pos.Line), ir.Type{Kind: ir.Bool})}
		if s.Count && writes(s.Block.Do, s.Table) {
			m.count = p.perInstance(fmt.Sprintf("committed rows of line %d", s.Pos.Line), ir.Type{Kind: ir.Range, Hi: t.slots()})
		}
		p.readMarks = append(p.readMarks, m)
	}
}

// writes says whether one of the steps may change the table.
func writes(steps []*ast.Step, t *ast.Table) bool {
	return slices.ContainsFunc(steps, func(s *ast.Step) bool {
		switch s.Verb {
		case ast.VerbInsert, ast.VerbUpsert, ast.VerbUpdate, ast.VerbDelete:
			return s.Table == t
		}
		return writes(s.Do, t)
	})
}

// slots is the number of rows that the table has room for.
func (t *table) slots() int {
	if t.pool != nil {
		return t.pool.Cap
	}
	return t.over.Set.Size
}

// readUses keeps alive until the commit what is needed to read again.
func (p *process) readUses(n *node) {
	if n.kind != commitNode {
		return
	}
	for _, m := range p.readMarks {
		if m.step.Block != n.step {
			continue
		}
		p.exprUses(n, m.step.Where, "")
		if m.step.As == nil {
			continue
		}
		// Of the row: that it was there, and what the run reads of it anyway.
		p.use(n, m.step.As, onlyPresence)
		for _, s := range p.byVar[m.step.As] {
			if p.read[s.id] {
				n.uses[s.id] = true
			}
		}
	}
}

// passRead runs with a read.
func (em *emitter) passRead(s *ast.Step) []ir.Stmt {
	for _, m := range em.p.readMarks {
		if m.step != s {
			continue
		}
		out := []ir.Stmt{set(m.done, yes, em.me)}
		if m.count != nil {
			out = append(out, set(m.count, em.countCommitted(s), em.me))
		}
		return out
	}
	return nil
}

// passRow runs with a read that has found a row. Nobody else can change a row
// that the transaction has written or locked before: it needs no second look.
func (em *emitter) passRow(st *statement, at ir.Expr) []ir.Stmt {
	return when(st.t.mine(at, em.reader()), nil, em.passRead(st.s))
}

func (em *emitter) clearReads(block *ast.Step) []ir.Stmt {
	var out []ir.Stmt
	for _, m := range em.p.readMarks {
		if m.step.Block == block {
			out = append(out, set(m.done, no, em.me))
			if m.count != nil {
				out = append(out, set(m.count, num(0), em.me))
			}
		}
	}
	return out
}

// validCommit is true if every read of the transaction gives the same now.
func (em *emitter) validCommit(n *node) ir.Expr {
	out := yes
	for _, m := range em.p.readMarks {
		if m.step.Block == n.step {
			out = and(out, or(not(load(m.done, em.me)), em.sameAgain(m)))
		}
	}
	return out
}

// matchCommitted is true if the committed row matches the read.
func (em *emitter) matchCommitted(s *ast.Step, at ir.Expr) ir.Expr {
	t := em.lw.tables[s.Table]
	used := yes
	if t.pool == nil {
		used = load(t.used, at)
	}
	return and(used, t.visible(at, reader{}), em.scope(nil).with(t.candidate(at, reader{})).cond(s.Where))
}

func (em *emitter) countCommitted(s *ast.Step) ir.Expr {
	t := em.lw.tables[s.Table]
	l := &ir.Local{Name: t.name + " row"}
	return count(l, t.over, em.matchCommitted(s, use(l)))
}

// sameAgain is true if the read would give the same committed rows now.
func (em *emitter) sameAgain(m *readMark) ir.Expr {
	s := m.step
	t := em.lw.tables[s.Table]
	got := em.env[s.As]
	switch {
	case m.count != nil:
		return same(load(m.count, em.me), em.countCommitted(s))
	case s.Count:
		return same(got.at("/i"), em.countCommitted(s))
	case s.As == nil:
		return yes
	}
	equalRow := func(at ir.Expr) ir.Expr {
		row := t.row(at, reader{})
		out := yes
		for _, l := range got.leaves {
			if l.key != "?" {
				out = and(out, same(row.at(l.key), l.e))
			}
		}
		return out
	}
	there := t.some(func(at ir.Expr) ir.Expr { return and(em.matchCommitted(s, at), equalRow(at)) })
	others := t.some(func(at ir.Expr) ir.Expr { return and(em.matchCommitted(s, at), not(t.mine(at, em.reader()))) })
	return pick(got.present(), there, not(others))
}
