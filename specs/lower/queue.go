package lower

import (
	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// queue stores the messages of a queue.
//
// A queue that only starts with messages and is never sent to is an array over
// their operations (and, for several per operation, over their numbers). Any
// other is a pool of messages. Where a message can come back while somebody
// holds it (redelivery, a stall, a slow step) its record stays while it is held
// and the holder knows it by a tag; otherwise the holder takes the record with
// it and puts it back.
type queue struct {
	lw   *lowering
	name string
	r    *ast.Resource
	q    *ast.Queue

	over    []ir.Index // an array's, or the pool's
	pool    *ir.Pool
	tracked bool
	expires bool // visibility can end while the holder works
	copies  int

	used   *ir.Var
	avail  *ir.Var // waiting copies
	acked  *ir.Var // acked at least once; nil if nobody asks
	moved  *ir.Var // left the queue without an ack while a batch has it; nil: not a pool with batches
	tag    *ir.Var
	fields []*column

	rank       *ir.Var // place in the order of the queue
	deliveries *ir.Var // counted for max_deliveries or a promise
	maxCount   int

	holders []*messageTrigger

	// monitors
	dedupIDs *table
	windows  []*replayWindow
}

func (lw *lowering) makeQueue(r *ast.Resource) {
	q := &queue{lw: lw, name: r.Name, r: r, q: r.Queue, copies: 1}
	lw.queues[r] = q
	redelivery := len(lw.faultsOn(ast.FaultRedelivery, r)) > 0
	q.expires = (lw.hasFault(ast.FaultStall) || q.anySlow()) && r.Queue.Delivery != "at_most_once" && !lw.outlives(ast.AssumeVisibility, r, nil)
	q.tracked = redelivery || q.expires || lw.batched(r) || r.Queue.Ordered || r.Queue.OrderBy != nil
	if sw := r.Queue.StartsWith; sw != nil {
		q.copies = max(sw.Copies, 1)
	}
	if q.isArray() {
		q.makeArray()
	} else {
		q.makePool()
	}
	q.makeFields()
	q.countDeliveries()
	q.makeDedup()
	q.makeReplay()
}

// sentTo says whether messages are added after the start.
func (q *queue) sentTo() bool {
	for _, s := range q.lw.allSteps() {
		if s.Verb == ast.VerbSend && s.Resource == q.r {
			return true
		}
	}
	for _, r := range q.lw.spec.Resources {
		if r.Queue != nil && (r.Queue.DeadLetter == q.r || r.Queue.ReplayTo == q.r) {
			return true
		}
	}
	for _, in := range q.lw.spec.Initially {
		if in.Resource == q.r {
			return true
		}
	}
	return false
}

func (q *queue) isArray() bool {
	return q.q.StartsWith != nil && !q.sentTo() && !q.q.Ordered && q.q.OrderBy == nil && q.q.DeadLetter == nil && q.q.ReplayTo == nil
}

func (q *queue) anySlow() bool {
	for _, s := range q.lw.allSteps() {
		if s.Slow && !q.q.Renewed && s.Process.Trigger.Queue == q.r && q.q.Visibility != nil {
			return true
		}
	}
	return false
}

func (q *queue) variable(name string, t ir.Type) *ir.Var {
	return q.lw.variable(&ir.Var{Name: q.name + " " + name, Index: q.over, Type: t, Initial: cleared(t)})
}

// makeArray: the messages are those it starts with.
func (q *queue) makeArray() {
	sw := q.q.StartsWith
	q.over = ir.Several(q.lw.opSet(sw.Per))
	if sw.Count > 1 {
		q.over = append(q.over, ir.In(q.lw.copySet(q.r)))
	}
	q.tracked = true
	if q.copies > 1 {
		q.avail = q.variable("waiting", ir.Type{Kind: ir.Range, Lo: 0, Hi: q.copies})
	} else {
		q.avail = q.variable("waiting", ir.Type{Kind: ir.Bool})
	}
	q.avail.Initial = q.copies
	q.acked = q.variable("acked", ir.Type{Kind: ir.Bool})
}

func (q *queue) makePool() {
	n := 0
	for _, s := range q.lw.allSteps() {
		if s.Verb == ast.VerbSend && s.Resource == q.r {
			n += q.lw.cellsCount(s.Row)
		}
	}
	if sw := q.q.StartsWith; sw != nil {
		n += sw.Count * sw.Per.Count
	}
	for _, r := range q.lw.spec.Resources {
		if r.Queue == nil || r.Queue.DeadLetter != q.r && r.Queue.ReplayTo != q.r {
			continue
		}
		n++
	}
	for _, in := range q.lw.spec.Initially {
		if in.Resource == q.r {
			n++
		}
	}
	q.pool = &ir.Pool{Name: q.name, Cap: q.lw.capacity(q.name, n)}
	q.over = []ir.Index{ir.Slots(q.pool)}
	q.used = q.variable("message", ir.Type{Kind: ir.Bool})
	q.pool.Used = q.used
	q.lw.program.Pools = append(q.lw.program.Pools, q.pool)
	if !q.tracked {
		return
	}
	q.avail = q.variable("waiting", ir.Type{Kind: ir.Bool})
	if len(q.lw.faultsOn(ast.FaultRedelivery, q.r)) > 0 || q.lw.batched(q.r) {
		q.acked = q.variable("acked", ir.Type{Kind: ir.Bool})
	}
	if q.lw.batched(q.r) {
		q.moved = q.variable("moved away", ir.Type{Kind: ir.Bool})
	}
}

// makeFields stores what a message carries, as far as somebody reads it.
func (q *queue) makeFields() {
	if q.pool == nil {
		return
	}
	for _, f := range q.q.Fields {
		var parts []part
		for _, pt := range q.lw.shape(f.Type) {
			if q.lw.messageReads(q.r, "."+f.Name+pt.key, 0) || f.Name == "id" && q.q.DedupBy != nil || q.q.OrderBy != nil && f.Name == q.q.OrderBy.Name || q.counted(f.Name) {
				parts = append(parts, pt)
			}
		}
		if len(parts) == 0 {
			continue
		}
		c := &column{name: f.Name, parts: parts}
		for _, pt := range parts {
			c.vars = append(c.vars, q.variable(f.Name+pt.key, optionalRef(pt.typ)))
		}
		q.fields = append(q.fields, c)
	}
	if q.tracked {
		q.tag = q.variable("tag", ir.Type{Kind: ir.Token, Optional: true})
	}
	if q.q.Ordered || q.q.OrderBy != nil {
		q.rank = q.variable("place", ir.Type{Kind: ir.Rank, Sort: q.name, Optional: true})
	}
}

// messageReads says whether a part of a message is read by a consumer of the
// queue, or of a queue that its messages can move to.
func (lw *lowering) messageReads(r *ast.Resource, key string, depth int) bool {
	if r == nil || depth > 3 {
		return false
	}
	return lw.entryReads(r, key) || lw.messageReads(r.Queue.DeadLetter, key, depth+1) || lw.messageReads(r.Queue.ReplayTo, key, depth+1)
}

// counted says whether a promise counts messages by their operation.
func (q *queue) counted(field string) bool {
	if field != "op" {
		return false
	}
	for _, p := range q.lw.spec.Promises {
		switch b := p.Body.(type) {
		case ast.AckedAfter:
			if b.Queue == q.r {
				return true
			}
		case ast.NoMessageWithoutRow:
			if b.Queue == q.r {
				return true
			}
		}
	}
	return len(q.lw.faultsOn(ast.FaultOperatorReplay, q.r)) > 0
}

// countDeliveries counts them where max_deliveries or a possibility asks.
func (q *queue) countDeliveries() {
	q.maxCount = q.lw.deliveriesCounted(q.r)
	if q.maxCount > 0 {
		q.deliveries = q.variable("deliveries", ir.Type{Kind: ir.Range, Lo: 0, Hi: q.maxCount})
	}
}

// deliveriesCounted is how far the deliveries of a message are counted, 0: not.
func (lw *lowering) deliveriesCounted(r *ast.Resource) int {
	n := r.Queue.MaxDeliveries
	for _, p := range lw.spec.MustBePossible {
		if d, ok := p.Body.(ast.DeliveredTimes); ok && d.Queue == r {
			n = max(n, d.N)
		}
	}
	for _, p := range lw.spec.Promises {
		if w, ok := p.Body.(ast.AtMostWaiting); ok && w.Queue == r {
			n = max(n, 1)
		}
	}
	return n
}

// message is a place of the queue: index expressions.
type message []ir.Expr

// some is true if cond holds for some message.
func (q *queue) some(cond func(m message) ir.Expr) ir.Expr {
	ls := q.locals()
	e := cond(q.places(ls))
	for i := len(ls) - 1; i >= 0; i-- {
		e = exists(ls[i], q.over[i], e)
	}
	return e
}

func (q *queue) locals() []*ir.Local {
	ls := make([]*ir.Local, len(q.over))
	for i := range q.over {
		ls[i] = &ir.Local{Name: q.name + " message"}
	}
	return ls
}

func (q *queue) places(ls []*ir.Local) message {
	m := make(message, len(ls))
	for i, l := range ls {
		m[i] = use(l)
	}
	return m
}

func (q *queue) params(ls []*ir.Local) []ir.Param {
	var ps []ir.Param
	for i, l := range ls {
		ps = append(ps, ir.Param{Local: l, Over: q.over[i]})
	}
	return ps
}

func (q *queue) each(body func(m message) []ir.Stmt) []ir.Stmt {
	ls := q.locals()
	b := body(q.places(ls))
	for i := len(ls) - 1; i >= 0; i-- {
		if len(b) == 0 {
			return nil
		}
		b = []ir.Stmt{ir.ForEach{Local: ls[i], Over: q.over[i], Body: b}}
	}
	return b
}

// value is what a receiver sees of a message.
func (q *queue) value(m message) value {
	ls := []leaf{here(yes)}
	if q.pool == nil {
		sw := q.q.StartsWith
		o := q.lw.operation(sw.Per, m[0])
		ls = append(ls, o.below(".op")...)
		if sw.Count > 1 {
			ls = append(ls, leaf{".id/m:" + q.name + ".o", refTo(q.lw.opSet(sw.Per)), m[0]},
				leaf{".id/m:" + q.name + ".c", refTo(q.lw.copySet(q.r)), m[1]})
		} else {
			ls = append(ls, o.below(".id")...)
		}
	} else {
		for _, c := range q.fields {
			for i, pt := range c.parts {
				ls = append(ls, leaf{"." + c.name + pt.key, pt.typ, load(c.vars[i], m...)})
			}
		}
	}
	if q.deliveries != nil {
		ls = append(ls, leaf{".deliveries/i", q.deliveries.Type, load(q.deliveries, m...)})
	}
	return newValue(ls...)
}

// operation of a message.
func (q *queue) operation(m message) value { return q.value(m).field("op") }

// waiting is true if the message can be taken.
func (q *queue) waiting(m message) ir.Expr {
	switch {
	case q.avail == nil:
		return yes
	case q.avail.Type.Kind == ir.Bool:
		return load(q.avail, m...)
	}
	return order(ir.Lt, num(0), load(q.avail, m...))
}

// back makes a message available again.
func (q *queue) back(m message) []ir.Stmt {
	if q.avail.Type.Kind == ir.Bool {
		return []ir.Stmt{set(q.avail, yes, m...)}
	}
	c := load(q.avail, m...)
	return []ir.Stmt{set(q.avail, pick(order(ir.Lt, c, num(q.copies)), sum(ir.Add, c, num(1)), c), m...)}
}

// take removes one waiting copy.
func (q *queue) take(m message) ir.Stmt {
	if q.avail.Type.Kind == ir.Bool {
		return set(q.avail, no, m...)
	}
	return set(q.avail, sum(ir.Sub, load(q.avail, m...), num(1)), m...)
}

// store puts a new message; it counts as sent.
func (q *queue) store(em *emitter, fields map[string]value) []ir.Stmt {
	l := &ir.Local{Name: q.name + " message"}
	at := use(l)
	var body []ir.Stmt
	for _, c := range q.fields {
		body = append(body, c.assign(c.vars, fields[c.name], at)...)
	}
	if q.avail != nil {
		body = append(body, set(q.avail, num(1), at))
	}
	if q.tag != nil {
		body = append(body, ir.Fresh{Var: q.tag, At: []ir.Expr{at}})
	}
	if q.rank != nil {
		body = append(body, ir.Next{Var: q.rank, At: []ir.Expr{at}})
	}
	if d, ok := fields["deliveries"]; ok && q.deliveries != nil {
		body = append(body, set(q.deliveries, d.at("/i"), at))
	}
	out := []ir.Stmt{ir.Put{Pool: q.pool, Slot: l, Body: body}}
	return append(out, q.lw.opensWindows(fields["op"])...)
}

// fieldValues reads the stored fields of a message.
func (q *queue) fieldValues(m message) map[string]value {
	out := map[string]value{}
	v := q.value(m)
	for _, c := range q.fields {
		out[c.name] = v.field(c.name)
	}
	if q.deliveries != nil {
		out["deliveries"] = v.field("deliveries")
	}
	return out
}

// sendPlan puts a message.
func (em *emitter) sendPlan(n *node) plan {
	s := n.step
	if s.Resource.Kind == ast.LogKind {
		return em.appendPlan(n)
	}
	q := em.lw.queues[s.Resource]
	pl := plan{lossy: true}
	pl.outcomes = []*outcome{{done: true, guard: yes, do: func(em *emitter) []ir.Stmt {
		var out []ir.Stmt
		fields := em.messageFields(q, s, &out)
		return append(out, q.accept(em, s, fields)...)
	}}}
	return pl
}

func (em *emitter) messageFields(q *queue, s *ast.Step, stmts *[]ir.Stmt) map[string]value {
	fields := map[string]value{}
	for _, c := range s.Row {
		fields[c.Name] = em.value(c.Value, stmts)
	}
	switch {
	case s.MessageID != nil:
		fields["id"] = em.value(s.MessageID, stmts)
	case q.q.IDs:
		fields["id"] = newValue(leaf{"/t", ir.Type{Kind: ir.Token, Optional: true}, em.fresh(stmts)})
	}
	return fields
}

// accept stores the message unless its id was accepted within the window (R13).
func (q *queue) accept(em *emitter, s *ast.Step, fields map[string]value) []ir.Stmt {
	stored := append(q.store(em, fields), q.lw.monitors.sent(em, q, fields)...)
	if q.dedupIDs == nil {
		return stored
	}
	return q.remember(em, fields, stored)
}

// ackPlan is ack and nack.
func (em *emitter) ackPlan(n *node) plan {
	s := n.step
	pl := plan{lossy: true}
	t, ok := em.p.trigger.(*messageTrigger)
	if !ok || s.Message != em.p.ast.Trigger.As {
		em.lw.problem(s.Pos, "%s: only the message of the trigger can be acked", s.Verb)
		return pl
	}
	if s.Verb == ast.VerbNack {
		pl.outcomes = []*outcome{{done: true, guard: yes, do: func(em *emitter) []ir.Stmt { return append(t.giveBack(em, em.env[t.tr.As]), t.forget(em)...) }}}
		return pl
	}
	pl.outcomes = []*outcome{{done: true, guard: yes, do: t.ack}}
	if t.q.q.RefuseStale {
		stale := t.stale(em)
		pl.outcomes[0].guard = not(stale)
		pl.outcomes = append(pl.outcomes, &outcome{branch: ast.OnError, guard: stale, pure: true, text: "refused: it was acked already", why: StaleAck})
	}
	return pl
}
