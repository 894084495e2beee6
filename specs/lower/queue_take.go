package lower

import (
	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// messageTrigger is on: {message: Q}: take a message, hold it until the ack or
// the end of the run (R9, R10).
type messageTrigger struct {
	baseTrigger
	q     *queue
	held  *ir.Var // not held, held, held but given to somebody else by the queue
	tag   *ir.Var // of a tracked message in a pool
	keep  map[string]bool
	kept  []keptLeaf // fields of a message that the holder has taken with it
	batch *batch     // nil: one message per run
}

type keptLeaf struct {
	key string
	v   *ir.Var
}

const (
	notHeld = iota
	held
	lapsed // its visibility has ended: the queue has it again
)

func (lw *lowering) newMessageTrigger(b baseTrigger) *messageTrigger {
	q := lw.queues[b.tr.Queue]
	t := &messageTrigger{baseTrigger: b, q: q, keep: map[string]bool{}}
	q.holders = append(q.holders, t)
	p := b.p
	hi := held
	if q.expires {
		hi = lapsed
		p.stallable()
	}
	t.held = p.perInstance("holds "+q.name, ir.Type{Kind: ir.Range, Lo: 0, Hi: hi})
	switch {
	case q.pool == nil:
		t.keep[".op/o:"+q.q.StartsWith.Per.Name] = true
		if q.q.StartsWith.Count > 1 {
			t.keep[".id/m:"+q.name+".c"] = true
		}
	case q.tracked:
		t.tag = p.perInstance("tag of "+q.name, ir.Type{Kind: ir.Token, Optional: true})
	default:
		for _, c := range q.fields {
			for _, pt := range c.parts {
				t.keep["."+c.name+pt.key] = true
			}
		}
		if q.deliveries != nil {
			t.keep[".deliveries/i"] = true
		}
	}
	if b.tr.Batch > 1 {
		t.makeBatch()
	}
	return t
}

// uses: while the message may be held, its identity is needed to give it back.
func (t *messageTrigger) uses(n *node) {
	if !n.held {
		return
	}
	for _, s := range t.p.byVar[t.as()] {
		if t.keep[s.key] {
			n.uses[s.id], t.p.read[s.id] = true, true
		}
	}
}

func (t *messageTrigger) as() *ast.Var { return t.tr.As }

// The id of the one message of an operation is the operation's own symbol.
func (t *messageTrigger) derived(stored value) []leaf {
	out := []leaf{here(yes), {".last/b", ir.Type{Kind: ir.Bool}, yes}}
	if l, ok := stored.find(".op" + t.opKey()); ok && t.oneID() {
		out = append(out, leaf{".id" + t.opKey(), l.typ, l.e})
	}
	if t.q.pool == nil && t.q.q.StartsWith.Count > 1 {
		if l, ok := stored.find(".op" + t.opKey()); ok {
			out = append(out, leaf{".id/m:" + t.q.name + ".o", l.typ, l.e})
		}
	}
	return out
}

func (t *messageTrigger) alias(key string) string {
	switch {
	case key == ".id"+t.opKey() && t.oneID(), t.q.pool == nil && key == ".id/m:"+t.q.name+".o":
		return ".op" + t.opKey()
	}
	return key
}

func (t *messageTrigger) oneID() bool { return t.q.pool == nil && t.q.q.StartsWith.Count == 1 }

func (t *messageTrigger) opKey() string {
	if t.q.q.StartsWith == nil {
		return "/o:?"
	}
	return "/o:" + t.q.q.StartsWith.Per.Name
}

func (t *messageTrigger) start() {
	q := t.q
	ls := q.locals()
	m := q.places(ls)
	guard := and(q.waiting(m), q.mayTake(m))
	t.run(&begin{
		kind: ir.Delivery, params: q.params(ls), guard: guard,
		text: []any{"receives a message of " + q.name + " ", messageText{q, m}}, of: &about{queue: q, message: m},
		bind: func(em *emitter) []ir.Stmt { return t.take(em, m, yes) },
	})
	t.starts()
}

// take makes m the message of the run; last says that no other one of its batch
// follows.
func (t *messageTrigger) take(em *emitter, m message, last ir.Expr) []ir.Stmt {
	q := t.q
	v := q.value(m)
	out := t.counts(m)
	if q.deliveries != nil {
		l := &ir.Local{Name: "deliveries"}
		out = append([]ir.Stmt{ir.Let{Local: l, Value: q.oneMore(m)}}, out...)
		v = v.with(leaf{".deliveries/i", q.deliveries.Type, use(l)})
	}
	v = t.seen(v, last)
	em.bind(t.as(), em.p.onlyRead(t.as(), v), &out)
	out = append(out, q.lw.monitors.received(em, q, v)...)
	if t.tag != nil {
		out = append(out, set(t.tag, load(q.tag, m...), em.me))
	}
	if q.avail != nil {
		out = append(out, q.take(m))
	} else {
		out = append(out, ir.Drop{Pool: q.pool, Slot: m[0]})
	}
	return append(out, set(t.held, num(held), em.me))
}

// oneMore is the number of deliveries after this one.
func (q *queue) oneMore(m message) ir.Expr {
	c := load(q.deliveries, m...)
	return pick(order(ir.Lt, c, num(q.maxCount)), sum(ir.Add, c, num(1)), c)
}

// counts the delivery where max_deliveries or a possibility asks.
func (t *messageTrigger) counts(m message) []ir.Stmt {
	q := t.q
	if q.deliveries == nil {
		return nil
	}
	l := &ir.Local{Name: "counted"}
	out := []ir.Stmt{ir.Let{Local: l, Value: q.oneMore(m)}}
	if q.avail != nil {
		out = append(out, set(q.deliveries, use(l), m...))
	}
	return append(out, q.lw.monitors.delivered(q.r, use(l))...)
}

// seen is a message as its run sees it: it knows which is the last of a batch.
func (t *messageTrigger) seen(v value, last ir.Expr) value {
	return t.p.lw.lastKnown(t.tr.Queue, v, last)
}

// lastKnown adds m.last where somebody reads it.
func (lw *lowering) lastKnown(r *ast.Resource, v value, last ir.Expr) value {
	if !lw.mentions(r, "last") {
		return v
	}
	return v.with(leaf{lastKey, ir.Type{Kind: ir.Bool}, last})
}

// lastKey is the leaf of m.last.
const lastKey = ".last/b"

// mayTake keeps the order of an ordered queue: a message waits while an earlier
// one with the same field is stored or held, unless it is taken with it.
func (q *queue) mayTake(m message, together ...message) ir.Expr {
	if q.rank == nil {
		return yes
	}
	return not(q.some(func(o message) ir.Expr {
		before := order(ir.Lt, load(q.rank, o...), load(q.rank, m...))
		live := yes
		if q.acked != nil {
			live = not(load(q.acked, o...))
		}
		for _, t := range together {
			live = and(live, not(o.is(t)))
		}
		if by := q.q.OrderBy; by != nil {
			live = and(live, equal(q.value(o).field(by.Name), q.value(m).field(by.Name)))
		}
		return and(before, live)
	}))
}

// locate finds the stored message that v (of an instance) is: cond and body run
// at its place.
func (t *messageTrigger) at(em *emitter, v value, body func(m message) []ir.Stmt) []ir.Stmt {
	q := t.q
	if q.pool == nil {
		m := message{v.at(".op/o:" + q.q.StartsWith.Per.Name)}
		if q.q.StartsWith.Count > 1 {
			m = append(m, v.at(".id/m:"+q.name+".c"))
		}
		return body(m)
	}
	return q.each(func(m message) []ir.Stmt {
		return when(same(load(q.tag, m...), load(t.tag, em.me)), body(m), nil)
	})
}

// giveBack is the free redelivery: a run that still holds its message and ends
// makes it available at once, unless somebody has acked it meanwhile.
func (t *messageTrigger) giveBack(em *emitter, v value) []ir.Stmt {
	q := t.q
	h := load(t.held, em.me)
	if q.avail == nil {
		return when(same(h, num(held)), q.returned(em, v), nil)
	}
	body := t.at(em, v, func(m message) []ir.Stmt {
		give := q.toDeadLetter(em, m, q.back(m))
		if q.acked == nil {
			return give
		}
		return when(not(load(q.acked, m...)), give, nil)
	})
	return when(same(h, num(held)), body, nil)
}

// returned puts the record back that the holder had taken with it.
func (q *queue) returned(em *emitter, v value) []ir.Stmt {
	fields := map[string]value{}
	for _, c := range q.fields {
		fields[c.name] = v.field(c.name)
	}
	if q.deliveries != nil {
		fields["deliveries"] = v.field("deliveries")
	}
	put := q.store(em, fields)
	if q.q.MaxDeliveries == 0 {
		return put
	}
	over := order(ir.Le, num(q.q.MaxDeliveries), v.at(".deliveries/i"))
	return when(over, q.bury(em, fields), put)
}

// bury moves a message to the dead letter queue, or drops it.
func (q *queue) bury(em *emitter, fields map[string]value) []ir.Stmt {
	if q.q.DeadLetter == nil {
		return nil
	}
	d := q.lw.queues[q.q.DeadLetter]
	moved := map[string]value{}
	for k, v := range fields {
		if k != "deliveries" {
			moved[k] = v
		}
	}
	return append(d.store(em, moved), q.lw.monitors.sent(em, d, moved)...)
}

// toDeadLetter gives back a tracked message, or buries it.
func (q *queue) toDeadLetter(em *emitter, m message, give []ir.Stmt) []ir.Stmt {
	if q.q.MaxDeliveries == 0 {
		return give
	}
	over := order(ir.Le, num(q.q.MaxDeliveries), load(q.deliveries, m...))
	gone := append(q.bury(em, q.fieldValues(m)), q.leaves(m)...)
	return when(over, gone, give)
}

// leaves takes a message out of the queue that was not acked. Its record stays
// while a batch holds it: the run still has it.
func (q *queue) leaves(m message) []ir.Stmt {
	switch {
	case q.pool == nil:
		return []ir.Stmt{set(q.acked, yes, m...)}
	case q.moved == nil:
		return []ir.Stmt{ir.Drop{Pool: q.pool, Slot: m[0]}}
	}
	return []ir.Stmt{set(q.acked, yes, m...), set(q.avail, no, m...), set(q.moved, yes, m...)}
}

// ack removes the message and its waiting copies; a later ack is a no-op (R12).
func (t *messageTrigger) ack(em *emitter) []ir.Stmt {
	q := t.q
	v := em.env[t.as()]
	var out []ir.Stmt
	out = append(out, q.lw.monitors.acked(em, q, v, load(t.held, em.me))...)
	if q.avail != nil {
		body := t.at(em, v, func(m message) []ir.Stmt { return q.finished(m) })
		out = append(out, when(differ(load(t.held, em.me), num(notHeld)), body, nil)...)
	}
	return append(out, t.forget(em)...)
}

// finished: an acked message is gone, but for what a redelivery although acked
// needs (R11).
func (q *queue) finished(m message) []ir.Stmt {
	if q.acked == nil {
		return []ir.Stmt{ir.Drop{Pool: q.pool, Slot: m[0]}}
	}
	return []ir.Stmt{set(q.acked, yes, m...), set(q.avail, num(0), m...)}
}

// forget: the run no longer holds it.
func (t *messageTrigger) forget(em *emitter) []ir.Stmt {
	out := []ir.Stmt{set(t.held, num(notHeld), em.me)}
	if t.tag != nil {
		out = append(out, set(t.tag, none, em.me))
	}
	return append(out, t.q.sweep()...)
}

// sweep drops acked messages that nothing can bring back any more.
func (q *queue) sweep() []ir.Stmt {
	if q.pool == nil || q.acked == nil {
		return nil
	}
	left := no
	for _, f := range q.lw.faultsOn(ast.FaultRedelivery, q.r) {
		left = or(left, order(ir.Lt, num(0), load(f.left)))
	}
	if q.moved != nil {
		return q.each(func(m message) []ir.Stmt {
			over := and(load(q.acked, m...), or(not(left), load(q.moved, m...)), not(load(q.avail, m...)), not(q.heldBySome(m)))
			return when(over, []ir.Stmt{ir.Drop{Pool: q.pool, Slot: m[0]}}, nil)
		})
	}
	return when(not(left), q.each(func(m message) []ir.Stmt {
		return when(and(load(q.acked, m...), not(load(q.avail, m...)), not(q.heldBySome(m))), []ir.Stmt{ir.Drop{Pool: q.pool, Slot: m[0]}}, nil)
	}), nil)
}

// heldBySome is true while a run holds the message.
func (q *queue) heldBySome(m message) ir.Expr {
	out := no
	for _, t := range q.holders {
		w := &ir.Local{Name: "w"}
		holds := and(differ(load(t.held, use(w)), num(notHeld)), t.isMessage(use(w), m))
		if t.batch != nil {
			holds = or(holds, t.batch.has(m, use(w)))
		}
		out = or(out, exists(w, ir.In(t.p.set), holds))
	}
	return out
}

// isMessage is true if the instance's message is m.
func (t *messageTrigger) isMessage(w ir.Expr, m message) ir.Expr {
	if t.q.pool != nil {
		if t.tag == nil {
			return no
		}
		return same(load(t.tag, w), load(t.q.tag, m...))
	}
	v := t.p.stored(t.as(), w)
	out := same(v.at(".op/o:"+t.q.q.StartsWith.Per.Name), m[0])
	if len(m) > 1 {
		out = and(out, same(v.at(".id/m:"+t.q.name+".c"), m[1]))
	}
	return out
}

// stale is true if the message was acked by somebody else.
func (t *messageTrigger) stale(em *emitter) ir.Expr {
	q := t.q
	if q.avail == nil {
		return no
	}
	if q.pool == nil {
		m := message{em.env[t.as()].at(".op/o:" + q.q.StartsWith.Per.Name)}
		if q.q.StartsWith.Count > 1 {
			m = append(m, em.env[t.as()].at(".id/m:"+q.name+".c"))
		}
		return load(q.acked, m...)
	}
	mine := func(m message) ir.Expr { return same(load(q.tag, m...), load(t.tag, em.me)) }
	if q.acked == nil {
		return not(q.some(mine))
	}
	return q.some(func(m message) ir.Expr { return and(mine(m), load(q.acked, m...)) })
}

func (t *messageTrigger) ended(em *emitter) []ir.Stmt {
	return t.letGo(em, em.env[t.as()])
}

// letGo gives back all that the run still holds; v is its current message.
func (t *messageTrigger) letGo(em *emitter, v value) []ir.Stmt {
	out := append(t.giveBack(em, v), t.giveBackBatch(em)...)
	return append(out, t.q.sweepLater(t, em)...)
}

func (t *messageTrigger) stopped(em *emitter) []ir.Stmt { return t.ended(em) }

func (t *messageTrigger) crashed(em *emitter) []ir.Stmt {
	return t.letGo(em, t.p.stored(t.as(), em.me))
}

// sweepLater drops the record once this holder has let go.
func (q *queue) sweepLater(t *messageTrigger, em *emitter) []ir.Stmt {
	if q.pool == nil || q.acked == nil {
		return nil
	}
	return t.forget(em)
}

func (t *messageTrigger) operation(em *emitter) value { return em.env[t.as()].field("op") }

// redeliveries adds the fault: a held or acked message becomes available (R11),
// and the visibility that ends while its holder works (R10, R15, D).
func (q *queue) environment() {
	lw := q.lw
	for _, f := range lw.faultsOn(ast.FaultRedelivery, q.r) {
		if q.avail == nil {
			continue
		}
		ls := q.locals()
		m := q.places(ls)
		can := q.heldBySome(m)
		if q.acked != nil {
			can = and(or(load(q.acked, m...), can))
		}
		if q.moved != nil {
			can = and(can, not(load(q.moved, m...)))
		}
		guard := and(not(q.waiting(m)), can)
		if q.avail.Type.Kind != ir.Bool {
			guard = and(order(ir.Lt, load(q.avail, m...), num(q.copies)), can)
		}
		body := append(q.back(m), q.sweep()...)
		lw.event(&event{
			kind: ir.Fault, name: "redelivery", fault: f, params: q.params(ls), guard: guard, body: body,
			text: []any{q.name + " delivers again ", messageText{q, m}}, what: Redelivery, of: &about{queue: q, message: m},
		})
	}
	if !q.expires {
		return
	}
	for _, t := range q.holders {
		t.lapses()
		t.lapse()
	}
}

// lapses: the visibility of a held message ends.
func (t *messageTrigger) lapses() {
	p, q := t.p, t.q
	w := &ir.Local{Name: p.ast.Name}
	em := &emitter{lw: q.lw, p: p, self: w, me: use(w), env: nil}
	tm := &holding{p: p, me: use(w), slow: q.q.Visibility != nil && !q.q.Renewed}
	body := func() []ir.Stmt {
		out := t.at(em, p.stored(t.as(), use(w)), func(m message) []ir.Stmt {
			give := q.toDeadLetter(em, m, q.back(m))
			if q.acked == nil {
				return give
			}
			return when(not(load(q.acked, m...)), give, nil)
		})
		out = append(out, set(t.held, num(lapsed), use(w)))
		if q.moved != nil {
			out = append(out, q.sweep()...)
		}
		return out
	}
	q.lw.expiry(&expiring{
		duration: q.q.Visibility, resource: q.r,
		name: "visibility of " + q.name + " ends", live: tm,
		params: []ir.Param{{Local: w, Over: ir.In(p.set)}},
		guard:  same(load(t.held, use(w)), num(held)), body: body,
		text: []any{q.name + " makes the message of ", workerText{p, use(w)}, " available again"},
		what: VisibilityEnds, of: &about{resource: q.r, fields: map[string]value{"op": p.shown(t.as(), use(w)).field("op"), "id": p.shown(t.as(), use(w)).field("id")}, process: p, me: use(w), duration: q.q.Visibility},
	})
}
