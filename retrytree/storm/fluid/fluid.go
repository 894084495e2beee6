// Package fluid integrates the mean-field delay equation of one FIFO server
// whose clients give up after a timeout and try again, while the server goes
// on working for nobody.
//
// Attempts flow in, work flows out at the capacity of the moment. An attempt
// that arrives at t is late when the work queued before it is not done by
// t + timeout: S(t+timeout) < A(t), with A and S the cumulative inflow and
// outflow. Late attempts come back as the next attempt at t + timeout +
// backoff, as far as the budget allows.
//
// The model has no randomness: it says what disturbance tips a large system,
// and how long recovery takes. Rates are per second, times seconds.
package fluid

import (
	"fmt"
	"math"
)

// Kind selects a disturbance.
type Kind uint8

// The disturbances.
const (
	// Outage stops the server for Duration.
	Outage Kind = iota
	// Capacity cuts the capacity by Size (0 to 1) for Duration.
	Capacity
	// Spike multiplies the load by Size for Duration.
	Spike
)

// Trigger is a disturbance that begins at time 0, after a settled state.
type Trigger struct {
	Kind     Kind
	Size     float64
	Duration float64
}

// Model is one server and its clients.
type Model struct {
	// Load is the rate of first tries, Capacity that of completed attempts.
	Load, Capacity float64
	Timeout        float64
	Attempts       int
	// Backoff is the wait before each further attempt; the last value
	// repeats, none means 0.
	Backoff []float64
	// Room bounds the backlog; 0 means no bound. What does not fit is
	// refused at once and tried again after the backoff, unless
	// NoRetryRejected.
	Room            float64
	NoRetryRejected bool
	// Ratio is the budget per first try; negative means none. Bucket is its
	// size in tokens per first try per second (seconds of load).
	Ratio  float64
	Bucket float64
	// Floor is granted per second without any first try.
	Floor float64
	// Step of integration; 0 means a 5000th of the timeout.
	Step float64
	// Horizon bounds the time after the trigger; 0 means 400 timeouts times
	// the number of attempts.
	Horizon float64
	// Record keeps a point of the path every Record seconds; 0 none.
	Record float64
}

// Outcome of one run.
type Outcome struct {
	// Tipped: goodput has not come back and cannot.
	Tipped bool
	// Decided is false when the horizon ended first.
	Decided bool
	// Recovery is the time from the end of the trigger until the backlog is
	// below one timeout of work for good.
	Recovery float64
	// Peak is the largest backlog in attempts.
	Peak float64
	// Path of recorded points.
	Path []Sample
}

// Sample is one point of the path; rates are per second.
type Sample struct{ T, Attempts, Good, Backlog float64 }

// Validate reports the first parameter that makes no sense.
func (m *Model) Validate() error {
	pos := func(x float64) bool { return x > 0 && !math.IsInf(x, 0) }
	switch {
	case !pos(m.Load) || !pos(m.Capacity):
		return fmt.Errorf("load %g and capacity %g must be positive", m.Load, m.Capacity)
	case !pos(m.Timeout):
		return fmt.Errorf("timeout %g must be positive: without one nobody gives up", m.Timeout)
	case m.Attempts < 1 || m.Attempts > 1000:
		return fmt.Errorf("%d attempts: between 1 and 1000", m.Attempts)
	case math.IsNaN(m.Ratio) || m.Bucket < 0 || m.Floor < 0 || m.Room < 0 || m.Step < 0 || m.Horizon < 0:
		return fmt.Errorf("negative parameter")
	}
	for _, b := range m.Backoff {
		if b < 0 || math.IsNaN(b) {
			return fmt.Errorf("backoff %g is negative", b)
		}
	}
	return nil
}

// maxSteps bounds one run: about a second of computing.
const maxSteps = 40_000_000

// Run integrates the model through a trigger.
func (m *Model) Run(tr Trigger) (Outcome, error) {
	if err := m.Validate(); err != nil {
		return Outcome{}, err
	}
	switch {
	case tr.Duration < 0 || math.IsNaN(tr.Duration) || tr.Size < 0 || math.IsNaN(tr.Size):
		return Outcome{}, fmt.Errorf("trigger of size %g for %g s", tr.Size, tr.Duration)
	case tr.Kind == Capacity && tr.Size > 1:
		return Outcome{}, fmt.Errorf("cut of %g: at most 1", tr.Size)
	}
	r := newRun(m, tr)
	return r.integrate(), nil
}

// run holds cumulative curves on a grid of step dt.
type run struct {
	m        *Model
	tr       Trigger
	dt       float64
	lag      int         // steps in a timeout
	wait     []int       // steps of each backoff
	ring     int         // size of the histories, a power of two
	cumIn    []float64   // A at the start of each step
	inflow   [][]float64 // attempts of each number due in a step
	arrived  [][]float64 // attempts of each number that entered the queue
	a, s     float64
	tokens   float64
	out      Outcome
	reported int
}

func newRun(m *Model, tr Trigger) *run {
	r := &run{m: m, tr: tr, dt: m.Step}
	if r.dt == 0 {
		r.dt = m.Timeout / 5000
	}
	r.lag = max(1, int(math.Round(m.Timeout/r.dt)))
	r.dt = m.Timeout / float64(r.lag)
	far := r.lag
	for k := range m.Attempts {
		b := 0.0
		if len(m.Backoff) > 0 {
			b = m.Backoff[min(k, len(m.Backoff)-1)]
		}
		w := int(math.Round(b / r.dt))
		r.wait = append(r.wait, w)
		far = max(far, w+1)
	}
	r.ring = 1
	for r.ring < far+2 {
		r.ring *= 2
	}
	r.cumIn = make([]float64, r.ring)
	for range m.Attempts {
		r.inflow = append(r.inflow, make([]float64, r.ring))
		r.arrived = append(r.arrived, make([]float64, r.ring))
	}
	r.tokens = m.Bucket * m.Load * math.Max(m.Ratio, 0)
	return r
}

func (r *run) load(t float64) float64 {
	if r.tr.Kind == Spike && t >= 0 && t < r.tr.Duration {
		return r.m.Load * r.tr.Size
	}
	return r.m.Load
}

func (r *run) capacity(t float64) float64 {
	if t >= 0 && t < r.tr.Duration {
		switch r.tr.Kind {
		case Outage:
			return 0
		case Capacity:
			return r.m.Capacity * (1 - r.tr.Size)
		}
	}
	return r.m.Capacity
}

// integrate steps from one timeout before the trigger until the run is decided.
func (r *run) integrate() Outcome {
	m := r.m
	horizon := m.Horizon
	if horizon == 0 {
		horizon = 400 * m.Timeout * float64(m.Attempts)
	}
	steps := int(math.Min(float64(maxSteps), (horizon+r.tr.Duration)/r.dt)) + r.lag
	mask := r.ring - 1
	calm, watch := 0, newWatch(r)
	for i := range steps {
		t := float64(i-r.lag) * r.dt
		in := r.step(i, t, mask)
		c := r.capacity(t) * r.dt
		done := math.Min(c, r.a-r.s)
		r.s += done
		q := r.a - r.s
		r.out.Peak = math.Max(r.out.Peak, q)
		late := r.judge(i, mask)
		good := 0.0
		if late == 0 {
			good = done
		}
		r.record(t, in, good, q)
		if t < r.tr.Duration {
			continue
		}
		// Calm: nothing late and less than one timeout of work for as long as
		// any attempt can still come back.
		if late == 0 && q < m.Capacity*m.Timeout {
			if calm++; calm > 2*r.ring && q <= m.Load*r.dt*2 || calm > 20*r.ring {
				r.out.Decided = true
				r.out.Recovery = math.Max(0, t-float64(calm)*r.dt-r.tr.Duration)
				return r.out
			}
		} else {
			calm = 0
		}
		if watch.grows(i, q, late) {
			r.out.Decided, r.out.Tipped = true, true
			return r.out
		}
	}
	r.out.Tipped = calm == 0
	return r.out
}

// step lets attempts in and returns how many.
func (r *run) step(i int, t float64, mask int) float64 {
	m := r.m
	slot := i & mask
	first := r.load(t) * r.dt
	r.inflow[0][slot] += first
	if m.Ratio >= 0 {
		limit := math.Max(m.Bucket*m.Load*m.Ratio, (m.Ratio*m.Load+m.Floor)*r.dt)
		r.tokens = math.Min(limit, r.tokens+first*m.Ratio+m.Floor*r.dt)
	}
	r.cumIn[slot] = r.a
	total := 0.0
	room := math.Inf(1)
	if m.Room > 0 {
		room = m.Room - (r.a - r.s) + r.capacity(t)*r.dt
	}
	for k := range r.inflow {
		x := r.inflow[k][slot]
		r.inflow[k][slot] = 0
		enter := math.Min(x, math.Max(0, room))
		room -= enter
		r.arrived[k][slot] = enter
		total += enter
		if x > enter && !m.NoRetryRejected {
			r.again(i, k, x-enter, mask)
		}
	}
	r.a += total
	return total
}

// judge finds what arrived one timeout ago and is not done: it comes back.
func (r *run) judge(i, mask int) float64 {
	j := i - r.lag
	if j < 0 {
		return 0
	}
	slot := j & mask
	before := r.cumIn[slot]
	in := 0.0
	for k := range r.arrived {
		in += r.arrived[k][slot]
	}
	if in == 0 {
		return 0
	}
	share := math.Min(1, math.Max(0, (before+in-r.s)/in)) // not yet done
	if before+in <= r.s {
		return 0
	}
	late := 0.0
	for k := range r.arrived {
		x := r.arrived[k][slot] * share
		late += x
		r.again(i, k, x, mask)
	}
	return late
}

// again schedules the attempt after number k, if there is one.
func (r *run) again(i, k int, x float64, mask int) {
	if k+1 >= r.m.Attempts || x <= 0 {
		return
	}
	if r.m.Ratio >= 0 {
		x = math.Min(x, r.tokens)
		r.tokens -= x
	}
	r.inflow[k+1][(i+1+r.wait[k])&mask] += x
}

func (r *run) record(t, in, good, q float64) {
	if r.m.Record <= 0 {
		return
	}
	if n := int(math.Floor((t + r.m.Timeout) / r.m.Record)); n >= r.reported {
		r.reported = n + 1
		r.out.Path = append(r.out.Path, Sample{t, in / r.dt, good / r.dt, q})
	}
}

// watch sees whether everything is late and the backlog grows from one stretch
// to the next: then it will for ever, because the inflow has reached its
// steady value.
type watch struct {
	every, since int
	last         [3]float64
	seen         int
	allLate      bool
	floor        float64
}

func newWatch(r *run) *watch {
	span := 0
	for _, w := range r.wait {
		span += w + r.lag
	}
	return &watch{every: span + r.lag, allLate: true, floor: r.m.Capacity * r.m.Timeout}
}

func (w *watch) grows(i int, q, late float64) bool {
	if late == 0 {
		w.allLate = false
	}
	if w.since++; w.since < w.every {
		return false
	}
	w.since = 0
	w.last[0], w.last[1], w.last[2] = w.last[1], w.last[2], q
	if w.allLate {
		w.seen++
	} else {
		w.seen = 0
	}
	w.allLate = true
	// The first full stretch may still contain the end of a transient.
	return w.seen >= 4 && q > w.floor && w.last[2] >= w.last[1]*(1-1e-12) && w.last[1] >= w.last[0]*(1-1e-12)
}
