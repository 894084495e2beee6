package replay

import (
	"context"
	"errors"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

// binding says which engine plays a resource of a spec. It is all that a worker
// process needs to reach it.
type binding struct {
	Resource string       // its name in the spec
	Kind     engines.Kind // or kindStub, kindMemory
	DSN      string       // of the run's own database, server or stub
	Prefix   string       // of every key, stream and bucket of this run; one for all its resources
}

// Engines that are part of this program.
const (
	kindStub   engines.Kind = "stub"   // a payment provider with its own ledger
	kindMemory engines.Kind = "memory" // of the worker itself
)

// resource is a store or service of a spec on an engine. Its sessions belong to
// workers; everything else is the environment: what exists before the first
// step, what expires, and what an effect comes to.
type resource interface {
	// engine names what runs, with its version: "postgres 15.18".
	engine() string
	// reset removes everything that an earlier schedule left and puts in what
	// the spec says exists before the first step.
	reset(ctx context.Context) error
	// connect opens a worker's own connection.
	connect(ctx context.Context) (session, error)
	// happen carries out an event of the environment: an expiry, a redelivery, a
	// late request. The error is errUnsupported where this engine has no such
	// event.
	happen(ctx context.Context, e *lower.Event) error
	// effects counts a business effect by a query, by operation ("payment-1").
	// Only effects that this resource keeps are in it.
	effects(ctx context.Context, e *ast.Effect) (map[string]int, error)
	// close ends its connections and removes what it has made.
	close(ctx context.Context) error
}

// rejoined is a resource that notices that a process has crashed: its group
// hands out the work anew.
type rejoined interface {
	crashed(ctx context.Context, p *ast.Process, instance int) error
}

// watched is a resource that wants to know when steps on it begin and end.
type watched interface {
	before(ctx context.Context) error
	after(ctx context.Context, s *ast.Step, out *outcome) error
}

// session is the connection of one worker to a resource.
type session interface {
	// take starts a run: it receives the message, or reads the row or entry that
	// the trigger is about. The event says which one the model has chosen; the
	// engine must offer it. A nil value means that the engine has none.
	take(ctx context.Context, t *ast.Trigger, names *scope, e *lower.Event) (Value, error)
	// do carries out a step and says how it ended.
	do(ctx context.Context, c *call) ending
	// end is told that the run is over: a message that was taken and not
	// acknowledged is given back, an open transaction is rolled back.
	end(ctx context.Context) error
	// cut ends the connection as a crash does: without a goodbye.
	cut()
}

// call is a step as a worker carries it out.
type call struct {
	step   *ast.Step
	commit bool   // of the block step
	names  *scope // of the run
	fault  fault
	event  *lower.Event // what the model says of it; hints only, never the answer
}

// fault is what the network does to a call.
type fault uint8

const (
	noFault     fault = iota
	answerLost        // carried out, the caller hears nothing
	requestLost       // never arrives, the caller hears nothing
	arrivesLate       // the caller hears nothing, it is carried out later
	refused           // a definite error before anything is done
	lockTimeout       // the wait for a lock is given up
)

// ending is how a step ended.
type ending struct {
	done    bool
	branch  ast.Outcome     // if not done
	failure engines.Failure // of an error
	err     error           // the engine's own words
	value   Value           // what `as:` binds
	// stays: the service has begun and not finished; the run stays before the step
	// and sends it again.
	stays bool
	// committed: the step has ended its transaction.
	committed bool
	// touched are keys that it may have written, as the server names them.
	touched []string
	// Of a script: the names that its steps have bound, and the step at which it
	// was left before its end (a jump, or a verb that took a branch).
	binds map[*ast.Var]Value
	left  *ast.Step
}

// errUnsupported means that an engine has no way to do what the spec says: the
// run is NOT_RUN, never a pass.
var errUnsupported = errors.New("not supported")
