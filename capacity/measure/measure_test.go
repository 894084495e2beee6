package measure

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/relplan/relplan/capacity/storage"
	"github.com/relplan/relplan/capacity/storage/ddl"
	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/internal/engines/enginetest"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

// small takes the first case of each schema of the grid with fewer rows.
func small(t *testing.T, engine storage.Engine, rows int64) []Case {
	cases, err := Grid(engine, rows)
	if err != nil {
		t.Fatal(err)
	}
	var out []Case
	seen := map[string]bool{}
	for _, c := range cases {
		name, _, _ := strings.Cut(c.Name, " ")
		if !engine.Relational() || !seen[name] {
			out = append(out, c)
		}
		seen[name] = true
	}
	return out
}

// Schemas the formulas were not developed on, on live engines. InnoDB files
// below 200 MB are met by their range.
func TestLiveEngines(t *testing.T) {
	for kind, engine := range map[engines.Kind]storage.Engine{engines.SQLite: storage.SQLite, engines.Postgres: storage.Postgres, engines.MySQL: storage.InnoDB} {
		t.Run(string(kind), func(t *testing.T) {
			s := enginetest.Need(t, kind)
			for _, c := range small(t, engine, 30_000) {
				r, err := SQL(context.Background(), s.DSN, c, nil)
				if err != nil {
					t.Fatalf("%s: %v", c.Name, err)
				}
				t.Logf("%s: predicted %d (%d..%d), measured %d: %+.2f %%", r.Name, r.Predicted, r.Low, r.High, r.Measured, 100*r.Error())
				if !r.Within(0.04) { // 30,000 rows: the phase of early splits
					t.Errorf("%s: %+.2f %%", r.Name, 100*r.Error())
				}
			}
			if kind == engines.SQLite {
				return
			}
			if left, err := engines.Remaining(context.Background(), s.DSN); err != nil || len(left) > 0 {
				t.Errorf("databases left behind: %v, %v", left, err)
			}
		})
	}
}

func TestLiveRedis(t *testing.T) {
	s := enginetest.Need(t, engines.Redis)
	for _, c := range small(t, storage.Redis, 70_000) {
		r, err := Redis(context.Background(), s.DSN, c, nil)
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		if !r.Within(0.03) {
			t.Errorf("%s: %d (%d..%d), measured %d", r.Name, r.Predicted, r.Low, r.High, r.Measured)
		}
	}
	rdb, err := engines.OpenRedis(s.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer rdb.Close()
	rdb.Set(context.Background(), "theirs", "1", 0)
	defer rdb.Del(context.Background(), "theirs")
	if _, err := Redis(context.Background(), s.DSN, small(t, storage.Redis, 10)[0], nil); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("a database with keys of the user was measured: %v", err)
	}
}

func TestLiveNATS(t *testing.T) {
	s := enginetest.Need(t, engines.NATS)
	for _, c := range small(t, storage.NATSStream, 3000) {
		r, err := NATS(context.Background(), s.DSN, c, nil)
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		if r.Error() != 0 {
			t.Errorf("%s: predicted %d, measured %d", r.Name, r.Predicted, r.Measured)
		}
	}
}

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		reason string
		r      Result
		want   bool
	}{
		{"inside the tolerance", Result{Predicted: 1029, Measured: 1000}, true},
		{"outside", Result{Predicted: 1031, Measured: 1000}, false},
		{"a range that contains the measurement", Result{Predicted: 1080, Low: 990, High: 1100, Measured: 1000}, true},
		{"a range is no excuse for more than 12 %", Result{Predicted: 1300, Low: 900, High: 1400, Measured: 1000}, false},
	} {
		if got := c.r.Within(0.03); got != c.want {
			t.Errorf("%s: %v", c.reason, got)
		}
	}
}

// Generated values have the lengths, NULLs and order that the prediction is told.
func TestValues(t *testing.T) {
	cases, err := Grid(storage.Postgres, 20_000)
	if err != nil {
		t.Fatal(err)
	}
	var ledger *storage.Table
	for _, c := range cases {
		if c.Name == "ledger uuid4" {
			ledger = c.Input.Table
		}
	}
	g := newRowGen(ledger, ddl.PostgreSQL, storage.Order{}, 20_000)
	sum, n, nulls := 0.0, 0, 0
	memo := 4
	for r := range uint64(20_000) {
		v := string(g.value(nil, memo, r))
		if v == "NULL" {
			nulls++
			continue
		}
		n++
		sum += float64(len(v) - 2)
	}
	if mean := sum / float64(n); math.Abs(mean-40.5) > 0.5 {
		t.Errorf("mean length %.2f, want 40.5", mean)
	}
	if share := float64(nulls) / 20_000; math.Abs(share-0.2) > 0.01 {
		t.Errorf("share of NULLs %.3f, want 0.2", share)
	}
	if string(g.row(nil, 5)) != string(g.row(nil, 5)) {
		t.Error("a row is not a function of its number")
	}
}
