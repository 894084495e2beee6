package retrytree

import "slices"

// maxChoiceWork bounds the edge visits that alternatives with shared services
// may cost; beyond it those services keep the sum, an upper bound.
const maxChoiceWork = 100_000_000

// applyChoices corrects the services that several alternatives of one choice
// reach: an execution takes one alternative, so they get the largest value and
// not the sum. Services behind a single alternative are exact already.
//
//	M(t) = 1;  M(u) = sum over calls of factor * M(to) + sum over choices of max(factor * M(to))
//
// from the callees up; the worst case of t is M(root).
func (w *Worst) applyChoices(trees map[int32]*pathTree) {
	g := w.g
	if g.groups == 0 {
		return
	}
	shared, work := g.sharedByChoice()
	perTarget := len(g.edges) + len(g.nodes)
	m := make([]Count, len(g.nodes))
	best := make(map[int32]Count)
	for _, t := range g.order {
		if !shared[t] {
			continue
		}
		if work += perTarget; work > maxChoiceWork {
			w.Nodes[t].UpperBound = true
			continue
		}
		g.executionsOf(t, m, best)
		n := &w.Nodes[t]
		n.Attempts = Count{}
		for _, r := range g.roots {
			if m[r].Cmp(n.Attempts) > 0 {
				n.Attempts, n.Root, w.trees[t] = m[r], g.nodes[r].Name, trees[r]
			}
		}
		n.PathAttempts = NewCount(1)
		for _, i := range w.pathEdges(int(t)) {
			n.PathAttempts = n.PathAttempts.Mul(g.edges[i].factor)
		}
		root, _ := g.index.find(n.Root)
		n.Paths = trees[root].pathsTo(g, t)
	}
}

// executionsOf fills m with the executions of t for one execution of each node.
func (g *Graph) executionsOf(t int32, m []Count, best map[int32]Count) {
	for i := len(g.order) - 1; i >= 0; i-- {
		u := g.order[i]
		if m[u] = (Count{}); u == t {
			m[u] = NewCount(1)
			continue
		}
		clear(best)
		for _, e := range g.out(u) {
			f := e.factor.Mul(m[e.to])
			switch {
			case f.IsZero():
			case e.group == 0:
				m[u] = m[u].Add(f)
			default:
				best[e.group] = MaxCount(best[e.group], f)
			}
		}
		for _, b := range best { // a sum: the order does not matter
			m[u] = m[u].Add(b)
		}
	}
}

// sharedByChoice marks the nodes that at least two alternatives of one choice
// reach, and returns the edge visits that took.
func (g *Graph) sharedByChoice() ([]bool, int) {
	shared := make([]bool, len(g.nodes))
	group := make([]int32, len(g.nodes)) // the choice that reached the node last
	by := make([]int32, len(g.nodes))    // with which alternative
	var members []int32
	for i := range g.edges {
		if g.edges[i].group > 0 {
			members = append(members, int32(i))
		}
	}
	slices.SortStableFunc(members, func(a, b int32) int { return int(g.edges[a].group - g.edges[b].group) })
	work := 0
	for _, i := range members {
		if work > maxChoiceWork { // too large to tell: every node may be shared
			for u := range shared {
				shared[u] = true
			}
			return shared, work
		}
		e := &g.edges[i]
		work += g.markFrom(e.to, e.group, i, group, by, shared)
	}
	return shared, work
}

// markFrom walks everything below v on behalf of one alternative.
func (g *Graph) markFrom(v, choice, alternative int32, group, by []int32, shared []bool) int {
	stack, visits := []int32{v}, 0
	for len(stack) > 0 {
		u := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if group[u] == choice && by[u] == alternative {
			continue
		}
		if group[u] == choice {
			shared[u] = true
		}
		group[u], by[u] = choice, alternative
		for _, e := range g.out(u) {
			visits++
			stack = append(stack, e.to)
		}
	}
	return visits
}
