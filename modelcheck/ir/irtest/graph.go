package irtest

import (
	"slices"

	"github.com/relplan/relplan/modelcheck"
	"github.com/relplan/relplan/modelcheck/ir"
)

// Graph is everything a program can reach, one state per class of Canon.
type Graph struct {
	T           *Interp
	States      []State
	Transitions int // enabled action instances, cut ones included
	edges       [][]link
	cuts        [][]*ir.Action // by state: actions whose successor is cut
	Incomplete  bool           // something is cut
}

type link struct {
	to int
	a  *ir.Action
}

// Explore walks the whole graph, or gives nil if it has more than limit states.
func Explore(p *ir.Program, limit int) *Graph {
	g := &Graph{T: New(p)}
	number := map[string]int{}
	add := func(s State) int {
		k := g.T.Canon(s, false)
		n, ok := number[k]
		if !ok {
			n = len(g.States)
			number[k] = n
			g.States = append(g.States, s)
		}
		return n
	}
	first, _ := g.T.Initial()
	for _, s := range first {
		add(s)
	}
	for v := 0; v < len(g.States); v++ {
		if len(g.States) > limit {
			return nil
		}
		var ls []link
		var cut []*ir.Action
		for _, e := range g.T.Successors(g.States[v]) {
			if e.To == nil {
				cut = append(cut, e.Action)
				g.Incomplete = true
				continue
			}
			ls = append(ls, link{add(e.To), e.Action})
		}
		g.edges, g.cuts = append(g.edges, ls), append(g.cuts, cut)
		g.Transitions += len(ls) + len(cut)
	}
	return g
}

// Orbits counts the states up to names of elements of unordered sets.
func (g *Graph) Orbits() int {
	seen := map[string]bool{}
	for _, s := range g.States {
		seen[g.T.Canon(s, true)] = true
	}
	return len(seen)
}

func isFault(a *ir.Action) bool { return a.Kind == ir.Fault || a.Fault != "" }
func isFair(a *ir.Action) bool  { return !isFault(a) && !a.Unfair }

// reach gives the states reachable from v over actions that keep, through
// states that through allows.
func (g *Graph) reach(v int, keep func(*ir.Action) bool, through func(int) bool) []bool {
	seen := make([]bool, len(g.States))
	todo := []int{}
	visit := func(v int) {
		if !seen[v] && through(v) {
			seen[v] = true
			todo = append(todo, v)
		}
	}
	visit(v)
	for len(todo) > 0 {
		v := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, e := range g.edges[v] {
			if keep(e.a) {
				visit(e.to)
			}
		}
	}
	return seen
}

func everywhere(int) bool { return true }

// traps lists the bottom strongly connected components of the fair graph that
// no fair action is cut in, by mutual reachability.
func (g *Graph) traps() [][]int {
	all := make([][]bool, len(g.States))
	for v := range g.States {
		all[v] = g.reach(v, isFair, everywhere)
	}
	var out [][]int
	done := make([]bool, len(g.States))
	for v := range g.States {
		if done[v] {
			continue
		}
		var set []int
		bottom := true
		for u, ok := range all[v] {
			if !ok {
				continue
			}
			bottom = bottom && all[u][v] && !slices.ContainsFunc(g.cuts[u], isFair)
			set = append(set, u)
		}
		if !bottom {
			continue
		}
		for _, u := range set {
			done[u] = true
		}
		out = append(out, set)
	}
	return out
}

// Verdicts judges every property of the program by its definition, for all
// elements of its binders.
func (g *Graph) Verdicts() []modelcheck.Verdict {
	traps := g.traps()
	var out []modelcheck.Verdict
	for _, q := range g.T.P.Props {
		worst := modelcheck.Holds
		var ix []ir.Index
		for _, p := range q.ForEach {
			ix = append(ix, p.Over)
		}
		for _, at := range combos(ix) {
			worst = Worse(worst, g.verdict(q, at, traps))
		}
		out = append(out, worst)
	}
	return out
}

// Worse is the verdict of two together.
func Worse(a, b modelcheck.Verdict) modelcheck.Verdict {
	rank := []modelcheck.Verdict{modelcheck.Broken, modelcheck.Unknown, modelcheck.Vacuous, modelcheck.Holds}
	return rank[min(slices.Index(rank, a), slices.Index(rank, b))]
}

func (g *Graph) verdict(q *ir.Property, at []int, traps [][]int) modelcheck.Verdict {
	goal := func(v int) bool { return g.T.Holds(g.States[v], q.Goal, q, at) }
	some, broken := false, false
	for v := range g.States {
		switch q.Kind {
		case ir.Always:
			broken = broken || !goal(v)
		case ir.Reachable:
			some = some || goal(v)
		case ir.CanAlways:
			broken = broken || !g.can(v, goal)
		case ir.LeadsTo:
			if g.T.Holds(g.States[v], q.From, q, at) {
				some = true
				broken = broken || g.stuck(v, goal, traps)
			}
		}
	}
	for _, t := range traps {
		switch q.Kind {
		case ir.Eventually:
			broken = broken || !slices.ContainsFunc(t, goal)
		case ir.Finally:
			broken = broken || slices.ContainsFunc(t, func(v int) bool { return !goal(v) })
		}
	}
	occasion := q.Kind == ir.Reachable || q.Kind == ir.LeadsTo
	switch {
	case broken:
		return modelcheck.Broken
	case q.Kind == ir.Reachable && some:
		return modelcheck.Holds
	case g.Incomplete:
		return modelcheck.Unknown
	case occasion && !some:
		return modelcheck.Vacuous
	}
	return modelcheck.Holds
}

// can tells whether the goal, or something that was cut, can be reached from v
// without a fault.
func (g *Graph) can(v int, goal func(int) bool) bool {
	keep := func(a *ir.Action) bool { return !isFault(a) }
	for u, ok := range g.reach(v, keep, everywhere) {
		if ok && (goal(u) || slices.ContainsFunc(g.cuts[u], keep)) {
			return true
		}
	}
	return false
}

// stuck tells whether a history from v avoids the goal for ever.
func (g *Graph) stuck(v int, goal func(int) bool, traps [][]int) bool {
	if goal(v) {
		return false
	}
	r := g.reach(v, func(*ir.Action) bool { return true }, func(u int) bool { return !goal(u) })
	return slices.ContainsFunc(traps, func(t []int) bool { return r[t[0]] && !slices.ContainsFunc(t, goal) })
}
