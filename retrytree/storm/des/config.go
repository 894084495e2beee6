// Package des is a discrete-event simulator of services that call each other
// with timeouts, several attempts, budgets and the other rules that decide
// whether an overload passes or stays.
//
// It is honest about the things that make a storm: the server goes on working
// after its client has given up (unless a cancellation mode says otherwise),
// work for the old attempt and the new one queue together, budgets are kept by
// each client instance, and a response counts only if it arrives while the
// caller still waits.
//
// Time is int64 nanoseconds. Events are values in a 4-ary heap; timers with a
// constant delay live in first-in-first-out lanes that are sorted by
// construction. Ties are broken by a sequence number and every source of
// randomness has its own stream, so that a run is a function of Config and
// seed alone. The loop allocates nothing once its pools have grown.
package des

import (
	"fmt"
	"math"
	"time"

	"github.com/relplan/relplan/retrytree/storm/budget"
)

// Order is the order in which a queue is served.
type Order uint8

// The orders of service.
const (
	FIFO Order = iota
	LIFO
	// AdaptiveLIFO is FIFO while at most Node.LIFOAbove jobs wait, else LIFO
	// (Facebook, Fail at Scale, 2015).
	AdaptiveLIFO
)

// Cancel says what happens to an attempt whose client has given up.
type Cancel uint8

// The cancellation modes. None is what most systems do.
const (
	// CancelNone lets the server do the work for nobody.
	CancelNone Cancel = iota
	// CancelDequeue takes the attempt out of the queue if it still waits.
	CancelDequeue
	// CancelPreempt also stops it while it is served, with all calls it made.
	CancelPreempt
)

// LimitKind selects an adaptive concurrency limit.
type LimitKind uint8

// Adaptive limits on the jobs in a node (queue and service), after Netflix
// concurrency-limits.
const (
	NoLimit LimitKind = iota
	AIMD
	Vegas
	Gradient
)

// Limit configures an adaptive concurrency limit.
type Limit struct {
	Kind          LimitKind
	Initial       float64 // jobs; 0 means 20
	Min, Max      float64 // jobs; 0 means 1 and 1000
	Slow          time.Duration
	QueueHeadroom float64 // Gradient; 0 means 4
}

// CoDel configures controlled delay: jobs are dropped at the head while their
// waiting time has exceeded Target for an Interval (Nichols and Jacobson 2012).
// Target 0 turns it off.
type CoDel struct{ Target, Interval time.Duration }

// Shed configures shedding by priority level (Zhou et al., DAGOR, SoCC 2018):
// each request carries one of 128 levels through the whole call tree; the node
// lowers the level it admits while the mean waiting time of the last Period
// exceeds Wait, and raises it slowly otherwise. Wait 0 turns it off.
type Shed struct {
	Wait, Period time.Duration
}

// Node is one service.
type Node struct {
	Name string
	// Servers is how many attempts are worked on at a time; 0 means all
	// (an infinite-server station).
	Servers int
	// Service is the time of the node's own work for one attempt.
	Service Dist
	// Slope is added to the service time for each attempt in service,
	// itself included, at its start (a linear concurrency law).
	Slope time.Duration
	// Queue is how many attempts may wait; negative means none, 0 no bound.
	Queue int
	Order Order
	// LIFOAbove is the threshold of AdaptiveLIFO.
	LIFOAbove int
	// DropExpired discards at the head what has no time left.
	DropExpired bool
	// Admit refuses at arrival, and discards at the head, what could not be
	// finished before its deadline: wait + mean service > remaining.
	Admit bool
	// Hold keeps the server while downstream calls are under way (a thread
	// for each request); otherwise it is free when the own work is done.
	Hold bool
	// Parallel issues all downstream calls at once; otherwise one after the
	// other, and none after the first that failed.
	Parallel bool
	// FailProb is the probability that the own work ends in an error.
	FailProb float64
	// RejectWork is server time spent on refusing an attempt: it delays the
	// node's next start of service.
	RejectWork time.Duration
	CoDel      CoDel
	Limit      Limit
	Shed       Shed
}

// Jitter selects how a backoff is randomised.
type Jitter uint8

// The kinds of jitter.
const (
	NoJitter    Jitter = iota
	FullJitter         // uniform in [0, b)
	EqualJitter        // uniform in [b/2, b)
)

// Backoff is the wait before an attempt beyond the first:
// min(Max, Base Factor^(k-1)) before the k-th one, then jittered.
type Backoff struct {
	Base   time.Duration
	Factor float64 // 0 means 1
	Max    time.Duration
	Jitter Jitter
	// Table, when not empty, replaces all of these: wait k is uniform between
	// Table[k-1][0] and Table[k-1][1]; the last entry repeats.
	Table [][2]time.Duration
}

// Breaker configures a circuit breaker of each client instance: it opens when
// at least Ratio of the last Window attempts failed, refuses for Open, then
// lets Probes attempts through and closes if all of them succeed. Window 0
// turns it off; at most 256.
type Breaker struct {
	Window int
	Ratio  float64
	Open   time.Duration
	Probes int // 0 means 1
}

// Edge is one call of a node, or of the outside (From < 0), to another.
type Edge struct {
	Name     string
	From, To int
	// Attempts is the largest number of attempts of one call, at least 1.
	Attempts int
	// Timeout is the client's time limit for one attempt; 0 means none.
	Timeout time.Duration
	// Deadline is the limit of the whole call, all attempts; 0 means none.
	Deadline time.Duration
	// Propagate sends the deadline along: the child's is the earlier of its
	// own and the parent's less Margin. No attempt is started after it.
	Propagate bool
	Margin    time.Duration
	Backoff   Backoff
	Budget    budget.Policy
	// Clients is the number of instances that share the edge, each with its
	// own budget, breaker and throttle; 0 means 1.
	Clients  int
	Breaker  Breaker
	Throttle float64 // k of adaptive throttling, 0 off
	// Hedge sends a second attempt after this time without giving up the
	// first; 0 means never.
	Hedge time.Duration
	// Network is the one-way delay, drawn for each direction.
	Network Dist
	Cancel  Cancel
	// CancelDelay is how long a cancellation takes to arrive.
	CancelDelay time.Duration
	// Calls is how many calls one execution of From makes; 0 means 1.
	Calls int
	// Prob is the probability that each of them is made (a cache miss
	// rate); 0 means 1, see Never.
	Prob float64
	// Never makes no call at all until a trigger raises the probability.
	Never bool
	// NoRetryRejected does not try again after a refusal, NoRetryError after
	// an error, NoRetryTimeout after a timeout.
	NoRetryRejected, NoRetryError, NoRetryTimeout bool
	// Lost is the probability that the answer to finished work does not
	// arrive: the client sees an error.
	Lost float64
}

// Source produces requests on an edge from outside.
type Source struct {
	Edge int
	// Rate of a Poisson stream, per second; ignored when Clients > 0.
	Rate float64
	// Regular spaces the arrivals evenly instead.
	Regular bool
	// Clients that each wait Think after a response before the next request
	// (closed loop).
	Clients int
	Think   Dist
}

// TriggerKind selects what a Trigger changes.
type TriggerKind uint8

// The triggers.
const (
	// Outage stops all work of a node; what arrives waits.
	Outage TriggerKind = iota
	// Capacity cuts the speed of a node by Size, 0 to 1.
	Capacity
	// Spike multiplies the rate of all sources by Size.
	Spike
	// Latency adds Delay to each service of a node.
	Latency
	// Refuse makes a node refuse every attempt at once.
	Refuse
	// ColdCache sets the probability of edge Target to Size.
	ColdCache
)

var triggerNames = [...]string{"outage", "capacity", "spike", "latency", "refuse", "cold_cache"}

// String returns the name used in plans and reports.
func (k TriggerKind) String() string {
	if int(k) < len(triggerNames) {
		return triggerNames[k]
	}
	return fmt.Sprintf("TriggerKind(%d)", uint8(k))
}

// Trigger is a disturbance that begins at At and ends after For; For 0 leaves
// it in place.
type Trigger struct {
	Kind    TriggerKind
	Target  int // node, or edge of ColdCache; not used by Spike
	At, For time.Duration
	Size    float64
	Delay   time.Duration
}

// Config is a system and an experiment.
type Config struct {
	Nodes    []Node
	Edges    []Edge
	Sources  []Source
	Triggers []Trigger
	// Horizon is the simulated time.
	Horizon time.Duration
	// Warmup is not counted in the statistics.
	Warmup time.Duration
	// Preload puts this many attempts whose clients have given up into the
	// queue of each node at the start: the collapsed start of a two-sided
	// experiment. One number for each node; missing ones are 0.
	Preload []int
	// Bucket is the spacing of the recorded series; 0 records none and
	// classifies nothing.
	Bucket time.Duration
	// Classify stops a run as soon as its fate is certain.
	Classify Classify
	// MaxEvents stops a run, undecided, after about this many events; 0 means
	// no limit. It is looked at once a bucket.
	MaxEvents uint64
	// Latency records the times of successful requests.
	Latency bool
	// MaxBacklog stops a run, as collapsed, when this many attempts wait at
	// one node; 0 means 10 million.
	MaxBacklog int
}

// Classify sets the rules by which a run is called recovered or collapsed
// after the last trigger has ended.
type Classify struct {
	// Epsilon: recovered means goodput of at least (1-Epsilon) of the first
	// tries over Window and a backlog below the work of one timeout at every
	// node. 0 means 0.05.
	Epsilon float64
	// Window is the stretch over which goodput is judged; 0 means 5 timeouts
	// of the slowest source edge, at least five buckets.
	Window time.Duration
	// Stop ends the run when it is classified.
	Stop bool
}

// Validate reports the first thing that cannot be simulated.
func (c *Config) Validate() error {
	if c.Horizon <= 0 {
		return fmt.Errorf("horizon %v is not positive", c.Horizon)
	}
	if len(c.Nodes) == 0 || len(c.Sources) == 0 {
		return fmt.Errorf("at least one node and one source are needed")
	}
	if len(c.Nodes) > 1<<14 || len(c.Edges) > 1<<14 {
		return fmt.Errorf("%d nodes and %d edges: at most 16384 of each", len(c.Nodes), len(c.Edges))
	}
	for i := range c.Nodes {
		if err := c.Nodes[i].validate(); err != nil {
			return fmt.Errorf("node %q: %w", c.Nodes[i].Name, err)
		}
	}
	for i := range c.Edges {
		if err := c.Edges[i].validate(len(c.Nodes)); err != nil {
			return fmt.Errorf("edge %q: %w", c.Edges[i].Name, err)
		}
	}
	if err := c.acyclic(); err != nil {
		return err
	}
	for _, s := range c.Sources {
		switch {
		case s.Edge < 0 || s.Edge >= len(c.Edges) || c.Edges[s.Edge].From >= 0:
			return fmt.Errorf("a source must feed an edge from outside")
		case s.Clients == 0 && !(s.Rate > 0 && s.Rate < 1e9):
			return fmt.Errorf("source rate %g is not between 0 and 1e9 per second", s.Rate)
		case s.Clients < 0 || s.Clients > 1e7:
			return fmt.Errorf("%d clients", s.Clients)
		}
		if err := s.Think.validate(); err != nil {
			return fmt.Errorf("think time: %w", err)
		}
	}
	for _, t := range c.Triggers {
		limit := len(c.Nodes)
		if t.Kind == ColdCache {
			limit = len(c.Edges)
		}
		switch {
		case int(t.Kind) >= len(triggerNames), t.Kind != Spike && (t.Target < 0 || t.Target >= limit):
			return fmt.Errorf("trigger %v of %d does not exist", t.Kind, t.Target)
		case t.At < 0 || t.For < 0 || t.Delay < 0:
			return fmt.Errorf("trigger %v has a negative time", t.Kind)
		case math.IsNaN(t.Size) || t.Size < 0, (t.Kind == Capacity || t.Kind == ColdCache) && t.Size > 1, t.Size > 1e6:
			return fmt.Errorf("trigger %v has size %g", t.Kind, t.Size)
		}
	}
	return nil
}

func (n *Node) validate() error {
	switch {
	case n.Servers < 0 || n.Servers > 1e6:
		return fmt.Errorf("%d servers", n.Servers)
	case n.Slope < 0 || n.RejectWork < 0:
		return fmt.Errorf("negative work")
	case !(n.FailProb >= 0 && n.FailProb <= 1):
		return fmt.Errorf("failure probability %g", n.FailProb)
	case n.Order > AdaptiveLIFO || n.Limit.Kind > Gradient:
		return fmt.Errorf("unknown queue order or limit")
	case n.Service.Kind == Constant && n.Service.Mean == 0 && n.Servers > 0 && n.Slope == 0:
		return fmt.Errorf("service time is zero")
	}
	return n.Service.validate()
}

func (e *Edge) validate(nodes int) error {
	switch {
	case e.To < 0 || e.To >= nodes || e.From >= nodes || e.From == e.To:
		return fmt.Errorf("goes from node %d to node %d", e.From, e.To)
	case e.Attempts < 1 || e.Attempts > 1000:
		return fmt.Errorf("%d attempts: between 1 and 1000", e.Attempts)
	case e.Timeout < 0 || e.Deadline < 0 || e.Margin < 0 || e.Hedge < 0 || e.CancelDelay < 0:
		return fmt.Errorf("negative time")
	case e.Clients < 0 || e.Clients > 1e6 || e.Calls < 0 || e.Calls > 1e4:
		return fmt.Errorf("%d clients, %d calls", e.Clients, e.Calls)
	case !(e.Prob >= 0 && e.Prob <= 1) || math.IsNaN(e.Throttle) || e.Throttle < 0:
		return fmt.Errorf("probability %g, throttle %g", e.Prob, e.Throttle)
	case e.Backoff.Base < 0 || e.Backoff.Max < 0 || math.IsNaN(e.Backoff.Factor) || e.Backoff.Factor < 0 || e.Backoff.Jitter > EqualJitter:
		return fmt.Errorf("bad backoff")
	case e.Breaker.Window < 0 || e.Breaker.Window > 256 || math.IsNaN(e.Breaker.Ratio):
		return fmt.Errorf("breaker window %d: at most 256", e.Breaker.Window)
	case e.Cancel > CancelPreempt:
		return fmt.Errorf("unknown cancellation")
	case !(e.Lost >= 0 && e.Lost <= 1):
		return fmt.Errorf("probability %g of a lost answer", e.Lost)
	}
	for _, w := range e.Backoff.Table {
		if w[0] < 0 || w[1] < w[0] {
			return fmt.Errorf("wait from %v to %v", w[0], w[1])
		}
	}
	if err := e.Budget.Validate(); err != nil {
		return err
	}
	return e.Network.validate()
}

func (c *Config) acyclic() error {
	state := make([]uint8, len(c.Nodes))
	var visit func(n int) error
	visit = func(n int) error {
		state[n] = 1
		for _, e := range c.Edges {
			if e.From != n {
				continue
			}
			if state[e.To] == 1 {
				return fmt.Errorf("calls form a cycle through %q", c.Nodes[e.To].Name)
			}
			if state[e.To] == 0 {
				if err := visit(e.To); err != nil {
					return err
				}
			}
		}
		state[n] = 2
		return nil
	}
	for n := range c.Nodes {
		if state[n] == 0 {
			if err := visit(n); err != nil {
				return err
			}
		}
	}
	return nil
}
