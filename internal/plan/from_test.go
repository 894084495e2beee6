package plan

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// loadIn loads a plan that stands in a folder of testdata/trees.
func loadIn(t *testing.T, dir, src string) *File {
	t.Helper()
	f, err := Load(filepath.Join("testdata", "trees", dir, "relplan.yaml"), []byte("relplan: v1\nplan: t\n"+src))
	if err != nil {
		t.Fatal(err)
	}
	f.UseFiles(os.ReadFile)
	return f
}

const checkout = `
calls:
  edge:     {calls: [{to: checkout, from: {file: 1-edge-virtualservice.yaml}}]}
  checkout: {from: {file: 2-checkout-application.yml}}
  payment:  {calls: [{to: cards, from: {file: 3-payment-grpc.json, hop: "cards.v1.Cards/*"}}]}
`

// TestTreeOfRealFiles: edge -> checkout (3) -> payment (2) -> cards (2) out of an
// Istio route, a Resilience4j configuration and a gRPC service config.
func TestTreeOfRealFiles(t *testing.T) {
	for _, tt := range []struct{ p, leaf float64 }{{0.01, 1.010101}, {0.1, 1.111111}, {0.5, 1.999512}, {0.9, 7.175705}, {1, 12}} {
		res, err := loadIn(t, "checkout-3x2x2", checkout).retryTree(TreeOptions{Failure: &tt.p, Model: ModelLeaf})
		if err != nil {
			t.Fatal(err)
		}
		if res.doc.Worst.AttemptsExact != "12" || strings.Join(res.doc.Worst.Path, " ") != "edge checkout payment cards" {
			t.Errorf("worst %+v", res.doc.Worst)
		}
		if got := *res.doc.Nodes[len(res.doc.Nodes)-1].ExpectedAttempts; math.Abs(got-tt.leaf) > 5e-7 {
			t.Errorf("leaf model at %v: %v, want %v", tt.p, got, tt.leaf)
		}
	}
	half := 0.5
	res, err := loadIn(t, "checkout-3x2x2", checkout).retryTree(TreeOptions{Failure: &half, Model: ModelHop})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range res.doc.Nodes {
		if n.Name == "cards" && math.Abs(*n.ExpectedAttempts-3.9375) > 1e-9 {
			t.Errorf("hop model: %v, want 3.9375", *n.ExpectedAttempts)
		}
	}
	a, err := loadIn(t, "checkout-3x2x2", checkout).DeadlinePlan()
	if err != nil {
		t.Fatal(err)
	}
	// The edge's per-try limit of 2 s must cover checkout's 2.2 s: no, by 0.2 s.
	c := a.Report.Data.(DeadlinePlanDocument).Calls[1]
	if c.Edge != "checkout->payment" || *c.RemainingNS != 2e9 || *c.MarginNS != -200e6 || c.LimitedBy != "per-try limit of edge->checkout" || !a.Failed {
		t.Errorf("%+v", c)
	}
	if e := a.Report.Data.(DeadlinePlanDocument); len(e.Calls) != 3 {
		t.Errorf("%d calls", len(e.Calls))
	}
}

// TestDefaultsMultiply: three services whose routes say nothing are retried all
// the same, 3 attempts each.
func TestDefaultsMultiply(t *testing.T) {
	f := loadIn(t, "istio-defaults-3x3", `
calls:
  web:       {calls: [{to: service-a, from: {file: 1-no-retries-blocks.yaml}}]}
  service-a: {calls: [{to: service-b, from: {file: 1-no-retries-blocks.yaml}}]}
  service-b: {calls: [{to: service-c, from: {file: 1-no-retries-blocks.yaml}}]}
`)
	res, err := f.retryTree(TreeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if res.doc.Worst.AttemptsExact != "27" {
		t.Errorf("worst %+v, want 27", res.doc.Worst)
	}
	if e := res.doc.Edges[0]; !strings.HasSuffix(e.Source, "1-no-retries-blocks.yaml:1") && !strings.Contains(e.Source, "1-no-retries-blocks.yaml:") || *e.SlowAttempts != 1 {
		t.Errorf("%+v", e)
	}
}

func TestFromMistakes(t *testing.T) {
	for _, tt := range []struct{ reason, dir, src, want string }{
		{"no such file", "checkout-3x2x2", "calls: {a: {calls: [{to: b, from: {file: gone.yaml}}]}}", "cannot read"},
		{"no such hop", "checkout-3x2x2", `calls: {a: {calls: [{to: b, from: {file: 3-payment-grpc.json, hop: "cards.v1.Crads/*"}}]}}`, "has no hop 'cards.v1.Crads/*'"},
		{"several hops, none of them certain", "istio-defaults-3x3", "calls: {a: {calls: [{to: b, from: {file: 1-no-retries-blocks.yaml}}]}}", "has 3 hops and 0 of them certainly call 'b'"},
		{"attempts twice", "checkout-3x2x2", "calls: {a: {calls: [{to: b, attempts: 2, from: {file: 3-payment-grpc.json}}]}}", "expected only one of them"},
	} {
		f, err := Load(filepath.Join("testdata", "trees", tt.dir, "relplan.yaml"), []byte("relplan: v1\nplan: t\n"+tt.src))
		if err == nil {
			f.UseFiles(os.ReadFile)
			_, err = f.retryTree(TreeOptions{})
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.reason, err)
		}
	}
	f := loadIn(t, "checkout-3x2x2", "calls: {a: {calls: [{to: b, from: {file: 3-payment-grpc.json}}]}}")
	f.files = nil
	if _, err := f.retryTree(TreeOptions{}); err == nil || !strings.Contains(err.Error(), "files cannot be read here") {
		t.Errorf("without files: %v", err)
	}
}

// TestPlanOverridesFile: what the plan writes beside `from` wins.
func TestPlanOverridesFile(t *testing.T) {
	f := loadIn(t, "checkout-3x2x2", "calls: {a: {calls: [{to: checkout, per_try: 100ms, from: {file: 1-edge-virtualservice.yaml}}]}}")
	res, err := f.retryTree(TreeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if e := res.doc.Edges[0]; *e.PerTryNS != 100e6 || *e.Attempts != 3 {
		t.Errorf("%+v", e)
	}
}

func TestIsHost(t *testing.T) {
	for _, tt := range []struct {
		host, service string
		want          bool
	}{
		{"orders", "orders", true}, {"orders:8080", "orders", true}, {"orders.shop.svc.cluster.local", "orders", true},
		{"orders.shop.svc", "orders", true}, {"orders.example.com", "orders", false}, {"order", "orders", false}, {"cards.v1.Cards", "cards", false},
	} {
		if got := isHost(tt.host, tt.service); got != tt.want {
			t.Errorf("isHost(%q, %q) = %v", tt.host, tt.service, got)
		}
	}
}
