package modelcheck

import "math/bits"

// wordSymmetry is the form of a symmetry for states of one word in which every
// element of a set is one run of bits: the common case, without memory traffic.
// It computes the same representatives as the general form and hands states with
// ties over to it.
type wordSymmetry struct {
	sets  []wordSet
	roots []rootRef
	other uint64
}

// wordSet is an active set.
type wordSet struct {
	n     int
	base  int
	mask  uint64 // of an element's bits
	salt  uint64
	shift [maxWordSet]uint8
	refs  []segmentRef
}

// maxWordSet is the number of elements of a set in the fast form; with at least
// one bit each, a word has no more.
const maxWordSet = 64

// newWordSymmetry gives nil when the shape does not fit.
func newWordSymmetry(y *symmetry) *wordSymmetry {
	if y.shape.Words != 1 || len(y.tables) > 0 || len(y.segs) != len(y.active) {
		return nil
	}
	f := &wordSymmetry{roots: y.roots, other: y.other[0]}
	edges := 0
	for k := range y.segs {
		seg := &y.segs[k]
		if seg.set != k {
			return nil // a set without fields, or with several runs
		}
		for _, r := range seg.refs {
			if int(r.base) == seg.base {
				return nil // an element may refer to itself
			}
		}
		edges += seg.n * len(seg.refs)
		s := wordSet{n: seg.n, base: seg.base, mask: seg.mask, salt: seg.salt, refs: seg.refs}
		copy(s.shift[:], seg.shift)
		f.sets = append(f.sets, s)
	}
	if edges > maxElements {
		return nil
	}
	return f
}

// below gives all ones if t < size, else 0, for numbers below 2^63. Whether a reference is none is as
// good as random, and a mispredicted branch costs more than all of this.
func below(t, size uint64) uint64 { return uint64(int64(t-size) >> 63) }

// canonicalWord gives the representative of a state. The permutation is not
// kept: use canonical when it is needed.
func (y *symmetry) canonicalWord(s uint64) uint64 {
	f := y.word
	val, col, edges := &y.val, &y.col, &y.wordEdges
	var touched uint64
	ne := 0
	for k := range f.sets {
		set := &f.sets[k]
		for e := range set.n {
			v := s >> (set.shift[e&63] & 63) & set.mask
			node := (set.base + e) & 63
			val[node] = v
			for r := range set.refs {
				ref := &set.refs[r]
				t := v >> (ref.shift & 63) & ref.mask
				m := below(t, ref.size)
				v &^= (ref.mask << (ref.shift & 63)) & m
				to := (uint64(ref.base) + t) & 63
				edges[ne&63] = edge{uint8(node), uint8(to), ref.label}
				touched |= (1<<node | 1<<to) & m
				ne += int(m & 1)
			}
			col[node] = ownColour(v, set.salt)
		}
	}
	for k := range f.roots {
		r := &f.roots[k]
		t := s >> (r.shift & 63) & r.mask
		m := below(t, r.size)
		col[(uint64(r.base)+t&m)&63] += r.label & m
	}
	if ne > 0 {
		y.roundWord(ne, touched)
	}
	if y.rankWord(touched) {
		return y.general(s)
	}
	return y.permuteWord(s)
}

// roundWord refines the colours of the nodes with edges once.
func (y *symmetry) roundWord(ne int, touched uint64) {
	col, sig, edges := &y.col, &y.sig, &y.wordEdges
	for i := range ne {
		e := &edges[i&63]
		a, b := e.a&63, e.b&63
		sig[a] += neighbour(col[b] + e.label)
		sig[b] += neighbour(col[a] - e.label)
	}
	for t := touched; t != 0; t &= t - 1 {
		i := bits.TrailingZeros64(t) & 63
		col[i] = refined(col[i], sig[i])
		sig[i] = 0
	}
}

// rankWord sorts the nodes of each set by colour; true when nodes with edges
// have equal colours. The last six bits of a colour give way to the node, so
// that sorting needs neither indices nor branches.
func (y *symmetry) rankWord(touched uint64) bool {
	order, pos := &y.order, &y.pos
	tied := uint64(0)
	for k := range y.word.sets {
		set := &y.word.sets[k]
		base := set.base & 63
		c := y.col[base : base+set.n]
		for i := range c {
			c[i] = c[i]&^63 | uint64(base+i)
		}
		sortSmall(c)
		for i, v := range c {
			node := v & 63
			order[(base+i)&63] = uint8(node)
			pos[node] = uint8(i)
			if i > 0 {
				tied |= below((v^c[i-1])>>6, 1) & (touched >> node & 1)
			}
		}
	}
	return tied != 0
}

// sortSmall sorts by a network where there are few elements.
func sortSmall(c []uint64) {
	switch len(c) {
	case 2:
		c[0], c[1] = min(c[0], c[1]), max(c[0], c[1])
	case 3:
		x, y, z := c[0], c[1], c[2]
		x, y = min(x, y), max(x, y)
		y, z = min(y, z), max(y, z)
		x, y = min(x, y), max(x, y)
		c[0], c[1], c[2] = x, y, z
	case 4:
		a, b, d, e := c[0], c[1], c[2], c[3]
		a, b = min(a, b), max(a, b)
		d, e = min(d, e), max(d, e)
		a, d = min(a, d), max(a, d)
		b, e = min(b, e), max(b, e)
		b, d = min(b, d), max(b, d)
		c[0], c[1], c[2], c[3] = a, b, d, e
	default:
		for i := 1; i < len(c); i++ {
			v := c[i]
			j := i
			for ; j > 0 && c[j-1] > v; j-- {
				c[j] = c[j-1]
			}
			c[j] = v
		}
	}
}

// permuteWord writes the state with its elements in order.
func (y *symmetry) permuteWord(s uint64) uint64 {
	f, val, order, pos := y.word, &y.val, &y.order, &y.pos
	out := s & f.other
	for k := range f.sets {
		set := &f.sets[k]
		for i := range set.n {
			v := val[order[(set.base+i)&63]&63]
			for r := range set.refs {
				ref := &set.refs[r]
				t := v >> (ref.shift & 63) & ref.mask
				p := uint64(pos[(uint64(ref.base)+t)&63])
				v ^= (t ^ p) & below(t, ref.size) << (ref.shift & 63)
			}
			out |= v << (set.shift[i&63] & 63)
		}
	}
	for k := range f.roots {
		r := &f.roots[k]
		t := s >> (r.shift & 63) & r.mask
		p := uint64(pos[(uint64(r.base)+t)&63])
		out |= (t ^ (t^p)&below(t, r.size)) << (r.shift & 63)
	}
	return out
}

// general is the general form for one word.
func (y *symmetry) general(s uint64) uint64 {
	y.one[0] = s
	y.canonical(y.one[:])
	return y.one[0]
}
