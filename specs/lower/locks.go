package lower

import (
	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// Advisory locks of a sql resource (K): a record per held key with its owner.
// Outside a block, scope: transaction ends with the step itself; a session lock
// ends at unlock, at a crash of its holder, or by the fault session_lost.
type lockTable struct {
	*table
	r       *ast.Resource
	session *ir.Var // held by a session, not a transaction; nil: only one of them is used
}

func (lw *lowering) makeLocks(r *ast.Resource) {
	var ty *ast.Type
	lt := &lockTable{r: r}
	session, tx := false, false
	n := 0
	for _, s := range lw.allSteps() {
		if s.Resource != r || s.Verb != ast.VerbLock && s.Verb != ast.VerbUnlock {
			continue
		}
		ty = joinTypes(ty, s.Key.Type())
		n = max(n, keyValues(s.Key.Type()))
		if s.Verb == ast.VerbLock {
			session = session || s.SessionLock
			tx = tx || !s.SessionLock
		}
	}
	if ty == nil {
		return
	}
	t := &table{lw: lw, name: r.Name + " lock"}
	lt.table = t
	lw.makePool(t, n)
	t.addColumn("key", nil, ty)
	for _, p := range lw.order {
		for _, s := range p.ast.All {
			if s.Resource == r && s.Verb == ast.VerbLock {
				t.lockable(p)
			}
		}
	}
	if session && tx {
		t.flag(&lt.session, "is of a session")
	}
	lw.locks[r] = lt
}

// keyValues is the number of keys a type has, as far as it is easily known.
func keyValues(t *ast.Type) int {
	n := 1
	for i := range t.Alts {
		a := &t.Alts[i]
		switch {
		case a.Kind == ast.KindOperation || a.Kind == ast.KindOpField && a.OpField.Kind == ast.FieldDistinct:
			n = max(n, a.Operation.Count)
		case a.Kind == ast.KindHash:
			for _, e := range a.Elems {
				n = max(n, keyValues(e))
			}
		}
	}
	return n
}

// joinTypes lists the alternatives of both.
func joinTypes(a, b *ast.Type) *ast.Type {
	if a == nil {
		return b
	}
	out := &ast.Type{Alts: append([]ast.Alt{}, a.Alts...)}
	for _, x := range b.Alts {
		known := false
		for _, y := range a.Alts {
			known = known || y.String() == x.String()
		}
		if !known {
			out.Alts = append(out.Alts, x)
		}
	}
	return out
}

// held is true if somebody else holds the key; mine if the instance does.
func (lt *lockTable) held(key value, r reader) ir.Expr {
	return lt.some(func(at ir.Expr) ir.Expr { return and(equal(lt.get("key", at, reader{}), key), lt.locked(at, r)) })
}

func (lt *lockTable) ours(key value, r reader) ir.Expr {
	return lt.some(func(at ir.Expr) ir.Expr { return and(equal(lt.get("key", at, reader{}), key), lt.mine(at, r)) })
}

func (em *emitter) lockPlan(n *node) plan {
	s := n.step
	lt := em.lw.locks[s.Resource]
	pl := plan{lossy: em.lossySQL(s)}
	if lt == nil {
		return plan{outcomes: []*outcome{{done: true, guard: yes, pure: true}}}
	}
	key := em.pure(s.Key)
	r := em.reader()
	if s.Verb == ast.VerbUnlock {
		return em.unlockPlan(n, lt, key)
	}
	busy := lt.held(key, r)
	done := &outcome{done: true, guard: not(busy)}
	if em.inSQL(s) || s.SessionLock {
		done.do = func(em *emitter) []ir.Stmt {
			key := em.pure(s.Key)
			take := lt.insert(map[string]value{"key": key}, func(at ir.Expr) []ir.Stmt {
				out := []ir.Stmt{em.own(lt.table, at)}
				if lt.session != nil && s.SessionLock {
					out = append(out, set(lt.session, yes, at))
				}
				return out
			})
			return when(lt.ours(key, em.reader()), nil, take)
		}
	} else {
		done.pure = true // its own transaction, which ends at once
	}
	pl.outcomes = []*outcome{done}
	if s.Try {
		pl.outcomes = append(pl.outcomes, &outcome{branch: ast.IfHeld, guard: busy, pure: true, text: "somebody else holds it", why: HeldByOther})
	} else {
		pl.blocked = busy
	}
	return pl
}

// unlockPlan: with pooled sessions the unlock may run on another session, which
// does not hold the lock: it stays.
func (em *emitter) unlockPlan(n *node, lt *lockTable, key value) plan {
	s := n.step
	ours := lt.ours(key, em.reader())
	pl := plan{lossy: em.lossySQL(s)}
	pl.outcomes = []*outcome{{done: true, guard: ours, do: func(em *emitter) []ir.Stmt {
		key := em.pure(s.Key)
		return lt.each(func(at ir.Expr) []ir.Stmt {
			return when(and(equal(lt.get("key", at, reader{}), key), lt.mine(at, em.reader())), lt.remove(at), nil)
		})
	}}, {branch: ast.IfNone, guard: not(ours), pure: true, text: "it is not held", why: NoneMatches}}
	if s.Resource.SQL.SessionPooled && em.in == nil {
		pl.outcomes = append(pl.outcomes, &outcome{branch: ast.IfNone, guard: ours, pure: true, text: "runs on another session, where it is not held", why: OtherSession, unfair: true})
	}
	return pl
}

// releaseLocks ends the locks of the instance: those of its transaction, or all
// of them at a crash.
func (em *emitter) releaseLocks(transaction bool) []ir.Stmt {
	var out []ir.Stmt
	for _, r := range em.lw.spec.Resources {
		lt := em.lw.locks[r]
		if lt == nil || lt.ownerOf(em.p) == nil || transaction && !lt.hasTx(em.p) {
			continue
		}
		out = append(out, lt.each(func(at ir.Expr) []ir.Stmt {
			mine := lt.mine(at, em.reader())
			if transaction && lt.session != nil {
				mine = and(mine, not(load(lt.session, at)))
			}
			return when(mine, lt.remove(at), nil)
		})...)
	}
	return out
}

// hasTx says whether the process takes transaction locks inside blocks.
func (lt *lockTable) hasTx(p *process) bool {
	for _, s := range p.ast.All {
		if s.Verb == ast.VerbLock && s.Resource == lt.r && !s.SessionLock && inTransaction(s) {
			return true
		}
	}
	return false
}

// sessionsLost: a session ends, and its locks with it; the holder goes on.
func (lw *lowering) sessionsLost(r *ast.Resource) {
	lt := lw.locks[r]
	if lt == nil {
		return
	}
	for _, f := range lw.faultsOn(ast.FaultSessionLost, r) {
		l := &ir.Local{Name: "lock"}
		guard := yes
		if lt.session != nil {
			guard = load(lt.session, use(l))
		}
		lw.event(&event{kind: ir.Fault, name: "session_lost", what: SessionLost, of: &about{resource: r, fields: map[string]value{"key": lt.get("key", use(l), reader{})}}, fault: f, params: []ir.Param{{Local: l, Over: lt.over}}, guard: guard,
			body: lt.remove(use(l)), text: []any{"a session of " + r.Name + " ends, and with it the lock ", valueText{lt.get("key", use(l), reader{})}}})
	}
}
