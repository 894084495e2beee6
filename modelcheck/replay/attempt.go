package replay

import (
	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/specs/ast"
)

// Attempt is one run of a process on the engines: a request or message as it was
// treated once.
type Attempt struct {
	Worker  string
	Subject Value // the operation, message or row that it was about

	Reply ast.Reply // "" without one
	Body  Value     // of the reply
	// Names are the names that the run had bound when it ended.
	Names   map[string]Value
	Crashed bool
	// Refused are the steps that were not done.
	Refused []Refusal
}

// Refusal is a step that was not done.
type Refusal struct {
	Step    *ast.Step
	Branch  ast.Outcome // that the run took
	Failure engines.Failure
	Err     error // in the words of the engine or its driver
}

func (a *Attempt) note(s *ast.Step, e ending) {
	if !e.done {
		a.Refused = append(a.Refused, Refusal{s, e.branch, e.failure, e.err})
	}
}

// leave keeps the names of a run that ends.
func (a *Attempt) leave(names *scope) {
	a.Names = map[string]Value{}
	for v, x := range names.vars {
		a.Names[v.Name] = x
	}
}

// Failed says whether a step was refused for that reason.
func (a *Attempt) Failed(f engines.Failure) bool {
	for _, r := range a.Refused {
		if r.Failure == f {
			return true
		}
	}
	return false
}

// reply answers the caller, who is the schedule: it is written down.
func (w *worker) reply(s *ast.Step) ending {
	w.attempt.Reply = s.Reply
	if s.Body == nil {
		return ending{done: true}
	}
	body, err := w.control.names.eval(s.Body)
	if err != nil {
		return ending{branch: ast.OnError, err: err}
	}
	w.attempt.Body = body
	return ending{done: true}
}
