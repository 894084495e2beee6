package replay

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

// worker is one instance of a process of the spec: a program that holds names,
// connections and at most one run.
type worker struct {
	process  *ast.Process
	instance int
	*company
	sessions map[*ast.Resource]session
	world    *world
	runs     int // begun so far, to name them

	control *control // of the run; nil while idle
	at      place
	handed  []Value  // operations handed to a human
	attempt *Attempt // the run, or the last one
}

func newWorker(p *ast.Process, instance int, c *company) *worker {
	return &worker{process: p, instance: instance, company: c, sessions: map[*ast.Resource]session{},
		world: &world{prefix: instanceName(p, instance)}}
}

// session of a resource, opened at the first use.
func (w *worker) session(ctx context.Context, r *ast.Resource) (session, error) {
	res := w.resources[r]
	if res == nil {
		return nil, fmt.Errorf("internal: no engine for %s", r.Name)
	}
	if s := w.open(r); s != nil {
		return s, nil
	}
	s, err := res.connect(ctx)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sessions[r] = s
	return s, nil
}

// open is the worker's connection to a resource, or a spare one; nil: neither.
func (w *worker) open(r *ast.Resource) session {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.spare[r]); w.sessions[r] == nil && n > 0 {
		w.sessions[r] = w.spare[r][n-1]
		w.spare[r] = w.spare[r][:n-1]
	}
	return w.sessions[r]
}

// release hands over the connections that the next schedule can use.
func (w *worker) release(ctx context.Context) {
	for r, s := range w.sessions {
		if x, ok := s.(transactional); ok && s.end(ctx) == nil && !x.holdsLocks() {
			w.spare[r] = append(w.spare[r], s)
			delete(w.sessions, r)
		}
	}
}

// outcome is what a worker tells after an event: how its step ended and where
// its run stands now.
type outcome struct {
	ending
	at place
	// taken is what a run was started for.
	taken Value
}

// start begins a run: it takes what the trigger is about.
func (w *worker) start(ctx context.Context, e *lower.Event) (*outcome, error) {
	if w.control != nil {
		return nil, fmt.Errorf("internal: %s starts while it runs", w)
	}
	w.runs++
	names := newScope(w.world)
	names.me = w.String()
	names.run = fmt.Sprintf("%s-run-%d", w, w.runs)
	taken, err := w.take(ctx, names, e)
	if err != nil {
		return nil, err
	}
	if as := w.process.Trigger.As; as != nil {
		names.vars[as] = taken
	}
	w.attempt = &Attempt{Worker: w.String(), Subject: taken}
	w.control = &control{process: w.process, names: names, tries: map[*ast.Branch]int{}}
	w.control.handed = func(op Value) { w.handed = append(w.handed, op) }
	w.control.replied = func(_ Value, class ast.Reply) { w.attempt.Reply = class }
	w.control.rollback = func(b *ast.Step) error { return w.rollback(ctx, b) }
	w.control.commit = func(b *ast.Step) error { return w.commit(ctx, b) }
	w.control.passed = e.Passed
	w.control.private = func(s *ast.Step) ending { return w.private(ctx, s) }
	w.control.tentative = w.tentative
	p, err := w.control.begin(standsAt(e))
	if err == nil {
		err = w.arrive(ctx, p, standsAt(e))
	}
	return &outcome{ending: ending{done: true}, at: w.at, taken: taken}, err
}

// String names the worker as engines store it.
func (w *worker) String() string { return instanceName(w.process, w.instance) }

// errNothingTaken: the model gives the run something that the engine does not
// have, or not yet.
var errNothingTaken = errors.New("the engine has nothing to take")

func (w *worker) take(ctx context.Context, names *scope, e *lower.Event) (Value, error) {
	t := w.process.Trigger
	var r *ast.Resource
	switch {
	case t.Kind == ast.OnMessage:
		r = t.Queue
	case t.Kind == ast.OnRow && t.Store != nil:
		r = t.Store
	case t.Kind == ast.OnRow:
		r = t.Table.Resource
	case e.Of.Operation != nil:
		return opName(e.Of.Operation.Of, e.Of.Operation.Index), nil
	default:
		return nil, nil
	}
	s, err := w.session(ctx, r)
	if err != nil {
		return nil, err
	}
	v, err := s.take(ctx, t, names, e)
	if err == nil && v == nil {
		err = errNothingTaken
	}
	return v, err
}

// step carries out the step before which the run stands.
func (w *worker) step(ctx context.Context, e *lower.Event, f fault) (*outcome, error) {
	s := e.Step
	end := w.do(ctx, &call{step: s, commit: e.Commit, names: w.control.names, fault: f, event: e})
	if errors.Is(end.err, errUnsupported) || errors.Is(end.err, errBusy) {
		return &outcome{ending: end, at: w.at}, nil
	}
	return w.finish(ctx, e, end)
}

// errBusy is the answer of an engine that does not wait: somebody else holds
// what the statement needs, and it can be sent again.
var errBusy = errors.New("busy")

func (w *worker) do(ctx context.Context, c *call) ending {
	switch {
	case c.step.Verb == ast.VerbAskHuman:
		v, err := w.operation(c.step.Human)
		if err != nil {
			return ending{branch: ast.OnError, err: err}
		}
		w.handed = append(w.handed, v)
		return ending{done: true}
	case c.step.Verb == ast.VerbReply:
		return w.reply(c.step)
	}
	s, err := w.session(ctx, c.step.Resource)
	if err != nil {
		return ending{branch: ast.OnError, err: err}
	}
	return s.do(ctx, c)
}

func (w *worker) operation(e ast.Expr) (Value, error) {
	if e == nil {
		return nil, nil
	}
	return w.control.names.eval(e)
}

// finish takes the branch of an ending and carries out local steps up to the
// next round trip.
func (w *worker) finish(ctx context.Context, e *lower.Event, end ending) (*outcome, error) {
	w.attempt.note(e.Step, end)
	w.control.stopped = false
	w.control.passed = e.Passed
	p, err := w.control.after(e.Step, end, standsAt(e))
	if err == nil {
		p, err = w.control.settle(p, standsAt(e))
	}
	if err == nil {
		err = w.arrive(ctx, p, standsAt(e))
	}
	return &outcome{ending: end, at: w.at}, err
}

// arrive puts the run at a place; at the end it gives back what it holds, or
// goes on with the next message of its batch.
func (w *worker) arrive(ctx context.Context, p, want place) error {
	w.at = p
	if p.step != nil {
		return nil
	}
	if t := w.process.Trigger; t.Kind == ast.OnMessage && t.Batch > 1 && !w.control.stopped {
		if more, err := w.nextOfBatch(ctx, want); more || err != nil {
			return err
		}
	}
	w.attempt.leave(w.control.names)
	w.control = nil
	var errs []error
	for _, s := range w.sessions {
		errs = append(errs, s.end(ctx))
	}
	return errors.Join(errs...)
}

// batched is a session whose runs take several messages at once.
type batched interface {
	// next gives the next message of the batch, false after the last.
	next(ctx context.Context) (Value, bool, error)
}

func (w *worker) nextOfBatch(ctx context.Context, want place) (bool, error) {
	b, ok := w.sessions[w.process.Trigger.Queue].(batched)
	if !ok {
		return false, nil
	}
	m, more, err := b.next(ctx)
	if !more || err != nil {
		return false, err
	}
	w.control.names.vars[w.process.Trigger.As] = m
	p, err := w.control.begin(want)
	if err != nil {
		return true, err
	}
	return true, w.arrive(ctx, p, want)
}

// transactional is a session with transactions.
type transactional interface {
	rollback(ctx context.Context) error
	// holdsLocks: something ends with the connection only, so it cannot serve
	// another schedule.
	holdsLocks() bool
}

func (w *worker) rollback(ctx context.Context, block *ast.Step) error {
	if s, ok := w.sessions[block.Resource].(transactional); ok {
		return s.rollback(ctx)
	}
	return nil
}

func (w *worker) commit(ctx context.Context, block *ast.Step) error {
	s, err := w.session(ctx, block.Resource)
	if err != nil {
		return err
	}
	if end := s.do(ctx, &call{step: block, commit: true, names: w.control.names}); !end.done {
		return fmt.Errorf("the commit inside the block fails: %w", end.err)
	}
	return nil
}

// tentative gives what puts the memory of workers back as it is now.
func (w *worker) tentative() (undo func()) {
	var all []func()
	for _, res := range w.resources {
		if m, ok := res.(*memoryResource); ok {
			all = append(all, m.keep())
		}
	}
	return func() {
		for _, undo := range all {
			undo()
		}
	}
}

// private carries out a step on memory of the worker's own.
func (w *worker) private(ctx context.Context, s *ast.Step) ending {
	return w.do(ctx, &call{step: s, names: w.control.names, event: &lower.Event{}})
}

// sever closes the sockets of a worker whose statement still waits.
func (w *worker) sever() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.sessions {
		if x, ok := s.(interface{ sever() }); ok {
			x.sever()
		}
	}
}

// connection is what a database calls the worker's connection, 0 without one.
func (w *worker) connection(r *ast.Resource) int64 {
	w.mu.Lock()
	s := w.sessions[r]
	w.mu.Unlock()
	if db, ok := s.(interface{ serverID() int64 }); ok {
		return db.serverID()
	}
	return 0
}

// crash ends the worker at once: sockets are closed without a goodbye, names
// are gone. It gives the server's names of its database connections.
func (w *worker) crash() (connections map[*ast.Resource]int64) {
	connections = map[*ast.Resource]int64{}
	for r, s := range w.sessions {
		if id := w.connection(r); id != 0 {
			connections[r] = id
		}
		s.cut()
	}
	if w.control != nil {
		w.attempt.Crashed = true
	}
	w.sessions, w.control, w.at = map[*ast.Resource]session{}, nil, place{}
	return connections
}

// leaveUnderWay sends the request of the step before which the run stands, as
// one that arrives late: the worker crashes before it hears of it.
func (w *worker) leaveUnderWay(ctx context.Context) error {
	s, err := w.session(ctx, w.at.step.Resource)
	if err != nil {
		return err
	}
	end := s.do(ctx, &call{step: w.at.step, names: w.control.names, fault: arrivesLate, event: &lower.Event{Step: w.at.step}})
	if end.done || end.branch != ast.OnUnknown {
		return fmt.Errorf("internal: the request of %s is not under way: %w", w, end.err)
	}
	return nil
}

// failureOf is the class of failure that the model predicts.
func failureOf(r lower.Reason) (engines.Failure, bool) {
	f, ok := map[lower.Reason]engines.Failure{
		lower.Duplicate: engines.Duplicate, lower.Deadlock: engines.Deadlock, lower.Serialization: engines.Serialization,
		lower.RowLocked: engines.LockTimeout, lower.LockTimeout: engines.LockTimeout, lower.ConnectionGone: engines.Lost,
	}[r]
	return f, ok
}

// sortedIDs gives instances in the order of their names.
func sortedIDs(all map[lower.InstanceID]actor) []lower.InstanceID {
	return slices.SortedFunc(maps.Keys(all), func(a, b lower.InstanceID) int {
		return strings.Compare(instanceName(a.Of, a.Index), instanceName(b.Of, b.Index))
	})
}
