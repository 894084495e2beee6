// Package markov analyses one server and its retrying clients as a small
// continuous-time Markov chain over (queue, orbit): how many attempts are in
// the server, and how many clients wait for an attempt that will time out.
// Stationary means, mean hitting times and the mixing time come from one
// elimination without subtraction (Grassmann, Taksar and Heyman 1985), so that
// a time of 1e13 seconds is as accurate as one of 1.
//
// The chain is an approximation: the time of a timeout is exponential and the
// number of attempts geometric. Rates are per second, times seconds.
package markov

import (
	"fmt"
	"math"

	"github.com/relplan/relplan/retrytree/storm/queue"
)

// Params describe one server and its clients.
type Params struct {
	// Load is the rate of first tries; Rate that of one of Threads servers.
	Load, Rate float64
	Threads    int
	Timeout    float64
	// Attempts is the largest number of attempts of one call.
	Attempts int
	// Wait is the mean backoff, added to the time in orbit.
	Wait float64
	// Queue is the number of queue states, 0 to Queue-1 jobs in the server;
	// Orbit the number of orbit states.
	Queue, Orbit int
	// Chebyshev bounds the probability of a timeout as the published model
	// of metafor (arXiv 2510.03551) does, instead of using the Erlang tail;
	// Alpha scales the stream of new clients into the orbit there.
	Chebyshev bool
	Alpha     float64
	// DropWhenFull forgets clients that find the server full; otherwise they
	// wait in orbit like those that time out.
	DropWhenFull bool
}

// MaxWork bounds states times bandwidth squared, about half a second.
const MaxWork = 600_000_000

// Work returns the cost of solving the chain in multiplications.
func (p Params) Work() float64 {
	b := float64(p.Orbit + 1)
	return float64(p.Queue) * float64(p.Orbit) * b * b
}

// Validate reports the first parameter that makes no sense.
func (p Params) Validate() error {
	pos := func(x float64) bool { return x > 0 && !math.IsInf(x, 0) }
	switch {
	case !pos(p.Load) || !pos(p.Rate) || !pos(p.Timeout):
		return fmt.Errorf("load %g, rate %g and timeout %g must be positive", p.Load, p.Rate, p.Timeout)
	case p.Threads < 1 || p.Attempts < 1:
		return fmt.Errorf("%d threads and %d attempts: at least one of each", p.Threads, p.Attempts)
	case p.Queue < 2 || p.Orbit < 1:
		return fmt.Errorf("%d queue and %d orbit states: at least 2 and 1", p.Queue, p.Orbit)
	case p.Work() > MaxWork:
		return fmt.Errorf("a chain of %d x %d states is too large: simulate instead", p.Queue, p.Orbit)
	case p.Wait < 0 || math.IsNaN(p.Wait) || p.Alpha < 0 || math.IsNaN(p.Alpha):
		return fmt.Errorf("negative parameter")
	}
	return nil
}

// Result of an analysis.
type Result struct {
	// Queue and Orbit are stationary means; Full is the probability that the
	// queue is full.
	Queue, Orbit, Full float64
	// Mixing is log2(100)/lambda_2 seconds, lambda_2 being the slowest rate
	// of relaxation: how long a start is remembered.
	Mixing float64
	// Drain is the mean time from the fullest state to the empty one, Fill
	// that from the empty state to a full queue, whatever the orbit: equal
	// when both wells are equally deep.
	Drain, Fill float64
	// Levels is the stationary distribution of the queue.
	Levels []float64
}

// Solve analyses the chain.
func Solve(p Params) (*Result, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	c := build(p, false)
	if err := c.eliminate(1); err != nil {
		return nil, err
	}
	pi := c.stationary()
	r := &Result{Levels: make([]float64, p.Queue)}
	for i, w := range pi {
		q, v := i/p.Orbit, i%p.Orbit
		r.Queue += w * float64(q)
		r.Orbit += w * float64(v)
		r.Levels[q] += w
	}
	r.Full = r.Levels[p.Queue-1]
	drain := c.hitting(1)
	r.Drain = drain[len(drain)-1]
	r.Mixing = math.Log2(100) / c.gap(pi)
	var err error
	r.Fill, err = Escape(p, p.Queue-1)
	return r, err
}

// Escape returns the mean time from the empty state until the queue first
// holds level jobs, whatever the orbit.
func Escape(p Params, level int) (float64, error) {
	if err := p.Validate(); err != nil {
		return 0, err
	}
	if level < 1 || level >= p.Queue {
		return 0, fmt.Errorf("level %d is not between 1 and %d", level, p.Queue-1)
	}
	c := build(p, true)
	targets := (p.Queue - level) * p.Orbit
	if err := c.eliminate(targets); err != nil {
		return 0, err
	}
	u := c.hitting(targets)
	return u[len(u)-1], nil
}

// Recover returns the mean time from a queue of level jobs with orbit waiting
// clients until the server first is empty of both.
func Recover(p Params, level, orbit int) (float64, error) {
	if err := p.Validate(); err != nil {
		return 0, err
	}
	if level < 0 || level >= p.Queue || orbit < 0 || orbit >= p.Orbit {
		return 0, fmt.Errorf("state (%d, %d) does not exist", level, orbit)
	}
	c := build(p, false)
	if err := c.eliminate(1); err != nil {
		return 0, err
	}
	return c.hitting(1)[level*p.Orbit+orbit], nil
}

// lateTable returns P(timeout) for each number of jobs found on arrival.
func (p Params) lateTable() []float64 {
	if !p.Chebyshev {
		return queue.SojournTails(p.Rate, p.Threads, p.Queue, p.Timeout)
	}
	t := make([]float64, p.Queue)
	for q := 1; q < p.Queue; q++ {
		mu := math.Min(float64(q), float64(p.Threads)) * p.Rate
		mean := float64(q) / mu
		sigma := math.Sqrt(float64(q)) / mu
		t[q] = 1
		if p.Timeout-mean > sigma {
			k := sigma / (p.Timeout - mean)
			t[q] = k * k
		}
	}
	return t
}

// build fills the generator; reversed numbers the states from the fullest.
func build(p Params, reversed bool) *chain {
	c := newChain(p.Queue*p.Orbit, p.Orbit+1)
	index := func(q, v int) int {
		i := q*p.Orbit + v
		if reversed {
			return c.n - 1 - i
		}
		return i
	}
	late := p.lateTable()
	add := func(q, v, q2, v2 int, rate float64) {
		v2 = min(max(v2, 0), p.Orbit-1)
		if rate > 0 && (q != q2 || v != v2) {
			c.add(index(q, v), index(q2, v2), rate)
		}
	}
	n := float64(p.Attempts)
	per := 1 / (p.Timeout + p.Wait)
	again, leave := per*(n-1)/n, per/n
	for q := range p.Queue {
		for v := range p.Orbit {
			if q > 0 {
				add(q, v, q-1, v, math.Min(float64(q), float64(p.Threads))*p.Rate)
			}
			o := float64(v)
			if p.Chebyshev {
				p.published(add, q, v, late[q], again, leave)
				continue
			}
			t := late[q]
			if q < p.Queue-1 {
				add(q, v, q+1, v+1, p.Load*t)
				if v == p.Orbit-1 {
					add(q, v, q+1, v, 0)
				}
				add(q, v, q+1, v, p.Load*(1-t)+o*again*t)
				add(q, v, q+1, v-1, o*again*(1-t))
				add(q, v, q, v-1, o*leave)
				continue
			}
			if p.DropWhenFull {
				add(q, v, q, v-1, o*per)
			} else {
				add(q, v, q, v+1, p.Load)
				add(q, v, q, v-1, o*leave)
			}
		}
	}
	return c
}

// published adds the transitions of metafor's single-server model: new clients
// enter the orbit at Alpha of the late ones beside the plain stream, and a full
// queue drops the attempts of the orbit.
func (p Params) published(add func(q, v, q2, v2 int, rate float64), q, v int, t, again, leave float64) {
	o := float64(v)
	switch q {
	case 0:
		add(q, v, q+1, v, p.Load)
		if v > 0 {
			add(q, v, q, v-1, o*leave)
			add(q, v, q+1, v-1, o*again)
		}
	case p.Queue - 1:
		if p.DropWhenFull {
			if v > 0 {
				add(q, v, q, v-1, o*(leave+again))
			}
			return
		}
		if v > 0 {
			add(q, v, q, v-1, o*leave)
		}
		if v < p.Orbit-1 {
			add(q, v, q, v+1, p.Alpha*(p.Load+o*again))
		}
	default:
		if v < p.Orbit-1 {
			add(q, v, q+1, v+1, p.Alpha*p.Load*t)
		}
		add(q, v, q+1, v, p.Load+o*again*t)
		if v > 0 {
			add(q, v, q+1, v-1, o*again*(1-t))
			add(q, v, q, v-1, o*leave)
		}
	}
}
