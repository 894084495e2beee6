package storage

import "slices"

// Constants of the SQLite file format (fileformat2.html, section 1.6) and of
// its balancing (src/btree.c).
const (
	liteLeafHeader  = 8
	liteInnerHeader = 12
	litePointer     = 2 // cell pointer
	liteChild       = 4 // child page number of an interior cell
)

// liteCell is a cell: its key and bytes as it stands in a leaf.
type liteCell struct {
	key  uint64
	size int
}

// liteNode is a page.
type liteNode struct {
	cells []liteCell
	kids  []*liteNode // nil for a leaf
}

// liteTree replays insertions against the balancing of SQLite: up to three
// siblings are redistributed at once, left-packed, then evened from the right;
// an append to a rowid table opens a new page instead.
// Source: src/btree.c (balance, balance_quick, balance_deeper, balance_nonroot).
type liteTree struct {
	page  int
	table bool // rowid table: all data in leaves (leafData)
	bulk  bool // BTREE_BULKLOAD: VACUUM
	root  *liteNode
	path  []liteStep
}

type liteStep struct {
	n *liteNode
	i int // child taken
}

func newLiteTree(page int, table, bulk bool) *liteTree {
	return &liteTree{page: page, table: table, bulk: bulk, root: &liteNode{}}
}

// interior size of a cell: with its child pointer; only the rowid in a table.
func (t *liteTree) inner(c liteCell) int {
	if t.table {
		return liteChild + 4
	}
	return c.size + liteChild
}

// bytes returns what the cells of a node take.
func (t *liteTree) bytes(n *liteNode) int {
	b := 0
	for _, c := range n.cells {
		if n.kids == nil {
			b += c.size + litePointer
		} else {
			b += t.inner(c) + litePointer
		}
	}
	return b
}

func (t *liteTree) usable(n *liteNode) int {
	if n.kids == nil {
		return t.page - liteLeafHeader
	}
	return t.page - liteInnerHeader
}

// insert adds a cell of size bytes.
func (t *liteTree) insert(key uint64, size int) {
	t.path = t.path[:0]
	n := t.root
	for n.kids != nil {
		i := lowerCell(n.cells, key)
		t.path = append(t.path, liteStep{n, i})
		n = n.kids[i]
	}
	at := lowerCell(n.cells, key)
	n.cells = slices.Insert(n.cells, at, liteCell{key, max(4, size)})
	for level := len(t.path); t.bytes(n) > t.usable(n); level-- {
		if level == 0 { // balance_deeper: the root gets one child
			child := &liteNode{cells: n.cells, kids: n.kids}
			t.root = &liteNode{kids: []*liteNode{child}}
			t.path = slices.Insert(t.path, 0, liteStep{t.root, 0})
			level, n = 1, child
		}
		p := t.path[level-1]
		if t.table && n.kids == nil && at == len(n.cells)-1 && p.i == len(p.n.cells) && len(n.cells) > 1 {
			t.quick(p.n, n)
		} else {
			t.balance(p.n, p.i)
		}
		n = p.n
	}
}

// lowerCell returns the position of the first cell with a key not below key.
func lowerCell(cells []liteCell, key uint64) int {
	lo, hi := 0, len(cells)
	for lo < hi {
		if m := (lo + hi) / 2; cells[m].key < key {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo
}

// quick is balance_quick: the new last cell gets a page of its own.
func (t *liteTree) quick(p, n *liteNode) {
	last := n.cells[len(n.cells)-1]
	n.cells = n.cells[:len(n.cells)-1]
	fresh := &liteNode{cells: append(make([]liteCell, 0, cap(n.cells)), last)}
	p.cells = append(p.cells, n.cells[len(n.cells)-1])
	p.kids = append(p.kids, fresh)
}

// balance is balance_nonroot: redistribute up to three siblings around child i.
func (t *liteTree) balance(p *liteNode, i int) {
	first, count := t.siblings(p, i)
	leaf := p.kids[first].kids == nil
	dividers := !(leaf && t.table) // interior cells take part
	var b liteBalance
	b.usable = t.page - liteInnerHeader
	if leaf {
		b.usable = t.page - liteLeafHeader
	}
	var kids []*liteNode
	for s := range count {
		n := p.kids[first+s]
		sz := 0
		for _, c := range n.cells {
			b.add(c, t.cellSize(c, leaf))
			sz += t.cellSize(c, leaf) + litePointer
		}
		kids = append(kids, n.kids...)
		b.cnt = append(b.cnt, len(b.cells))
		b.sz = append(b.sz, sz)
		if dividers && s < count-1 {
			c := p.cells[first+s]
			b.add(c, t.cellSize(c, leaf))
		}
	}
	b.spread(dividers, t.bulk)
	t.store(p, storePlan{first: first, count: count, leaf: leaf, dividers: dividers, kids: kids}, &b)
}

func (t *liteTree) cellSize(c liteCell, leaf bool) int {
	if leaf {
		return c.size
	}
	return t.inner(c)
}

// siblings picks the pages to redistribute.
func (t *liteTree) siblings(p *liteNode, i int) (first, count int) {
	n := len(p.cells)
	bulk := 0
	if t.bulk {
		bulk = 1
	}
	if n < 2 {
		return 0, n + 1
	}
	switch i {
	case 0:
		first = 0
	case n:
		first = n - 2 + bulk
	default:
		first = i - 1
	}
	return first, 3 - bulk
}

type storePlan struct {
	first, count   int
	leaf, dividers bool
	kids           []*liteNode
}

// store writes the new pages and dividers into the parent.
func (t *liteTree) store(p *liteNode, s storePlan, b *liteBalance) {
	var pages []*liteNode
	var divs []liteCell
	start, kid := 0, 0
	for i, end := range b.cnt {
		n := &liteNode{cells: append(make([]liteCell, 0, end-start+4), b.cells[start:end]...)}
		if !s.leaf {
			n.kids = append([]*liteNode(nil), s.kids[kid:kid+end-start+1]...)
			kid += end - start + 1
		}
		pages = append(pages, n)
		start = end
		if i < len(b.cnt)-1 {
			if s.dividers {
				divs = append(divs, b.cells[end])
				start++
			} else {
				divs = append(divs, b.cells[end-1])
			}
		}
	}
	p.kids = slices.Replace(p.kids, s.first, s.first+s.count, pages...)
	p.cells = slices.Replace(p.cells, s.first, s.first+s.count-1, divs...)
}

// liteBalance is the packing part of balance_nonroot.
type liteBalance struct {
	usable int
	cells  []liteCell
	size   []int // bytes of each cell at this level
	cnt    []int // cells up to the end of each page
	sz     []int // bytes of each page
}

func (b *liteBalance) add(c liteCell, size int) {
	b.cells = append(b.cells, c)
	b.size = append(b.size, size)
}

// spread computes cnt and sz of the new pages.
func (b *liteBalance) spread(dividers, bulk bool) {
	n := len(b.cells)
	next := func(i int) int { // bytes the page on the right loses or gains
		if !dividers {
			return b.size[i-1] + litePointer
		}
		if i < n {
			return b.size[i] + litePointer
		}
		return 0
	}
	for i := 0; i < len(b.cnt); i++ {
		for b.sz[i] > b.usable {
			if i+1 >= len(b.cnt) {
				b.cnt = append(b.cnt, n)
				b.sz = append(b.sz, 0)
			}
			b.sz[i] -= litePointer + b.size[b.cnt[i]-1]
			b.sz[i+1] += next(b.cnt[i])
			b.cnt[i]--
		}
		for b.cnt[i] < n {
			sz := litePointer + b.size[b.cnt[i]]
			if b.sz[i]+sz > b.usable {
				break
			}
			b.sz[i] += sz
			b.cnt[i]++
			if i+1 < len(b.cnt) {
				if dividers {
					b.sz[i+1] -= next(b.cnt[i])
				} else {
					b.sz[i+1] -= sz
				}
			}
		}
		if b.cnt[i] >= n {
			b.cnt, b.sz = b.cnt[:i+1], b.sz[:i+1]
			break
		}
	}
	b.even(dividers, bulk)
}

// even moves cells from the left to the right sibling while that evens them.
func (b *liteBalance) even(dividers, bulk bool) {
	k := len(b.cnt)
	for i := k - 1; i > 0; i-- {
		right, left := b.sz[i], b.sz[i-1]
		r := b.cnt[i-1] - 1
		d := r + 1
		if !dividers {
			d = r
		}
		for r >= 0 {
			szR, szD := b.size[r], b.size[d]
			ptr := litePointer
			if i == k-1 {
				ptr = 0
			}
			if right != 0 && (bulk || right+szD+2 > left-(szR+ptr)) {
				break
			}
			right += szD + 2
			left -= szR + 2
			b.cnt[i-1] = r
			r--
			d--
		}
		b.sz[i], b.sz[i-1] = right, left
	}
}

// pages counts leaves and interior pages.
func (t *liteTree) pages() (leaves, inner int) {
	var walk func(n *liteNode)
	walk = func(n *liteNode) {
		if n.kids == nil {
			leaves++
			return
		}
		inner++
		for _, k := range n.kids {
			walk(k)
		}
	}
	walk(t.root)
	return leaves, inner
}
