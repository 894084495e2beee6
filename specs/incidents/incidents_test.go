package incidents_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/relplan/relplan/specs"
	"github.com/relplan/relplan/specs/incidents"
)

type checked struct {
	*incidents.Incident
	verdict *specs.Verdict
}

// all checks every incident once for all tests.
var all = sync.OnceValues(func() ([]checked, error) {
	var out []checked
	for _, name := range incidents.Names() {
		in, err := incidents.Load(name)
		if err != nil {
			return nil, err
		}
		v, err := in.Spec.Check(context.Background(), specs.CheckOptions{Workers: 1})
		if err != nil {
			return nil, err
		}
		out = append(out, checked{in, v})
	}
	return out, nil
})

func load(t *testing.T) []checked {
	t.Helper()
	out, err := all()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestVariantsAreAsExpected: each variant is broken or holds as its file says,
// and each file has a broken one.
func TestVariantsAreAsExpected(t *testing.T) {
	for _, in := range load(t) {
		t.Run(in.Name, func(t *testing.T) {
			broken := false
			for _, x := range in.verdict.Variants {
				switch {
				case x.AsExpected == nil:
					t.Errorf("variant %q expects nothing", x.Name())
				case !*x.AsExpected:
					t.Errorf("variant %q is %s: %s, expected %s", x.Name(), x.Verdict, x.Summary(), *x.Expect)
				}
				broken = broken || x.Verdict == "broken"
			}
			if !broken {
				t.Error("no variant is broken: the report is not shown")
			}
		})
	}
}

// TestHeads: numbers, addresses and outcomes of the reports.
func TestHeads(t *testing.T) {
	const reports = 79
	outcomes := []string{"duplicate", "lost", "stuck", "stale", "disorder", "conflict-ignored"}
	seen := map[int]bool{}
	for _, in := range load(t) {
		if seen[in.Number] || !strings.HasPrefix(in.Name, fmt.Sprintf("p%03d-", in.Number)) {
			t.Errorf("%s: report %d", in.Name, in.Number)
		}
		seen[in.Number] = true
		for _, r := range in.Refs {
			if !strings.HasPrefix(r, "https://") {
				t.Errorf("%s: %q is no address", in.Name, r)
			}
		}
		for _, o := range in.Outcomes {
			if !slices.Contains(outcomes, o) {
				t.Errorf("%s: outcome %q", in.Name, o)
			}
		}
	}
	if len(seen) != reports {
		t.Errorf("%d reports, want %d", len(seen), reports)
	}
}

// TestOutcomes: what is stuck breaks a promise of progress; what is out of order
// or accepted by mistake breaks one that no later step can repair.
func TestOutcomes(t *testing.T) {
	kinds := map[string]string{"stuck": "liveness", "disorder": "safety", "conflict-ignored": "safety"}
	for _, in := range load(t) {
		want, judged := kinds[in.Outcomes[0]]
		broken := map[string]bool{}
		for _, x := range in.verdict.Variants {
			for _, p := range x.Promises {
				broken[p.Kind] = broken[p.Kind] || p.Verdict == "broken"
			}
		}
		if judged && !broken[want] {
			t.Errorf("%s: %s, but no %s promise is broken", in.Name, in.Outcomes[0], want)
		}
	}
}

// TestHistories compares the history of each broken promise with
// testdata/histories/NAME.txt, which people have compared with the report.
// UPDATE_GOLDEN=1 rewrites them.
func TestHistories(t *testing.T) {
	for _, in := range load(t) {
		t.Run(in.Name, func(t *testing.T) { golden(t, "testdata/histories/"+in.Name+".txt", signature(in)) })
	}
	files, err := os.ReadDir("testdata/histories")
	if err != nil || len(files) != len(load(t)) {
		t.Errorf("%d histories of %d incidents, %v", len(files), len(load(t)), err)
	}
}

// signature is the history of every broken promise: the faults that it spends,
// and one line a step.
func signature(in checked) string {
	var b strings.Builder
	for _, x := range in.verdict.Variants {
		for _, p := range x.Promises {
			if p.Verdict != "broken" {
				continue
			}
			fmt.Fprintf(&b, "%s breaks %s: %s\n%s\n", x.Name(), p.Name, p.Text, spent(p))
			for _, s := range p.History {
				actor := s.Actor
				if actor == "" {
					actor = "-"
				}
				text := s.Text
				if s.Waited != "" {
					text = s.Waited + ", then " + text
				}
				if s.Then != "" && !strings.HasPrefix(s.Then, "goes to line ") { // line numbers move
					text += ", " + s.Then
				}
				fmt.Fprintf(&b, "%4d  %-8s  %s: %s\n", s.N, s.Kind, actor, text)
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// spent lists the faults as a spec writes them.
func spent(p *specs.PromiseVerdict) string {
	var out []string
	for _, f := range slices.Sorted(maps.Keys(p.Faults)) {
		if p.Faults[f] > 0 {
			out = append(out, fmt.Sprintf("%s: %d", f, p.Faults[f]))
		}
	}
	if out == nil {
		return "no fault"
	}
	return strings.Join(out, ", ")
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	want, err := os.ReadFile(file)
	if err == nil && string(want) == got {
		return
	}
	if os.Getenv("UPDATE_GOLDEN") == "" {
		t.Fatalf("%s is not what the check gives (%v), see UPDATE_GOLDEN=1:\n%s", file, err, got)
	}
	if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
		t.Fatal(err)
	}
}
