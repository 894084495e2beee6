package plan

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relplan/relplan/internal/diag"
)

const bronsonPlan = `relplan: v1
plan: bronson
calls:
  web: {load: 280/s, calls: [{to: db, attempts: 2, per_try: 1s}]}
  db: {servers: 1, service: 3333333ns, triggers: [{outage: 10s}]}
`

func loadStorm(t *testing.T, src string) *StormPlan {
	t.Helper()
	f, err := Load("p.yaml", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	sp, err := f.StormSystem(0)
	if err != nil {
		t.Fatal(err)
	}
	return sp
}

func TestStormAnalytic(t *testing.T) {
	res, err := loadStorm(t, bronsonPlan).Run(context.Background(), StormRun{})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Doc.Edges) != 1 {
		t.Fatalf("%d edges", len(res.Doc.Edges))
	}
	e := res.Doc.Edges[0]
	if e.Edge != "web->db" || e.State != "vulnerable" || *e.StableRPS < 149.9 || *e.StableRPS > 150.1 || *e.FoldRPS < 293 || *e.FoldRPS > 294 || res.Survives {
		t.Errorf("%+v", e)
	}
	for _, want := range []string{"one 1.01 s outage", "below 150 rps", "below 20/s", "10 % does not save it, 7 % does"} {
		if !strings.Contains(strings.Join(e.Text, " "), want) {
			t.Errorf("missing %q in %q", want, e.Text)
		}
	}
	if _, err := json.Marshal(res.Doc); err != nil {
		t.Error(err)
	}
}

func TestStormWithoutLoad(t *testing.T) {
	res, err := loadStorm(t, strings.Replace(bronsonPlan, "load: 280/s, ", "", 1)).Run(context.Background(), StormRun{Simulate: true, Fix: true, Figures: true})
	if err != nil {
		t.Fatal(err)
	}
	if e := res.Doc.Edges[0]; e.State != "unknown" || e.LoadRPS != nil || e.StableRPS == nil {
		t.Errorf("%+v", e)
	}
}

// A call with two policies on it: attempts multiply on the way to the callee.
func TestStormLayers(t *testing.T) {
	sp := loadStorm(t, `relplan: v1
plan: layers
calls:
  web:
    load: 100/s
    calls: [{to: db, layers: [{name: sdk, attempts: 3, per_try: 4s}, {name: mesh, attempts: 2, per_try: 1s, backoff: {base: 100ms}}]}]
  db: {servers: 1, service: 3333333ns}
`)
	res, err := sp.Run(context.Background(), StormRun{})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Doc.Edges) != 1 || res.Doc.Edges[0].WorstAttempts != 6 || *res.Doc.Edges[0].StableRPS > 50.01 || *res.Doc.Edges[0].StableRPS < 49.9 {
		t.Errorf("%+v", res.Doc.Edges)
	}
	if len(res.Doc.Unlimited) != 0 {
		t.Errorf("unlimited %v", res.Doc.Unlimited)
	}
}

func TestStormErrors(t *testing.T) {
	for _, row := range []struct{ reason, nodes, want string }{
		{"unknown key", "db: {servers: 1, service: 3ms, quue: 5}", "quue"},
		{"service without servers has no queue", "db: {queue: 5}", "number of servers"},
		{"servers without service", "db: {servers: 5}", "service time"},
		{"unit", "db: {servers: 1, service: 3}", "duration"},
		{"trigger kind", "db: {servers: 1, service: 3ms, triggers: [{outage: 1s, spike: 2}]}", "one of outage"},
		{"trigger ends", "db: {servers: 1, service: 3ms, triggers: [{capacity: 80%}]}", "'for'"},
		{"trigger list", "db: {servers: 1, service: 3ms, triggers: 10s}", "list of triggers"},
		{"discipline", "db: {servers: 1, service: 3ms, discipline: lifoo}", "lifo"},
		{"load on a called service", "db: {servers: 1, service: 3ms, load: 5/s}", "load of its own"},
		{"load kinds", "web2: {load: {rate: 5/s, clients: 3}, calls: [{to: db}]}", "one of rate"},
		{"workload", "web2: {load: {workload: nope}, calls: [{to: db}]}", "workload 'nope'"},
		{"distribution", "db: {servers: 1, service: {mean: 3ms, distribution: gamma}}", "one of"},
		{"mean", "db: {servers: 1, service: {distribution: erlang}}", "mean or samples"},
		{"both", "db: {servers: 1, service: {mean: 3ms, samples: [1ms]}}", "found both"},
		{"queue", "db: {servers: 1, service: 3ms, queue: many}", "places"},
		{"breaker", "web2: {load: 1/s, calls: [{to: db, breaker: {window: 300, ratio: 50%, open: 1s}}]}", "at most 256"},
		{"retry_on", "web2: {load: 1/s, calls: [{to: db, retry_on: [tiemout]}]}", "timeout"},
		{"limit", "db: {servers: 1, service: 3ms, limit: {kind: bbr}}", "aimd"},
		{"budget kind", "web2: {load: 1/s, calls: [{to: db, budget: {kind: aws}}]}", "one of"},
		{"budget", "web2: {load: 1/s, calls: [{to: db, budget: {per: success}}]}", "ratio"},
	} {
		src := "relplan: v1\nplan: p\ncalls:\n  web: {load: 1/s, calls: [{to: db, attempts: 2, per_try: 1s}]}\n  " + row.nodes + "\n"
		f, err := Load("p.yaml", []byte(src))
		if err == nil {
			_, err = f.StormSystem(0)
		}
		var bad *diag.Err
		if !errors.As(err, &bad) {
			t.Errorf("%s: accepted (%v)", row.reason, err)
			continue
		}
		text := ""
		for _, d := range bad.Diagnostics {
			text += d.String() + " " + d.Hint + " " + d.Expected + "\n"
			if d.Pos.Line == 0 {
				t.Errorf("%s: no position: %v", row.reason, d)
			}
		}
		if !strings.Contains(text, row.want) {
			t.Errorf("%s: %q does not contain %q", row.reason, text, row.want)
		}
	}
}

func TestStormVariants(t *testing.T) {
	sp := loadStorm(t, bronsonPlan)
	vs, err := sp.StormVariants("b.yaml", []byte(`policies:
  ten: {calls: {"web->db": {budget: {ratio: 10%}}}}
  one: {calls: {"*": {attempts: 1}}}
  room: {services: {db: {queue: 200, cancel: dequeue}}}
  same:
`))
	if err != nil {
		t.Fatal(err)
	}
	res, err := sp.Run(context.Background(), StormRun{Variants: vs})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]StormPolicyDoc{}
	for _, p := range res.Doc.Policies {
		got[p.Name] = p
	}
	if len(got) != 5 || got["ten"].Survives || !got["one"].Survives || !got["room"].Survives || got["same"].Survives || got["as planned"].Survives {
		t.Errorf("%+v", got)
	}
	for _, row := range []struct{ src, want string }{
		{"policies: {a: {calls: {\"web->bd\": {attempts: 1}}}}", "web->db"},
		{"policies: {a: {services: {bd: {queue: 1}}}}", "db"},
		{"policies: {a: {services: {db: {load: 1/s}}}}", "neither load"},
		{"policies: {a: {call: {}}}", "call"},
		{"policy: {}", "policies"},
		{"[]", "policies"},
		{"policies: {a: {calls: {\"web->db\": {attempts: none}}}}", "whole number"},
	} {
		_, err := sp.StormVariants("b.yaml", []byte(row.src))
		var bad *diag.Err
		if !errors.As(err, &bad) {
			t.Errorf("%s: accepted (%v)", row.src, err)
			continue
		}
		text := ""
		for _, d := range bad.Diagnostics {
			text += d.String() + " " + d.Hint + "\n"
		}
		if !strings.Contains(text, row.want) {
			t.Errorf("%s: %q does not contain %q", row.src, text, row.want)
		}
	}
}

func FuzzStormPlan(f *testing.F) {
	f.Add(bronsonPlan)
	f.Add("relplan: v1\nplan: p\ncalls:\n  a: {load: {clients: 3, think: 1s}, calls: [{to: b, hedge: 5ms, breaker: {window: 10, ratio: 50%, open: 1s}, cold: {miss: 10%, for: 1s}}]}\n  b: {servers: 2, service: {samples: [1ms, 2ms]}, queue: none, codel: {target: 5ms}, shed: {wait: 20ms}, limit: {kind: vegas}}\n")
	f.Fuzz(func(t *testing.T, src string) {
		p, err := Load("p.yaml", []byte(src))
		if err != nil {
			return
		}
		sp, err := p.StormSystem(0)
		if err != nil || len(sp.System.Edges) > 8 {
			return
		}
		ctx, stop := context.WithCancel(context.Background())
		stop() // analytic answers only
		_, _ = sp.Run(ctx, StormRun{})
	})
}

// The examples of the documentation decode, run and say what it says.
func TestStormExamples(t *testing.T) {
	dir := filepath.Join("..", "..", "examples", "storm")
	for name, want := range map[string]struct {
		stable, fold float64
		tips         []bool
	}{
		"bronson": {150, 293.32, []bool{true}},
		"chain":   {41.67, 192.2, []bool{true, true}},
		"brooker": {22.18, 57.5, nil},
		"mongodb": {3300, 16496, []bool{false, true, false}},
	} {
		src, err := os.ReadFile(filepath.Join(dir, name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		sp := loadStorm(t, string(src))
		res, err := sp.Run(context.Background(), StormRun{})
		if err != nil {
			t.Fatal(err)
		}
		e := res.Doc.Edges[len(res.Doc.Edges)-1]
		if e.State != "vulnerable" || math.Abs(*e.StableRPS-want.stable) > .01*want.stable || math.Abs(*e.FoldRPS-want.fold) > .01*want.fold {
			t.Errorf("%s: state %s stable %g fold %g", name, e.State, *e.StableRPS, *e.FoldRPS)
		}
		for i, tips := range want.tips {
			if got := e.Trigger[i].Tips; got == nil || *got != tips {
				t.Errorf("%s: trigger %d tips %v, want %v", name, i, got, tips)
			}
		}
	}
	src, err := os.ReadFile(filepath.Join(dir, "bronson.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	policies, err := os.ReadFile(filepath.Join(dir, "budgets.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if vs, err := loadStorm(t, string(src)).StormVariants("budgets.yaml", policies); err != nil || len(vs) != 13 {
		t.Errorf("%d policies: %v", len(vs), err)
	}
}
