package plan

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/relplan/relplan/capacity/storage"
	"github.com/relplan/relplan/internal/quantity"
)

const inboxDDL = `CREATE TABLE inbox (consumer_name varchar(64) NOT NULL, event_id varchar(64) NOT NULL, payload_hash char(64) NOT NULL,
  result_code varchar(32), created_at timestamptz NOT NULL, PRIMARY KEY (consumer_name, event_id));
CREATE INDEX inbox_created ON inbox (created_at);`

// size90 is the size of the inbox at 100k/s for 90 days.
func size90(t *testing.T, store string) StoreDoc {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "inbox.sql"), []byte(inboxDDL), 0o600); err != nil {
		t.Fatal(err)
	}
	src := `relplan: v1
plan: p
workloads: {payments: {rate: 100k/s, record: 100B}}
stores:
  inbox:
    engine: postgres
    holds: payments
    ddl: inbox.sql
    columns: [{name: consumer_name, mean: 13B}, {name: event_id, mean: 36B}, {name: result_code, mean: 2B}]
    retain: 90d
` + store
	f, err := Load(filepath.Join(dir, "relplan.yaml"), []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	res, err := f.capacity(nil)
	if err != nil {
		t.Fatal(err)
	}
	if res.doc.Records != 777_600_000_000 || res.doc.RawBytes != 77_760_000_000_000 {
		t.Errorf("records %d, raw bytes %d", res.doc.Records, res.doc.RawBytes)
	}
	return res.doc.Stores[0]
}

// 777.6 billion rows in PostgreSQL, by arrival order and deletion; bytes per row
// measured at 10^6 rows: 257.6 loaded in order, 281.5 random, 330 under FIFO
// deletion.
func TestHundredThousandASecondForNinetyDays(t *testing.T) {
	for _, c := range []struct {
		reason, store string
		want, tol     float64
	}{
		{"increasing keys", "    key_order: increasing\n", 200.3, 0.01},
		{"random keys", "    key_order: uuid4\n", 218.8, 0.015},
		{"random keys under deletion", "    key_order: uuid4\n    delete: {vacuum_every: 10%}\n", 257, 0.02},
		{"eight consumers", "    key_order: streams:8\n", 243.5, 0.02},
	} {
		d := size90(t, c.store)
		if got := float64(*d.TotalBytes) / 1e12; math.Abs(got/c.want-1) > c.tol {
			t.Errorf("%s: %.1f TB, want %.1f", c.reason, got, c.want)
		}
	}
}

func TestSizeHasItsBasisAndTerms(t *testing.T) {
	d := size90(t, "    replicas: 2\n")
	if d.SizeBasis == nil || d.SizeBasis.Kind != "arithmetic" || *d.CopiesBytes != 3**d.TotalBytes || len(d.Terms) != 0 {
		t.Errorf("basis %+v, copies %d, %d terms", d.SizeBasis, *d.CopiesBytes, len(d.Terms))
	}
	if d.WALBytesPerDay == nil || *d.WALBytesPerDay < 8_640_000_000*300 {
		t.Errorf("log a day %v", d.WALBytesPerDay)
	}
	if n := len(d.Growth); n < 3 || d.Growth[n-1].TNS != int64(90*24*time.Hour) || math.Abs(float64(d.Growth[n-1].Bytes)/float64(*d.TotalBytes)-1) > 1e-6 {
		t.Errorf("growth %+v ends elsewhere than at %d", d.Growth, *d.TotalBytes)
	}
}

func sized(t *testing.T, dir, src string) *capacityResult {
	t.Helper()
	f, err := Load(filepath.Join(dir, "relplan.yaml"), []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	f.Explain = true
	res, err := f.capacity(nil)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestRangesGiveAnIntervalAndItsDrivers(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "rates.csv"), []byte("rate\n40k/s\n50k/s\n60k/s\n55k/s\n45k/s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	res := sized(t, dir, `relplan: v1
plan: p
workloads: {w: {rate: {samples: rates.csv}}}
stores:
  s:
    engine: sqlite
    holds: w
    columns: [{name: id, type: integer}, {name: body, type: text, mean: [100B, 900B]}]
    keys: {primary: [id]}
    retain: 10s
`)
	d := res.doc.Stores[0]
	if d.Rows != 500_000 {
		t.Errorf("%d rows, want the median rate for 10 s", d.Rows)
	}
	if len(d.Interval) != 3 || d.Interval[0] >= d.Interval[1] || d.Interval[1] >= d.Interval[2] {
		t.Fatalf("interval %v", d.Interval)
	}
	if len(d.Drivers) < 2 || d.Drivers[0].Input != "length of body" || d.Drivers[0].Share < 0.8 {
		t.Errorf("drivers %+v", d.Drivers)
	}
	if len(d.Terms) == 0 {
		t.Error("no terms with explain")
	}
}

func TestPricesAndOptions(t *testing.T) {
	res := sized(t, t.TempDir(), `relplan: v1
plan: p
workloads: {w: {rate: 1k/s, record: 100B}}
stores:
  inbox:
    engine: innodb
    holds: w
    dedupes: w
    columns: [{name: id, type: binary(16)}, {name: hash, type: binary(32)}, {name: at, type: timestamp}]
    keys: {primary: [id], indexes: [[at]]}
    key_order: uuid4
    retain: 1d
    delete: {partition: 1h}
    replicas: 1
replay_sources: {broker: {of: w, keeps: 30d}}
prices: {innodb: 0.10 EUR/GB/month, archive: 0.02 EUR/GB/month}
`)
	d := res.doc.Stores[0]
	want := float64(*d.CopiesBytes) / 1e9 * 0.10
	if d.CostPerMonth == nil || math.Abs(*d.CostPerMonth-want) > 0.01 || d.Currency != "EUR" {
		t.Errorf("cost %v %s, want %.2f EUR", d.CostPerMonth, d.Currency, want)
	}
	if len(res.doc.Options) != 5 {
		t.Fatalf("%d options", len(res.doc.Options))
	}
	whole, key, archive := res.doc.Options[0], res.doc.Options[1], res.doc.Options[2]
	if !(archive.Bytes < key.Bytes && key.Bytes < whole.Bytes) || archive.CostPerMonth == nil || *archive.CostPerMonth >= *whole.CostPerMonth {
		t.Errorf("sizes do not fall from the whole inbox to the archive: %+v", res.doc.Options)
	}
	if !strings.Contains(strings.Join(d.Notes, "\n"), "same id in another partition") {
		t.Error("partitions by time break the unique key and nothing says so")
	}
}

func TestPriceForms(t *testing.T) {
	p, err := parsePrice("0.115 USD/GB/month")
	if err != nil || math.Abs(p.PerByte*1e9-0.115) > 1e-12 || p.Currency != "USD" {
		t.Errorf("%+v, %v", p, err)
	}
	gib, _ := parsePrice("1 EUR/GiB/month")
	gb, _ := parsePrice("1 EUR/GB/month")
	if math.Abs(gb.PerByte/gib.PerByte-1.073741824) > 1e-12 {
		t.Error("GB and GiB cost the same")
	}
	for _, s := range []string{"", "1", "1 USD", "1 USD/GB", "1 USD/GB/year", "x USD/GB/month", "-1 USD/GB/month", "1 /GB/month", "1 USD/furlong/month"} {
		if _, err := parsePrice(s); err == nil {
			t.Errorf("%q accepted", s)
		}
	}
}

// A timestamp of whole seconds is shared by all rows of a second: the index is
// then ordered by the primary key within the second.
func TestWholeSecondsAreShared(t *testing.T) {
	table := func(typ string, args ...int) *storage.Table {
		return &storage.Table{Columns: []storage.Column{{Name: "at", Type: typ, Args: args}}}
	}
	for _, c := range []struct {
		engine storage.Engine
		typ    string
		args   []int
		want   float64
	}{
		{storage.InnoDB, "timestamp", nil, 90}, {storage.InnoDB, "timestamp", []int{6}, 0}, {storage.InnoDB, "datetime", nil, 90},
		{storage.Postgres, "timestamp with time zone", nil, 0}, {storage.Postgres, "timestamp", []int{0}, 90}, {storage.Postgres, "date", nil, 1},
	} {
		tab := table(c.typ, c.args...)
		secondsDistinct(tab, c.engine, 90_000, 1000)
		if got := tab.Columns[0].Distinct; got != c.want {
			t.Errorf("%s %s%v: %v distinct values, want %v", c.engine, c.typ, c.args, got, c.want)
		}
	}
}

// A documentation example of a messaging product computes 39,000 messages a second
// x 3 copies x 300 s x 1,941 B and prints the GiB as GB.
func TestUnitsAreNotMixed(t *testing.T) {
	const bytes = 39_000 * 3 * 300 * 1941
	if got := Units("decimal").text(bytes); got != "68.13 GB" {
		t.Errorf("decimal %s", got)
	}
	if got := Units("binary").text(bytes); got != "63.45 GiB" {
		t.Errorf("binary %s", got)
	}
	if got := Units("both").text(bytes); got != "68.13 GB (63.45 GiB)" {
		t.Errorf("both %s", got)
	}
	gb, _ := quantity.ParseBytes("1GB")
	gib, _ := quantity.ParseBytes("1GiB")
	if gb != 1e9 || gib != 1<<30 {
		t.Errorf("1GB = %d, 1GiB = %d", gb, gib)
	}
}

func TestStoreOptionsAreChecked(t *testing.T) {
	var o StoreOptions
	for _, s := range []string{"structure=hash", "per=100", "allocator=system", "ratio=[40%, 60%]", "disk=2TB", "hex=true"} {
		if err := o.SetOption(s); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
	if o.Structure.V != "hash" || o.Per.V != 100 || o.Ratio[1] != 0.6 || o.Disk.V != 2e12 || !o.Hex {
		t.Errorf("%+v", o)
	}
	for _, s := range []string{"structure", "structur=hash", "per=0", "allocator=tcmalloc", "ratio=[60%, 40%]", "disk=2", "hex=yes"} {
		if err := o.SetOption(s); err == nil {
			t.Errorf("%s accepted", s)
		}
	}
}
