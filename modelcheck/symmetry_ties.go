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
	inTree uint64 // nodes whose component is a tree
	leaves int
	pos    [maxElements]uint8
}

// breakTies finds the representative when elements with edges have equal
// colours, and leaves it in best.
func (y *symmetry) breakTies(st []uint64) {
	y.ties.inTree = y.trees()
	y.ties.leaves = 0
	y.refine()
	y.individualise(st)
	y.pos = y.ties.pos
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

// trees gives the nodes whose component has no cycle.
func (y *symmetry) trees() uint64 {
	var adj [maxElements]uint64
	for i := range y.edges {
		e := &y.edges[i]
		adj[e.a] |= 1 << e.b
		adj[e.b] |= 1 << e.a
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
	var seen, tree uint64
	for i := range y.nodes {
		if seen>>i&1 != 0 {
			continue
		}
		comp, ends := uint64(1)<<i, 0
		for todo := comp; todo != 0; {
			a := adj[bits.TrailingZeros64(todo)]
			todo &= todo - 1
			ends += bits.OnesCount64(a)
			todo |= a &^ comp
			comp |= a
		}
		seen |= comp
		if ends/2 == bits.OnesCount64(comp)-1 && comp&cyclic == 0 {
			tree |= comp
		}
	}
	return tree
}
