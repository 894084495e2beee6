package plan

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/relplan/relplan/internal/diag"
)

func load(t *testing.T, src string) *File {
	t.Helper()
	f, err := Load("relplan.yaml", []byte("relplan: v1\nplan: t\n"+src))
	if err != nil {
		t.Fatal(err)
	}
	f.UseFiles(func(path string) ([]byte, error) {
		if path == "bank.txt" {
			return []byte("# measured\n10ms\n12ms\n11ms\n300ms\n"), nil
		}
		return nil, os.ErrNotExist
	})
	return f
}

const chainPlan = `
calls:
  gateway: {calls: [{to: orders, attempts: 2, per_try: 2s, backoff: {base: 25ms, factor: 2, max: 250ms, jitter: full}, key: reused}]}
  orders:  {calls: [{to: payments, attempts: 3, per_try: 500ms, budget: {ratio: 20%, per: first_try}}]}
  payments: {calls: [{to: bank, attempts: 2, per_try: 150ms, backoff: {base: 80ms}}]}
`

func TestRetryTreeOfAChain(t *testing.T) {
	half := 0.5
	a, err := load(t, chainPlan+"policies: {max_attempts: 10}\n").RetryTree(TreeOptions{Failure: &half, Model: ModelLeaf})
	if err != nil {
		t.Fatal(err)
	}
	if !a.Failed {
		t.Error("12 attempts do not break a limit of 10")
	}
	doc := a.Report.Data.(RetryTreeDocument)
	if got := strings.Join(doc.Worst.Path, " "); *doc.Worst.Attempts != 12 || doc.Worst.AttemptsExact != "12" || got != "gateway orders payments bank" {
		t.Errorf("worst %+v", doc.Worst)
	}
	// 4 attempts fail once in 16; the budget then allows 1 + 0.2 of the 1 + 1/16 wanted.
	bank := doc.Nodes[3]
	if want := 1.5 * (1 + 0.25) * (1 + 1.0/64); bank.Name != "bank" || math.Abs(*bank.ExpectedAttempts-1.5*(1.2)*(1+(1-0.75*1.2))) > 1e-9 {
		t.Errorf("expected at the bank %v (without a budget %v)", *bank.ExpectedAttempts, want)
	}
	if math.Abs(*bank.FleetAttempts-2*1.2*2) > 1e-9 {
		t.Errorf("in the long run %v, want 4.8", *bank.FleetAttempts)
	}
	if h := doc.Horizons[0]; *h.HorizonNS != int64(2025e6+2*500e6+230e6) {
		t.Errorf("horizon %d", *h.HorizonNS)
	}
	e := doc.Edges[2]
	if *e.Attempts != 2 || *e.SlowAttempts != 2 || *e.WorstNS != 380e6 || *e.Starts != 2 {
		t.Errorf("edge %+v", e)
	}
	if doc.Policies[0].Pass || *doc.Policies[0].Value != 12 || len(a.Report.Findings) != 1 || a.Report.Findings[0].Line != 8 {
		t.Errorf("policy %+v, findings %+v", doc.Policies, a.Report.Findings)
	}
}

func TestRetryTreeReadsEveryKey(t *testing.T) {
	f := load(t, `
failure_domains:
  zone: {outage: 1%, out: 90%, mean: 10s}
calls:
  a:
    parallel: true
    cost: 2
    calls:
      - {to: b, choice: version, weight: 90%, layers: [{name: client, attempts: 3, per_try: 1s}, {name: mesh, attempts: 2, timeout_retried: false, per_try: 300ms}]}
      - {to: c, choice: version, weight: 10%, attempts: 4, per_try: 1s, overall: 2s, stops_only: true, key: fresh}
      - {to: d, fan_out: 3, attempts: 2, hedge: {delay: 50ms, slow: 5%}, failure: 1%}
      - {to: e, attempts: unlimited, per_try: 1s, backoff: {base: 1s, step: 1s, max: 10s}, overall: 1m}
      - {to: e, attempts: 2, budget: {ratio: 10%, per: active, floor: 10/s, rate: 50/s, bucket: 5}}
  b: {failure: 1%, domain: zone}
`)
	res, err := f.retryTree(TreeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]RetryNodeDoc{}
	for _, n := range res.doc.Nodes {
		names[n.Name] = n
	}
	// The unlimited call waits 1, 2, ... 10, 10 s: 11 attempts start within a
	// minute even when each fails at once; 2 more come over the second call.
	for name, want := range map[string]string{"b": "6", "c": "4", "d": "6", "e": "13"} {
		if got := names[name].WorstAttemptsExact; got != want {
			t.Errorf("%s: %s at worst, want %s", name, got, want)
		}
	}
	if n := names["b"]; *n.SlowAttempts != 3 {
		t.Errorf("b: %d when all hang, want 3: the mesh does not retry timeouts", *n.SlowAttempts)
	}
	e := res.doc.Edges
	if *e[1].WorstNS != 3e9 || *e[1].SlowAttempts != 2 {
		t.Errorf("stops_only: %+v", e[1])
	}
	if e[3].Attempts != nil || *e[3].WorstNS != 60e9 {
		t.Errorf("unlimited within an overall limit: %+v", e[3])
	}
	if res.doc.Expected == nil || res.doc.Expected.Work == nil || res.doc.Expected.Success == nil {
		t.Fatalf("expected %+v", res.doc.Expected)
	}
	if _, err := json.Marshal(res.doc); err != nil {
		t.Error(err)
	}
}

func TestCallMistakesAllAtOnce(t *testing.T) {
	_, err := Load("relplan.yaml", []byte(`relplan: v1
plan: t
failure_domains: {z: {outage: 120%}}
calls:
  a:
    domain: y
    latency: {p50: 10ms}
    calls:
      - {to: b, attempts: 0}
      - {to: b, weight: 50%}
      - {to: b, attempts: 2, layers: [{attempts: 2}]}
      - {to: b, backoff: {base: 1s, jitter: spread}}
      - {to: b, budget: {ratio: 10%, floor: 10/s}}
      - {to: b, atempts: 2}
`))
	var bad *diag.Err
	if !errors.As(err, &bad) {
		t.Fatalf("%v", err)
	}
	var got []string
	for _, d := range bad.Diagnostics {
		got = append(got, d.Pos.String()+" "+d.Message)
	}
	all := strings.Join(got, "\n")
	for _, want := range []string{
		"relplan.yaml:3:31", "failure domain 'y' is not defined", "a latency needs two percentiles", "relplan.yaml:9:27",
		"a weight makes a call one of several alternatives", "attempts stand beside `layers`", "jitter: spread and spread: 20% belong together",
		"a floor needs the rate of one client", "atempts",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("missing %q in\n%s", want, all)
		}
	}
}

func TestCycleIsReportedAtItsCall(t *testing.T) {
	_, err := load(t, "calls:\n  a: {calls: [{to: b}]}\n  b: {calls: [{to: c}, {to: a}]}\n").RetryTree(TreeOptions{})
	if err == nil || !strings.Contains(err.Error(), "a -> b -> a") || !strings.Contains(err.Error(), "relplan.yaml:5:") {
		t.Errorf("%v", err)
	}
	if _, err := load(t, "").RetryTree(TreeOptions{}); err == nil || !strings.Contains(err.Error(), "the plan has no calls") {
		t.Errorf("a plan without calls: %v", err)
	}
}

func TestDeadlinePlanOfAChain(t *testing.T) {
	a, err := load(t, chainPlan+"deadlines: {checkout: {path: [gateway, orders, payments], budget: 3s, spent: 2850ms, backoff: 80ms, attempt: 150ms}}\n").DeadlinePlan()
	if err != nil {
		t.Fatal(err)
	}
	doc := a.Report.Data.(DeadlinePlanDocument)
	type row struct {
		edge      string
		has, fit  int64
		limit     string
		suggested int64
	}
	want := []row{
		{"gateway->orders", 3e9, 1, "deadline checkout", 1487500000},
		{"orders->payments", 2e9, 3, "per-try limit of gateway->orders", 0},
		{"payments->bank", 150e6, 1, "deadline checkout", 35e6},
	}
	for i, w := range want {
		c := doc.Calls[i]
		got := row{c.Edge, *c.RemainingNS, *c.AttemptsThatFit, c.LimitedBy, 0}
		if c.Suggest != nil {
			got.suggested = c.Suggest.PerTryNS
		}
		if got != w {
			t.Errorf("%+v, want %+v", got, w)
		}
	}
	if !a.Failed || doc.Admissions[0].ShortByNS != 80e6 || doc.Calls[2].Attempts[1].Admit || *doc.Calls[2].MarginNS != -230e6 {
		t.Errorf("failed %v, admissions %+v, bank %+v", a.Failed, doc.Admissions, doc.Calls[2])
	}
	if len(a.Report.Findings) != 3 || len(a.Report.Cases) != 4 {
		t.Errorf("%d findings, %d cases", len(a.Report.Findings), len(a.Report.Cases))
	}
	ok, err := load(t, chainPlan+"deadlines: {d: {path: [gateway], budget: 1m}}\n").DeadlinePlan()
	if err != nil || ok.Failed {
		t.Errorf("everything fits a minute: %v, %v", ok, err)
	}
	if _, err := load(t, chainPlan+"deadlines: {d: {path: [gateway, bank], budget: 1m}}\n").DeadlinePlan(); err == nil || !strings.Contains(err.Error(), "no such call") {
		t.Errorf("a path that does not exist: %v", err)
	}
}

func TestDeadlinePlanWithoutCalls(t *testing.T) {
	a, err := load(t, "deadlines: {d: {budget: 300ms, spent: 150ms, backoff: 80ms, attempt: 150ms}}\n").DeadlinePlan()
	if err != nil {
		t.Fatal(err)
	}
	if doc := a.Report.Data.(DeadlinePlanDocument); !a.Failed || len(doc.Calls) != 0 || doc.Admissions[0].ShortByNS != 80e6 {
		t.Errorf("%+v", doc)
	}
	if _, err := load(t, "").DeadlinePlan(); err == nil || !strings.Contains(err.Error(), "the plan has no calls") {
		t.Errorf("nothing at all: %v", err)
	}
}

func TestDeadlinePlanFromLatency(t *testing.T) {
	f := load(t, `
calls:
  api: {calls: [{to: bank, attempts: 3, per_try: 150ms, backoff: {base: 20ms, factor: 2}, target: 99%}]}
  bank: {latency: {samples: bank.txt}, failure: 1%}
deadlines: {d: {path: [api], budget: 400ms}}
`)
	a, err := f.DeadlinePlan()
	if err != nil {
		t.Fatal(err)
	}
	s := a.Report.Data.(DeadlinePlanDocument).Calls[0].Suggest
	// One of four samples takes 300 ms: a single attempt of 400 ms takes them all
	// but the failures; 99% needs exactly that.
	if s == nil || s.Attempts != 1 || s.PerTryNS != 400e6 || !*s.MeetsTarget || math.Abs(*s.Success-0.99) > 1e-12 {
		t.Errorf("%+v", s)
	}
	f.Nodes[1].Latency.Samples.V = "gone.txt"
	if _, err := f.DeadlinePlan(); err == nil || !strings.Contains(err.Error(), "cannot read gone.txt") {
		t.Errorf("a missing file: %v", err)
	}
}
