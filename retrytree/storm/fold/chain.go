package fold

import (
	"fmt"
	"math"
)

// Link is one step of a chain: clients (or the service before) call a station.
type Link struct {
	Station Station
	Layer   Layer
	// Calls is the number of calls one execution of the service before
	// makes; 0 means 1.
	Calls float64
	// Wait is the mean backoff before one more attempt, seconds.
	Wait float64
}

// Chain is a path of services, each calling the next after its own work.
type Chain struct {
	links []Link
	laws  []*law
	// scratch
	x, fail, took []float64
}

// LinkState is what one link sees in a steady state of the chain.
type LinkState struct {
	// Calls and Attempts are rates; Fail is the probability that an attempt
	// fails, CallFail that a call does after all its attempts.
	Calls, Attempts, Fail, CallFail float64
	// Utilization is attempts that are executed over capacity; above 1 the
	// queue grows.
	Utilization float64
}

// NewChain prepares a chain of at least one link.
func NewChain(links ...Link) (*Chain, error) {
	if len(links) == 0 {
		return nil, fmt.Errorf("a chain needs at least one link")
	}
	c := &Chain{links: append([]Link(nil), links...)}
	for i := range c.links {
		l := &c.links[i]
		if err := l.Station.Validate(); err != nil {
			return nil, fmt.Errorf("link %d: %w", i+1, err)
		}
		if l.Layer.Attempts < 1 {
			return nil, fmt.Errorf("link %d: %d attempts: at least 1", i+1, l.Layer.Attempts)
		}
		if l.Calls == 0 {
			l.Calls = 1
		}
		c.laws = append(c.laws, newLaw(l.Station))
	}
	n := len(links)
	c.x, c.fail, c.took = make([]float64, n), make([]float64, n+1), make([]float64, n+1)
	return c, nil
}

// Solve returns the lowest steady state of the chain at a rate of first tries
// (collapsed false), or the highest one (collapsed true): the first is where a
// system that starts empty settles, the second where one that starts with all
// attempts failing does. When both agree there is no hysteresis at this load.
//
// It is a mean-field approximation: a link's timeout covers its own response
// time and the mean of what is downstream.
func (c *Chain) Solve(load float64, collapsed bool) ([]LinkState, float64) {
	n := len(c.links)
	for i := range n {
		c.fail[i] = 0
		if collapsed {
			c.fail[i] = 1
		}
	}
	out := make([]LinkState, n)
	last := -1.0
	for range 2000 {
		c.down(load, out)
		c.up(out)
		if d := math.Abs(c.fail[0] - last); d < 1e-13 {
			break
		}
		last = c.fail[0]
	}
	c.down(load, out)
	return out, load * (1 - c.fail[0])
}

// down computes the rates from the failures.
func (c *Chain) down(load float64, out []LinkState) {
	rate := load
	for i := range c.links {
		l := &c.links[i]
		calls := rate * l.Calls
		q := out[i].Fail
		if c.fail[i] == 1 {
			q = 1
		}
		a := l.Layer.Budget.Steady(q, l.Layer.Attempts, calls/float64(max(1, l.Layer.Clients)))
		out[i].Calls, out[i].Attempts = calls, calls*a
		rate = calls * a
		c.x[i] = rate
	}
}

// up computes the failures from the rates, the last link first.
func (c *Chain) up(out []LinkState) {
	n := len(c.links)
	c.fail[n], c.took[n] = 0, 0
	for i := n - 1; i >= 0; i-- {
		l := &c.links[i]
		w := c.laws[i]
		below, belowCalls := c.took[i+1], 1.0
		if i+1 < n {
			belowCalls = c.links[i+1].Calls
		}
		left := 1.0 // share of the timeout that the own response may take
		if w.Timeout > 0 {
			left = math.Max(0, 1-below*belowCalls/w.Timeout)
		}
		st := w.within(c.x[i], left)
		good := math.Pow(1-c.fail[i+1], belowCalls)
		q := 1 - (1-st.fail())*good
		a := l.Layer.Budget.Steady(q, l.Layer.Attempts, math.Max(out[i].Calls, 1e-12)/float64(max(1, l.Layer.Clients)))
		out[i].Fail = q
		c.fail[i] = 1 - math.Min(1, a*(1-q))
		out[i].CallFail = c.fail[i]
		out[i].Utilization = c.x[i] * (1 - st.reject) / w.capacity
		took := st.response + below*belowCalls
		if w.Timeout > 0 {
			took = math.Min(took, w.Timeout)
		}
		c.took[i] = took + (a-1)*(took+l.Wait)
		if w.Timeout == 0 && math.IsInf(c.took[i], 1) {
			c.took[i] = 1e9
		}
		if i+1 < n { // refused attempts do not go on
			c.x[i] *= 1 - st.reject
		}
	}
}

// within is at for a share of the timeout.
func (l *law) within(x, share float64) state {
	if share >= 1 || l.Timeout == 0 {
		return l.at(x)
	}
	if share <= 0 {
		return state{attempts: x, late: 1, response: l.Timeout}
	}
	if l.tails == nil {
		whole := l.limit
		l.limit = whole * share
		st := l.at(x)
		l.limit = whole
		return st
	}
	// The table of a bounded queue is for the whole timeout; a shorter one is
	// taken at the equivalent of an exponential tail.
	st := l.at(x)
	if st.late > 0 && st.late < 1 {
		st.late = math.Pow(st.late, share)
	}
	return st
}

// Folds returns the load up to which the state from below is the only one
// (stable) and the load at which the healthy state ends (fold), by bisection
// on the load to a relative accuracy of 1e-6. Healthy means that at least half
// of the first tries succeed.
func (c *Chain) Folds() (stable, fold float64) {
	top := math.Inf(1)
	calls := 1.0
	for i, l := range c.links {
		calls *= l.Calls
		top = math.Min(top, c.laws[i].capacity/calls)
	}
	healthy := func(load float64, collapsed bool) bool {
		_, good := c.Solve(load, collapsed)
		return good > load/2
	}
	search := func(collapsed bool) float64 {
		lo, hi := 0.0, top*2
		for range 40 {
			mid := (lo + hi) / 2
			if healthy(mid, collapsed) {
				lo = mid
			} else {
				hi = mid
			}
			if hi-lo < 1e-6*top {
				break
			}
		}
		return lo
	}
	fold = search(false)
	return math.Min(search(true), fold), fold
}
