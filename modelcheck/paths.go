package modelcheck

import (
	"context"
	"slices"
)

// pathSearch finds the best history into a set of states: least cost first
// (Dijkstra over representatives of tracked states), then the least sequence of
// action orders.
type pathSearch struct {
	t        *tracked
	shortest bool
	target   func(st []uint64) bool // of a representative, with the extra word
	limit    int                    // nodes, 0 = none

	nodes  []pathNode
	states interned // by node
	heap   pathHeap
	width  int
	buffer []uint64
}

type pathNode struct {
	cost   uint64
	parent int32
	action ActionID
	done   bool
}

// pathItem is a node waiting with the cost it had when it was put there.
type pathItem struct {
	cost uint64
	node int32
}

func (a pathItem) before(b pathItem) bool {
	return a.cost < b.cost || a.cost == b.cost && a.node < b.node
}

// pathHeap is a binary heap, least first.
type pathHeap []pathItem

func (h *pathHeap) push(x pathItem) {
	*h = append(*h, x)
	o := *h
	i := len(o) - 1
	for i > 0 && x.before(o[(i-1)/2]) {
		o[i] = o[(i-1)/2]
		i = (i - 1) / 2
	}
	o[i] = x
}

func (h *pathHeap) pop() pathItem {
	o := *h
	top, x := o[0], o[len(o)-1]
	o = o[:len(o)-1]
	*h = o
	i := 0
	for 2*i+1 < len(o) {
		c := 2*i + 1
		if c+1 < len(o) && o[c+1].before(o[c]) {
			c++
		}
		if !o[c].before(x) {
			break
		}
		o[i] = o[c]
		i = c
	}
	if len(o) > 0 {
		o[i] = x
	}
	return top
}

// pathStep is a representative on a path and the cost of the step into it.
type pathStep struct {
	state []uint64
	cost  uint64 // 0: any
}

// find gives the representatives along the best history, from an initial state
// to a target; nil if there is none. exact is false when the limit was met.
func (p *pathSearch) find(ctx context.Context) (path []pathStep, exact bool) {
	p.width = p.t.shape.Words
	p.states.width = p.width
	p.buffer = make([]uint64, p.width)
	p.t.model.Initial(func(st []uint64) {
		copy(p.buffer, p.t.start(st))
		p.offer(-1, 0, 0)
	})
	best := int32(-1)
	for steps := 0; len(p.heap) > 0; steps++ {
		if p.limit > 0 && len(p.nodes) > p.limit || steps%1024 == 0 && ctx.Err() != nil {
			return nil, false
		}
		it := p.heap.pop()
		n := &p.nodes[it.node]
		if n.done || n.cost != it.cost {
			continue
		}
		if best >= 0 && it.cost > p.nodes[best].cost {
			break
		}
		n.done = true
		st := p.state(it.node)
		if p.target(st) {
			if best < 0 || p.compare(it.node, best) < 0 {
				best = it.node
			}
			continue
		}
		p.expand(it.node, it.cost)
	}
	if best < 0 {
		return nil, true
	}
	for v := best; v >= 0; v = p.nodes[v].parent {
		st := pathStep{append([]uint64(nil), p.state(v)...), p.nodes[v].cost}
		if q := p.nodes[v].parent; q >= 0 {
			st.cost -= p.nodes[q].cost
		}
		path = append(path, st)
	}
	slices.Reverse(path)
	return path, true
}

func (p *pathSearch) state(v int32) []uint64 { return p.states.at(v) }

func (p *pathSearch) expand(v int32, cost uint64) {
	st := p.state(v)
	last := st[p.width-1]
	x := p.t.x
	x.Reset()
	p.t.model.Expand(st[:p.width-1:p.width-1], x)
	for i := range x.Len() {
		a, changed := p.t.next(p.buffer, i, last)
		p.offer(v, a, cost+p.t.cost(a, changed, p.shortest))
	}
}

// offer relaxes the state in buffer.
func (p *pathSearch) offer(parent int32, a ActionID, cost uint64) {
	if p.t.sym != nil {
		p.t.sym.canonical(p.buffer)
	}
	v, fresh := p.states.add(p.buffer)
	if fresh {
		p.nodes = append(p.nodes, pathNode{cost: cost, parent: parent, action: a})
		p.heap.push(pathItem{cost, v})
		return
	}
	n := &p.nodes[v]
	switch {
	case n.done || cost > n.cost:
	case cost < n.cost:
		n.cost, n.parent, n.action = cost, parent, a
		p.heap.push(pathItem{cost, v})
	case p.comparePaths(parent, a, n.parent, n.action) < 0:
		n.parent, n.action = parent, a
	}
}

// compare orders two nodes by the sequence of action orders that leads there.
func (p *pathSearch) compare(a, b int32) int {
	if a == b || a < 0 || b < 0 {
		return 0
	}
	m, n := &p.nodes[a], &p.nodes[b]
	return p.comparePaths(m.parent, m.action, n.parent, n.action)
}

// comparePaths compares the last of two equally long sequences after the rest.
func (p *pathSearch) comparePaths(pa int32, a ActionID, pb int32, b ActionID) int {
	if c := p.compare(pa, pb); c != 0 {
		return c
	}
	return p.t.actions[a].order - p.t.actions[b].order
}

func equalWords(a, b []uint64) bool {
	for i, w := range a {
		if b[i] != w {
			return false
		}
	}
	return true
}
