package lower

import (
	"fmt"

	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// trigger starts runs of a process and knows what their end means.
type trigger interface {
	// start adds the actions that take a message, row or request.
	start()
	// uses marks what the end of a run needs at a node.
	uses(n *node)
	// derived lists leaves of the bound name that need no storage of their own,
	// given those that are stored; alias names the stored leaf of a derived one.
	derived(stored value) []leaf
	alias(key string) string
	// operation is the operation the run is about, for ask_human as a branch.
	operation(em *emitter) value
	// ended: the run came to its end or a stop; stopped: it ended because of an
	// error or a lost answer; crashed: the instance me crashed, its names are
	// those in its variables.
	ended(em *emitter) []ir.Stmt
	stopped(em *emitter) []ir.Stmt
	crashed(em *emitter) []ir.Stmt
}

func (lw *lowering) newTrigger(p *process) trigger {
	tr := p.ast.Trigger
	base := baseTrigger{p: p, tr: tr}
	switch tr.Kind {
	case ast.OnMessage:
		if tr.Queue.Kind == ast.LogKind {
			return lw.newLogTrigger(base)
		}
		return lw.newMessageTrigger(base)
	case ast.OnRow:
		return &rowTrigger{base}
	case ast.OnRequest:
		return lw.newRequestTrigger(base)
	case ast.OnStart:
		return lw.newStartTrigger(base)
	case ast.OnFault:
		return &faultTrigger{base}
	}
	return &base
}

// baseTrigger is on: {poll: true} and on: {every: NAME}: any time while idle.
type baseTrigger struct {
	p  *process
	tr *ast.Trigger
}

func (b *baseTrigger) uses(n *node)                  {}
func (b *baseTrigger) derived(stored value) []leaf   { return nil }
func (b *baseTrigger) alias(key string) string       { return key }
func (b *baseTrigger) operation(em *emitter) value   { return b.anyOperation(em) }
func (b *baseTrigger) ended(em *emitter) []ir.Stmt   { return nil }
func (b *baseTrigger) stopped(em *emitter) []ir.Stmt { return nil }
func (b *baseTrigger) crashed(em *emitter) []ir.Stmt { return nil }

// anyOperation is the operation in the trigger's name, or in its field op.
func (b *baseTrigger) anyOperation(em *emitter) value {
	if b.tr.As == nil {
		return value{}
	}
	v := em.env[b.tr.As]
	if f := v.field("op"); len(f.leaves) > 0 {
		return f
	}
	return v
}

// begin adds an action that starts a run: params and guard say of what, bind
// fills the names and takes the thing.
type begin struct {
	kind   ir.ActionKind
	text   []any
	of     *about
	params []ir.Param
	guard  ir.Expr
	bind   func(em *emitter) []ir.Stmt
	fault  *budget
	k      int
}

func (b *baseTrigger) run(bg *begin) {
	p := b.p
	em := p.emitter(nil)
	for {
		one := em.again()
		var stmts []ir.Stmt
		if bg.bind != nil {
			stmts = bg.bind(one)
		}
		if p.run != nil {
			stmts = append(stmts, ir.Fresh{Var: p.run, At: []ir.Expr{one.me}})
		}
		stmts = append(stmts, one.control(p.first)...)
		a := &ir.Action{
			Name: p.ast.Name + ": start", Kind: bg.kind, Proc: p.ir, At: 0, Self: p.self, Params: bg.params,
			Guard: orYes(bg.guard), Body: stmts, Order: p.sequence(nil, bg.k), Label: p.ast.Name + "#start",
			Note: &Note{Process: p.ast, Start: true, Text: bg.text, of: bg.of, proc: p, passes: *one.passes},
		}
		if bg.fault != nil {
			a.Budget, a.Fault, a.Rank = bg.fault.left, bg.fault.name, bg.fault.rank
			a.Note.(*Note).Fault = bg.fault.fault
		}
		if one.chose && one.unfair {
			a.Choice = 1
		}
		p.lw.program.Actions = append(p.lw.program.Actions, a)
		if !em.oracle.next() {
			return
		}
	}
}

func orYes(e ir.Expr) ir.Expr {
	if e == nil {
		return yes
	}
	return e
}

func (b *baseTrigger) start() { b.run(&begin{kind: ir.Delivery, text: []any{"starts"}}) }

// faultTrigger is on: {fault: NAME}.
type faultTrigger struct{ baseTrigger }

func (t *faultTrigger) start() {
	if t.tr.Fault == nil || t.p.lw.budget(t.tr.Fault) == nil {
		return
	}
	t.run(&begin{kind: ir.Fault, text: []any{t.tr.Name}, fault: t.p.lw.budget(t.tr.Fault)})
}

// rowTrigger is on: {row: T}: a copy of a committed row, without a lock (R29).
type rowTrigger struct{ baseTrigger }

func (t *rowTrigger) start() {
	p := t.p
	tab := p.lw.tables[t.tr.Table]
	if t.tr.Table == nil {
		tab = p.lw.kvs[t.tr.Store]
	}
	if tab == nil {
		return
	}
	l := &ir.Local{Name: tab.name + " row"}
	match := func(at ir.Expr) ir.Expr {
		sc := scope{lw: p.lw, proc: p, me: use(p.self), names: func(*ast.Var) value { return value{} }}
		sc = sc.with(tab.candidate(at, reader{}))
		sc.settled = func(c *ast.ColumnRef) ir.Expr { return tab.settledAt(at, c, reader{}) }
		return and(tab.visible(at, reader{}), sc.cond(t.tr.Where))
	}
	guard := match(use(l))
	if by := t.tr.OrderBy; by != nil {
		mine := tab.candidate(use(l), reader{})(by)
		guard = and(guard, not(tab.some(func(o ir.Expr) ir.Expr {
			theirs := tab.candidate(o, reader{})(by)
			before := less(ir.Lt, theirs, mine)
			if t.tr.Desc {
				before = less(ir.Lt, mine, theirs)
			}
			return and(match(o), before)
		})))
	}
	t.run(&begin{
		kind: ir.Delivery, params: []ir.Param{{Local: l, Over: tab.over}}, guard: guard,
		text: []any{"takes a row of " + tab.name + " ", rowText{tab, use(l)}}, of: &about{table: tab, at: use(l)},
		bind: func(em *emitter) []ir.Stmt {
			var out []ir.Stmt
			em.bind(t.tr.As, p.onlyRead(t.tr.As, tab.row(use(l), reader{})), &out)
			return append(out, p.lw.monitors.took(em, tab, use(l))...)
		},
	})
}

func (t *rowTrigger) derived(stored value) []leaf { return []leaf{here(yes)} }

// opStates are the states of requests and starts.
type opStates struct {
	open     map[*ast.Operation]*ir.Var // request: Bool, closed
	tries    map[*ast.Operation]*ir.Var
	started  map[*ast.Operation]*ir.Var
	answers  map[string]*ir.Var // per operation and class
	ended    map[*ast.Operation]*ir.Var
	lastBody map[*ast.Operation]*column
}

// requestTrigger is on: {request: OP}: the client repeats until answered (R20).
type requestTrigger struct {
	baseTrigger
	closed *ir.Var
	tries  *ir.Var
	op     *ast.Operation
	key    string
}

func (lw *lowering) newRequestTrigger(b baseTrigger) *requestTrigger {
	o := b.tr.Operation
	t := &requestTrigger{baseTrigger: b, op: o, key: "/o:" + o.Name}
	if lw.opState.open == nil {
		lw.opState.open = map[*ast.Operation]*ir.Var{}
	}
	if lw.opState.open[o] == nil {
		lw.opState.open[o] = lw.variable(&ir.Var{Name: o.Name + " closed", Index: ir.Several(lw.opSet(o)), Type: ir.Type{Kind: ir.Bool}})
	}
	t.closed = lw.opState.open[o]
	if b.tr.Tries > 0 {
		t.tries = lw.variable(&ir.Var{Name: o.Name + " tries", Index: ir.Several(lw.opSet(o)), Type: ir.Type{Kind: ir.Range, Lo: 0, Hi: b.tr.Tries}})
	}
	return t
}

// The name of the operation stays with the run: it says that it is in flight.
func (t *requestTrigger) uses(n *node) { t.p.use(n, t.tr.As, t.key) }

func (t *requestTrigger) runs(op ir.Expr) ir.Expr {
	w := &ir.Local{Name: "w"}
	return ir.Count{Local: w, Over: ir.In(t.p.set), Where: and(t.p.running(use(w)), same(t.p.stored(t.tr.As, use(w)).at(t.key), op))}
}

func (t *requestTrigger) start() {
	lw := t.p.lw
	l := &ir.Local{Name: t.op.Name}
	guard := not(load(t.closed, use(l)))
	if t.p.set.Size > 1 {
		guard = and(guard, order(ir.Lt, t.runs(use(l)), num(max(t.tr.Copies, 1))))
	}
	if t.tries != nil {
		guard = and(guard, order(ir.Lt, load(t.tries, use(l)), num(t.tr.Tries)))
	}
	t.run(&begin{
		kind: ir.Delivery, params: []ir.Param{{Local: l, Over: ir.In(lw.opSet(t.op))}}, guard: guard,
		text: []any{"receives the request of ", opText{t.op, use(l)}}, of: &about{operation: t.op, op: use(l)},
		bind: func(em *emitter) []ir.Stmt {
			em.env[t.tr.As] = lw.operation(t.op, use(l))
			if t.tries == nil {
				return nil
			}
			return []ir.Stmt{set(t.tries, sum(ir.Add, load(t.tries, use(l)), num(1)), use(l))}
		},
	})
}

// ended: in a process without any reply, the end answers ok.
func (t *requestTrigger) ended(em *emitter) []ir.Stmt {
	op := em.env[t.tr.As]
	out := em.lw.opEnded(op)
	if t.p.ast.HasReply {
		return out
	}
	return append(out, em.lw.answer(em, op, ast.ReplyOK, value{})...)
}

func (t *requestTrigger) stopped(em *emitter) []ir.Stmt { return nil }

// answer records an answer that the client hears.
func (lw *lowering) answer(em *emitter, op value, class ast.Reply, body value) []ir.Stmt {
	var out []ir.Stmt
	for _, o := range lw.spec.Operations {
		l, ok := op.find("/o:" + o.Name)
		if !ok {
			continue
		}
		if v := lw.opState.open[o]; v != nil && class != ast.ReplyTryLater {
			out = append(out, set(v, yes, l.e))
		}
		for _, key := range []string{o.Name + "/" + string(class), o.Name + "/"} {
			if v := lw.opState.answers[key]; v != nil {
				out = append(out, set(v, yes, l.e))
			}
		}
		out = append(out, lw.monitors.answered(em, o, l.e, class, body)...)
	}
	return out
}

// answered is answered(OP, CLASS): at least once.
func (lw *lowering) answered(op value, class ast.Reply) ir.Expr {
	out := no
	for _, o := range lw.spec.Operations {
		if l, ok := op.find("/o:" + o.Name); ok {
			out = or(out, load(lw.answerVar(o, class), l.e))
		}
	}
	return out
}

// answerVar makes the latch for answers of a class, "" for any.
func (lw *lowering) answerVar(o *ast.Operation, class ast.Reply) *ir.Var {
	key := o.Name + "/" + string(class)
	if lw.opState.answers == nil {
		lw.opState.answers = map[string]*ir.Var{}
	}
	if lw.opState.answers[key] == nil {
		lw.opState.answers[key] = lw.variable(&ir.Var{Name: o.Name + " answered " + string(class), Index: ir.Several(lw.opSet(o)), Type: ir.Type{Kind: ir.Bool}})
	}
	return lw.opState.answers[key]
}

func (lw *lowering) opEnded(op value) []ir.Stmt {
	var out []ir.Stmt
	for _, o := range lw.spec.Operations {
		if v := lw.opState.ended[o]; v != nil {
			if l, ok := op.find("/o:" + o.Name); ok {
				out = append(out, when(differ(l.e, none), []ir.Stmt{set(v, yes, l.e)}, nil)...)
			}
		}
	}
	return out
}

func (lw *lowering) endedVar(o *ast.Operation) *ir.Var {
	if lw.opState.ended == nil {
		lw.opState.ended = map[*ast.Operation]*ir.Var{}
	}
	if lw.opState.ended[o] == nil {
		lw.opState.ended[o] = lw.variable(&ir.Var{Name: o.Name + " ended", Index: ir.Several(lw.opSet(o)), Type: ir.Type{Kind: ir.Bool}})
	}
	return lw.opState.ended[o]
}

func (lw *lowering) endedOp(op value) ir.Expr {
	out := no
	for _, o := range lw.spec.Operations {
		if l, ok := op.find("/o:" + o.Name); ok {
			out = or(out, load(lw.endedVar(o), l.e))
		}
	}
	return out
}

// replyPlan is the answer to the caller. A lost one leaves the request open.
func (em *emitter) replyPlan(n *node) plan {
	s := n.step
	pl := plan{outcomes: []*outcome{{done: true, guard: yes, do: func(em *emitter) []ir.Stmt { return em.reply(s.Reply, s.Body, true) }}}}
	for _, f := range em.lw.faultsOn(ast.FaultResponseLost, nil) {
		if !em.lw.allows(em.p, n) {
			continue
		}
		pl.outcomes = append(pl.outcomes, &outcome{done: true, guard: yes, fault: f, text: string(ReplyNotHeard),
			do: func(em *emitter) []ir.Stmt { return em.reply(s.Reply, s.Body, false) }})
	}
	return pl
}

// reply answers; heard says whether the client gets it.
func (em *emitter) reply(class ast.Reply, body ast.Expr, heard bool) []ir.Stmt {
	var out []ir.Stmt
	v := em.value(body, &out)
	op := em.env[em.p.ast.Trigger.As]
	for _, o := range em.lw.spec.Operations {
		if l, ok := op.find("/o:" + o.Name); ok {
			out = append(out, em.lw.monitors.given(em, o, l.e, class, v)...)
		}
	}
	if !heard {
		return out
	}
	return append(out, em.lw.answer(em, op, class, v)...)
}

// replyBranch is `if_exists: reply ok`: answer, then end.
func (em *emitter) replyBranch(b *ast.Branch) []ir.Stmt {
	return append(em.reply(b.Reply, nil, true), em.endRun(true)...)
}

// startTrigger is on: {start: OP}: one run per operation (S).
type startTrigger struct {
	baseTrigger
	started *ir.Var
	op      *ast.Operation
	key     string
}

func (lw *lowering) newStartTrigger(b baseTrigger) *startTrigger {
	o := b.tr.Operation
	t := &startTrigger{baseTrigger: b, op: o, key: "/o:" + o.Name}
	t.started = lw.variable(&ir.Var{Name: fmt.Sprintf("%s started by %s", o.Name, b.p.ast.Name), Index: ir.Several(lw.opSet(o)), Type: ir.Type{Kind: ir.Bool}})
	return t
}

func (t *startTrigger) uses(n *node) {
	if t.tr.Durable || t.tr.InOrder != nil || t.p.lw.opState.ended[t.op] != nil {
		t.p.use(n, t.tr.As, t.key)
	}
}

func (t *startTrigger) start() {
	lw := t.p.lw
	l := &ir.Local{Name: t.op.Name}
	guard := not(load(t.started, use(l)))
	if f := t.tr.InOrder; f != nil {
		o := &ir.Local{Name: "earlier " + t.op.Name}
		w := &ir.Local{Name: "w"}
		busy := exists(w, ir.In(t.p.set), and(t.p.running(use(w)), same(t.p.stored(t.tr.As, use(w)).at(t.key), use(o))))
		before := less(ir.Lt, lw.opField(f, use(o)), lw.opField(f, use(l)))
		guard = and(guard, not(exists(o, ir.In(lw.opSet(t.op)), and(before, or(not(load(t.started, use(o))), busy)))))
	}
	t.run(&begin{
		kind: ir.Delivery, params: []ir.Param{{Local: l, Over: ir.In(lw.opSet(t.op))}}, guard: guard,
		text: []any{"starts ", opText{t.op, use(l)}}, of: &about{operation: t.op, op: use(l)},
		bind: func(em *emitter) []ir.Stmt {
			em.env[t.tr.As] = lw.operation(t.op, use(l))
			return []ir.Stmt{set(t.started, yes, use(l))}
		},
	})
}

func (t *startTrigger) ended(em *emitter) []ir.Stmt { return em.lw.opEnded(em.env[t.tr.As]) }

func (t *startTrigger) crashed(em *emitter) []ir.Stmt {
	if !t.tr.Durable {
		return nil
	}
	op := em.p.stored(t.tr.As, em.me).at(t.key)
	return when(differ(op, none), []ir.Stmt{set(t.started, no, op)}, nil)
}
