package storage

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
)

// PostgreSQL heap constants (src/include/access/htup_details.h, heaptoast.h,
// storage/freespace).
const (
	pgTupleHeader  = 23
	pgHeapUsable   = pgPage - pgPageHeader // 8168
	pgToastLimit   = 2032                  // TOAST_TUPLE_THRESHOLD and _TARGET
	pgToastChunk   = 1996                  // TOAST_MAX_CHUNK_SIZE
	pgToastPointer = 18                    // varattrib_1b_e + varatt_external
	pgFSMSlots     = 4069                  // heap pages in one FSM page
	pgVMPages      = 32672                 // heap pages in one VM page
	pgSampleRows   = 50_000
)

const srcPGHeap = "PostgreSQL storage page layout: 23-byte tuple header, 4-byte line pointer, MAXALIGN 8"

// estimatePostgres sizes a table as pg_table_size, pg_indexes_size and
// pg_total_relation_size report it.
func estimatePostgres(in Input) (Size, error) {
	t := in.Table
	cols, types, err := pgColumns(t)
	if err != nil {
		return Size{}, err
	}
	s := Size{Basis: Arithmetic}
	parts := int64(max(1, t.Partitions))
	rows := float64(in.Rows) / float64(parts)
	pgHeapPart(&s, in, pgHeapInput{cols: cols, types: types, rows: rows, parts: parts})
	for i := range t.Indexes {
		if err := pgIndexPart(&s, in, pgIndexInput{ix: &t.Indexes[i], cols: cols, types: types, rows: rows, parts: parts}); err != nil {
			return Size{}, err
		}
	}
	s.Total = s.Table + s.Index
	if s.Basis == Simulated { // phase of early splits, measured between two loads of the same rows
		k := 0.015 * float64(s.Index) / math.Max(1, float64(s.Total))
		if in.Rows < 1_000_000 {
			k *= 2
		}
		s.spread(k, k)
	}
	return s, nil
}

type pgHeapInput struct {
	cols  []Column
	types []pgType
	rows  float64
	parts int64
}

// pgHeapPart adds heap, TOAST, free space map and visibility map.
func pgHeapPart(s *Size, in Input, h pgHeapInput) {
	ff := in.Table.FillFactor
	if ff == 0 {
		ff = 100
	}
	usable := pgHeapUsable - pgPage*(100-ff)/100
	l := lengths{h.cols}
	var perPage, tuple, toastPerRow float64
	if l.fixed() {
		n, out := pgTuple(l, h.types, 0)
		tuple = float64(n)
		if len(out) > 0 {
			var p toastPacker
			for range 1000 {
				p.add(out)
			}
			toastPerRow = p.perRow(1000)
		}
		perPage = math.Max(1, math.Floor(float64(usable)/float64(align8(n)+pgItemID)))
	} else {
		perPage, tuple, toastPerRow = pgFillPages(l, h.types, usable)
		s.Basis = Simulated
	}
	pages := math.Ceil(h.rows/perPage - 1e-6)
	fsm, vm := 0.0, 0.0
	if pages > 4 { // HEAP_FSM_CREATION_THRESHOLD
		leaf := math.Ceil(pages / pgFSMSlots)
		fsm = leaf + math.Ceil(leaf/pgFSMSlots) + 1
	}
	if in.State != Loaded {
		vm = math.Ceil(pages / pgVMPages)
	}
	toast := math.Ceil(h.rows * toastPerRow)
	if pgNeedsToast(in.Table, h.types) {
		toast++ // the meta page of the TOAST index, even when nothing is in TOAST
	}
	bytes := int64(pages+fsm+vm+toast) * pgPage * h.parts
	s.Table += bytes
	s.Parts = append(s.Parts, Part{Name: "heap", Bytes: bytes, Leaves: int64(pages) * h.parts, ItemsPerLeaf: perPage,
		Fill: perPage * (tuple + pgItemID) / pgHeapUsable})
	s.term("tuple", tuple, "B", srcPGHeap)
	s.term("rows per heap page", perPage, "rows", "floor((8192 - 24 - fillfactor reserve) / (align8(tuple) + 4))")
	s.term("heap pages", pages*float64(h.parts), "pages of 8 KiB", "ceil(rows / rows per page)")
	s.term("free space map", fsm*float64(h.parts), "pages", "ceil(pages/4069) + 2 (storage/freespace/README)")
	if vm > 0 {
		s.term("visibility map", vm*float64(h.parts), "pages", "ceil(pages/32672) (visibilitymap.c)")
	}
	if toastPerRow > 0 {
		s.term("TOAST pages", toast*float64(h.parts), "pages", "chunks of 1996 B, 4 a page, plus their index (heaptoast.h), uncompressed")
		s.Notes = append(s.Notes, "values over about 2 kB go to TOAST; counted uncompressed, pglz may store less")
		s.Low = int64(float64(s.Table) * 0.35)
	}
}

// pgNeedsToast is needs_toast_table (src/backend/catalog/toasting.c): the longest
// possible tuple may exceed the threshold.
func pgNeedsToast(t *Table, types []pgType) bool {
	n := 0
	toastable := false
	for i, ty := range types {
		c := &t.Columns[i]
		switch {
		case ty.size > 0:
			n = alignTo(n, ty.align) + ty.size
		case strings.Contains(c.Type, "char") && c.Type != "bpchar" && (len(c.Args) > 0 || strings.HasPrefix(c.Type, "char")):
			length := 1
			if len(c.Args) > 0 {
				length = c.Args[0]
			}
			n = alignTo(n, 4) + 4 + 4*length // 4 bytes a character in UTF-8
			toastable = true
		case (c.Type == "numeric" || c.Type == "decimal") && len(c.Args) > 0:
			n = alignTo(n, 4) + 4 + int(pgDefaultMean(c)) + 6
		case strings.HasPrefix(c.Type, "bit") && len(c.Args) > 0:
			n = alignTo(n, 4) + 8 + (c.Args[0]+7)/8
		default:
			return true
		}
	}
	return toastable && align8(pgTupleHeader+(len(types)+7)/8)+align8(n) > pgToastLimit
}

// pgTuple returns the bytes of the heap tuple of a row and the lengths of values
// moved to TOAST.
func pgTuple(l lengths, types []pgType, row uint64) (int, []int) {
	var lens [64]int
	vals := lens[:0]
	nulls := false
	for i := range types {
		n := -1
		if l.null(row, i) {
			nulls = true
		} else {
			n = l.length(row, i)
		}
		vals = append(vals, n)
	}
	var out []int
	for {
		off := pgTupleHeader
		if nulls {
			off += (len(types) + 7) / 8
		}
		off = align8(off)
		largest := -1
		for i, ty := range types {
			switch {
			case vals[i] == -1:
			case vals[i] < -1: // moved out
				off += pgToastPointer
			default:
				off = pgAppend(off, ty, vals[i])
				if ty.size < 0 && vals[i] > pgToastPointer && (largest < 0 || vals[i] > vals[largest]) {
					largest = i
				}
			}
		}
		if off <= pgToastLimit || largest < 0 {
			return off, out
		}
		out = append(out, vals[largest])
		vals[largest] = -2
	}
}

// heapPacker places tuples as RelationGetBufferForTuple does (hio.c): into the
// page used last, else into one that the free space map knows to have room (in
// steps of 32 bytes), else into a new one.
type heapPacker struct {
	usable, pages, used int
	holes               []int // free bytes of pages that were left
}

// maxHoles bounds the pages remembered; those left longest ago are too full.
const maxHoles = 512

func (p *heapPacker) add(size int) {
	if p.pages > 0 && p.used+size <= p.usable {
		p.used += size
		return
	}
	if p.pages > 0 {
		p.holes = append(p.holes, p.usable-p.used)
		if len(p.holes) > maxHoles {
			p.holes = p.holes[1:]
		}
	}
	for i, free := range p.holes {
		if free/32 >= (size+31)/32 {
			p.holes = slices.Delete(p.holes, i, i+1)
			p.used = p.usable - free + size
			return
		}
	}
	p.pages++
	p.used = size
}

// count is the pages, the one being filled by its share.
func (p *heapPacker) count() float64 {
	if p.pages == 0 {
		return 0
	}
	return float64(p.pages-1) + math.Min(1, float64(p.used)/float64(p.usable))
}

// toastPacker packs chunks of values.
type toastPacker struct {
	heapPacker
	chunks int
}

// add stores the values of one row.
func (p *toastPacker) add(out []int) {
	p.usable = pgHeapUsable
	for _, n := range out {
		for ; n > 0; n -= pgToastChunk {
			p.heapPacker.add(align8(36+min(n, pgToastChunk)) + pgItemID) // header 24, id 4, number 4, length 4
			p.chunks++
		}
	}
}

// perRow is the pages a row with the index on (id, number), 20-byte items in
// increasing order.
func (p *toastPacker) perRow(rows int) float64 {
	return (p.count() + float64(p.chunks)/366) / float64(rows)
}

// pgFillPages packs sampled tuples into pages in arrival order.
func pgFillPages(l lengths, types []pgType, usable int) (perPage, tuple, toast float64) {
	var p toastPacker
	heap := heapPacker{usable: usable}
	total := 0
	for r := range uint64(pgSampleRows) {
		n, out := pgTuple(l, types, r)
		total += n
		p.add(out)
		heap.add(align8(n) + pgItemID)
	}
	return pgSampleRows / heap.count(), float64(total) / pgSampleRows, p.perRow(pgSampleRows)
}

type pgIndexInput struct {
	ix    *Index
	cols  []Column
	types []pgType
	rows  float64
	parts int64
}

// pgIndexPart adds one B-tree.
func pgIndexPart(s *Size, in Input, x pgIndexInput) error {
	shape, lead, err := pgShape(in.Table, x)
	if err != nil {
		return err
	}
	p := planKeys(in.Table, x.ix, in.Order, x.rows)
	shape.lead = p.lead
	shape.leadSize = lead
	shape.heapRows = s.find("rows per heap page")
	shape.dedup = !x.ix.Unique && !x.ix.Primary
	if in.State == Rebuilt && p.dup <= 1 {
		p.order = Order{}
	}
	shape.fill = pgLeafFill
	if x.ix.FillFactor > 0 {
		shape.fill = float64(x.ix.FillFactor) / 100
	}
	leaves, basis := pgLeaves(shape, p, x.rows)
	if basis == Simulated {
		s.Basis = Simulated
	}
	item := float64(shape.size(0))
	inner, levels := pgInner(leaves, item, p)
	pages := math.Ceil(leaves) + inner + 1
	bytes := int64(pages) * pgPage * x.parts
	s.Index += bytes
	per := x.rows / math.Max(leaves, 1)
	s.Parts = append(s.Parts, Part{Name: x.ix.Name, Index: true, Bytes: bytes, Leaves: int64(math.Ceil(leaves)) * x.parts,
		ItemsPerLeaf: per, Fill: math.Min(1, per*item/pgLeafUsable)})
	s.term(x.ix.Name+": index item", item, "B", "align8(8 + key) + 4-byte line pointer (nbtree)")
	s.term(x.ix.Name+": rows per leaf", per, "rows", pgLeafSource(p, basis))
	s.term(x.ix.Name+": leaf pages", math.Ceil(leaves)*float64(x.parts), "pages of 8 KiB", "rows / rows per leaf")
	s.term(x.ix.Name+": inner pages", (inner+1)*float64(x.parts), "pages", fmt.Sprintf("%d levels at 0.70 (rightmost) or 0.67 of 8152 B, plus the meta page", levels))
	if p.assumed != "" {
		s.Notes = append(s.Notes, fmt.Sprintf("index %s: assumed that %s", x.ix.Name, p.assumed))
	}
	return nil
}

func pgLeafSource(p keyPlan, b Basis) string {
	if b == Arithmetic {
		return "keys in increasing order: rightmost split at the fill factor (nbtsplitloc.c)"
	}
	if p.order.Kind == Random && p.dup <= 1 {
		return "random keys: expected leaf population under 50:50 splits"
	}
	return fmt.Sprintf("key order %s, %.6g rows a value: page splits replayed (nbtsplitloc.c, nbtdedup.c)", p.order, p.dup)
}

// pgShape returns the item size function of an index and the item size of its
// leading columns alone.
func pgShape(t *Table, x pgIndexInput) (pgIndexShape, int, error) {
	var at []int
	for _, name := range x.ix.Columns {
		i := -1
		for j := range t.Columns {
			if t.Columns[j].Name == name {
				i = j
			}
		}
		if i < 0 {
			return pgIndexShape{}, 0, fmt.Errorf("index %q: no column %q", x.ix.Name, name)
		}
		at = append(at, i)
	}
	l := lengths{x.cols}
	size := func(row uint64, n int) int {
		off, null := pgIndexHeader, false
		for _, i := range at[:n] {
			null = null || l.null(row, i)
		}
		if null {
			off = 16 // IndexAttributeBitMapData
		}
		for _, i := range at[:n] {
			if !l.null(row, i) {
				off = pgAppend(off, x.types[i], l.length(row, i))
			}
		}
		return align8(off) + pgItemID
	}
	var key []Column
	for _, i := range at {
		key = append(key, x.cols[i])
	}
	sh := pgIndexShape{columns: len(at)}
	lead := 0
	if len(at) > 1 {
		lead = size(0, len(at)-1)
	}
	if (lengths{key}).fixed() {
		n := size(0, len(at))
		if n > pgLeafUsable/3 {
			return sh, 0, fmt.Errorf("index %q: a key of %d B does not fit in a third of a page", x.ix.Name, n)
		}
		sh.size = func(uint64) int { return n }
	} else {
		var tab [256]int
		for i := range tab {
			tab[i] = min(size(uint64(i), len(at)), pgLeafUsable/3)
		}
		sh.size = func(k uint64) int { return tab[splitmix64(k)>>56] }
	}
	return sh, lead, nil
}

// pgLeaves returns the expected number of leaf pages.
func pgLeaves(sh pgIndexShape, p keyPlan, rows float64) (float64, Basis) {
	if rows < 1 {
		return 1, Arithmetic
	}
	item := sh.size(0)
	sameSize := true
	for k := range uint64(64) {
		sameSize = sameSize && sh.size(k) == item
	}
	distinct := p.dup <= 1 && p.null == 0
	if distinct && sameSize && p.order.sorted() {
		if per := pgIncreasing(sh); per > 0 {
			return math.Ceil(rows / per), Arithmetic
		}
	}
	if distinct && sameSize && p.order.Kind == Random {
		return population(rows, pgRandomSplit(sh)), Simulated
	}
	n := replayRows(rows, p.order, simRowsMany)
	q, proportional := p.scale(rows, n)
	if p.dup > 1 && rows > n { // the fill of a group of equal keys is settled by 5000 of them
		q, proportional = p, true
		q.dup = math.Min(p.dup, 5000)
	}
	half, full := pgReplay(sh, q, uint64(n))
	switch {
	case rows <= n:
		return full, Simulated
	case proportional:
		return full * rows / n, Simulated
	default:
		return full + (rows-n)*(full-half)/(n/2), Simulated
	}
}

// pgReplayID identifies a replay, so that it is run once a design.
type pgReplayID struct {
	sizes             uint64
	columns, leadSize int
	lead, dedup       bool
	fill, heapRows    float64
	plan              string
	n                 uint64
}

// pgReplays remembers replays: they are pure functions of their identity.
var pgReplays sync.Map

// sizes is a fingerprint of the item sizes.
func (sh pgIndexShape) sizes() uint64 {
	h := uint64(0)
	for k := range uint64(512) {
		h = splitmix64(h ^ uint64(sh.size(k)))
	}
	return h
}

// pgReplay replays n insertions and returns the leaves after half and all.
func pgReplay(sh pgIndexShape, p keyPlan, n uint64) (half, full float64) {
	id := pgReplayID{sizes: sh.sizes(), columns: sh.columns, leadSize: sh.leadSize, lead: sh.lead, dedup: sh.dedup, fill: sh.fill, heapRows: math.Round(sh.heapRows), plan: p.id(), n: n}
	if v, ok := pgReplays.Load(id); ok {
		r := v.([2]float64)
		return r[0], r[1]
	}
	defer func() { pgReplays.Store(id, [2]float64{half, full}) }()
	g := newKeyGen(p, n, 1)
	sh.stream = g.ks.stream
	sim := newPGLeafSim(sh)
	for i := range n {
		if i == n/2 {
			half = float64(sim.leafCount())
		}
		sim.insert(g.key(i), uint32(i))
	}
	return half, float64(sim.leafCount())
}

// pgIncreasing returns the rows a leaf keeps when keys only grow: what the
// rightmost split leaves on the left.
func pgIncreasing(sh pgIndexShape) float64 {
	sh.dedup = false
	sh.stream = func(uint64) uint64 { return 0 }
	sim := newPGLeafSim(sh)
	for i := uint64(1); sim.leafCount() < 3 && i < 10_000; i++ {
		sim.insert(i<<24, uint32(i))
	}
	if sim.leafCount() < 3 {
		return 0
	}
	return float64(len(sim.leaves[1].items))
}

// pgRandomSplit returns how full leaves split when a new key falls anywhere.
func pgRandomSplit(sh pgIndexShape) splitRule {
	sh.stream = func(uint64) uint64 { return 0 }
	sh.lead = false
	item := sh.size(0)
	split := func(full, high int) (left, right int) {
		sim := newPGLeafSim(sh)
		l := &pgLeaf{high: high, hkey: 1 << 60}
		for i := range full {
			l.items = append(l.items, pgItem{key: uint64(i+1) << 20, n: 1, size: uint16(item)})
		}
		l.used = l.high + sum(l.items)
		sim.leaves[0] = l
		sim.insert(1, 0)
		left = len(sim.leaves[0].items)
		return left, full + 1 - left
	}
	r := splitRule{full: (pgLeafUsable - item) / item, lastFull: pgLeafUsable / item}
	r.left, r.right = split(r.full, item)
	r.lastLeft, r.lastRight = split(r.lastFull, 0)
	return r
}

// pgInner returns the pages above the leaves and the number of levels.
func pgInner(leaves, item float64, p keyPlan) (pages float64, levels int) {
	k := float64(p.order.streams())
	for n := leaves; n > 1; levels++ {
		fan := pgLeafUsable / item
		switch {
		case p.order.sorted():
			fan *= pgInnerFill
		case k > 1 && p.order.Kind != Random && n/k > 2*fan:
			fan *= 0.52 // each stream splits its own inner pages 50:50
		default:
			fan *= 0.67
		}
		n = math.Ceil(n / math.Max(2, fan))
		pages += n
	}
	return pages, levels
}
