package lower

import (
	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// Deadlocks (R5): when waits form a cycle, the engine rolls one member back;
// each of them is a possible victim. Cycles of two and of three are looked for.

// waiting is a place at which a run can wait.
type waiting struct {
	p *process
	n *node
}

// waitingPlaces lists the steps that can wait for a lock of another run.
func (lw *lowering) waitingPlaces() []waiting {
	if lw.waits != nil {
		return lw.waits
	}
	lw.waits = []waiting{}
	for _, p := range lw.order {
		for _, n := range p.inFileOrder() {
			if !n.located() || n.step.Replica {
				continue
			}
			if pl := p.emitter(n).planOf(n); pl.blocked != nil && !isFalse(pl.blocked) {
				lw.waits = append(lw.waits, waiting{p, n})
			}
		}
	}
	return lw.waits
}

// waitsFor is true while the instance me, at the place, needs what the
// transaction of the instance by holds.
func (w waiting) waitsFor(me ir.Expr, l *ir.Local, by *process, other ir.Expr) ir.Expr {
	em := w.p.emitter(w.n)
	em.self, em.me = l, me
	em.env = w.p.namesAt(w.n, me)
	em.by, em.byMe = by, other
	blocked := em.planOf(w.n).blocked
	if blocked == nil {
		return no
	}
	return and(same(load(w.p.pc, me), num(w.n.loc)), blocked)
}

// deadlocks adds the ways in which a run at this step can be a victim.
func (p *process) deadlocks(n *node, add func(o *outcome, guard ir.Expr)) {
	places := p.lw.waitingPlaces()
	self := waiting{p, n}
	if !holdsLocks(self) {
		return
	}
	for _, second := range places {
		if !holdsLocks(second) {
			continue
		}
		l := &ir.Local{Name: second.p.ast.Name}
		you := use(l)
		params := []ir.Param{{Local: l, Over: ir.In(second.p.set)}}
		first := and(p.distinct(second.p, you), self.waitsFor(use(p.self), p.self, second.p, you))
		if isFalse(first) || p == second.p && p.set.Size == 1 {
			continue
		}
		add(p.victim(params), and(first, second.waitsFor(you, l, p, use(p.self))))
		if len(places) > 4 {
			continue
		}
		for _, third := range places {
			if !holdsLocks(third) {
				continue
			}
			m := &ir.Local{Name: third.p.ast.Name}
			they := use(m)
			apart := p.distinct(third.p, they)
			if third.p == second.p {
				apart = and(apart, not(same(you, they)))
			}
			cycle := and(first, apart, second.waitsFor(you, l, third.p, they), third.waitsFor(they, m, p, use(p.self)))
			add(p.victim(append(params[:1:1], ir.Param{Local: m, Over: ir.In(third.p.set)})), cycle)
		}
	}
}

// holdsLocks: only inside a block, or with a session lock, can a waiting run
// keep others waiting.
func holdsLocks(w waiting) bool {
	if w.n.block != nil {
		return true
	}
	for _, s := range w.p.ast.All {
		if s.Verb == ast.VerbLock && s.SessionLock {
			return true
		}
	}
	return false
}

func (p *process) distinct(q *process, other ir.Expr) ir.Expr {
	if p != q {
		return yes
	}
	return not(same(use(p.self), other))
}

// deadlockVictim is what a history says of a step whose transaction the database
// gave up to end a deadlock.
const deadlockVictim = "deadlock: it is the victim"

func (p *process) victim(params []ir.Param) *outcome {
	return &outcome{branch: ast.OnError, params: params, guard: yes, text: deadlockVictim}
}
