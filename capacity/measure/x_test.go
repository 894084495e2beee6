package measure

import (
	"context"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/relplan/relplan/capacity/storage"
	"github.com/relplan/relplan/internal/engines"
)

func TestX(t *testing.T) {
	rows, _ := strconv.ParseInt(os.Getenv("ROWS"), 10, 64)
	kind := engines.Kind(os.Getenv("KIND"))
	eng := map[engines.Kind]storage.Engine{"postgres": storage.Postgres, "mysql": storage.InnoDB, "sqlite": storage.SQLite, "redis": storage.Redis, "nats": storage.NATSStream}[kind]
	s, err := engines.Start(context.Background(), kind)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	cases, err := Grid(eng, rows)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		st := time.Now()
		var r Result
		switch kind {
		case "redis":
			r, err = Redis(context.Background(), s.DSN, c, nil)
		case "nats":
			r, err = NATS(context.Background(), s.DSN, c, nil)
		default:
			r, err = SQL(context.Background(), s.DSN, c, nil)
		}
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		t.Logf("%-40s %d predicted %d (%d..%d) measured %d  %+.2f %%  table %d/%d  %v", r.Name, r.Rows, r.Predicted, r.Low, r.High, r.Measured, 100*r.Error(), r.PredictedTable, r.MeasuredTable, time.Since(st))
	}
}
