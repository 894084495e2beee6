package lower

import (
	"fmt"
	"slices"

	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// Restarts and failovers of stores (R37, R41), and what a crash takes from the
// memory of a process (L).

// kvEvents adds the faults of a kv or memory.
func (lw *lowering) kvEvents(r *ast.Resource) {
	t := lw.kvs[r]
	for _, f := range lw.faultsOn(ast.FaultRestart, r) {
		if !f.fault.LosesMemory {
			continue // a kv with persistence: nothing changes
		}
		filled := t.some(func(at ir.Expr) ir.Expr { return t.there(at) })
		lw.event(&event{kind: ir.Fault, name: "restart", what: Restart, of: &about{resource: r}, fault: f, guard: filled, body: t.clearAll(),
			text: []any{r.Name + " restarts and has lost its memory"}})
	}
	for _, f := range lw.faultsOn(ast.FaultFailover, r) {
		t.failsOver(f)
	}
}

// there is true if the record is in use.
func (t *table) there(at ir.Expr) ir.Expr {
	if t.pool != nil {
		return yes
	}
	return load(t.used, at)
}

// clearAll removes every record.
func (t *table) clearAll() []ir.Stmt {
	return t.each(func(at ir.Expr) []ir.Stmt { return when(t.there(at), t.remove(at), nil) })
}

// lastWrites are the undo records of a kv whose failover loses acknowledged
// writes: what was under the key before each of the last writes. A script is one
// write, whatever it writes: engines replicate it as a whole.
type lastWrites struct {
	slots  []*lastWrite // newest first
	script int          // the most that a script writes
}

type lastWrite struct {
	set   *ir.Var // something was written
	older *ir.Var // by the script that made the next older record too; nil: no script writes twice
	timed *ir.Var // the key had a ttl; nil: none ever has
	key   *column
	place *ir.Var // of an array, instead of the key
	used  *ir.Var // the key was there before
	value *column
}

// makeFailover gives a kv its undo records.
func (lw *lowering) makeFailover(t *table) {
	n := 0
	for _, f := range lw.faultsOn(ast.FaultFailover, t.kv) {
		n = max(n, max(f.fault.LosesLast, 1))
	}
	if n == 0 {
		return
	}
	t.last = &lastWrites{script: lw.writesOfScripts(t.kv)}
	for i := 1; i <= n*t.last.script; i++ {
		v := func(name string, ty ir.Type) *ir.Var {
			return lw.variable(&ir.Var{Name: fmt.Sprintf("%s write %d %s", t.name, i, name), Type: ty, Initial: cleared(ty)})
		}
		w := &lastWrite{set: v("made", ir.Type{Kind: ir.Bool}), used: v("over", ir.Type{Kind: ir.Bool})}
		if t.last.script > 1 {
			w.older = v("of the same script", ir.Type{Kind: ir.Bool})
		}
		if t.ttl != nil {
			w.timed = v("had a ttl", ir.Type{Kind: ir.Bool})
		}
		if t.pool == nil {
			ty := refTo(t.over.Set)
			ty.Optional = true
			w.place = v("key", ty)
		} else {
			w.key = &column{name: "key"}
			for _, pt := range t.column("key").parts {
				w.key.parts = append(w.key.parts, pt)
				w.key.vars = append(w.key.vars, v("key"+pt.key, optionalRef(pt.typ)))
			}
		}
		if c := t.column("value"); c != nil {
			w.value = &column{name: "value"}
			for _, pt := range c.parts {
				w.value.parts = append(w.value.parts, pt)
				w.value.vars = append(w.value.vars, v("value"+pt.key, optionalRef(pt.typ)))
			}
		}
		t.last.slots = append(t.last.slots, w)
	}
}

// writesOfScripts is the most that one script writes to a kv; at least 1.
func (lw *lowering) writesOfScripts(r *ast.Resource) int {
	most := 1
	for _, s := range lw.allSteps() {
		n := 0
		for _, d := range s.Do {
			if s.Verb == ast.VerbScript && d.Resource == r && writesKV(d.Verb) {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

func writesKV(v ast.Verb) bool {
	return v == ast.VerbPut || v == ast.VerbPutNew || v == ast.VerbRemove || v == ast.VerbExpire
}

func (w *lastWrite) all() []*ir.Var {
	out := []*ir.Var{w.set, w.used}
	for _, v := range []*ir.Var{w.place, w.older, w.timed} {
		if v != nil {
			out = append(out, v)
		}
	}
	if w.key != nil {
		out = append(out, w.key.vars...)
	}
	if w.value != nil {
		out = append(out, w.value.vars...)
	}
	return out
}

// inOneScript says whether the step is one of a script.
func inOneScript(s *ast.Step) bool { return s.Block != nil && s.Block.Verb == ast.VerbScript }

// noteWrite remembers, before a write to an entry, what it overwrites.
func (e *entry) noteWrite(s *ast.Step) []ir.Stmt {
	t := e.t
	if t.last == nil {
		return nil
	}
	again := 0 // writes of this script before
	if inOneScript(s) {
		for _, x := range e.em.wrote {
			if x == t {
				again++
			}
		}
		e.em.wrote = append(slices.Clone(e.em.wrote), t)
	}
	if again >= t.last.script {
		return []ir.Stmt{ir.Cut{Reason: fmt.Sprintf("a script goes round in a loop and writes more than %d times to %s", again, t.name)}}
	}
	var out []ir.Stmt
	for i := len(t.last.slots) - 1; i > 0; i-- {
		from, to := t.last.slots[i-1].all(), t.last.slots[i].all()
		for k := range to {
			out = append(out, set(to[k], load(from[k])))
		}
	}
	w := t.last.slots[0]
	out = append(out, set(w.set, yes), set(w.used, e.there(nil)))
	if w.older != nil {
		out = append(out, set(w.older, map[bool]ir.Expr{false: no, true: yes}[again > 0]))
	}
	if w.timed != nil {
		out = append(out, set(w.timed, e.there(func(at ir.Expr) ir.Expr { return load(t.ttl.running, at) })))
	}
	if w.place != nil {
		out = append(out, set(w.place, e.at))
	} else {
		for i, pt := range w.key.parts {
			out = append(out, set(w.key.vars[i], orInitial(e.key.at(pt.key), w.key.vars[i])))
		}
	}
	if w.value == nil {
		return out
	}
	for _, v := range w.value.vars {
		out = append(out, set(v, num(v.Initial)))
	}
	return append(out, e.do(func(at ir.Expr) []ir.Stmt {
		var in []ir.Stmt
		c := t.column("value")
		for i := range w.value.vars {
			in = append(in, set(w.value.vars[i], load(c.vars[i], at)))
		}
		return in
	})...)
}

func orInitial(e ir.Expr, v *ir.Var) ir.Expr {
	if n, ok := constant(e); ok && n == ir.None && !v.Type.Optional {
		return num(v.Initial)
	}
	return e
}

// failsOver undoes the last acknowledged write, whichever key it was.
func (t *table) failsOver(f *budget) {
	if t.last == nil {
		return
	}
	var body []ir.Stmt
	lose := max(f.fault.LosesLast, 1)
	newer := num(0) // writes that are newer than the record
	for _, w := range t.last.slots {
		body = append(body, when(and(load(w.set), order(ir.Lt, newer, num(lose))), t.restore(w), nil)...)
		if w.older == nil {
			newer = sum(ir.Add, newer, num(1))
		} else {
			newer = sum(ir.Add, newer, pick(load(w.older), num(0), num(1)))
		}
	}
	for _, w := range t.last.slots {
		for _, v := range w.all() {
			body = append(body, set(v, num(v.Initial)))
		}
	}
	t.lw.event(&event{kind: ir.Fault, name: "failover", what: Failover, of: &about{resource: t.kv, number: num(lose)}, fault: f, guard: load(t.last.slots[0].set), body: body,
		text: []any{fmt.Sprintf("%s fails over and loses the last %d acknowledged write(s)", t.name, lose)}})
}

func (t *table) restore(w *lastWrite) []ir.Stmt {
	cells := map[string]value{}
	if w.value != nil {
		cells["value"] = columnValue(w.value)
	}
	if w.place != nil {
		at := load(w.place)
		back := append([]ir.Stmt{set(t.used, yes, at)}, t.write(at, cells)...)
		back = append(back, t.restoreTTL(w, at)...)
		return when(load(w.used), back, t.remove(at))
	}
	key := columnValue(w.key)
	is := func(at ir.Expr) ir.Expr { return equal(t.get("key", at, reader{}), key) }
	l := &ir.Local{Name: "there"}
	overwrite := t.each(func(at ir.Expr) []ir.Stmt {
		return when(is(at), append(t.write(at, cells), t.restoreTTL(w, at)...), nil)
	})
	make := t.insert(map[string]value{"key": key, "value": cells["value"]}, func(at ir.Expr) []ir.Stmt { return t.restoreTTL(w, at) })
	gone := t.each(func(at ir.Expr) []ir.Stmt { return when(is(at), t.remove(at), nil) })
	return append([]ir.Stmt{ir.Let{Local: l, Value: t.some(is)}}, when(load(w.used), when(use(l), overwrite, make), gone)...)
}

// restoreTTL: a ttl runs again, for nobody; how much of it had passed is not
// kept.
func (t *table) restoreTTL(w *lastWrite, at ir.Expr) []ir.Stmt {
	if w.timed == nil {
		return nil
	}
	runs := append([]ir.Stmt{set(t.ttl.running, yes, at)}, t.ttl.drop(at)...)
	runs = append(runs, t.ttl.class.started(t.lw, at)...)
	return when(load(w.timed), runs, append([]ir.Stmt{set(t.ttl.running, no, at)}, t.ttl.drop(at)...))
}

func columnValue(c *column) value {
	var ls []leaf
	for i, pt := range c.parts {
		ls = append(ls, leaf{pt.key, c.vars[i].Type, load(c.vars[i])})
	}
	return newValue(ls...)
}

// queueEvents: a restart makes held messages available; with loses: memory all
// messages are gone.
func (lw *lowering) queueEvents(r *ast.Resource) {
	q := lw.queues[r]
	q.windowEnds()
	q.replays()
	for _, f := range lw.faultsOn(ast.FaultRestart, r) {
		var body []ir.Stmt
		if f.fault.LosesMemory {
			body = q.each(func(m message) []ir.Stmt { return q.vanish(m) })
			body = append(body, q.letGo()...)
			if q.moved != nil {
				body = append(body, q.sweep()...)
			}
		} else {
			body = q.allBack()
		}
		lw.event(&event{kind: ir.Fault, name: "restart", what: Restart, of: &about{resource: r}, fault: f, guard: yes, body: body, text: []any{r.Name + " restarts"}})
	}
}

func (q *queue) vanish(m message) []ir.Stmt {
	if q.pool != nil {
		return q.leaves(m)
	}
	return []ir.Stmt{set(q.avail, num(0), m...), set(q.acked, yes, m...)}
}

// letGo: nobody holds anything any more.
func (q *queue) letGo() []ir.Stmt {
	var out []ir.Stmt
	for _, t := range q.holders {
		w := &ir.Local{Name: t.p.ast.Name}
		body := []ir.Stmt{set(t.held, num(notHeld), use(w))}
		if t.tag != nil {
			body = append(body, set(t.tag, none, use(w)))
		}
		out = append(out, ir.ForEach{Local: w, Over: ir.In(t.p.set), Body: body})
	}
	return out
}

// allBack: every held message is available again; its holders go on.
func (q *queue) allBack() []ir.Stmt {
	if q.avail != nil {
		return q.each(func(m message) []ir.Stmt {
			live := yes
			if q.acked != nil {
				live = not(load(q.acked, m...))
			}
			return when(and(live, q.heldBySome(m)), q.back(m), nil)
		})
	}
	var out []ir.Stmt
	for _, t := range q.holders {
		w := &ir.Local{Name: t.p.ast.Name}
		em := &emitter{lw: q.lw, p: t.p, self: w, me: use(w)}
		body := when(same(load(t.held, use(w)), num(held)), append(q.returned(em, t.p.shown(t.as(), use(w))), set(t.held, num(notHeld), use(w))), nil)
		out = append(out, ir.ForEach{Local: w, Over: ir.In(t.p.set), Body: body})
	}
	return out
}

// sqlEvents: a restart of a database rolls back open transactions and ends
// session locks; clients with a run in progress get an error at their next step
// there. session_lost ends one session lock.
func (lw *lowering) sqlEvents(r *ast.Resource) {
	lw.sessionsLost(r)
	for _, f := range lw.faultsOn(ast.FaultRestart, r) {
		var body []ir.Stmt
		for _, p := range lw.order {
			v := p.cutOff[r]
			if v == nil {
				continue
			}
			w := &ir.Local{Name: p.ast.Name}
			em := &emitter{lw: lw, p: p, self: w, me: use(w)}
			inner := p.rollbackOn(em, r)
			inner = append(inner, set(v, yes, use(w)))
			body = append(body, ir.ForEach{Local: w, Over: ir.In(p.set), Body: when(p.running(use(w)), inner, nil)})
		}
		if lt := lw.locks[r]; lt != nil {
			body = append(body, lt.clearAll()...)
		}
		lw.event(&event{kind: ir.Fault, name: "restart", what: Restart, of: &about{resource: r}, fault: f, guard: yes, body: body, text: []any{r.Name + " restarts: open transactions are rolled back"}})
	}
}

func (p *process) rollbackOn(em *emitter, r *ast.Resource) []ir.Stmt {
	for _, s := range p.ast.All {
		if s.Verb == ast.VerbTransaction && s.Resource == r {
			return em.rollback(s)
		}
	}
	return nil
}

// makeCutOff gives instances the flag "its connection is gone" where a sql
// resource can restart.
func (p *process) makeCutOff() {
	p.cutOff = map[*ast.Resource]*ir.Var{}
	for _, s := range p.ast.All {
		r := s.Resource
		if r == nil || r.Kind != ast.SQLKind || p.cutOff[r] != nil || len(p.lw.faultsOn(ast.FaultRestart, r)) == 0 {
			continue
		}
		p.cutOff[r] = p.perInstance("cut off from "+r.Name, ir.Type{Kind: ir.Bool})
	}
}

// Memory.

// ownsMemory: an idle instance that owns memory can crash too.
func (p *process) ownsMemory() bool {
	for _, r := range p.lw.spec.Resources {
		if r.Kind == ast.MemoryKind && p.uses(r) {
			return true
		}
		if r.Kind == ast.LogKind && p.ast.Trigger.Queue == r {
			return true // it owns a partition and a position in it
		}
	}
	return false
}

func (p *process) uses(r *ast.Resource) bool {
	for _, s := range p.ast.All {
		if s.Resource == r {
			return true
		}
	}
	return false
}

// loseMemory: memory is lost at a crash of its instance. Memory per process
// belongs to one multi-threaded program: the crash ends all its runs.
func (p *process) loseMemory(em *emitter) []ir.Stmt {
	var out []ir.Stmt
	for _, r := range p.lw.spec.Resources {
		if r.Kind != ast.MemoryKind || !p.uses(r) {
			continue
		}
		t := p.lw.kvs[r]
		if owner := t.column("owner"); owner != nil {
			out = append(out, t.each(func(at ir.Expr) []ir.Stmt { return when(same(load(owner.vars[0], at), em.me), t.remove(at), nil) })...)
			continue
		}
		out = append(out, t.clearAll()...)
		if r.KV.Scope == ast.PerProcess {
			for _, q := range p.lw.order {
				if !q.uses(r) || q == p && p.set.Size == 1 {
					continue
				}
				w := &ir.Local{Name: "other " + q.ast.Name}
				running := q.running(use(w))
				if q == p {
					running = and(running, not(same(use(w), em.me)))
				}
				out = append(out, ir.ForEach{Local: w, Over: ir.In(q.set), Body: when(running, q.endWith(w), nil)})
			}
		}
	}
	return out
}

// endWith ends the run of an instance that goes down with another one.
func (p *process) endWith(l *ir.Local) []ir.Stmt {
	em := &emitter{lw: p.lw, p: p, self: l, me: use(l), from: bits{}, env: map[*ast.Var]value{}}
	out := p.trigger.crashed(em)
	return append(out, p.drop(l)...)
}

// drop forgets everything an instance holds, and makes it idle.
func (p *process) drop(l *ir.Local) []ir.Stmt {
	me := use(l)
	em := &emitter{lw: p.lw, p: p, self: l, me: me, from: bits{}, env: map[*ast.Var]value{}}
	out := p.rollbackAny(em)
	out = append(out, p.releaseTimers(me, true)...)
	out = append(out, p.stopAges(me)...)
	for _, s := range p.slots {
		if s.ir != nil {
			out = append(out, set(s.ir, num(s.ir.Initial), me))
		}
	}
	for _, v := range p.extra {
		out = append(out, set(v, num(v.Initial), me))
	}
	return append(out, set(p.pc, num(0), me))
}
