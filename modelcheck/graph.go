package modelcheck

import (
	"slices"
	"sync"
	"sync/atomic"
)

// graph is the explored transition graph with numbered states, built after the
// search for properties of whole histories.
type graph struct {
	n        int   // states
	first    []int // number of the first state of each chunk
	owner    []uint8
	begin    []uint32 // first edge of a state within its owner's lists
	count    []uint32
	lists    []edgeList
	expanded []bool
	classes  []edgeClass // by class number
	hasUnfair,
	hasChoice bool
}

// edgeList holds edges found by one worker.
type edgeList struct {
	to    []uint32 // state, or cutState
	class []uint16
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
	l := &g.lists[g.owner[v]]
	b, n := g.begin[v], g.count[v]
	return l.to[b : b+n], l.class[b : b+n]
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

// buildGraph expands every state of the finished layers again and looks up the
// numbers of its successors.
func (s *search) buildGraph() *graph {
	s.set.index()
	g := &graph{}
	for _, c := range s.queue.chunks() {
		g.first = append(g.first, g.n)
		g.n += c.n
	}
	g.owner, g.begin, g.count = make([]uint8, g.n), make([]uint32, g.n), make([]uint32, g.n)
	g.expanded = make([]bool, g.n)
	byAction, classes := classify(s.model, s.shape.Actions)
	g.classes = classes
	for _, c := range classes {
		g.hasChoice = g.hasChoice || c.choice != 0
		g.hasUnfair = g.hasUnfair || !c.fault && !c.fair && c.choice == 0
	}
	var segments []span
	for _, layer := range s.layers[:s.expanded] {
		for _, sp := range layer {
			for f := sp.from; f < sp.to; f += segmentStates {
				segments = append(segments, span{sp.c, f, min(f+segmentStates, sp.to)})
			}
		}
	}
	workers := s.workers[:min(len(s.workers), max(1, len(segments)/2), 256)]
	g.lists = make([]edgeList, len(workers))
	var next atomic.Int64
	var wg sync.WaitGroup
	for k, w := range workers {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(segments) {
					return
				}
				w.addEdges(g, k, segments[i], byAction)
			}
		})
	}
	wg.Wait()
	return g
}

// addEdges notes the edges of a segment.
func (w *worker) addEdges(g *graph, k int, sp span, byAction []uint16) {
	l, x := &g.lists[k], w.x
	for i := sp.from; i < sp.to; i++ {
		x.Reset()
		w.model.Expand(sp.c.words[i*x.words:][:x.words:x.words], x)
		v := g.number(uint32(sp.c.id*chunkStates + i))
		g.owner[v], g.begin[v], g.expanded[v] = uint8(k), uint32(len(l.to)), true
		for j := range x.n {
			t := x.buf[j*x.words:][:x.words:x.words]
			if w.sym != nil {
				w.sym.canonical(t)
			}
			id, ok := w.s.set.lookup(t)
			to := cutState
			if ok {
				to = g.number(id)
			}
			l.to = append(l.to, to)
			l.class = append(l.class, byAction[x.acts[j]])
		}
		for _, c := range x.cuts {
			l.to = append(l.to, cutState)
			l.class = append(l.class, byAction[c.action])
		}
		g.count[v] = uint32(len(l.to)) - g.begin[v]
	}
	x.Reset()
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
