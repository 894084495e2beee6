package measure

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/relplan/relplan/capacity/storage"
)

// The saved measurements behind docs/capacity-accuracy.md are compared with what
// is predicted today: a change of a formula shows here, and every case of the
// grid is there.
func TestSavedGridIsPredictedAsToday(t *testing.T) {
	for _, engine := range []storage.Engine{storage.Postgres, storage.InnoDB, storage.SQLite, storage.Redis, storage.NATSStream} {
		src, err := os.ReadFile(filepath.Join("testdata", "accuracy", string(engine)+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var saved struct {
			Cases []struct {
				Name      string
				Rows      int64
				Predicted int64 `json:"predicted_bytes"`
				Measured  int64 `json:"measured_bytes"`
			}
		}
		if err := json.Unmarshal(src, &saved); err != nil || len(saved.Cases) == 0 {
			t.Fatalf("%s: %d cases, %v", engine, len(saved.Cases), err)
		}
		grid, err := Grid(engine, saved.Cases[0].Rows)
		if err != nil {
			t.Fatal(err)
		}
		if len(grid) != len(saved.Cases) {
			t.Errorf("%s: %d cases are saved, the grid has %d", engine, len(saved.Cases), len(grid))
			continue
		}
		for i, c := range grid {
			got, err := predictSaved(c)
			if s := saved.Cases[i]; err != nil || s.Name != c.Name || s.Rows != c.Input.Rows || s.Predicted != got {
				t.Errorf("%s: predicted %d (%v), saved %+v: measure the grid again", c.Name, got, err, s)
			}
		}
	}
}

// predictSaved predicts a case on the server that the grid was measured on.
func predictSaved(c Case) (int64, error) {
	switch c.Input.Engine {
	case storage.Postgres:
		c.Input.State = storage.Vacuumed
	case storage.Redis: // a package with the system's jemalloc
		o := *c.Input.Redis
		o.Quantum = 16
		c.Input.Redis = &o
	case storage.NATSKV:
		o := *c.Input.NATS
		o.Bucket = len("measured")
		c.Input.NATS = &o
	}
	r, err := predict(Result{}, c)
	if c.Input.Engine == storage.NATSStream || c.Input.Engine == storage.NATSKV {
		return r.PredictedTable, err
	}
	return r.Predicted, err
}
