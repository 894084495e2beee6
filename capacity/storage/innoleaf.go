package storage

import (
	"slices"
	"sort"
)

// Constants of an InnoDB page of 16 KiB (storage/innobase/include/page0page.h,
// btr0cur.h), scaled for other page sizes.
const (
	innoPage       = 16384
	innoOverhead   = 132 // FIL header 38, page header 56, infimum and supremum 26, two directory slots 4, trailer 8
	innoReorganize = 32  // BTR_CUR_PAGE_REORGANIZE_LIMIT = page / 32
	innoReserve    = 16  // dict_index_get_space_reserve = page / 16 (clustered leaf)
)

// innoRec is one record of a leaf.
type innoRec struct {
	key  uint64
	size uint16
}

// innoLeaf is one leaf page. heap counts bytes and records ever placed since the
// page was last reorganised; data only those alive.
type innoLeaf struct {
	recs     []innoRec
	data     int
	heapTop  int
	heapRecs int
	free     []uint16 // sizes on the free list, head last
	lastIns  int      // index of the last inserted record, -1 = none
}

// innoLeafSim replays insertions against the page rules of InnoDB (MariaDB 10.11
// and MySQL 8): 1/16 reserve for increasing inserts into the clustered index,
// split once less than 1/32 would stay free in a page with garbage, split
// points by the last insertion, insertion into the right sibling.
// Source: storage/innobase/btr/btr0btr.cc (btr_page_split_and_insert,
// btr_insert_into_right_sibling), btr/btr0cur.cc (btr_cur_optimistic_insert).
type innoLeafSim struct {
	page      int
	clustered bool
	size      func(key uint64) int
	leaves    []*innoLeaf
	fences    []uint64
	last      int
}

func newInnoLeafSim(page int, clustered bool, size func(uint64) int) *innoLeafSim {
	return &innoLeafSim{page: page, clustered: clustered, size: size,
		leaves: []*innoLeaf{{lastIns: -1}}, fences: []uint64{0}}
}

// empty is page_get_free_space_of_empty.
func (s *innoLeafSim) empty() int { return s.page - innoOverhead }

// slots is page_dir_calc_reserved_space for n records.
func slots(n int) int { return (2*n + 3) / 4 }

// afterReorganize is page_get_max_insert_size_after_reorganize(page, 1).
func (s *innoLeafSim) afterReorganize(l *innoLeaf) int {
	return max(0, s.empty()-l.data-slots(len(l.recs)+1))
}

// contiguous is page_get_max_insert_size(page, 1).
func (s *innoLeafSim) contiguous(l *innoLeaf) int {
	return max(0, s.empty()-l.heapTop-slots(l.heapRecs+1))
}

func (s *innoLeafSim) find(key uint64) int {
	i := s.last
	if s.fences[i] <= key && (i+1 == len(s.fences) || key < s.fences[i+1]) {
		return i
	}
	return max(0, sort.Search(len(s.fences), func(i int) bool { return s.fences[i] > key })-1)
}

func (l *innoLeaf) position(key uint64) int {
	n := len(l.recs)
	if n == 0 || l.recs[n-1].key < key {
		return n
	}
	return sort.Search(n, func(i int) bool { return l.recs[i].key >= key })
}

// insert adds one record.
func (s *innoLeafSim) insert(key uint64) {
	at := s.find(key)
	s.last = at
	l := s.leaves[at]
	r := innoRec{key: key, size: uint16(s.size(key))}
	pos := l.position(key)
	if s.fits(l, pos, int(r.size)) {
		s.place(l, pos, r, true)
		return
	}
	s.split(at, pos, r)
}

// fits is the admission rule of btr_cur_optimistic_insert.
func (s *innoLeafSim) fits(l *innoLeaf, pos, size int) bool {
	room := s.afterReorganize(l)
	if room < size {
		return false
	}
	if len(l.free) > 0 && room < s.page/innoReorganize && len(l.recs) > 1 && s.contiguous(l) < size {
		return false
	}
	if s.clustered && len(l.recs) >= 2 && s.page/innoReserve+size > room && (l.right(pos) || l.left(pos)) {
		return false
	}
	return true
}

// right says that the record before pos was inserted last (btr_page_get_split_rec_to_right).
func (l *innoLeaf) right(pos int) bool { return l.lastIns >= 0 && l.lastIns == pos-1 }

// left says that the record at pos was inserted last (btr_page_get_split_rec_to_left).
func (l *innoLeaf) left(pos int) bool { return l.lastIns >= 0 && l.lastIns == pos }

// place puts a record into the page: on the free list if its head is large
// enough, else on the heap, else after reorganising (if allowed).
func (s *innoLeafSim) place(l *innoLeaf, pos int, r innoRec, reorganize bool) bool {
	n := len(l.free)
	switch {
	case n > 0 && l.free[n-1] >= r.size:
		l.free = l.free[:n-1]
	case s.contiguous(l) >= int(r.size):
		l.heapTop += int(r.size)
		l.heapRecs++
	case !reorganize || s.afterReorganize(l) < int(r.size):
		return false
	default:
		l.free = l.free[:0]
		l.heapTop, l.heapRecs = l.data+int(r.size), len(l.recs)+1
	}
	l.recs = slices.Insert(l.recs, pos, r)
	l.data += int(r.size)
	l.lastIns = pos
	return true
}

// split is btr_page_split_and_insert.
func (s *innoLeafSim) split(at, pos int, r innoRec) {
	l := s.leaves[at]
	if pos == len(l.recs) && at+1 < len(s.leaves) {
		next := s.leaves[at+1]
		if s.place(next, 0, r, false) {
			s.fences[at+1] = r.key
			s.last = at + 1
			return
		}
	}
	n := len(l.recs)
	first, newRight, down := n, false, false // first record of the right page; the new one is its first
	switch {
	case l.right(pos):
		if n-pos <= 1 {
			first, newRight = pos, true
		} else {
			first = pos + 1
		}
	case l.left(pos):
		down = true
		if first = pos - 1; pos <= 1 {
			first = pos
		}
	case n > 1:
		first = (n+2)/2 - 1
	default:
		first, newRight = pos, true
	}
	s.divide(at, first, down)
	left, right := s.leaves[at], s.leaves[at+1]
	toLeft := pos <= first && !newRight && !(pos == first && len(right.recs) > 0 && right.recs[0].key < r.key)
	target, p, idx := right, pos-first, at+1
	if toLeft {
		target, p, idx = left, pos, at
	}
	s.last = idx
	if !s.place(target, p, r, true) { // variable sizes: split the half again
		s.fence(at)
		s.split(idx, p, r)
		return
	}
	s.fence(at)
}

// fence sets the first key of the page right of at after a split.
func (s *innoLeafSim) fence(at int) {
	if rec := s.leaves[at+1].recs; len(rec) > 0 {
		s.fences[at+1] = rec[0].key
	}
}

// divide moves the records from first on to a new right page, or, going down,
// those before first to a new left page. The new page is compact, the old one
// keeps what was moved as garbage.
func (s *innoLeafSim) divide(at, first int, down bool) {
	l := s.leaves[at]
	moved, kept := l.recs[first:], l.recs[:first]
	if down {
		moved, kept = kept, moved
	}
	fresh := &innoLeaf{recs: append(make([]innoRec, 0, cap(l.recs)), moved...), lastIns: len(moved) - 1}
	for i := len(moved) - 1; i >= 0; i-- {
		fresh.data += int(moved[i].size)
		l.free = append(l.free, moved[i].size)
	}
	fresh.heapTop, fresh.heapRecs = fresh.data, len(moved)
	l.recs = append(make([]innoRec, 0, cap(l.recs)), kept...)
	l.data -= fresh.data
	if len(moved) > 0 {
		l.lastIns = -1
	}
	if len(kept) == 0 {
		l.free, l.heapTop, l.heapRecs = nil, 0, 0
	}
	if down {
		s.leaves = slices.Insert(s.leaves, at, fresh)
	} else {
		s.leaves = slices.Insert(s.leaves, at+1, fresh)
	}
	s.fences = slices.Insert(s.fences, at+1, s.fences[at])
}

func (s *innoLeafSim) leafCount() int { return len(s.leaves) }
