package lower

import (
	"time"

	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// clock is a resource of kind clock: time is the last of its breakpoints that
// has passed (0 before the first). A timer of length D that was started at
// breakpoint b is due once a breakpoint b' with b' - b >= D has passed, so sums of
// durations are judged, which the order of R18 alone does not do. Time does not
// pass a breakpoint while a timer without a holder that is due has not fired.
type clock struct {
	now   *ir.Var
	times []time.Duration
	r     *ast.Resource
}

func (lw *lowering) makeClock(r *ast.Resource) {
	c := &clock{r: r, times: []time.Duration{0}}
	for _, b := range r.Clock.Breakpoints {
		c.times = append(c.times, b.Length)
	}
	c.now = lw.variable(&ir.Var{Name: r.Name, Type: ir.Type{Kind: ir.Range, Lo: 0, Hi: len(c.times) - 1}})
	lw.clock = c
}

// clocked says whether the class is judged by the clock.
func (c *timerClass) clocked() bool {
	return c != nil && c.lw.clock != nil && c.duration != nil && !c.duration.None && c.duration.Length > 0
}

// startVars gives every timer the breakpoint at which it was started.
func (lw *lowering) startVars() {
	if lw.clock == nil {
		return
	}
	for _, c := range lw.classes {
		if c.clocked() {
			c.start = lw.variable(&ir.Var{Name: c.name + " started at", Index: []ir.Index{c.over}, Type: lw.clock.now.Type})
		}
	}
}

// due is true if the timer's time is over.
func (c *timerClass) due(i ir.Expr) ir.Expr {
	k := c.lw.clock
	out := no
	for s, from := range k.times {
		for j, t := range k.times {
			if t-from >= c.duration.Length {
				out = or(out, and(same(load(c.start, i), num(s)), order(ir.Le, num(j), load(k.now))))
				break
			}
		}
	}
	return out
}

// passes adds the step by which time passes a breakpoint.
func (k *clock) passes(lw *lowering) {
	late := no
	for _, c := range lw.classes {
		if c.start == nil || c.held {
			continue
		}
		l := &ir.Local{Name: c.name}
		late = or(late, exists(l, c.over, and(c.running(use(l)), c.due(use(l)))))
	}
	for i, b := range k.r.Clock.Breakpoints {
		lw.event(&event{kind: ir.Expiry, name: "time passes", what: TimePasses, of: &about{resource: k.r, duration: b}, guard: and(same(load(k.now), num(i)), not(late)), body: []ir.Stmt{set(k.now, num(i+1))},
			text: []any{b.Name + " have passed"}})
	}
}
