package specs

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/relplan/relplan/reports"
	"github.com/relplan/relplan/specs/ast"
)

func verdict(t *testing.T, name string, o CheckOptions) *Verdict {
	t.Helper()
	s, ds := load(t, "testdata/"+name+".yaml")
	if s == nil {
		t.Fatal(ds)
	}
	v, err := s.Check(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestTable: the verdicts and the lengths of the shortest histories that the
// design states for the twelve specs.
func TestTable(t *testing.T) {
	for _, c := range []struct {
		file   string
		steps  [3]int // of the history that breaks the promise; 0: holds
		branch string // that can never be taken
	}{
		{"a-inbox-same-transaction", [3]int{}, ""},
		{"b-setnx-before-write", [3]int{0, 6, 6}, ""},
		{"c-write-before-setnx", [3]int{7, 0, 0}, "if_exists"},
		{"d-setnx-ttl-zombie", [3]int{10, 0, 0}, ""},
		{"d2-lock-plus-unique", [3]int{}, ""},
		{"e-outbox-end-to-end", [3]int{}, ""},
		{"e2-outbox-no-inbox", [3]int{16, 0, 0}, ""},
		{"f0-payment-client-key-naive", [3]int{0, 0, 11}, ""},
		{"f1-payment-client-key", [3]int{}, "if_none"},
		{"f2-payment-receipt-only-retry", [3]int{6, 0, 0}, ""},
		{"f3-payment-receipt-only-human", [3]int{}, ""},
		{"f4-payment-query-no-dedup", [3]int{8, 0, 0}, ""},
	} {
		v := verdict(t, c.file, CheckOptions{}).Variants[0]
		want := ast.Holds
		for i, n := range c.steps {
			p := v.Promises[i]
			if (n > 0) != (p.Verdict == ast.Broken) || len(p.History) != n {
				t.Errorf("%s %s: %s in %d steps, want %d", c.file, p.Name, p.Verdict, len(p.History), n)
			}
			if n > 0 {
				want = ast.Broken
				if len(p.Because) == 0 || p.Replay == nil {
					t.Errorf("%s %s: no reason or no command", c.file, p.Name)
				}
			}
		}
		if v.Verdict != want || !v.Complete || v.States == 0 || len(v.NeverTaken) > 0 {
			t.Errorf("%s: %s, complete %v, never taken %v", c.file, v.Verdict, v.Complete, v.NeverTaken)
		}
		for _, q := range v.Possible {
			if !q.Seen {
				t.Errorf("%s: %s is never seen", c.file, q.Text)
			}
		}
		if got := strings.Join(v.NeverTakenBranches, " "); c.branch != "" && !strings.Contains(got, c.branch) {
			t.Errorf("%s: branches never taken: %q, want %s", c.file, got, c.branch)
		}
	}
}

// TestSealed: b cannot be saved from its third step on, the crash.
func TestSealed(t *testing.T) {
	p := verdict(t, "b-setnx-before-write", CheckOptions{}).Variants[0].Promises[2]
	if p.SealedAt == nil || *p.SealedAt != 3 || p.History[2].Kind != "fault" {
		t.Errorf("sealed at %v, history %v", p.SealedAt, p.History[2])
	}
}

// TestOverrides: other budgets than the file's.
func TestOverrides(t *testing.T) {
	src, err := os.ReadFile("testdata/b-setnx-before-write.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s, ds := LoadWith("b.yaml", src, Options{Faults: map[string]int{"crash": 0, "redelivery": 0}})
	if s == nil {
		t.Fatal(ds)
	}
	v, err := s.Check(context.Background(), CheckOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if x := v.Variants[0]; x.Promises[1].Verdict != ast.Holds || x.Verdict != ast.Vacuous || len(x.Bounds) != 0 {
		t.Errorf("b without faults: %s %v", x.Summary(), x.Bounds)
	}
	if v.Exit() != 1 {
		t.Errorf("vacuous exits %d", v.Exit())
	}
	v, err = s.Check(context.Background(), CheckOptions{AllowVacuous: true})
	if err != nil || v.Exit() != 0 {
		t.Errorf("accepted vacuous: %v, exit %d", err, v.Exit())
	}
}

// TestRandomClaimsNothing: random histories find what is broken and never say
// that something holds; the same seed finds the same.
func TestRandomClaimsNothing(t *testing.T) {
	a := verdict(t, "a-inbox-same-transaction", CheckOptions{Random: 200, Seed: 7})
	if a.Variants[0].Verdict != ast.Unknown || a.Exit() != 4 {
		t.Errorf("a at random: %s, exit %d", a.Summary(), a.Exit())
	}
	one := verdict(t, "c-write-before-setnx", CheckOptions{Random: 2000, Seed: 7})
	two := verdict(t, "c-write-before-setnx", CheckOptions{Random: 2000, Seed: 7, Workers: 1})
	if one.Variants[0].Verdict != ast.Broken {
		t.Errorf("c at random: %s", one.Summary())
	}
	x, _ := json.Marshal(one.Variants[0])
	y, _ := json.Marshal(two.Variants[0])
	if string(x) != string(y) {
		t.Errorf("the same seed gives\n%s\n%s", x, y)
	}
}

func TestEstimate(t *testing.T) {
	v := verdict(t, "e-outbox-end-to-end", CheckOptions{Estimate: true})
	full := verdict(t, "e-outbox-end-to-end", CheckOptions{NoHistories: true})
	if e := v.Variants[0].Estimate; e == nil || !e.Exact || e.States != full.Variants[0].States {
		t.Errorf("estimate %+v of %d states", e, full.Variants[0].States)
	}
	if v.Exit() != 0 {
		t.Errorf("an estimate exits %d", v.Exit())
	}
}

// TestStopped: a cancelled check claims nothing and exits 4.
func TestStopped(t *testing.T) {
	s, _ := load(t, "testdata/e-outbox-end-to-end.yaml")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	v, err := s.Check(ctx, CheckOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if x := v.Variants[0]; x.Verdict != ast.Unknown || x.Complete || v.Exit() != 4 {
		t.Errorf("stopped: %s, exit %d", x.Summary(), v.Exit())
	}
}

// TestExpect: the summary line of a teaching file, and what differs.
func TestExpect(t *testing.T) {
	v := verdict(t, "../incidents/p046-effect-and-status-apart", CheckOptions{})
	if got, want := v.Summary(), "as_reported: broken as expected (once, 7 steps); fixed: holds"; got != want || v.Exit() != 0 {
		t.Errorf("got %q, exit %d", got, v.Exit())
	}
	b, err := os.ReadFile("incidents/p046-effect-and-status-apart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s, _ := Load("p046.yaml", []byte(strings.Replace(string(b), "expect: {broken: [once]}", "expect: holds", 1)))
	v, err = s.Check(context.Background(), CheckOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := v.Summary(); !strings.Contains(got, "not as expected") || !strings.Contains(got, "once was expected to hold and is broken") || v.Exit() != 1 {
		t.Errorf("got %q, exit %d", got, v.Exit())
	}
}

// TestFindingPosition: SARIF points at the step that is wrong, not at the promise.
func TestFindingPosition(t *testing.T) {
	for _, c := range []struct {
		file         string
		line, column int
		why          string
	}{
		{"d-setnx-ttl-zombie", 28, 9, "the second insert"},
		{"b-setnx-before-write", 17, 9, "the mark before the crash that seals it"},
	} {
		fs := verdict(t, c.file, CheckOptions{}).Findings()
		if len(fs) == 0 || fs[len(fs)-1].Line != c.line || fs[len(fs)-1].Column != c.column {
			t.Errorf("%s: findings %+v, want line %d: %s", c.file, fs, c.line, c.why)
		}
	}
}

// TestFormats: lanes for text; a table and a sequence diagram with faults
// marked for the others.
func TestFormats(t *testing.T) {
	v := verdict(t, "d-setnx-ttl-zombie", CheckOptions{})
	text := render(v, RenderOptions{Format: "text"})
	for _, want := range []string{"! 4  FAULT", "consumer 1", "10  inserts into ledger", "· ledger +(op: transfer 1)"} {
		if !strings.Contains(text, want) {
			t.Errorf("text has no %q:\n%s", want, text)
		}
	}
	for _, l := range strings.Split(text, "\n") {
		if len([]rune(l)) > 120 {
			t.Errorf("a line of %d columns: %s", len([]rune(l)), l)
		}
	}
	md := render(v, RenderOptions{Format: "markdown"})
	for _, want := range []string{"sequenceDiagram", "actor p1 as consumer 1", "rect rgb(255, 221, 221)", "10. inserts into ledger"} {
		if !strings.Contains(md, want) {
			t.Errorf("markdown has no %q:\n%s", want, md)
		}
	}
	if strings.Count(md, "rect rgb") != strings.Count(md, "\n  end\n") {
		t.Error("the diagram does not close its marks")
	}
}

func render(v *Verdict, o RenderOptions) string {
	var b strings.Builder
	for _, x := range v.Blocks(o) {
		switch x := x.(type) {
		case reports.Code:
			b.WriteString(x.Text + "\n")
		case reports.Paragraph:
			b.WriteString(x.Text + "\n")
		case reports.List:
			b.WriteString(strings.Join(x.Items, "\n") + "\n")
		}
	}
	return b.String()
}

// TestRestsOn: a verdict that hangs on which length is longer says so.
func TestRestsOn(t *testing.T) {
	text := render(verdict(t, "../incidents/p033-dedupe-retention-vs-error-queue", CheckOptions{Variants: []string{"fixed"}}), RenderOptions{})
	if want := "holds iff keep > replay_horizon"; !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
	text = render(verdict(t, "../incidents/p087-prepared-transaction-times-out", CheckOptions{Variants: []string{"fixed"}}), RenderOptions{})
	if want := "assumed: downtime of sink < txn_timeout (used)"; !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
}

// TestJSONNames: the names of the contract, arrays never null.
func TestJSONNames(t *testing.T) {
	b, err := json.Marshal(NewDocument([]*Verdict{verdict(t, "b-setnx-before-write", CheckOptions{})}))
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	if doc["schema"] != "relplan.dev/check/v1" {
		t.Errorf("schema %v", doc["schema"])
	}
	spec := doc["specs"].([]any)[0].(map[string]any)
	for _, name := range []string{"file", "system", "variant", "verdict", "as_expected", "expect", "complete", "limits", "reductions", "missed_state_probability",
		"random", "states", "transitions", "depth", "bounds", "assumptions", "promises", "must_be_possible", "never_taken", "basis"} {
		if _, ok := spec[name]; !ok {
			t.Errorf("no %s", name)
		}
	}
	for _, name := range []string{"limits", "reductions", "assumptions", "rests_on", "promises", "must_be_possible", "never_taken"} {
		if _, ok := spec[name].([]any); !ok {
			t.Errorf("%s is %v, not an array", name, spec[name])
		}
	}
	p := spec["promises"].([]any)[1].(map[string]any)
	for _, name := range []string{"text", "kind", "verdict", "faults", "history", "loop_from", "because", "replay"} {
		if _, ok := p[name]; !ok {
			t.Errorf("a promise has no %s", name)
		}
	}
	h := p["history"].([]any)[0].(map[string]any)
	for _, name := range []string{"n", "actor", "kind", "text", "line", "changed"} {
		if _, ok := h[name]; !ok {
			t.Errorf("a step has no %s", name)
		}
	}
}

// TestNoMemoryAtAll: a limit below the first state is a limit, not a bad model.
func TestNoMemoryAtAll(t *testing.T) {
	v := verdict(t, "b-setnx-before-write", CheckOptions{MemoryLimit: 1})
	x := v.Variants[0]
	if x.Verdict != ast.Unknown || x.Complete || strings.Join(x.Limits, " ") != "memory limit of 1 bytes" || v.Exit() != 4 {
		t.Errorf("%s, complete %v, limits %q, exit %d", x.Verdict, x.Complete, x.Limits, v.Exit())
	}
	if v := verdict(t, "b-setnx-before-write", CheckOptions{MemoryLimit: 1, Estimate: true}); v.Exit() != 0 {
		t.Errorf("estimate: exit %d", v.Exit())
	}
}

// TestExpectUnderLimits: what a limit left open is neither as expected nor not,
// unless something decided contradicts the expectation.
func TestExpectUnderLimits(t *testing.T) {
	const h, b, u, vac = ast.Holds, ast.Broken, ast.Unknown, ast.Vacuous
	yes, no := "yes", "no"
	for _, c := range []struct {
		whole     string   // expectation of the whole
		want, got []string // of the promises
		possible  bool     // an undecided must_be_possible
		as        string   // yes, no, "" for open
		exit      int
	}{
		{"", []string{h, h}, []string{h, u}, false, "", 4},
		{"", []string{b, h}, []string{u, u}, false, "", 4},
		{"", []string{b, h}, []string{b, u}, false, "", 4}, // the whole is broken, and the rest is open
		{"", []string{h, h}, []string{b, u}, false, no, 1},
		{"", []string{b, h}, []string{u, b}, false, no, 1},
		{"", []string{h, u}, []string{h, u}, false, yes, 0},
		{"", []string{h, h}, []string{h, h}, true, "", 4},
		{"", []string{b, h}, []string{b, h}, false, yes, 0},
		{"", []string{b, h}, []string{h, h}, false, no, 1},
		{b, nil, []string{u, u}, false, "", 4},
		{b, nil, []string{b, u}, false, yes, 0},
		{b, nil, []string{h, h}, false, no, 1},
		{vac, nil, []string{b, u}, false, no, 1},
		{u, nil, []string{h, u}, false, yes, 0},
	} {
		tree := &ast.Spec{Expect: &ast.Expect{Whole: c.whole, Promises: map[string]string{}}}
		v := newVerdict(tree)
		v.Complete = true
		for i, got := range c.got {
			p := &PromiseVerdict{Verdict: got}
			if c.want != nil {
				p.Expected = &c.want[i]
			}
			v.Complete = v.Complete && got != u
			v.Promises = append(v.Promises, p)
		}
		if c.possible {
			v.Complete = false
			v.Possible = append(v.Possible, &PossibleResult{unknown: true})
		}
		v.conclude(tree, CheckOptions{})
		as := ""
		if v.AsExpected != nil {
			as = map[bool]string{true: yes, false: no}[*v.AsExpected]
		}
		if as != c.as || v.exit() != c.exit {
			t.Errorf("expect %q %v, got %v: as expected %q, want %q; exit %d, want %d", c.whole, c.want, c.got, as, c.as, v.exit(), c.exit)
		}
	}
}
