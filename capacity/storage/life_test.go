package storage_test

import (
	"math"
	"strings"
	"testing"

	"github.com/relplan/relplan/capacity/storage"
	"github.com/relplan/relplan/capacity/storage/ddl"
)

// Log bytes a row against the measured growth of WAL and redo of bulk loads.
func TestTruthLogFlow(t *testing.T) {
	var worstOf = map[string]*worst{}
	for _, r := range readTruth(t) {
		eng := map[string]storage.Engine{"postgres": storage.Postgres, "mariadb-innodb": storage.InnoDB}[r.engine]
		_, suffix, _ := strings.Cut(r.schema, "@")
		if eng == "" || r.phase != "loaded" || r.rows < 1_000_000 || (suffix != "" && !strings.HasSuffix(suffix, "consumers")) || r.wal == 0 || strings.Contains(r.schema, "part10") || strings.Contains(r.schema, "noidx") {
			continue
		}
		d, dir := ddl.PostgreSQL, "postgres"
		if eng == storage.InnoDB {
			d, dir = ddl.MySQL, "innodb"
		}
		in, ok := truthInput(t, r, d, dir)
		if !ok {
			continue
		}
		in.Engine = eng
		f, err := storage.LogFlow(in, storage.Life{RowsPerCommit: 1e6, RowsPerCheckpoint: 1e12})
		if err != nil {
			t.Fatal(err)
		}
		got := f.Total()
		want := float64(r.wal) / float64(r.rows)
		e := got/want - 1
		w := worstOf[r.engine]
		if w == nil {
			w = &worst{}
			worstOf[r.engine] = w
		}
		w.n++
		w.sum += math.Abs(e)
		if math.Abs(e) > w.max {
			w.max, w.name = math.Abs(e), r.schema+" "+r.order
		}
		if testing.Verbose() && math.Abs(e) > 0.05 {
			t.Logf("%s %s: %.0f B/row, measured %.0f: %+.1f %%", r.schema, r.order, got, want, 100*e)
		}
	}
	for name, w := range worstOf {
		t.Logf("%s: %d loads, mean %.1f %%, max %.1f %% (%s)", name, w.n, 100*w.sum/float64(w.n), 100*w.max, w.name)
		if w.sum/float64(w.n) > 0.05 || w.max > 0.12 {
			t.Errorf("%s: log volume is off", name)
		}
	}
}

// Full-page images by rows per checkpoint, measured on a 1e6-row table.
func TestFullPageImages(t *testing.T) {
	for _, c := range []struct {
		k    float64
		comp string
		want float64
	}{{1000, "off", 6057}, {10_000, "off", 4322}, {100_000, "off", 1047}, {1000, "lz4", 4336}, {10_000, "zstd", 2155}} {
		in, _ := truthInput(t, truthRow{schema: "inbox_text", order: "uuid4", rows: 1_000_000, phase: "loaded"}, ddl.PostgreSQL, "postgres")
		in.Engine = storage.Postgres
		f, err := storage.LogFlow(in, storage.Life{RowsPerCommit: 1e6, RowsPerCheckpoint: c.k, WALCompression: c.comp})
		if err != nil {
			t.Fatal(err)
		}
		if e := f.Total()/c.want - 1; math.Abs(e) > 0.08 || (c.comp == "off" && math.Abs(e) > 0.05) {
			t.Errorf("%v rows a checkpoint, %s: %.0f B/row, measured %.0f: %+.1f %%", c.k, c.comp, f.Total(), c.want, 100*e)
		}
	}
}

// A window of 300,000 rows turned over four times, VACUUM after every tenth.
func TestPlateauPostgres(t *testing.T) {
	for _, c := range []struct {
		order string
		share float64
		want  int64 // after step 40
		tol   float64
	}{{"uuid7j1", 0.1, 88129536, 0.02}, {"uuid4", 0.1, 98983936, 0.03}, {"uuid4", 0.3, 117260288, 0.04}} {
		in, _ := truthInput(t, truthRow{schema: "inbox_text_ts", order: c.order, rows: 300_000, phase: "loaded"}, ddl.PostgreSQL, "postgres")
		in.Engine = storage.Postgres
		s, err := storage.Plateau(in, storage.Life{Delete: storage.DeleteSweep, VacuumShare: c.share, Turnovers: 4})
		if err != nil {
			t.Fatal(err)
		}
		e := float64(s.Total)/float64(c.want) - 1
		t.Logf("%s vacuum every %v: %d, measured %d: %+.2f %%", c.order, c.share, s.Total, c.want, 100*e)
		if math.Abs(e) > c.tol {
			t.Errorf("off by %.2f %%", 100*e)
		}
	}
}

func TestPlateauOthers(t *testing.T) {
	for _, c := range []struct {
		engine storage.Engine
		d      ddl.Dialect
		dir    string
		order  string
		rows   int64
		want   int64
	}{
		{storage.InnoDB, ddl.MySQL, "innodb", "uuid7j1", 300_000, 88080384},
		{storage.InnoDB, ddl.MySQL, "innodb", "uuid4", 300_000, 113246208},
		{storage.SQLite, ddl.SQLite, "sqlite", "uuid7j1", 200_000, 50278400},
		{storage.SQLite, ddl.SQLite, "sqlite", "uuid4", 200_000, 50929664},
	} {
		in, _ := truthInput(t, truthRow{schema: "inbox_text_ts", order: c.order, rows: c.rows, phase: "loaded"}, c.d, c.dir)
		in.Engine = c.engine
		if col := in.Table.Column("created_at"); c.engine == storage.SQLite {
			col.Mean = 8
		}
		s, err := storage.Plateau(in, storage.Life{Delete: storage.DeleteSweep, VacuumShare: 0.1, Turnovers: 4})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s %s: %d (%d..%d), measured %d", c.engine, c.order, s.Total, s.Low, s.High, c.want)
		if c.want < s.Low || c.want > s.High {
			t.Errorf("%s %s: measured %d is not in %d..%d", c.engine, c.order, c.want, s.Low, s.High)
		}
	}
}

// DROP PARTITION gives back exactly one partition.
func TestPlateauPartition(t *testing.T) {
	in, _ := truthInput(t, truthRow{schema: "inbox_text_ts", order: "uuid7j1", rows: 900_000, phase: "loaded"}, ddl.PostgreSQL, "postgres")
	in.Engine = storage.Postgres
	pk := in.Table.Primary()
	pk.Columns = append(pk.Columns, "created_at")
	s, err := storage.Plateau(in, storage.Life{Delete: storage.DeletePartition, Partitions: 9})
	if err != nil {
		t.Fatal(err)
	}
	if e := float64(s.Total)/266977280 - 1; math.Abs(e) > 0.005 { // 10 partitions of 100,000 rows
		t.Errorf("%d: %+.2f %%", s.Total, 100*e)
	}
}
