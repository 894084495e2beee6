package deadline_test

import (
	"context"
	"fmt"
	"time"

	"github.com/relplan/relplan/deadline"
)

// A budget of 300 ms, half of it gone: a wait of 80 ms and an attempt of 150 ms
// do not fit.
func ExampleAdmit() {
	a, err := deadline.Admit(deadline.Request{
		Budget:  300 * time.Millisecond,
		Spent:   150 * time.Millisecond,
		Backoff: 80 * time.Millisecond,
		Attempt: 150 * time.Millisecond,
	})
	if err != nil {
		panic(err)
	}
	fmt.Printf("admit %v: needs %v, %v left, short by %v\n", a.Admit, a.Needed, a.Remaining, a.ShortBy)
	// Output: admit false: needs 230ms, 150ms left, short by 80ms
}

// B replaces the two seconds that are left by a hard-coded 20 s, so C believes
// in 15 s that nobody waits for.
func ExamplePropagate() {
	views, err := deadline.Propagate(10*time.Second, []deadline.Hop{
		{Name: "A", Spent: 8 * time.Second},
		{Name: "B", Own: 20 * time.Second, IgnoresCaller: true, Spent: 5 * time.Second},
		{Name: "C"},
	})
	if err != nil {
		panic(err)
	}
	for _, v := range views {
		fmt.Printf("%s: %v left, believes %v, give up %v\n", v.Name, v.Remaining, v.Believes, v.GiveUp)
	}
	// Output:
	// A: 10s left, believes 10s, give up false
	// B: 2s left, believes 20s, give up false
	// C: -3s left, believes 15s, give up true
}

// A service asks before every attempt; the clock is injected here and is
// time.Now in production.
func ExampleBudget_Admit() {
	now := time.Unix(0, 0)
	b := deadline.NewBudget(func() time.Time { return now }, 300*time.Millisecond)
	now = now.Add(150 * time.Millisecond)
	fmt.Println(b.Admit(context.Background(), 80*time.Millisecond, 150*time.Millisecond))
	fmt.Println(b.Admit(context.Background(), 0, 150*time.Millisecond))
	// Output:
	// attempt does not fit the deadline
	// <nil>
}

// Three attempts of 10 s do not fit where four are configured.
func ExamplePolicy_Fit() {
	p := deadline.Policy{Attempts: 4, PerTry: 10 * time.Second, Overall: 30 * time.Second, Waits: deadline.Backoff{Base: 2 * time.Second, Factor: 2}}
	f := p.Fit(deadline.Max)
	fmt.Printf("%d configured, %d start, %d fit\n", f.Configured, f.Starts, f.FitsHigh)
	// Output: 4 configured, 3 start, 2 fit
}

// With 1% of failures and a p99 of 120 ms, two attempts keep a 99.9% target
// within 300 ms at 1.02 attempts a call.
func ExampleSuggest() {
	l, err := deadline.FromPercentiles(deadline.Percentile{P: 0.5, T: 20 * time.Millisecond}, deadline.Percentile{P: 0.9, T: 45 * time.Millisecond},
		deadline.Percentile{P: 0.99, T: 120 * time.Millisecond}, deadline.Percentile{P: 0.999, T: 400 * time.Millisecond})
	if err != nil {
		panic(err)
	}
	s, err := deadline.Suggest(deadline.Goal{Deadline: 300 * time.Millisecond, Target: 0.999, Latency: l, Failure: 0.01, MinBackoff: 10 * time.Millisecond})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%d attempts of %v: success %.4f, %.3f attempts a call\n", s.Best.Attempts, s.Best.PerTry, s.Best.Success, s.Best.Amplification)
	// Output: 2 attempts of 145ms: success 0.9997, 1.017 attempts a call
}
