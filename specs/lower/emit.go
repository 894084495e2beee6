package lower

import (
	"fmt"
	"maps"
	"slices"

	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// emitter writes the body of one action: the outcome of one round trip and all
// local steps up to the next location, or the end of the run.
type emitter struct {
	lw   *lowering
	p    *process
	self *ir.Local
	me   ir.Expr
	env  map[*ast.Var]value // bound names; absent: none
	from bits               // slots that hold something when the action starts
	in   *node              // begin node of the open transaction, nil outside

	by   *process // see reader.by
	byMe ir.Expr

	oracle  *oracle
	chose   bool // a `choose` was met
	unfair  bool // one that is not fair
	freshes int
	depth   int
	turns   int // messages of a batch that the body has gone on to
	// lostScript is the script whose answer is lost: when it ends, the run takes
	// the branch for "no answer".
	lostScript *node
	wrote      []*table     // kv stores that the script has written to, once a write
	passes     *[]*ageTimer // that fire where the body asks, if they may
	gets       []get        // of this action, not judged yet
	// failing is set while a branch is taken because of an error or a lost
	// answer: a run that then stops has not come to its end.
	failing bool
}

// oracle enumerates the choices made while a body is emitted: one action for
// each combination.
type oracle struct {
	path []int
	size []int
	at   int
}

// choose gives the next choice of 0..n-1.
func (o *oracle) choose(n int) int {
	if o.at == len(o.path) {
		o.path = append(o.path, 0)
		o.size = append(o.size, n)
	}
	o.at++
	return o.path[o.at-1]
}

// next moves to the next combination, false when there is none.
func (o *oracle) next() bool {
	o.path, o.size = o.path[:o.at], o.size[:o.at]
	o.at = 0
	for i := len(o.path) - 1; i >= 0; i-- {
		if o.path[i]++; o.path[i] < o.size[i] {
			o.path, o.size = o.path[:i+1], o.size[:i+1]
			return true
		}
	}
	return false
}

// emitter starts a body at a node (nil: idle).
func (p *process) emitter(n *node) *emitter {
	em := &emitter{lw: p.lw, p: p, self: p.self, env: map[*ast.Var]value{}, from: bits{}, oracle: &oracle{}, passes: new([]*ageTimer)}
	em.me = use(em.self)
	if n != nil {
		em.in = n.block
		if n.kind == commitNode {
			em.in = p.nodes[p.at[n.step]]
		}
		em.from = n.live
		em.env = p.namesAt(n, em.me)
	}
	return em
}

// namesAt is what the bound names of an instance hold at a location.
func (p *process) namesAt(n *node, me ir.Expr) map[*ast.Var]value {
	env := map[*ast.Var]value{}
	for _, v := range p.ast.Vars {
		var ls []leaf
		for _, s := range p.byVar[v] {
			if s.ir != nil && n.live[s.id] {
				ls = append(ls, leaf{s.key, s.typ, load(s.ir, me)})
			}
		}
		if v == p.ast.Trigger.As && p.onlyTrigger(v) {
			stored := newValue(ls...)
			env[v] = stored.with(p.trigger.derived(stored)...)
			continue
		}
		env[v] = newValue(ls...)
	}
	return env
}

// onlyTrigger says whether nothing but the trigger binds the name.
func (p *process) onlyTrigger(v *ast.Var) bool {
	for _, n := range p.nodes {
		for _, b := range bound(n) {
			if b == v {
				return false
			}
		}
	}
	return true
}

// again makes a copy that starts the same body anew, with the next choices.
func (em *emitter) again() *emitter {
	c := *em
	c.env = maps.Clone(em.env)
	c.freshes, c.depth, c.turns, c.chose, c.unfair = 0, 0, 0, false, false
	c.wrote, c.passes = nil, new([]*ageTimer)
	return &c
}

// branchOf is a copy for one arm of a conditional.
func (em *emitter) arm() *emitter {
	c := *em
	c.env = maps.Clone(em.env)
	c.gets = slices.Clone(em.gets)
	c.depth++
	return &c
}

// join takes over from an arm what holds for the whole action.
func (em *emitter) join(arm *emitter) {
	em.freshes = max(em.freshes, arm.freshes)
	em.chose = em.chose || arm.chose
	em.unfair = em.unfair || arm.unfair
}

// scope is the meaning of names at this point of the body.
func (em *emitter) scope(stmts *[]ir.Stmt) scope {
	return scope{
		lw: em.lw, proc: em.p, me: em.me,
		names: func(v *ast.Var) value { return em.env[v] },
		fresh: func() ir.Expr { return em.fresh(stmts) },
	}
}

// value evaluates an expression; statements it needs are added to stmts.
func (em *emitter) value(e ast.Expr, stmts *[]ir.Stmt) value { return em.scope(stmts).value(e) }

// pure evaluates an expression without fresh().
func (em *emitter) pure(e ast.Expr) value { return em.scope(nil).value(e) }

// fresh makes a new token and gives it as a local.
func (em *emitter) fresh(stmts *[]ir.Stmt) ir.Expr {
	if stmts == nil {
		return none
	}
	if em.freshes == len(em.lw.fresh) {
		v := &ir.Var{Name: fmt.Sprintf("fresh %d", em.freshes+1), Type: ir.Type{Kind: ir.Token, Optional: true}, Initial: ir.None}
		em.lw.fresh = append(em.lw.fresh, em.lw.variable(v))
	}
	v := em.lw.fresh[em.freshes]
	em.freshes++
	l := &ir.Local{Name: v.Name}
	*stmts = append(*stmts, ir.Fresh{Var: v}, ir.Let{Local: l, Value: load(v)})
	return use(l)
}

// bind gives a name a value, evaluated now.
func (em *emitter) bind(v *ast.Var, val value, stmts *[]ir.Stmt) {
	if v == nil {
		return
	}
	em.env[v] = em.freeze(v.Name, val, stmts)
	*stmts = append(*stmts, em.startAge(v)...)
}

// freeze evaluates every leaf now.
func (em *emitter) freeze(name string, val value, stmts *[]ir.Stmt) value {
	out := make([]leaf, len(val.leaves))
	for i, l := range val.leaves {
		switch l.e.(type) {
		case ir.Const, ir.Use:
		default:
			loc := &ir.Local{Name: name + l.key}
			*stmts = append(*stmts, ir.Let{Local: loc, Value: l.e})
			l.e = use(loc)
		}
		out[i] = l
	}
	return value{out}
}

// control runs the local steps from a node on, up to the next location.
func (em *emitter) control(id int) []ir.Stmt {
	if id == end {
		return em.listEnd()
	}
	if em.depth > 60 {
		return []ir.Stmt{ir.Cut{Reason: fmt.Sprintf("%s: steps without a round trip go round in a loop", em.p.ast.Name)}}
	}
	n := em.p.nodes[id]
	switch n.kind {
	case beginNode:
		em.in = n
		return em.control(n.next)
	case scriptEndNode:
		if em.lostScript != nil {
			return em.scriptLost()
		}
		return em.control(n.next)
	case inlineNode:
		return em.inline(n)
	case localNode:
		return em.local(n)
	}
	return em.settle(n)
}

// listEnd: the steps are done, for this message; a batch goes on with its next.
func (em *emitter) listEnd() []ir.Stmt {
	more, next := no, func(*emitter) []ir.Stmt { return nil }
	switch t := em.p.trigger.(type) {
	case *logTrigger:
		if t.until != nil && em.turns < t.tr.Batch-1 {
			more, next = order(ir.Lt, load(t.pos, em.me), load(t.until, em.me)), t.nextOfBatch
		}
	case *messageTrigger:
		if t.batch != nil && em.turns < t.batch.size-1 {
			more, next = t.nextTurn(em.me), t.nextMessage
		}
	}
	if isFalse(more) {
		return em.endRun(true)
	}
	out := em.rollbackIfOpen()
	return append(out, em.fork(more, next, func(arm *emitter) []ir.Stmt { return arm.endRun(true) })...)
}

// settle stops at a location: live names are stored, the others forgotten.
func (em *emitter) settle(n *node) []ir.Stmt {
	out := em.answered(n)
	for _, s := range em.p.slots {
		if s.ir == nil {
			continue
		}
		switch {
		case n.live[s.id]:
			e := em.env[s.v].at(s.key)
			if l, ok := e.(ir.Load); ok && l.Var == s.ir {
				continue
			}
			if v, ok := constant(e); ok && v == ir.None && !s.typ.Optional {
				e = num(cleared(s.typ))
			}
			out = append(out, set(s.ir, e, em.me))
		case em.from[s.id]:
			out = append(out, set(s.ir, num(s.ir.Initial), em.me))
		}
	}
	out = append(out, em.clearFresh()...)
	out = append(out, em.p.awake(em.me)...)
	return append(out, set(em.p.pc, num(n.loc), em.me))
}

func (em *emitter) clearFresh() []ir.Stmt {
	var out []ir.Stmt
	for i := 0; i < em.freshes; i++ {
		out = append(out, set(em.lw.fresh[i], none))
	}
	return out
}

// endRun ends the run: what it held is given back (R9). completed says that
// the run came to its end or stopped, and did not fail.
func (em *emitter) endRun(completed bool) []ir.Stmt {
	out := append(em.answered(nil), em.rollbackIfOpen()...)
	if completed {
		out = append(out, em.p.trigger.ended(em)...)
	} else {
		out = append(out, em.p.trigger.stopped(em)...)
	}
	out = append(out, em.releaseTimers()...)
	out = append(out, em.p.stopAges(em.me)...)
	out = append(out, em.p.forgetOwnRows(em.me)...)
	out = append(out, em.clearAll()...)
	out = append(out, em.clearFresh()...)
	return append(out, set(em.p.pc, num(0), em.me))
}

// clearAll forgets everything an instance holds.
func (em *emitter) clearAll() []ir.Stmt {
	var out []ir.Stmt
	for _, s := range em.p.slots {
		if s.ir != nil && em.from[s.id] {
			out = append(out, set(s.ir, num(s.ir.Initial), em.me))
		}
	}
	for _, v := range em.p.extra {
		out = append(out, set(v, num(v.Initial), em.me))
	}
	return out
}

// local executes a local step.
func (em *emitter) local(n *node) []ir.Stmt {
	if len(em.p.ages) > 0 && n.step.When != nil {
		if passes := em.timePasses(n.step.When); len(passes) > 0 {
			return append(passes, em.decide(n)...)
		}
	}
	return em.decide(n)
}

func (em *emitter) decide(n *node) []ir.Stmt {
	s := n.step
	switch s.Verb {
	case ast.VerbGo:
		return em.split(s.When, func(arm *emitter) []ir.Stmt { return arm.jump(n, arm.p.target(s.Target, n)) },
			func(arm *emitter) []ir.Stmt { return arm.control(n.next) })
	case ast.VerbStop:
		return em.split(s.When, func(arm *emitter) []ir.Stmt { return arm.stop() },
			func(arm *emitter) []ir.Stmt { return arm.control(n.next) })
	case ast.VerbFail:
		return em.split(s.When, func(arm *emitter) []ir.Stmt { return arm.fail(n) },
			func(arm *emitter) []ir.Stmt { return arm.control(n.next) })
	case ast.VerbLet:
		var out []ir.Stmt
		for _, l := range s.Lets {
			em.let(l, &out)
		}
		em.depth++
		return append(out, em.control(n.next)...)
	case ast.VerbChoose:
		em.chose = true
		em.unfair = em.unfair || !s.Fair
		em.depth++
		return em.jump(n, em.p.target(&s.Choose[em.oracle.choose(len(s.Choose))], n))
	}
	return em.control(n.next)
}

func (em *emitter) let(l ast.Let, out *[]ir.Stmt) {
	if l.Declare {
		em.env[l.Var] = integer(num(l.Var.Lo), l.Var.Lo, l.Var.Hi, false)
		return
	}
	v := em.value(l.Value, out)
	if l.Var.Declared {
		em.guardRange(l, v, out)
	}
	em.bind(l.Var, v, out)
}

// guardRange cuts where a declared name leaves its range, even if the name is
// not stored afterwards.
func (em *emitter) guardRange(l ast.Let, v value, out *[]ir.Stmt) {
	e := v.at("/i")
	if c, ok := constant(e); ok && c >= l.Var.Lo && c <= l.Var.Hi {
		return
	}
	bad := or(order(ir.Lt, e, num(l.Var.Lo)), order(ir.Lt, num(l.Var.Hi), e))
	*out = append(*out, when(bad, []ir.Stmt{ir.Cut{Reason: fmt.Sprintf("%s left %d .. %d at line %d", l.Var.Name, l.Var.Lo, l.Var.Hi, l.Pos.Line)}}, nil)...)
}

// split emits a conditional; the arms run to the end of the body.
func (em *emitter) split(c ast.Expr, then, els func(*emitter) []ir.Stmt) []ir.Stmt {
	cond := yes
	if c != nil {
		cond = em.scope(nil).cond(c)
	}
	return em.fork(cond, then, els)
}

func (em *emitter) fork(cond ir.Expr, then, els func(*emitter) []ir.Stmt) []ir.Stmt {
	if v, ok := truth(cond); ok {
		em.depth++
		if v {
			return then(em)
		}
		return els(em)
	}
	a, b := em.arm(), em.arm()
	x := then(a)
	y := els(b)
	em.join(a)
	em.join(b)
	return when(cond, x, y)
}

// scriptLost: the script has run, the caller does not hear.
func (em *emitter) scriptLost() []ir.Stmt {
	n := em.lostScript
	em.lostScript = nil
	for _, s := range n.step.Do {
		em.unbind(em.p.nodes[em.p.at[s]])
	}
	return em.unknown(n)
}

// inScript says whether the node belongs to the script.
func (em *emitter) inScript(to int, script *node) bool {
	if to == end {
		return false
	}
	m := em.p.nodes[to]
	return m.step.Block == script.step || m.kind == scriptEndNode && m.step == script.step
}

// jump goes to a node; leaving the block of a transaction rolls back (R7).
func (em *emitter) jump(from *node, to int) []ir.Stmt {
	if em.lostScript != nil && !em.inScript(to, em.lostScript) {
		return em.scriptLost()
	}
	if em.in == nil {
		return em.control(to)
	}
	if to != end {
		m := em.p.nodes[to]
		if m.block == em.in || m.kind == commitNode && em.p.nodes[em.p.at[m.step]] == em.in {
			return em.control(to)
		}
	}
	out := em.rollbackIfOpen()
	return append(out, em.control(to)...)
}

// stop ends the run without an ack.
func (em *emitter) stop() []ir.Stmt {
	if em.lostScript != nil {
		return em.scriptLost()
	}
	return em.endRun(!em.failing)
}

// fail takes the step's error branch.
func (em *emitter) fail(n *node) []ir.Stmt {
	b := n.step.Branches[ast.OnError]
	if b == nil && n.step.Block != nil {
		b = n.step.Block.Branches[ast.OnError]
	}
	return em.failed(n, b)
}

// failed is a definite error: the transaction, if one is open, is rolled back.
func (em *emitter) failed(n *node, b *ast.Branch) []ir.Stmt {
	out := em.rollbackIfOpen()
	em.failing = true
	return append(out, em.branch(n, b)...)
}

// branch goes where an outcome leads.
func (em *emitter) branch(n *node, b *ast.Branch) []ir.Stmt {
	if b == nil || b.Kind == ast.BranchStop {
		return em.stop()
	}
	if b.Kind == ast.BranchAskHuman {
		return append(em.handOver(em.p.trigger.operation(em)), em.stop()...)
	}
	em.failing = false
	switch b.Kind {
	case ast.BranchGo:
		return em.jump(n, em.p.target(b.Target, n))
	case ast.BranchContinue:
		return em.continueAfter(n)
	case ast.BranchRetry:
		return em.retry(n, b)
	case ast.BranchReply:
		return em.replyBranch(b)
	case ast.BranchCommit:
		out := em.commitNow()
		return append(out, em.control(em.p.target(b.Target, n))...)
	}
	return em.stop()
}

// continueAfter goes on after the step; after a rolled back block, behind it.
func (em *emitter) continueAfter(n *node) []ir.Stmt {
	if n.block != nil && em.in == nil {
		return em.control(em.p.nodes[em.p.blockEnd[n.block.step]].next)
	}
	if n.step.Verb == ast.VerbScript && n.kind != scriptEndNode {
		return em.control(em.p.nodes[em.p.blockEnd[n.step]].next)
	}
	return em.control(n.next)
}

// retry runs the step (or its block) again, at most Times times per run.
func (em *emitter) retry(n *node, b *ast.Branch) []ir.Stmt {
	again := n.id
	if n.kind == commitNode {
		again = em.p.at[n.step]
	} else if n.block != nil && em.in == nil {
		again = n.block.id
	}
	if b.Times < 0 {
		return em.jump(n, again)
	}
	c := em.p.retries[n]
	left := order(ir.Lt, load(c, em.me), num(b.Times))
	return em.fork(left, func(arm *emitter) []ir.Stmt {
		return append([]ir.Stmt{set(c, sum(ir.Add, load(c, em.me), num(1)), em.me)}, arm.jump(n, again)...)
	}, func(arm *emitter) []ir.Stmt { return arm.branch(n, b.Then) })
}

// inline executes a verb in the transition of the step before it: inside a
// script, or on private memory. Its outcomes are told apart by conditions.
func (em *emitter) inline(n *node) []ir.Stmt {
	if n.step.Verb == ast.VerbScript {
		em.depth++
		return em.control(n.next)
	}
	pl := em.planOf(n)
	var rest func(i int, em *emitter) []ir.Stmt
	rest = func(i int, em *emitter) []ir.Stmt {
		if i == len(pl.outcomes) {
			return nil
		}
		o := pl.outcomes[i]
		guard := o.guard
		if i == len(pl.outcomes)-1 {
			guard = yes // the outcomes are exhaustive
		}
		return em.fork(guard, func(arm *emitter) []ir.Stmt { return arm.finish(n, o) },
			func(arm *emitter) []ir.Stmt { return rest(i+1, arm) })
	}
	return rest(0, em)
}

// finish performs an outcome and goes on where it leads.
func (em *emitter) finish(n *node, o *outcome) []ir.Stmt {
	out := em.openSnapshot(n)
	if o.do != nil {
		out = append(out, o.do(em)...)
	}
	if o.stay {
		return append(out, em.settle(n)...)
	}
	if !o.done {
		em.unbind(n)
		b := n.step.Branches[o.branch]
		if b == nil && o.branch == ast.IfExists {
			b = n.step.Branches[ast.OnError]
			return append(out, em.failed(n, b)...)
		}
		if o.branch == ast.OnError {
			return append(out, em.failed(n, b)...)
		}
		return append(out, em.branch(n, b)...)
	}
	em.bindPosition(n)
	if n.kind == pauseNode {
		return append(out, em.local(n)...)
	}
	out = append(out, em.marks(n)...)
	if n.kind == commitNode {
		em.in = nil
	}
	out = append(out, em.driverDone(n)...)
	return append(out, em.control(n.next)...)
}

// unbind forgets the names of a step that was not done.
func (em *emitter) unbind(n *node) {
	for _, v := range bound(n) {
		delete(em.env, v)
	}
}
