package lower

import (
	"fmt"

	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// actions makes all actions of a process: its starts, and for every location
// the outcomes of the step, with the faults that can hit it.
func (p *process) actions() {
	p.trigger.start()
	for _, n := range p.inFileOrder() {
		if n.located() {
			p.nodeActions(n)
		}
	}
}

// sequence numbers actions by process, step and branch.
func (p *process) sequence(n *node, k int) int {
	step := 0
	if n != nil {
		step = 1 + 2*n.step.ID
		if n.kind == commitNode {
			step++
		}
	}
	return ((p.number+1)*1000+step)*100 + k
}

func (p *process) nodeActions(n *node) {
	probe := p.emitter(n)
	pl := probe.planOf(n)
	wait := not(orNil(pl.blocked))
	k := 0
	add := func(o *outcome, guard ir.Expr, f *budget, world World, to func(em *emitter) []ir.Stmt) {
		p.emit(n, &arming{outcome: o, guard: guard, fault: f, world: world, blocked: pl.blocked, order: p.sequence(n, k)}, to)
		k++
	}
	if v := p.cutOff[n.step.Resource]; v != nil && n.kind != pauseNode {
		// The database was restarted under this run: its next step there fails.
		gone := load(v, probe.me)
		add(&outcome{guard: yes, branch: ast.OnError, text: "the connection is gone", why: ConnectionGone}, gone, nil, "", func(em *emitter) []ir.Stmt {
			em.unbind(n)
			return append([]ir.Stmt{set(v, no, em.me)}, em.failed(n, n.step.Branches[ast.OnError])...)
		})
		wait = and(wait, not(gone))
	}
	for _, o := range pl.outcomes {
		add(o, and(wait, o.guard), o.fault, "", func(em *emitter) []ir.Stmt { return em.finish(n, o) })
	}
	if n.kind == pauseNode {
		return
	}
	if pl.blocked != nil {
		p.earlySnapshot(n, pl.blocked, p.sequence(n, k))
	}
	if pl.lossy && p.lw.allows(p, n) {
		p.lostAnswers(n, pl, wait, add)
	}
	p.stepErrors(n, pl, add)
	if pl.blocked != nil {
		p.deadlocks(n, func(o *outcome, guard ir.Expr) {
			add(o, guard, nil, "", func(em *emitter) []ir.Stmt {
				em.unbind(n)
				return em.failed(n, n.step.Branches[ast.OnError])
			})
		})
	}
}

type addAction func(o *outcome, guard ir.Expr, f *budget, world World, to func(em *emitter) []ir.Stmt)

// lostAnswers adds the worlds in which the caller does not hear (R23): done,
// and, where the budget says so, never arrived.
func (p *process) lostAnswers(n *node, pl plan, wait ir.Expr, add addAction) {
	unknown := func(em *emitter) []ir.Stmt { return em.unknown(n) }
	for _, f := range p.lw.faultsOn(ast.FaultResponseLost, n.step.Resource) {
		idle := no // guards of outcomes that change nothing
		for _, o := range pl.outcomes {
			switch {
			case o.quiet || o.fault != nil:
			case n.step.Verb != ast.VerbScript && o.nothing(n):
				g := o.guard
				for i := len(o.params) - 1; i >= 0; i-- {
					g = exists(o.params[i].Local, o.params[i].Over, g)
				}
				idle = or(idle, g)
			case n.step.Verb == ast.VerbScript:
				add(o, and(wait, o.guard), f, DoneLost, func(em *emitter) []ir.Stmt {
					em.lostScript = n
					return em.finish(n, o)
				})
			default:
				add(o, and(wait, o.guard), f, DoneLost, func(em *emitter) []ir.Stmt {
					var out []ir.Stmt
					if o.do != nil {
						out = append(out, o.do(em)...)
					}
					if o.done {
						out = append(out, em.marks(n)...)
					}
					if n.kind == commitNode {
						em.in = nil
					}
					return append(out, unknown(em)...)
				})
			}
		}
		if !isFalse(idle) && p.unknownMatters(n) {
			add(&outcome{guard: idle, branch: ast.OnUnknown}, and(wait, idle), f, AnswerLost, unknown)
		}
		if n.kind == commitNode {
			add(&outcome{guard: yes, branch: ast.OnUnknown}, wait, f, NotCommitted, func(em *emitter) []ir.Stmt {
				return append(em.rollbackIfOpen(), unknown(em)...)
			})
		}
	}
	for _, f := range p.lw.faultsOn(ast.FaultRequestLost, n.step.Resource) {
		add(&outcome{guard: yes, branch: ast.OnUnknown}, yes, f, RequestLost, func(em *emitter) []ir.Stmt {
			return append(em.rollbackIfOpen(), unknown(em)...)
		})
	}
	p.lateWorlds(n, pl, unknown, add)
}

// nothing says whether the outcome changes nothing but names: its lost answer is
// the same as a request that never arrived.
func (o *outcome) nothing(n *node) bool {
	marks := o.done && n.kind != commitNode && len(n.step.Effects)+len(n.step.Undoes) > 0
	return (o.pure || o.do == nil) && !marks
}

// unknownMatters is false where a lost answer of a step that changed nothing
// has the same successor as the answer heard: continue, and no name bound.
func (p *process) unknownMatters(n *node) bool {
	b := n.step.Branches[ast.OnUnknown]
	return !(b != nil && b.Kind == ast.BranchContinue && len(bound(n)) == 0)
}

// unknown takes the branch for "no answer".
func (em *emitter) unknown(n *node) []ir.Stmt {
	out := em.rollbackIfOpen()
	return append(out, em.repeats(n, func(em *emitter) []ir.Stmt {
		em.unbind(n)
		em.failing = true
		return em.branch(n, n.step.Branches[ast.OnUnknown])
	})...)
}

// stepErrors adds the fault `error`: nothing done, and the caller knows (E).
func (p *process) stepErrors(n *node, pl plan, add addAction) {
	if n.step.Resource == nil {
		return
	}
	for _, f := range p.lw.faultsOn(ast.FaultError, n.step.Resource) {
		add(&outcome{guard: yes, branch: ast.OnError}, yes, f, Fails, func(em *emitter) []ir.Stmt {
			em.unbind(n)
			b := n.step.Branches[ast.OnError]
			return em.failed(n, b)
		})
	}
	if pl.blocked == nil {
		return
	}
	for _, f := range p.lw.faultsOn(ast.FaultLockTimeout, n.step.Resource) {
		add(&outcome{guard: yes, branch: ast.OnError}, pl.blocked, f, LockTimesOut, func(em *emitter) []ir.Stmt {
			em.unbind(n)
			return em.failed(n, n.step.Branches[ast.OnError])
		})
	}
}

// arming is what an action needs beside its body.
type arming struct {
	outcome *outcome
	guard   ir.Expr
	fault   *budget
	world   World // what went wrong
	blocked ir.Expr
	order   int
	silent  bool // no step of the history
}

// emit adds the actions of one outcome: one for every combination of choices.
func (p *process) emit(n *node, a *arming, body func(em *emitter) []ir.Stmt) {
	if isFalse(a.guard) {
		return
	}
	em := p.emitter(n)
	for {
		one := em.again()
		stmts := body(one)
		act := &ir.Action{
			Name: p.actionName(n, a), Kind: ir.Step, Proc: p.ir, At: n.loc, Self: p.self, Params: a.outcome.params,
			Guard: a.guard, Body: stmts, Order: a.order, Label: p.label(n, a),
			Note: &Note{Process: p.ast, Step: n.step, Commit: n.kind == commitNode, Outcome: a.outcome, World: a.world, Blocked: a.blocked, node: n, proc: p, passes: *one.passes},
		}
		if n.kind == pauseNode || a.silent {
			act.Label = ""
			act.Note.(*Note).Silent = true
		}
		if a.fault != nil {
			act.Budget, act.Fault, act.Rank = a.fault.left, a.fault.name, a.fault.rank
			act.Note.(*Note).Fault = a.fault.fault
			if a.outcome.branch == ast.OnUnknown || a.world != "" {
				act.Rank += p.likeCrash(n, a)
			}
		}
		if one.chose && one.unfair {
			act.Choice = 1 + n.id
		}
		if a.outcome.unfair {
			act.Unfair = true
		}
		p.lw.program.Actions = append(p.lw.program.Actions, act)
		if !em.oracle.next() {
			return
		}
	}
}

// likeCrash is 1 for a lost answer after which the run just stops by default:
// the same as a crash after the step, which is the clearer history of the two.
func (p *process) likeCrash(n *node, a *arming) int {
	if k := a.fault.fault.Kind; k != ast.FaultResponseLost && k != ast.FaultRequestLost {
		return 0
	}
	if b := n.step.Branches[ast.OnUnknown]; b == nil || b.Kind == ast.BranchStop && b.Implicit {
		return 1
	}
	return 0
}

func (p *process) actionName(n *node, a *arming) string {
	name := p.locationName(n)
	if !a.outcome.done && a.fault == nil {
		name += ": " + a.outcome.branch.String()
	}
	if a.world != "" {
		name += ": " + string(a.world)
	}
	return name
}

// label names the step and branch for "never taken": `P#id`, `P#id:if_exists`.
func (p *process) label(n *node, a *arming) string {
	l := fmt.Sprintf("%s#%d", p.ast.Name, n.step.ID)
	if n.kind == commitNode {
		l += "c"
	}
	switch {
	case a.outcome.done && a.fault == nil:
		return l
	case a.fault != nil:
		return l + ":" + string(a.world)
	}
	return l + ":" + a.outcome.branch.String()
}

func orNil(e ir.Expr) ir.Expr {
	if e == nil {
		return no
	}
	return e
}
