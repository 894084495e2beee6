package ir

// A node is an expression after resolution: sets are unrolled or turned into
// loops over packed locals, constants are folded, and cells whose address is
// known are addressed directly.
type node struct {
	op   nodeOp
	val  int      // nConst
	cell *cell    // nCell
	arr  *varInfo // nArr; kids are the indices
	loc  local    // nLocal, and the bound local of loops
	n    int      // loops: number of elements
	kids []*node
	// lo and hi bound the value unless it is None, which it may be if opt.
	lo, hi int
	opt    bool
	size   int // number of nodes
}

type nodeOp uint8

const (
	nConst nodeOp = iota
	nCell
	nArr
	nLocal
	nAdd
	nSub
	nEq
	nLt
	nLe
	nAnd // n kids
	nOr  // n kids
	nNot
	nCond
	nSum    // n kids, for counts
	nLeast  // kids are pairs where, of
	nMost   // the same, largest
	nExists // loop: kids[0]
	nCount  // loop: kids[0]
	nBest   // loop: kids where, of; val is 1 for largest
)

// local is a run-time local: bits of the environment word, holding v - lo, and
// for None the number above the last value.
type local struct {
	shift, width uint
	lo, hi       int
}

// env carries the run-time locals of one action by value, so that closures
// need no memory.
type env = uint64

func (l local) set(e env, v int) env {
	raw := uint64(v - l.lo)
	if v == None {
		raw = uint64(l.hi - l.lo + 1)
	}
	return e&^((1<<l.width-1)<<l.shift) | raw<<l.shift
}

func (l local) get(e env) int {
	raw := e >> l.shift & (1<<l.width - 1)
	if raw > uint64(l.hi-l.lo) {
		return None
	}
	return int(raw) + l.lo
}

func constant(v int) *node {
	if v == None {
		return &node{op: nConst, val: None, lo: 0, hi: -1, opt: true, size: 1}
	}
	return &node{op: nConst, val: v, lo: v, hi: v, size: 1}
}

func flag(b bool) *node {
	if b {
		return constant(1)
	}
	return constant(0)
}

func (n *node) isConst() bool { return n.op == nConst }
func (n *node) isTrue() bool  { return n.op == nConst && n.val > 0 }
func (n *node) isFalse() bool { return n.op == nConst && n.val <= 0 }

// never reports that the node has no value but None.
func (n *node) never() bool { return n.lo > n.hi }

func inner(op nodeOp, lo, hi int, opt bool, kids ...*node) *node {
	n := &node{op: op, lo: lo, hi: hi, opt: opt, kids: kids, size: 1}
	for _, k := range kids {
		n.size += k.size
	}
	return n
}

func cellNode(c *cell) *node {
	f := c.info
	if c.width == 0 {
		return constant(f.decode(0))
	}
	return &node{op: nCell, cell: c, lo: f.lo, hi: f.hi, opt: f.opt, size: 1}
}

func sumNode(op nodeOp, a, b *node) *node {
	if a.isConst() && b.isConst() {
		return constant(arith(op, a.val, b.val))
	}
	if a.never() || b.never() {
		return constant(None)
	}
	lo, hi := a.lo+b.lo, a.hi+b.hi
	if op == nSub {
		lo, hi = a.lo-b.hi, a.hi-b.lo
	}
	return inner(op, lo, hi, a.opt || b.opt, a, b)
}

func arith(op nodeOp, a, b int) int {
	switch {
	case a == None || b == None:
		return None
	case op == nSub:
		return a - b
	}
	return a + b
}

func compare(op nodeOp, a, b int) bool {
	switch {
	case op == nEq:
		return a == b
	case a == None || b == None:
		return false
	case op == nLt:
		return a < b
	}
	return a <= b
}

func compareNode(op nodeOp, a, b *node) *node {
	if a.isConst() && b.isConst() {
		return flag(compare(op, a.val, b.val))
	}
	if r, known := decided(op, a, b); known {
		return flag(r)
	}
	if op == nEq && a.isConst() {
		a, b = b, a
	}
	return inner(op, 0, 1, false, a, b)
}

// decided compares by bounds alone.
func decided(op nodeOp, a, b *node) (result, known bool) {
	apart := a.hi < b.lo || b.hi < a.lo || a.never() || b.never()
	switch op {
	case nEq:
		if apart && !(a.opt && b.opt) {
			return false, true
		}
	case nLt, nLe:
		if a.never() || b.never() {
			return false, true
		}
		if op == nLt && a.lo >= b.hi || op == nLe && a.lo > b.hi {
			return false, true
		}
		if !a.opt && !b.opt && (op == nLt && a.hi < b.lo || op == nLe && a.hi <= b.lo) {
			return true, true
		}
	}
	return false, false
}

func notNode(a *node) *node {
	switch a.op {
	case nConst:
		return flag(a.val <= 0)
	case nNot:
		if k := a.kids[0]; !k.opt && k.lo >= 0 && k.hi <= 1 {
			return k
		}
	case nAnd, nOr:
		kids := make([]*node, len(a.kids))
		for i, k := range a.kids {
			kids[i] = notNode(k)
		}
		return logic(nAnd+nOr-a.op, kids)
	case nLt, nLe:
		if x, y := a.kids[0], a.kids[1]; !x.opt && !y.opt {
			return compareNode(nLt+nLe-a.op, y, x)
		}
	}
	return inner(nNot, 0, 1, false, a)
}

// logic flattens and folds n-ary and (op nAnd) and or (op nOr).
func logic(op nodeOp, kids []*node) *node {
	var flat []*node
	for _, k := range kids {
		switch {
		case k.isConst() && (k.val > 0) == (op == nOr):
			return flag(op == nOr)
		case k.isConst():
		case k.op == op:
			flat = append(flat, k.kids...)
		default:
			flat = append(flat, k)
		}
	}
	switch len(flat) {
	case 0:
		return flag(op == nAnd)
	case 1:
		if !flat[0].opt {
			return flat[0]
		}
	}
	return inner(op, 0, 1, false, flat...)
}

func condNode(c, a, b *node) *node {
	switch {
	case c.isTrue():
		return a
	case c.isFalse():
		return b
	case a.isConst() && b.isConst() && a.val == b.val:
		return a
	case a.isConst() && b.isConst() && a.val == 1 && b.val == 0 && !c.opt:
		return c
	}
	lo, hi := join(a, b)
	return inner(nCond, lo, hi, a.opt || b.opt, c, a, b)
}

// join is the bounds of one of two values.
func join(a, b *node) (lo, hi int) {
	switch {
	case a.never():
		return b.lo, b.hi
	case b.never():
		return a.lo, a.hi
	}
	return min(a.lo, b.lo), max(a.hi, b.hi)
}

// countNode sums conditions.
func countNode(kids []*node) *node {
	sure := 0
	var open []*node
	for _, k := range kids {
		switch {
		case k.isTrue():
			sure++
		case !k.isConst():
			open = append(open, k)
		}
	}
	if len(open) == 0 {
		return constant(sure)
	}
	s := inner(nSum, 0, len(open), false, open...)
	if sure == 0 {
		return s
	}
	return sumNode(nAdd, s, constant(sure))
}

// bestNode is the least or largest of pairs (where, of).
func bestNode(op nodeOp, pairs []*node) *node {
	var open []*node
	lo, hi := 0, -1
	all := &node{lo: lo, hi: hi}
	settled := true
	best := None
	for i := 0; i < len(pairs); i += 2 {
		where, of := pairs[i], pairs[i+1]
		if where.isFalse() || of.never() {
			continue
		}
		settled = settled && where.isTrue() && of.isConst()
		if settled {
			best = better(op == nMost, best, of.val)
		}
		lo, hi = join(all, of)
		all.lo, all.hi = lo, hi
		open = append(open, where, of)
	}
	if settled {
		return constant(best)
	}
	return inner(op, lo, hi, true, open...)
}

func better(largest bool, best, v int) int {
	switch {
	case v == None:
		return best
	case best == None, largest && v > best, !largest && v < best:
		return v
	}
	return best
}

// reads calls f for every cell that the node reads directly, and reports
// whether it reads nothing else (no computed address, no local).
func (n *node) reads(f func(*cell)) bool {
	switch n.op {
	case nCell:
		f(n.cell)
		return true
	case nArr, nLocal, nExists, nCount, nBest:
		return false
	}
	for _, k := range n.kids {
		if !k.reads(f) {
			return false
		}
	}
	return true
}

// eval computes the node by walking it: the reference for the closures, and
// the way tables are filled. v may hold raw numbers that are no values.
func (n *node) eval(v []uint64, e env) int {
	switch n.op {
	case nConst:
		return n.val
	case nCell:
		return n.cell.read(v)
	case nLocal:
		return n.loc.get(e)
	case nArr:
		return n.evalArr(v, e)
	case nAdd, nSub:
		return arith(n.op, n.kids[0].eval(v, e), n.kids[1].eval(v, e))
	case nEq, nLt, nLe:
		return bit(compare(n.op, n.kids[0].eval(v, e), n.kids[1].eval(v, e)))
	case nAnd, nOr:
		for _, k := range n.kids {
			if (k.eval(v, e) > 0) == (n.op == nOr) {
				return bit(n.op == nOr)
			}
		}
		return bit(n.op == nAnd)
	case nNot:
		return bit(n.kids[0].eval(v, e) <= 0)
	case nCond:
		if n.kids[0].eval(v, e) > 0 {
			return n.kids[1].eval(v, e)
		}
		return n.kids[2].eval(v, e)
	}
	return n.evalMany(v, e)
}

func (n *node) evalMany(v []uint64, e env) int {
	sum, best := 0, None
	switch n.op {
	case nSum:
		for _, k := range n.kids {
			sum += bit(k.eval(v, e) > 0)
		}
		return sum
	case nLeast, nMost:
		for i := 0; i < len(n.kids); i += 2 {
			if n.kids[i].eval(v, e) > 0 {
				best = better(n.op == nMost, best, n.kids[i+1].eval(v, e))
			}
		}
		return best
	}
	for i := range n.n {
		e := n.loc.set(e, i)
		if n.kids[0].eval(v, e) <= 0 {
			continue
		}
		sum++
		if n.op == nExists {
			return 1
		}
		if n.op == nBest {
			best = better(n.val == 1, best, n.kids[1].eval(v, e))
		}
	}
	if n.op == nBest {
		return best
	}
	return sum // 0 for nExists
}

func (n *node) evalArr(v []uint64, e env) int {
	i := 0
	for d, k := range n.kids {
		x := k.eval(v, e)
		if x < 0 || x >= n.arr.dims[d] {
			return n.arr.outside()
		}
		i = i*n.arr.dims[d] + x
	}
	return n.arr.cells[i].read(v)
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
