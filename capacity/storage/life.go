package storage

import (
	"fmt"
	"math"
)

// DeleteKind says how rows leave.
type DeleteKind uint8

const (
	// DeleteNever: rows stay; the store grows for ever.
	DeleteNever DeleteKind = iota
	// DeletePartition: whole partitions of time are dropped.
	DeletePartition
	// DeleteSweep: rows are deleted in batches, and VACUUM (or purge) frees them.
	DeleteSweep
	// DeleteExpire: the engine removes them itself (TTL, MaxAge, segments).
	DeleteExpire
)

// Life is how rows come and go.
type Life struct {
	Delete DeleteKind
	// Partitions that the window spans, for DeletePartition; one more exists
	// while it is filled.
	Partitions int
	// PartitionShare is the length of a partition as a share of the window; 0 =
	// 1 / Partitions. A partition goes when its youngest row leaves the window,
	// so up to 1 + PartitionShare of the window is held.
	PartitionShare float64
	// VacuumShare is the rows that arrive between two vacuums as a share of the
	// window, for DeleteSweep; 0 = 0.1.
	VacuumShare float64
	// Turnovers of the window to look at; 0 = DefaultTurnovers.
	Turnovers float64
	// RowsPerCommit is the rows of one transaction; 0 = 1.
	RowsPerCommit float64
	// RowsPerCheckpoint is the rows inserted between two checkpoints
	// (PostgreSQL); 0 = every touched page is cold, the worst case.
	RowsPerCheckpoint float64
	// WALCompression is "off", "lz4" or "zstd"; "" = off.
	WALCompression string
	// Updates is the number of updates in the life of a row, and UpdateIndexed
	// says that they change an indexed column (no HOT update).
	Updates       float64
	UpdateIndexed bool
	// UpdateVacuumShare is the rows that arrive between two vacuums as a share
	// of the table, for dead versions; 0 = 0.1.
	UpdateVacuumShare float64
	// NullToValue: the first update sets columns that were NULL (InnoDB: the row
	// grows in a full page).
	NullToValue bool
}

// DefaultTurnovers of a window under deletion: the decay of random indexes was
// measured over four and slows down there (docs/capacity.md).
const DefaultTurnovers = 4

// Flow is the log volume of a row in its life.
type Flow struct {
	// Insert, Commit, PageImages, Update, Delete are WAL or redo bytes a row.
	Insert, Commit, PageImages, Update, Delete float64
	// Binlog is bytes of the row-format binary log a row (InnoDB).
	Binlog float64
	Terms  []Term
	Notes  []string
}

// Total is all WAL or redo bytes a row; the binary log is separate.
func (f Flow) Total() float64 { return f.Insert + f.Commit + f.PageImages + f.Update + f.Delete }

func (f *Flow) term(name string, v float64, src string) {
	f.Terms = append(f.Terms, Term{Name: name, Value: v, Unit: "B/row", Source: src})
}

// Plateau returns the bytes once the window is full and rows leave as l says.
// For DeleteNever it is the size of the rows alone.
func Plateau(in Input, l Life) (Size, error) {
	if l.VacuumShare == 0 {
		l.VacuumShare = 0.1
	}
	if l.Turnovers == 0 {
		l.Turnovers = DefaultTurnovers
	}
	if l.VacuumShare < 0 || l.VacuumShare > 10 || l.Turnovers < 0 || l.Turnovers > 1000 {
		return Size{}, fmt.Errorf("vacuum share %v or turnovers %v out of range", l.VacuumShare, l.Turnovers)
	}
	switch l.Delete {
	case DeletePartition:
		return partitioned(in, l)
	case DeleteSweep:
		return swept(in, l)
	case DeleteExpire:
		return expired(in)
	}
	return Estimate(in)
}

// partitioned sizes the partitions of the window and the one being filled.
func partitioned(in Input, l Life) (Size, error) {
	n := max(1, l.Partitions)
	if n > MaxPartitions {
		return Size{}, fmt.Errorf("%d partitions in the window: at most %d are sized, make them longer", n, MaxPartitions)
	}
	share := l.PartitionShare
	if share == 0 {
		share = 1 / float64(n)
	}
	rows := in.Rows
	if in.Table != nil {
		t := *in.Table
		t.Partitions = n + 1
		in.Table = &t
	}
	in.Rows = rows + int64(math.Ceil(float64(rows)*share))
	s, err := Estimate(in)
	if err != nil {
		return s, err
	}
	s.Rows, s.Held = rows, in.Rows
	window := fmt.Sprintf("%d partitions of the window and the one being filled", n)
	if n == 1 {
		window = "one partition of the window and the one being filled"
	}
	s.Notes = append(s.Notes, window+"; DROP gives back the bytes of one partition")
	return s, nil
}

// MaxPartitions is the most partitions of a window that are sized. Source: the
// limit of MySQL and MariaDB (8,192 a table); PostgreSQL plans slow down before.
const MaxPartitions = 8192

// swept sizes DELETE in batches.
func swept(in Input, l Life) (Size, error) {
	switch in.Engine {
	case Postgres:
		return pgPlateau(in, steady{share: l.VacuumShare, turnovers: l.Turnovers})
	case InnoDB, SQLite:
	default:
		return expired(in)
	}
	rows := in.Rows
	grown := in
	grown.Rows = rows + int64(math.Ceil(float64(rows)*l.VacuumShare))
	s, err := Estimate(grown)
	if err != nil {
		return s, err
	}
	s.Rows, s.Held = rows, grown.Rows
	s.Basis = Measured
	if in.Engine == SQLite {
		k := 1.0
		if !in.Order.sorted() { // index fill 0.89 -> 0.76 after 3 turnovers, measured
			k = 1 + 0.17*float64(s.Index)/math.Max(1, float64(s.Total))*math.Min(1, l.Turnovers/3)
		}
		s.Total = int64(float64(s.Total) * k)
		s.spread(0.03, 0.04)
		s.Notes = append(s.Notes, "SQLite reuses freed pages; random index pages decay from 0.89 to 0.76 full within 3 turnovers (measured)")
		return s, nil
	}
	s.spread(0.03, 0.14)
	s.Notes = append(s.Notes, "InnoDB: purge lags by 1 to 4 delete batches (measured), so the upper bound has two more batches; the file never shrinks")
	return s, nil
}

// expired sizes engines that remove rows themselves.
func expired(in Input) (Size, error) {
	if in.Engine == NATSStream || in.Engine == NATSKV {
		o := NATSOptions{}
		if in.NATS != nil {
			o = *in.NATS
		}
		o.Limited = true
		in.NATS = &o
	}
	s, err := Estimate(in)
	if err != nil {
		return s, err
	}
	switch in.Engine {
	case Redis:
		s.spread(0, 0.10)
		s.Notes = append(s.Notes, "Redis: active expiry keeps expired keys below about 10 % (active-expire-effort 1)")
	case LSM:
		s.spread(0.06, 0.35)
		s.Notes = append(s.Notes, "LSM: deleted and expired entries stay until compaction: 15 % more with values, up to 60 % for keys alone (measured)")
	}
	return s, nil
}

// LogFlow returns the log volume of a row of the table.
func LogFlow(in Input, l Life) (Flow, error) {
	if l.RowsPerCommit <= 0 {
		l.RowsPerCommit = 1
	}
	if l.UpdateVacuumShare == 0 {
		l.UpdateVacuumShare = 0.1
	}
	switch in.Engine {
	case Postgres:
		return pgFlow(in, l)
	case InnoDB:
		return innoFlow(in, l)
	case SQLite:
		return liteFlow(in, l)
	}
	return Flow{}, nil
}

// WAL record sizes of PostgreSQL 15, measured where a source gives no closed
// form (see docs/capacity.md).
const (
	pgWALHeap       = 33   // XLogRecord 24 + block header + xl_heap_insert + header
	pgWALIndex      = 35   // the same for xl_btree_insert
	pgWALSplitEnd   = 1900 // a split at the right edge logs the new right page
	pgWALSplitInner = 4700 // a split in the middle logs half a page and its parent
	pgWALCommit     = 40
	pgWALDeleteWarm = 72
	pgWALDeleteCold = 330
)

func pgFlow(in Input, l Life) (Flow, error) {
	s, err := Estimate(in)
	if err != nil {
		return Flow{}, err
	}
	var f Flow
	tuple := s.find("tuple")
	heap := float64(align8(int(math.Round(tuple)) + pgWALHeap))
	f.Insert = heap
	f.term("heap record", heap, "align8(tuple + 33) (heapam_xlog.h)")
	shrink := map[string]float64{"": 1, "off": 1, "lz4": 0.70, "zstd": 0.50}[l.WALCompression]
	if shrink == 0 {
		return f, fmt.Errorf("wal compression %q, known: off, lz4, zstd", l.WALCompression)
	}
	updates := heap + 14
	for i := range in.Table.Indexes {
		ix := &in.Table.Indexes[i]
		p := planKeys(in.Table, ix, in.Order, float64(in.Rows))
		item := s.find(ix.Name+": index item") - pgItemID
		per := math.Max(1, s.find(ix.Name+": rows per leaf"))
		rec := float64(align8(int(item) + pgWALIndex))
		split := pgWALSplitInner / per
		if p.order.sorted() || per*(item+pgItemID) > 0.85*pgLeafUsable {
			split = pgWALSplitEnd / per
		}
		f.Insert += rec + split
		updates += rec + split
		f.term(ix.Name+": index record", rec, "align8(index tuple + 35) (nbtxlog.h)")
		f.term(ix.Name+": splits", split, "1,900 B a split at the right edge, 4,700 B in the middle, a leaf (measured)")
		if !p.order.sorted() && p.dup <= 1 {
			leaves := float64(in.Rows) / per
			k := l.RowsPerCheckpoint
			touched := 1.0 // a row, when every page is cold
			if k > 0 {
				touched = leaves * -math.Expm1(-k/leaves) / k
			}
			img := touched * (pgPage*math.Min(1, per*(item+pgItemID)/pgLeafUsable) + 50) * shrink
			f.PageImages += img
			f.term(ix.Name+": full-page images", img, "L(1 - exp(-k/L))/k x (8,192 x fill + 50) for k rows a checkpoint on L leaves; one a row when cold")
		}
	}
	f.Commit = pgWALCommit / l.RowsPerCommit
	f.term("commit", f.Commit, "40 B a transaction / rows per commit")
	if l.Updates > 0 {
		if !l.UpdateIndexed { // HOT on the same page: prefix and suffix elided
			updates = 0.4 * heap
		}
		f.Update = l.Updates * updates
		f.term("updates", f.Update, "a new version and, unless HOT, a new entry in every index (measured 905 B for a 640-B tuple with two indexes)")
	}
	switch l.Delete {
	case DeleteSweep:
		f.Delete = pgWALDeleteCold
		f.term("delete and vacuum", f.Delete, "330 B when each page needs an image, 72 B warm (measured)")
	case DeletePartition:
		f.term("drop partition", 0, "41 kB a partition (measured)")
	}
	return f, nil
}

// FieldBytes returns the mean bytes of the values of a row, without any storage
// overhead: what a record of the table carries. 0 if a length is not known.
func FieldBytes(e Engine, t *Table) float64 {
	var cols []Column
	var err error
	switch e {
	case InnoDB:
		cols, _, err = innoColumns(t)
	case SQLite:
		cols, err = liteColumns(t)
	case Postgres:
		cols, _, err = pgColumns(t)
	case Archive: // its CREATE TABLE is PostgreSQL's, its columns may have no types
		if cols, _, err = pgColumns(t); err != nil {
			cols, err = t.Columns, nil
		}
	default:
		cols = t.Columns
	}
	if err != nil {
		return 0
	}
	n := 0.0
	for _, c := range cols {
		n += math.Round(c.Mean*1000) / 1000 * (1 - c.Null)
	}
	return n
}

// find returns the value of a term.
func (s Size) find(name string) float64 {
	for _, t := range s.Terms {
		if t.Name == name {
			return t.Value
		}
	}
	return 0
}

func innoFlow(in Input, l Life) (Flow, error) {
	s, err := Estimate(in)
	if err != nil {
		return Flow{}, err
	}
	cols, types, err := innoColumns(in.Table)
	if err != nil {
		return Flow{}, err
	}
	b := innoBuilder{in: in, t: in.Table, cols: cols, types: types, rows: float64(in.Rows), parts: 1, s: &Size{}}
	b.clusterKey()
	pk := float64(innoRowID)
	name := "row id"
	order := Order{}
	if b.pk != nil {
		at, err := b.at(b.pk)
		if err != nil {
			return Flow{}, err
		}
		pk, name = float64(b.record(at, 0)(0)-innoHeader), "primary key"
		order = planKeys(in.Table, b.pk, in.Order, b.rows).order
	}
	var f Flow
	rec := s.find(name + ": record")
	f.Insert = rec + pk + 5
	f.term("clustered record and undo", f.Insert, "record + primary key in the undo log + 5 B (mtr0log, measured within 5 %)")
	if !order.sorted() {
		f.PageImages = 0.72 * rec
		if order.Kind == Increasing { // interleaved streams split at the new record
			f.PageImages = 0.05 * rec
		}
		f.term("page splits", f.PageImages, "0.72 x record for keys that do not only grow, 0.05 for interleaved streams (measured)")
	}
	for i := range in.Table.Indexes {
		ix := &in.Table.Indexes[i]
		if ix == b.pk {
			continue
		}
		r := s.find(ix.Name+": record") + 9
		f.Insert += r
		f.term(ix.Name+": record", r, "secondary record + 9 B")
	}
	raw := 0.0
	for _, c := range cols {
		raw += c.Mean * (1 - c.Null)
	}
	f.Binlog = raw + 1.6*float64(len(cols)) + 2 + 340/l.RowsPerCommit
	f.Terms = append(f.Terms, Term{Name: "binary log", Value: f.Binlog, Unit: "B/row",
		Source: "ROW format: values + 1.6 B a column + 2; GTID, BEGIN, table map and XID of 340 B a transaction (measured)"})
	if l.Updates > 0 {
		first := 726.0 / 604 * rec
		f.Update = l.Updates * first
		if l.NullToValue {
			f.Update += 5145 - first
			f.Notes = append(f.Notes, "the first update from NULL to a value in pages that are 15/16 full reorganises them again and again: 5,145 B of redo a row measured; declare such columns NOT NULL with a fixed width")
		}
		f.term("updates", f.Update, "1.2 x record an update (measured 726 B for a 604-B record)")
		f.Binlog += l.Updates * 2 * (raw + 2)
	}
	if l.Delete == DeleteSweep {
		f.Delete = rec*0.35 + 60
		f.term("delete and purge", f.Delete, "delete mark, undo and purge, about 60 B and a third of the record")
	}
	if in.Table.RowFormat == "compressed" {
		f.Insert *= 4
		f.PageImages *= 4
		f.Notes = append(f.Notes, "COMPRESSED writes whole compressed pages: redo about four times (measured)")
	}
	return f, nil
}

func liteFlow(in Input, l Life) (Flow, error) {
	s, err := Estimate(in)
	if err != nil {
		return Flow{}, err
	}
	page := float64(litePage)
	if in.PageSize > 0 {
		page = float64(in.PageSize)
	}
	frame := page + 24
	k := l.RowsPerCommit
	var f Flow
	for _, p := range s.Parts {
		sorted := true
		for i := range in.Table.Indexes {
			if ix := &in.Table.Indexes[i]; ix.Name == p.Name || (ix.Primary && !p.Index && in.Table.WithoutRowid) {
				sorted = planKeys(in.Table, ix, in.Order, float64(in.Rows)).order.sorted()
			}
		}
		leaves := math.Max(1, float64(p.Leaves))
		pages := 1.15 + k/math.Max(1, p.ItemsPerLeaf)
		if !sorted {
			pages = leaves * -math.Expm1(-k/leaves) * 1.2
		}
		w := pages * frame / k
		f.Insert += w
		f.term(p.Name+": WAL pages", w, "whole pages of page + 24 B a transaction: one leaf and its growth, or every leaf touched")
	}
	return f, nil
}

// ChurnBytes returns the bytes of a PostgreSQL heap whose rows are updated
// Updates times in their life: each update leaves a dead version until the next
// VACUUM. Source: measured 762 B (vacuum each 1 %), 877 (10 %), 2,086 (never) a
// row of 660 B with two updates.
func ChurnBytes(s Size, l Life, rows float64) float64 {
	share := l.UpdateVacuumShare
	if share == 0 {
		share = 0.1
	}
	for _, p := range s.Parts {
		if p.Name == "heap" {
			return float64(p.Bytes) * (1 + l.Updates*share)
		}
	}
	return float64(s.Table) * (1 + l.Updates*share)
}
