package lower_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relplan/relplan/modelcheck"
	"github.com/relplan/relplan/specs"
	"github.com/relplan/relplan/specs/lower"
)

// Every spec of the tests is checked with every fault that can hit anything: the
// program must compile and must never assign at no element, whatever the
// verdicts are.
func TestEveryFaultOnEverySpec(t *testing.T) {
	faults := []map[string]int{
		{"crash": 1, "response_lost": 1}, {"redelivery": 1, "stall": 1}, {"request_lost": 1, "error": 1, "lock_timeout": 1},
		{"session_lost": 1, "late_request": 1, "crash": 1},
	}
	files, _ := filepath.Glob("../testdata/*.yaml")
	reports, _ := filepath.Glob("../incidents/*.yaml")
	for i, file := range append(files, reports...) {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, ds := specs.LoadWith(file, src, specs.Options{Faults: faults[i%len(faults)]})
		if s == nil {
			t.Fatalf("%s: %v", file, ds)
		}
		for _, v := range s.Variants() {
			o, err := lower.Check(context.Background(), v, modelcheck.Options{Workers: 1, NoHistories: true, MaxStates: 20000})
			if err != nil {
				t.Errorf("%s %s: %v", filepath.Base(file), v.Variant, err)
				continue
			}
			for _, u := range o.Unbounded {
				if strings.HasPrefix(u, "internal") {
					t.Errorf("%s %s: %s", filepath.Base(file), v.Variant, u)
				}
			}
		}
	}
}

// Names that an author leaves out are no obstacle.
func TestUnnamedTrigger(t *testing.T) {
	runRules(t, []rule{{"request", "a request without a name", `
operations: {op: 1}
resources: {k: {kind: kv}}
processes:
  a:
    on: {request: op}
    steps:
      - {put: k, key: 'x'}
      - {reply: ok}
promises:
  answered: every op is eventually answered ok
`, "holds"}, {"message", "a message without a name comes back for ever", `
operations: {op: 1}
resources: {k: {kind: kv}, q: {kind: queue, delivery: at_least_once, starts_with: one per op}}
processes:
  a:
    on: {message: q}
    steps:
      - {put: k, key: 'x'}
promises:
  there: {check: "exists(k where key == 'x')", eventually: true}
`, "holds"}})
}
