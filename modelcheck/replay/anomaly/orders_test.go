package anomaly

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/internal/engines/enginetest"
)

func TestOrders(t *testing.T) {
	var steps []line
	for _, s := range []string{"A begin", "A 1", "B begin", "A 2", "B 3", "B 4"} {
		who, what, _ := strings.Cut(s, " ")
		steps = append(steps, line{key: who, text: what})
	}
	got := map[string]bool{}
	for _, o := range orders(steps) {
		text := ""
		for _, l := range o {
			text += l.text + " "
		}
		got[text] = true
	}
	if len(got) != 6 { // two turns each: 4 over 2
		t.Errorf("%d orders, want 6: %v", len(got), got)
	}
	if !got["begin 1 begin 3 2 4 "] || got["begin begin 1 2 3 4 "] {
		t.Errorf("a begin stays with its statement: %v", got)
	}
}

// TestEveryOrder plays every order of the statements, for the questions that
// make sense for every order (RELPLAN_LONG=1): a schedule that says no must not
// have missed an order in which it happens, and what the model forbids must
// happen in none.
func TestEveryOrder(t *testing.T) {
	if os.Getenv("RELPLAN_LONG") == "" {
		t.Skip("RELPLAN_LONG=1 plays some 2,700 schedules")
	}
	recorded, err := Recorded()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []engines.Kind{engines.SQLite, engines.Postgres, engines.MySQL} {
		t.Run(string(kind), func(t *testing.T) {
			dsn := enginetest.Need(t, kind).DSN
			t.Parallel()
			for _, p := range ProfilesOf(kind) {
				err := onOwn(context.Background(), dsn, p, func(db *engines.DB) error { return everyOrder(t, db, p, recorded) })
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func everyOrder(t *testing.T, db *engines.DB, p Profile, recorded *Table) error {
	cases, err := Catalog()
	if err != nil {
		return err
	}
	for _, c := range cases {
		if _, no := c.unaskable(p); no || !c.AnyOrder {
			continue
		}
		setup, steps := c.steps(p)
		all := orders(steps)
		happened := 0
		var one string
		for _, o := range all {
			obs, err := play(context.Background(), db, p, c, setup, o)
			if err != nil {
				return err
			}
			if obs.Happened {
				happened++
				one = told(o)
			}
		}
		t.Logf("%s under %s: in %d of %d orders", c.Name, p.ID, happened, len(all))
		cell, _ := recorded.Cell(c, p)
		if (happened > 0) != cell.Happened {
			t.Errorf("%s under %s: the schedule says %v, but it happens in %d of %d orders: %s", c.Name, p.ID, cell.Happened, happened, len(all), one)
		}
		_, excused := Excuse(c, p)
		if m := recorded.ModelOf(c, p); happened > 0 && m != nil && !m.Possible && !excused {
			t.Errorf("%s under %s: WEAKER: the model says it is impossible: %s", c.Name, p.ID, one)
		}
	}
	return nil
}

// told is an order in a line.
func told(steps []line) string {
	var parts []string
	for _, l := range steps {
		parts = append(parts, l.key+" "+l.String())
	}
	return strings.Join(parts, "; ")
}
