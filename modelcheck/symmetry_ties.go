package modelcheck

import (
	"math/bits"
	"slices"
)

// maxLeaves bounds the orders tried for one state. Beyond it the representative
// may differ within an orbit: fewer states are merged, nothing is lost.
const maxLeaves = 5040

// tieSearch is the scratch memory of breakTies.
type tieSearch struct {
	adj     [maxElements]uint64 // neighbours
	comps   [maxElements]uint64 // components with edges
	count   int                 // of comps
	largest int                 // nodes of the largest component
	inTree  uint64              // nodes whose component is a tree
	leaves  int
	pos     [maxElements]uint8
	number  [maxElements]uint8 // of each node in the walk of walkTrees
	node    [maxElements]uint8 // by number
}

// breakTies finds the representative when elements with edges have equal
// colours, and leaves it in best.
func (y *symmetry) breakTies(st []uint64) {
	y.findTrees()
	if y.touched&^y.ties.inTree == 0 {
		// one round is done; a tree of n nodes is told apart by n-1
		for range y.ties.largest - 2 {
			y.round()
		}
		y.walkTrees()
		y.rankWalked()
		y.permute(st)
		copy(y.best, y.out)
		return
	}
	y.ties.leaves = 0
	y.refine()
	y.individualise(st)
	y.pos = y.ties.pos
}

// walkTrees numbers all nodes: trees by the colour of their first node, the nodes
// of a tree from there in depth-first order, neighbours by colour. Where colours
// are equal the order is arbitrary: equal first nodes begin isomorphic trees, and
// equal neighbours of one node isomorphic branches.
func (y *symmetry) walkTrees() {
	t := &y.ties
	var roots [maxElements]uint64 // colour of the first node, its number in the last bits
	for i, comp := range t.comps[:t.count] {
		best := ^uint64(0)
		for c := comp; c != 0; c &= c - 1 {
			n := bits.TrailingZeros64(c)
			best = min(best, y.col[n]&^63|uint64(n))
		}
		roots[i] = best
	}
	sortSmall(roots[:t.count])
	var stack, near [maxElements]uint64
	n := 0
	var seen uint64
	for _, root := range roots[:t.count] {
		stack[0] = root
		seen |= 1 << (root & 63)
		for top := 1; top > 0; {
			top--
			v := stack[top] & 63
			t.number[v], t.node[n&63] = uint8(n), uint8(v)
			n++
			k := 0
			for c := t.adj[v] &^ seen; c != 0; c &= c - 1 {
				u := bits.TrailingZeros64(c)
				near[k] = y.col[u]&^63 | uint64(u)
				k++
			}
			seen |= t.adj[v]
			sortSmall(near[:k])
			for i := k - 1; i >= 0; i-- {
				stack[top] = near[i]
				top++
			}
		}
	}
	for v := range y.nodes {
		if y.touched>>v&1 == 0 {
			t.number[v&63], t.node[n&63] = uint8(n), uint8(v)
			n++
		}
	}
}

// rankWalked orders the elements of each set by colour, equal colours by number.
func (y *symmetry) rankWalked() {
	for k := range y.active {
		a := &y.active[k]
		c := y.sorted[:a.n]
		for i := range c {
			v := (a.base + i) & 63
			c[i] = y.col[v]&^63 | uint64(y.ties.number[v])
		}
		sortSmall(c)
		for i, v := range c {
			y.pos[y.ties.node[v&63]&63] = uint8(i)
		}
	}
}

// classes counts the colours.
func (y *symmetry) classes() int {
	n := 0
	for k := range y.active {
		a := &y.active[k]
		for i, node := range y.order[a.base : a.base+a.n] {
			if i == 0 || y.col[node]>>6 != y.col[y.order[a.base+i-1]]>>6 {
				n++
			}
		}
	}
	return n
}

// refine repeats rounds until colours stop splitting; true when ties remain.
func (y *symmetry) refine() (ties bool) {
	ties = y.rank()
	for before := y.classes(); ties; {
		y.round()
		ties = y.rank()
		after := y.classes()
		if after == before {
			return ties
		}
		before = after
	}
	return false
}

// individualise tries the orders within the first tie and keeps the least state.
// Colours are refined as far as they go.
func (y *symmetry) individualise(st []uint64) {
	first, n := y.firstTie()
	if n == 0 {
		y.permute(st)
		if y.ties.leaves == 0 || slices.Compare(y.out, y.best) < 0 {
			copy(y.best, y.out)
			y.ties.pos = y.pos
		}
		y.ties.leaves++
		return
	}
	var tied [maxElements]uint8
	copy(tied[:], y.order[first:first+n])
	if y.ties.inTree>>tied[0]&1 != 0 {
		n = 1 // all are images of each other
	}
	col := y.col
	for _, node := range tied[:n] {
		if y.ties.leaves >= maxLeaves {
			return
		}
		y.col = col
		y.col[node] = mix(y.col[node] + 0x632be59bd9b4e019)
		y.refine()
		y.individualise(st)
	}
}

// firstTie finds the first run of equal colours with edges in order.
func (y *symmetry) firstTie() (at, n int) {
	for k := range y.active {
		a := &y.active[k]
		for i := a.base + 1; i < a.base+a.n; i++ {
			node := y.order[i]
			if y.touched>>node&1 == 0 || y.col[node]>>6 != y.col[y.order[i-1]]>>6 {
				continue
			}
			n = 2
			for i+n-1 < a.base+a.n && y.col[y.order[i+n-1]]>>6 == y.col[node]>>6 {
				n++
			}
			return i - 1, n
		}
	}
	return 0, 0
}

// findTrees finds the components of the graph and which of them have no cycle.
func (y *symmetry) findTrees() {
	t := &y.ties
	adj := &t.adj
	for i := range y.nodes {
		adj[i&63] = 0
	}
	for i := range y.edges {
		e := &y.edges[i]
		adj[e.a&63] |= 1 << (e.b & 63)
		adj[e.b&63] |= 1 << (e.a & 63)
	}
	var cyclic uint64
	for i := range y.hyper {
		for _, n := range y.hyper[i].nodes {
			for _, m := range y.hyper[i].nodes {
				adj[n] |= 1 << m &^ (1 << n)
			}
			cyclic |= 1 << n
		}
	}
	t.count, t.largest, t.inTree = 0, 0, 0
	for left := y.touched; left != 0; {
		comp, ends := left&-left, 0
		for todo := comp; todo != 0; {
			a := adj[bits.TrailingZeros64(todo)&63]
			todo &= todo - 1
			ends += bits.OnesCount64(a)
			todo |= a &^ comp
			comp |= a
		}
		left &^= comp
		size := bits.OnesCount64(comp)
		t.comps[t.count&63] = comp
		t.count++
		t.largest = max(t.largest, size)
		if ends/2 == size-1 && comp&cyclic == 0 {
			t.inTree |= comp
		}
	}
}
