package retrytree

import (
	"fmt"
	"math"
	"time"

	"github.com/relplan/relplan/deadline"
)

// Node is one service of the call graph.
type Node struct {
	// Name identifies the service.
	Name string
	// Calls are the calls one execution of the service makes, in order.
	Calls []Call
	// Parallel issues all calls at once. Otherwise they are serial with early
	// abort: a call is made only when the ones before it succeeded.
	Parallel bool
	// Failure is the probability that one execution fails by its own fault,
	// independently of all others. It shows at the end: the calls were made.
	Failure float64
	// Domain names the failure domain of the service, see [Domain]; "" means
	// none.
	Domain string
	// Cost is the work of one execution in any unit (CPU milliseconds, money);
	// 0 means the service is left out of work sums.
	Cost float64
}

// Call is one call that a service makes on every execution.
type Call struct {
	// To names the service called. A service that is only called and makes no
	// calls need not be listed as a Node.
	To string
	// FanOut is the number of copies of this call in one execution; 0 means 1.
	FanOut int64
	// Choice makes the call one of several alternatives: of the calls of a
	// service with the same Choice exactly one is made on each execution. ""
	// means the call is always made. A choice stands in the order of its first
	// member.
	Choice string
	// Weight is the share of executions that take this alternative, relative
	// to the others; when all are 0 they are equally likely. Without meaning
	// outside a choice.
	Weight float64
	// Failure is the probability that an attempt is lost although the service
	// called worked: a dropped answer. The work is done all the same.
	Failure float64
	// FreshKey: every attempt carries a new idempotency key, so this call does
	// not lengthen the time for which its receiver must remember a key.
	FreshKey bool
	// Layers are the retry policies on this call, the outermost first (client
	// library, then sidecar, ...). Their attempts multiply. None means one
	// attempt without a limit.
	Layers []Layer
}

// Layer is one retry policy.
type Layer struct {
	// Name says where the policy lives, for reports; may be empty.
	Name string
	// Attempts is the largest number of attempts, the first one included;
	// 0 means 1.
	Attempts int64
	// Unbounded means there is no limit on the number of attempts. Attempts is
	// then ignored.
	Unbounded bool
	// PerTry is the limit of one attempt; 0 means none.
	PerTry time.Duration
	// Overall is the limit of all attempts with their waits; 0 means none.
	Overall time.Duration
	// StopsOnly: Overall stops new attempts and does not cut the running one.
	StopsOnly bool
	// TimeoutEnds: an attempt that hits its per-try limit is not retried.
	TimeoutEnds bool
	// Waits are the pauses between attempts; nil means none.
	Waits deadline.Waits
	// Budget bounds the load that the retries of this layer add in the long
	// run; nil means nothing does.
	Budget *Budget
	// Hedge turns attempts into copies that are sent without a failure; nil
	// means attempts are made after failures only.
	Hedge *Hedge
}

// To returns a call with one retry policy of n attempts, the first included.
func To(name string, n int64) Call {
	return Call{To: name, Layers: []Layer{{Attempts: n}}}
}

// Policy returns the timing of the layer.
func (l Layer) Policy() deadline.Policy {
	p := deadline.Policy{Attempts: max(l.Attempts, 1), PerTry: l.PerTry, Overall: l.Overall,
		StopsOnly: l.StopsOnly, TimeoutEnds: l.TimeoutEnds, Waits: l.Waits}
	if l.Unbounded {
		p.Attempts = deadline.Unlimited
	}
	if l.Hedge != nil {
		p.Hedged, p.Hedge = true, l.Hedge.Delay
	}
	return p
}

func countOf(n int64) Count {
	if n == deadline.Unlimited {
		return UnboundedCount()
	}
	return NewCount(n)
}

// Attempts returns the largest number of attempts of the call: the product
// over its layers, without the fan-out.
func (c Call) Attempts() Count {
	n := NewCount(1)
	for _, l := range c.Layers {
		n = n.Mul(countOf(l.Policy().Attempts))
	}
	return n
}

// copies is FanOut with its default.
func (c Call) copies() int64 { return max(c.FanOut, 1) }

// checkNode appends the mistakes of one node. Index and Node of at are set.
func checkNode(errs []error, at *InputError, n *Node) []error {
	add := func(call, layer int, format string, a ...any) {
		e := *at
		e.Call, e.Layer, e.Message = call, layer, fmt.Sprintf(format, a...)
		errs = append(errs, &e)
	}
	if !isProbability(n.Failure) {
		add(-1, -1, "failure is %v, expected a probability from 0 to 1", n.Failure)
	}
	if !(n.Cost >= 0) || math.IsInf(n.Cost, 0) {
		add(-1, -1, "cost is %v, expected a finite number from 0", n.Cost)
	}
	for j := range n.Calls {
		c := &n.Calls[j]
		if c.To == "" {
			add(j, -1, "does not say which service it calls")
		}
		if c.FanOut < 0 {
			add(j, -1, "fan-out is %d, expected at least 1", c.FanOut)
		}
		if !(c.Weight >= 0) || math.IsInf(c.Weight, 0) {
			add(j, -1, "weight is %v, expected a finite number from 0", c.Weight)
		}
		if !isProbability(c.Failure) {
			add(j, -1, "failure is %v, expected a probability from 0 to 1", c.Failure)
		}
		for k := range c.Layers {
			checkLayer(&c.Layers[k], func(format string, a ...any) { add(j, k, format, a...) })
		}
	}
	return errs
}

func isProbability(p float64) bool { return p >= 0 && p <= 1 }

func checkLayer(l *Layer, add func(string, ...any)) {
	if l.Attempts < 0 {
		add("attempts is %d, expected at least 1", l.Attempts)
	}
	if l.PerTry < 0 {
		add("per-try limit is %v, expected 0 (none) or more", l.PerTry)
	}
	if l.Overall < 0 {
		add("overall limit is %v, expected 0 (none) or more", l.Overall)
	}
	if l.Hedge != nil && (l.Hedge.Delay < 0 || !isProbability(l.Hedge.Slow)) {
		add("hedge waits %v with a share of %v slow answers, expected a delay from 0 and a share from 0 to 1", l.Hedge.Delay, l.Hedge.Slow)
	}
	if l.Budget != nil {
		if err := l.Budget.check(); err != nil {
			add("%v", err)
		}
	}
}
