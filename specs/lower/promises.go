package lower

import (
	"fmt"

	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// promises turns every sentence into properties.
func (lw *lowering) promises() {
	for _, p := range lw.spec.Promises {
		from := len(lw.program.Props)
		lw.sentence(p)
		var ids []int
		for i := from; i < len(lw.program.Props); i++ {
			ids = append(ids, i)
		}
		if len(ids) == 0 {
			lw.problem(p.Pos, "the promise %q cannot be judged on this spec", p.Text)
		}
		lw.out.Promises = append(lw.out.Promises, ids)
	}
	if lw.opts.window != nil {
		left := lw.budget(lw.spec.Faults[0]).left
		defer func() {
			lw.program.Props = append(lw.program.Props, &ir.Property{Name: "the event happens", Kind: ir.Reachable, Goal: same(load(left), num(0))})
		}()
	}
	for _, p := range lw.spec.MustBePossible {
		lw.out.Possible = append(lw.out.Possible, lw.possibility(p))
	}
}

// property adds one.
func (lw *lowering) property(p *ast.Promise, k ir.PropKind, each []ir.Param, goal ir.Expr) *ir.Property {
	q := &ir.Property{Name: p.Text, Kind: k, ForEach: each, Goal: goal, Note: p}
	lw.program.Props = append(lw.program.Props, q)
	return q
}

// eachOp is the binder "for every operation of the kind".
func (lw *lowering) eachOp(o *ast.Operation) ([]ir.Param, ir.Expr) {
	l := &ir.Local{Name: o.Name}
	return []ir.Param{{Local: l, Over: ir.In(lw.opSet(o))}}, use(l)
}

func (lw *lowering) sentence(p *ast.Promise) {
	switch b := p.Body.(type) {
	case ast.AtMostOnce:
		lw.neverBelowZero(p, b.Effect)
		each, op := lw.eachOp(b.Operation)
		limit := num(b.N)
		if b.PlusPer != "" {
			limit = sum(ir.Add, limit, lw.spent(b.Plus))
		}
		lw.property(p, ir.Always, each, order(ir.Le, lw.counter(b.Effect, b.Operation, op), limit))
	case ast.ExactlyOnce:
		lw.neverBelowZero(p, b.Effect)
		each, op := lw.eachOp(b.Operation)
		lw.property(p, ir.Always, each, order(ir.Le, lw.counter(b.Effect, b.Operation, op), num(1)))
		each, op = lw.eachOp(b.Operation)
		lw.property(p, ir.Eventually, each, lw.happened(b.Effect, b.Operation, op)).Latched = !b.Effect.Undone
	case ast.EventuallyEffect:
		each, op := lw.eachOp(b.Operation)
		goal := lw.happened(b.Effect, b.Operation, op)
		if b.OrHuman {
			goal = or(goal, lw.handed(b.Operation, op))
		}
		lw.property(p, ir.Eventually, each, goal).Latched = !b.Effect.Undone
	case ast.AckedAfter:
		lw.ackedAfter(p, b)
	case ast.RowDecided:
		lw.rowDecided(p, b)
	default:
		lw.moreSentences(p)
	}
}

// neverBelowZero: an effect that is taken back more often than it happened
// breaks every promise about its count (Z).
func (lw *lowering) neverBelowZero(p *ast.Promise, e *ast.Effect) {
	if !e.Undone {
		return
	}
	for _, o := range e.Operations {
		if lw.effectVar(e, o) == nil {
			continue
		}
		each, op := lw.eachOp(o)
		lw.property(p, ir.Always, each, order(ir.Le, num(0), lw.counter(e, o, op)))
	}
}

// counter is count(E, op).
func (lw *lowering) counter(e *ast.Effect, o *ast.Operation, op ir.Expr) ir.Expr {
	v := lw.effectVar(e, o)
	if v == nil {
		return num(0)
	}
	return load(v, op)
}

func (lw *lowering) happened(e *ast.Effect, o *ast.Operation, op ir.Expr) ir.Expr {
	return order(ir.Le, num(1), lw.counter(e, o, op))
}

func (lw *lowering) handed(o *ast.Operation, op ir.Expr) ir.Expr {
	if v := lw.human[o]; v != nil {
		return load(v, op)
	}
	return no
}

// ackedAfter: acked at least once implies the effect.
func (lw *lowering) ackedAfter(p *ast.Promise, b ast.AckedAfter) {
	q := lw.queues[b.Queue]
	if q == nil {
		lw.logAckedAfter(p, b)
		return
	}
	for _, o := range b.Effect.Operations {
		v := lw.monitors.ackedOp[q][o]
		if v == nil {
			continue
		}
		each, op := lw.eachOp(o)
		lw.property(p, ir.Always, each, or(not(load(v, op)), lw.happened(b.Effect, o, op)))
	}
}

// rowOf is true if a committed row of the operation has the property.
func (lw *lowering) rowOf(t *table, o *ast.Operation, op ir.Expr, cond func(at ir.Expr) ir.Expr) ir.Expr {
	if t == nil {
		return no
	}
	if cond == nil {
		cond = func(ir.Expr) ir.Expr { return yes }
	}
	key := "/o:" + o.Name
	if t.pool == nil && t.key == "op" && t.leaf.key == key {
		return and(t.visible(op, reader{}), cond(op))
	}
	return t.some(func(at ir.Expr) ir.Expr {
		return and(t.visible(at, reader{}), same(t.get("op", at, reader{}).at(key), op), cond(at))
	})
}

// operationsOf lists the operations that rows of a table can be of.
func (lw *lowering) operationsOf(t *ast.Table) []*ast.Operation {
	c := t.Column("op")
	if c == nil || c.Type == nil {
		return nil
	}
	var out []*ast.Operation
	for _, a := range c.Type.Alts {
		if a.Kind == ast.KindOperation {
			out = append(out, a.Operation)
		}
	}
	return out
}

// rowDecided: state S leads to another state, or to a human.
func (lw *lowering) rowDecided(p *ast.Promise, b ast.RowDecided) {
	t := lw.tables[b.Table]
	inState := func(at ir.Expr) ir.Expr {
		return equal(t.get(b.Column.Name, at, reader{}), lw.literal(b.State))
	}
	ops := lw.operationsOf(b.Table)
	for _, o := range ops {
		each, op := lw.eachOp(o)
		from := lw.rowOf(t, o, op, inState)
		goal := not(from)
		if b.OrHuman {
			goal = or(goal, lw.handed(o, op))
		}
		lw.property(p, ir.LeadsTo, each, goal).From = from
	}
	if len(ops) == 0 && t != nil {
		from := t.some(func(at ir.Expr) ir.Expr { return and(t.visible(at, reader{}), inState(at)) })
		lw.property(p, ir.LeadsTo, nil, not(from)).From = from
	}
}

// possibility is one line of must_be_possible.
func (lw *lowering) possibility(p *ast.Possibility) Possible {
	add := func(each []ir.Param, goal ir.Expr) Possible {
		lw.program.Props = append(lw.program.Props, &ir.Property{Name: p.Text, Kind: ir.Reachable, ForEach: each, Goal: goal, Note: p})
		return Possible{Prop: len(lw.program.Props) - 1}
	}
	switch b := p.Body.(type) {
	case ast.DeliveredTimes:
		for _, l := range lw.monitors.deliveredN[b.Queue] {
			if l.n == b.N {
				return add(nil, load(l.v))
			}
		}
	case ast.CarriesMessages:
		l := &ir.Local{Name: b.Operation.Name}
		return add(nil, exists(l, ir.In(lw.opSet(b.Operation)), lw.monitors.sentAtLeast(b.Queue, b.Operation, use(l), b.N)))
	case ast.RowInState:
		t := lw.tables[b.Table]
		if t == nil {
			return add(nil, no)
		}
		return add(nil, t.some(func(at ir.Expr) ir.Expr {
			return and(t.visible(at, reader{}), equal(t.get(b.Column.Name, at, reader{}), lw.literal(b.State)))
		}))
	case ast.EffectForEvery:
		l := &ir.Local{Name: b.Operation.Name}
		return add(nil, ir.Every(l, ir.In(lw.opSet(b.Operation)), lw.happened(b.Effect, b.Operation, use(l))))
	case ast.StepTaken:
		return Possible{Prop: -1, Label: fmt.Sprintf("%s#%d", b.Process.Name, b.Step.ID)}
	case ast.BranchTaken:
		return Possible{Prop: -1, Label: fmt.Sprintf("%s#%d:%s", b.Process.Name, b.Step.ID, b.Outcome)}
	case ast.Reach:
		sc := scope{lw: lw}
		if b.Bound != nil {
			l := &ir.Local{Name: b.Operation.Name}
			return add(nil, exists(l, ir.In(lw.opSet(b.Operation)), sc.bindOp(b.Bound, use(l)).cond(b.Expr)))
		}
		if b.Process != nil {
			l := &ir.Local{Name: b.Process.Name}
			sc.instance = map[*ast.Process]ir.Expr{b.Process: use(l)}
			return add(nil, exists(l, ir.In(lw.instances(b.Process)), sc.cond(b.Expr)))
		}
		return add(nil, sc.cond(b.Expr))
	}
	return add(nil, no)
}
