package replay

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

// company is what the workers of one replay share: the resources, and database
// connections that nobody uses at the moment.
type company struct {
	resources map[*ast.Resource]resource
	spare     map[*ast.Resource][]session
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
	if p == nil {
		if at, idle := w.standing(); idle || at != (place{e.Step, e.Commit}) {
			if r.forDeadlock[w] {
				return "", stricter("%s has gone on with the statement that the deadlock needed, in the model it comes to another end", w)
			}
			return "", weaker("%s stands before %s, in the model before %s", w, at, place{e.Step, e.Commit})
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
	if e.World.Lost() {
		if err := r.awaitEnd(ctx, map[*ast.Resource]int64{e.Step.Resource: connection}); err != nil {
			return "", err
		}
	}
	return said(e, out), r.compare(w, e, out)
}

// pending is a step that was sent and not yet answered.
type pending struct {
	w      actor
	e      *lower.Event
	done   chan struct{}
	out    *outcome
	err    error
	waited bool // the engine has said that it waits
}

func (p *pending) answered() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (p *pending) result(ctx context.Context) (*outcome, error) {
	select {
	case <-p.done:
		return p.out, p.err
	case <-time.After(lockPatience):
		return nil, stricter("%s gets no answer within %s", p.w, lockPatience)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (r *runner) send(ctx context.Context, w actor, e *lower.Event) *pending {
	p := &pending{w: w, e: e, done: make(chan struct{})}
	r.sent[w] = p
	go func() {
		defer close(p.done)
		p.out, p.err = w.step(ctx, e, faultOf(e.World))
	}()
	return p
}

// sendEarly sends the statements that, in the model, wait until step n releases
// them, and makes sure that the engine makes them wait. A deadlock needs the
// statements of everybody else who waits.
func (r *runner) sendEarly(ctx context.Context, h *lower.History, n int) error {
	for i := range h.Steps {
		s := &h.Steps[i]
		if !s.Event.Waited || s.Event.Released != n || s.N == n || !reaches(s.Event.World) {
			continue
		}
		w := r.worker(s.Event.Process, s.Event.Instance)
		if at, idle := w.standing(); idle || at != (place{s.Event.Step, s.Event.Commit}) {
			continue // it gets there by this very step
		}
		if err := r.sendWaiting(ctx, w, s.N, &s.Event); err != nil {
			return err
		}
	}
	e := &h.Steps[n-1].Event
	if e.Why != lower.Deadlock {
		return nil
	}
	for _, id := range sortedIDs(r.workers) {
		w := r.workers[id]
		at, idle := w.standing()
		if idle || at.commit || r.isWaiting(w) || at.step.Resource != e.Step.Resource || w == r.worker(e.Process, e.Instance) {
			continue
		}
		// Its answer is not part of the history: no step has this number.
		r.forDeadlock[w] = true
		if err := r.sendWaiting(ctx, w, -len(r.waiting)-1, &lower.Event{Process: id.Of, Instance: id.Index, Step: at.step, Waited: true}); err != nil {
			return err
		}
	}
	return nil
}

// reaches says whether the statement gets to the engine and waits there as long
// as it must.
func reaches(w lower.World) bool {
	f := faultOf(w)
	return f == noFault || f == answerLost
}

func (r *runner) isWaiting(w actor) bool {
	for _, p := range r.waiting {
		if p.w == w {
			return true
		}
	}
	return false
}

// sendWaiting sends a step as number n of the history; it must wait.
func (r *runner) sendWaiting(ctx context.Context, w actor, n int, e *lower.Event) error {
	p := r.send(ctx, w, e)
	r.waiting[n] = p
	return eventually(ctx, lockPatience, func() (bool, error) {
		select {
		case <-p.done:
			if p.err == nil && p.out != nil && errors.Is(p.out.err, errBusy) {
				p.waited = true
				return true, nil
			}
			return false, weaker("%s: %s %s does not wait for a lock, in the model it does", w, e.Step.Verb, e.Step.Subject)
		default:
		}
		var err error
		p.waited, err = r.blocked(ctx, w, e.Step)
		return p.waited, err
	})
}

// blocked asks the engine whether the worker's statement waits for a lock.
func (r *runner) blocked(ctx context.Context, w actor, s *ast.Step) (bool, error) {
	db, ok := r.resources[s.Resource].(interface {
		blocked(ctx context.Context, id int64) (bool, error)
	})
	if !ok {
		return false, nil
	}
	return db.blocked(ctx, w.connection(s.Resource))
}

// await waits for the answer of a step that the model does not let wait.
func (r *runner) await(ctx context.Context, p *pending) error {
	for wait := 20 * time.Millisecond; ; wait = 5 * time.Millisecond {
		select {
		case <-p.done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
		held, err := r.blocked(ctx, p.w, p.e.Step)
		if err != nil {
			return err
		}
		if held {
			return stricter("%s: %s %s waits for a lock, in the model it does not", p.w, p.e.Step.Verb, p.e.Step.Subject)
		}
	}
}

// said is the engine's answer in words.
func said(e *lower.Event, out *outcome) string {
	switch {
	case out.done && e.Reads:
		return "reads " + printed(out.value)
	case out.done:
		return "done"
	case out.failure != engines.OtherFailure:
		return out.failure.String()
	case out.err != nil:
		return out.err.Error()
	}
	return out.branch.String()
}

// compare says whether the engine did what the model says.
func (r *runner) compare(w actor, e *lower.Event, out *outcome) error {
	if errors.Is(out.err, errUnsupported) {
		return out.err
	}
	what := fmt.Sprintf("%s: %s %s", w, e.Step.Verb, e.Step.Subject)
	if e.Commit {
		what = fmt.Sprintf("%s: commit %s", w, e.Step.Subject)
	}
	switch {
	case out.left != nil: // a script that was left half-way: only the place tells
	case e.World.Lost():
		if out.done || out.branch != ast.OnUnknown {
			return fmt.Errorf("internal: %s: the fault was not injected: %s", what, said(e, out))
		}
	case e.Done && out.done:
		if e.Reads && !agrees(r.withoutNumbers(e), out.value) {
			return r.otherValue(w, e, what, out)
		}
	case e.Done:
		if out.branch == ast.IfNone && r.snapshotOnly(e.Step) {
			return r.otherValue(w, e, what, out)
		}
		if out.branch == ast.IfNone {
			return weaker("%s finds nothing, in the model it is done", what)
		}
		return stricter("%s is refused: %s", what, said(e, out))
	case out.done:
		if e.Why == lower.Deadlock && r.otherVictim() {
			return stricter("%s is done: the engine has given up the other transaction of the deadlock", what)
		}
		if r.snapshotOnly(e.Step) {
			return r.otherValue(w, e, what, out)
		}
		return weaker("%s is done, in the model %s", what, predicted(e))
	case out.branch != e.Branch:
		if out.branch == ast.OnError {
			return stricter("%s is refused: %s, in the model %s", what, said(e, out), predicted(e))
		}
		return weaker("%s: %s, in the model %s", what, said(e, out), predicted(e))
	}
	if f, ok := failureOf(e.Why); ok && !out.done && out.err != nil && out.failure != f {
		return stricter("%s is refused for another reason: %s, in the model %s", what, said(e, out), predicted(e))
	}
	return r.comparePlace(w, e, out.at)
}

// otherVictim: a statement that was sent early has ended as the victim of a
// deadlock.
func (r *runner) otherVictim() bool {
	for _, p := range r.waiting {
		select {
		case <-p.done:
			if p.out != nil && p.out.failure == engines.Deadlock {
				return true
			}
		case <-time.After(lockPatience):
		}
	}
	return false
}

// otherValue is a read that does not find what the model reads.
func (r *runner) otherValue(w actor, e *lower.Event, what string, out *outcome) error {
	found := printed(out.value)
	if !out.done {
		found = "nothing"
	}
	switch {
	case r.snapshotOnly(e.Step):
		return stricter("%s finds %s, as its transaction began; in the model %s", what, found, printed(e.Read))
	case r.numbersAgain(e.Step.Resource):
		return stricter("%s finds %s: SQLite gives the numbers of a rolled back transaction again; in the model %s", what, found, printed(e.Read))
	}
	return weaker("%s finds %s, in the model %s", what, found, printed(e.Read))
}

// snapshotOnly: SQLite has no isolation below serializable, so a transaction
// goes on seeing what it saw first.
func (r *runner) snapshotOnly(s *ast.Step) bool {
	db, ok := r.resources[s.Resource].(*sqlResource)
	return ok && db.kind == engines.SQLite && s.Block != nil && s.Resource.SQL.Isolation == ast.ReadCommitted
}

// numbersAgain: SQLite gives a number of a sequence that was rolled back again,
// so there are no gaps.
func (r *runner) numbersAgain(res *ast.Resource) bool {
	db, ok := r.resources[res].(*sqlResource)
	return ok && db.kind == engines.SQLite && slices.ContainsFunc(res.SQL.Tables, func(t *ast.Table) bool { return t.Sequence != nil })
}

func predicted(e *lower.Event) string {
	if e.Done {
		return "it is done"
	}
	if e.Why != lower.NoReason {
		return fmt.Sprintf("it takes %s (%s)", e.Branch, e.Why)
	}
	return "it takes " + e.Branch.String()
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
