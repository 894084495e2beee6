package lower

import (
	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// event is an action of the environment.
type event struct {
	kind   ir.ActionKind
	name   string
	what   What
	of     *about
	fault  *budget
	params []ir.Param
	guard  ir.Expr
	body   []ir.Stmt
	text   []any
	unfair bool
	// actor: the event happens to an instance (a crash).
	proc *process
	me   ir.Expr
}

func (lw *lowering) event(e *event) {
	if isFalse(e.guard) {
		return
	}
	a := &ir.Action{Name: e.name, Kind: e.kind, Params: e.params, Guard: e.guard, Body: e.body, Unfair: e.unfair,
		Order: 1<<30 + len(lw.program.Actions), Note: &Note{What: e.what, of: e.of, Text: e.text, proc: e.proc, Instance: e.me}}
	if e.fault != nil {
		a.Budget, a.Fault, a.Rank = e.fault.left, e.fault.name, e.fault.rank
		a.Note.(*Note).Fault = e.fault.fault
	}
	lw.program.Actions = append(lw.program.Actions, a)
}

// environment adds everything that no process does.
func (lw *lowering) environment() {
	for _, p := range lw.order {
		p.crashes()
		p.agesPass()
	}
	for _, r := range lw.spec.Resources {
		switch r.Kind {
		case ast.SQLKind:
			for _, a := range r.SQL.Tables {
				if t := lw.tables[a]; t != nil {
					lw.leaseExpiry(t)
					lw.retention(t)
				}
			}
			lw.sqlEvents(r)
			if rp := lw.replicas[r]; rp != nil {
				rp.applies(lw)
			}
		case ast.KVKind, ast.MemoryKind:
			lw.ttlExpiry(lw.kvs[r])
			lw.kvEvents(r)
		case ast.QueueKind:
			lw.queues[r].environment()
			lw.queueEvents(r)
		case ast.LogKind:
			lw.logs[r].events()
		case ast.ProviderKind:
			lw.provs[r].environment()
		case ast.ClockKind:
			if lw.clock.r == r {
				lw.clock.passes(lw)
			}
		}
	}
}

// crashes adds the crash of an instance at any location (R26).
func (p *process) crashes() {
	for _, f := range p.lw.faultsOf(ast.FaultCrash, p.ast) {
		l := &ir.Local{Name: p.ast.Name}
		me := use(l)
		running := p.running(me)
		if p.ownsMemory() {
			running = yes
		}
		if p.lw.opts.window != nil {
			running = p.windowPlace(me)
		}
		p.lw.event(&event{kind: ir.Fault, name: "crash", what: Crash, fault: f, params: []ir.Param{{Local: l, Over: ir.In(p.set)}}, guard: running,
			body: p.crash(l), text: []any{"crashes"}, proc: p, me: me})
		p.lateCrashes(f)
	}
}

// windowPlace is true while the instance stands at the place of the window.
func (p *process) windowPlace(me ir.Expr) ir.Expr {
	for _, n := range p.nodes {
		if n.located() && p.lw.allows(p, n) {
			return same(load(p.pc, me), num(n.loc))
		}
	}
	return no
}

// crash ends the run at once: names, the open transaction and session locks are
// lost, the message is available again.
func (p *process) crash(l *ir.Local) []ir.Stmt {
	me := use(l)
	em := &emitter{lw: p.lw, p: p, self: l, me: me, from: bits{}, env: map[*ast.Var]value{}}
	out := p.trigger.crashed(em)
	out = append(out, p.loseMemory(em)...)
	out = append(out, p.forgetOwnRows(me)...)
	return append(out, p.drop(l)...)
}

// rollbackAny rolls back whatever transaction is open.
func (p *process) rollbackAny(em *emitter) []ir.Stmt {
	var out []ir.Stmt
	seen := map[*ast.Resource]bool{}
	for _, s := range p.ast.All {
		if s.Verb == ast.VerbTransaction && !seen[s.Resource] {
			seen[s.Resource] = true
			out = append(out, em.rollback(s)...)
		}
	}
	return append(out, em.releaseLocks(false)...)
}

// retention adds the budgeted loss of a committed row (R41), and the free end
// of its keeps: (R16).
func (lw *lowering) retention(t *table) {
	l := &ir.Local{Name: t.name + " row"}
	at := use(l)
	ok := and(t.visible(at, reader{}), not(t.locked(at, reader{})))
	gone := func() []ir.Stmt {
		out := append(lw.beforeCommit(t.ast.Resource), lw.monitors.rowRemoved(t, at)...)
		return append(out, t.remove(at)...)
	}
	for _, f := range lw.spec.Faults {
		if f.Kind != ast.FaultRetentionExpires || !retains(f, t.ast) {
			continue
		}
		lw.event(&event{kind: ir.Fault, name: "retention_expires", what: RetentionEnds, of: &about{table: t, at: at}, fault: lw.budget(f), params: []ir.Param{{Local: l, Over: t.over}},
			guard: ok, body: gone(), text: []any{"retention removes the row of ", t.name, " ", rowText{t, at}}})
	}
	if t.ast.Keeps == nil || t.ast.Keeps.None {
		return
	}
	lw.event(&event{kind: ir.Expiry, name: "keeps", what: RetentionEnds, of: &about{table: t, at: at, duration: t.ast.Keeps}, params: []ir.Param{{Local: l, Over: t.over}}, guard: and(ok, t.mayFire(at)), body: gone(),
		text: []any{"the row of ", t.name, " ", rowText{t, at}, " is older than ", t.ast.Keeps.Name, " and is removed"}})
}

func retains(f *ast.Fault, t *ast.Table) bool {
	if len(f.Tables) == 0 && len(f.Resources) == 0 {
		return true
	}
	for _, x := range f.Tables {
		if x == t {
			return true
		}
	}
	return hasResource(f.Resources, t.Resource)
}
