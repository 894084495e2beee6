package lint

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/retrytree/retryconfig"
)

func parse(files []Source) []*retryconfig.File {
	var out []*retryconfig.File
	for _, s := range files {
		out = append(out, retryconfig.Parse(s.Name, []byte(s.Text)))
	}
	return out
}

func named(fs []Finding, rule string) (out []Finding) {
	for _, f := range fs {
		if f.Rule == rule && f.Suppressed == nil {
			out = append(out, f)
		}
	}
	return out
}

// TestRulesBothWays holds every rule to its own page: it finds the bad example and
// leaves the good one alone.
func TestRulesBothWays(t *testing.T) {
	if len(Rules) != 60 {
		t.Errorf("%d rules, want 60", len(Rules))
	}
	for i, r := range Rules {
		t.Run(r.Code, func(t *testing.T) {
			if r.Number != i+1 || r.Title == "" || len(r.Text) < 60 || r.Run == nil || len(r.Before) == 0 || len(r.After) == 0 {
				t.Fatalf("the rule lacks number, title, text, an example or its check")
			}
			before := parse(r.Before)
			if len(named(Run(before, r.Options), r.Code)) == 0 {
				t.Errorf("the bad example is not found; read: %v %s", before[0].Status, before[0].Reason)
			}
			after := parse(r.After)
			if got := named(Run(after, r.Options), r.Code); len(got) > 0 {
				t.Errorf("the good example is found: %s", got[0].Message)
			}
			for _, f := range after {
				if f.Status == retryconfig.Unread && r.Code != "unsupported-format" {
					t.Errorf("the good example is not readable: %s", f.Reason)
				}
			}
			for _, f := range named(Run(before, r.Options), r.Code) {
				if f.Line == 0 || f.Column == 0 || f.Message == "" || f.Fingerprint == "" {
					t.Errorf("a finding lacks place, message or fingerprint: %+v", f)
				}
			}
		})
	}
}

type expected struct {
	File  string
	Rules []struct {
		Rule, Severity string
		Optional       bool
	}
	Hops []struct{ Attempts *int64 }
}

// twoSeverities are the rules that may be errors or warnings.
var twoSeverities = []string{"attempts-do-not-fit-deadline", "retry-on-4xx"}

// TestCorpusRules compares the findings of every corpus file, read alone, with what a
// good tool reports: each rule that is not optional with its severity, and no error
// beyond the list.
func TestCorpusRules(t *testing.T) {
	dir := "../retryconfig/testdata/corpus"
	raw, err := os.ReadFile(filepath.Join(dir, "EXPECTED.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want []expected
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	letter := map[diag.Severity]string{diag.Error: "E", diag.Warning: "W", diag.Info: "I"}
	for _, w := range want {
		t.Run(w.File, func(t *testing.T) {
			src, err := os.ReadFile(filepath.Join(dir, w.File))
			if err != nil {
				t.Fatal(err)
			}
			fs := Run([]*retryconfig.File{retryconfig.Parse(w.File, src)}, Options{})
			got := map[string][]string{}
			for _, f := range fs {
				got[f.Rule] = append(got[f.Rule], letter[f.Severity])
			}
			listed := map[string]bool{}
			for _, r := range w.Rules {
				listed[r.Rule] = true
				if !r.Optional && !slices.Contains(got[r.Rule], r.Severity) && !(slices.Contains(twoSeverities, r.Rule) && len(got[r.Rule]) > 0) {
					t.Errorf("%s (%s) is missing, got %v", r.Rule, r.Severity, got[r.Rule])
				}
			}
			for rule, sev := range got {
				if !listed[rule] && slices.Contains(sev, "E") {
					t.Errorf("%s is reported as an error: %s", rule, named(fs, rule)[0].Message)
				}
			}
		})
	}
}

func TestSuppression(t *testing.T) {
	day := func(s string) time.Time { d, _ := time.Parse("2006-01-02", s); return d }
	base := Find1(t, "no-backoff").Before[0]
	tests := []struct {
		reason, mark string
		suppressed   bool
		bad          string
	}{
		{"with date and reason", "# relplan:ignore no-backoff until 2027-01-31: the sidecar waits", true, ""},
		{"several rules", "# relplan:ignore no-backoff, no-jitter until 2027-01-31: the sidecar waits", true, ""},
		{"expired", "# relplan:ignore no-backoff until 2026-01-31: the sidecar waits", false, "expired"},
		{"without a reason", "# relplan:ignore no-backoff until 2027-01-31", false, "no reason"},
		{"without a date", "# relplan:ignore no-backoff: the sidecar waits", false, "no expiry date"},
		{"with a wrong date", "# relplan:ignore no-backoff until tomorrow: the sidecar waits", false, "no date"},
		{"another rule", "# relplan:ignore no-jitter until 2027-01-31: the sidecar waits", false, ""},
		{"an unknown rule", "# relplan:ignore no-backof until 2027-01-31: the sidecar waits", false, "did you mean no-backoff"},
		{"whole file", "# relplan:ignore-file no-backoff until 2027-01-31: generated", true, ""},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			text := strings.Replace(base.Text, "        - name: Retry\n", "        "+tt.mark+"\n        - name: Retry\n", 1)
			if strings.Contains(tt.mark, "ignore-file") {
				text = tt.mark + "\n" + base.Text
			}
			fs := Run(parse([]Source{{base.Name, text}}), Options{Today: day("2026-12-01")})
			i := slices.IndexFunc(fs, func(f Finding) bool { return f.Rule == "no-backoff" })
			if i < 0 || (fs[i].Suppressed != nil) != tt.suppressed {
				t.Errorf("finding %d, suppressed %v", i, fs)
			}
			if i >= 0 && tt.suppressed && (fs[i].Suppressed.Until != "2027-01-31" || fs[i].Suppressed.Reason == "") {
				t.Errorf("%+v", fs[i].Suppressed)
			}
			bad := named(fs, badSuppression)
			if (len(bad) > 0) != (tt.bad != "") || len(bad) > 0 && !strings.Contains(bad[0].Message, tt.bad) {
				t.Errorf("bad marks %v, want %q", bad, tt.bad)
			}
		})
	}
}

// TestSuppressionInString: in JSON a mark stands in a string, where its reason ends, and a
// mark that does not count is a finding at its line like any other.
func TestSuppressionInString(t *testing.T) {
	src := Source{"vs.json", `{"apiVersion": "networking.istio.io/v1", "kind": "VirtualService", "metadata": {"name": "a",
 "annotations": {"x": "relplan:ignore-file wildcard-retry-on until 2027-01-01: read only"}},
 "spec": {"http": [{"match": [{"method": {"exact": "GET"}}], "timeout": "5s", "retries": {"attempts": 1, "perTryTimeout": "1s", "retryOn": "5xx"}, "route": [{"destination": {"host": "a"}}]}]}}`}
	day, _ := time.Parse("2006-01-02", "2026-12-01")
	fs := Run(parse([]Source{src}), Options{Today: day})
	i := slices.IndexFunc(fs, func(f Finding) bool { return f.Rule == "wildcard-retry-on" })
	if i < 0 || fs[i].Suppressed == nil || fs[i].Suppressed.Reason != "read only" {
		t.Errorf("%+v", fs)
	}
	fs = Run(parse([]Source{src}), Options{Today: day.AddDate(1, 0, 0)})
	if len(fs) < 2 || fs[0].Rule != badSuppression || fs[0].Line != 2 || fs[0].Fingerprint == "" {
		t.Errorf("%+v", fs)
	}
}

func Find1(t *testing.T, code string) *Rule {
	r, ok := Find(code)
	if !ok {
		t.Fatalf("no rule %s", code)
	}
	return r
}

// TestFingerprints: moving lines keeps them, another number changes them, and the
// baseline silences by them.
func TestFingerprints(t *testing.T) {
	src := Find1(t, "amplification-over-limit").Before[0]
	first := Run(parse([]Source{src}), Options{})
	moved := Run(parse([]Source{{src.Name, "# a comment\n\n" + src.Text}}), Options{})
	other := Run(parse([]Source{{src.Name, strings.Replace(src.Text, "attempts: 50", "attempts: 60", 1)}}), Options{})
	a, b, c := named(first, "amplification-over-limit")[0], named(moved, "amplification-over-limit")[0], named(other, "amplification-over-limit")[0]
	if a.Fingerprint != b.Fingerprint || a.Line == b.Line {
		t.Errorf("moved lines: %s at %d, %s at %d", a.Fingerprint, a.Line, b.Fingerprint, b.Line)
	}
	if a.Fingerprint == c.Fingerprint {
		t.Error("another number has the same fingerprint")
	}
	base := map[string]bool{}
	for _, f := range first {
		if base[f.Fingerprint] {
			t.Errorf("fingerprint %s twice", f.Fingerprint)
		}
		base[f.Fingerprint] = true
	}
	for _, f := range Run(parse([]Source{src}), Options{Baseline: base}) {
		if f.Suppressed == nil {
			t.Errorf("%s is not silenced by the baseline", f.Rule)
		}
	}
}

// TestTreeOfFiles: an edge is inferred where the host that a proxy calls is the name
// that an application gives itself.
func TestTreeOfFiles(t *testing.T) {
	edge := Source{"vs.yaml", `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: checkout, namespace: shop}
spec:
  hosts: [shop.example]
  http:
  - name: checkout
    timeout: 8s
    retries: {attempts: 2, perTryTimeout: 2s, retryOn: "reset,connect-failure"}
    route: [{destination: {host: checkout.shop.svc.cluster.local}}]
`}
	app := Source{"application.yml", `spring: {application: {name: checkout}}
resilience4j:
  retry:
    instances:
      payment: {maxAttempts: 4, waitDuration: 200ms}
  timelimiter:
    instances:
      payment: {timeoutDuration: 1s}
`}
	fs := Run(parse([]Source{edge, app}), Options{})
	amp := named(fs, "amplification-over-limit")
	if len(amp) != 1 || amp[0].Value != "12" || amp[0].Severity != diag.Warning || !strings.Contains(amp[0].Message, "3 x 4") {
		t.Errorf("amplification %+v", amp)
	}
	out := named(fs, "child-outlives-caller")
	if len(out) != 1 || out[0].Value != "4.6s" || out[0].Limit != "2s" {
		t.Errorf("child outlives caller %+v", out)
	}
	if fs := Run(parse([]Source{edge}), Options{}); len(named(fs, "child-outlives-caller")) > 0 {
		t.Error("an edge is inferred from one file alone")
	}
}

// TestGrouping: thousands of routes alike make one finding.
func TestGrouping(t *testing.T) {
	var b strings.Builder
	b.WriteString("apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: a}\nspec:\n  http:\n")
	for range 500 {
		b.WriteString("  - {timeout: 5s, retries: {attempts: 2, perTryTimeout: 1s, retryOn: 5xx}, route: [{destination: {host: a}}]}\n")
	}
	got := named(Run(parse([]Source{{"a.yaml", b.String()}}), Options{}), "wildcard-retry-on")
	if len(got) != 1 || !strings.Contains(got[0].Message, "499 more") {
		t.Errorf("%d findings: %+v", len(got), got[:min(len(got), 1)])
	}
}

// TestUncappedBackoff: the wait that is named is one that happens.
func TestUncappedBackoff(t *testing.T) {
	for _, tt := range []struct{ text, value string }{
		{"[default]\nretry_mode = legacy\nmax_attempts = 5\n", "8s"},
		{"[default]\nretry_mode = legacy\nmax_attempts = 10\n", "4m16s"},
		{"[default]\nretry_mode = standard\nmax_attempts = 10\n", ""},
	} {
		got := named(Run(parse([]Source{{"config", tt.text}}), Options{}), "backoff-uncapped")
		switch {
		case tt.value == "" && len(got) > 0:
			t.Errorf("%q: %s", tt.text, got[0].Message)
		case tt.value != "" && (len(got) != 1 || got[0].Value != tt.value || !strings.Contains(got[0].Message, tt.value)):
			t.Errorf("%q: %+v", tt.text, got)
		}
	}
}

// TestAlternatives: routes beside each other into one application make one finding, that
// of the worst of them.
func TestAlternatives(t *testing.T) {
	edge := Source{"vs.yaml", `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: checkout, namespace: shop}
spec:
  http:
  - {timeout: 9s, retries: {attempts: 2, perTryTimeout: 2s, retryOn: reset}, route: [{destination: {host: checkout}}]}
  - {timeout: 9s, retries: {attempts: 3, perTryTimeout: 1s, retryOn: reset}, route: [{destination: {host: checkout}}]}
  - {timeout: 9s, retries: {attempts: 1, perTryTimeout: 3s, retryOn: reset}, route: [{destination: {host: checkout}}]}
`}
	app := Source{"application.yml", "spring: {application: {name: checkout}}\nresilience4j:\n  retry: {instances: {pay: {maxAttempts: 5, waitDuration: 200ms}}}\n  timelimiter: {instances: {pay: {timeoutDuration: 1s}}}\n"}
	fs := Run(parse([]Source{edge, app}), Options{})
	if amp := named(fs, "amplification-over-limit"); len(amp) != 1 || amp[0].Value != "20" {
		t.Errorf("%+v", amp)
	}
	if out := named(fs, "child-outlives-caller"); len(out) != 1 || out[0].Limit != "1s" {
		t.Errorf("%+v", out)
	}
}
