package modelcheck

import "slices"

// graph is the explored transition graph with numbered states, for properties of
// whole histories. The workers of the search have gathered its edges.
type graph struct {
	n         int   // states
	first     []int // number of the first state of each chunk
	begin     []uint64
	to        []uint32 // by edge: state, or cutState
	class     []uint16
	expanded  []bool
	classes   []edgeClass // by class number
	hasUnfair bool
	hasChoice bool
}

// edgeList holds edges found by one worker, in runs by source.
type edgeList struct {
	source []uint32 // state
	begin  []uint64 // first edge of the source
	to     []uint32 // state, or cutState
	class  []uint16
}

// cutState stands for a successor that the model could not represent.
const cutState = ^uint32(0)

// edgeClass says how fairness sees an action.
type edgeClass struct {
	fault  bool
	fair   bool
	choice int // decision whose branch the action is, 0 none
}

// number gives the dense number of a queue id.
func (g *graph) number(id uint32) uint32 {
	return uint32(g.first[id/chunkStates]) + id%chunkStates
}

// edges gives targets and classes of the edges of state v.
func (g *graph) edges(v uint32) ([]uint32, []uint16) {
	b, e := g.begin[v], g.begin[v+1]
	return g.to[b:e], g.class[b:e]
}

// classify numbers the classes of all actions.
func classify(m Model, n int) (byAction []uint16, classes []edgeClass) {
	seen := map[edgeClass]uint16{}
	byAction = make([]uint16, n)
	for a := range n {
		d := m.Describe(ActionID(a))
		c := edgeClass{fault: d.IsFault(), fair: d.IsFair()}
		if !c.fault && !d.Unfair {
			c.choice = d.Choice
		}
		k, ok := seen[c]
		if !ok {
			k = uint16(len(classes))
			seen[c] = k
			classes = append(classes, c)
		}
		byAction[a] = k
	}
	return byAction, classes
}

// buildGraph puts the edges of all workers into one list by source.
func (s *search) buildGraph() *graph {
	g := &graph{classes: s.classes}
	for _, c := range s.queue.chunks() {
		g.first = append(g.first, g.n)
		g.n += c.n
	}
	for _, c := range g.classes {
		g.hasChoice = g.hasChoice || c.choice != 0
		g.hasUnfair = g.hasUnfair || !c.fault && !c.fair && c.choice == 0
	}
	g.begin, g.expanded = make([]uint64, g.n+1), make([]bool, g.n)
	for _, w := range s.workers {
		l := &w.edges
		l.begin = append(l.begin, uint64(len(l.to)))
		for i, id := range l.source {
			v := g.number(id)
			g.expanded[v] = true
			g.begin[v+1] = l.begin[i+1] - l.begin[i]
		}
	}
	for v := range g.n {
		g.begin[v+1] += g.begin[v]
	}
	g.to, g.class = make([]uint32, g.begin[g.n]), make([]uint16, g.begin[g.n])
	for _, w := range s.workers {
		l := &w.edges
		for i, id := range l.source {
			at := g.begin[g.number(id)]
			for j, t := range l.to[l.begin[i]:l.begin[i+1]] {
				if t != cutState {
					t = g.number(t)
				}
				g.to[at+uint64(j)] = t
			}
			copy(g.class[at:], l.class[l.begin[i]:l.begin[i+1]])
		}
		w.edges = edgeList{}
	}
	return g
}

// holds evaluates a predicate on every state.
func (s *search) holds(g *graph, goal func([]uint64) bool) []bool {
	r := make([]bool, g.n)
	for _, c := range s.queue.chunks() {
		for o := range c.n {
			r[g.first[c.id]+o] = goal(c.words[o*s.queue.words:][:s.queue.words:s.queue.words])
		}
	}
	return r
}

// reverse lists the predecessors of every state over the edges that keep.
type reverse struct {
	begin []uint64
	from  []uint32
	class []uint16
}

func (g *graph) reversed(keep func(c *edgeClass) bool) *reverse {
	r := &reverse{begin: make([]uint64, g.n+1)}
	use := make([]bool, len(g.classes))
	for i := range g.classes {
		use[i] = keep(&g.classes[i])
	}
	each := func(visit func(v, to uint32, class uint16)) {
		for v := range uint32(g.n) {
			to, class := g.edges(v)
			for i, t := range to {
				if t != cutState && use[class[i]] {
					visit(v, t, class[i])
				}
			}
		}
	}
	each(func(_, t uint32, _ uint16) { r.begin[t+1]++ })
	for i := range g.n {
		r.begin[i+1] += r.begin[i]
	}
	r.from = make([]uint32, r.begin[g.n])
	r.class = make([]uint16, r.begin[g.n])
	at := slices.Clone(r.begin[:g.n])
	each(func(v, t uint32, class uint16) {
		r.from[at[t]], r.class[at[t]] = v, class
		at[t]++
	})
	return r
}

// components numbers the strongly connected components of the states in, over
// the edges that keep, in reverse topological order (Tarjan); -1 elsewhere.
func (g *graph) components(in []bool, keep func(c *edgeClass) bool) (comp []int32, n int32) {
	const unseen = -1
	comp = make([]int32, g.n)
	low := make([]int32, g.n)
	for i := range comp {
		comp[i], low[i] = -1, unseen
	}
	use := make([]bool, len(g.classes))
	for i := range g.classes {
		use[i] = keep(&g.classes[i])
	}
	type frame struct {
		v    uint32
		edge int
		at   int32 // discovery number
	}
	var stack []frame
	var open []uint32
	var clock int32
	for root := range uint32(g.n) {
		if !in[root] || low[root] != unseen {
			continue
		}
		enter := func(v uint32) {
			low[v] = clock
			stack = append(stack, frame{v, 0, clock})
			open = append(open, v)
			clock++
		}
		for enter(root); len(stack) > 0; {
			f := &stack[len(stack)-1]
			to, class := g.edges(f.v)
			if f.edge < len(to) {
				t, c := to[f.edge], class[f.edge]
				f.edge++
				if t == cutState || !use[c] || !in[t] || comp[t] >= 0 {
					continue
				}
				if low[t] == unseen {
					enter(t)
				} else {
					low[f.v] = min(low[f.v], low[t])
				}
				continue
			}
			v, at := f.v, f.at
			stack = stack[:len(stack)-1]
			if low[v] == at {
				for {
					u := open[len(open)-1]
					open = open[:len(open)-1]
					comp[u] = n
					if u == v {
						break
					}
				}
				n++
			}
			if len(stack) > 0 {
				p := stack[len(stack)-1].v
				low[p] = min(low[p], low[v])
			}
		}
	}
	return comp, n
}
