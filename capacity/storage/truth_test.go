package storage_test

import (
	"encoding/csv"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/relplan/relplan/capacity/storage"
	"github.com/relplan/relplan/capacity/storage/ddl"
	"github.com/relplan/relplan/internal/diag"
)

// truthRow is one measurement of testdata/truth.csv.
type truthRow struct {
	engine, schema, order, phase, notes, version string
	rows, table, index, total, wal               int64
}

func readTruth(t testing.TB) []truthRow {
	f, err := os.Open("testdata/truth.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	recs, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	num := func(s string) int64 {
		n, _ := strconv.ParseInt(s, 10, 64)
		return n
	}
	var out []truthRow
	for _, r := range recs[1:] {
		out = append(out, truthRow{engine: r[0], version: r[1], schema: r[2], order: r[3], rows: num(r[4]), phase: r[5],
			table: num(r[6]), index: num(r[7]), total: num(r[8]), wal: num(r[9]), notes: r[11]})
	}
	return out
}

// truthMeans are the lengths of the values that testdata/truth.csv was loaded
// with (all values of a column have the same length).
func truthMeans(engine, schema string, t *storage.Table) {
	for i := range t.Columns {
		c := &t.Columns[i]
		bin := strings.Contains(schema, "bin")
		switch c.Name {
		case "consumer_name":
			c.Mean, c.Distinct = 13, 1
		case "event_id":
			if c.Mean = 36; bin {
				c.Mean = 16
			}
		case "payload_hash":
			if c.Mean = 64; bin || strings.Contains(schema, "bigint") {
				c.Mean = 32
			}
		case "result_code":
			c.Mean = 2
		case "result":
			c.Mean = 195
		case "aggregate_type":
			c.Mean = 5
		case "aggregate_id":
			c.Mean = 36
		case "type":
			c.Mean = 11
		case "payload":
			c.Mean = 501
		case "state":
			c.Mean, c.Distinct = 7, 1
		case "claim_id", "lease_until":
			c.Null = 1
		case "consumer_id":
			c.Distinct = 1
		case "created_at":
			if strings.HasSuffix(schema, "tssec") {
				c.Distinct = 10
				c.Order = &storage.Order{}
			}
		}
	}
}

func truthInput(t testing.TB, r truthRow, dialect ddl.Dialect, dir string) (storage.Input, bool) {
	base, suffix, _ := strings.Cut(r.schema, "@")
	file := base
	part := strings.HasSuffix(base, "_part10")
	if part {
		file = strings.TrimSuffix(base, "_part10") + "_ts"
	}
	src, err := os.ReadFile("testdata/truth/" + dir + "/" + file + ".sql")
	if err != nil {
		return storage.Input{}, false
	}
	var l diag.List
	tabs := ddl.Parse(file+".sql", src, dialect, &l)
	if len(tabs) != 1 || l.HasErrors() {
		t.Fatalf("%s: %v", file, l.Sorted())
	}
	tab := tabs[0]
	truthMeans(dir, file, tab)
	in := storage.Input{Rows: r.rows, Table: tab, Order: truthOrder(t, r.order)}
	if part {
		tab.Partitions = int(r.rows / 100_000)
		pk := tab.Primary()
		pk.Columns = append(pk.Columns, "created_at")
	}
	switch {
	case strings.HasSuffix(suffix, "consumers"):
		k, _ := strconv.Atoi(strings.TrimSuffix(suffix, "consumers"))
		in.Order.Streams = k
	case strings.HasPrefix(suffix, "idxff"):
		ff, _ := strconv.Atoi(suffix[5:])
		tab.Primary().FillFactor = ff
	case suffix == "heapff70":
		tab.FillFactor = 70
	case suffix == "" || suffix == "copy" || suffix == "row_commit" || strings.HasPrefix(suffix, "batch"):
	default:
		return in, false
	}
	switch r.phase {
	case "loaded":
	case "loaded+vacuum":
		in.State = storage.Vacuumed
	case "VACUUM", "OPTIMIZE TABLE", "reindexed":
		in.State = storage.Rebuilt
	default:
		return in, false
	}
	return in, true
}

func truthOrder(t testing.TB, s string) storage.Order {
	switch {
	case s == "seq":
		return storage.Order{}
	case s == "uuid7":
		s = "uuid7:100"
	case strings.HasPrefix(s, "uuid7j"):
		s = "uuid7:" + s[6:]
	}
	o, err := storage.ParseOrder(s)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// worst collects errors of one engine.
type worst struct {
	n        int
	sum, max float64
	name     string
}

func (w *worst) add(name string, got, want int64) float64 {
	e := float64(got)/float64(want) - 1
	w.n++
	w.sum += math.Abs(e)
	if math.Abs(e) > w.max {
		w.max, w.name = math.Abs(e), name
	}
	return e
}

func TestTruthPostgres(t *testing.T) {
	var big, small worst
	for _, r := range readTruth(t) {
		if r.engine != "postgres" {
			continue
		}
		in, ok := truthInput(t, r, ddl.PostgreSQL, "postgres")
		if !ok {
			continue
		}
		in.Engine = storage.Postgres
		s, err := storage.Estimate(in)
		if err != nil {
			t.Fatalf("%s: %v", r.schema, err)
		}
		name := r.schema + " " + r.order + " " + r.phase
		w := &big
		if r.rows < 1_000_000 {
			w = &small
		}
		e := w.add(name, s.Total, r.total)
		if s.Table != r.table && !strings.Contains(r.schema, "part10") {
			t.Errorf("%s: heap %d, measured %d", name, s.Table, r.table)
		}
		if math.Abs(e) > 0.03 {
			t.Errorf("%s %d rows: total %d, measured %d: %+.2f %%", name, r.rows, s.Total, r.total, 100*e)
		}
		if testing.Verbose() {
			t.Logf("%-40s %8d table %+.2f%% index %+.2f%% total %+.2f%%", name, r.rows, 100*(float64(s.Table)/float64(r.table)-1),
				100*(float64(s.Index)/float64(max(1, r.index))-1), 100*e)
		}
	}
	if mean := big.sum / float64(big.n); mean > 0.01 {
		t.Errorf("mean error %.2f %%", 100*mean)
	}
	t.Logf("1e6 rows and more: %d cases, mean %.3f %%, max %.2f %% (%s); fewer: %d, %.3f %%, %.2f %% (%s)",
		big.n, 100*big.sum/float64(big.n), 100*big.max, big.name, small.n, 100*small.sum/float64(small.n), 100*small.max, small.name)
}

func TestTruthInnoDB(t *testing.T) {
	var big, clustered, secondary, small worst
	for _, r := range readTruth(t) {
		if r.engine != "mariadb-innodb" {
			continue
		}
		in, ok := truthInput(t, r, ddl.MySQL, "innodb")
		if !ok {
			continue
		}
		in.Engine = storage.InnoDB
		s, err := storage.Estimate(in)
		if err != nil {
			t.Fatalf("%s: %v", r.schema, err)
		}
		name := r.schema + " " + r.order + " " + r.phase
		if r.rows < 1_000_000 {
			e := small.add(name, s.Total, r.total)
			t.Logf("%-40s %8d total %+.2f%% (%d, %d)", name, r.rows, 100*e, s.Total, r.total)
			if r.total < s.Low || r.total > s.High || float64(s.High-s.Low) > 0.1201*float64(s.Total) {
				t.Errorf("%s %d rows: measured %d is not within %d..%d, or the range is wider than 12 %%", name, r.rows, r.total, s.Low, s.High)
			}
			continue
		}
		e := big.add(name, s.Total, r.total)
		clustered.add(name, s.Table, r.table)
		if r.index > 0 {
			secondary.add(name, s.Index, r.index)
		}
		if math.Abs(e) > 0.03 {
			t.Errorf("%s %d rows: total %d, measured %d: %+.2f %%", name, r.rows, s.Total, r.total, 100*e)
		}
		t.Logf("%-40s %8d table %+.2f%% index %+.2f%% total %+.2f%%", name, r.rows, 100*(float64(s.Table)/float64(r.table)-1),
			100*(float64(s.Index)/float64(max(1, r.index))-1), 100*e)
	}
	if mean := big.sum / float64(big.n); mean > 0.01 {
		t.Errorf("mean error %.2f %%", 100*mean)
	}
	for _, w := range []struct {
		s string
		w worst
	}{{"file", big}, {"clustered", clustered}, {"secondary", secondary}, {"small file", small}} {
		t.Logf("%s: %d cases, mean %.3f %%, max %.2f %% (%s)", w.s, w.w.n, 100*w.w.sum/float64(w.w.n), 100*w.w.max, w.w.name)
	}
}

func TestTruthSQLite(t *testing.T) {
	var big, small worst
	for _, r := range readTruth(t) {
		if r.engine != "sqlite" {
			continue
		}
		in, ok := truthInput(t, r, ddl.SQLite, "sqlite")
		if !ok {
			continue
		}
		in.Engine = storage.SQLite
		for i := range in.Table.Columns { // integers by value
			switch c := &in.Table.Columns[i]; c.Name {
			case "created_at": // microseconds since 1970
				c.Mean = 8
			case "claim_version": // always 0
				c.Mean = 1e-9
			}
		}
		s, err := storage.Estimate(in)
		if err != nil {
			t.Fatalf("%s: %v", r.schema, err)
		}
		name := r.schema + " " + r.order + " " + r.phase
		w := &big
		if r.rows < 1_000_000 {
			w = &small
		}
		e := w.add(name, s.Total, r.total)
		if math.Abs(e) > 0.03 {
			t.Errorf("%s %d rows: total %d, measured %d: %+.2f %%", name, r.rows, s.Total, r.total, 100*e)
		}
		t.Logf("%-40s %8d table %+.2f%% index %+.2f%% total %+.2f%%", name, r.rows, 100*(float64(s.Table)/float64(r.table)-1),
			100*(float64(s.Index)/float64(max(1, r.index))-1), 100*e)
	}
	if mean := big.sum / float64(big.n); mean > 0.01 {
		t.Errorf("mean error %.2f %%", 100*mean)
	}
	t.Logf("1e6 rows and more: %d cases, mean %.3f %%, max %.2f %% (%s); fewer: %d, %.3f %%, %.2f %% (%s)",
		big.n, 100*big.sum/float64(big.n), 100*big.max, big.name, small.n, 100*small.sum/float64(small.n), 100*small.max, small.name)
}

var redisSchema = regexp.MustCompile(`^(string|hash|zset|set|stream)_(?:[kfm]|id)(\d+)(?:_[vp](\d+))?(_ttl)?(?:_per(\d+)|_single)?`)

func TestTruthRedis(t *testing.T) {
	for _, q := range []int{8, 16} {
		var settled, rehash worst
		for _, r := range readTruth(t) {
			if r.engine != "redis" || strings.Contains(r.version, "Debian") != (q == 16) || strings.HasPrefix(r.phase, "deleted") {
				continue
			}
			m := redisSchema.FindStringSubmatch(r.schema)
			if m == nil {
				t.Fatalf("schema %s", r.schema)
			}
			num := func(s string) float64 { x, _ := strconv.ParseFloat(s, 64); return x }
			o := &storage.RedisOptions{Structure: m[1], Key: num(m[2]), Value: num(m[3]), TTL: m[4] != "", Per: int64(num(m[5])), Quantum: q}
			if m[1] == "stream" {
				o.Fields = []string{"id", "p"}
			}
			s, err := storage.Estimate(storage.Input{Engine: storage.Redis, Rows: r.rows, Redis: o})
			if err != nil {
				t.Fatal(err)
			}
			name := r.schema + " " + strconv.FormatInt(r.rows, 10)
			if s.High > s.Total && m[1] != "stream" { // mid-rehash: a range
				e := rehash.add(name, s.Total, r.total)
				if r.total < s.Low-s.Total/200 || r.total > s.High+s.Total/200 || float64(s.High-s.Low) > 0.12*float64(s.Total) {
					t.Errorf("%s: %d not in %d..%d (%+.2f %%)", name, r.total, s.Low, s.High, 100*e)
				}
				continue
			}
			e := settled.add(name, s.Total, r.total)
			if math.Abs(e) > 0.03 {
				t.Errorf("%s: %d, measured %d: %+.2f %%", name, s.Total, r.total, 100*e)
			}
		}
		if mean := settled.sum / float64(settled.n); mean > 0.01 {
			t.Errorf("mean error %.2f %%", 100*mean)
		}
		t.Logf("quantum %d: %d at rest, mean %.3f %%, max %.2f %% (%s); %d mid-rehash in their ranges", q, settled.n,
			100*settled.sum/float64(settled.n), 100*settled.max, settled.name, rehash.n)
	}
}

var natsSchema = regexp.MustCompile(`^(?:stream_(?:subj(\d+)(uniq|x100k)?)?_?p(\d+)(_msgid36)?|kv_key(\d+)_v(\d+))`)

func TestTruthNATS(t *testing.T) {
	var w worst
	for _, r := range readTruth(t) {
		if r.engine != "nats-jetstream" || strings.HasSuffix(r.schema, "_s2") || strings.Contains(r.schema, "@") {
			continue
		}
		m := natsSchema.FindStringSubmatch(r.schema)
		if m == nil {
			t.Fatalf("schema %s", r.schema)
		}
		num := func(s string) float64 { x, _ := strconv.ParseFloat(s, 64); return x }
		in := storage.Input{Engine: storage.NATSStream, Rows: r.rows, NATS: &storage.NATSOptions{Subject: num(m[1]), Payload: num(m[3])}}
		switch {
		case m[5] != "":
			in.Engine = storage.NATSKV
			in.NATS = &storage.NATSOptions{Subject: num(m[5]), Payload: num(m[6])}
		case m[2] == "uniq":
			in.NATS.Subjects = r.rows
		case m[2] == "x100k":
			in.NATS.Subjects = 100_000
		}
		if m[4] != "" {
			in.NATS.MsgID = 36
		}
		s, err := storage.Estimate(in)
		if err != nil {
			t.Fatal(err)
		}
		if e := w.add(r.schema, s.Total, r.total); math.Abs(e) > 0.001 || s.Table != r.table {
			t.Errorf("%s %d: %d (%d), measured %d (%d): %+.3f %%", r.schema, r.rows, s.Total, s.Table, r.total, r.table, 100*e)
		}
	}
	t.Logf("%d cases, mean %.4f %%, max %.4f %%", w.n, 100*w.sum/float64(w.n), 100*w.max)
}

var lsmSchema = regexp.MustCompile(`^lsm_k(\d+)_v(\d+)_(none|snappy|zstd)`)

func TestTruthLSM(t *testing.T) {
	n := 0
	for _, r := range readTruth(t) {
		m := lsmSchema.FindStringSubmatch(r.schema)
		if r.engine != "pebble" || m == nil || r.phase != "compacted" {
			continue
		}
		num := func(s string) float64 { x, _ := strconv.ParseFloat(s, 64); return x }
		o := &storage.LSMOptions{Key: num(m[1]), Value: num(m[2]), Prefix: 14, Text: m[1] == "50", Compression: m[3]}
		s, err := storage.Estimate(storage.Input{Engine: storage.LSM, Rows: r.rows, Order: truthOrder(t, r.order), LSM: o})
		if err != nil {
			t.Fatal(err)
		}
		n++
		e := float64(s.Total)/float64(r.total) - 1
		t.Logf("%s %s: %+.1f %%", r.schema, r.order, 100*e)
		if r.total < s.Low || r.total > s.High || s.Basis != storage.Measured {
			t.Errorf("%s %s: measured %d is not in %d..%d", r.schema, r.order, r.total, s.Low, s.High)
		}
	}
	if n != 8 {
		t.Errorf("%d cases", n)
	}
}

func TestTruthCompressed(t *testing.T) {
	n := 0
	for _, r := range readTruth(t) {
		base, suffix, _ := strings.Cut(r.schema, "@")
		if r.engine != "mariadb-innodb" || suffix != "compressed8" {
			continue
		}
		r.schema = base
		in, _ := truthInput(t, r, ddl.MySQL, "innodb")
		in.Engine, in.Table.RowFormat, in.Table.KeyBlockSize = storage.InnoDB, "compressed", 8
		s, err := storage.Estimate(in)
		if err != nil {
			t.Fatal(err)
		}
		n++
		t.Logf("%s %s: %+.1f %%", r.schema, r.order, 100*(float64(s.Total)/float64(r.total)-1))
		if r.total < s.Low || r.total > s.High || s.Basis != storage.Measured {
			t.Errorf("%s %s: measured %d is not in %d..%d", r.schema, r.order, r.total, s.Low, s.High)
		}
	}
	if n != 8 {
		t.Errorf("%d cases", n)
	}
}

func TestTruthArchive(t *testing.T) {
	fields := []storage.ArchiveField{ // consumer, event id, hash, result code, created at; 123 B of fields
		{Name: "consumer_name", Text: 13, Binary: 2, Quoted: true}, {Name: "event_id", Text: 36, Binary: 16, Entropy: 15.25, Quoted: true},
		{Name: "payload_hash", Text: 64, Binary: 32, Entropy: 32, Quoted: true}, {Name: "result_code", Text: 2, Binary: 1, Quoted: true},
		{Name: "created_at", Text: 16, Binary: 8, Entropy: 0.2},
	}
	codecs := map[string]string{"gzip-6": "gzip", "zstd-3": "zstd", "lz4": "lz4"}
	n := 0
	for _, r := range readTruth(t) {
		if r.engine != "archive" || r.order != "uuid4" || strings.Contains(r.schema, "200") || strings.Contains(r.schema, "text") {
			continue
		}
		name := strings.TrimPrefix(r.schema, "archive_")
		format, codec, has := strings.Cut(name, "+")
		o := &storage.ArchiveOptions{Format: format, Codec: "none", Fields: fields}
		if has {
			if o.Codec = codecs[codec]; o.Codec == "" {
				continue
			}
		}
		if f, c, ok := strings.Cut(format, "_bin_"); ok {
			o.Format, o.Codec = f, c
		} else if format == "bin" {
			o.Format = "binary"
		}
		s, err := storage.Estimate(storage.Input{Engine: storage.Archive, Rows: r.rows, Archive: o})
		if err != nil {
			t.Fatal(err)
		}
		n++
		if r.total < s.Low-s.Total/50 || r.total > s.High+s.Total/50 {
			t.Errorf("%s: measured %d is not in %d..%d", r.schema, r.total, s.Low, s.High)
		}
	}
	if n < 10 {
		t.Errorf("%d cases", n)
	}
}
