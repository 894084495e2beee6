package retrytree

import "slices"

// Worst is the exact worst case of a graph: how often each service is executed
// for one request when everything fails as late and as often as it can.
//
//	W(root) = 1;  W(v) = sum over calls e = (u -> v) of W(u) * fanout(e) * attempts(e)
//
// attempts(e) are those that start when each fails at once ([EdgeTiming].Fast).
// A service reached over several paths gets their sum; behind a choice it gets
// the largest value over the alternatives. With several roots a
// request enters at one of them, so a service gets the largest value over the
// roots, not the sum.
type Worst struct {
	// Nodes has one entry a service, in the order of [Graph.Names].
	Nodes []NodeWorst
	// Top is the index in Nodes of the service with the most attempts; among
	// equals the one furthest from the root. -1 for an empty graph.
	Top int

	g     *Graph
	trees []*pathTree // for each node: the best paths from its root
}

// pathTree holds, for one root, the edge of the largest product into each node
// it reaches; -1 at the root itself.
type pathTree struct {
	reach []int32 // in topological order
	pred  []int32
	paths []Count // number of paths; kept only for graphs with choices
}

// NodeWorst is the worst case of one service.
type NodeWorst struct {
	// Name is the service.
	Name string
	// Root is the entry that produces the worst case.
	Root string
	// Attempts is the number of executions for one request.
	Attempts Count
	// PathAttempts is the part of Attempts that comes over the single worst
	// path, see [Worst.Path].
	PathAttempts Count
	// UpperBound is true when Attempts may be too high: a choice whose
	// alternatives share services in a graph too large to untangle.
	UpperBound bool
	// Paths is the number of different paths from Root, counting several calls
	// of the same service as several paths.
	Paths Count
}

// Worst computes the worst case of every service in O(V+E) for each root.
func (g *Graph) Worst() *Worst {
	n := len(g.nodes)
	w := &Worst{Nodes: make([]NodeWorst, n), Top: -1, g: g, trees: make([]*pathTree, n)}
	for i := range w.Nodes {
		w.Nodes[i].Name = g.nodes[i].Name
	}
	p := newPass(n)
	trees := make(map[int32]*pathTree)
	for _, r := range g.roots {
		reach := g.reach(r, len(g.roots) == 1)
		p.run(g, r, reach)
		tree := &pathTree{reach: reach, pred: make([]int32, len(reach))}
		if g.groups > 0 {
			tree.paths = make([]Count, len(reach))
			trees[r] = tree
		}
		for i, u := range reach {
			tree.pred[i] = p.pred[u]
			if tree.paths != nil {
				tree.paths[i] = p.paths[u]
			}
			nw := &w.Nodes[u]
			if nw.Root == "" || p.sum[u].Cmp(nw.Attempts) > 0 {
				*nw = NodeWorst{Name: nw.Name, Root: g.nodes[r].Name, Attempts: p.sum[u], PathAttempts: p.best[u], Paths: p.paths[u]}
				w.trees[u] = tree
			}
			p.clear(u)
		}
	}
	w.applyChoices(trees)
	for _, u := range g.order {
		if w.Top < 0 || w.Nodes[u].Attempts.Cmp(w.Nodes[w.Top].Attempts) >= 0 {
			w.Top = int(u)
		}
	}
	return w
}

// WorstSlow is [Graph.Worst] when every attempt hangs until its own limit ends
// it, in place of failing at once: fewer attempts start before overall limits,
// and none after a limit that is not retried. Factors are [EdgeTiming].Slow.
func (g *Graph) WorstSlow() *Worst {
	slow := *g
	slow.edges = slices.Clone(g.edges)
	for i := range slow.edges {
		c := g.callOf(int32(i))
		slow.edges[i].factor = c.timing().slow.Mul(NewCount(c.copies()))
	}
	return slow.Worst()
}

// reach returns the nodes reachable from r in topological order. With a single
// root that is every node.
func (g *Graph) reach(r int32, single bool) []int32 {
	if single {
		return g.order
	}
	seen := map[int32]bool{r: true}
	list := []int32{r}
	for i := 0; i < len(list); i++ {
		for _, e := range g.out(list[i]) {
			if !seen[e.to] {
				seen[e.to] = true
				list = append(list, e.to)
			}
		}
	}
	slices.SortFunc(list, func(a, b int32) int { return int(g.rank[a]) - int(g.rank[b]) })
	return list
}

// pass holds the arrays of one root; they are cleared and used again.
type pass struct {
	sum, best, paths []Count
	pred             []int32
}

func newPass(n int) *pass {
	p := &pass{sum: make([]Count, n), best: make([]Count, n), paths: make([]Count, n), pred: make([]int32, n)}
	for i := range p.pred {
		p.pred[i] = -1
	}
	return p
}

func (p *pass) clear(u int32) {
	p.sum[u], p.best[u], p.paths[u], p.pred[u] = Count{}, Count{}, Count{}, -1
}

func (p *pass) run(g *Graph, root int32, order []int32) {
	one := NewCount(1)
	p.sum[root], p.best[root], p.paths[root] = one, one, one
	for _, u := range order {
		for i := g.first[u]; i < g.first[u+1]; i++ {
			e := &g.edges[i]
			p.sum[e.to] = p.sum[e.to].Add(p.sum[u].Mul(e.factor))
			p.paths[e.to] = p.paths[e.to].Add(p.paths[u])
			if b := p.best[u].Mul(e.factor); p.pred[e.to] < 0 || b.Cmp(p.best[e.to]) > 0 {
				p.best[e.to], p.pred[e.to] = b, i
			}
		}
	}
}

// Work is the sum over all services of their worst case times [Node].Cost: how
// much work one request can cause. With several roots, or behind choices, the
// services need not reach their worst case together: it is an upper bound.
func (w *Worst) Work() float64 {
	sum := 0.0
	for i := range w.Nodes {
		if c := w.g.nodes[i].Cost; c > 0 {
			sum += c * w.Nodes[i].Attempts.Float64()
		}
	}
	return sum
}

// Find returns the worst case of one service.
func (w *Worst) Find(name string) (NodeWorst, bool) {
	i, ok := w.g.index.find(name)
	if !ok {
		return NodeWorst{}, false
	}
	return w.Nodes[i], true
}

// Path returns the path with the largest product of attempts and fan-out from
// the root to the node with index i in Nodes; among equals the first in input
// order.
func (w *Worst) Path(i int) []string {
	var names []string
	for _, e := range w.pathEdges(i) {
		names = append(names, w.g.nodes[w.g.edges[e].from].Name)
	}
	return append(names, w.g.nodes[i].Name)
}

// pathEdges returns the edges of [Worst.Path], from the root down.
func (w *Worst) pathEdges(i int) []int32 {
	tree := w.trees[i]
	var edges []int32
	for u := int32(i); ; {
		e := tree.edgeInto(w.g, u)
		if e < 0 {
			break
		}
		edges = append(edges, e)
		u = w.g.edges[e].from
	}
	slices.Reverse(edges)
	return edges
}

func (t *pathTree) edgeInto(g *Graph, u int32) int32 {
	if i, ok := t.position(g, u); ok {
		return t.pred[i]
	}
	return -1
}

func (t *pathTree) pathsTo(g *Graph, u int32) Count {
	if i, ok := t.position(g, u); ok {
		return t.paths[i]
	}
	return Count{}
}

func (t *pathTree) position(g *Graph, u int32) (int, bool) {
	if len(t.reach) == len(g.order) {
		return int(g.rank[u]), true
	}
	return slices.BinarySearchFunc(t.reach, g.rank[u], func(v, rank int32) int { return int(g.rank[v] - rank) })
}
