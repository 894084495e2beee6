package retrytree_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/relplan/relplan/deadline"
	"github.com/relplan/relplan/retrytree"
)

// Three polite settings, 2 x 3 x 2 attempts, hit the last service twelve times.
func ExampleGraph_Worst() {
	g, err := retrytree.Build([]retrytree.Node{
		{Name: "gateway", Calls: []retrytree.Call{retrytree.To("orders", 2)}},
		{Name: "orders", Calls: []retrytree.Call{retrytree.To("payments", 3)}},
		{Name: "payments", Calls: []retrytree.Call{retrytree.To("bank", 2)}},
	})
	if err != nil {
		panic(err)
	}
	w := g.Worst()
	fmt.Println(w.Nodes[w.Top].Attempts, "attempts:", strings.Join(w.Path(w.Top), " -> "))
	// Output: 12 attempts: gateway -> orders -> payments -> bank
}

// A circle has no worst case and is refused with its path.
func ExampleBuild_cycle() {
	_, err := retrytree.Build([]retrytree.Node{
		{Name: "orders", Calls: []retrytree.Call{retrytree.To("stock", 2)}},
		{Name: "stock", Calls: []retrytree.Call{retrytree.To("orders", 2)}},
	})
	fmt.Println(err)
	// Output: calls form a cycle: orders -> stock -> orders
}

// Nested retries of one failing leaf behave like one loop of their product:
// 3 x 3 attempts at 30% failure give 1.43 attempts and almost certain success.
func ExampleGraph_Expect() {
	g, err := retrytree.Build([]retrytree.Node{
		{Name: "gateway", Calls: []retrytree.Call{retrytree.To("orders", 3)}},
		{Name: "orders", Calls: []retrytree.Call{retrytree.To("bank", 3)}},
		{Name: "bank", Failure: 0.3},
	})
	if err != nil {
		panic(err)
	}
	e, err := g.Expect("gateway", retrytree.ExpectOptions{})
	if err != nil {
		panic(err)
	}
	fmt.Printf("bank %.8f, orders %.6f, success %.9f (%s)\n", e.Nodes[2].Executions, e.Nodes[1].Executions, e.Success, e.Method)
	// Output: bank 1.42854331, orders 1.027729, success 0.999980317 (exact)
}

// A database that is down for everybody: retries hardly help when the outage
// outlasts them, and do when the backoff is longer than the outage.
func ExampleDomain() {
	g, err := retrytree.Build([]retrytree.Node{
		{Name: "api", Calls: []retrytree.Call{{To: "db", Layers: []retrytree.Layer{{Attempts: 4, Waits: deadline.Backoff{Base: time.Second, Factor: 2}}}}}},
		{Name: "db", Domain: "db"},
	})
	if err != nil {
		panic(err)
	}
	for _, mean := range []time.Duration{0, time.Minute, time.Second} {
		e, err := g.Expect("api", retrytree.ExpectOptions{Domains: []retrytree.Domain{{Name: "db", Outage: 0.01, Out: 1, MeanOutage: mean}}})
		if err != nil {
			panic(err)
		}
		fmt.Printf("outages of %v: %.4f of the calls fail\n", mean, 1-e.Success)
	}
	// Output:
	// outages of 0s: 0.0100 of the calls fail
	// outages of 1m0s: 0.0089 of the calls fail
	// outages of 1s: 0.0000 of the calls fail
}

// The receiver must remember a key for as long as attempts with it may arrive.
func ExampleGraph_Horizons() {
	g, err := retrytree.Build([]retrytree.Node{
		{Name: "orders", Calls: []retrytree.Call{{To: "bank", Layers: []retrytree.Layer{{
			Attempts: 4, PerTry: time.Second, Waits: deadline.GRPC(100*time.Millisecond, time.Second, 2),
		}}}}},
	})
	if err != nil {
		panic(err)
	}
	for _, h := range g.Horizons() {
		fmt.Println(strings.Join(h.Path, " -> "), h.Horizon)
	}
	// Output: orders -> bank 3.84s
}

// A callee has no more time than one attempt of its caller: its second attempt
// would be for nobody.
func ExampleGraph_PlanDeadlines() {
	g, err := retrytree.Build([]retrytree.Node{
		{Name: "edge", Calls: []retrytree.Call{{To: "checkout", Layers: []retrytree.Layer{{Attempts: 3, PerTry: 2 * time.Second}}}}},
		{Name: "checkout", Calls: []retrytree.Call{{To: "payment", Layers: []retrytree.Layer{{Attempts: 2, PerTry: time.Second, Waits: deadline.Backoff{Base: 200 * time.Millisecond}}}}}},
	})
	if err != nil {
		panic(err)
	}
	calls, err := g.PlanDeadlines(nil)
	if err != nil {
		panic(err)
	}
	c := calls[1]
	fmt.Printf("%s->%s has %v (%s): %v of %v attempts fit, margin %v\n", c.From, c.To, c.Remaining, c.Limit, c.Fit.FitsHigh, c.Fit.Configured, c.Fit.Margin)
	// Output: checkout->payment has 2s (per-try limit of edge->checkout): 1 of 2 attempts fit, margin -200ms
}

// A retry quota runs dry in a total outage: the AWS standard mode of 2026 makes
// 35 retries, then none.
func ExamplePlay() {
	p := retrytree.Play(retrytree.AWS2026(), 20, 3, 0, func(call, attempt int64) retrytree.Outcome { return retrytree.Failed })
	fmt.Printf("%d attempts of %d calls, %d retries, the last in call %d\n", p.Attempts, p.Calls, p.Retries, p.LastFull)
	// Output: 55 attempts of 20 calls, 35 retries, the last in call 18
}
