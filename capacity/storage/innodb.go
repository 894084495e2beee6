package storage

import (
	"fmt"
	"math"
	"slices"
	"sync"
)

// InnoDB record and space constants (rem0rec.h, fsp0fsp.h).
const (
	innoHeader     = 5  // REC_N_NEW_EXTRA_BYTES
	innoSystem     = 13 // DB_TRX_ID 6 + DB_ROLL_PTR 7
	innoRowID      = 6  // DB_ROW_ID of a table without a primary key
	innoNodePtr    = 4
	innoFragPages  = 32 // FSEG_FRAG_ARR_N_SLOTS: single pages before whole extents
	innoExtent     = 64 // pages of 16 KiB
	innoFillFactor = 8  // FSEG_FILLFACTOR: extents kept free while at most 1/8 is unused
	innoFreeMax    = 4  // FSEG_FREE_LIST_MAX_LEN
	innoBlobUsable = 16318
	innoSmall      = 200_000_000
)

const srcInnoRec = "InnoDB COMPACT/DYNAMIC record: 5-byte header, 1-2 bytes a variable length, null bitmap, values, 2 B directory slot a 4 records"

// estimateInnoDB sizes the segments as innodb_index_stats reports them and the
// .ibd file.
func estimateInnoDB(in Input) (Size, error) {
	t := in.Table
	cols, types, err := innoColumns(t)
	if err != nil {
		return Size{}, err
	}
	if in.PageSize != 0 && in.PageSize != innoPage {
		return Size{}, fmt.Errorf("page size %d: only the default of 16 KiB is sized", in.PageSize)
	}
	b := innoBuilder{in: in, t: t, cols: cols, types: types, parts: float64(max(1, t.Partitions)), s: &Size{Basis: Arithmetic}}
	b.rows = float64(in.Rows) / b.parts
	if err := b.clustered(); err != nil {
		return Size{}, err
	}
	for i := range t.Indexes {
		if ix := &t.Indexes[i]; ix != b.pk {
			if err := b.secondary(ix); err != nil {
				return Size{}, err
			}
		}
	}
	return b.finish(), nil
}

// innoBuilder adds up one table.
type innoBuilder struct {
	in    Input
	t     *Table
	cols  []Column
	types []innoType
	rows  float64
	parts float64
	s     *Size
	pk    *Index // the clustered index, nil = hidden row id
	// pages of file segments: full extents and single pages of one partition.
	extents, frags float64
	binShare       float64
}

// at returns the column numbers of an index.
func (b *innoBuilder) at(ix *Index) ([]int, error) {
	var out []int
	for _, name := range ix.Columns {
		i := slices.IndexFunc(b.cols, func(c Column) bool { return c.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("index %q: no column %q", ix.Name, name)
		}
		out = append(out, i)
	}
	return out, nil
}

// clusterKey picks the clustered index: the primary key, else the first unique
// index without NULLs.
func (b *innoBuilder) clusterKey() {
	b.pk = b.t.Primary()
	for i := range b.t.Indexes {
		ix := &b.t.Indexes[i]
		if b.pk == nil && ix.Unique && !slices.ContainsFunc(ix.Columns, func(n string) bool {
			c := b.t.Column(n)
			return c == nil || !c.NotNull
		}) {
			b.pk = ix
		}
	}
}

// record returns a function that gives the bytes of the record of a row.
func (b *innoBuilder) record(at []int, extra int) func(row uint64) int {
	l := lengths{b.cols}
	nullable := 0
	for _, i := range at {
		if !b.cols[i].NotNull {
			nullable++
		}
	}
	base := innoHeader + (nullable+7)/8 + extra
	return func(row uint64) int {
		n := base
		for _, i := range at {
			if !l.null(row, i) {
				n += innoValue(b.types[i], l.length(row, i))
			}
		}
		return n
	}
}

// fixed says that records of these columns have one size.
func (b *innoBuilder) fixed(at []int) bool {
	var key []Column
	for _, i := range at {
		key = append(key, b.cols[i])
	}
	return lengths{key}.fixed()
}

// sizes wraps a record function as a size by key, from a table of 1024 rows.
func (b *innoBuilder) sizes(at []int, rec func(uint64) int) (size func(uint64) int, mean float64, same bool) {
	if b.fixed(at) {
		n := rec(0)
		return func(uint64) int { return n }, float64(n), true
	}
	var tab [1024]int
	for i := range tab {
		tab[i] = rec(uint64(i))
		mean += float64(tab[i]) / 1024
	}
	return func(k uint64) int { return tab[splitmix64(k)>>54] }, mean, false
}

func (b *innoBuilder) clustered() error {
	b.clusterKey()
	all := make([]int, len(b.cols))
	binary, bytes := 0.0, 0.0
	for i := range all {
		all[i] = i
		v := b.cols[i].Mean * (1 - b.cols[i].Null)
		if bytes += v; b.types[i].random {
			binary += v
		}
	}
	b.binShare = binary / math.Max(1, bytes)
	name, extra := "primary key", innoSystem
	plan := keyPlan{dup: 1}
	nodeKey := innoRowID
	if b.pk == nil {
		name, extra = "row id", innoSystem+innoRowID
	} else {
		at, err := b.at(b.pk)
		if err != nil {
			return err
		}
		plan = planKeys(b.t, b.pk, b.in.Order, b.rows)
		if !b.pk.Primary {
			plan.order = b.in.Order
		}
		nodeKey = b.record(at, 0)(0) - innoHeader
	}
	rec, blobs := b.offPage(b.record(all, extra))
	return b.index(innoIndex{name: name, clustered: true, at: all, rec: rec, plan: plan,
		node: innoHeader + nodeKey + innoNodePtr, blobs: blobs})
}

// offPage moves the longest values of rows over half a page to pages of their
// own (DYNAMIC: 20-byte pointer) and returns the pages they take a row.
func (b *innoBuilder) offPage(rec func(uint64) int) (func(uint64) int, float64) {
	limit := (innoPage - innoOverhead) / 2
	n := rec(0)
	if n <= limit {
		return rec, 0
	}
	pages, cut := 0.0, 0
	lens := make([]int, len(b.cols))
	l := lengths{b.cols}
	for i := range lens {
		if b.types[i].size == 0 && !l.null(0, i) {
			lens[i] = l.length(0, i)
		}
	}
	for n-cut > limit {
		i := 0
		for j := range lens {
			if lens[j] > lens[i] {
				i = j
			}
		}
		if lens[i] <= 40 {
			break
		}
		pages += math.Ceil(float64(lens[i]) / innoBlobUsable)
		cut += lens[i] - 20
		lens[i] = 0
	}
	small := n - cut
	return func(uint64) int { return small }, pages
}

func (b *innoBuilder) secondary(ix *Index) error {
	at, err := b.at(ix)
	if err != nil {
		return err
	}
	keyCols := len(at)
	extra := 0
	if b.pk == nil {
		extra = innoRowID
	} else {
		pk, err := b.at(b.pk)
		if err != nil {
			return err
		}
		for _, i := range pk {
			if !slices.Contains(at[:keyCols], i) {
				at = append(at, i)
			}
		}
	}
	plan := planKeys(b.t, ix, b.in.Order, b.rows)
	if plan.dup > 1 { // equal values are ordered by the primary key behind them
		values := math.Max(1, b.rows/plan.dup)
		inner := b.in.Order
		if b.pk == nil {
			inner = Order{}
		}
		switch {
		case plan.order.sorted() && inner.Kind != Random && inner.streams() == 1:
			plan.order = inner // both grow with time
		case plan.order.sorted():
			plan.order = Order{Kind: TimeOrdered, J: int(math.Min(plan.dup, 1<<30))}
		default:
			plan.order = Order{Kind: inner.Kind, J: inner.J, Streams: int(math.Min(values, 1<<20))}
		}
		plan.dup = 1
	}
	plan.null = 0
	rec := b.record(at, extra)
	return b.index(innoIndex{name: ix.Name, at: at, rec: rec, plan: plan, node: rec(0) + innoNodePtr})
}

type innoIndex struct {
	name      string
	clustered bool
	at        []int
	rec       func(uint64) int
	plan      keyPlan
	node      int
	blobs     float64 // off-page pages a row
}

// index adds one B-tree: leaves, inner pages, extents.
func (b *innoBuilder) index(x innoIndex) error {
	size, mean, same := b.sizes(x.at, x.rec)
	if x.blobs > 0 {
		n := x.rec(0)
		size, mean, same = func(uint64) int { return n }, float64(n), true
	}
	if mean > (innoPage-innoOverhead)/2 {
		return fmt.Errorf("%s: a record of %.0f B does not fit in half a page", x.name, mean)
	}
	if b.in.State == Rebuilt {
		x.plan.order = Order{}
	}
	leaves, basis := innoLeaves(innoShape{size: size, clustered: x.clustered, same: same}, x.plan, b.rows)
	if basis == Simulated {
		b.s.Basis = Simulated
	}
	leaves = math.Max(1, math.Ceil(leaves))
	inner := innoInner(leaves, x.node, x.plan.order.sorted())
	blobs := math.Ceil(x.blobs * b.rows)
	sorted := x.plan.order.sorted() && !(b.in.State == Rebuilt && x.clustered)
	pages := b.segment(leaves+blobs, sorted) + b.segment(inner, sorted)
	bytes := int64(pages * b.parts * innoPage)
	if x.clustered {
		b.s.Table += bytes
	} else {
		b.s.Index += bytes
	}
	per := b.rows / leaves
	b.s.Parts = append(b.s.Parts, Part{Name: x.name, Index: !x.clustered, Bytes: bytes, Leaves: int64(leaves * b.parts),
		ItemsPerLeaf: per, Fill: per * (mean + 0.5) / (innoPage - innoOverhead + 4)})
	b.s.term(x.name+": record", mean, "B", srcInnoRec)
	src := "keys in increasing order: split at the new record, 1/16 of a clustered leaf kept free (btr0cur.cc)"
	if basis == Simulated {
		src = fmt.Sprintf("key order %s: page splits replayed (btr0btr.cc)", x.plan.order)
	}
	b.s.term(x.name+": rows per leaf", per, "rows", src)
	b.s.term(x.name+": leaf pages", leaves*b.parts, "pages of 16 KiB", "rows / rows per leaf")
	b.s.term(x.name+": inner pages", inner*b.parts, "pages", "node pointers at 0.94 (increasing) or 0.72 of a page")
	if blobs > 0 {
		b.s.term(x.name+": off-page values", blobs*b.parts, "pages", "values of rows over 8,126 B in pages of their own (DYNAMIC)")
	}
	b.s.term(x.name+": segment pages", pages*b.parts, "pages",
		"32 single pages, then extents of 64; up to 4 extents kept free when keys do not only grow (fsp0fsp.cc)")
	if x.plan.assumed != "" {
		b.s.Notes = append(b.s.Notes, fmt.Sprintf("index %s: assumed that %s", x.name, x.plan.assumed))
	}
	return nil
}

// segment returns the pages reserved for a segment of n used pages and counts
// them into the file.
func (b *innoBuilder) segment(n float64, sorted bool) float64 {
	single := math.Min(n, innoFragPages)
	ext := math.Ceil((n - single) / innoExtent)
	if !sorted && ext > 0 {
		ext += math.Min(innoFreeMax, math.Ceil(ext/innoFillFactor))
	}
	b.frags += single
	b.extents += ext
	return single + ext*innoExtent
}

// finish computes the file.
func (b *innoBuilder) finish() Size {
	s := b.s
	used := b.extents + math.Ceil((b.frags+5)/innoExtent)
	used += math.Floor(used / 256) // an extent descriptor page opens each 256th extent
	file := b.fileExtents(used)
	bytes := file * innoExtent * innoPage
	if b.rows == 0 {
		bytes = 4 * innoPage
	}
	s.Total = int64(bytes * b.parts)
	s.term("file extents", file*b.parts, "extents of 1 MiB",
		"used + reserve of 5 extents and 1 %, in steps of 4 above 32 MiB (fsp_reserve_free_extents, fsp_get_pages_to_extend_ibd)")
	if b.t.RowFormat == "compressed" {
		b.compressed()
		return *s
	}
	if float64(s.Total)/b.parts < innoSmall && b.rows > 0 {
		b.steps(used, file)
		s.Notes = append(s.Notes, "below 200 MB a file, extents and the 4 MiB steps of the file dominate: a range")
	} else if s.Basis == Simulated {
		s.spread(0.02, 0.02)
	}
	return *s
}

// fileExtents returns the extents of a file with used extents: it is extended
// when 3 + 2 extents + 1 % are not free, the one being filled and the header
// aside, by 1 extent up to 32 MiB and by 4 beyond.
func (b *innoBuilder) fileExtents(used float64) float64 {
	if b.rows == 0 {
		return 0
	}
	file := used
	if b.in.State != Rebuilt {
		file += 7 + math.Floor(used/100)
	}
	if file > 32 {
		file = math.Ceil(file/4) * 4
	}
	return file
}

// steps sets the range of a small file: the neighbouring step on the side that
// is nearer to being reached, at most 6 % to a side.
func (b *innoBuilder) steps(used, file float64) {
	s := b.s
	low, high := file, file
	if file <= 32 { // single extents
		low, high = file-1, file+math.Min(1, 0.12*file-1)
	}
	for d := 0.25; d <= 4 && low == file && high == file; d += 0.25 {
		low, high = b.fileExtents(used-d), b.fileExtents(used+d)
	}
	if high > file && file > 32 {
		low = math.Max(low, file*0.97)
	}
	low, high = math.Max(low, file*0.89), math.Min(high, file*1.08)
	l := int64(float64(s.Total) * math.Min(0.98, low/file))
	if s.Low == 0 || l < s.Low {
		s.Low = l
	}
	s.High = max(s.High, int64(float64(s.Total)*math.Max(1.005, high/file)))
}

// compressed applies the ratios measured for KEY_BLOCK_SIZE=8.
func (b *innoBuilder) compressed() {
	s := b.s
	kbs := b.t.KeyBlockSize
	if kbs == 0 {
		kbs = 8
	}
	ratio := 0.45 + 0.40*b.binShare
	if b.in.Order.Kind == Random {
		ratio += 0.05
	}
	ratio *= math.Max(0.5, float64(kbs)/8)
	for i := range s.Parts {
		s.Parts[i].Bytes = int64(float64(s.Parts[i].Bytes) * ratio)
	}
	s.Table, s.Index = int64(float64(s.Table)*ratio), int64(float64(s.Index)*ratio)
	file := func(k float64) int64 { // 4 extents beyond the segments, the same steps
		ext := float64(s.Table+s.Index)*k/b.parts/(innoExtent*innoPage) + 4
		if ext > 32 {
			ext = math.Ceil(ext/4) * 4
		}
		return int64(math.Ceil(ext) * innoExtent * innoPage * b.parts)
	}
	s.Total, s.Low, s.High = file(1), file(0.88), file(1.12)
	s.Basis = Measured
	s.term("compression ratio", ratio, "",
		"measured on MariaDB 10.11, KEY_BLOCK_SIZE=8: 0.45 for text, 0.68 with 57 % random binary, 0.05 more for random keys")
	s.Notes = append(s.Notes, "ROW_FORMAT=COMPRESSED: size from measured ratios, not from the format; redo grows about fourfold")
}

type innoShape struct {
	size      func(uint64) int
	clustered bool
	same      bool // all records have one size
}

// innoLeaves returns the expected leaf pages.
func innoLeaves(sh innoShape, p keyPlan, rows float64) (float64, Basis) {
	if rows < 1 {
		return 1, Arithmetic
	}
	if p.order.sorted() {
		n := uint64(math.Min(rows, 60_000))
		half, full := innoReplay(sh, keyPlan{dup: 1}, n)
		if rows <= float64(n) {
			return full[0], Arithmetic
		}
		if sh.same {
			// whole leaves: rows of the second leaf of a long run
			per := innoIncreasing(sh)
			return math.Ceil(rows / per), Arithmetic
		}
		return full[0] + (rows-float64(n))*(full[0]-half)/(float64(n)/2), Simulated
	}
	n := replayRows(rows, p.order, simRows)
	q, proportional := p.scale(rows, n)
	half, full := innoReplay(sh, q, uint64(n))
	switch {
	case rows <= n:
		return full[0], Simulated
	case p.order.Kind == Random:
		return rows * innoRandomDensity(full, n, rows), Simulated
	case proportional:
		return full[0] * rows / n, Simulated
	default:
		return full[0] + (rows-n)*(full[0]-half)/(n/2), Simulated
	}
}

// innoRandomDensity returns leaves a row for random keys beyond the n replayed.
// The fill swings with a period of x2 in rows and the swing fades: up to 4n the
// point of the same phase is taken, beyond it the mean over one period. Entry i
// of full is the leaf count at n x 2^(-i/8).
func innoRandomDensity(full [9]float64, n, rows float64) float64 {
	at := func(i int) float64 { return full[i] / (n * math.Pow(2, -float64(i)/8)) }
	if rows <= 4*n {
		phase := math.Log2(rows / n)
		phase -= math.Floor(phase)
		i := 8 * (1 - phase)
		lo := int(math.Floor(i))
		if lo >= 8 {
			return at(8)
		}
		return at(lo) + (i-float64(lo))*(at(lo+1)-at(lo))
	}
	mean := 0.0
	for i := range 8 {
		mean += at(i) / 8
	}
	return mean
}

// innoReplays remembers replays.
var innoReplays sync.Map

type innoReplayID struct {
	sizes     uint64
	clustered bool
	plan      string
	n         uint64
}

type innoReplayResult struct {
	half float64
	full [9]float64
}

// innoReplay replays n insertions and returns the leaves after half of them and
// after n x 2^(-i/8) of them.
func innoReplay(sh innoShape, p keyPlan, n uint64) (half float64, full [9]float64) {
	h := uint64(0)
	for k := range uint64(512) {
		h = splitmix64(h ^ uint64(sh.size(k)))
	}
	id := innoReplayID{h, sh.clustered, p.id(), n}
	if v, ok := innoReplays.Load(id); ok {
		r := v.(innoReplayResult)
		return r.half, r.full
	}
	var marks [9]uint64
	for i := range marks {
		marks[i] = uint64(float64(n) * math.Pow(2, -float64(i)/8))
	}
	g := newKeyGen(p, n, 1)
	sim := newInnoLeafSim(innoPage, sh.clustered, sh.size)
	next := len(marks) - 1
	for i := range n {
		sim.insert(g.key(i))
		if i+1 == n/2 {
			half = float64(sim.leafCount())
		}
		for next >= 0 && i+1 == marks[next] {
			full[next] = float64(sim.leafCount())
			next--
		}
	}
	innoReplays.Store(id, innoReplayResult{half, full})
	return half, full
}

// innoIncreasing returns the rows of a leaf when keys only grow.
func innoIncreasing(sh innoShape) float64 {
	sim := newInnoLeafSim(innoPage, sh.clustered, sh.size)
	for i := uint64(1); sim.leafCount() < 3 && i < 10_000; i++ {
		sim.insert(i << 24)
	}
	return float64(len(sim.leaves[1].recs))
}

// innoInner returns the pages above the leaves.
func innoInner(leaves float64, node int, sorted bool) float64 {
	fan := float64(innoPage-innoOverhead) / (float64(node) + 0.5)
	if sorted {
		fan *= 0.94
	} else {
		fan *= 0.72
	}
	pages := 0.0
	for n := leaves; n > 1; {
		n = math.Ceil(n / math.Max(2, fan))
		pages += n
	}
	return pages
}
