package storm

import (
	"fmt"
	"math"
	"time"

	"github.com/relplan/relplan/retrytree/storm/budget"
	"github.com/relplan/relplan/retrytree/storm/des"
	"github.com/relplan/relplan/retrytree/storm/fluid"
	"github.com/relplan/relplan/retrytree/storm/fold"
	"github.com/relplan/relplan/retrytree/storm/markov"
)

// view is what one edge looks like to the analytic solvers.
type view struct {
	edge     int
	load     float64 // first tries per second on the edge, healthy
	capacity float64 // attempts per second left for this edge
	timeout  float64 // seconds, 0 none
	station  fold.Station
	layers   []fold.Layer
	path     []int
	worst    float64 // attempts per first try when everything fails
	notes    []string
}

// look lowers edge ei of a system with the given flow; ok is false when the
// callee has no capacity limit.
func (s *System) look(ei int, f flow) (view, bool) {
	e, n := s.Edges[ei], s.Nodes[s.Edges[ei].To]
	if n.Servers == 0 && n.Slope == 0 || n.Service.MeanNS() == 0 && n.Slope == 0 {
		return view{}, false
	}
	v := view{edge: ei, load: f.calls[ei], timeout: seconds(e.Timeout), path: s.path(ei)}
	if v.timeout == 0 {
		v.timeout = seconds(e.Deadline)
	}
	mean := n.Service.MeanNS() / 1e9
	st := fold.Station{Servers: n.Servers, Rate: 1 / math.Max(mean, 1e-9), Slope: seconds(n.Slope), Timeout: v.timeout,
		Room: n.Queue, Network: e.Network.MeanNS() / 1e9}
	if scv := n.Service.SCV(); scv == 0 {
		st.Deterministic = true
	} else {
		st.SCV = scv
	}
	st.Sheds = n.Order != des.FIFO || n.Admit || n.CoDel.Target > 0
	// What the other callers send in the healthy state is taken off.
	others := f.exec[e.To] - f.attempts[ei]
	if others > 1e-9 && n.Servers > 0 {
		share := math.Max(1e-3, 1-others/(float64(n.Servers)/mean))
		st.Rate *= share
		v.notes = append(v.notes, fmt.Sprintf("other callers of %s take %.3g/s of it", n.Name, others))
	}
	if n.Hold {
		if below := s.downstream(e.To); below > 0 {
			st.Rate = 1 / (1/st.Rate + below)
			v.notes = append(v.notes, fmt.Sprintf("%s holds a server for %.3g s of downstream calls", n.Name, below))
		}
	}
	v.station, v.capacity = st, st.Capacity()
	v.worst = 1
	limit := math.Inf(1) // seconds of the deadline that comes from above
	for k, pi := range v.path {
		p := s.Edges[pi]
		attempts := p.Attempts
		if p.Deadline > 0 {
			limit = math.Min(limit, seconds(p.Deadline))
		}
		if p.Propagate && !math.IsInf(limit, 1) {
			if fit := startsWithin(p, limit); fit < attempts {
				attempts = fit
				v.notes = append(v.notes, fmt.Sprintf("the propagated deadline lets %s start %d of %d attempts", s.EdgeName(pi), fit, p.Attempts))
			}
		} else if p.Deadline > 0 {
			attempts = min(attempts, startsWithin(p, seconds(p.Deadline)))
		}
		if !p.Propagate && p.Deadline == 0 {
			limit = math.Inf(1)
		}
		if p.Timeout > 0 {
			limit = math.Min(limit, seconds(p.Timeout))
		}
		l := fold.Layer{Attempts: attempts, Budget: p.Budget, Clients: p.Clients, NoRetryRejected: p.NoRetryRejected}
		v.layers = append(v.layers, l)
		rate := f.calls[pi] / float64(max(1, p.Clients))
		v.worst *= l.Budget.Cap(l.Attempts, math.Max(rate, 1e-9))
		if p.Breaker.Window > 0 || p.Throttle > 0 {
			v.notes = append(v.notes, fmt.Sprintf("breaker or throttle of %s: only the simulation knows it", s.EdgeName(pi)))
		}
		if p.Hedge > 0 && k == len(v.path)-1 {
			v.notes = append(v.notes, "hedging: only the simulation knows it")
		}
	}
	if p := s.Edges[ei]; p.Cancel != des.CancelNone {
		st.Sheds = true
		v.station.Sheds = true
		v.notes = append(v.notes, "work is cancelled with its client: there is no work for nobody")
	}
	if n.Limit.Kind != des.NoLimit || n.Shed.Wait > 0 {
		v.station.Sheds = true
		v.notes = append(v.notes, "adaptive limit or priority shedding: the analytic solvers take it for a short queue")
	}
	return v, true
}

// startsWithin returns how many attempts of an edge can start before limit
// seconds, when each before it times out and the jitter is as small as it can.
func startsWithin(e Edge, limit float64) int {
	if e.Timeout == 0 {
		return e.Attempts
	}
	t := 0.0
	for k := 1; k < e.Attempts; k++ {
		t += seconds(e.Timeout) + leastWait(e.Backoff, k)
		if t >= limit {
			return k
		}
	}
	return e.Attempts
}

// downstream is the mean time that one execution of node n spends in calls.
func (s *System) downstream(n int) float64 {
	total, longest := 0.0, 0.0
	for _, e := range s.Edges {
		if e.From != n {
			continue
		}
		t := (s.Nodes[e.To].Service.MeanNS()/1e9 + s.downstream(e.To) + 2*e.Network.MeanNS()/1e9) * probability(e) * float64(max(1, e.Calls))
		total += t
		longest = math.Max(longest, t)
	}
	if s.Nodes[n].Parallel {
		return longest
	}
	return total
}

// attempts returns the product of the attempts of all layers.
func (v view) attempts() int {
	n := 1
	for _, l := range v.layers {
		if n *= l.Attempts; n > 500 {
			return 500
		}
	}
	return n
}

// fluid lowers the view to the delay equation.
func (v view) fluid(s *System) fluid.Model {
	e := s.Edges[v.edge]
	m := fluid.Model{Load: v.load, Capacity: v.capacity, Timeout: v.timeout, Attempts: v.attempts(), Ratio: -1,
		NoRetryRejected: e.NoRetryRejected, Step: v.timeout / 1000}
	for k := 1; k <= min(m.Attempts, 32); k++ {
		m.Backoff = append(m.Backoff, meanWait(e.Backoff, k))
	}
	if v.station.Room > 0 {
		m.Room = float64(v.station.Room)
	} else if v.station.Room < 0 {
		m.Room = float64(v.station.Servers)
	}
	for _, l := range v.layers {
		if l.Budget.Kind != budget.Unlimited {
			m.Ratio = v.worst - 1
		}
	}
	return m
}

// markov lowers the view to the chain; ok is false when it would be too large.
func (v view) markov(s *System) (markov.Params, bool) {
	if v.station.Servers == 0 || v.timeout == 0 {
		return markov.Params{}, false
	}
	n := v.attempts()
	room := v.station.Servers + max(0, v.station.Room)
	if v.station.Room == 0 {
		room = int(math.Ceil(2*v.capacity*v.timeout)) + 10
	}
	p := markov.Params{Load: v.load, Rate: v.station.Rate, Threads: v.station.Servers, Timeout: v.timeout, Attempts: n,
		Wait: meanWait(s.Edges[v.edge].Backoff, 1), Queue: room + 1,
		Orbit: int(math.Ceil(1.5*v.load*v.timeout*float64(n))) + 10, DropWhenFull: s.Edges[v.edge].NoRetryRejected}
	// A budget shortens the geometric number of attempts.
	if v.worst < float64(n) {
		p.Attempts = max(1, int(math.Round(v.worst)))
	}
	return p, p.Validate() == nil
}

func seconds(d time.Duration) float64 { return float64(d) / 1e9 }

// plainWait is the backoff before the attempt after the k-th, without jitter.
func plainWait(b des.Backoff, k int) float64 {
	d := seconds(b.Base)
	if b.Factor > 0 {
		d *= math.Pow(b.Factor, float64(k-1))
	}
	if b.Max > 0 {
		d = math.Min(d, seconds(b.Max))
	}
	return math.Min(d, 9e9)
}

func meanWait(b des.Backoff, k int) float64 {
	if n := len(b.Table); n > 0 {
		w := b.Table[min(k, n)-1]
		return (seconds(w[0]) + seconds(w[1])) / 2
	}
	switch b.Jitter {
	case des.FullJitter:
		return plainWait(b, k) / 2
	case des.EqualJitter:
		return plainWait(b, k) * 3 / 4
	}
	return plainWait(b, k)
}

func leastWait(b des.Backoff, k int) float64 {
	if n := len(b.Table); n > 0 {
		return seconds(b.Table[min(k, n)-1][0])
	}
	switch b.Jitter {
	case des.FullJitter:
		return 0
	case des.EqualJitter:
		return plainWait(b, k) / 2
	}
	return plainWait(b, k)
}
