package plan

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/relplan/relplan/capacity/storage"
	"github.com/relplan/relplan/capacity/storage/ddl"
	"github.com/relplan/relplan/internal/diag"
)

// maxDDL bounds a CREATE TABLE file.
const maxDDL = 1 << 20

// table reads or builds the table of a store; nil without columns.
func (f *File) table(s *Store) (*storage.Table, error) {
	engine := storage.Engine(s.Engine.V)
	var t *storage.Table
	switch {
	case s.DDL.Set:
		var err error
		if t, err = f.readDDL(s); err != nil {
			return nil, err
		}
	case s.Columns == nil:
		return nil, nil
	default:
		dialect, ok := ddl.Of(engine)
		if !ok {
			dialect = ddl.PostgreSQL
		}
		t = &storage.Table{Name: s.Name}
		for _, c := range s.Columns {
			col := storage.Column{Name: c.Name, NotNull: c.Null.V == 0}
			if c.Type != "" {
				parsed, err := ddl.ColumnType(c.Type, dialect)
				if err != nil {
					return nil, diag.New(c.Pos, "column '%s': %v", c.Name, err)
				}
				parsed.Name, parsed.NotNull = col.Name, col.NotNull
				col = parsed
			}
			t.Columns = append(t.Columns, col)
		}
		t.WithoutRowid = false
	}
	if len(s.Primary) > 0 {
		if t.Primary() != nil {
			return nil, &diag.Err{Diagnostics: []diag.Diagnostic{{Code: codeKey, Pos: s.Pos, Message: fmt.Sprintf("store '%s' has its primary key twice: in keys and in %s", s.Name, s.DDL.V),
				Hint: "leave keys: {primary: ..} out"}}}
		}
		t.Indexes = append([]storage.Index{{Name: "primary key", Primary: true, Unique: true, Columns: s.Primary}}, t.Indexes...)
	}
	for _, cols := range s.Indexes {
		t.Indexes = append(t.Indexes, storage.Index{Name: fmt.Sprintf("%s%v", s.Name, cols), Columns: cols})
	}
	return t, f.describeColumns(s, t)
}

// describeColumns puts the facts of the plan on the columns and checks names.
func (f *File) describeColumns(s *Store, t *storage.Table) error {
	var l diag.List
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = c.Name
	}
	unknown := func(name string, pos diag.Pos) {
		g := diag.Diagnostic{Code: codeRef, Pos: pos, Message: fmt.Sprintf("store '%s' has no column '%s'", s.Name, name)}
		if near, ok := diag.Closest(name, names); ok {
			g.Hint = "did you mean: " + near
		}
		l.Add(g)
	}
	for _, c := range s.Columns {
		col := t.Column(c.Name)
		if col == nil {
			unknown(c.Name, c.Pos)
			continue
		}
		col.Null, col.SD, col.Distinct = c.Null.V, float64(c.SD.V), float64(c.Distinct.V)
		if c.Mean.Set {
			col.Mean = math.Max(float64(c.Mean.V), 1e-9) // 0 would mean that nothing is known
		}
		if c.MeanHigh.Set {
			col.Mean = math.Sqrt(col.Mean * float64(c.MeanHigh.V)) // the median of the lognormal between them
		}
		if c.Order.Set {
			o, err := storage.ParseOrder(c.Order.V)
			l.AddErr(c.Order.Pos, codeValue, err)
			col.Order = &o
		}
	}
	for _, ix := range t.Indexes {
		for _, name := range ix.Columns {
			if t.Column(name) == nil {
				unknown(name, s.Pos)
			}
		}
	}
	f.checkNulls(s, t, &l)
	f.checkEntryColumns(s, &l)
	return l.Err()
}

// readDDL reads the CREATE TABLE file of a store.
func (f *File) readDDL(s *Store) (*storage.Table, error) {
	engine := storage.Engine(s.Engine.V)
	dialect, ok := ddl.Of(engine)
	if !ok {
		if engine != storage.Archive {
			return nil, diag.New(s.DDL.Pos, "engine %s has no CREATE TABLE, describe it with columns", engine)
		}
		dialect = ddl.PostgreSQL
	}
	path := s.DDL.V
	if !filepath.IsAbs(path) {
		path = filepath.Join(f.Dir, path)
	}
	src, err := readUpTo(path, maxDDL)
	if err != nil {
		var pe *os.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return nil, diag.New(s.DDL.Pos, "cannot read %s: %v", s.DDL.V, err)
	}
	if f.OnRead != nil {
		f.OnRead(path, src)
	}
	return pickTable(s, path, src, dialect)
}

// pickTable parses a DDL file and picks the table of the store.
func pickTable(s *Store, path string, src []byte, d ddl.Dialect) (*storage.Table, error) {
	var l diag.List
	tables := ddl.Parse(path, src, d, &l)
	if l.HasErrors() {
		return nil, l.Err()
	}
	want := s.Options.Table.Or(s.Name)
	var names []string
	for _, t := range tables {
		if t.Name == want {
			return t, nil
		}
		names = append(names, t.Name)
	}
	if len(tables) == 1 && !s.Options.Table.Set {
		return tables[0], nil
	}
	return nil, &diag.Err{Diagnostics: []diag.Diagnostic{{Code: codeRef, Pos: s.DDL.Pos, Message: fmt.Sprintf("%s has no table '%s' but %v", path, want, names),
		Hint: "name the table with options: {table: ...}"}}}
}

// storageInput is what the size of a store with rows rows is computed from; ok is
// false if the store has neither columns nor DDL.
func (f *File) storageInput(s *Store, rows int64) (in storage.Input, ok bool, err error) {
	in = storage.Input{Engine: storage.Engine(s.Engine.V), Rows: rows, PageSize: int(s.Options.PageSize.V)}
	switch {
	case s.Rows.Set:
		in.State = s.State
	case in.Engine == storage.Postgres:
		in.State = storage.Vacuumed
	}
	if s.KeyOrder.Set {
		if in.Order, err = storage.ParseOrder(s.KeyOrder.V); err != nil {
			return in, false, err
		}
	}
	t, err := f.table(s)
	if err != nil || t == nil {
		return in, false, err
	}
	if in.Engine.Relational() || in.Engine == storage.Archive {
		in.Table = t
		if w := f.workload(s.Holds.V); w != nil && !s.Rows.Set {
			secondsDistinct(t, in.Engine, rows, w.rate().Float())
		}
	}
	entryOptions(&in, t, s)
	return in, true, nil
}

// entryOptions fills the options of engines that store entries, not tables, from
// columns called key, value, subject, payload, msg_id and headers.
func entryOptions(in *storage.Input, t *storage.Table, s *Store) {
	mean := func(names ...string) float64 {
		for _, n := range names {
			if c := t.Column(n); c != nil {
				return c.Mean
			}
		}
		return 0
	}
	o := s.Options
	key, value := mean("key", "field", "member", "id"), mean("value", "payload")
	switch in.Engine {
	case storage.Redis:
		r := &storage.RedisOptions{Structure: o.Structure.V, Key: key, Value: value, TTL: !s.Forever && o.Structure.Or("string") == "string", Per: o.Per.V}
		if o.Allocator.V == "system" {
			r.Quantum = 16
		}
		in.Redis = r
	case storage.NATSStream, storage.NATSKV:
		n := &storage.NATSOptions{Subject: mean("subject", "key"), Bucket: len(o.Bucket.V), Payload: value,
			MsgID: mean("msg_id"), Headers: mean("headers"), Subjects: o.Subjects.V, Limited: !s.Forever}
		in.NATS = n
	case storage.LSM:
		in.LSM = &storage.LSMOptions{Key: key, Value: value, Prefix: float64(o.Prefix.V), Text: o.Hex, Compression: o.Compression.V}
	case storage.Kafka:
		k := &storage.KafkaOptions{Key: key, Value: value, Headers: mean("headers"), Batch: float64(o.Batch.V),
			RatioLow: o.Ratio[0], RatioHigh: o.Ratio[1], Partitions: o.Partitions.V, SegmentBytes: float64(o.Segment.V)}
		if k.Headers > 0 {
			k.HeaderCount = 1
		}
		in.Kafka = k
	case storage.Archive:
		in.Archive = &storage.ArchiveOptions{Format: o.Format.V, Codec: o.Codec.V}
	}
}

// life is how rows of the store come and go when it holds a window; policy tells
// whether the plan says.
func (s *Store) life(window time.Duration) (l storage.Life, policy bool) {
	o := s.Options
	l = storage.Life{RowsPerCommit: float64(o.RowsPerCommit.V), RowsPerCheckpoint: float64(o.RowsPerCheckpoint.V),
		WALCompression: o.WALCompression.V, Updates: o.Updates.V, UpdateIndexed: o.UpdatesIndexed}
	retain := window.Seconds()
	switch {
	case s.Delete.Never || s.Forever:
		return l, s.Delete.Never
	case s.Delete.Partition.Set:
		l.Delete, l.Partitions = storage.DeletePartition, 1
		if retain > 0 {
			l.PartitionShare = s.Delete.Partition.V.Seconds() / retain
			l.Partitions = int(math.Min(math.MaxInt32, math.Ceil(1/l.PartitionShare)))
		}
	case s.Delete.Sweep.Set || s.Delete.VacuumEvery.Set:
		l.Delete = storage.DeleteSweep
		if s.Delete.Sweep.Set && retain > 0 {
			l.VacuumShare = s.Delete.Sweep.V.Seconds() / retain
		}
		if s.Delete.VacuumEvery.Set {
			l.VacuumShare = math.Max(l.VacuumShare, s.Delete.VacuumEvery.V)
		}
	case !storage.Engine(s.Engine.V).Relational() && storage.Engine(s.Engine.V) != storage.Archive:
		l.Delete = storage.DeleteExpire
	default:
		return l, false
	}
	return l, true
}

// readUpTo reads a file of at most max bytes, also where its size is not known
// beforehand, as for a pipe.
func readUpTo(path string, max int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, max+1))
	if err == nil && int64(len(src)) > max {
		err = fmt.Errorf("it has more than %d bytes", max)
	}
	return src, err
}
