// Package storm decides when retries tip a system of services over, and what
// brings it back.
//
// One description, System, is given to four solvers of rising cost: steady
// states and folds (package fold), the fluid delay equation (fluid), a small
// Markov chain (markov), and discrete-event simulation (des). Analyse asks
// them all and shows where they disagree; Optimise looks for the cheapest
// change that lets the system survive a disturbance and verifies it by
// simulation.
//
// Rates are first tries or attempts per second, times are time.Duration in the
// description and seconds in results that are not integers.
package storm

import (
	"fmt"
	"math"
	"time"

	"github.com/relplan/relplan/retrytree/storm/budget"
	"github.com/relplan/relplan/retrytree/storm/des"
)

// The parts of a description are those of the simulator.
type (
	// Node is one service.
	Node = des.Node
	// Edge is one call, with the client's rules.
	Edge = des.Edge
	// Source produces requests from outside.
	Source = des.Source
	// Trigger is a disturbance that ends.
	Trigger = des.Trigger
)

// System is a call graph with its load.
type System struct {
	Nodes   []Node
	Edges   []Edge
	Sources []Source
}

// Validate reports the first thing that cannot be analysed.
func (s *System) Validate() error {
	cfg := des.Config{Nodes: s.Nodes, Edges: s.Edges, Sources: s.Sources, Horizon: time.Second}
	return cfg.Validate()
}

// EdgeName returns the name of an edge, "from->to" if it has none.
func (s *System) EdgeName(i int) string {
	e := s.Edges[i]
	if e.Name != "" {
		return e.Name
	}
	from := "clients"
	if e.From >= 0 {
		from = s.Nodes[e.From].Name
	}
	return from + "->" + s.Nodes[e.To].Name
}

// Clone returns a copy whose nodes and edges can be changed.
func (s *System) Clone() *System {
	return &System{Nodes: append([]Node(nil), s.Nodes...), Edges: append([]Edge(nil), s.Edges...),
		Sources: append([]Source(nil), s.Sources...)}
}

// Scale multiplies the load of all open sources.
func (s *System) Scale(f float64) *System {
	c := s.Clone()
	for i := range c.Sources {
		c.Sources[i].Rate *= f
	}
	return c
}

// flow is what each part of a healthy system sees.
type flow struct {
	order    []int     // nodes, callers first
	exec     []float64 // executions of each node per second
	calls    []float64 // first tries on each edge per second
	attempts []float64
	fail     []float64 // of each node, after its callees' attempts
}

// flow computes the rates of the healthy system: bottom-up the failures, then
// top-down the rates, serial calls ending at the first that fails.
func (s *System) flow() flow {
	f := flow{exec: make([]float64, len(s.Nodes)), calls: make([]float64, len(s.Edges)),
		attempts: make([]float64, len(s.Edges)), fail: make([]float64, len(s.Nodes))}
	out := make([][]int, len(s.Nodes))
	indeg := make([]int, len(s.Nodes))
	for i, e := range s.Edges {
		if e.From >= 0 {
			out[e.From] = append(out[e.From], i)
			indeg[e.To]++
		}
	}
	for n, d := range indeg {
		if d == 0 {
			f.order = append(f.order, n)
		}
	}
	for k := 0; k < len(f.order); k++ {
		for _, e := range out[f.order[k]] {
			if to := s.Edges[e].To; indeg[to] == 1 {
				f.order = append(f.order, to)
			} else {
				indeg[to]--
			}
		}
	}
	miss := func(e Edge) float64 { // failure of one call
		q := f.fail[e.To]
		return 1 - math.Min(1, budget.Attempts(q, e.Attempts)*(1-q))
	}
	for k := len(f.order) - 1; k >= 0; k-- {
		n := f.order[k]
		ok := 1 - s.Nodes[n].FailProb
		for _, ei := range out[n] {
			e := s.Edges[ei]
			ok *= math.Pow(1-probability(e)*miss(e), float64(max(1, e.Calls)))
		}
		f.fail[n] = 1 - ok
	}
	for _, src := range s.Sources {
		rate := src.Rate
		if src.Clients > 0 {
			rate = float64(src.Clients) / (src.Think.MeanNS()/1e9 + s.Nodes[s.Edges[src.Edge].To].Service.MeanNS()/1e9)
		}
		f.calls[src.Edge] += rate
	}
	push := func(ei int, rate float64) {
		e := s.Edges[ei]
		f.calls[ei] += rate
		a := budget.Attempts(f.fail[e.To], e.Attempts)
		f.attempts[ei] = f.calls[ei] * a
		f.exec[e.To] += rate * a
	}
	for ei, r := range f.calls {
		if r > 0 {
			f.calls[ei] = 0
			push(ei, r)
		}
	}
	for _, n := range f.order {
		reach := f.exec[n] * (1 - s.Nodes[n].FailProb)
		for _, ei := range out[n] {
			e := s.Edges[ei]
			m := float64(max(1, e.Calls)) * probability(e)
			push(ei, reach*m)
			if !s.Nodes[n].Parallel {
				reach *= math.Pow(1-probability(e)*miss(e), float64(max(1, e.Calls)))
			}
		}
	}
	return f
}

func probability(e Edge) float64 {
	if e.Never {
		return 0
	}
	if e.Prob == 0 {
		return 1
	}
	return e.Prob
}

// path returns the edges from outside to edge ei along which a call can grow
// to the most attempts.
func (s *System) path(ei int) []int {
	best := make([]float64, len(s.Nodes))
	via := make([]int, len(s.Nodes))
	for n := range via {
		via[n] = -1
	}
	for _, n := range s.flow().order {
		for k, e := range s.Edges {
			if e.To != n {
				continue
			}
			w := math.Log(float64(e.Attempts))
			if e.From >= 0 {
				w += best[e.From]
			}
			if via[n] < 0 || w > best[n] {
				best[n], via[n] = w, k
			}
		}
	}
	p := []int{ei}
	for from := s.Edges[ei].From; from >= 0 && via[from] >= 0; from = s.Edges[via[from]].From {
		p = append([]int{via[from]}, p...)
	}
	return p
}

// findEdge returns the index of an edge by its name.
func (s *System) findEdge(name string) (int, error) {
	for i := range s.Edges {
		if s.EdgeName(i) == name {
			return i, nil
		}
	}
	return 0, fmt.Errorf("no edge %q", name)
}
