package replay

import (
	"context"

	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

// actor is a worker as the runner sees it: in this process, or in one of its
// own.
type actor interface {
	String() string
	// start begins a run; the error is errNothingTaken where the engine has
	// nothing to take yet.
	start(ctx context.Context, e *lower.Event) (*outcome, error)
	// step carries out the step before which the run stands.
	step(ctx context.Context, e *lower.Event, f fault) (*outcome, error)
	// standing is where the run stands, and whether there is none.
	standing() (at place, idle bool)
	// age tells the worker that a length of time has passed.
	age(d *ast.Duration)
	// connection is what a database calls the worker's connection, 0 without one.
	connection(r *ast.Resource) int64
	// release gives connections in order to the next schedule.
	release(ctx context.Context)
	// sever closes the sockets of a worker whose statement still waits.
	sever()
	// leaveUnderWay sends the request of the next step as one that arrives late.
	leaveUnderWay(ctx context.Context) error
	// crash ends the worker at once and gives the connections that it had.
	crash() map[*ast.Resource]int64
}

var _ actor = (*worker)(nil)

func (w *worker) standing() (place, bool) { return w.at, w.control == nil }

func (w *worker) age(d *ast.Duration) {
	if w.control != nil {
		w.control.names.aged[d] = true
	}
}
