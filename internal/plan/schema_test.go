package plan

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relplan/relplan/internal/schematest"
)

// plans are all plan files of the repository, and the one of these tests.
func plans(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{"good": good}
	for _, glob := range []string{"../../examples/*/*.yaml", "../cli/starter/*.yaml", "testdata/*.yaml", "testdata/*/*.yaml"} {
		files, err := filepath.Glob(glob)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			src, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Load(f, src); err == nil {
				out[f] = string(src)
			}
		}
	}
	return out
}

func TestSchemaAdmitsEveryPlan(t *testing.T) {
	v := schematest.New(t, Schema())
	all := plans(t)
	for name, src := range all {
		if errs := v.Validate(schematest.Value(t, src)); len(errs) > 0 {
			t.Errorf("%s: %s", name, strings.Join(errs, "; "))
		}
	}
	if len(all) < 4 {
		t.Errorf("only %d plans were looked at", len(all))
	}
}

// TestSchemaRefusesSlips: what an editor can see without reading units.
func TestSchemaRefusesSlips(t *testing.T) {
	v := schematest.New(t, Schema())
	for _, c := range []struct{ from, to, reason string }{
		{"workloads:", "workload:", "a section misspelt"},
		{"retain: 7d", "retains: 7d", "a required key misspelt"},
		{"engine: innodb", "engine: inodb", "a word of a closed list misspelt"},
		{"jitter: full", "jitter: fully", "a word deep inside misspelt"},
		{"replicas: 2", "replicas: [2]", "a list for a number"},
		{"relplan: v1", "relplan: v2", "another version"},
	} {
		bad := strings.Replace(good, c.from, c.to, 1)
		if bad == good {
			t.Fatalf("%s: %q is not in the plan", c.reason, c.from)
		}
		if len(v.Validate(schematest.Value(t, bad))) == 0 {
			t.Errorf("%s: accepted", c.reason)
		}
	}
}
