package anomaly

import (
	"context"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/internal/engines/enginetest"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

const (
	measuredFile = "measured.json"
	pageFile     = "../../../docs/engines.md"
)

func update() bool { return os.Getenv("UPDATE_GOLDEN") != "" }

// TestTable asks the model and plays every schedule on every engine, and
// compares with what is recorded and with the page. An engine that is declined
// is NOT_RUN; its cells are then taken as recorded.
func TestTable(t *testing.T) {
	ctx := context.Background()
	now, err := Recorded()
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := Recorded()
	if err != nil {
		t.Fatal(err)
	}
	now.Model = NewTable().Model
	if err := now.AskModel(ctx); err != nil {
		t.Fatal(err)
	}
	if !update() && !reflect.DeepEqual(now.Model, recorded.Model) {
		t.Errorf("the model gives other answers than recorded: run with UPDATE_GOLDEN=1\n%s", differences(recorded.Model, now.Model))
	}
	parts := map[engines.Kind]*Table{engines.SQLite: NewTable(), engines.Postgres: NewTable(), engines.MySQL: NewTable()}
	t.Run("engines", func(t *testing.T) {
		for kind, part := range parts {
			t.Run(string(kind), func(t *testing.T) {
				dsn := enginetest.Need(t, kind).DSN
				t.Parallel()
				if err := part.Measure(ctx, dsn); err != nil {
					t.Fatal(err)
				}
				if !update() && !reflect.DeepEqual(part.Cells, only(recorded.Cells, kind)) {
					t.Errorf("%s gives other answers than recorded: run with UPDATE_GOLDEN=1\n%s", kind, differences(only(recorded.Cells, kind), part.Cells))
				}
			})
		}
	})
	for kind, part := range parts {
		now.take(kind, part)
	}
	t.Run("weaker", func(t *testing.T) { checkWeaker(t, now) })
	t.Run("page", func(t *testing.T) { checkPage(t, now) })
}

// take takes over the cells of an engine if it was measured.
func (t *Table) take(kind engines.Kind, part *Table) {
	if len(part.Engines) == 0 {
		return
	}
	t.Engines[kind] = part.Engines[kind]
	for _, cells := range t.Cells {
		for _, p := range ProfilesOf(kind) {
			delete(cells, p.ID)
		}
	}
	for name, cells := range part.Cells {
		if t.Cells[name] == nil {
			t.Cells[name] = map[string]Cell{}
		}
		for id, c := range cells {
			t.Cells[name][id] = c
		}
	}
}

// only keeps the cells of one engine.
func only(all map[string]map[string]Cell, kind engines.Kind) map[string]map[string]Cell {
	out := map[string]map[string]Cell{}
	for name, cells := range all {
		out[name] = map[string]Cell{}
		for _, p := range ProfilesOf(kind) {
			if c, ok := cells[p.ID]; ok {
				out[name][p.ID] = c
			}
		}
	}
	return out
}

// differences lists the entries in which two tables differ.
func differences[T any](want, got map[string]map[string]T) string {
	var out []byte
	for name, row := range got {
		for col, g := range row {
			if w, ok := want[name][col]; !ok || !reflect.DeepEqual(w, g) {
				line, _ := json.Marshal(map[string]any{"case": name, "column": col, "recorded": w, "now": g})
				out = append(append(out, line...), '\n')
			}
		}
	}
	return string(out)
}

// checkWeaker fails for every cell in which the engine allows what the model
// forbids, unless it is known, and for every known one that is gone.
func checkWeaker(t *testing.T, now *Table) {
	cases, err := Catalog()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		for _, p := range Profiles {
			cell, ok := now.Cell(c, p)
			if !ok {
				t.Errorf("%s was never measured under %s", c.Name, p.ID)
				continue
			}
			weaker := Judge(cell, now.ModelOf(c, p)) == Weaker
			if _, excused := Excuse(c, p); weaker != excused {
				t.Errorf("%s under %s: WEAKER is %v, known is %v: the model forbids what the engine does, or no longer: %+v", c.Name, p.ID, weaker, excused, cell)
			}
		}
	}
}

// checkPage compares docs/engines.md with what was measured.
func checkPage(t *testing.T, now *Table) {
	old, err := os.ReadFile(pageFile)
	if err != nil && !update() {
		t.Fatal(err)
	}
	text, err := now.Markdown(string(old))
	if err != nil {
		t.Fatal(err)
	}
	if update() {
		js, err := json.MarshalIndent(now, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		for file, content := range map[string]string{measuredFile: string(js) + "\n", pageFile: text} {
			if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	if Comparable(text) != Comparable(string(old)) {
		t.Errorf("%s is not what was measured: run with UPDATE_GOLDEN=1", pageFile)
	}
}

func TestNamesOfKnownDifferences(t *testing.T) {
	cases, err := Catalog()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range known {
		if !slices.ContainsFunc(cases, func(c *Case) bool { return c.Name == k.name }) {
			t.Errorf("no case %s", k.name)
		}
		for _, id := range k.profiles {
			if !slices.ContainsFunc(Profiles, func(p Profile) bool { return p.ID == id }) {
				t.Errorf("no profile %s", id)
			}
		}
	}
}
