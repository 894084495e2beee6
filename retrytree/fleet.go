package retrytree

import "math"

// Fleet is the largest load in the long run, for each first try at a root, that
// the retry budgets leave: a single request may still reach its worst case, but
// not all of them. The two are stated apart and never multiplied.
//
//	V(root) = 1;  V(v) = sum over calls of V(u) * share * fanout * prod over layers min(attempts, cap)
//
// where cap is [Budget.WorstCap] and share is the share of a weighted
// alternative. Entries follow [Graph.Names]; several roots give the largest
// value. +Inf: some layer has neither a limit nor a budget.
func (g *Graph) Fleet() []float64 {
	factor := make([]float64, len(g.edges))
	for i := range factor {
		c := g.callOf(int32(i))
		factor[i] = float64(c.copies())
		for k, p := range c.timing().policies {
			n := countOf(p.Fast()).Float64()
			if k < len(c.Layers) && c.Layers[k].Budget != nil {
				n = min(n, c.Layers[k].Budget.WorstCap())
			}
			factor[i] *= n
		}
	}
	best := make([]float64, len(g.nodes))
	load := make([]float64, len(g.nodes))
	for _, r := range g.roots {
		reach := g.reach(r, len(g.roots) == 1)
		load[r] = 1
		for _, u := range reach {
			for j := g.first[u]; j < g.first[u+1]; j++ {
				share := 1.0
				if g.edges[j].group > 0 {
					share = g.shareOf(u, j)
				}
				if share > 0 {
					load[g.edges[j].to] += load[u] * share * factor[j]
				}
			}
			best[u] = math.Max(best[u], load[u])
			load[u] = 0
		}
	}
	return best
}

// shareOf is the share of executions of u that take alternative j.
func (g *Graph) shareOf(u, j int32) float64 {
	for i := g.first[u]; i < g.first[u+1]; i++ {
		if g.edges[i].group == g.edges[j].group {
			for _, m := range g.members(u, i) {
				if m.edge == j {
					return m.share
				}
			}
		}
	}
	return 0
}

// HasBudgets reports whether any call of the graph has a retry budget.
func (g *Graph) HasBudgets() bool {
	for i := range g.nodes {
		for _, c := range g.nodes[i].Calls {
			for _, l := range c.Layers {
				if l.Budget != nil {
					return true
				}
			}
		}
	}
	return false
}
