package plan

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/relplan/relplan/capacity/storage"
)

const day = 24 * time.Hour

// A partition goes when its youngest row leaves the window: 200 days of it are
// then still there on top of the 90.
func TestLongPartitionsHoldRetentionAndPartition(t *testing.T) {
	d := size90(t, "    key_order: increasing\n    delete: {partition: 200d}\n")
	perDay := int64(8_640_000_000)
	if d.HeldRows == nil || math.Abs(float64(*d.HeldRows)/float64(290*perDay)-1) > 1e-9 {
		t.Errorf("held rows %v, want those of 290 days", d.HeldRows)
	}
	plain := size90(t, "    key_order: increasing\n")
	if got := float64(*d.TotalBytes) / float64(*plain.TotalBytes); math.Abs(got-290.0/90) > 0.001 {
		t.Errorf("%.4f times the rows of the window, want 290/90", got)
	}
	if got := float64(d.Growth[0].Bytes) / float64(plain.Growth[0].Bytes); d.Growth[0].TNS != int64(day) || math.Abs(got-1) > 0.001 {
		t.Errorf("first day %.4f times that without partitions: %+v", got, d.Growth)
	}
	if last := d.Growth[len(d.Growth)-1]; last.TNS != int64(290*day) || math.Abs(float64(last.Bytes)/float64(*d.TotalBytes)-1) > 1e-6 {
		t.Errorf("growth ends with %+v, want the total after 290d", last)
	}
	if notes := strings.Join(d.Notes, "\n"); !strings.Contains(notes, "up to 290d of rows") {
		t.Errorf("notes do not tell what is held:\n%s", notes)
	}
}

// Before the first row is deleted nothing is left behind by deletion: the curve
// starts at the fresh size and ends at the plateau.
func TestGrowthReachesThePlateauAfterItsTurnovers(t *testing.T) {
	swept := size90(t, "    key_order: uuid4\n    delete: {vacuum_every: 10%}\n")
	fresh := size90(t, "    key_order: uuid4\n")
	if got := float64(swept.Growth[0].Bytes) / float64(fresh.Growth[0].Bytes); math.Abs(got-1) > 0.001 {
		t.Errorf("the first day is %.3f times the fresh size", got)
	}
	last := swept.Growth[len(swept.Growth)-1]
	if last.TNS != int64(5*90*day) || math.Abs(float64(last.Bytes)/float64(*swept.TotalBytes)-1) > 1e-6 {
		t.Errorf("growth ends with %+v, want %d after %d turnovers", last, *swept.TotalBytes, storage.DefaultTurnovers)
	}
}

// The window that a store needs has its own number of partitions.
func TestRequiredWindowIsSizedWithItsOwnDeletion(t *testing.T) {
	res := sized(t, t.TempDir(), `relplan: v1
plan: p
workloads: {w: {rate: 1k/s, record: 100B}}
stores:
  s:
    engine: innodb
    holds: w
    dedupes: w
    columns: [{name: id, type: bigint}]
    keys: {primary: [id]}
    retain: 10d
    delete: {partition: 20d}
replay_sources: {broker: {of: w, keeps: 100d}}
`)
	d := res.doc.Stores[0]
	if got := float64(*d.RequiredTotalBytes) / float64(*d.TotalBytes); math.Abs(got-120.0/30) > 0.05 {
		t.Errorf("needed / held = %.3f, want (100d + 20d)/(10d + 20d)", got)
	}
}

// Lengths of entries drive the interval as those of columns do.
func TestLengthsOfEntriesDriveTheInterval(t *testing.T) {
	res := sized(t, t.TempDir(), `relplan: v1
plan: p
workloads: {w: {rate: 1k/s}}
stores:
  s: {engine: nats-kv, holds: w, columns: [{name: key, mean: 36B}, {name: value, mean: [100B, 900B]}], retain: 7d}
`)
	d := res.doc.Stores[0]
	if len(d.Drivers) == 0 || d.Drivers[0].Input != "length of value" || d.Drivers[0].Share < 0.9 {
		t.Fatalf("drivers %+v", d.Drivers)
	}
	if low, high := float64(d.Drivers[0].LowBytes), float64(d.Drivers[0].HighBytes); high/low < 3 {
		t.Errorf("from %g to %g, want the 100 B and the 900 B value to differ by far", low, high)
	}
	if d.IntervalBasis == nil || d.IntervalBasis.Kind != "sampled" || d.IntervalBasis.N != samplesN || d.IntervalBasis.Level != 0.9 {
		t.Errorf("basis of the interval %+v", d.IntervalBasis)
	}
}

// Raw bytes alone have an interval too when the rate is a distribution.
func TestRawBytesOfARateRange(t *testing.T) {
	res := sized(t, t.TempDir(), `relplan: v1
plan: p
workloads: {w: {rate: {p5: 100/s, p95: 400/s}, record: 100B}}
stores: {s: {engine: postgres, holds: w, retain: 100s}}
`)
	d := res.doc.Stores[0]
	want := []float64{1e6, 2e6, 4e6}
	for i := range want {
		if len(d.Interval) != 3 || math.Abs(d.Interval[i]/want[i]-1) > 0.01 {
			t.Fatalf("interval %v, want about %v", d.Interval, want)
		}
	}
}

// Nothing that does not fit into 63 bits is printed as if it were exact.
func TestSizesBeyond63BitsAreRefused(t *testing.T) {
	const head = "relplan: v1\nplan: p\n"
	for reason, src := range map[string]string{
		"raw bytes": head + "workloads: {w: {rate: 1000000000000000/s, record: 1GB}}\nstores: {s: {engine: postgres, holds: w, retain: 100y}}\n",
		"copies": head + "workloads: {w: {rate: 1k/s, record: 1B}}\nstores: {s: {engine: nats-kv, holds: w, retain: 100d, replicas: 9000000000000, " +
			"columns: [{name: key, mean: 36B}, {name: value, mean: 36B}]}}\n",
		"entries": head + "workloads: {w: {rate: 100M/s, record: 1B}}\nstores: {s: {engine: kafka, holds: w, retain: 100d, " +
			"columns: [{name: key, mean: 36B}, {name: value, mean: 500MB}]}}\n",
		"all stores": head + "workloads: {w: {rate: 1000M/s, record: 1kB}}\nstores:\n  a: {engine: postgres, holds: w, retain: 200y}\n" +
			"  b: {engine: postgres, holds: w, retain: 200y}\n",
		"log": head + "workloads: {w: {rate: 1000000G/s, record: 1B}}\nstores: {s: {engine: postgres, holds: w, retain: 1s, " +
			"columns: [{name: id, type: bigint}], keys: {primary: [id]}}}\n",
	} {
		f, err := Load("relplan.yaml", []byte(src))
		if err != nil {
			t.Errorf("%s: %v", reason, err)
			continue
		}
		if _, err = f.capacity(nil); err == nil || !strings.Contains(err.Error(), "9.2 EB") {
			t.Errorf("%s: %v, want a refusal", reason, err)
		}
	}
}

func TestStoresThatContradictThemselves(t *testing.T) {
	base := `relplan: v1
plan: p
workloads: {w: {rate: 1k/s, record: 100B}}
stores:
  s:
    engine: postgres
    holds: w
    columns: [{name: id, type: bigint}, {name: note, type: text, mean: 10B}]
    keys: {primary: [id]}
`
	for _, c := range []struct{ store, want string }{
		{"    retain: 1d\n    delete: {partition: 0d}\n", "duration above 0"},
		{"    retain: 1d\n    delete: {sweep: 0s}\n", "duration above 0"},
		{"    retain: 1d\n    delete: {vacuum_every: 0%}\n", "above 0%"},
		{"    retain: 1d\n    options: {disk: 1TB, headroom: 150%}\n", "below 100%"},
		{"    retain: 1d\n    options: {headroom: 10%}\n", "headroom needs the size of the disk"},
		{"    retain: forever\n    delete: {partition: 1d}\n", "kept for ever and deleted"},
		{"    retain: 1d\n    options: {structure: hash}\n", "belongs to redis"},
	} {
		_, err := Load("relplan.yaml", []byte(base+c.store))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.store, err, c.want)
		}
	}
	for null, want := range map[string]string{"{name: id, type: bigint, null: 10%}": "primary key", "{name: id, type: bigint, null: 120%}": "from 0% to 100%"} {
		f, err := Load("relplan.yaml", []byte(strings.Replace(base, "{name: id, type: bigint}", null, 1)+"    retain: 1d\n"))
		if err == nil {
			_, err = f.capacity(nil)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", null, err, want)
		}
	}
}

// A store that forgets nothing has no end of its window: it is told after a year,
// with its growth and the day its disk is full.
func TestStoreKeptForEverGrows(t *testing.T) {
	res := sized(t, t.TempDir(), `relplan: v1
plan: p
workloads: {w: {rate: 1k/s, record: 10B}}
stores:
  s: {engine: postgres, holds: w, retain: forever, columns: [{name: id, type: bigint}], keys: {primary: [id]}, delete: never, options: {disk: 1TB}}
`)
	d := res.doc.Stores[0]
	if d.Rows != 1000*365*86400 || *d.TotalBytes < d.RawBytes {
		t.Errorf("%d rows, %d bytes, want those of a year", d.Rows, *d.TotalBytes)
	}
	if n := len(d.Growth); n < 4 || d.Growth[n-1].TNS != int64(3*365*day) || math.Abs(float64(d.Growth[n-1].Bytes)/3/float64(*d.TotalBytes)-1) > 1e-6 {
		t.Errorf("growth %+v, want three times the year after three", d.Growth)
	}
	perYear := float64(*d.TotalBytes)
	if d.DiskFullNS == nil || math.Abs(float64(*d.DiskFullNS)/float64(365*day)-1e12/perYear) > 1e-3 {
		t.Errorf("disk full after %v, want %.3f years", d.DiskFullNS, 1e12/perYear)
	}
}

// The median of a slow workload is not rounded to whole records a second.
func TestMedianOfASlowRate(t *testing.T) {
	res := sized(t, t.TempDir(), `relplan: v1
plan: p
workloads: {w: {rate: {p5: 10/day, p50: 50/day, p95: 100/day}, record: 10B}}
stores: {s: {engine: postgres, holds: w, retain: 1000d}}
`)
	if got := res.doc.Stores[0].Rows; math.Abs(float64(got)-50_000) > 5 {
		t.Errorf("%d rows, want 50,000", got)
	}
}

// Rows that are given are those of the retention; a longer window has more.
func TestGivenRowsScaleWithTheWindow(t *testing.T) {
	res := sized(t, t.TempDir(), `relplan: v1
plan: p
workloads: {w: {rate: 1k/s, record: 100B}}
stores: {s: {engine: nats-kv, holds: w, dedupes: w, columns: [{name: key, mean: 36B}, {name: value, mean: 36B}], retain: 7d, rows: 700}}
replay_sources: {broker: {of: w, keeps: 90d}}
`)
	if d := res.doc.Stores[0]; d.Rows != 700 || d.RequiredRows != 9000 {
		t.Errorf("%d rows held, %d needed; want 700 and 9,000", d.Rows, d.RequiredRows)
	}
}

// What an engine does not read is refused, and so is a key that stands twice.
func TestColumnsThatNothingReads(t *testing.T) {
	for src, want := range map[string]string{
		"{engine: redis, holds: w, retain: 1d, columns: [{name: key, mean: 3B}, {name: value, mean: 3B, null: 20%}]}": "only the mean length of 'value'",
		"{engine: redis, holds: w, retain: 1d, columns: [{name: key, mean: 3B}, {name: vaule, mean: 3B}]}":            "reads no column 'vaule'",
		"{engine: lsm, holds: w, retain: 1d, columns: [{name: value, mean: 3B}]}":                                     "needs the length of a column 'key'",
	} {
		f, err := Load("relplan.yaml", []byte("relplan: v1\nplan: p\nworkloads: {w: {rate: 1/s, record: 1B}}\nstores: {s: "+src+"}\n"))
		if err == nil {
			_, err = f.capacity(nil)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", src, err, want)
		}
	}
}
