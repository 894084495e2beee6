package storage

import (
	"fmt"
	"math"
	"slices"
	"sync"
)

// remove deletes one item with this key; it says whether a leaf became empty.
func (s *pgLeafSim) remove(key uint64) (emptied bool) {
	at := s.find(key)
	l := s.leaves[at]
	for at > 0 && (len(l.items) == 0 || l.items[0].key > key) {
		at--
		l = s.leaves[at]
	}
	i := lowerItem(l.items, key)
	if i == len(l.items) || l.items[i].key != key {
		return false
	}
	it := &l.items[i]
	if it.n > 1 { // a posting list shrinks
		old := int(it.size)
		it.n--
		it.size = uint16(s.shape.size(key))
		if it.n > 1 {
			it.size = uint16(align8(s.shape.size(key)-pgItemID+6*int(it.n)) + pgItemID)
		}
		l.used -= old - int(it.size)
		return false
	}
	l.used -= int(it.size)
	l.items = slices.Delete(l.items, i, i+1)
	if len(l.items) > 0 || at == len(s.leaves)-1 || len(s.leaves) == 1 {
		return false
	}
	s.leaves = slices.Delete(s.leaves, at, at+1)
	if at == 0 {
		s.fences = slices.Delete(s.fences, 1, 2)
	} else {
		s.fences = slices.Delete(s.fences, at, at+1)
	}
	s.last = min(s.last, len(s.leaves)-1)
	return true
}

func lowerItem(items []pgItem, key uint64) int {
	lo, hi := 0, len(items)
	for lo < hi {
		if m := (lo + hi) / 2; items[m].key < key {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo
}

// steady describes a window of rows that is filled once and then turned over:
// rows arrive, the oldest are deleted, and VACUUM runs now and then.
type steady struct {
	// share is the rows that arrive between two vacuums, as a share of the
	// window.
	share float64
	// turnovers of the window.
	turnovers float64
	// never: VACUUM does not run.
	never bool
}

// steadyRows is the size of a simulated window.
const steadyRows = 100_000

type steadyID struct {
	sizes          uint64
	columns        int
	lead, dedup    bool
	plan           string
	share, turns   float64
	leadSize, fill int
}

// steadies remembers simulated windows.
var steadies sync.Map

// pgSteadyPages returns the leaf pages a live row of an index under FIFO deletion:
// pages leave the tree only when empty, and are reused one vacuum later, so the
// file is as large as the most pages ever in use. Source: nbtree/README
// ("Deleting entire pages during VACUUM", "Placing deleted pages in the FSM").
func pgSteadyPages(sh pgIndexShape, p keyPlan, st steady) float64 {
	id := steadyID{sh.sizes(), sh.columns, sh.lead, sh.dedup, p.id(), st.share, st.turnovers, sh.leadSize, int(sh.fill * 1000)}
	if v, ok := steadies.Load(id); ok {
		return v.(float64)
	}
	step := uint64(math.Max(1, math.Min(steadyRows, st.share*steadyRows)))
	p.order.Streams = int(math.Min(float64(p.order.Streams), 64))
	total := uint64(steadyRows) + uint64(math.Round(st.turnovers*steadyRows/float64(step)))*step
	g := newKeyGen(p, total, 1)
	sh.stream = g.ks.stream
	sim := newPGLeafSim(sh)
	for i := range uint64(steadyRows) {
		sim.insert(g.key(i), uint32(i))
	}
	pages, free, pending := sim.leafCount(), 0, 0
	next, oldest := uint64(steadyRows), uint64(0)
	for next < total {
		before := sim.leafCount()
		for range step {
			sim.insert(g.key(next), uint32(next))
			next++
		}
		grown := sim.leafCount() - before
		reused := min(grown, free)
		free -= reused
		pages += grown - reused
		free, pending = free+pending, 0
		for range step {
			if sim.remove(g.key(oldest)) {
				pending++
			}
			oldest++
		}
	}
	r := float64(pages) / steadyRows
	steadies.Store(id, r)
	return r
}

// pgPlateau sizes a table under FIFO deletion with VACUUM.
func pgPlateau(in Input, st steady) (Size, error) {
	if st.never {
		s, err := estimatePostgres(in)
		return s, err
	}
	t := in.Table
	cols, types, err := pgColumns(t)
	if err != nil {
		return Size{}, err
	}
	s := Size{Basis: Simulated}
	parts := int64(max(1, t.Partitions))
	rows := float64(in.Rows) / float64(parts)
	in.State = Vacuumed
	pgHeapPart(&s, in, pgHeapInput{cols: cols, types: types, rows: rows * (1 + st.share), parts: parts})
	for i := range t.Indexes {
		x := pgIndexInput{ix: &t.Indexes[i], cols: cols, types: types, rows: rows, parts: parts}
		shape, lead, err := pgShape(t, x)
		if err != nil {
			return Size{}, err
		}
		p := planKeys(t, x.ix, in.Order, rows)
		shape.lead, shape.leadSize, shape.dedup, shape.fill = p.lead, lead, !x.ix.Unique && !x.ix.Primary, pgLeafFill
		shape.heapRows = s.find("rows per heap page")
		if x.ix.FillFactor > 0 {
			shape.fill = float64(x.ix.FillFactor) / 100
		}
		q := p
		if p.dup > 1 {
			q.dup = math.Min(p.dup, 5000)
		}
		leaves := math.Ceil(rows * pgSteadyPages(shape, q, st))
		inner, _ := pgInner(leaves, float64(shape.size(0)), p)
		bytes := int64(leaves+inner+1) * pgPage * parts
		s.Index += bytes
		s.Parts = append(s.Parts, Part{Name: x.ix.Name, Index: true, Bytes: bytes, Leaves: int64(leaves) * parts, ItemsPerLeaf: rows / leaves})
		s.term(x.ix.Name+": index item", float64(shape.size(0)), "B", "align8(8 + key) + 4-byte line pointer (nbtree)")
		s.term(x.ix.Name+": live rows per leaf", rows/leaves, "rows",
			fmt.Sprintf("FIFO deletion replayed for %.3g turnovers, VACUUM every %.3g of the window (nbtree/README)", st.turnovers, st.share))
	}
	s.Total = s.Table + s.Index
	s.Engine, s.Rows = Postgres, in.Rows
	s.Held = in.Rows + int64(math.Ceil(float64(in.Rows)*st.share))
	s.spread(0.02, 0.03)
	return s, nil
}
