package lower

import (
	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// moreSentences are the promises beside the few of promises.go. Those about the
// order of things have a monitor (watch.go) that sets a latch; the others are
// conditions over the state.
func (lw *lowering) moreSentences(p *ast.Promise) {
	if bad := lw.monitors.bad[p]; bad != nil {
		lw.property(p, ir.Always, nil, not(load(bad)))
		return
	}
	switch b := p.Body.(type) {
	case ast.RowEventuallyEffect:
		t := lw.tables[b.Table]
		for _, o := range lw.operationsOf(b.Table) {
			each, op := lw.eachOp(o)
			goal := or(not(lw.rowOf(t, o, op, nil)), lw.happened(b.Effect, o, op))
			if b.OrHuman {
				goal = or(goal, lw.handed(o, op))
			}
			lw.property(p, ir.Finally, each, goal)
		}
	case ast.NoEffectWithoutRow:
		for _, o := range b.Effect.Operations {
			each, op := lw.eachOp(o)
			lw.property(p, ir.Always, each, or(not(lw.happened(b.Effect, o, op)), lw.rowOf(lw.tables[b.Table], o, op, nil)))
		}
	case ast.NoMessageWithoutRow:
		for _, o := range lw.operationsOf(b.Table) {
			each, op := lw.eachOp(o)
			there := order(ir.Lt, num(0), lw.messagesOf(b.Queue, o, op))
			lw.property(p, ir.Always, each, or(not(there), lw.rowOf(lw.tables[b.Table], o, op, nil)))
		}
	case ast.RowEventuallySent:
		for _, o := range lw.operationsOf(b.Table) {
			each, op := lw.eachOp(o)
			lw.property(p, ir.Finally, each, or(not(lw.rowOf(lw.tables[b.Table], o, op, nil)), lw.monitors.sentAtLeast(b.Queue, o, op, 1)))
		}
	case ast.OpEventuallySent:
		each, op := lw.eachOp(b.Operation)
		lw.property(p, ir.Eventually, each, lw.monitors.sentAtLeast(b.Queue, b.Operation, op, 1)).Latched = true
	case ast.EventuallyAnswered:
		each, op := lw.eachOp(b.Operation)
		lw.property(p, ir.Eventually, each, load(lw.answerVar(b.Operation, b.Reply), op)).Latched = true
	case ast.EventuallyEnds:
		each, op := lw.eachOp(b.Operation)
		lw.property(p, ir.Eventually, each, load(lw.endedVar(b.Operation), op)).Latched = true
	default:
		lw.stateSentences(p)
	}
}

// stateSentences are conditions that hold in every state.
func (lw *lowering) stateSentences(p *ast.Promise) {
	switch b := p.Body.(type) {
	case ast.PayloadConflict:
		lw.payloadConflict(p, b)
	case ast.NotAnsweredBefore:
		lw.notAnsweredBefore(p, b)
	case ast.NoEffectWhile:
		t := lw.tables[b.Table]
		each, op := lw.eachOp(b.Operation)
		lw.property(p, ir.Always, each, not(and(lw.happened(b.Effect, b.Operation, op), lw.rowOf(t, b.Operation, op, lw.inState(t, b.Column, b.State)))))
	case ast.AtMostInState:
		lw.atMostInState(p, b)
	case ast.CanComplete:
		each, op := lw.eachOp(b.Operation)
		goal := yes
		for _, e := range b.Effects {
			goal = and(goal, lw.happened(e, b.Operation, op))
		}
		if len(b.Effects) == 0 {
			goal = load(lw.answerVar(b.Operation, ast.ReplyOK), op)
		}
		lw.property(p, ir.CanAlways, each, or(goal, lw.handed(b.Operation, op)))
	case ast.NothingStays:
		t := lw.tables[b.Table]
		each, op := lw.eachOp(b.Operation)
		in := lw.rowOf(t, b.Operation, op, lw.inState(t, b.Column, b.State))
		lw.property(p, ir.LeadsTo, each, not(in)).From = and(in, load(lw.endedVar(b.Operation), op))
	case ast.AtMostBetween:
		lw.atMostBetween(p, b)
	case ast.AtMostOnMessage:
		lw.atMostOnMessage(p, b)
	case ast.AtMostWaiting:
		lw.atMostWaiting(p, b)
	case ast.Check:
		lw.check(p, b)
	}
}

// inState is the condition "the row's column has that value".
func (lw *lowering) inState(t *table, c *ast.Column, v ast.Value) func(at ir.Expr) ir.Expr {
	return func(at ir.Expr) ir.Expr { return equal(t.get(c.Name, at, reader{}), lw.literal(v)) }
}

// messagesOf counts the messages of an operation that wait or are held.
func (lw *lowering) messagesOf(r *ast.Resource, o *ast.Operation, op ir.Expr) ir.Expr {
	q := lw.queues[r]
	if q == nil {
		return lw.logMessagesOf(r, o, op)
	}
	return q.countWhere(func(v value) ir.Expr { return same(v.field("op").at("/o:"+o.Name), op) })
}

// payloadConflict: two operations with one key and different payloads are not
// both answered ok.
func (lw *lowering) payloadConflict(p *ast.Promise, b ast.PayloadConflict) {
	o := b.Operation
	each, x := lw.eachOp(o)
	other := &ir.Local{Name: o.Name}
	each = append(each, ir.Param{Local: other, Over: ir.In(lw.opSet(o))})
	y := use(other)
	ok := lw.answerVar(o, ast.ReplyOK)
	sameKey := equal(lw.opField(b.Key, x), lw.opField(b.Key, y))
	samePayload := equal(lw.opField(b.Payload, x), lw.opField(b.Payload, y))
	lw.property(p, ir.Always, each, not(and(sameKey, not(samePayload), load(ok, x), load(ok, y))))
}

func (lw *lowering) notAnsweredBefore(p *ast.Promise, b ast.NotAnsweredBefore) {
	each, op := lw.eachOp(b.Operation)
	var goal ir.Expr
	switch {
	case b.Effect != nil:
		goal = lw.happened(b.Effect, b.Operation, op)
	case b.Queue != nil:
		goal = lw.monitors.sentAtLeast(b.Queue, b.Operation, op, 1)
	default:
		goal = lw.rowOf(lw.tables[b.Table], b.Operation, op, nil)
	}
	lw.property(p, ir.Always, each, or(not(load(lw.answerVar(b.Operation, b.Reply), op)), goal))
}

func (lw *lowering) atMostInState(p *ast.Promise, b ast.AtMostInState) {
	total := num(0)
	for _, o := range lw.spec.Operations {
		if b.Operation != nil && b.Operation != o {
			continue
		}
		l := &ir.Local{Name: o.Name}
		in := no
		for _, c := range b.Columns {
			if t := lw.tables[c.Table]; t != nil {
				in = or(in, lw.rowOf(t, o, use(l), lw.inState(t, c, b.State)))
			}
		}
		if !isFalse(in) {
			total = sum(ir.Add, total, count(l, ir.In(lw.opSet(o)), in))
		}
	}
	lw.property(p, ir.Always, nil, order(ir.Le, total, num(b.N)))
}

// between lists the locations after From is done and not after To.
func (p *process) between(from, to *ast.Step) map[int]bool {
	out := map[int]bool{}
	seen := map[int]bool{}
	last := -2
	if to != nil {
		last = p.at[to]
	}
	var walk func(id int)
	walk = func(id int) {
		if id == end || seen[id] {
			return
		}
		seen[id] = true
		n := p.nodes[id]
		if n.located() {
			out[n.loc] = true
		}
		if id == last {
			return
		}
		for _, e := range p.edges(n) {
			walk(e.to)
		}
	}
	if from == nil {
		walk(p.first)
		return out
	}
	start := p.nodes[p.at[from]]
	walk(start.next)
	return out
}

func (lw *lowering) atMostBetween(p *ast.Promise, b ast.AtMostBetween) {
	q := lw.process(b.Process)
	locs := q.between(b.From, b.To)
	in := func(w ir.Expr) ir.Expr {
		out := no
		for loc := 1; loc < len(q.ir.Locations); loc++ {
			if locs[loc] {
				out = or(out, same(load(q.pc, w), num(loc)))
			}
		}
		return out
	}
	i, w := &ir.Local{Name: q.ast.Name}, &ir.Local{Name: "w"}
	group := yes
	if b.Per != nil {
		val := func(x ir.Expr) value {
			sc := scope{lw: lw, proc: q, me: x, names: func(v *ast.Var) value { return q.shown(v, x) }}
			return sc.value(b.Per)
		}
		group = equal(val(use(i)), val(use(w)))
	}
	crowd := count(w, ir.In(q.set), and(in(use(w)), group))
	lw.property(p, ir.Always, []ir.Param{{Local: i, Over: ir.In(q.set)}}, or(not(in(use(i))), order(ir.Le, crowd, num(b.N))))
}

// shown is a bound name of an instance with what its trigger derives.
func (p *process) shown(v *ast.Var, me ir.Expr) value {
	val := p.stored(v, me)
	if v == p.ast.Trigger.As && p.onlyTrigger(v) {
		return val.with(p.trigger.derived(val)...)
	}
	return val
}

func (lw *lowering) atMostOnMessage(p *ast.Promise, b ast.AtMostOnMessage) {
	q := lw.process(b.Process)
	t, ok := q.trigger.(*messageTrigger)
	if !ok {
		return
	}
	i, w := &ir.Local{Name: q.ast.Name}, &ir.Local{Name: "w"}
	holds := func(x ir.Expr) ir.Expr { return differ(load(t.held, x), num(notHeld)) }
	crowd := count(w, ir.In(q.set), and(holds(use(w)), t.sameMessage(use(i), use(w))))
	lw.property(p, ir.Always, []ir.Param{{Local: i, Over: ir.In(q.set)}}, or(not(holds(use(i))), order(ir.Le, crowd, num(b.N))))
}

// sameMessage is true if both instances hold one message.
func (t *messageTrigger) sameMessage(a, b ir.Expr) ir.Expr {
	switch {
	case t.tag != nil:
		return same(load(t.tag, a), load(t.tag, b))
	case t.q.pool != nil:
		return same(a, b) // whoever holds it has taken it out of the queue
	}
	x, y := t.p.stored(t.as(), a), t.p.stored(t.as(), b)
	out := yes
	for k := range t.keep {
		out = and(out, same(x.at(k), y.at(k)))
	}
	return out
}

func (lw *lowering) atMostWaiting(p *ast.Promise, b ast.AtMostWaiting) {
	q := lw.queues[b.Queue]
	if q == nil {
		return
	}
	waits := func(v value) ir.Expr { return same(v.field("deliveries").at("/i"), num(0)) }
	if b.Per == nil {
		lw.property(p, ir.Always, nil, order(ir.Le, q.countWhere(waits), num(b.N)))
		return
	}
	few := func(v value) ir.Expr {
		return order(ir.Le, q.countWhere(func(o value) ir.Expr { return and(waits(o), equal(o.field(b.Per.Name), v.field(b.Per.Name))) }), num(b.N))
	}
	lw.property(p, ir.Always, nil, not(q.someWhere(func(v value) ir.Expr { return and(waits(v), not(few(v))) })))
}

// check is the escape hatch.
func (lw *lowering) check(p *ast.Promise, b ast.Check) {
	sc := scope{lw: lw}
	var each []ir.Param
	if b.Bound != nil {
		l := &ir.Local{Name: b.Operation.Name}
		each = append(each, ir.Param{Local: l, Over: ir.In(lw.opSet(b.Operation))})
		sc = sc.bindOp(b.Bound, use(l))
	}
	if b.Process != nil {
		l := &ir.Local{Name: b.Process.Name}
		each = append(each, ir.Param{Local: l, Over: ir.In(lw.instances(b.Process))})
		sc.instance = map[*ast.Process]ir.Expr{b.Process: use(l)}
	}
	switch b.Mode {
	case ast.Always:
		lw.property(p, ir.Always, each, sc.cond(b.Expr))
	case ast.Eventually:
		lw.property(p, ir.Eventually, each, sc.cond(b.Expr))
	case ast.Finally:
		lw.property(p, ir.Finally, each, sc.cond(b.Expr))
	case ast.LeadsTo:
		lw.property(p, ir.LeadsTo, each, sc.cond(b.To)).From = sc.cond(b.Expr)
	}
}
