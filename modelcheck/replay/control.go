package replay

import (
	"fmt"
	"maps"
	"slices"

	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

// place is where a run stands: before a step, or before the commit of a block.
// Without a step the run has ended.
type place struct {
	step   *ast.Step
	commit bool
}

// String names the place as reports do.
func (p place) String() string {
	switch {
	case p.step == nil:
		return "the end of the run"
	case p.commit:
		return fmt.Sprintf("the commit of line %d", p.step.Pos.Line)
	case p.step.Label != "":
		return fmt.Sprintf("%s (line %d)", p.step.Label, p.step.Pos.Line)
	}
	return fmt.Sprintf("%s %s (line %d)", p.step.Verb, p.step.Subject, p.step.Pos.Line)
}

// control is the part of a run that touches nothing shared: names, jumps and
// retries. It carries out local steps and says what has to be done meanwhile.
type control struct {
	process *ast.Process
	names   *scope
	tries   map[*ast.Branch]int // retries taken
	repeats int                 // of the request by a hidden retry layer
	open    *ast.Step           // block whose transaction is open
	stopped bool                // by stop, not by coming to its end
	passed  []*ast.Duration     // lengths of time that pass when the next local step asks
	handed  func(operation Value)
	replied func(operation Value, class ast.Reply)
	// rollback undoes the open transaction, commit ends it in the middle of its
	// block; private carries out a step on memory of the worker's own.
	rollback func(block *ast.Step) error
	commit   func(block *ast.Step) error
	private  func(s *ast.Step) ending
	// tentative gives what puts that memory back as it is now.
	tentative func() (undo func())
}

// maxLocal bounds local steps in a row, as the model does.
const maxLocal = 200

// begin is the first place of a run.
func (c *control) begin(want place) (place, error) { return c.list(c.process.Steps, place{}, want) }

// list is the first place of a list of steps, or what follows it.
func (c *control) list(steps []*ast.Step, after, want place) (place, error) {
	if len(steps) == 0 {
		return after, nil
	}
	return c.settle(place{step: steps[0]}, want)
}

// behind is the place after a step in its list.
func (c *control) behind(s *ast.Step) place {
	list := c.process.Steps
	if s.Block != nil {
		list = s.Block.Do
	}
	switch {
	case s.Index+1 < len(list):
		return place{step: list[s.Index+1]}
	case s.Block == nil:
		return place{}
	case s.Block.Verb == ast.VerbTransaction:
		return place{step: s.Block, commit: true}
	}
	return c.behind(s.Block)
}

// settle carries out local steps from a place on, up to the next one that is a
// round trip. Where the author leaves a choice open, want says what the model
// has chosen.
func (c *control) settle(p, want place) (place, error) {
	for range maxLocal {
		s := p.step
		switch {
		case s == nil || p.commit:
			return p, nil
		case s.Verb == ast.VerbTransaction:
			c.open = s
			if len(s.Do) == 0 {
				return place{step: s, commit: true}, nil
			}
			p = place{step: s.Do[0]}
		case !s.Local():
			return p, nil
		case !s.Verb.Local():
			next, err := c.after(s, c.private(s), want)
			if err != nil {
				return place{}, err
			}
			p = next
		default:
			next, err := c.local(s, want)
			if err != nil {
				return place{}, err
			}
			p = next
		}
	}
	return place{}, fmt.Errorf("%s: steps without a round trip go round in a loop", c.process.Name)
}

// local carries out go, stop, fail, let or choose.
func (c *control) local(s *ast.Step, want place) (place, error) {
	if s.When != nil {
		if holds, err := c.when(s); err != nil || !holds {
			return c.behind(s), err
		}
	}
	switch s.Verb {
	case ast.VerbGo:
		return c.jump(s, s.Target)
	case ast.VerbStop:
		return c.stop()
	case ast.VerbFail:
		return c.fail(s)
	case ast.VerbLet:
		return c.behind(s), c.let(s)
	case ast.VerbChoose:
		return c.choose(s, want)
	}
	return place{}, fmt.Errorf("%s: %s is no local step", s.Pos, s.Verb)
}

// when decides the condition of a step. The lengths of time that it asks about
// pass now, if the model says so.
func (c *control) when(s *ast.Step) (bool, error) {
	ast.Walk(s.When, func(x ast.Expr) bool {
		if a, ok := x.(*ast.AgeOver); ok && slices.Contains(c.passed, a.Duration) {
			c.names.aged[a.Duration] = true
		}
		return true
	})
	v, err := c.names.eval(s.When)
	return v == true, err
}

// leads says whether the run gets to a place by way of a start, without doing
// anything.
func (c *control) leads(want place, start func(try *control) (place, error)) bool {
	try := *c
	try.names = c.names.clone()
	try.tries = maps.Clone(c.tries)
	try.rollback = func(*ast.Step) error { return nil }
	try.commit = try.rollback
	try.handed = func(Value) {}
	try.replied = func(Value, ast.Reply) {}
	defer c.tentative()()
	p, err := start(&try)
	if err == nil {
		p, err = try.settle(p, want)
	}
	return err == nil && p == want
}

// bind gives a name a value; it is new from now on.
func (c *control) bind(v *ast.Var, x Value) {
	c.names.vars[v] = x
	for _, s := range c.process.All {
		ast.Walk(s.When, func(e ast.Expr) bool {
			if a, ok := e.(*ast.AgeOver); ok {
				if of, ok := a.X.(*ast.VarRef); ok && of.Var == v {
					delete(c.names.aged, a.Duration)
				}
			}
			return true
		})
	}
}

func (c *control) let(s *ast.Step) error {
	for _, l := range s.Lets {
		if l.Declare {
			c.bind(l.Var, int64(l.Var.Lo))
			continue
		}
		v, err := c.names.eval(l.Value)
		if err != nil {
			return err
		}
		c.bind(l.Var, v)
	}
	return nil
}

// choose takes the alternative from which the run gets to where the model
// stands.
func (c *control) choose(s *ast.Step, want place) (place, error) {
	for i := range s.Choose {
		if c.leads(want, func(try *control) (place, error) { return try.jump(s, &s.Choose[i]) }) {
			return c.jump(s, &s.Choose[i])
		}
	}
	return place{}, fmt.Errorf("%s: no alternative leads to %s", s.Pos, want)
}

// jump goes to a target; leaving a transaction rolls it back (R7).
func (c *control) jump(from *ast.Step, t *ast.Target) (place, error) {
	to := c.target(from, t)
	if c.open == nil || to.commit && to.step == c.open || to.step != nil && to.step.Block == c.open {
		return to, nil
	}
	return to, c.undo()
}

func (c *control) target(from *ast.Step, t *ast.Target) place {
	switch t.Kind {
	case ast.ToStep:
		return place{step: t.Step}
	case ast.ToBlockEnd:
		if b := from.Block; b != nil {
			if b.Verb == ast.VerbTransaction {
				return place{step: b, commit: true}
			}
			return c.behind(b)
		}
	}
	return place{}
}

func (c *control) undo() error {
	if c.open == nil {
		return nil
	}
	block := c.open
	c.open = nil
	return c.rollback(block)
}

func (c *control) stop() (place, error) {
	c.stopped = true
	return place{}, c.undo()
}

// fail takes the step's error branch, or its block's.
func (c *control) fail(s *ast.Step) (place, error) {
	b := s.Branches[ast.OnError]
	if b == nil && s.Block != nil {
		b = s.Block.Branches[ast.OnError]
	}
	return c.failed(s, b)
}

// failed: after a definite error the transaction is rolled back.
func (c *control) failed(s *ast.Step, b *ast.Branch) (place, error) {
	if err := c.undo(); err != nil {
		return place{}, err
	}
	return c.branch(s, b)
}

// after says where the run goes once a step has ended, local steps not
// included.
func (c *control) after(s *ast.Step, e ending, want place) (place, error) {
	for v, x := range e.binds {
		c.bind(v, x)
	}
	if e.left != nil { // a script was left at this step
		return c.leave(e, want)
	}
	if e.stays {
		return place{step: s}, nil
	}
	if e.done {
		if s.As != nil && s.Verb != ast.VerbTransaction {
			c.bind(s.As, e.value)
		}
		c.repeats = 0
		if s == c.open && e.committed {
			c.open = nil
		}
		return c.behind(s), nil
	}
	if s.As != nil {
		delete(c.names.vars, s.As)
	}
	b := s.Branches[e.branch]
	switch {
	case e.branch == ast.OnUnknown:
		return c.unknown(s, b)
	case e.branch == ast.OnError:
		return c.failed(s, b)
	case b == nil && e.branch == ast.IfExists:
		return c.failed(s, s.Branches[ast.OnError])
	}
	return c.branch(s, b)
}

// leave continues where a script was left: at one of its jumps, or by a branch.
func (c *control) leave(e ending, want place) (place, error) {
	s := e.left
	if s.Verb.Local() {
		switch s.Verb {
		case ast.VerbGo:
			return c.jump(s, s.Target)
		case ast.VerbFail:
			return c.fail(s)
		}
		return c.stop()
	}
	e.left, e.binds = nil, nil
	return c.after(s, e, want)
}

// unknown takes the branch for "no answer", unless a layer below repeats the
// request by itself.
func (c *control) unknown(s *ast.Step, b *ast.Branch) (place, error) {
	if err := c.undo(); err != nil {
		return place{}, err
	}
	if s.Resource != nil && c.repeats < s.Resource.HiddenRetry {
		c.repeats++
		return place{step: s}, nil
	}
	c.repeats = 0
	return c.branch(s, b)
}

// branch goes where an outcome leads.
func (c *control) branch(s *ast.Step, b *ast.Branch) (place, error) {
	if b == nil || b.Kind == ast.BranchStop {
		return c.stop()
	}
	if b.Kind == ast.BranchAskHuman {
		c.handed(c.subject())
		return c.stop()
	}
	switch b.Kind {
	case ast.BranchGo:
		return c.jump(s, b.Target)
	case ast.BranchContinue:
		return c.continueAfter(s), nil
	case ast.BranchRetry:
		return c.retry(s, b)
	case ast.BranchReply:
		c.replied(c.subject(), b.Reply)
		return c.stop()
	case ast.BranchCommit:
		block := c.open
		if c.open = nil; block != nil {
			if err := c.commit(block); err != nil {
				return place{}, err
			}
		}
		return c.target(s, b.Target), nil
	}
	return c.stop()
}

// continueAfter goes on after the step; after a block that was rolled back,
// behind it.
func (c *control) continueAfter(s *ast.Step) place {
	if s.Block != nil && s.Block.Verb == ast.VerbTransaction && c.open == nil {
		return c.behind(s.Block)
	}
	return c.behind(s)
}

// retry carries out the step, or its block, again.
func (c *control) retry(s *ast.Step, b *ast.Branch) (place, error) {
	again := place{step: s}
	if s.Block != nil && s.Block.Verb == ast.VerbTransaction && c.open == nil {
		again = place{step: s.Block}
	}
	if b.Times >= 0 {
		if c.tries[b] == b.Times {
			return c.branch(s, b.Then)
		}
		c.tries[b]++
	}
	return again, nil
}

// subject is the operation that the run is about.
func (c *control) subject() Value {
	as := c.process.Trigger.As
	if as == nil {
		return nil
	}
	v := c.names.vars[as]
	if op := field(v, "op"); op != nil {
		return op
	}
	return v
}

// standsAt is where the model stands after an event.
func standsAt(e *lower.Event) place { return place{step: e.Next, commit: e.NextCommit} }
