package plan

import (
	"encoding/json"
	"io"
	"os"
	"testing"

	"github.com/relplan/relplan/reports"
)

// FuzzCalls: whatever a plan says about its calls, the two verbs answer or
// refuse; they do not panic, hang or write what is not JSON.
func FuzzCalls(f *testing.F) {
	f.Add([]byte("relplan: v1\nplan: t\n" + chainPlan + "deadlines: {d: {path: [gateway, orders, payments], budget: 3s, spent: 2850ms, backoff: 80ms, attempt: 150ms}}\n"))
	for _, path := range []string{"../../examples/calls/relplan.yaml", "../../examples/checkout/relplan.yaml"} {
		src, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	f.Add([]byte("relplan: v1\nplan: t\ncalls: {a: {calls: [{to: b, attempts: unlimited, per_try: 290y, backoff: {base: 290y, factor: 1e300, step: 1y}}, {to: b, fan_out: 9223372036854775807, attempts: 9223372036854775807, failure: 100%}]}, b: {failure: 0.000001%}}\ndeadlines: {d: {path: [a], budget: 290y, spent: 290y, margin: 290y}}\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) > 4000 {
			t.Skip("long inputs only cost time")
		}
		p, err := Load("relplan.yaml", src)
		if err != nil {
			return
		}
		p.UseFiles(func(string) ([]byte, error) { return nil, os.ErrNotExist })
		tenth := 0.1
		for _, run := range []func() (*Answer, error){
			func() (*Answer, error) { return p.RetryTree(TreeOptions{}) },
			func() (*Answer, error) { return p.RetryTree(TreeOptions{Failure: &tenth, Model: ModelHop}) },
			p.DeadlinePlan,
		} {
			a, err := run()
			if err != nil {
				continue
			}
			if _, err := json.Marshal(a.Report.Data); err != nil {
				t.Fatal(err)
			}
			if err := reports.Write(io.Discard, "text", a.Report, reports.Options{}); err != nil {
				t.Fatal(err)
			}
		}
	})
}
