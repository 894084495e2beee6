package lower

import (
	"fmt"

	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// logStore is a partitioned log with one consumer group per consuming process:
// messages stay at their position; a partition has one live owner among the
// group's members, which fetches from a volatile position that starts at the
// committed offset.
type logStore struct {
	lw     *lowering
	name   string
	r      *ast.Resource
	q      *ast.Queue
	parts  *ir.Set // partitions
	places *ir.Set // positions, ordered
	length *ir.Var // per partition
	fields []*column
	groups []*group
	// first is the oldest position that retention has left; nil without keeps:.
	first *ir.Var
	// epoch is the newest producer epoch that a fenced log has seen.
	epoch *ir.Var
	// deliveries of the message at a position, for must_be_possible.
	deliveries *ir.Var
}

// group is a consuming process.
type group struct {
	p         *process
	members   int
	committed *ir.Var // per partition
	next      *ir.Var // per partition: where the owner fetches next
	owner     *ir.Var // per partition: member; nil with one member
	epoch     *ir.Var // fenced: nil
}

func (lw *lowering) makeLog(r *ast.Resource) {
	q := r.Queue
	l := &logStore{lw: lw, name: r.Name, r: r, q: q}
	lw.logs[r] = l
	n := 0
	if q.StartsWith != nil {
		n += q.StartsWith.Count * q.StartsWith.Per.Count
	}
	for _, in := range lw.spec.Initially {
		if in.Resource == r {
			n++
		}
	}
	for _, s := range lw.allSteps() {
		if s.Verb == ast.VerbSend && s.Resource == r {
			n += lw.cellsCount(s.Row)
		}
	}
	size := lw.capacity(r.Name, n)
	l.parts = &ir.Set{Name: r.Name + " partition", Size: max(q.Partitions, 1), Ordered: true}
	l.places = &ir.Set{Name: r.Name + " position", Size: size, Ordered: true}
	lw.program.Sets = append(lw.program.Sets, l.parts, l.places)
	l.length = lw.variable(&ir.Var{Name: r.Name + " length", Index: ir.Several(l.parts), Type: ir.Type{Kind: ir.Range, Lo: 0, Hi: size}})
	if q.Keeps != nil && !q.Keeps.None {
		l.first = lw.variable(&ir.Var{Name: r.Name + " first position", Index: ir.Several(l.parts), Type: l.offsets()})
	}
	l.makeEpoch()
	if most := lw.deliveriesCounted(r); most > 0 {
		l.deliveries = lw.variable(&ir.Var{Name: r.Name + " deliveries", Index: ir.Several(l.parts, l.places), Type: ir.Type{Kind: ir.Range, Lo: 0, Hi: most}})
	}
	for _, f := range q.Fields {
		c := &column{name: f.Name}
		for _, pt := range lw.shape(f.Type) {
			if !lw.entryReads(r, "."+f.Name+pt.key) && !(f.Name == "op" && l.opCounted()) && f != q.PartitionBy {
				continue
			}
			t := optionalRef(pt.typ)
			c.parts = append(c.parts, pt)
			c.vars = append(c.vars, lw.variable(&ir.Var{Name: r.Name + " " + f.Name + pt.key, Index: ir.Several(l.parts, l.places), Type: t, Initial: cleared(t)}))
		}
		if len(c.parts) > 0 {
			l.fields = append(l.fields, c)
		}
	}
}

// makeEpoch: producers of a fenced log may name their epoch.
func (l *logStore) makeEpoch() {
	for _, s := range l.lw.allSteps() {
		if s.Verb != ast.VerbSend || s.Resource != l.r || s.Epoch == nil || !l.q.Fenced {
			continue
		}
		lo, hi := intRange(s.Epoch.Type())
		if l.epoch == nil {
			l.epoch = l.lw.variable(&ir.Var{Name: l.name + " epoch", Type: ir.Type{Kind: ir.Range, Lo: lo, Hi: hi}, Initial: lo})
		}
		l.epoch.Type.Lo, l.epoch.Type.Hi = min(l.epoch.Type.Lo, lo), max(l.epoch.Type.Hi, hi)
		l.epoch.Initial = l.epoch.Type.Lo
	}
}

// retires adds the end of the oldest message of a partition. A group that has
// not read it yet goes on behind it.
func (l *logStore) retires() {
	if l.first == nil {
		return
	}
	p := &ir.Local{Name: "partition"}
	part := use(p)
	body := []ir.Stmt{set(l.first, sum(ir.Add, load(l.first, part), num(1)), part)}
	for _, g := range l.groups {
		body = append(body, when(order(ir.Lt, load(g.next, part), load(l.first, part)), []ir.Stmt{set(g.next, load(l.first, part), part)}, nil)...)
	}
	l.lw.event(&event{kind: ir.Expiry, name: "retention", what: LogRetention,
		of: &about{log: l, partition: part, number: load(l.first, part), duration: l.q.Keeps}, params: []ir.Param{{Local: p, Over: ir.In(l.parts)}},
		guard: order(ir.Lt, load(l.first, part), load(l.length, part)), body: body,
		text: []any{l.name + " removes a message that is older than " + l.q.Keeps.Name + ": ", logText{l, part, load(l.first, part)}}})
}

// from is where a group fetches after a crash or rebalance.
func (l *logStore) from(g *group, part ir.Expr) ir.Expr {
	c := load(g.committed, part)
	if l.first == nil {
		return c
	}
	return pick(order(ir.Lt, c, load(l.first, part)), load(l.first, part), c)
}

// opCounted says whether a promise counts messages by their operation.
func (l *logStore) opCounted() bool {
	for _, p := range l.lw.spec.Promises {
		switch b := p.Body.(type) {
		case ast.AckedAfter:
			if b.Queue == l.r {
				return true
			}
		case ast.NoMessageWithoutRow:
			if b.Queue == l.r {
				return true
			}
		}
	}
	return false
}

func (l *logStore) offsets() ir.Type { return ir.Type{Kind: ir.Range, Lo: 0, Hi: l.places.Size} }

// groupOf makes the consumer group of a process.
func (l *logStore) groupOf(p *process) *group {
	for _, g := range l.groups {
		if g.p == p {
			return g
		}
	}
	g := &group{p: p, members: p.ast.Instances}
	v := func(name string) *ir.Var {
		return l.lw.variable(&ir.Var{Name: p.ast.Name + " " + name + " of " + l.name, Index: ir.Several(l.parts), Type: l.offsets()})
	}
	g.committed, g.next = v("committed offset"), v("next position")
	if g.members > 1 {
		// Which member owns a partition at first makes no difference.
		p.set.Ordered = true
		g.owner = l.lw.variable(&ir.Var{Name: p.ast.Name + " owner in " + l.name, Index: ir.Several(l.parts), Type: ir.Type{Kind: ir.Range, Lo: 0, Hi: g.members - 1}})
		for i := 1; i < l.parts.Size; i++ {
			l.lw.initially = append(l.lw.initially, set(g.owner, num(i%g.members), num(i)))
		}
	}
	l.groups = append(l.groups, g)
	return g
}

// memberOf is the group member that a run belongs to: its workers share it.
func (g *group) memberOf(run ir.Expr) ir.Expr {
	w := max(g.p.ast.Trigger.Workers, 1)
	if g.members == 1 {
		return num(0)
	}
	out := num(0)
	for r := 0; r < g.members*w; r++ {
		out = pick(same(run, num(r)), num(r/w), out)
	}
	return out
}

// owns is true if the run's member is the partition's live owner.
func (g *group) owns(part, run ir.Expr) ir.Expr {
	if g.owner == nil {
		return yes
	}
	return same(load(g.owner, part), g.memberOf(run))
}

// append adds a message to a partition.
func (l *logStore) append(part ir.Expr, fields map[string]value) []ir.Stmt {
	at := load(l.length, part)
	full := order(ir.Le, num(l.places.Size), at)
	var put []ir.Stmt
	pos := &ir.Local{Name: l.name + " position"}
	put = append(put, ir.Let{Local: pos, Value: at})
	for _, c := range l.fields {
		v := fields[c.name]
		for i, pt := range c.parts {
			e := v.at(pt.key)
			if n, ok := constant(e); ok && n == ir.None && !c.vars[i].Type.Optional {
				e = num(c.vars[i].Initial)
			}
			put = append(put, set(c.vars[i], e, part, use(pos)))
		}
	}
	put = append(put, set(l.length, sum(ir.Add, use(pos), num(1)), part))
	put = append(put, l.lw.monitors.logSent(l, fields)...)
	return when(full, []ir.Stmt{ir.Cut{Reason: l.full()}}, put)
}

func (l *logStore) full() string { return l.name + " is full" }

// value is what a receiver sees of the message at a position.
func (l *logStore) value(part, pos ir.Expr) value {
	ls := []leaf{here(yes)}
	for _, c := range l.fields {
		for i, pt := range c.parts {
			ls = append(ls, leaf{"." + c.name + pt.key, pt.typ, load(c.vars[i], part, pos)})
		}
	}
	if l.lw.mentions(l.r, "offset") {
		ls = append(ls, leaf{offsetKey(l.r), l.lw.positionType(l.r), pos})
	}
	return newValue(ls...)
}

// offsetKey is the leaf of m.offset.
func offsetKey(r *ast.Resource) string { return ".offset/n:" + r.Name }

// appendPlan is send: LOG. The partition follows from the field that the log is
// partitioned by; without one, any.
func (em *emitter) appendPlan(n *node) plan {
	s := n.step
	l := em.lw.logs[s.Resource]
	pl := plan{lossy: true}
	o := &outcome{done: true, guard: yes}
	part := num(0)
	if l.parts.Size > 1 {
		p := &ir.Local{Name: "partition"}
		part = use(p)
		o.params = []ir.Param{{Local: p, Over: ir.In(l.parts)}}
		o.guard = l.mayHold(part, em.partitionKey(l, s))
	}
	o.partition = part
	o.do = func(em *emitter) []ir.Stmt {
		var out []ir.Stmt
		fields := map[string]value{}
		for _, c := range s.Row {
			fields[c.Name] = em.value(c.Value, &out)
		}
		if s.MessageID != nil {
			fields["id"] = em.value(s.MessageID, &out)
		}
		return append(out, l.append(part, fields)...)
	}
	pl.outcomes = []*outcome{o}
	if l.epoch != nil && s.Epoch != nil {
		em.fencedSend(&pl, l, s)
	}
	return pl
}

// fencedSend refuses an old producer epoch; a newer one is remembered.
func (em *emitter) fencedSend(pl *plan, l *logStore, s *ast.Step) {
	o := pl.outcomes[0]
	old := order(ir.Lt, em.pure(s.Epoch).at("/i"), load(l.epoch))
	o.guard = and(o.guard, not(old))
	do := o.do
	o.do = func(em *emitter) []ir.Stmt {
		return append([]ir.Stmt{set(l.epoch, em.pure(s.Epoch).at("/i"))}, do(em)...)
	}
	branch := ast.OnError
	if b := s.Branches[ast.OnRefused]; b != nil && !b.Implicit {
		branch = ast.OnRefused
	}
	pl.outcomes = append(pl.outcomes, &outcome{branch: branch, guard: old, pure: true, text: "refused: a newer epoch has written", why: Fenced})
}

func (em *emitter) partitionKey(l *logStore, s *ast.Step) value {
	if l.q.PartitionBy == nil {
		return value{}
	}
	for _, c := range s.Row {
		if c.Name == l.q.PartitionBy.Name {
			return em.pure(c.Value)
		}
	}
	return value{}
}

// mayHold: a key stays in the partition that it is in.
func (l *logStore) mayHold(part ir.Expr, key value) ir.Expr {
	if l.q.PartitionBy == nil || len(key.leaves) == 0 {
		return yes
	}
	p, pos := &ir.Local{Name: "partition"}, &ir.Local{Name: "position"}
	elsewhere := exists(p, ir.In(l.parts), and(not(same(use(p), part)), exists(pos, ir.In(l.places),
		and(order(ir.Lt, use(pos), load(l.length, use(p))), equal(l.value(use(p), use(pos)).field(l.q.PartitionBy.Name), key)))))
	return not(elsewhere)
}

// commitOffsetPlan moves the group's committed offset.
func (em *emitter) commitOffsetPlan(n *node) plan {
	s := n.step
	t, ok := em.p.trigger.(*logTrigger)
	if !ok || t.l.r != s.Resource {
		em.lw.problem(s.Pos, "commit_offset: only a consumer of %s can commit its offset", s.Subject)
		return plan{outcomes: []*outcome{{done: true, guard: yes}}}
	}
	pl := plan{lossy: true}
	part := load(t.part, em.me)
	to := t.upTo(em, s)
	done := &outcome{done: true, guard: yes, do: func(em *emitter) []ir.Stmt {
		return []ir.Stmt{set(t.g.committed, t.upTo(em, s), part)}
	}}
	pl.outcomes = []*outcome{done}
	refuse := no
	if s.Lower {
		refuse = or(refuse, order(ir.Lt, to, load(t.g.committed, part)))
	}
	if t.l.q.Fenced {
		refuse = or(refuse, not(t.g.owns(part, em.me)))
	}
	if !isFalse(refuse) {
		done.guard = not(refuse)
		pl.outcomes = append(pl.outcomes, &outcome{branch: ast.OnError, guard: refuse, pure: true, text: "refused: the partition has another owner, or the offset is lower", why: Fenced})
	}
	return pl
}

// upTo is the offset to commit: behind the run's message, behind the message or
// position named, or the highest below which every run of the member is done.
func (t *logTrigger) upTo(em *emitter, s *ast.Step) ir.Expr {
	if s.UpTo == ast.UpToContiguous {
		w := &ir.Local{Name: "w"}
		part := load(t.part, em.me)
		busy := and(not(same(use(w), em.me)), t.p.running(use(w)), same(load(t.part, use(w)), part), same(t.g.memberOf(use(w)), t.g.memberOf(em.me)))
		least := ir.Best{Local: w, Over: ir.In(t.p.set), Where: busy, Of: load(t.pos, use(w))}
		done := load(t.g.next, part)
		if t.until != nil { // the rest of its own batch is not done
			done = pick(order(ir.Lt, load(t.pos, em.me), load(t.until, em.me)), sum(ir.Add, load(t.pos, em.me), num(1)), done)
		}
		return pick(or(same(least, none), order(ir.Lt, done, least)), done, least)
	}
	if s.UpToExpr != nil {
		v := em.pure(s.UpToExpr)
		if l, ok := v.find("/n:" + t.l.name); ok {
			return l.e
		}
		if l, ok := v.find("/i"); ok {
			return l.e
		}
	}
	return sum(ir.Add, load(t.pos, em.me), num(1))
}

// logText prints the message at a position.
type logText struct {
	l         *logStore
	part, pos ir.Expr
}

// logTrigger is on: {message: LOG}.
type logTrigger struct {
	baseTrigger
	l    *logStore
	g    *group
	part *ir.Var // partition of the run's message
	pos  *ir.Var
	// until is the position of the last message of the run's batch; nil: one.
	until *ir.Var
}

func (lw *lowering) newLogTrigger(b baseTrigger) *logTrigger {
	l := lw.logs[b.tr.Queue]
	t := &logTrigger{baseTrigger: b, l: l, g: l.groupOf(b.p)}
	t.part = b.p.perInstance("partition", ir.Type{Kind: ir.Ref, Set: l.parts, Optional: true})
	t.pos = b.p.perInstance("position", ir.Type{Kind: ir.Range, Lo: 0, Hi: l.places.Size - 1, Optional: true})
	if b.tr.Batch > 1 {
		t.until = b.p.perInstance("batch to position", t.pos.Type)
	}
	if b.p.set.Size > 1 && b.tr.Workers > 1 && b.p.ast.Instances > 1 {
		b.p.set.Ordered = true
	}
	return t
}

func (t *logTrigger) derived(stored value) []leaf { return []leaf{here(yes)} }

func (t *logTrigger) start() {
	l := t.l
	p := &ir.Local{Name: "partition"}
	part := use(p)
	pos := load(t.g.next, part)
	t.run(&begin{
		kind: ir.Delivery, params: []ir.Param{{Local: p, Over: ir.In(l.parts)}},
		guard: and(order(ir.Lt, pos, load(l.length, part)), t.g.owns(part, use(t.p.self))),
		text:  []any{"fetches a message of " + l.name + " ", logText{l, part, pos}}, of: &about{log: l, partition: part, number: pos},
		bind: func(em *emitter) []ir.Stmt {
			var out []ir.Stmt
			at := &ir.Local{Name: "position"}
			out = append(out, ir.Let{Local: at, Value: pos})
			fetched, last := t.fetched(em, use(at), part)
			out = append(out, fetched...)
			em.bind(t.tr.As, em.p.onlyRead(t.tr.As, l.lw.lastKnown(l.r, l.value(part, use(at)), last)), &out)
			out = append(out, set(t.part, part, em.me), set(t.pos, use(at), em.me))
			return append(out, t.counts(part, use(at))...)
		},
	})
}

// counts the delivery where a possibility asks.
func (t *logTrigger) counts(part, pos ir.Expr) []ir.Stmt {
	v := t.l.deliveries
	if v == nil {
		return nil
	}
	c := load(v, part, pos)
	out := []ir.Stmt{set(v, pick(order(ir.Lt, c, num(v.Type.Hi)), sum(ir.Add, c, num(1)), c), part, pos)}
	return append(out, t.p.lw.monitors.delivered(t.l.r, c)...)
}

// fetched moves the next position behind what the run has taken: one message,
// or as many as there are, up to the size of a batch. last says that the first
// of them is the last.
func (t *logTrigger) fetched(em *emitter, at, part ir.Expr) (stmts []ir.Stmt, last ir.Expr) {
	if t.until == nil {
		return []ir.Stmt{set(t.g.next, sum(ir.Add, at, num(1)), part)}, yes
	}
	l := &ir.Local{Name: "fetched"}
	all := sum(ir.Add, at, num(t.tr.Batch))
	length := load(t.l.length, part)
	return []ir.Stmt{ir.Let{Local: l, Value: pick(order(ir.Lt, length, all), length, all)},
		set(t.g.next, use(l), part), set(t.until, sum(ir.Sub, use(l), num(1)), em.me)}, same(use(l), sum(ir.Add, at, num(1)))
}

// nextOfBatch starts the steps anew with the next message.
func (t *logTrigger) nextOfBatch(em *emitter) []ir.Stmt {
	pos := &ir.Local{Name: "position"}
	out := []ir.Stmt{ir.Let{Local: pos, Value: sum(ir.Add, load(t.pos, em.me), num(1))}}
	part := load(t.part, em.me)
	em.env = map[*ast.Var]value{}
	last := same(use(pos), load(t.until, em.me))
	em.bind(t.tr.As, em.p.onlyRead(t.tr.As, t.l.lw.lastKnown(t.l.r, t.l.value(part, use(pos)), last)), &out)
	out = append(out, set(t.pos, use(pos), em.me))
	out = append(out, t.counts(part, use(pos))...)
	em.depth++
	em.turns++
	return append(out, em.control(em.p.first)...)
}

func (t *logTrigger) operation(em *emitter) value { return em.env[t.tr.As].field("op") }

// crashed: the crash of one worker is the crash of the member: all its runs end
// and its partitions are fetched again from the committed offset.
func (t *logTrigger) crashed(em *emitter) []ir.Stmt {
	p := &ir.Local{Name: "partition"}
	part := use(p)
	out := []ir.Stmt{ir.ForEach{Local: p, Over: ir.In(t.l.parts), Body: when(t.g.owns(part, em.me), []ir.Stmt{set(t.g.next, t.l.from(t.g, part), part)}, nil)}}
	if t.p.set.Size == 1 || max(t.tr.Workers, 1) == 1 {
		return out
	}
	w := &ir.Local{Name: "worker"}
	sibling := and(not(same(use(w), em.me)), same(t.g.memberOf(use(w)), t.g.memberOf(em.me)), t.p.running(use(w)))
	return append(out, ir.ForEach{Local: w, Over: ir.In(t.p.set), Body: when(sibling, t.p.drop(w), nil)})
}

// events adds rebalance and offset reset.
func (l *logStore) events() {
	l.retires()
	for _, f := range l.lw.faultsOn(ast.FaultRebalance, l.r) {
		for _, g := range l.groups {
			g.rebalance(l, f)
		}
	}
	for _, f := range l.lw.faultsOn(ast.FaultOffsetReset, l.r) {
		for _, g := range l.groups {
			p := &ir.Local{Name: "partition"}
			to := num(0)
			if l.first != nil {
				to = load(l.first, use(p))
			}
			if l.q.ResetLatest {
				to = load(l.length, use(p))
			}
			l.lw.event(&event{kind: ir.Fault, name: "offset_reset", what: OffsetReset, of: &about{log: l, partition: use(p), number: to, process: g.p}, fault: f, params: []ir.Param{{Local: p, Over: ir.In(l.parts)}},
				guard: differ(load(g.committed, use(p)), to),
				body:  []ir.Stmt{set(g.committed, to, use(p)), set(g.next, to, use(p))}, text: []any{"the offset of " + l.name + " is reset"}})
		}
	}
}

// rebalance moves a partition to another member at once; runs of the old owner
// go on as zombies.
func (g *group) rebalance(l *logStore, f *budget) {
	if g.owner == nil {
		return
	}
	for m := 0; m < g.members; m++ {
		p := &ir.Local{Name: "partition"}
		part := use(p)
		l.lw.event(&event{kind: ir.Fault, name: "rebalance", what: Rebalance, of: &about{log: l, partition: part, process: g.p, me: num(m)}, fault: f, params: []ir.Param{{Local: p, Over: ir.In(l.parts)}},
			guard: differ(load(g.owner, part), num(m)), body: []ir.Stmt{set(g.owner, num(m), part), set(g.next, l.from(g, part), part)},
			text: []any{fmt.Sprintf("the group moves a partition of %s to %s", l.name, g.memberName(m))}})
	}
}

func (g *group) memberName(m int) string {
	if max(g.p.ast.Trigger.Workers, 1) > 1 {
		return fmt.Sprintf("%s member %d", g.p.ast.Name, m+1)
	}
	return g.p.worker(m)
}

// initial puts the messages the log starts with, and those under initially.
func (l *logStore) initial() []ir.Stmt {
	sw := l.q.StartsWith
	if sw == nil {
		return nil
	}
	l.lw.opSet(sw.Per).Ordered = true // positions order them
	var out []ir.Stmt
	for i := 0; i < sw.Per.Count; i++ {
		for k := 0; k < sw.Count; k++ {
			op := l.lw.operation(sw.Per, num(i))
			id := op
			if sw.Count > 1 {
				s := l.lw.copySet(l.r)
				s.Ordered = true
				id = newValue(leaf{"/m:" + l.name + ".o", refTo(l.lw.opSet(sw.Per)), num(i)}, leaf{"/m:" + l.name + ".c", refTo(s), num(k)})
			}
			out = append(out, l.append(num((i*sw.Count+k)%l.parts.Size), map[string]value{"op": op, "id": id})...)
		}
	}
	return out
}

func (lw *lowering) initialAppend(r *ast.Resource, cells map[string]value) []ir.Stmt {
	l := lw.logs[r]
	return l.append(num(0), cells)
}

// acked: some committed offset lies above a message of the operation.
func (l *logStore) committedOf(o *ast.Operation, op ir.Expr) ir.Expr {
	p, pos := &ir.Local{Name: "partition"}, &ir.Local{Name: "position"}
	out := no
	for _, g := range l.groups {
		out = or(out, exists(p, ir.In(l.parts), exists(pos, ir.In(l.places), and(order(ir.Lt, use(pos), load(g.committed, use(p))),
			order(ir.Lt, use(pos), load(l.length, use(p))), same(l.value(use(p), use(pos)).field("op").at("/o:"+o.Name), op)))))
	}
	return out
}

func (lw *lowering) logAckedAfter(p *ast.Promise, b ast.AckedAfter) {
	l := lw.logs[b.Queue]
	if l == nil {
		return
	}
	for _, o := range b.Effect.Operations {
		each, op := lw.eachOp(o)
		lw.property(p, ir.Always, each, or(not(l.committedOf(o, op)), lw.happened(b.Effect, o, op)))
	}
}

func (lw *lowering) logMessagesOf(r *ast.Resource, o *ast.Operation, op ir.Expr) ir.Expr {
	l := lw.logs[r]
	if l == nil {
		return num(0)
	}
	p, pos := &ir.Local{Name: "partition"}, &ir.Local{Name: "position"}
	return count(p, ir.In(l.parts), exists(pos, ir.In(l.places), and(order(ir.Lt, use(pos), load(l.length, use(p))),
		same(l.value(use(p), use(pos)).field("op").at("/o:"+o.Name), op))))
}
