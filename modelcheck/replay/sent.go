package replay

import (
	"context"
	"errors"
	"time"

	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

// takenOver is the statement that a deadlock needed, if this is its step: it
// cannot be taken back, and nothing can be done to it any more.
func (r *runner) takenOver(w actor, e *lower.Event) (*pending, error) {
	p := r.sent[w]
	delete(r.forDeadlock, w)
	if p.e.Step != e.Step || faultOf(e.World) != noFault {
		return nil, stricter("%s has sent the statement that the deadlock needed, in the model it comes to another end", w)
	}
	for n, q := range r.waiting {
		if q == p {
			delete(r.waiting, n)
		}
	}
	return p, nil
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

// sendEarly sends the statements that, in the model, are sent before step n and
// wait, and makes sure that the engine makes them wait. A deadlock needs the
// statements of everybody else who waits.
func (r *runner) sendEarly(ctx context.Context, h *lower.History, n int) error {
	for i := range h.Steps {
		s := &h.Steps[i]
		if !s.Event.Waited || s.Event.Sent != n || s.N == n || !reaches(s.Event.World) {
			continue
		}
		w := r.worker(s.Event.Process, s.Event.Instance)
		if r.isWaiting(w) {
			continue // a deadlock has needed it already
		}
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
			if p.err != nil {
				return false, p.err
			}
			if errors.Is(p.out.err, errUnsupported) {
				return false, p.out.err
			}
			if errors.Is(p.out.err, errBusy) {
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
