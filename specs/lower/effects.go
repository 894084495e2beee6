package lower

import (
	"strings"

	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// budget is the counter of a fault.
type budget struct {
	fault *ast.Fault
	name  string
	rank  int
	left  *ir.Var
}

// makeBudgets makes a counter for every fault; its units are spent by actions.
func (lw *lowering) makeBudgets() {
	for i, f := range lw.spec.Faults {
		name := f.Name
		v := &ir.Var{Name: name + " left", Type: ir.Type{Kind: ir.Range, Lo: 0, Hi: f.Max}, Initial: f.Max}
		if lw.budgetOf(f.Name, i) {
			v.Name = name + " left (" + f.Pos.String() + ")"
		}
		// Of two histories with as many faults, one without a redelivery comes
		// first.
		rank := 0
		if f.Kind == ast.FaultRedelivery {
			rank = 1
		}
		lw.budgets[f.Name+"/"+f.Pos.String()] = &budget{fault: f, name: name, rank: rank, left: lw.variable(v)}
	}
}

// budgetOf says whether an earlier fault has the same name.
func (lw *lowering) budgetOf(name string, before int) bool {
	for _, f := range lw.spec.Faults[:before] {
		if f.Name == name {
			return true
		}
	}
	return false
}

func (lw *lowering) budget(f *ast.Fault) *budget { return lw.budgets[f.Name+"/"+f.Pos.String()] }

// faultsOn lists the budgets of a kind that may hit the resource.
func (lw *lowering) faultsOn(k ast.FaultKind, r *ast.Resource) []*budget {
	var out []*budget
	for _, f := range lw.spec.Faults {
		if f.Kind != k {
			continue
		}
		if len(f.Resources) > 0 && !hasResource(f.Resources, r) {
			continue
		}
		out = append(out, lw.budget(f))
	}
	return out
}

// faultsOf lists the budgets of a kind that may hit a process.
func (lw *lowering) faultsOf(k ast.FaultKind, p *ast.Process) []*budget {
	var out []*budget
	for _, f := range lw.spec.Faults {
		if f.Kind != k {
			continue
		}
		ok := len(f.Processes) == 0
		for _, q := range f.Processes {
			ok = ok || q == p
		}
		if ok {
			out = append(out, lw.budget(f))
		}
	}
	return out
}

func (lw *lowering) hasFault(k ast.FaultKind) bool {
	for _, f := range lw.spec.Faults {
		if f.Kind == k {
			return true
		}
	}
	return false
}

func hasResource(rs []*ast.Resource, r *ast.Resource) bool {
	for _, x := range rs {
		if x == r {
			return true
		}
	}
	return false
}

// spent is the number of units used of the faults.
func (lw *lowering) spent(fs []*ast.Fault) ir.Expr {
	out := num(0)
	for _, f := range fs {
		if b := lw.budget(f); b != nil {
			out = sum(ir.Add, out, sum(ir.Sub, num(f.Max), load(b.left)))
		}
	}
	return out
}

// makeEffects makes a counter per operation for every effect that a promise
// reads, and a flag per operation that is handed to a human if one reads that.
func (lw *lowering) makeEffects() {
	for _, e := range lw.spec.Effects {
		lw.effects[e] = map[*ast.Operation]*ir.Var{}
		if e.Compared == 0 {
			continue
		}
		t := ir.Type{Kind: ir.Range, Lo: 0, Hi: lw.effectMax(e)}
		if e.Undone {
			t.Lo = -1
		}
		for _, o := range e.Operations {
			lw.effects[e][o] = lw.variable(&ir.Var{Name: e.Name + " of " + o.Name, Index: ir.Several(lw.opSet(o)), Type: t})
		}
	}
	if !lw.readsHuman() {
		return
	}
	for _, o := range lw.spec.Operations {
		lw.human[o] = lw.variable(&ir.Var{Name: o.Name + " handed to a human", Index: ir.Several(lw.opSet(o)), Type: ir.Type{Kind: ir.Bool}})
	}
}

// effectMax is where a counter saturates: above what any promise compares with.
func (lw *lowering) effectMax(e *ast.Effect) int {
	if e.Undone {
		return e.Compared + 3
	}
	return e.Compared + 1
}

func (lw *lowering) effectVar(e *ast.Effect, o *ast.Operation) *ir.Var { return lw.effects[e][o] }

// effectCount is count(E, op).
func (lw *lowering) effectCount(e *ast.Effect, op value) ir.Expr {
	out := num(0)
	for _, o := range e.Operations {
		v := lw.effects[e][o]
		l, ok := op.find("/o:" + o.Name)
		if v == nil || !ok {
			continue
		}
		c := load(v, l.e)
		if l.typ.Optional {
			c = pick(same(l.e, none), num(0), c)
		}
		if k, isConst := constant(out); isConst && k == 0 {
			out = c
			continue
		}
		out = sum(ir.Add, out, c)
	}
	return out
}

// countMark counts an effect for the operation, or takes it back.
func (lw *lowering) countMark(e *ast.Effect, op value, undo bool) []ir.Stmt {
	var out []ir.Stmt
	for _, o := range e.Operations {
		v := lw.effects[e][o]
		l, ok := op.find("/o:" + o.Name)
		if v == nil || !ok {
			continue
		}
		c := load(v, l.e)
		next := pick(order(ir.Lt, c, num(v.Type.Hi)), sum(ir.Add, c, num(1)), c)
		if undo {
			next = pick(order(ir.Lt, num(v.Type.Lo), c), sum(ir.Sub, c, num(1)), c)
		}
		there := yes
		if l.typ.Optional || !known(l.e) {
			there = differ(l.e, none)
		}
		out = append(out, when(there, []ir.Stmt{set(v, next, l.e)}, nil)...)
	}
	return out
}

// readsHuman says whether some promise looks at what was handed over.
func (lw *lowering) readsHuman() bool {
	for _, p := range lw.spec.Promises {
		switch b := p.Body.(type) {
		case ast.EventuallyEffect:
			if b.OrHuman {
				return true
			}
		case ast.RowEventuallyEffect:
			if b.OrHuman {
				return true
			}
		case ast.RowDecided:
			if b.OrHuman {
				return true
			}
		case ast.CanComplete:
			return true
		case ast.Check:
			if mentionsHuman(b.Expr) || mentionsHuman(b.To) {
				return true
			}
		}
	}
	for _, p := range lw.spec.MustBePossible {
		if r, ok := p.Body.(ast.Reach); ok && mentionsHuman(r.Expr) {
			return true
		}
	}
	return false
}

func mentionsHuman(e ast.Expr) bool {
	found := false
	ast.Walk(e, func(c ast.Expr) bool {
		if _, ok := c.(*ast.Handed); ok {
			found = true
		}
		return !found
	})
	return found
}

// handedOver is true if the operation was handed to a human.
func (lw *lowering) handedOver(op value) ir.Expr {
	out := no
	for _, l := range op.leaves {
		if name, ok := strings.CutPrefix(l.key, "/o:"); ok {
			if v := lw.humanVar(name); v != nil {
				out = or(out, load(v, l.e))
			}
		}
	}
	return out
}

func (lw *lowering) humanVar(name string) *ir.Var {
	for o, v := range lw.human {
		if o.Name == name {
			return v
		}
	}
	return nil
}

// handOver marks the operation; nil or none: every operation.
func (em *emitter) handOver(op value) []ir.Stmt {
	var out []ir.Stmt
	for _, l := range op.leaves {
		name, ok := strings.CutPrefix(l.key, "/o:")
		if !ok {
			continue
		}
		if v := em.lw.humanVar(name); v != nil {
			out = append(out, when(differ(l.e, none), []ir.Stmt{set(v, yes, l.e)}, nil)...)
		}
	}
	return out
}

// humanPlan is ask_human: the operation counts as handed over.
func (em *emitter) humanPlan(n *node) plan {
	s := n.step
	pl := plan{}
	pl.outcomes = []*outcome{{done: true, guard: yes, do: func(em *emitter) []ir.Stmt {
		if s.Human != nil {
			var out []ir.Stmt
			op := em.value(s.Human, &out)
			return append(out, em.handOver(op)...)
		}
		var out []ir.Stmt
		for _, o := range em.lw.spec.Operations {
			if v := em.lw.human[o]; v != nil {
				l := &ir.Local{Name: o.Name}
				out = append(out, ir.ForEach{Local: l, Over: ir.In(em.lw.opSet(o)), Body: []ir.Stmt{set(v, yes, use(l))}})
			}
		}
		return out
	}}}
	return pl
}
