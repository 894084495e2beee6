package plan

import (
	"time"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/retrytree"
)

// Node is a service of the call graph.
type Node struct {
	Name     string
	Pos      diag.Pos
	Parallel bool
	Calls    []*Call
	Cost     Value[float64] // work of one execution, in any unit
	Failure  Value[float64] // of one execution, by its own fault
	Domain   Value[string]  // failure domain
	Latency  *LatencySpec   // of one execution that succeeds
	From     *From          // a configuration that decides its calls
	Storm    StormNode      // servers, service, queue and the like: only retry storm uses them
}

// LatencySpec is a distribution as percentiles or as a file of samples.
type LatencySpec struct {
	Pos     diag.Pos
	Points  []LatencyPoint
	Samples Value[string] // file with one duration a line
}

// LatencyPoint is one percentile.
type LatencyPoint struct {
	P float64
	T Value[time.Duration]
}

// FailureDomain is a set of services that fail together.
type FailureDomain struct {
	Name   string
	Pos    diag.Pos
	Outage Value[float64]
	Out    Value[float64]
	Mean   Value[time.Duration]
}

// Call is an edge of the call graph.
type Call struct {
	Pos     diag.Pos
	To      Value[string]
	FanOut  Value[int64]
	Weight  Value[float64] // share of this alternative
	Choice  Value[string]  // the alternatives it belongs to
	Method  Value[string]
	Key     Value[string]  // reused or fresh
	Failure Value[float64] // of an attempt whose answer is lost
	Target  Value[float64] // success wanted, for the planner
	LayerSpec
	Layers []*LayerSpec // the outermost first; in place of the numbers of the call itself
	From   *From
	Storm  StormCall // what only retry storm uses

	read *readLayer // what From gives, once resolved
}

// LayerSpec is one retry policy.
type LayerSpec struct {
	Pos            diag.Pos
	Name           Value[string]
	Attempts       Value[int64]
	Unlimited      bool
	PerTry         Value[time.Duration]
	Overall        Value[time.Duration]
	StopsOnly      bool        // overall stops new attempts and does not cut the running one
	TimeoutRetried Value[bool] // default true
	Backoff        *Backoff
	Budget         *Budget
	Hedge          *HedgeSpec
}

// HedgeSpec sends copies without a failure.
type HedgeSpec struct {
	Pos   diag.Pos
	Delay Value[time.Duration]
	Slow  Value[float64]
}

// Backoff between attempts.
type Backoff struct {
	Base   Value[time.Duration]
	Factor Value[float64]
	Step   Value[time.Duration]
	Max    Value[time.Duration]
	Jitter Value[string] // none, full, equal, decorrelated, spread
	Spread Value[float64]
}

// Budget bounds the extra attempts of an edge.
type Budget struct {
	Ratio  Value[float64]
	Per    Value[string]  // first_try, success or active
	Floor  Value[float64] // retries a second that each client may always make
	Rate   Value[float64] // first tries a second of one client
	Bucket Value[int64]
	Pos    diag.Pos
	Storm  StormBudget
}

// From takes the numbers of a call from a real configuration.
type From struct {
	Pos  diag.Pos
	File Value[string]
	Hop  Value[string]
}

// readLayer is a hop of a real configuration as a layer, with its origin.
type readLayer struct {
	layer  retrytree.Layer
	origin string   // file:line kind hop
	notes  []string // what the reading left open
}
