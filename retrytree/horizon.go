package retrytree

import (
	"slices"
	"time"

	"github.com/relplan/relplan/deadline"
)

// Horizon is the time during which attempts with one key may arrive at the end
// of a path.
type Horizon struct {
	// Path is the services from the root to the receiver.
	Path []string
	// Horizon is the time from the first send at the root until the last
	// attempt may start at the last call of the path.
	Horizon time.Duration
	// Known is false when a call of the path has no bound: no per-try limit or
	// no limit on its attempts. Cause then names it as "from->to".
	Known bool
	Cause string
}

// maxPaths bounds the list of [Graph.Horizons]; beyond it one path for every
// leaf is listed: the longest.
const maxPaths = 200

// Horizons returns the retry horizon of every path from a root to a service
// that makes no calls. With more than 200 paths only the longest one to each
// such service is listed.
//
//	H(path) = sum over its calls of sum_{i<n} (per-try limit + largest wait i)
//
// A call with FreshKey starts again from 0: what is below it never sees the
// same key twice because of the calls above. An answer that a deadline would
// forbid is not taken off: the deadline must be enforced before every send for
// that, and [Call] does not know.
//
// It bounds the dedupe window of the receiver from below; queueing at the
// receiver, network delay and clock skew come on top.
func (g *Graph) Horizons() []Horizon {
	if n := g.leafPaths(); n > maxPaths {
		return g.longestHorizons()
	}
	steps := g.horizonSteps()
	var out []Horizon
	var path []int32
	var walk func(u int32)
	walk = func(u int32) {
		if g.first[u] == g.first[u+1] {
			out = append(out, g.pathHorizon(u, path, steps))
			return
		}
		for i := g.first[u]; i < g.first[u+1]; i++ {
			path = append(path, i)
			walk(g.edges[i].to)
			path = path[:len(path)-1]
		}
	}
	for _, r := range g.roots {
		walk(r)
	}
	return out
}

// step is the horizon of one call.
type step struct {
	d     time.Duration
	known bool
	fresh bool
}

func (g *Graph) horizonSteps() []step {
	steps := make([]step, len(g.edges))
	for i := range steps {
		c := g.callOf(int32(i))
		d, ok := c.timing().horizon()
		steps[i] = step{d: d, known: ok, fresh: c.FreshKey}
	}
	return steps
}

// leafPaths counts the paths from the roots to the leaves, up to maxPaths+1.
func (g *Graph) leafPaths() int {
	n := make([]int, len(g.nodes))
	for i := len(g.order) - 1; i >= 0; i-- {
		u := g.order[i]
		if g.first[u] == g.first[u+1] {
			n[u] = 1
		}
		for _, e := range g.out(u) {
			n[u] = min(n[u]+n[e.to], maxPaths+1)
		}
	}
	total := 0
	for _, r := range g.roots {
		total = min(total+n[r], maxPaths+1)
	}
	return total
}

func (g *Graph) pathHorizon(leaf int32, path []int32, steps []step) Horizon {
	h := Horizon{Known: true}
	for _, i := range path {
		e := &g.edges[i]
		h.Path = append(h.Path, g.nodes[e.from].Name)
		switch s := steps[i]; {
		case s.fresh:
			h.Horizon, h.Known, h.Cause = 0, true, ""
		case !s.known && h.Known:
			h.Known, h.Horizon, h.Cause = false, 0, g.edgeName(i)
		case h.Known:
			h.Horizon = deadline.SatAdd(h.Horizon, s.d)
		}
	}
	h.Path = append(h.Path, g.nodes[leaf].Name)
	return h
}

// longestHorizons finds, for every leaf, the path with the longest horizon; a
// path without a bound counts as longer than any with one.
func (g *Graph) longestHorizons() []Horizon {
	steps := g.horizonSteps()
	type best struct {
		step
		pred int32
		set  bool
	}
	longest := make([]best, len(g.nodes))
	for _, r := range g.roots {
		longest[r] = best{step: step{known: true}, pred: -1, set: true}
	}
	for _, u := range g.order {
		for i := g.first[u]; i < g.first[u+1]; i++ {
			s, from, to := steps[i], longest[u], &longest[g.edges[i].to]
			n := best{step: step{known: from.known && s.known, d: deadline.SatAdd(from.d, s.d)}, pred: i, set: true}
			if s.fresh {
				n.step = step{known: true}
			}
			if !to.set || to.known && (!n.known || n.d > to.d) {
				*to = n
			}
		}
	}
	var out []Horizon
	for u := range g.nodes {
		if g.first[u] != g.first[u+1] {
			continue
		}
		var path []int32
		for v := int32(u); longest[v].pred >= 0; v = g.edges[longest[v].pred].from {
			path = append(path, longest[v].pred)
		}
		slices.Reverse(path)
		out = append(out, g.pathHorizon(int32(u), path, steps))
	}
	return out
}

// edgeName is "from->to".
func (g *Graph) edgeName(i int32) string {
	e := &g.edges[i]
	return g.nodes[e.from].Name + "->" + g.nodes[e.to].Name
}
