package lower

import (
	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// A hidden retry layer (R): after a lost answer the driver or transport sends
// the same request again, up to N times, before the author's code sees
// on_unknown. The run stays at the step; a counter says how often.

// makeDriver gives every step on such a resource its counter.
func (p *process) makeDriver() {
	for _, n := range p.nodes {
		s := n.step
		if n.kind != remoteNode || s.Resource == nil || s.Resource.HiddenRetry == 0 || p.driver[n] != nil {
			continue
		}
		if len(p.lw.faultsOn(ast.FaultResponseLost, s.Resource))+len(p.lw.faultsOn(ast.FaultRequestLost, s.Resource))+len(p.lw.faultsOn(ast.FaultLateRequest, s.Resource)) == 0 {
			continue
		}
		if p.driver == nil {
			p.driver = map[*node]*ir.Var{}
		}
		p.driver[n] = p.perInstance("repeats of "+p.locationName(n), ir.Type{Kind: ir.Range, Lo: 0, Hi: s.Resource.HiddenRetry})
	}
}

// repeats sends the request again if the driver still may; else the code takes
// its branch.
func (em *emitter) repeats(n *node, code func(*emitter) []ir.Stmt) []ir.Stmt {
	v := em.p.driver[n]
	if v == nil {
		return code(em)
	}
	left := order(ir.Lt, load(v, em.me), num(n.step.Resource.HiddenRetry))
	return em.fork(left, func(arm *emitter) []ir.Stmt {
		// The names are those at the step: the request is the same.
		arm.env = em.p.namesAt(n, em.me)
		return append([]ir.Stmt{set(v, sum(ir.Add, load(v, em.me), num(1)), em.me)}, arm.settle(n)...)
	}, func(arm *emitter) []ir.Stmt { return append([]ir.Stmt{set(v, num(0), em.me)}, code(arm)...) })
}

// driverDone forgets the count once an answer was heard.
func (em *emitter) driverDone(n *node) []ir.Stmt {
	if v := em.p.driver[n]; v != nil {
		return []ir.Stmt{set(v, num(0), em.me)}
	}
	return nil
}
