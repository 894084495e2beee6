package storage

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
)

const (
	litePage   = 4096
	liteSim    = 200_000 // insertions replayed at most
	srcLiteRow = "SQLite file format: record = header of serial types + values; cell = varint lengths + record + 2-byte pointer"
)

// estimateSQLite sizes a database file that holds one table.
func estimateSQLite(in Input) (Size, error) {
	page := in.PageSize
	if page == 0 {
		page = litePage
	}
	if page < 512 || page > 65536 || page&(page-1) != 0 {
		return Size{}, fmt.Errorf("page size %d is not a power of two from 512 to 65536", page)
	}
	cols, err := liteColumns(in.Table)
	if err != nil {
		return Size{}, err
	}
	b := &liteBuilder{in: in, t: in.Table, cols: cols, page: page, s: &Size{Basis: Arithmetic}}
	pages := 1.0 // the schema
	for _, n := range b.notes() {
		b.s.Notes = append(b.s.Notes, n)
	}
	p, err := b.tablePages()
	if err != nil {
		return Size{}, err
	}
	pages += p
	b.s.Table = int64(p) * int64(page)
	for i := range in.Table.Indexes {
		ix := &in.Table.Indexes[i]
		if ix.Primary && (in.Table.WithoutRowid || b.rowidAlias() >= 0) {
			continue
		}
		p, err := b.indexPages(ix)
		if err != nil {
			return Size{}, err
		}
		pages += p
		b.s.Index += int64(p) * int64(page)
	}
	b.s.Total = int64(pages) * int64(page)
	if b.s.Basis == Simulated {
		b.s.spread(0.006, 0.006)
	}
	return *b.s, nil
}

// liteColumns resolves lengths; a type only decides the affinity.
func liteColumns(t *Table) ([]Column, error) {
	cols := append([]Column(nil), t.Columns...)
	for i := range cols {
		c := &cols[i]
		if c.Mean != 0 || c.Null >= 1 {
			continue
		}
		c.Mean = liteDefaultMean(c.Type)
		if strings.HasPrefix(c.Type, "char") && len(c.Args) > 0 { // usually written as declared
			c.Mean = float64(c.Args[0])
		}
		if c.Mean == 0 {
			return nil, &MissingMeanError{Column: c.Name, Type: "" + c.Type}
		}
	}
	return cols, nil
}

// tiny stands for a stated length of zero bytes, since 0 means not stated.
const tiny = 1e-9

// liteDefaultMean is the bytes of a value of a numeric type when nobody says.
func liteDefaultMean(typ string) float64 {
	switch {
	case strings.Contains(typ, "bool"):
		return tiny // 0 and 1 are serial types without a value
	case strings.Contains(typ, "bigint"):
		return 8
	case strings.Contains(typ, "int"):
		return 4
	case strings.Contains(typ, "real") || strings.Contains(typ, "floa") || strings.Contains(typ, "doub"):
		return 8
	}
	return 0
}

// liteIsInt says that a column has INTEGER or REAL affinity, so its serial type
// is one byte.
func liteIsInt(typ string) bool {
	return strings.Contains(typ, "int") || strings.Contains(typ, "bool") || strings.Contains(typ, "real") ||
		strings.Contains(typ, "floa") || strings.Contains(typ, "doub")
}

type liteBuilder struct {
	in   Input
	t    *Table
	cols []Column
	page int
	s    *Size
}

func (b *liteBuilder) notes() []string {
	var out []string
	for i, c := range b.t.Columns {
		if c.Mean == 0 && c.Null < 1 && i != b.rowidAlias() && strings.Contains(c.Type, "int") {
			out = append(out, fmt.Sprintf("column %s: SQLite stores integers in 0 to 8 bytes by value, %.0f assumed", c.Name, math.Floor(b.cols[i].Mean+0.5)))
		}
	}
	return out
}

// rowidAlias returns the column that is the rowid, -1 if none.
func (b *liteBuilder) rowidAlias() int {
	pk := b.t.Primary()
	if pk == nil || b.t.WithoutRowid || len(pk.Columns) != 1 {
		return -1
	}
	return slices.IndexFunc(b.t.Columns, func(c Column) bool { return c.Name == pk.Columns[0] && c.Type == "integer" })
}

// varint is the length of an unsigned SQLite varint.
func varint(n uint64) int {
	b := 1
	for n >>= 7; n > 0 && b < 9; n >>= 7 {
		b++
	}
	return b
}

// intBytes is the length of an integer value in a record.
func intBytes(n uint64) int {
	switch {
	case n < 2:
		return 0
	case n < 1<<7:
		return 1
	case n < 1<<15:
		return 2
	case n < 1<<23:
		return 3
	case n < 1<<31:
		return 4
	case n < 1<<47:
		return 6
	}
	return 8
}

// record returns the bytes of a record of the columns at; with rowid >= 0 that
// integer is appended (index of a rowid table).
func (b *liteBuilder) record(at []int, row uint64, rowid int64) int {
	l := lengths{b.cols}
	header, body := 0, 0
	alias := b.rowidAlias()
	for _, i := range at {
		switch {
		case i == alias || l.null(row, i):
			header++
		case liteIsInt(b.cols[i].Type):
			header++
			body += l.length(row, i)
		default:
			n := l.length(row, i)
			header += varint(uint64(2*n + 13))
			body += n
		}
	}
	if rowid >= 0 {
		header++
		body += intBytes(uint64(rowid))
	}
	header++ // length of the header
	if header > 127 {
		header++
	}
	return header + body
}

// cell returns the bytes of a cell with a payload and what spills into overflow
// pages.
func (b *liteBuilder) cell(payload, extra int, table bool) (size, overflow int) {
	u := b.page
	maxLocal := (u-12)*64/255 - 23
	minLocal := (u-12)*32/255 - 23
	if table {
		maxLocal = u - 35
	}
	if payload <= maxLocal {
		return varint(uint64(payload)) + extra + payload, 0
	}
	local := minLocal + (payload-minLocal)%(u-4)
	if local > maxLocal {
		local = minLocal
	}
	return varint(uint64(payload)) + extra + local + 4, (payload - local + u - 5) / (u - 4)
}

// fixed says that rows have one size, rowids aside.
func (b *liteBuilder) fixed(at []int) bool {
	var key []Column
	for _, i := range at {
		key = append(key, b.cols[i])
	}
	return lengths{key}.fixed()
}

func (b *liteBuilder) all() []int {
	out := make([]int, len(b.cols))
	for i := range out {
		out[i] = i
	}
	return out
}

// tablePages returns the pages of the table b-tree.
func (b *liteBuilder) tablePages() (float64, error) {
	if b.t.WithoutRowid {
		pk := b.t.Primary()
		plan := planKeys(b.t, pk, b.in.Order, float64(b.in.Rows))
		return b.tree(liteIndex{name: "table (primary key)", at: b.all(), plan: plan, rowid: false})
	}
	if b.rowidAlias() >= 0 && !b.in.Order.sorted() && b.in.State != Rebuilt {
		plan := planKeys(b.t, b.t.Primary(), b.in.Order, float64(b.in.Rows))
		return b.tree(liteIndex{name: "table", at: b.all(), plan: plan, table: true})
	}
	return b.appended()
}

// appended returns the pages of a rowid table filled in rowid order: leaves are
// packed, so each range of rowids with one varint length is a division.
func (b *liteBuilder) appended() (float64, error) {
	at := b.all()
	rows := uint64(b.in.Rows)
	leaves, over, bytes := 0.0, 0.0, 0.0
	usable := b.page - liteLeafHeader
	fixed := b.fixed(at)
	for lo := uint64(1); lo <= rows; {
		hi := min(rows, 1<<(7*varint(lo))-1)
		n := float64(hi - lo + 1)
		if fixed {
			size, ov := b.cell(b.record(at, 0, -1), varint(lo), true)
			leaves += n / math.Max(1, math.Floor(float64(usable)/float64(size+litePointer)))
			over += n * float64(ov)
			bytes += n * float64(size)
		} else {
			l, o, by := b.packed(at, varint(lo), usable)
			leaves += n * l
			over += n * o
			bytes += n * by
		}
		lo = hi + 1
	}
	leaves = math.Max(1, math.Ceil(leaves))
	fan := 0.885 * float64(b.page-liteInnerHeader) / (liteChild + litePointer + 3)
	inner := 0.0
	for n := leaves; n > 1; {
		n = math.Ceil(n / fan)
		inner += n
	}
	per := float64(rows) / leaves
	pages := leaves + inner + math.Ceil(over)
	b.part("table", false, partPages{leaves, inner, math.Ceil(over), per, bytes / math.Max(1, float64(rows))})
	b.s.term("table: rows per leaf", per, "rows", "appended rows pack a page full: floor((page - 8) / (cell + 2)) (balance_quick)")
	return pages, nil
}

// packed fills pages with sampled rows; returns leaves, overflow pages and cell
// bytes a row.
func (b *liteBuilder) packed(at []int, extra, usable int) (leaves, over, bytes float64) {
	const sample = 20_000
	used, pages := 0, 1
	for r := range uint64(sample) {
		size, ov := b.cell(b.record(at, r, -1), extra, true)
		over += float64(ov)
		bytes += float64(size)
		if used+size+litePointer > usable {
			pages++
			used = 0
		}
		used += size + litePointer
	}
	full := float64(pages-1) + float64(used)/float64(usable)
	return full / sample, over / sample, bytes / sample
}

type partPages struct{ leaves, inner, over, per, cell float64 }

func (b *liteBuilder) part(name string, index bool, p partPages) {
	b.s.Parts = append(b.s.Parts, Part{Name: name, Index: index, Bytes: int64(p.leaves+p.inner+p.over) * int64(b.page),
		Leaves: int64(p.leaves), ItemsPerLeaf: p.per, Fill: math.Min(1, p.per*(p.cell+litePointer)/float64(b.page-liteLeafHeader))})
	b.s.term(name+": cell", p.cell, "B", srcLiteRow)
	b.s.term(name+": leaf pages", p.leaves, fmt.Sprintf("pages of %d B", b.page), "rows / rows per leaf")
	b.s.term(name+": interior pages", p.inner, "pages", "child pointer and key a leaf")
	if p.over > 0 {
		b.s.term(name+": overflow pages", p.over, "pages", "payload beyond the local limit, page - 4 B each")
	}
}

// indexPages returns the pages of a secondary b-tree.
func (b *liteBuilder) indexPages(ix *Index) (float64, error) {
	var at []int
	for _, name := range ix.Columns {
		i := slices.IndexFunc(b.cols, func(c Column) bool { return c.Name == name })
		if i < 0 {
			return 0, fmt.Errorf("index %q: no column %q", ix.Name, name)
		}
		at = append(at, i)
	}
	plan := planKeys(b.t, ix, b.in.Order, float64(b.in.Rows))
	inner := Order{} // rowids grow
	if b.t.WithoutRowid {
		for _, name := range b.t.Primary().Columns {
			i := slices.IndexFunc(b.cols, func(c Column) bool { return c.Name == name })
			if !slices.Contains(at, i) {
				at = append(at, i)
			}
		}
		inner = b.in.Order
	}
	if plan.dup > 1 {
		values := math.Max(1, float64(b.in.Rows)/plan.dup)
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
	if plan.assumed != "" {
		b.s.Notes = append(b.s.Notes, fmt.Sprintf("index %s: assumed that %s", ix.Name, plan.assumed))
	}
	return b.tree(liteIndex{name: ix.Name, index: true, at: at, plan: plan, rowid: !b.t.WithoutRowid})
}

type liteIndex struct {
	name  string
	index bool
	at    []int
	plan  keyPlan
	rowid bool // the rowid is part of the record
	table bool // rowid table in random order
}

// tree replays insertions and scales to all rows.
func (b *liteBuilder) tree(x liteIndex) (float64, error) {
	rows := float64(b.in.Rows)
	if rows == 0 {
		b.part(x.name, x.index, partPages{leaves: 1})
		return 1, nil
	}
	bulk := b.in.State == Rebuilt
	if bulk {
		x.plan.order = Order{}
	}
	n := math.Min(rows, liteSim)
	q, _ := x.plan.scale(rows, n)
	offset := uint64(0)
	if rows > n { // rowids of the later, larger part
		offset = uint64(rows - n)
	}
	cell := func(i uint64) (int, int) {
		rowid := int64(-1)
		if x.rowid {
			rowid = int64(i + 1 + offset)
		}
		extra := 0
		if x.table {
			extra = 4
		}
		return b.cell(b.record(x.at, i, rowid), extra, x.table)
	}
	r := liteReplay(liteReplayInput{page: b.page, table: x.table, bulk: bulk, plan: q, n: uint64(n), fixed: b.fixed(x.at) && rows > 2*n}, cell)
	leaves, inner := r.leaves, r.inner
	if rows > n {
		k := rows / n
		leaves, inner = r.perRow*rows, math.Max(1, r.inner*k)
	}
	leaves, inner = math.Ceil(leaves), math.Ceil(inner)
	over := math.Ceil(r.over / n * rows)
	per := rows / leaves
	if !bulk {
		b.s.Basis = Simulated
	}
	b.part(x.name, x.index, partPages{leaves, inner, over, per, r.bytes / n})
	src := fmt.Sprintf("key order %s: balancing of three siblings replayed (btree.c, balance_nonroot)", x.plan.order)
	if bulk {
		src = "VACUUM loads in key order and packs pages (BTREE_BULKLOAD)"
	}
	b.s.term(x.name+": rows per leaf", per, "rows", src)
	return leaves + inner + over, nil
}

type liteReplayInput struct {
	page        int
	table, bulk bool
	plan        keyPlan
	n           uint64
	fixed       bool
}

type liteReplayResult struct {
	leaves, inner, over, bytes float64
	perRow                     float64 // leaves a row, averaged over one doubling
}

type liteReplayID struct {
	page        int
	table, bulk bool
	plan        string
	n, sizes    uint64
}

var liteReplays sync.Map

func liteReplay(in liteReplayInput, cell func(uint64) (int, int)) liteReplayResult {
	h := uint64(0)
	for i := uint64(0); i < in.n; i += 1 + in.n/512 {
		size, over := cell(i)
		h = splitmix64(h ^ uint64(size) ^ uint64(over)<<32)
	}
	id := liteReplayID{in.page, in.table, in.bulk, in.plan.id(), in.n, h}
	if v, ok := liteReplays.Load(id); ok {
		return v.(liteReplayResult)
	}
	var r liteReplayResult
	g := newKeyGen(in.plan, in.n, 1)
	t := newLiteTree(in.page, in.table, in.bulk)
	var marks []uint64
	for i := range 5 {
		marks = append(marks, uint64(float64(in.n)*math.Pow(2, -float64(4-i)/5)))
	}
	size, over := cell(0)
	for i := range in.n {
		if !in.fixed || i < 4 {
			size, over = cell(i)
		}
		r.bytes += float64(size)
		r.over += float64(over)
		t.insert(g.key(i), size)
		if len(marks) > 0 && i+1 == marks[0] {
			leaves, _ := t.pages()
			r.perRow += float64(leaves) / float64(i+1) / 5
			marks = marks[1:]
		}
	}
	leaves, inner := t.pages()
	r.leaves, r.inner = float64(leaves), float64(inner)
	liteReplays.Store(id, r)
	return r
}
