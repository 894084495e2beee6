package lower

import (
	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// Timers (R15 to R19). A timer is held by the run that started it, while that
// run is in progress: then it fires early only by spending a stall (which sets
// a bit on the worker until its next step; while it is set, all its timers may
// fire) or while the run stands before a slow step. Without a holder it fires
// at any time, free and fair.

// timer belongs to the records of a table: a lease, a ttl or a retention.
type timer struct {
	t        *table
	duration *ast.Duration
	// running: the timer runs for this record; nil: it runs whenever on holds.
	running *ir.Var
	holders []owner     // the run that holds it, by process
	class   *timerClass // its place in the order of durations
}

func (tm *timer) vars() []*ir.Var {
	var out []*ir.Var
	if tm.running != nil {
		out = append(out, tm.running)
	}
	for _, h := range tm.holders {
		out = append(out, h.v)
	}
	return out
}

// holdable gives a timer a holder among the instances of a process.
func (tm *timer) holdable(p *process, what string) {
	for _, h := range tm.holders {
		if h.p == p {
			return
		}
	}
	v := &ir.Var{Name: tm.t.name + " " + what + " held by " + p.ast.Name, Index: []ir.Index{tm.t.over}, Initial: ir.None,
		Type: ir.Type{Kind: ir.Ref, Set: p.set, Optional: true}}
	tm.holders = append(tm.holders, owner{p, p.lw.variable(v)})
	p.holds(tm)
}

func (tm *timer) holderOf(p *process) *ir.Var {
	for _, h := range tm.holders {
		if h.p == p {
			return h.v
		}
	}
	return nil
}

// holds notes that runs of the process can hold timers.
func (p *process) holds(tm *timer) {
	p.lw.timers = append(p.lw.timers, tm)
	p.stallable()
}

func (p *process) stallable() {
	if p.stalled == nil && p.lw.hasFault(ast.FaultStall) {
		p.stalled = p.perInstance("stalled", ir.Type{Kind: ir.Bool})
	}
}

// awake clears the stall bit at the worker's next step.
func (p *process) awake(me ir.Expr) []ir.Stmt {
	if p.stalled == nil {
		return nil
	}
	return []ir.Stmt{set(p.stalled, no, me)}
}

// releaseTimers: timers of a run that has ended have no holder any more (R16),
// except where an assumption says that a crashed process starts again before
// they fire: the restarted instance keeps them.
func (em *emitter) releaseTimers() []ir.Stmt { return em.p.releaseTimers(em.me, false) }

func (p *process) releaseTimers(me ir.Expr, crash bool) []ir.Stmt {
	var out []ir.Stmt
	for _, tm := range p.lw.timers {
		v := tm.holderOf(p)
		if v == nil || crash && p.backBefore(tm.duration) {
			continue
		}
		out = append(out, tm.t.each(func(at ir.Expr) []ir.Stmt {
			return when(same(load(v, at), me), []ir.Stmt{set(v, none, at)}, nil)
		})...)
	}
	return out
}

// backBefore says whether the spec assumes that the downtime of the process is
// shorter than the duration.
func (p *process) backBefore(d *ast.Duration) bool {
	for _, a := range p.lw.spec.Assume {
		if a.Kind == ast.AssumeDowntime && a.Process == p.ast && a.More == d {
			return true
		}
	}
	return false
}

// hold makes the run the holder of a record's timer.
func (tm *timer) hold(em *emitter, at ir.Expr) []ir.Stmt {
	var out []ir.Stmt
	for _, h := range tm.holders {
		if h.p == em.p {
			out = append(out, set(h.v, em.me, at))
		} else {
			out = append(out, set(h.v, none, at))
		}
	}
	out = append(out, tm.class.stopped(em.lw, at)...)
	return append(out, tm.class.started(em.lw, at)...)
}

func (tm *timer) drop(at ir.Expr) []ir.Stmt {
	var out []ir.Stmt
	for _, h := range tm.holders {
		out = append(out, set(h.v, none, at))
	}
	return append(out, tm.class.stopped(tm.t.lw, at)...)
}

// holding is a live holder of a timer.
type holding struct {
	p    *process
	me   ir.Expr
	slow bool // slow steps let it fire (not renewed)
}

// expiring is a timer that can fire.
type expiring struct {
	name   string
	what   What
	of     *about
	params []ir.Param
	guard  ir.Expr
	// live is the one possible holder (a parameter of the action); lives are
	// those named by variables of the record.
	live  *holding
	lives []*holding
	// duration and resource say which clock jumps can make it fire.
	duration *ast.Duration
	resource *ast.Resource
	// early is false where an assumption says that it outlives its holder.
	late bool
	body func() []ir.Stmt
	text []any
}

// expiry adds the actions of a timer.
func (lw *lowering) expiry(x *expiring) {
	lives := x.lives
	if x.live != nil {
		lives = []*holding{x.live}
	}
	alive := no
	for _, h := range lives {
		alive = or(alive, differ(h.me, none))
	}
	if x.live == nil {
		lw.event(&event{kind: ir.Expiry, name: x.name, what: x.what, of: x.of, params: x.params, guard: and(x.guard, not(alive)), body: x.body(), text: x.text})
	}
	if x.late {
		return
	}
	for _, h := range lives {
		holds := differ(h.me, none)
		if x.live != nil {
			holds = yes
		}
		pause := no
		if h.slow {
			pause = h.p.atSlow(h.me)
		}
		if h.p.stalled != nil {
			pause = or(pause, load(h.p.stalled, h.me))
		}
		lw.event(&event{kind: ir.Expiry, name: x.name + " early", what: x.what, of: x.heldBy(h), params: x.params, guard: and(x.guard, holds, pause), body: x.body(),
			text: x.text, unfair: true})
		lw.clockJumps(x, h, and(holds, not(pause)))
		if h.p.stalled == nil {
			continue
		}
		for _, f := range lw.faultsOf(ast.FaultStall, h.p.ast) {
			l := &ir.Local{Name: "stalled"}
			body := append([]ir.Stmt{ir.Let{Local: l, Value: h.me}}, x.body()...)
			body = append(body, set(h.p.stalled, yes, use(l)))
			text := append(append([]any{}, x.text...), " while ", workerText{h.p, h.me}, " still works")
			lw.event(&event{kind: ir.Expiry, name: x.name + ": stall", what: x.what, of: x.heldBy(h), fault: f, params: x.params,
				guard: and(x.guard, holds, not(pause)), body: body, text: text})
		}
	}
}

// heldBy is what the event is about, with the holder that still works.
func (x *expiring) heldBy(h *holding) *about {
	of := *x.of
	of.process, of.me = h.p, h.me
	return &of
}

// clockJumps: a clock that jumps ahead lets the process that judges a timer take
// it for over, though its holder neither stalls nor pauses (R41).
func (lw *lowering) clockJumps(x *expiring, h *holding, guard ir.Expr) {
	if x.resource == nil || x.duration == nil {
		return
	}
	for _, f := range lw.spec.Faults {
		if f.Kind != ast.FaultClockJump || x.duration.Length >= f.By && x.duration.Length > 0 && f.By > 0 {
			continue
		}
		judges := len(f.Processes) == 0
		for _, a := range f.Processes {
			judges = judges || lw.process(a).uses(x.resource) || a.Trigger.Table != nil && a.Trigger.Table.Resource == x.resource
		}
		if !judges {
			continue
		}
		text := append(append([]any{}, x.text...), " by a clock that has jumped")
		lw.event(&event{kind: ir.Expiry, name: x.name + ": clock jump", what: x.what, of: x.heldBy(h), fault: lw.budget(f), params: x.params, guard: and(x.guard, guard), body: x.body(), text: text})
	}
}

// atSlow is true while the run stands before a slow step.
func (p *process) atSlow(me ir.Expr) ir.Expr {
	out := no
	for _, n := range p.nodes {
		if n.located() && n.step.Slow {
			out = or(out, same(load(p.pc, me), num(n.loc)))
		}
	}
	return out
}

func (p *process) hasSlow() bool {
	for _, s := range p.ast.All {
		if s.Slow {
			return true
		}
	}
	return false
}

// outlives says whether an assumption keeps a timer alive as long as its holder.
func (lw *lowering) outlives(k ast.AssumeKind, r *ast.Resource, t *ast.Table) bool {
	for _, a := range lw.spec.Assume {
		if a.Kind == k && a.Resource == r && a.Table == t {
			return true
		}
	}
	return false
}

// leaseState is what a row was before a write.
type leaseState struct {
	stmts []ir.Stmt
	was   ir.Expr // it matched while:
}

// makeLease gives the rows of a leased table their timer.
func (lw *lowering) makeLease(t *table) {
	l := t.ast.Lease
	if l == nil {
		return
	}
	tm := &timer{t: t, duration: l.Lasts}
	defer func() { tm.class.held = true }()
	tm.class = lw.timerClass("lease of "+t.name, l.Lasts, t.over, func(i ir.Expr) ir.Expr { return and(t.there(i), t.leased(i, reader{})) })
	t.timers = append(t.timers, tm)
	for _, p := range lw.order {
		for _, s := range p.ast.All {
			if s.Table == t.ast && (s.Verb == ast.VerbUpdate || s.Verb == ast.VerbInsert || s.Verb == ast.VerbUpsert) && takesLease(l, s) {
				tm.holdable(p, "lease")
			}
		}
	}
	t.lease = tm
}

func (lw *lowering) makeLeases() {
	for _, r := range lw.spec.Resources {
		if r.SQL == nil {
			continue
		}
		for _, a := range r.SQL.Tables {
			if t := lw.tables[a]; t != nil {
				lw.makeLease(t)
			}
		}
	}
}

// takesLease: the step writes a while: column or the holder.
func takesLease(l *ast.Lease, s *ast.Step) bool {
	for _, c := range s.Row {
		if c.Column == l.Holder && l.Holder != nil {
			return true
		}
		for _, w := range l.While {
			if w.Column == c.Column {
				return true
			}
		}
	}
	return false
}

// leased is true while the row matches while:.
func (t *table) leased(at ir.Expr, r reader) ir.Expr {
	sc := scope{lw: t.lw}
	out := yes
	for _, c := range t.ast.Lease.While {
		out = and(out, equal(t.get(c.Column.Name, at, r), sc.value(c.Value)))
	}
	return out
}

func (em *emitter) leaseBefore(t *table, s *ast.Step, at ir.Expr) *leaseState {
	if t.lease == nil || len(t.lease.holders) == 0 || !takesLease(t.ast.Lease, s) {
		return &leaseState{}
	}
	l := &ir.Local{Name: "leased"}
	return &leaseState{stmts: []ir.Stmt{ir.Let{Local: l, Value: t.leased(at, em.reader())}}, was: use(l)}
}

// leaseAfter: the write that moved the row into while:, or wrote the holder
// column, takes the lease; a row outside while: has none (R17).
func (em *emitter) leaseAfter(t *table, s *ast.Step, at ir.Expr, was *leaseState) []ir.Stmt {
	if t.lease == nil || len(t.lease.holders) == 0 || !takesLease(t.ast.Lease, s) {
		return nil
	}
	takes := yes
	if was != nil && was.was != nil {
		takes = not(was.was)
	}
	for _, c := range s.Row {
		if c.Column == t.ast.Lease.Holder && c.Column != nil {
			takes = yes
		}
	}
	now := t.leased(at, em.reader())
	return when(now, when(takes, t.lease.hold(em, at), nil), t.lease.drop(at))
}

// leaseExpiry adds the end of the leases of a table.
func (lw *lowering) leaseExpiry(t *table) {
	if t.lease == nil {
		return
	}
	l := &ir.Local{Name: t.name + " row"}
	at := use(l)
	var lives []*holding
	for _, h := range t.lease.holders {
		lives = append(lives, &holding{p: h.p, me: load(h.v, at), slow: h.p.hasSlow()})
	}
	ls := t.ast.Lease
	body := func() []ir.Stmt {
		cells := map[string]value{}
		sc := scope{lw: lw}.with(t.candidate(at, reader{}))
		for _, c := range ls.Then {
			if t.column(c.Name) != nil {
				cells[c.Name] = sc.value(c.Value)
			}
		}
		out := append(lw.beforeCommit(t.ast.Resource), t.write(at, cells)...)
		return append(out, t.lease.drop(at)...)
	}
	committed := t.visible(at, reader{})
	lw.expiry(&expiring{
		duration: t.lease.duration, resource: t.ast.Resource,
		name: "lease of " + t.name + " ends", what: LeaseEnds, of: &about{table: t, at: at, duration: t.lease.duration}, params: []ir.Param{{Local: l, Over: t.over}}, lives: lives,
		guard: and(committed, not(t.locked(at, reader{})), t.leased(at, reader{}), t.lease.class.mayFire(lw, at)), body: body,
		late: lw.outlives(ast.AssumeLease, nil, t.ast),
		text: []any{"the lease of ", t.name, " row ", rowText{t, at}, " expires"},
	})
}
