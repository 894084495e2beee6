package replay

import (
	"errors"
	"fmt"
	"time"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

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
		r.renumbered = r.renumbered || e.Reads && r.on(e.Step, engines.SQLite) && !agrees(e.Read, out.value)
	case e.Done:
		if out.branch == ast.IfNone && r.snapshotOnly(e.Step) {
			return r.otherValue(w, e, what, out)
		}
		if out.branch == ast.IfNone {
			return weaker("%s finds nothing, in the model it is done", what)
		}
		return stricter("%s is refused: %s", what, said(e, out))
	case out.done:
		if (e.Why == lower.Deadlock || e.World == lower.LockTimesOut) && r.otherVictim() {
			return stricter("%s is done: the engine has given up the other transaction of the deadlock", what)
		}
		if r.snapshotOnly(e.Step) {
			return r.otherValue(w, e, what, out)
		}
		if e.Waited && r.on(e.Step, engines.SQLite) {
			return stricter("%s is done: SQLite has looked at nothing while it was busy; in the model %s", what, predicted(e))
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
	case e.Step.Skip && r.on(e.Step, engines.MySQL):
		return stricter("%s finds %s: InnoDB locks every row that it reads, also those that the order or the limit leaves out; in the model %s", what, found, printed(e.Read))
	}
	return weaker("%s finds %s, in the model %s", what, found, printed(e.Read))
}

// snapshotOnly: SQLite has no isolation below serializable, so a transaction
// goes on seeing what it saw first.
func (r *runner) snapshotOnly(s *ast.Step) bool {
	return r.on(s, engines.SQLite) && s.Block != nil && s.Resource.SQL.Isolation == ast.ReadCommitted
}

// on says whether a step is on a database of the kind.
func (r *runner) on(s *ast.Step, kind engines.Kind) bool {
	db, ok := r.resources[s.Resource].(*sqlResource)
	return ok && db.kind == kind
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
