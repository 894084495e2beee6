package lower

import (
	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// The operator's replay of a dead letter queue (the fault operator_replay): a
// message moves back to the queue named by `replay: {to: Q, within: D}`. Every
// delivery of a message happens within D of the moment at which it was first
// stored: the window is not over while a message waits or is held in Q. That is
// the horizon which a retention must outlive.

// replayWindow is the timer of one kind of operation.
type replayWindow struct {
	o     *ast.Operation
	state *ir.Var // not started, running, over
	class *timerClass
}

const (
	windowNone = iota
	windowOpen
	windowOver
)

// makeReplay gives a dead letter queue its windows.
func (q *queue) makeReplay() {
	d := q.q.ReplayWithin
	if q.q.ReplayTo == nil || d == nil || d.None || len(q.lw.faultsOn(ast.FaultOperatorReplay, q.r)) == 0 {
		return
	}
	f := q.q.Field("op")
	if f == nil || f.Type == nil {
		return
	}
	for _, a := range f.Type.Alts {
		if a.Kind != ast.KindOperation {
			continue
		}
		w := &replayWindow{o: a.Operation}
		w.state = q.lw.variable(&ir.Var{Name: q.name + " replay window of " + a.Operation.Name, Index: ir.Several(q.lw.opSet(a.Operation)),
			Type: ir.Type{Kind: ir.Range, Lo: 0, Hi: windowOver}})
		w.class = q.lw.timerClass(q.name+" replay window", d, ir.In(q.lw.opSet(a.Operation)), func(i ir.Expr) ir.Expr { return same(load(w.state, i), num(windowOpen)) })
		q.windows = append(q.windows, w)
	}
}

// opensWindows starts the windows when a first message of an operation is stored.
func (lw *lowering) opensWindows(op value) []ir.Stmt {
	var out []ir.Stmt
	for _, r := range lw.spec.Resources {
		q := lw.queues[r]
		if q == nil {
			continue
		}
		for _, w := range q.windows {
			l, ok := op.find("/o:" + w.o.Name)
			if !ok {
				continue
			}
			body := append([]ir.Stmt{set(w.state, num(windowOpen), l.e)}, w.class.started(lw, l.e)...)
			out = append(out, when(same(load(w.state, l.e), num(windowNone)), body, nil)...)
		}
	}
	return out
}

// inWindow is true while the message may still be replayed.
func (q *queue) inWindow(op value) ir.Expr {
	if len(q.windows) == 0 {
		return yes
	}
	out := no
	for _, w := range q.windows {
		if l, ok := op.find("/o:" + w.o.Name); ok {
			out = or(out, same(load(w.state, l.e), num(windowOpen)))
		}
	}
	return out
}

// replays adds the fault and the end of the windows.
func (q *queue) replays() {
	if q.q.ReplayTo == nil {
		return
	}
	to := q.lw.queues[q.q.ReplayTo]
	for _, f := range q.lw.faultsOn(ast.FaultOperatorReplay, q.r) {
		ls := q.locals()
		m := q.places(ls)
		fields := q.fieldValues(m)
		delete(fields, "deliveries")
		body := to.store(nil, fields)
		body = append(append(body, q.leaves(m)...), q.sweep()...)
		q.lw.event(&event{kind: ir.Fault, name: "operator_replay", what: OperatorReplay, of: &about{queue: q, message: m, to: to.r}, fault: f, params: q.params(ls),
			guard: and(q.waiting(m), q.inWindow(q.operation(m))), body: body,
			text: []any{"an operator replays ", messageText{q, m}, " from " + q.name + " to " + to.name}})
	}
	for _, w := range q.windows {
		l := &ir.Local{Name: w.o.Name}
		body := append([]ir.Stmt{set(w.state, num(windowOver), use(l))}, w.class.stopped(q.lw, use(l))...)
		q.lw.event(&event{kind: ir.Expiry, name: "replay window", what: ReplayWindow, of: &about{resource: q.r, operation: w.o, op: use(l), duration: q.q.ReplayWithin}, params: []ir.Param{{Local: l, Over: ir.In(q.lw.opSet(w.o))}},
			guard: and(same(load(w.state, use(l)), num(windowOpen)), w.class.mayFire(q.lw, use(l)), same(q.lw.messagesOf(to.r, w.o, use(l)), num(0))), body: body,
			text: []any{"the replay window of ", opText{w.o, use(l)}, " is over"}})
	}
}
