package lint

import (
	"strings"
	"testing"

	"github.com/relplan/relplan/retrytree/retryconfig"
)

func vsWith(retries string) []*retryconfig.File {
	return parse([]Source{{"vs.yaml", "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: a}\nspec:\n  http:\n  - timeout: 5s\n    match: [{method: {exact: GET}}]\n    retries: " + retries + "\n    route: [{destination: {host: a}}]\n"}})
}

func TestCompare(t *testing.T) {
	old := "{attempts: 2, perTryTimeout: 1s, retryOn: reset}"
	tests := []struct {
		reason, now     string
		attempts, worst string
		worse           bool
		added, gone     string
	}{
		{"nothing changed", old, "", "", false, "", ""},
		{"more attempts", "{attempts: 4, perTryTimeout: 1s, retryOn: reset}", "3 -> 5", "3.075s -> 5s", true, "attempts-do-not-fit-deadline", ""},
		{"fewer attempts", "{attempts: 1, perTryTimeout: 1s, retryOn: reset}", "3 -> 2", "3.075s -> 2.025s", false, "", "no-retry-budget"},
		{"switched off", "{attempts: 0}", "3 -> 1", "3.075s -> 5s", true, "", "no-retry-budget"},
		{"a typo", "{attempts: 2, perTryTimout: 1s, retryOn: reset}", "3 -> 3", "3.075s -> 5s", true, "renamed-or-unknown-field", ""},
		{"refused", "{attempts: 2, perTryTimeout: PT1S, retryOn: reset}", "3 -> refused", "3.075s -> refused", true, "invalid-duration", "no-retry-budget"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			d := Compare(vsWith(old), vsWith(tt.now), ".", ".", Options{})
			attempts, worst := "", ""
			if len(d.Hops) > 0 {
				attempts, worst = d.Hops[0].Attempts, d.Hops[0].Worst
			}
			if attempts != tt.attempts || worst != tt.worst || d.Worse() != tt.worse {
				t.Errorf("attempts %q worst %q worse %v", attempts, worst, d.Worse())
			}
			if !has(d.New, tt.added) || !has(d.Gone, tt.gone) {
				t.Errorf("new %v, gone %v", rulesOf(d.New), rulesOf(d.Gone))
			}
		})
	}
}

// TestCompareRange: a count that the file leaves open grows with its upper end.
func TestCompareRange(t *testing.T) {
	route := func(retry string) []*retryconfig.File {
		return parse([]Source{{"r.yaml", "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: a}\nspec: {rules: [{retry: " + retry + ", timeouts: {request: 9s}, backendRefs: [{name: a}]}]}\n"}})
	}
	if d := Compare(route("{attempts: 1}"), route("{codes: [503]}"), ".", ".", Options{}); !d.Hops[0].Grew || d.Hops[0].Attempts != "2 -> 2 to 3" {
		t.Errorf("%+v", d.Hops)
	}
	if d := Compare(route("{codes: [503]}"), route("{attempts: 2}"), ".", ".", Options{}); d.Hops[0].Grew {
		t.Errorf("%+v", d.Hops)
	}
}

func rulesOf(fs []Finding) string {
	var out []string
	for _, f := range fs {
		out = append(out, f.Rule)
	}
	return strings.Join(out, " ")
}

func has(fs []Finding, rule string) bool {
	return rule == "" && len(fs) == 0 || rule != "" && strings.Contains(rulesOf(fs), rule)
}

func TestComparePaths(t *testing.T) {
	plan := func(a, b string) []*retryconfig.File {
		return parse([]Source{{"relplan.yaml", "relplan: v1\nplan: p\ncalls:\n  edge: {calls: [{to: mid, attempts: " + a + ", per_try: 1s, overall: 9s}]}\n  mid: {calls: [{to: leaf, attempts: " + b + ", per_try: 100ms, overall: 900ms}]}\n"}})
	}
	d := Compare(plan("3", "4"), plan("3", "12"), ".", ".", Options{})
	if len(d.Paths) != 1 || d.Paths[0].Path != "edge -> mid -> leaf" || d.Paths[0].Old != 12 || d.Paths[0].New != 36 || !d.Worse() {
		t.Errorf("%+v", d.Paths)
	}
	if h := d.Paths[0].Hop; h == nil || h.AttemptsText() != "12" {
		t.Errorf("last hop %+v", h)
	}
}
