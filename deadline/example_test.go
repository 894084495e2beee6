package deadline_test

import (
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
