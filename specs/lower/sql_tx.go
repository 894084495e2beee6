package lower

import (
	"fmt"

	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// pendingMark is an effect counted by a statement of a transaction: it is
// remembered until the commit (R14).
type pendingMark struct {
	step *ast.Step
	mark ast.Mark
	undo bool
	op   *ast.Operation
	v    *ir.Var
}

// makePending gives every effect inside a transaction a place.
func (p *process) makePending() {
	for _, s := range p.ast.All {
		if !inTransaction(s) {
			continue
		}
		for _, undo := range []bool{false, true} {
			marks := s.Effects
			if undo {
				marks = s.Undoes
			}
			for _, m := range marks {
				for _, o := range m.Effect.Operations {
					if m.Effect.Compared == 0 && !p.lw.monitors.watchesEffect(m.Effect) {
						continue
					}
					t := refTo(p.lw.opSet(o))
					t.Optional = true
					v := p.perInstance(fmt.Sprintf("pending %s of line %d for %s", m.Effect.Name, s.Pos.Line, o.Name), t)
					p.pending = append(p.pending, &pendingMark{s, m, undo, o, v})
				}
			}
		}
	}
}

// inTransaction says whether the step is a statement of a sql transaction.
func inTransaction(s *ast.Step) bool {
	return s.Block != nil && s.Block.Verb == ast.VerbTransaction && s.Resource != nil && s.Resource.Kind == ast.SQLKind
}

// marks counts the effects of a step that was done.
func (em *emitter) marks(n *node) []ir.Stmt {
	var out []ir.Stmt
	if n.kind == commitNode || !inTransaction(n.step) {
		if n.kind == scriptEndNode || n.kind == beginNode {
			return nil
		}
		for _, m := range n.step.Effects {
			out = append(out, em.lw.countMark(m.Effect, em.value(m.Operation, &out), false)...)
			out = append(out, em.lw.monitors.effect(em, n.step, m.Effect)...)
		}
		for _, m := range n.step.Undoes {
			out = append(out, em.lw.countMark(m.Effect, em.value(m.Operation, &out), true)...)
		}
		return out
	}
	for _, pm := range em.p.pending {
		if pm.step == n.step {
			out = append(out, set(pm.v, em.value(pm.mark.Operation, &out).at("/o:"+pm.op.Name), em.me))
		}
	}
	return out
}

// openTables lists the tables that the process locks in transactions.
func (p *process) openTables(r *ast.Resource) []*table {
	var out []*table
	for _, a := range r.SQL.Tables {
		t := p.lw.tables[a]
		if t == nil {
			continue
		}
		for _, o := range t.owners {
			if o.p == p {
				out = append(out, t)
			}
		}
	}
	return out
}

func (t *table) ownerOf(p *process) *ir.Var {
	for _, o := range t.owners {
		if o.p == p {
			return o.v
		}
	}
	return nil
}

// commitNow makes the open transaction durable.
func (em *emitter) commitNow() []ir.Stmt {
	if em.in == nil {
		return nil
	}
	out := em.closeSnapshot(em.in.step)
	out = append(out, em.lw.beforeCommit(em.in.step.Resource)...)
	for _, t := range em.p.openTables(em.in.step.Resource) {
		v := t.ownerOf(em.p)
		out = append(out, t.each(func(at ir.Expr) []ir.Stmt {
			return when(same(load(v, at), em.me), em.commitRow(t, v, at), nil)
		})...)
	}
	out = append(out, em.releaseLocks(true)...)
	for _, pm := range em.p.pending {
		if pm.step.Block != em.in.step {
			continue
		}
		val := newValue(leaf{"/o:" + pm.op.Name, pm.v.Type, load(pm.v, em.me)})
		body := em.lw.countMark(pm.mark.Effect, val, pm.undo)
		body = append(body, em.lw.monitors.effect(em, pm.step, pm.mark.Effect)...)
		body = append(body, set(pm.v, none, em.me))
		out = append(out, when(differ(load(pm.v, em.me), none), body, nil)...)
	}
	out = append(out, em.clearReads(em.in.step)...)
	out = append(out, em.lw.monitors.committed(em)...)
	return out
}

// commitRow publishes what the transaction did to a row it owns.
func (em *emitter) commitRow(t *table, owner *ir.Var, at ir.Expr) []ir.Stmt {
	var keep []ir.Stmt
	keep = append(keep, em.lw.monitors.commits(em, t, at)...)
	if t.hidden != nil {
		keep = append(keep, when(load(t.hidden, at), append([]ir.Stmt{set(t.hidden, no, at)}, t.startTimed(at)...), nil)...)
	}
	if t.updated != nil {
		var copyBack []ir.Stmt
		for _, c := range t.columns {
			for i := range c.shadow {
				copyBack = append(copyBack, set(c.vars[i], load(c.shadow[i], at), at), set(c.shadow[i], num(c.shadow[i].Initial), at))
			}
		}
		copyBack = append(copyBack, set(t.updated, no, at))
		copyBack = append(copyBack, t.changed(at)...)
		keep = append(keep, when(load(t.updated, at), copyBack, nil)...)
	}
	keep = append(keep, set(owner, none, at))
	if t.deleted == nil {
		return keep
	}
	return when(load(t.deleted, at), t.remove(at), keep)
}

// rollbackIfOpen undoes the open transaction.
func (em *emitter) rollbackIfOpen() []ir.Stmt {
	if em.in == nil {
		return nil
	}
	out := em.rollback(em.in.step)
	em.in = nil
	return out
}

// rollback undoes what a transaction of the block has done.
func (em *emitter) rollback(block *ast.Step) []ir.Stmt {
	var out []ir.Stmt
	for _, t := range em.p.openTables(block.Resource) {
		v := t.ownerOf(em.p)
		out = append(out, t.each(func(at ir.Expr) []ir.Stmt {
			return when(same(load(v, at), em.me), em.undoRow(t, v, at), nil)
		})...)
	}
	out = append(out, em.releaseLocks(true)...)
	out = append(out, em.closeSnapshot(block)...)
	out = append(out, em.clearReads(block)...)
	for _, pm := range em.p.pending {
		if pm.step.Block == block {
			out = append(out, set(pm.v, none, em.me))
		}
	}
	return out
}

func (em *emitter) undoRow(t *table, owner *ir.Var, at ir.Expr) []ir.Stmt {
	var keep []ir.Stmt
	if t.updated != nil {
		for _, c := range t.columns {
			for i := range c.shadow {
				keep = append(keep, set(c.shadow[i], num(c.shadow[i].Initial), at))
			}
		}
		keep = append(keep, set(t.updated, no, at))
	}
	if t.deleted != nil {
		keep = append(keep, set(t.deleted, no, at))
	}
	keep = append(keep, set(owner, none, at))
	if t.hidden == nil {
		return keep
	}
	return when(load(t.hidden, at), t.remove(at), keep)
}

// commitPlan is the round trip that ends a transaction.
func (em *emitter) commitPlan(n *node) plan {
	pl := plan{lossy: true}
	pl.outcomes = []*outcome{{done: true, guard: em.validCommit(n), do: func(em *emitter) []ir.Stmt {
		out := em.commitNow()
		return out
	}}}
	if bad := not(em.validCommit(n)); !isFalse(bad) {
		pl.outcomes = append(pl.outcomes, &outcome{branch: ast.OnError, guard: bad, pure: true, text: "serialization failure", why: Serialization})
	}
	return pl
}
