package specs

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/specs/ast"
)

func load(t *testing.T, path string) (*Spec, []diag.Diagnostic) {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return Load(filepath.Base(path), src)
}

// TestEverySpecLoads reads the twelve specs and every incident; every
// expression of every variant has a type.
func TestEverySpecLoads(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.yaml")
	reports, _ := filepath.Glob("incidents/*.yaml")
	if len(files) < 12 || len(reports) < 50 {
		t.Fatalf("found %d specs and %d reports", len(files), len(reports))
	}
	for _, f := range append(files, reports...) {
		s, ds := load(t, f)
		if s == nil {
			for _, d := range ds {
				t.Error(d)
			}
			continue
		}
		for _, v := range s.Variants() {
			if reflect.TypeOf(v.Promises[0].Body).Kind() != reflect.Struct {
				t.Errorf("%s: a promise is not a value", f)
			}
			if len(v.Promises) == 0 {
				t.Errorf("%s %s: no promise", f, v.Variant)
			}
			for _, p := range v.Processes {
				for _, st := range p.All {
					for _, e := range []ast.Expr{st.Where, st.When, st.Key, st.Value, st.Human, st.Body, st.OnlyIfValue, st.MessageID} {
						if e == nil {
							continue
						}
						ast.Walk(e, func(x ast.Expr) bool {
							if x.Type() == nil {
								t.Errorf("%s: %s has no type", x.Position(), x)
							}
							return true
						})
					}
				}
			}
		}
	}
}

// TestErrorSpecs: the eight files with one small mistake give one error at the
// place that the design names, with the right suggestion.
func TestErrorSpecs(t *testing.T) {
	for _, c := range []struct {
		file, pos, code, hint string
	}{
		{"e1", "e1.yaml:26:21", "RP010", "did you mean: ledger"},
		{"e2", "e2.yaml:25:27", "RP011", "did you mean: acknowledge"},
		{"e3", "e3.yaml:24:27", "RP012", "did you mean: m"},
		{"e4", "e4.yaml:23:13", "RP014", "did you mean: insert"},
		{"e5", "e5.yaml:34:1", "RP002", "did you mean: promises"},
		{"e6", "e6.yaml:27:24", "RP020", "to compare, write: =="},
		{"e7", "e7.yaml:32:10", "RP040", "did you mean: crash"},
		{"e8", "e8.yaml:35:32", "RP031", "did you mean: effect moves_money happens at most once per transfer"},
	} {
		s, ds := load(t, "testdata/errors/"+c.file+".yaml")
		if s != nil || len(ds) != 1 {
			t.Errorf("%s: want exactly one error, got %v", c.file, ds)
			continue
		}
		d := ds[0]
		if d.Pos.String() != c.pos || d.Code != c.code || d.Hint != c.hint {
			t.Errorf("%s: got %s\n hint: %s", c.file, d, d.Hint)
		}
	}
}
