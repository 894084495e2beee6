package storage

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// Constants of the PostgreSQL 15 B-tree (src/include/access/nbtree.h,
// src/include/storage/bufpage.h), for 8 KiB pages.
const (
	pgPage        = 8192
	pgPageHeader  = 24
	pgBTSpecial   = 16
	pgLeafUsable  = pgPage - pgPageHeader - pgBTSpecial // 8152
	pgItemID      = 4
	pgIndexHeader = 8    // IndexTupleData
	pgNarrowTuple = 24   // widest tuple of the split-after-new-item rule
	pgMaxPosting  = 1352 // BTMaxItemSize / 2: largest posting list tuple
	pgHeapTID     = 8    // MAXALIGN(sizeof(ItemPointerData)) charged to a new high key
	pgLeafFill    = 0.90 // BTREE_DEFAULT_FILLFACTOR
	pgInnerFill   = 0.70 // BTREE_NONLEAF_FILLFACTOR
	pgSingleFill  = 0.96 // BTREE_SINGLEVAL_FILLFACTOR
	pgSplitTol    = 0.05 // LEAF_SPLIT_DISTANCE
)

// pgItem is one leaf tuple: its key, the row number of its first heap TID, how
// many TIDs it holds and its bytes with the line pointer.
type pgItem struct {
	key  uint64
	seq  uint32
	n    uint16
	size uint16
}

// pgLeaf is one leaf page.
type pgLeaf struct {
	items []pgItem
	used  int // bytes of items and high key
	high  int // bytes of the high key; 0 = rightmost page
	hkey  uint64
}

// pgIndexShape describes an index to the simulator.
type pgIndexShape struct {
	// size returns the bytes of an item (tuple + line pointer) for a key.
	size func(key uint64) int
	// columns is the number of key columns.
	columns int
	// lead: the leading columns have few values (the streams), so two keys of
	// one stream differ only in the last column.
	lead bool
	// stream returns the stream of a key.
	stream func(key uint64) uint64
	// fill is the leaf fill factor, 0..1.
	fill float64
	// dedup: the index is not unique, so equal keys share posting lists.
	dedup bool
	// leadSize is the size of a pivot truncated to the leading columns.
	leadSize int
	// heapRows is the rows of a heap page: two TIDs count as adjacent when they
	// lie in one page. 0 = 1.
	heapRows float64
}

// pgLeafSim replays insertions against the page split rules of PostgreSQL 15.
// Source: src/backend/access/nbtree/nbtsplitloc.c, nbtinsert.c, nbtdedup.c.
type pgLeafSim struct {
	shape  pgIndexShape
	leaves []*pgLeaf
	fences []uint64 // first key that belongs to each leaf
	last   int      // leaf of the last insertion
	splits []pgSplit
}

func newPGLeafSim(shape pgIndexShape) *pgLeafSim {
	if shape.fill == 0 {
		shape.fill = pgLeafFill
	}
	return &pgLeafSim{shape: shape, leaves: []*pgLeaf{{}}, fences: []uint64{0}}
}

// find returns the leaf for a key. Equal keys go to the last leaf that may hold
// them: a new heap TID is larger than those before it.
func (s *pgLeafSim) find(key uint64) int {
	i := s.last
	if s.fences[i] <= key && (i+1 == len(s.fences) || key < s.fences[i+1]) {
		return i
	}
	return sort.Search(len(s.fences), func(i int) bool { return s.fences[i] > key }) - 1
}

// insert adds the key of row seq.
func (s *pgLeafSim) insert(key uint64, seq uint32) {
	at := s.find(key)
	s.last = at
	l := s.leaves[at]
	it := pgItem{key: key, seq: seq, n: 1, size: uint16(s.shape.size(key))}
	if l.used+int(it.size) > pgLeafUsable && s.shape.dedup {
		s.dedupPage(l, it)
	}
	pos := l.position(key)
	if l.used+int(it.size) <= pgLeafUsable {
		l.items = slices.Insert(l.items, pos, it)
		l.used += int(it.size)
		return
	}
	s.split(at, pos, it)
}

// position returns where a key goes: after all equal ones.
func (l *pgLeaf) position(key uint64) int {
	n := len(l.items)
	if n == 0 || l.items[n-1].key <= key {
		return n
	}
	return sort.Search(n, func(i int) bool { return l.items[i].key > key })
}

// pgSplit is one candidate split point: the first item of the right half, in
// the sequence without the new item, and on which side the new one goes.
type pgSplit struct {
	first               int
	newLeft             bool
	leftFree, rightFree int
	delta               int
}

// split splits leaf at for a new item that goes to position pos.
func (s *pgLeafSim) split(at, pos int, it pgItem) {
	l := s.leaves[at]
	sp := s.choose(l, pos, it)
	all := l.items
	left := append([]pgItem(nil), all[:sp.first]...)
	right := append(make([]pgItem, 0, cap(all)), all[sp.first:]...)
	if sp.newLeft {
		left = append(left, it)
		if pos < sp.first {
			copy(left[pos+1:], left[pos:sp.first])
			left[pos] = it
		}
	} else {
		right = slices.Insert(right, pos-sp.first, it)
	}
	r := &pgLeaf{items: right, high: l.high, hkey: l.hkey}
	r.used = r.high + sum(right)
	l.items = append(all[:0], left...)
	l.high = s.pivot(left[len(left)-1].key, right[0].key, int(right[0].size))
	l.hkey = right[0].key
	l.used = l.high + sum(left)
	s.leaves = slices.Insert(s.leaves, at+1, r)
	fence := right[0].key
	if left[len(left)-1].key == fence { // duplicates on both sides: new ones go right
		fence = left[len(left)-1].key
	}
	s.fences = slices.Insert(s.fences, at+1, fence)
	if pos > sp.first || !sp.newLeft {
		s.last = at + 1
	}
}

// pivot returns the bytes of the high key between two neighbours after suffix
// truncation: only the leading columns if they already differ; a posting list is
// cut to one tuple; a heap TID is added between duplicates.
func (s *pgLeafSim) pivot(left, right uint64, rightSize int) int {
	switch {
	case left == right:
		return s.shape.size(right) + pgHeapTID
	case s.shape.lead && s.shape.leadSize > 0 && s.shape.stream(left) != s.shape.stream(right):
		return s.shape.leadSize
	default:
		return min(rightSize, s.shape.size(right))
	}
}

func sum(items []pgItem) int {
	n := 0
	for i := range items {
		n += int(items[i].size)
	}
	return n
}

// keep returns how many leading columns tell two keys apart; columns+1 if they
// are equal (_bt_keep_natts_fast).
func (s *pgLeafSim) keep(a, b uint64) int {
	switch {
	case a == b:
		return s.shape.columns + 1
	case s.shape.lead && s.shape.stream(a) == s.shape.stream(b):
		return s.shape.columns
	default:
		return 1
	}
}

// choose is _bt_findsplitloc for a leaf page.
func (s *pgLeafSim) choose(l *pgLeaf, pos int, it pgItem) pgSplit {
	old := l.used - l.high
	s.candidates(l, pos, it, old)
	rightmost := l.high == 0
	mult, useMult := 0.5, false
	if rightmost {
		mult, useMult = s.shape.fill, true
	} else if after, byFill := s.afterNew(l, pos, it, old); after {
		if byFill {
			mult, useMult = s.shape.fill, true
		} else {
			for _, sp := range s.splits {
				if sp.newLeft && sp.first == pos {
					return sp
				}
			}
		}
	}
	first, lastSplit := s.splits[0], s.splits[len(s.splits)-1]
	s.sortByDelta(mult, useMult)
	interval := s.interval(old)
	strategy, perfect := s.strategy(l, pos, it, interval, first, lastSplit)
	switch strategy {
	case pgManyDuplicates:
		interval = len(s.splits)
	case pgSingleValue:
		s.sortByDelta(pgSingleFill, true)
		interval = 1
	}
	best, bestPenalty := s.splits[0], 1<<30
	for _, sp := range s.splits[:interval] {
		p := s.keep(s.lastLeft(l, pos, it, sp).key, s.firstRight(l, pos, it, sp).key)
		if p < bestPenalty {
			best, bestPenalty = sp, p
		}
		if p <= perfect {
			break
		}
	}
	if strategy == pgManyDuplicates && !rightmost && !best.newLeft &&
		best.first >= pos && best.first < pos+9 {
		best = s.splits[0]
	}
	return best
}

// candidates lists every legal split point, left to right (_bt_recsplitloc).
func (s *pgLeafSim) candidates(l *pgLeaf, pos int, it pgItem, old int) {
	s.splits = s.splits[:0]
	rightSpace := pgLeafUsable - l.high
	left := 0
	record := func(first int, newLeft bool, firstSize int) {
		posting := 0
		if first < len(l.items) && !(first == pos && !newLeft) && l.items[first].n > 1 {
			posting = firstSize - s.shape.size(l.items[first].key)
		}
		lf := pgLeafUsable - left - (firstSize + pgHeapTID - posting)
		rf := rightSpace - (old - left)
		if newLeft {
			lf -= int(it.size)
		} else {
			rf -= int(it.size)
		}
		if lf >= 0 && rf >= 0 && (first > 0 || newLeft) && (first < len(l.items) || !newLeft) {
			s.splits = append(s.splits, pgSplit{first: first, newLeft: newLeft, leftFree: lf, rightFree: rf})
		}
	}
	for i := range l.items {
		sz := int(l.items[i].size)
		if i <= pos {
			fs := sz
			if i == pos {
				fs = int(it.size)
			}
			record(i, false, fs)
		}
		if i >= pos {
			record(i, true, sz)
		}
		left += sz
	}
	if pos >= len(l.items) {
		record(len(l.items), false, int(it.size))
	}
}

// sortByDelta orders the candidates by distance from the wanted proportion.
func (s *pgLeafSim) sortByDelta(mult float64, useMult bool) {
	for i := range s.splits {
		sp := &s.splits[i]
		if useMult {
			sp.delta = int(mult*float64(sp.leftFree) - (1-mult)*float64(sp.rightFree))
		} else {
			sp.delta = sp.leftFree - sp.rightFree
		}
		if sp.delta < 0 {
			sp.delta = -sp.delta
		}
	}
	slices.SortStableFunc(s.splits, func(a, b pgSplit) int { return cmp.Compare(a.delta, b.delta) })
}

// interval is _bt_defaultinterval: how many of the sorted candidates are close
// enough to the best to be taken for a better key.
func (s *pgLeafSim) interval(old int) int {
	tol := int(float64(old) * pgSplitTol)
	lowLeft, lowRight := s.splits[0].leftFree-tol, s.splits[0].rightFree-tol
	for i := 1; i < len(s.splits); i++ {
		if s.splits[i].leftFree < lowLeft || s.splits[i].rightFree < lowRight {
			return i
		}
	}
	return len(s.splits)
}

type pgStrategy uint8

const (
	pgDefault pgStrategy = iota
	pgManyDuplicates
	pgSingleValue
)

// strategy is _bt_strategy for a leaf page.
func (s *pgLeafSim) strategy(l *pgLeaf, pos int, it pgItem, interval int, first, last pgSplit) (pgStrategy, int) {
	lo, hi := s.splits[0], s.splits[0]
	for _, sp := range s.splits[:interval] {
		if splitBefore(sp, lo) {
			lo = sp
		}
		if splitBefore(hi, sp) {
			hi = sp
		}
	}
	perfect := s.keep(s.lastLeft(l, pos, it, lo).key, s.firstRight(l, pos, it, hi).key)
	if perfect <= s.shape.columns {
		return pgDefault, perfect
	}
	perfect = s.keep(s.lastLeft(l, pos, it, first).key, s.firstRight(l, pos, it, last).key)
	if perfect <= s.shape.columns {
		return pgManyDuplicates, s.shape.columns
	}
	if l.high == 0 || s.keep(l.hkey, it.key) <= s.shape.columns {
		return pgSingleValue, perfect
	}
	return pgDefault, perfect
}

func splitBefore(a, b pgSplit) bool {
	return a.first < b.first || (a.first == b.first && !a.newLeft && b.newLeft)
}

// lastLeft and firstRight are the neighbours of a split point.
func (s *pgLeafSim) lastLeft(l *pgLeaf, pos int, it pgItem, sp pgSplit) pgItem {
	if sp.newLeft && sp.first == pos {
		return it
	}
	return l.items[sp.first-1]
}

func (s *pgLeafSim) firstRight(l *pgLeaf, pos int, it pgItem, sp pgSplit) pgItem {
	if !sp.newLeft && sp.first == pos {
		return it
	}
	return l.items[sp.first]
}

// afterNew is _bt_afternewitemoff: whether to split right after the new item,
// and if so whether by fill factor instead.
func (s *pgLeafSim) afterNew(l *pgLeaf, pos int, it pgItem, old int) (after, byFill bool) {
	n := len(l.items)
	if s.shape.columns == 1 || pos == 0 || int(it.size) > pgNarrowTuple+pgItemID ||
		int(it.size)*n != old {
		return false, false
	}
	prev := l.items[min(pos, n)-1]
	k := s.keep(prev.key, it.key)
	if k <= 1 || k > s.shape.columns {
		return false, false
	}
	if pos == n {
		return true, true
	}
	if !s.adjacent(prev.seq, it.seq) {
		return false, false
	}
	return true, float64(pos+1)/float64(n+1) > s.shape.fill
}

// adjacent is _bt_adjacenthtid: one heap page, or the first row of the next one.
func (s *pgLeafSim) adjacent(low, high uint32) bool {
	r := math.Max(1, s.shape.heapRows)
	a, b := math.Floor(float64(low)/r), math.Floor(float64(high)/r)
	return a == b || (a+1 == b && math.Floor(float64(high-1)/r) == a)
}

// leafCount returns the number of leaf pages.
func (s *pgLeafSim) leafCount() int { return len(s.leaves) }
