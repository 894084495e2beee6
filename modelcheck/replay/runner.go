package replay

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

// company is what the workers of one replay share: the resources, and database
// connections that nobody uses at the moment.
type company struct {
	resources map[*ast.Resource]resource
	// mu guards the sessions of workers and spare: while a statement waits, the
	// runner asks who waits, and other workers go on.
	mu    sync.Mutex
	spare map[*ast.Resource][]session
}

// hire makes a worker, in a process of its own if that is wanted.
func (r *runner) hire(p *ast.Process, instance int) actor {
	if r.processes == nil {
		return newWorker(p, instance, r.company)
	}
	return &processWorker{process: p, instance: instance, spec: r.spec, how: r.processes, bindings: r.bindings}
}

func (r *runner) crashWord() string {
	if r.processes == nil {
		return "its sockets are closed"
	}
	return "SIGKILL"
}

// runner acts a history out: it hands the turn to one worker at a time and
// compares every answer of an engine with what the model says.
type runner struct {
	spec *ast.Spec
	*company
	processes *Processes // nil: workers in this process
	bindings  []binding
	workers   map[lower.InstanceID]actor
	waiting   map[int]*pending   // by number of the step that was sent early
	sent      map[actor]*pending // the last step of each
	// forDeadlock: a statement was sent only because a deadlock needs it.
	forDeadlock map[actor]bool
	verdict     *Verdict
	// renumbered: SQLite has given the number of a rolled back insert again.
	renumbered bool
	// after is called after every step of the history; nil: nobody looks.
	after func(ctx context.Context, n int) error
}

// deviation ends a schedule: the engine did not do what the model says.
type deviation struct {
	answer Answer
	reason string
}

func (d *deviation) Error() string { return fmt.Sprintf("%s: %s", d.answer, d.reason) }

func stricter(format string, args ...any) error {
	return &deviation{Stricter, fmt.Sprintf(format, args...)}
}

func weaker(format string, args ...any) error {
	return &deviation{Weaker, fmt.Sprintf(format, args...)}
}

// play resets the stores and acts out the whole history.
func (r *runner) play(ctx context.Context, h *lower.History, end *lower.Contents) (v *Verdict, err error) {
	r.verdict = &Verdict{Answer: Confirmed}
	r.workers, r.waiting, r.sent, r.forDeadlock = map[lower.InstanceID]actor{}, map[int]*pending{}, map[actor]*pending{}, map[actor]bool{}
	defer func() { err = errors.Join(err, r.abandon(ctx)) }()
	for _, res := range r.resources {
		if err := res.reset(ctx); err != nil {
			return r.judged(err, 0)
		}
	}
	for i := range h.Steps {
		s := &h.Steps[i]
		if err := r.sendEarly(ctx, h, s.N); err != nil {
			return r.judged(err, s.N)
		}
		said, err := r.act(ctx, s)
		r.verdict.Steps = append(r.verdict.Steps, StepReport{N: s.N, Actor: s.Actor, Text: s.Text, Engine: said, Agrees: err == nil})
		if err != nil {
			return r.judged(err, s.N)
		}
		if r.after != nil {
			if err := r.after(ctx, s.N); err != nil {
				return nil, err
			}
		}
	}
	return r.judged(r.compareEnd(ctx, end), 0)
}

// judged turns what stopped a schedule into its verdict; an error is a failure
// of the machinery.
func (r *runner) judged(err error, at int) (*Verdict, error) {
	v := r.verdict
	var d *deviation
	switch {
	case err == nil:
		return v, nil
	case errors.As(err, &d) && d.answer == Weaker && r.renumbered:
		v.Answer, v.Step = Stricter, at
		v.Reason = "SQLite has given the number of a rolled back insert again, so there is no gap: " + d.reason
	case errors.As(err, &d):
		v.Answer, v.Reason, v.Step = d.answer, d.reason, at
	case errors.Is(err, errUnsupported):
		v.Answer, v.Reason, v.Step = NotRun, err.Error(), at
	default:
		return nil, fmt.Errorf("step %d: %w", at, err)
	}
	return v, nil
}

// abandon ends every worker that is still connected. Connections that are in
// order serve the next schedule; one whose statement still waits is cut.
func (r *runner) abandon(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	for _, w := range r.workers {
		if p := r.sent[w]; p == nil || p.answered() {
			w.release(ctx)
		} else {
			w.sever()
		}
	}
	var errs []error
	for _, w := range r.workers {
		if p := r.sent[w]; p != nil {
			<-p.done
		}
		errs = append(errs, r.awaitEnd(ctx, w.crash()))
	}
	return errors.Join(errs...)
}

func (r *runner) worker(p *ast.Process, instance int) actor {
	id := lower.InstanceID{Of: p, Index: instance}
	if r.workers[id] == nil {
		r.workers[id] = r.hire(p, instance)
	}
	return r.workers[id]
}

// act carries out one event and says what the engine answered.
func (r *runner) act(ctx context.Context, s *lower.Step) (string, error) {
	e := &s.Event
	switch {
	case e.Start:
		return r.start(ctx, e)
	case e.Step != nil:
		return r.step(ctx, s)
	case e.What == lower.Crash:
		return r.crash(ctx, e)
	case e.What == lower.AgePasses:
		r.worker(e.Process, e.Instance).age(e.Of.Duration)
		return "is taken as true by the worker", nil
	case e.What == lower.TimePasses:
		return "", nil
	}
	res := r.resources[e.Of.Resource]
	if res == nil {
		return "", fmt.Errorf("%w: %q", errUnsupported, e.What)
	}
	if err := res.happen(ctx, e); err != nil {
		return "", err
	}
	return "done", nil
}

// patience is how long a trigger may take to be offered: a message comes back
// only when its ack-wait has ended.
const patience = 2 * time.Second

func (r *runner) start(ctx context.Context, e *lower.Event) (string, error) {
	w := r.worker(e.Process, e.Instance)
	var out *outcome
	err := eventually(ctx, patience, func() (bool, error) {
		var err error
		out, err = w.start(ctx, e)
		if errors.Is(err, errNothingTaken) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		if out == nil && !errors.Is(err, errUnsupported) && ctx.Err() == nil {
			return "nothing", stricter("%s does not get what the model gives it: %v", w, err)
		}
		return "", err
	}
	if here, ok := w.(*worker); ok {
		r.verdict.Attempts = append(r.verdict.Attempts, here.attempt)
	}
	said := "takes " + printed(out.taken)
	if as := e.Process.Trigger.As; as != nil && e.Of.Fields != nil && !agrees(asTaken(r.plainRecord(e.Of.Table, e.Of.Fields)), out.taken) {
		return said, weaker("%s takes %s, in the model %s", w, printed(out.taken), printed(e.Of.Fields))
	}
	return said, r.comparePlace(w, e, out.at)
}

// asTaken is what a run gets of a message as it stood before: taking it counts
// one more delivery.
func asTaken(fields lower.Record) lower.Record {
	out := maps.Clone(fields)
	delete(out, "deliveries")
	return out
}

// comparePlace: a run must stand where the model's stands. A local step at
// which the model stops for a promise is passed by a worker.
func (r *runner) comparePlace(w actor, e *lower.Event, at place) error {
	want := standsAt(e)
	if want.step != nil && !want.commit && want.step.Local() || at == want {
		return nil
	}
	return weaker("%s stands before %s, in the model before %s", w, at, want)
}

func (r *runner) crash(ctx context.Context, e *lower.Event) (string, error) {
	if e.Of.Method != nil { // its request stays under way
		if err := r.worker(e.Process, e.Instance).leaveUnderWay(ctx); err != nil {
			return "", err
		}
	}
	for _, i := range crashTogether(e.Process, e.Instance) {
		w := r.worker(e.Process, i)
		if p := r.sent[w]; p != nil && !p.answered() {
			w.sever()
			<-p.done
		}
		if err := r.awaitEnd(ctx, w.crash()); err != nil {
			return "", err
		}
	}
	for _, res := range r.resources {
		if g, ok := res.(rejoined); ok {
			if err := g.crashed(ctx, e.Process, e.Instance); err != nil {
				return "", err
			}
		}
	}
	return r.crashWord(), nil
}

// crashTogether are the instances that are one program: the workers of one
// member of a group, and those that share the memory of a process.
func crashTogether(p *ast.Process, instance int) []int {
	share, all := 1, p.Instances
	if t := p.Trigger; t.Kind == ast.OnMessage && t.Workers > 1 {
		share, all = t.Workers, p.Instances*t.Workers
	}
	for _, s := range p.All {
		if r := s.Resource; r != nil && r.Kind == ast.MemoryKind && r.KV.Scope == ast.PerProcess {
			share = all
		}
	}
	var out []int
	for i := range all {
		if i/share == instance/share {
			out = append(out, i)
		}
	}
	return out
}

// awaitEnd waits until the engines have noticed that connections are gone, so
// that what they held is free.
func (r *runner) awaitEnd(ctx context.Context, connections map[*ast.Resource]int64) error {
	for res, id := range connections {
		if db, ok := r.resources[res].(interface {
			awaitEnd(ctx context.Context, id int64) error
		}); ok {
			if err := db.awaitEnd(ctx, id); err != nil {
				return fmt.Errorf("%s does not notice that a connection is gone: %w", res.Name, err)
			}
		}
	}
	return nil
}

// faultOf is what the network does in a world of the model.
func faultOf(w lower.World) fault {
	switch w {
	case lower.DoneLost, lower.AnswerLost:
		return answerLost
	case lower.NotCommitted, lower.RequestLost, lower.NeverArrives:
		return requestLost
	case lower.ArrivesLate:
		return arrivesLate
	case lower.Fails:
		return refused
	case lower.LockTimesOut:
		return lockTimeout
	}
	return noFault
}

func (r *runner) step(ctx context.Context, s *lower.Step) (string, error) {
	e := &s.Event
	w := r.worker(e.Process, e.Instance)
	connection := w.connection(e.Step.Resource)
	p := r.waiting[s.N]
	if p == nil && r.forDeadlock[w] {
		var err error
		if p, err = r.takenOver(w, e); err != nil {
			return "", err
		}
	}
	if p == nil {
		if at, idle := w.standing(); idle || at != (place{e.Step, e.Commit}) {
			return "", weaker("%s stands before %s, in the model before %s", w, at, place{e.Step, e.Commit})
		}
		if res, ok := r.resources[e.Step.Resource].(watched); ok {
			if err := res.before(ctx); err != nil {
				return "", err
			}
		}
		p = r.send(ctx, w, e)
		if e.Why != lower.Deadlock && e.World != lower.LockTimesOut {
			if err := r.await(ctx, p); err != nil {
				return "waits", err
			}
		}
	}
	delete(r.waiting, s.N)
	out, err := p.result(ctx)
	if err != nil {
		return "", err
	}
	if errors.Is(out.err, errBusy) {
		if !p.waited {
			return "is busy", stricter("%s: the engine is busy where the model goes on: %v", w, out.err)
		}
		p = r.send(ctx, w, e) // what it waited for is over
		if out, err = p.result(ctx); err != nil {
			return "", err
		}
	}
	if res, ok := r.resources[e.Step.Resource].(watched); ok {
		if err := res.after(ctx, e.Step, out); err != nil {
			return "", err
		}
	}
	if e.World.Lost() && out.failure == engines.Lost {
		if err := r.awaitEnd(ctx, map[*ast.Resource]int64{e.Step.Resource: connection}); err != nil {
			return "", err
		}
	}
	return said(e, out), r.compare(w, e, out)
}

// compareEnd compares effects, counted by queries, and the rows of the stores
// with what the model ends with.
func (r *runner) compareEnd(ctx context.Context, end *lower.Contents) error {
	for _, e := range r.spec.Effects {
		counts, kept := end.Effects[e]
		if !kept {
			continue
		}
		engine := map[string]int{}
		for _, res := range r.resources {
			n, err := res.effects(ctx, e)
			if err != nil {
				return err
			}
			for op, k := range n {
				engine[op] += k
			}
		}
		for _, o := range e.Operations {
			for i := range o.Count {
				n := counts[lower.OperationID{Of: o, Index: i}]
				r.verdict.Effects = append(r.verdict.Effects, EffectCount{e.Name, opName(o, i), n, engine[opName(o, i)], stops(e, n)})
			}
		}
	}
	for _, c := range r.verdict.Effects {
		if !c.agrees() {
			return weaker("effect %s of %s: %d on the engine, %d in the model", c.Effect, c.Operation, c.Engine, c.Model)
		}
	}
	return r.compareRows(ctx, end)
}
