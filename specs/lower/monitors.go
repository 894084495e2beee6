package lower

import (
	"fmt"

	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// monitors remember of the past what a promise asks for, and nothing else
// (R39). Each is a variable that some step sets; the zero value has none.
type monitors struct {
	lw *lowering
	// delivered: some message of the queue was delivered N times.
	deliveredN map[*ast.Resource][]*latch
	// acked: some message of the operation was acked, per queue.
	ackedOp map[*queue]map[*ast.Operation]*ir.Var
	// sentN: messages sent for an operation, saturating.
	sentN map[*ast.Resource]map[*ast.Operation]*ir.Var
	// broken latches: a monitor has seen its promise broken.
	bad map[*ast.Promise]*ir.Var

	hooks hooks
}

// hooks are what single promises add at certain steps.
type hooks struct {
	write   []func(em *emitter, t *table, s *ast.Step, at ir.Expr) []ir.Stmt
	wrote   []func(em *emitter, t *table, s *ast.Step, at ir.Expr) []ir.Stmt
	took    []func(em *emitter, t *table, at ir.Expr) []ir.Stmt
	stored  []func(r *ast.Resource, fields map[string]value) []ir.Stmt
	given   []func(em *emitter, o *ast.Operation, op ir.Expr, class ast.Reply, body value) []ir.Stmt
	commit  []func(em *emitter, t *table, at ir.Expr) []ir.Stmt
	done    []func(em *emitter) []ir.Stmt
	read    []func(em *emitter, t *table, n *node, at ir.Expr) []ir.Stmt
	missed  []func(em *emitter, t *table, n *node) []ir.Stmt
	effect  []func(em *emitter, s *ast.Step, e *ast.Effect) []ir.Stmt
	replica []func(em *emitter, t *table, n *node, get func(string) value, at ir.Expr) []ir.Stmt
	recv    []func(em *emitter, q *queue, v value) []ir.Stmt
	acked   []func(em *emitter, q *queue, v value, holds ir.Expr) []ir.Stmt
	answer  []func(em *emitter, o *ast.Operation, op ir.Expr, class ast.Reply, body value) []ir.Stmt
	got     []func(em *emitter, s *ast.Step, v value) []ir.Stmt
	gone    []func(t *table, at ir.Expr) []ir.Stmt
}

// latch is a flag that, once set, stays.
type latch struct {
	n int
	v *ir.Var
}

func (m *monitors) writes(em *emitter, t *table, s *ast.Step, at ir.Expr) []ir.Stmt {
	var out []ir.Stmt
	for _, h := range m.hooks.write {
		out = append(out, h(em, t, s, at)...)
	}
	return out
}

func (m *monitors) wrote(em *emitter, t *table, s *ast.Step, at ir.Expr) []ir.Stmt {
	var out []ir.Stmt
	for _, h := range m.hooks.wrote {
		out = append(out, h(em, t, s, at)...)
	}
	return out
}

func (m *monitors) commits(em *emitter, t *table, at ir.Expr) []ir.Stmt {
	var out []ir.Stmt
	for _, h := range m.hooks.commit {
		out = append(out, h(em, t, at)...)
	}
	return out
}

func (m *monitors) committed(em *emitter) []ir.Stmt {
	var out []ir.Stmt
	for _, h := range m.hooks.done {
		out = append(out, h(em)...)
	}
	return out
}

func (m *monitors) read(em *emitter, t *table, n *node, at ir.Expr) []ir.Stmt {
	var out []ir.Stmt
	for _, h := range m.hooks.read {
		out = append(out, h(em, t, n, at)...)
	}
	return out
}

func (m *monitors) readNone(em *emitter, t *table, n *node) []ir.Stmt {
	var out []ir.Stmt
	for _, h := range m.hooks.missed {
		out = append(out, h(em, t, n)...)
	}
	return out
}

func (m *monitors) effect(em *emitter, s *ast.Step, e *ast.Effect) []ir.Stmt {
	var out []ir.Stmt
	for _, h := range m.hooks.effect {
		out = append(out, h(em, s, e)...)
	}
	return out
}

func (m *monitors) sent(em *emitter, q *queue, fields map[string]value) []ir.Stmt {
	var out []ir.Stmt
	for _, h := range m.hooks.stored {
		out = append(out, h(q.r, fields)...)
	}
	return out
}

func (m *monitors) received(em *emitter, q *queue, v value) []ir.Stmt {
	var out []ir.Stmt
	for _, h := range m.hooks.recv {
		out = append(out, h(em, q, v)...)
	}
	return out
}

func (m *monitors) acked(em *emitter, q *queue, v value, holds ir.Expr) []ir.Stmt {
	var out []ir.Stmt
	for _, h := range m.hooks.acked {
		out = append(out, h(em, q, v, holds)...)
	}
	return out
}

func (m *monitors) answered(em *emitter, o *ast.Operation, op ir.Expr, class ast.Reply, body value) []ir.Stmt {
	var out []ir.Stmt
	for _, h := range m.hooks.answer {
		out = append(out, h(em, o, op, class, body)...)
	}
	return out
}

// took: a trigger bound a copy of a row.
func (m *monitors) took(em *emitter, t *table, at ir.Expr) []ir.Stmt {
	var out []ir.Stmt
	for _, h := range m.hooks.took {
		out = append(out, h(em, t, at)...)
	}
	return out
}

// given: the process has answered, whether the client hears it or not.
func (m *monitors) given(em *emitter, o *ast.Operation, op ir.Expr, class ast.Reply, body value) []ir.Stmt {
	var out []ir.Stmt
	for _, h := range m.hooks.given {
		out = append(out, h(em, o, op, class, body)...)
	}
	return out
}

func (m *monitors) got(em *emitter, s *ast.Step, v value) []ir.Stmt {
	var out []ir.Stmt
	for _, h := range m.hooks.got {
		out = append(out, h(em, s, v)...)
	}
	return out
}

func (m *monitors) rowRemoved(t *table, at ir.Expr) []ir.Stmt {
	var out []ir.Stmt
	for _, h := range m.hooks.gone {
		out = append(out, h(t, at)...)
	}
	return out
}

// watchesEffect says whether a promise looks at when an effect happens.
func (m *monitors) watchesEffect(e *ast.Effect) bool {
	for _, p := range m.lw.spec.Promises {
		if o, ok := p.Body.(ast.EffectsInOrder); ok && o.Table != nil {
			return true
		}
	}
	return false
}

// delivered sets the latches "delivered N times", and then forgets the counts
// that only they asked for.
func (m *monitors) delivered(r *ast.Resource, n ir.Expr) []ir.Stmt {
	var out []ir.Stmt
	for _, l := range m.deliveredN[r] {
		out = append(out, when(order(ir.Le, num(l.n), n), []ir.Stmt{set(l.v, yes)}, nil)...)
	}
	return out
}

// makeLatches makes the flags that promises about answers and ends read; they
// must exist before the processes are laid out.
func (lw *lowering) makeLatches() {
	lw.monitors.lw = lw
	for _, p := range lw.spec.Promises {
		switch b := p.Body.(type) {
		case ast.NotAnsweredBefore:
			lw.answerVar(b.Operation, b.Reply)
		case ast.EventuallyAnswered:
			lw.answerVar(b.Operation, b.Reply)
		case ast.EventuallyEnds:
			lw.endedVar(b.Operation)
		case ast.CanComplete:
			if len(b.Effects) == 0 {
				lw.answerVar(b.Operation, ast.ReplyOK)
			}
		case ast.NothingStays:
			lw.endedVar(b.Operation)
		case ast.PayloadConflict:
			lw.answerVar(b.Operation, ast.ReplyOK)
		case ast.Check:
			lw.latchesOf(b.Expr)
			lw.latchesOf(b.To)
		}
	}
	for _, p := range lw.spec.MustBePossible {
		if r, ok := p.Body.(ast.Reach); ok {
			lw.latchesOf(r.Expr)
		}
	}
}

func (lw *lowering) latchesOf(e ast.Expr) {
	ast.Walk(e, func(c ast.Expr) bool {
		switch x := c.(type) {
		case *ast.Answered:
			if o := operationOf(x.Operation.Type()); o != nil {
				lw.answerVar(o, x.Reply)
			}
		case *ast.Ended:
			if o := operationOf(x.Operation.Type()); o != nil {
				lw.endedVar(o)
			}
		}
		return true
	})
}

// makeMonitors makes the variables and hooks of the promises.
func (lw *lowering) makeMonitors() {
	m := &lw.monitors
	m.deliveredN = map[*ast.Resource][]*latch{}
	m.ackedOp = map[*queue]map[*ast.Operation]*ir.Var{}
	m.sentN = map[*ast.Resource]map[*ast.Operation]*ir.Var{}
	m.bad = map[*ast.Promise]*ir.Var{}
	for _, p := range lw.spec.MustBePossible {
		switch b := p.Body.(type) {
		case ast.DeliveredTimes:
			v := lw.variable(&ir.Var{Name: fmt.Sprintf("%s delivered %d times", b.Queue.Name, b.N), Type: ir.Type{Kind: ir.Bool}})
			m.deliveredN[b.Queue] = append(m.deliveredN[b.Queue], &latch{b.N, v})
		case ast.CarriesMessages:
			m.countSent(b.Queue, b.Operation, b.N)
		}
	}
	for _, p := range lw.spec.Promises {
		switch b := p.Body.(type) {
		case ast.AckedAfter:
			for _, o := range b.Effect.Operations {
				m.rememberAck(b.Queue, o)
			}
		case ast.OpEventuallySent:
			m.countSent(b.Queue, b.Operation, 1)
		case ast.NotAnsweredBefore:
			if b.Queue != nil {
				m.countSent(b.Queue, b.Operation, 1)
			}
		case ast.RowEventuallySent:
			for _, o := range lw.spec.Operations {
				m.countSent(b.Queue, o, 1)
			}
		}
	}
	lw.promiseMonitors()
}

// rememberAck: some message of the operation was acked.
func (m *monitors) rememberAck(r *ast.Resource, o *ast.Operation) {
	q := m.lw.queues[r]
	if q == nil || m.ackedOp[q][o] != nil {
		return
	}
	if m.ackedOp[q] == nil {
		m.ackedOp[q] = map[*ast.Operation]*ir.Var{}
	}
	v := q.acked
	if q.pool != nil || len(q.over) > 1 {
		v = m.lw.variable(&ir.Var{Name: q.name + " acked for " + o.Name, Index: ir.Several(m.lw.opSet(o)), Type: ir.Type{Kind: ir.Bool}})
		m.hooks.acked = append(m.hooks.acked, func(em *emitter, at *queue, val value, holds ir.Expr) []ir.Stmt {
			l, ok := val.field("op").find("/o:" + o.Name)
			if at != q || !ok {
				return nil
			}
			return when(and(differ(holds, num(notHeld)), differ(l.e, none)), []ir.Stmt{set(v, yes, l.e)}, nil)
		})
	}
	m.ackedOp[q][o] = v
}

// countSent counts the messages of an operation up to n.
func (m *monitors) countSent(r *ast.Resource, o *ast.Operation, n int) {
	if o == nil {
		return
	}
	if m.sentN[r] == nil {
		m.sentN[r] = map[*ast.Operation]*ir.Var{}
	}
	if v := m.sentN[r][o]; v != nil {
		v.Type.Hi = max(v.Type.Hi, n)
		return
	}
	v := m.lw.variable(&ir.Var{Name: r.Name + " sent for " + o.Name, Index: ir.Several(m.lw.opSet(o)), Type: ir.Type{Kind: ir.Range, Lo: 0, Hi: n}})
	m.sentN[r][o] = v
	m.hooks.stored = append(m.hooks.stored, func(at *ast.Resource, fields map[string]value) []ir.Stmt {
		l, ok := fields["op"].find("/o:" + o.Name)
		if at != r || !ok {
			return nil
		}
		c := load(v, l.e)
		return when(differ(l.e, none), []ir.Stmt{set(v, pick(order(ir.Lt, c, num(v.Type.Hi)), sum(ir.Add, c, num(1)), c), l.e)}, nil)
	})
}

// sentAtLeast is true if n messages were sent for the operation, those it
// starts with included.
func (m *monitors) sentAtLeast(r *ast.Resource, o *ast.Operation, op ir.Expr, n int) ir.Expr {
	if sw := r.Queue.StartsWith; sw != nil && sw.Per == o {
		n -= sw.Count
	}
	if n <= 0 {
		return yes
	}
	if v := m.sentN[r][o]; v != nil {
		return order(ir.Le, num(n), load(v, op))
	}
	return no
}

// logSent: a message was appended to a log.
func (m *monitors) logSent(l *logStore, fields map[string]value) []ir.Stmt {
	var out []ir.Stmt
	for _, h := range m.hooks.stored {
		out = append(out, h(l.r, fields)...)
	}
	return out
}

// readReplica: a select gave a row of the replica.
func (m *monitors) readReplica(em *emitter, t *table, n *node, get func(string) value, at ir.Expr) []ir.Stmt {
	var out []ir.Stmt
	for _, h := range m.hooks.replica {
		out = append(out, h(em, t, n, get, at)...)
	}
	return out
}
