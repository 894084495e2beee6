package lower_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/relplan/relplan/modelcheck"
	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

// The public reports: each variant breaks or holds as its author expects, and
// a history is never longer than the one known for it.
func TestReports(t *testing.T) {
	files, err := filepath.Glob("../incidents/p*.yaml")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d reports, %v", len(files), err)
	}
	// Lengths found by hand-written models that count begin, go and let too:
	// upper bounds by file, variant and promise.
	atMost := map[string]int{
		"p001 as_reported answered": 3, "p004 as_reported conflict": 7, "p007 as_reported once": 10, "p009 as_reported once": 12,
		"p010 as_reported once": 8, "p011 as_reported answered": 5, "p016 as_reported once": 5, "p019 as_reported honest": 7,
		"p020 ignore decided": 4, "p020 fail honest": 7, "p025 as_reported honest": 5, "p028 as_reported once": 12,
		"p031 as_reported mailed": 8, "p031 fixed_but_crash mailed": 9, "p043 as_reported once": 16, "p044 as_reported once": 4,
		"p044 new_hazard once": 7, "p046 as_reported once": 9, "p049 as_reported kept": 11, "p052 as_reported kept": 18,
		"p057 as_reported once": 7, "p060 as_reported once": 5, "p073 as_reported once": 14, "p079 as_reported done": 4,
		"p083 as_reported done": 2, "p087 as_reported kept": 12, "p096 as_reported honest": 11, "p109 as_reported freed": 8,
		"p111 as_reported kept": 11, "p111 after_commit kept": 5, "p112 del_upd fresh": 10, "p117 no_lease fresh": 12,
		"p120 as_reported once": 14, "p122 per_attempt once": 9,
	}
	seen := 0
	for _, file := range files {
		name := filepath.Base(file)[:4]
		for _, v := range load(t, file) {
			t.Run(name+" "+v.Variant, func(t *testing.T) {
				o, err := lower.Check(context.Background(), v, modelcheck.Options{Workers: 1, Shortest: true})
				if err != nil {
					t.Fatal(err)
				}
				if !o.Result.Complete {
					t.Errorf("incomplete: %v", o.Unbounded)
				}
				for _, a := range o.Answers() {
					want := ast.Holds
					if v.Expect != nil && v.Expect.Promises[a.Promise.Name] != "" {
						want = v.Expect.Promises[a.Promise.Name]
					}
					if a.Verdict.String() != want {
						t.Errorf("%s: %v, want %s %s", a.Promise.Name, a.Verdict, want, a.Reason)
					}
					bound, ok := atMost[name+" "+v.Variant+" "+a.Promise.Name]
					if !ok || a.Verdict != modelcheck.Broken {
						continue
					}
					seen++
					n := len(a.History.Steps)
					if a.History.LoopFrom >= 0 {
						n = a.History.LoopFrom // the loop after it is printed too
					}
					if n > bound {
						t.Errorf("%s: %d steps, at most %d are needed", a.Promise.Name, n, bound)
					}
				}
			})
		}
	}
	if seen != len(atMost) {
		t.Errorf("%d histories compared, want %d: a name in the table is wrong", seen, len(atMost))
	}
}
