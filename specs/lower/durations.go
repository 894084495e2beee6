package lower

import (
	"fmt"

	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// The order of timers (R18). A timer x may not fire while an unfired timer y
// runs that started no later and is shorter (or as long and started earlier).
// Only durations that the spec names under `durations:` are compared, and only
// pairs of them: nothing is deduced from sums.
//
// A class of timers is one place of the spec: the rows of a table with keeps:,
// the entries of a kv with a ttl, an age() of a name, the replay window of an
// operation. For each pair of classes whose order matters there is a flag per
// pair of timers: "y was running when x started".

// timerClass is the timers of one place.
type timerClass struct {
	lw       *lowering
	name     string
	duration *ast.Duration
	over     ir.Index
	running  func(i ir.Expr) ir.Expr
	// older[y] is over (timers of this class, timers of y).
	older map[*timerClass]*ir.Var
	// start is the breakpoint of the clock at which a timer was started; held:
	// its holder may renew it, so time does not wait for it.
	start *ir.Var
	held  bool
}

// timedClass registers a class of timers.
func (lw *lowering) timerClass(name string, d *ast.Duration, over ir.Index, running func(i ir.Expr) ir.Expr) *timerClass {
	c := &timerClass{lw: lw, name: name, duration: d, over: over, running: running, older: map[*timerClass]*ir.Var{}}
	lw.classes = append(lw.classes, c)
	return c
}

// orderTimers makes the flags once all classes are known.
func (lw *lowering) orderTimers() {
	lw.startVars()
	for _, x := range lw.classes {
		for _, y := range lw.classes {
			if !lw.blocks(y, x) {
				continue
			}
			x.older[y] = lw.variable(&ir.Var{Name: fmt.Sprintf("%s started after %s", x.name, y.name), Index: []ir.Index{x.over, y.over}, Type: ir.Type{Kind: ir.Bool}})
		}
	}
}

// Inequality is an order of two durations that decides a verdict.
type Inequality struct{ Shorter, Longer *ast.Duration }

// blocks says whether a running y keeps x from firing.
func (lw *lowering) blocks(y, x *timerClass) bool {
	a, b := y.duration, x.duration
	if x.clocked() && y.clocked() {
		return false // the clock orders them
	}
	if a == nil || b == nil || a.None || b.None {
		return false
	}
	if a == b {
		return !a.Inline
	}
	if lw.opts.longer != nil {
		switch {
		case a == lw.opts.shorter && b == lw.opts.longer:
			return true
		case a == lw.opts.longer && b == lw.opts.shorter:
			return false
		}
	}
	for _, s := range lw.spec.Assume {
		if s.Kind != ast.AssumeOrder {
			continue
		}
		if s.Less == a && s.More == b {
			return true
		}
		if s.Less == b && s.More == a {
			return false
		}
	}
	if a.Inline || b.Inline || a.Length == 0 || b.Length == 0 {
		return false
	}
	return a.Length <= b.Length
}

// started notes, for timer i of the class, which timers were running already.
func (c *timerClass) started(lw *lowering, i ir.Expr) []ir.Stmt {
	if c == nil {
		return nil
	}
	var out []ir.Stmt
	if c.start != nil {
		out = append(out, set(c.start, load(lw.clock.now), i))
	}
	for _, y := range lw.classes {
		v := c.older[y]
		if v == nil {
			continue
		}
		l := &ir.Local{Name: y.name}
		run := y.running(use(l))
		if y == c {
			run = and(run, not(same(use(l), i)))
		}
		out = append(out, ir.ForEach{Local: l, Over: y.over, Body: []ir.Stmt{set(v, run, i, use(l))}})
	}
	return out
}

// stopped forgets timer i: it holds nobody back any more.
func (c *timerClass) stopped(lw *lowering, i ir.Expr) []ir.Stmt {
	if c == nil {
		return nil
	}
	var out []ir.Stmt
	if c.start != nil {
		out = append(out, set(c.start, num(0), i))
	}
	for _, x := range lw.classes {
		v := x.older[c]
		if v == nil {
			continue
		}
		l := &ir.Local{Name: x.name}
		out = append(out, ir.ForEach{Local: l, Over: x.over, Body: []ir.Stmt{set(v, no, use(l), i)}})
	}
	for _, y := range lw.classes {
		v := c.older[y]
		if v == nil {
			continue
		}
		l := &ir.Local{Name: y.name}
		out = append(out, ir.ForEach{Local: l, Over: y.over, Body: []ir.Stmt{set(v, no, i, use(l))}})
	}
	return out
}

// mayFire is true if no shorter timer that started earlier is still running.
func (c *timerClass) mayFire(lw *lowering, i ir.Expr) ir.Expr {
	if c == nil {
		return yes
	}
	if c.start != nil {
		return c.due(i)
	}
	out := no
	for _, y := range lw.classes {
		if v := c.older[y]; v != nil {
			l := &ir.Local{Name: y.name}
			out = or(out, exists(l, y.over, and(y.running(use(l)), load(v, i, use(l)))))
		}
	}
	return not(out)
}

// timed gives the records of a table a retention timer.
func (t *table) timed(d *ast.Duration) {
	t.retention = t.lw.timerClass(t.name, d, t.over, func(i ir.Expr) ir.Expr {
		run := t.visible(i, reader{})
		if t.pool == nil {
			run = and(load(t.used, i), run)
		}
		return run
	})
}

func (t *table) startTimed(at ir.Expr) []ir.Stmt {
	if t.retention == nil {
		return nil
	}
	return t.retention.started(t.lw, at)
}

func (t *table) mayFire(at ir.Expr) ir.Expr { return t.retention.mayFire(t.lw, at) }

// ageTimer is age(NAME) > D of a process: it starts when the name is bound.
type ageTimer struct {
	v     *ast.Var
	d     *ast.Duration
	state *ir.Var // not started, running, fired
	class *timerClass
}

const (
	ageNone = iota
	ageRuns
	ageOver
)

// makeAges finds the names whose age somebody asks for.
func (p *process) makeAges() {
	for _, s := range p.ast.All {
		for _, e := range expressions(s) {
			ast.Walk(e, func(c ast.Expr) bool {
				a, ok := c.(*ast.AgeOver)
				if !ok {
					return true
				}
				if r, ok := a.X.(*ast.VarRef); ok {
					p.ageTimer(r.Var, a.Duration)
				} else {
					p.lw.problem(a.Position(), "age() asks for a name that this process binds, found %s", a.X)
				}
				return true
			})
		}
	}
}

func (p *process) ageTimer(v *ast.Var, d *ast.Duration) *ageTimer {
	for _, a := range p.ages {
		if a.v == v && a.d == d {
			return a
		}
	}
	a := &ageTimer{v: v, d: d}
	a.state = p.perInstance("age of "+v.Name+" over "+d.Name, ir.Type{Kind: ir.Range, Lo: 0, Hi: ageOver})
	a.class = p.lw.timerClass("age of "+v.Name+" in "+p.ast.Name, d, ir.In(p.set), func(i ir.Expr) ir.Expr { return same(load(a.state, i), num(ageRuns)) })
	p.ages = append(p.ages, a)
	p.stallable()
	return a
}

// startAge restarts the timers of a name that is bound anew.
func (em *emitter) startAge(v *ast.Var) []ir.Stmt {
	var out []ir.Stmt
	for _, a := range em.p.ages {
		if a.v == v {
			out = append(out, a.class.stopped(em.lw, em.me)...)
			out = append(out, set(a.state, num(ageRuns), em.me))
			out = append(out, a.class.started(em.lw, em.me)...)
		}
	}
	return out
}

// ageOver is age(x) > D: the timer started with the name has fired.
func (sc scope) ageOver(x *ast.AgeOver) ir.Expr {
	r, ok := x.X.(*ast.VarRef)
	if !ok || sc.proc == nil {
		return no
	}
	return same(load(sc.proc.ageTimer(r.Var, x.Duration).state, sc.me), num(ageOver))
}

// stopAges: when a run ends its timers hold nobody back.
func (p *process) stopAges(me ir.Expr) []ir.Stmt {
	var out []ir.Stmt
	for _, a := range p.ages {
		out = append(out, a.class.stopped(p.lw, me)...)
	}
	return out
}

// timePasses decides, where a local step asks for an age, whether the timer has
// fired by now: a run that works does not pause between its steps, so its own
// clock moves on while it waits for answers, and the question is when it is
// asked. (Without this, "not yet too old" could be answered, the key forgotten by
// the provider, and the call sent all the same: that takes a stall.)
func (em *emitter) timePasses(e ast.Expr) []ir.Stmt {
	var out []ir.Stmt
	ast.Walk(e, func(c ast.Expr) bool {
		x, ok := c.(*ast.AgeOver)
		if !ok {
			return true
		}
		r, ok := x.X.(*ast.VarRef)
		if ok && (em.lw.clock != nil || em.oracle.choose(2) == 1) {
			a := em.p.ageTimer(r.Var, x.Duration)
			*em.passes = append(*em.passes, a)
			out = append(out, when(and(same(load(a.state, em.me), num(ageRuns)), a.class.mayFire(em.lw, em.me)), a.fire(em.me), nil)...)
		}
		return false
	})
	return out
}

func (a *ageTimer) fire(me ir.Expr) []ir.Stmt {
	return append([]ir.Stmt{set(a.state, num(ageOver), me)}, a.class.stopped(a.class.lw, me)...)
}

// agesPass: a stalled run is older when it goes on.
func (p *process) agesPass() {
	for _, a := range p.ages {
		l := &ir.Local{Name: p.ast.Name}
		p.lw.expiry(&expiring{name: "age", what: AgePasses, of: &about{process: p, me: use(l), duration: a.d}, live: &holding{p: p, me: use(l), slow: p.hasSlow()}, params: []ir.Param{{Local: l, Over: ir.In(p.set)}},
			guard: and(same(load(a.state, use(l)), num(ageRuns)), a.class.mayFire(p.lw, use(l))),
			body:  func() []ir.Stmt { return a.fire(use(l)) },
			text:  []any{a.v.Name + " of ", workerText{p, use(l)}, " is older than " + a.d.Name}})
	}
}
