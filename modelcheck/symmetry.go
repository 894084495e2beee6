package modelcheck

import (
	"fmt"
	"math/bits"
	"slices"
)

// symmetry maps every state to a representative of its orbit: the states that
// differ only by a permutation of interchangeable elements.
//
// Elements of all active sets are the nodes of a graph; references and table
// entries between them are its labelled edges. Each node gets a colour from its
// own fields, then from the colours of its neighbours, until colours stop
// splitting. Elements of different colour are ordered by colour. Elements of
// equal colour without edges are identical. Within a component that is a tree
// equal colour means that a permutation maps one onto the other, so any of them
// may come first; in other components every choice is tried and the least state
// wins (symmetry_ties.go).
//
// A symmetry has scratch memory: one per worker, made by fork.
type symmetry struct {
	shape  *Shape
	active []activeSet
	segs   []segment
	roots  []rootRef
	tables []tableGroup
	other  []uint64 // bits of a state that no permutation moves or renames
	nodes  int
	labels int // constants used so far
	word   *wordSymmetry

	// scratch
	vals     []uint64 // by segment and element
	col      [maxElements]uint64
	sig      [maxElements]uint64
	touched  uint64              // nodes with edges
	order    [maxElements]uint8  // elements of each set by rank, node numbers
	pos      [maxElements]uint8  // rank of each node within its set
	sorted   [maxElements]uint64 // colours while they are sorted
	edges    []edge
	edgeRoom []edge // memory of edges
	hyper    []hyperEdge
	out      []uint64
	best     []uint64
	ties     tieSearch
	one      [1]uint64

	val       [maxElements]uint64 // of canonicalWord
	wordEdges [maxElements]edge
}

// activeSet is a set whose elements are permuted: nodes base .. base+n-1.
type activeSet struct {
	set, base, n int
}

// segment is a run of adjacent fields that every element of a set has.
type segment struct {
	set   int // position in active
	base  int // first node
	n     int
	at    int // first of its values in vals
	mask  uint64
	word  []uint8
	shift []uint8
	refs  []segmentRef
	salt  uint64
}

// segmentRef is a reference inside a segment.
type segmentRef struct {
	shift uint8
	mask  uint64
	base  uint8 // first node of the target set
	size  uint64
	label uint64
}

// rootRef is a reference that belongs to no element.
type rootRef struct {
	word, shift uint8
	mask        uint64
	base        uint8
	size        uint64
	label       uint64
}

// tableGroup is an array over two or more elements of active sets.
type tableGroup struct {
	fields []tableField
	ref    *rootRef // target of the values, nil for plain values
	mask   uint64
	base   []uint8 // first node of each dimension
	stride []int   // fields[Σ stride*rank] is the entry of an index
	label  uint64
}

type tableField struct {
	word, shift uint8
	nodes       []uint8
}

// edge joins two nodes.
type edge struct {
	a, b  uint8
	label uint64
}

// hyperEdge joins three or more nodes in order.
type hyperEdge struct {
	nodes []uint8
	label uint64
}

// newSymmetry compiles the symmetry of a shape; nil when there is none to use.
func newSymmetry(sh *Shape, props []Property, noReduction bool) *symmetry {
	broken := map[int]bool{}
	for i := range props {
		for _, k := range props[i].Breaks {
			broken[k] = true
		}
	}
	y := &symmetry{shape: sh}
	nodeOf := make([]int, len(sh.Sets)) // base node + 1 of active sets
	for k, s := range sh.Sets {
		if on := s.Value || !noReduction && !broken[k]; !on || s.Size < 2 || y.nodes+s.Size > maxElements {
			continue
		}
		nodeOf[k] = y.nodes + 1
		y.active = append(y.active, activeSet{k, y.nodes, s.Size})
		y.nodes += s.Size
	}
	if len(y.active) == 0 {
		return nil
	}
	y.compile(nodeOf)
	y.word = newWordSymmetry(y)
	return y.fork()
}

// fork gives a copy with its own scratch memory.
func (y *symmetry) fork() *symmetry {
	c := *y
	n := 0
	for _, s := range y.segs {
		n += s.n
	}
	c.vals = make([]uint64, n)
	refs := 1 // one more than can be, for the write that is taken back
	for _, s := range y.segs {
		refs += s.n * len(s.refs)
	}
	for _, t := range y.tables {
		refs += len(t.fields)
	}
	c.edgeRoom = make([]edge, refs)
	c.hyper = nil
	c.out = make([]uint64, y.shape.Words)
	c.best = make([]uint64, y.shape.Words)
	c.ties = tieSearch{}
	return &c
}

// reductions names the sets that are on, for reports.
func (y *symmetry) reductions() []string {
	if y == nil {
		return nil
	}
	var r []string
	for _, a := range y.active {
		if s := y.shape.Sets[a.set]; !s.Value {
			r = append(r, fmt.Sprintf("symmetry of %d %s", s.Size, s.Name))
		}
	}
	return r
}

// subgroup is the part of a field group with the same elements of inactive sets.
type subgroup struct {
	fields []*Field
	nodes  [][]uint8 // active index of each field
}

// compile sorts the fields into segments, roots and tables.
func (y *symmetry) compile(nodeOf []int) {
	groups := map[string]*subgroup{}
	var names []string
	for i := range y.shape.Fields {
		f := &y.shape.Fields[i]
		key := fmt.Sprint(f.Group)
		var nodes []uint8
		for d, e := range f.Index {
			if b := nodeOf[e.Set]; b > 0 {
				nodes = append(nodes, uint8(b-1+e.Index))
			} else {
				key += fmt.Sprintf(",%d:%d", d, e.Index)
			}
		}
		g := groups[key]
		if g == nil {
			g = &subgroup{}
			groups[key] = g
			names = append(names, key)
		}
		g.fields = append(g.fields, f)
		g.nodes = append(g.nodes, nodes)
	}
	y.other = make([]uint64, y.shape.Words)
	for i := range y.other {
		y.other[i] = ^uint64(0)
	}
	bySet := make([][]*subgroup, len(y.active))
	for _, name := range names {
		g := groups[name]
		switch arity := len(g.nodes[0]); {
		case arity == 1:
			k := y.setOf(g.nodes[0][0])
			g.sortByNode()
			bySet[k] = append(bySet[k], g)
		case arity > 1:
			y.addTable(g, nodeOf)
		default:
			y.addRoot(g.fields[0], nodeOf)
		}
	}
	for k := range bySet {
		y.addSegments(k, bySet[k], nodeOf)
	}
}

// setOf gives the active set of a node.
func (y *symmetry) setOf(node uint8) int {
	for k, a := range y.active {
		if int(node) < a.base+a.n {
			return k
		}
	}
	panic("modelcheck: node outside all sets")
}

func (g *subgroup) sortByNode() {
	idx := make([]int, len(g.fields))
	for i := range idx {
		idx[i] = i
	}
	slices.SortFunc(idx, func(a, b int) int { return int(g.nodes[a][0]) - int(g.nodes[b][0]) })
	f, n := slices.Clone(g.fields), slices.Clone(g.nodes)
	for i, j := range idx {
		g.fields[i], g.nodes[i] = f[j], n[j]
	}
}

// label makes the next constant that tells kinds of edges apart.
func (y *symmetry) label() uint64 {
	y.labels++
	return mix(uint64(y.labels) * 0x9e3779b97f4a7c15)
}

func (y *symmetry) refTo(f *Field, nodeOf []int) (base uint8, size uint64, ok bool) {
	if f.RefTo == nil || nodeOf[*f.RefTo] == 0 {
		return 0, 0, false
	}
	return uint8(nodeOf[*f.RefTo] - 1), uint64(y.shape.Sets[*f.RefTo].Size), true
}

func (y *symmetry) moves(f *Field) { y.other[f.Word] &^= f.mask() << f.Shift }

func (y *symmetry) addRoot(f *Field, nodeOf []int) {
	base, size, ok := y.refTo(f, nodeOf)
	if !ok {
		return
	}
	y.moves(f)
	y.roots = append(y.roots, rootRef{uint8(f.Word), uint8(f.Shift), f.mask(), base, size, y.label()})
}

func (y *symmetry) addTable(g *subgroup, nodeOf []int) {
	t := tableGroup{mask: g.fields[0].mask(), label: y.label()}
	if base, size, ok := y.refTo(g.fields[0], nodeOf); ok {
		t.ref = &rootRef{base: base, size: size, mask: t.mask}
	}
	stride := 1
	for _, n := range g.nodes[0] {
		a := y.active[y.setOf(n)]
		t.base = append(t.base, uint8(a.base))
		t.stride = append(t.stride, stride)
		stride *= a.n
	}
	t.fields = make([]tableField, stride)
	for i, f := range g.fields {
		y.moves(f)
		at := 0
		for d, n := range g.nodes[i] {
			at += t.stride[d] * int(n-t.base[d])
		}
		t.fields[at] = tableField{uint8(f.Word), uint8(f.Shift), g.nodes[i]}
	}
	y.tables = append(y.tables, t)
}

// addSegments joins the fields of a set that lie side by side in every element.
func (y *symmetry) addSegments(k int, gs []*subgroup, nodeOf []int) {
	slices.SortFunc(gs, func(a, b *subgroup) int {
		return (a.fields[0].Word*64 + a.fields[0].Shift) - (b.fields[0].Word*64 + b.fields[0].Shift)
	})
	a := y.active[k]
	var seg *segment
	bits := 0
	flush := func() {
		if seg != nil {
			seg.mask = 1<<uint(bits) - 1
			y.segs = append(y.segs, *seg)
		}
		seg = nil
	}
	for _, g := range gs {
		if seg != nil && !follows(seg, bits, g) {
			flush()
		}
		if seg == nil {
			seg = &segment{set: k, base: a.base, n: a.n, salt: y.label()}
			for _, s := range y.segs {
				seg.at += s.n
			}
			bits = 0
			for _, f := range g.fields {
				seg.word = append(seg.word, uint8(f.Word))
				seg.shift = append(seg.shift, uint8(f.Shift))
			}
		}
		f := g.fields[0]
		if base, size, ok := y.refTo(f, nodeOf); ok {
			label := mix(seg.salt + uint64(len(seg.refs)) + 1)
			seg.refs = append(seg.refs, segmentRef{uint8(bits), f.mask(), base, size, label})
		}
		for _, f := range g.fields {
			y.moves(f)
		}
		bits += f.Bits
	}
	flush()
}

// follows tells whether the fields of g lie directly above the segment.
func follows(seg *segment, bits int, g *subgroup) bool {
	for i, f := range g.fields {
		if f.Word != int(seg.word[i]) || f.Shift != int(seg.shift[i])+bits {
			return false
		}
	}
	return true
}

// canonical replaces st by the representative of its orbit. The permutation is
// left in pos: node n moved to position pos[n] of its set.
func (y *symmetry) canonical(st []uint64) {
	y.colour(st)
	if len(y.edges)+len(y.hyper) > 0 {
		y.round()
	}
	if y.rank() {
		y.breakTies(st)
		copy(st, y.best)
		return
	}
	y.permute(st)
	copy(st, y.out)
}

// colour reads the state: the colour of each node from its own fields, and the
// edges between nodes.
func (y *symmetry) colour(st []uint64) {
	y.hyper = y.hyper[:0]
	y.touched = 0
	edges, ne := y.edgeRoom, 0
	for i := range y.nodes {
		y.col[i&63] = 0
	}
	for k := range y.segs {
		seg := &y.segs[k]
		vals := y.vals[seg.at : seg.at+seg.n]
		for e := range vals {
			v := st[seg.word[e]] >> (seg.shift[e] & 63) & seg.mask
			vals[e] = v
			node := (seg.base + e) & 63
			for r := range seg.refs {
				ref := &seg.refs[r]
				t := v >> (ref.shift & 63) & ref.mask
				m := below(t, ref.size)
				v &^= (ref.mask << (ref.shift & 63)) & m
				to := (uint64(ref.base) + t) & 63
				if to == uint64(node) && m != 0 { // an edge to itself is part of the colour
					y.col[node] += mix(ref.label + 7)
					continue
				}
				edges[ne] = edge{uint8(node), uint8(to), ref.label}
				y.touched |= (1<<node | 1<<to) & m
				ne += int(m & 1)
			}
			y.col[node] += ownColour(v, seg.salt)
		}
	}
	y.edges = edges[:ne]
	for k := range y.roots {
		r := &y.roots[k]
		t := st[r.word] >> (r.shift & 63) & r.mask
		m := below(t, r.size)
		y.col[(uint64(r.base)+t&m)&63] += r.label & m
	}
	for k := range y.tables {
		y.readTable(st, &y.tables[k])
	}
}

// join adds an edge of a table; one from a node to itself is part of its colour.
// Colours are settled by sums, so the order of reading does not matter.
func (y *symmetry) join(a, b uint8, label uint64) {
	if a == b {
		y.col[a] += mix(label + 7)
		return
	}
	y.touched |= 1<<a | 1<<b
	y.edges = append(y.edges, edge{a, b, label})
}

// readTable turns the entries of a table that are not 0 (or "none" written as
// the size of the set) into edges.
func (y *symmetry) readTable(st []uint64, t *tableGroup) {
	for i := range t.fields {
		f := &t.fields[i]
		v := st[f.word] >> f.shift & t.mask
		nodes := f.nodes
		label := mix(t.label + v)
		if t.ref != nil {
			if v == t.ref.size {
				continue
			}
			if v < t.ref.size {
				nodes = append(slices.Clip(nodes), t.ref.base+uint8(v))
				label = t.label
			}
		} else if v == 0 {
			continue
		}
		if len(nodes) == 2 {
			y.join(nodes[0], nodes[1], label)
			continue
		}
		for _, n := range nodes {
			y.touched |= 1 << n
		}
		y.hyper = append(y.hyper, hyperEdge{nodes, label})
	}
}

// ownColour turns the bits of a segment into a colour. It is not linear, so that
// sums over several segments stay apart.
func ownColour(v, salt uint64) uint64 {
	x := (v ^ salt) * 0x9e3779b97f4a7c15
	return (x ^ x>>32) * 0xd6e8feb86659fd93
}

// neighbour spreads what a node sees along one edge: the colour of the other end
// plus the label at the start of the edge, minus the label at its end.
func neighbour(x uint64) uint64 {
	x = (x ^ x>>32) * 0xbf58476d1ce4e5b9
	return x ^ x>>29
}

// refined joins a colour with the sum of what the node sees.
func refined(col, sig uint64) uint64 { return col*0xff51afd7ed558ccd + sig }

// round refines every colour by the colours of the neighbours.
func (y *symmetry) round() {
	for i := range y.edges {
		e := &y.edges[i]
		a, b := e.a&63, e.b&63
		y.sig[a] += neighbour(y.col[b] + e.label)
		y.sig[b] += neighbour(y.col[a] - e.label)
	}
	for i := range y.hyper {
		h := &y.hyper[i]
		all := h.label
		for j, n := range h.nodes {
			all = mix(all*3 + y.col[n] + uint64(j))
		}
		for j, n := range h.nodes {
			y.sig[n] += mix(all + uint64(j)*0x9e3779b97f4a7c15)
		}
	}
	for t := y.touched; t != 0; t &= t - 1 {
		i := bits.TrailingZeros64(t) & 63
		y.col[i] = refined(y.col[i], y.sig[i])
		y.sig[i] = 0
	}
}

// rank orders the elements of each set by colour; true when elements with edges
// have equal colours. The last six bits of a colour give way to the node, so that
// sorting needs neither indices nor branches.
func (y *symmetry) rank() (ties bool) {
	tied := uint64(0)
	for k := range y.active {
		a := &y.active[k]
		base := a.base & 63
		c := y.sorted[:a.n]
		for i := range c {
			c[i] = y.col[(base+i)&63]&^63 | uint64(base+i)
		}
		sortSmall(c)
		for i, v := range c {
			node := v & 63
			y.order[(base+i)&63] = uint8(node)
			y.pos[node] = uint8(i)
			if i > 0 {
				tied |= below((v^c[i-1])>>6, 1) & (y.touched >> node & 1)
			}
		}
	}
	return tied != 0
}

// permute writes into out the state in which node n is at position pos[n].
func (y *symmetry) permute(st []uint64) {
	for i, w := range st {
		y.out[i] = w & y.other[i]
	}
	out := y.out
	for k := range y.segs {
		seg := &y.segs[k]
		for e, v := range y.vals[seg.at : seg.at+seg.n] {
			for r := range seg.refs {
				ref := &seg.refs[r]
				t := v >> (ref.shift & 63) & ref.mask
				p := uint64(y.pos[(uint64(ref.base)+t)&63])
				v ^= (t ^ p) & below(t, ref.size) << (ref.shift & 63)
			}
			to := y.pos[(seg.base+e)&63]
			out[seg.word[to]] |= v << (seg.shift[to] & 63)
		}
	}
	for k := range y.roots {
		r := &y.roots[k]
		t := st[r.word] >> (r.shift & 63) & r.mask
		p := uint64(y.pos[(uint64(r.base)+t)&63])
		out[r.word] |= (t ^ (t^p)&below(t, r.size)) << (r.shift & 63)
	}
	for k := range y.tables {
		t := &y.tables[k]
		for i := range t.fields {
			f := &t.fields[i]
			v := st[f.word] >> f.shift & t.mask
			if t.ref != nil && v < t.ref.size {
				v = uint64(y.pos[t.ref.base+uint8(v)])
			}
			to := 0
			for d, n := range f.nodes {
				to += t.stride[d] * int(y.pos[n])
			}
			y.out[t.fields[to].word] |= v << t.fields[to].shift
		}
	}
}
