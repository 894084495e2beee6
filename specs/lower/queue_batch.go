package lower

import (
	"fmt"

	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// Batches of a queue. A run takes up to batch: messages in one step: how many,
// which, and in what order it goes through them is the queue's choice (an
// ordered queue hands them over in its order). The steps run once for each. All
// of them are held from that step on, each until its own ack or nack; what is
// left when the run ends, stops or crashes is available again at once. So is a
// message whose steps came to their end without an ack: the queue knows only
// that the run still holds it. Visibility runs for each message on its own.

// batch is what a run keeps of the messages it holds beside the current one.
type batch struct {
	size int // messages that one run can take
	// place says, per message and instance: noPlace, donePlace (its steps are
	// done, it is not acked), or its turn in the batch, from 2.
	place *ir.Var
	// past: its visibility has ended; nil where that cannot happen.
	past *ir.Var
	// turn of the current message, from 1.
	turn *ir.Var
}

const (
	noPlace = iota
	donePlace
	secondPlace
)

// maxTakes bounds the ways to take a batch: each is an action of its own.
const maxTakes = 2000

// batched says whether some process takes batches from the queue.
func (lw *lowering) batched(r *ast.Resource) bool {
	for _, p := range lw.spec.Processes {
		if p.Trigger.Kind == ast.OnMessage && p.Trigger.Queue == r && p.Trigger.Batch > 1 {
			return true
		}
	}
	return false
}

func (t *messageTrigger) makeBatch() {
	q := t.q
	messages := 1
	for _, ix := range q.over {
		if ix.Pool != nil {
			messages *= ix.Pool.Cap
		} else {
			messages *= ix.Set.Size
		}
	}
	b := &batch{size: min(t.tr.Batch, messages)}
	if b.size < 2 {
		return
	}
	takes, ways := 0, 1
	for k := 0; k < b.size; k++ {
		ways *= messages - k
		takes += ways
	}
	if takes > maxTakes {
		t.p.lw.problem(t.tr.Pos, "batch: up to %d of %d messages of %s can be taken in %d ways, more than %d: use fewer operations or a smaller batch", b.size, messages, q.name, takes, maxTakes)
		return
	}
	over := append(append([]ir.Index{}, q.over...), ir.In(t.p.set))
	name := "batch of " + t.p.ast.Name
	b.place = t.p.lw.variable(&ir.Var{Name: q.name + " " + name, Index: over, Type: ir.Type{Kind: ir.Range, Lo: noPlace, Hi: b.size}})
	if q.expires {
		b.past = t.p.lw.variable(&ir.Var{Name: q.name + " past in " + name, Index: over, Type: ir.Type{Kind: ir.Bool}})
	}
	b.turn = t.p.perInstance("turn in "+q.name, ir.Type{Kind: ir.Range, Lo: 0, Hi: b.size})
	t.batch = b
}

// with is the place of a message in the batch of an instance.
func (m message) with(me ir.Expr) []ir.Expr { return append(m[:len(m):len(m)], me) }

func (b *batch) has(m message, me ir.Expr) ir.Expr {
	return differ(load(b.place, m.with(me)...), num(noPlace))
}

// pastAt is true if the queue has given the message to others meanwhile.
func (b *batch) pastAt(m message, me ir.Expr) ir.Expr {
	if b.past == nil {
		return no
	}
	return load(b.past, m.with(me)...)
}

func (b *batch) put(m message, me, place ir.Expr, past ir.Expr) []ir.Stmt {
	out := []ir.Stmt{set(b.place, place, m.with(me)...)}
	if b.past != nil {
		out = append(out, set(b.past, past, m.with(me)...))
	}
	return out
}

// starts adds the ways to take two messages or more.
func (t *messageTrigger) starts() {
	if t.batch == nil {
		return
	}
	for k := 2; k <= t.batch.size; k++ {
		t.startBatch(k)
	}
}

func (t *messageTrigger) startBatch(k int) {
	q := t.q
	var params []ir.Param
	var taken []message
	guard := yes
	text := []any{fmt.Sprintf("receives %d messages of %s ", k, q.name)}
	for j := 0; j < k; j++ {
		ls := q.locals()
		m := q.places(ls)
		guard = and(guard, q.waiting(m), q.mayTake(m, taken...))
		for _, o := range taken {
			guard = and(guard, not(m.is(o)))
		}
		if j > 0 {
			text = append(text, ", ")
		}
		text = append(text, messageText{q, m})
		params, taken = append(params, q.params(ls)...), append(taken, m)
	}
	t.run(&begin{
		kind: ir.Delivery, params: params, guard: guard, text: text, k: k - 1, of: &about{queue: q, message: taken[0], rest: taken[1:]},
		bind: func(em *emitter) []ir.Stmt {
			out := t.take(em, taken[0], no)
			for j, m := range taken[1:] {
				out = append(out, t.counts(m)...)
				out = append(out, q.lw.monitors.received(em, q, q.value(m))...)
				out = append(out, q.take(m))
				out = append(out, t.batch.put(m, em.me, num(secondPlace+j), no)...)
			}
			return append(out, set(t.batch.turn, num(1), em.me))
		},
	})
}

// is compares two messages of one queue.
func (m message) is(o message) ir.Expr {
	out := yes
	for d := range m {
		out = and(out, same(m[d], o[d]))
	}
	return out
}

// nextTurn is true if a message of the batch has not had its turn.
func (t *messageTrigger) nextTurn(me ir.Expr) ir.Expr {
	b := t.batch
	return t.q.some(func(m message) ir.Expr { return b.isNext(m, me) })
}

func (b *batch) isNext(m message, me ir.Expr) ir.Expr {
	turn := load(b.turn, me)
	return and(order(ir.Lt, num(0), turn), same(load(b.place, m.with(me)...), sum(ir.Add, turn, num(1))))
}

// nextMessage starts the steps anew with the next message of the batch. The
// current one, if it is still held, stays with the run.
func (t *messageTrigger) nextMessage(em *emitter) []ir.Stmt {
	q, b := t.q, t.batch
	h := load(t.held, em.me)
	keep := t.at(em, em.env[t.as()], func(m message) []ir.Stmt { return b.put(m, em.me, num(donePlace), same(h, num(lapsed))) })
	out := when(differ(h, num(notHeld)), keep, nil)
	more := em.arm()
	more.env = map[*ast.Var]value{}
	more.depth++
	more.turns++
	out = append(out, q.each(func(m message) []ir.Stmt {
		var now []ir.Stmt
		turn := &ir.Local{Name: "turn"}
		now = append(now, ir.Let{Local: turn, Value: sum(ir.Add, load(b.turn, em.me), num(1))})
		after := q.some(func(o message) ir.Expr {
			return order(ir.Lt, use(turn), load(b.place, o.with(em.me)...))
		})
		more.bind(t.as(), em.p.onlyRead(t.as(), t.seen(q.value(m), not(after))), &now)
		past := num(held)
		if b.past != nil {
			past = pick(load(b.past, m.with(em.me)...), num(lapsed), num(held))
		}
		now = append(now, set(b.turn, use(turn), em.me), set(t.held, past, em.me))
		now = append(now, b.put(m, em.me, num(noPlace), no)...)
		if t.tag != nil {
			now = append(now, set(t.tag, load(q.tag, m...), em.me))
		}
		now = append(now, more.control(em.p.first)...)
		return when(b.isNext(m, em.me), now, nil)
	})...)
	em.join(more)
	return out
}

// giveBackBatch makes available what the run still holds beside its current
// message, unless somebody has acked it or has it already.
func (t *messageTrigger) giveBackBatch(em *emitter) []ir.Stmt {
	q, b := t.q, t.batch
	if b == nil {
		return nil
	}
	return q.each(func(m message) []ir.Stmt {
		back := when(and(not(b.pastAt(m, em.me)), not(load(q.acked, m...))), q.toDeadLetter(em, m, q.back(m)), nil)
		return when(b.has(m, em.me), append(back, b.put(m, em.me, num(noPlace), no)...), nil)
	})
}

// lapse: the visibility of a message ends that is not the current one.
func (t *messageTrigger) lapse() {
	q, b := t.q, t.batch
	if b == nil || b.past == nil {
		return
	}
	w := &ir.Local{Name: t.p.ast.Name}
	me := use(w)
	ls := q.locals()
	m := q.places(ls)
	em := &emitter{lw: q.lw, p: t.p, self: w, me: me}
	q.lw.expiry(&expiring{
		duration: q.q.Visibility, resource: q.r, name: "visibility of " + q.name + " ends in a batch",
		live:   &holding{p: t.p, me: me, slow: q.q.Visibility != nil && !q.q.Renewed},
		params: append([]ir.Param{{Local: w, Over: ir.In(t.p.set)}}, q.params(ls)...),
		guard:  and(b.has(m, me), not(b.pastAt(m, me))),
		body: func() []ir.Stmt {
			give := when(not(load(q.acked, m...)), q.toDeadLetter(em, m, q.back(m)), nil)
			return append(append(give, set(b.past, yes, m.with(me)...)), q.sweep()...)
		},
		text: []any{q.name + " makes ", messageText{q, m}, " of the batch of ", workerText{t.p, me}, " available again"},
		what: VisibilityEnds, of: &about{queue: q, message: m, process: t.p, me: me, duration: q.q.Visibility},
	})
}
