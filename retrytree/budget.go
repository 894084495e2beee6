package retrytree

import (
	"fmt"
	"math"
)

// BudgetKind says what a retry budget counts.
type BudgetKind uint8

// The kinds of budgets.
const (
	// PerFirstTry deposits Ratio for every first try; a retry costs 1.
	// Finagle, tower, Linkerd, and the code of Brooker's simulator.
	PerFirstTry BudgetKind = iota
	// PerSuccess deposits Ratio for every success; a retry costs 1. gRPC
	// throttling, AWS, and the text of Brooker's article.
	PerSuccess
	// OfActive allows a share Ratio of all active requests, retries included,
	// to be retries. Envoy's retry_budget.
	OfActive
)

// String returns the name used in plans and reports.
func (k BudgetKind) String() string {
	switch k {
	case PerSuccess:
		return "per success"
	case OfActive:
		return "of active requests"
	}
	return "per first try"
}

// Budget bounds the load that retries add in the long run. It bounds a rate and
// not one request: a single unlucky request may still use all its attempts, so
// the worst case of a request and of a fleet are stated apart and never
// multiplied.
type Budget struct {
	// Kind says what is counted.
	Kind BudgetKind
	// Ratio is the share, such as 0.2 for 20%.
	Ratio float64
	// Floor is the number of retries a second that each client may always
	// make; 0 means none.
	Floor float64
	// Rate is the first tries per second of one client; it says how much Floor
	// weighs. 0 means large, so that the floor does not matter.
	Rate float64
	// Bucket is the number of retries that a client may make at once from a
	// full bucket, before the long run sets in.
	Bucket float64
}

func (b *Budget) check() error {
	switch {
	case !(b.Ratio >= 0) || math.IsInf(b.Ratio, 0):
		return fmt.Errorf("budget ratio is %v, expected a finite number from 0", b.Ratio)
	case b.Kind == OfActive && b.Ratio >= 1:
		return fmt.Errorf("budget of active requests is %v, expected less than 1", b.Ratio)
	case !(b.Floor >= 0) || !(b.Rate >= 0) || !(b.Bucket >= 0):
		return fmt.Errorf("budget has a negative floor, rate or bucket")
	}
	return nil
}

// Cap returns the attempts per first try that the budget allows in the long
// run when an attempt fails with probability q, before the limit on the number
// of attempts:
//
//	per first try:     1 + r
//	per success:       1 / (1 - r(1-q))
//	of active:         1 / (1 - r)        (equal durations)
//
// and at least 1 + Floor/Rate; the floor of a per-first-try budget is added to
// the ratio, as in Finagle. When r(1-q) >= 1 a per-success budget does not bind:
// +Inf.
func (b *Budget) Cap(q float64) float64 {
	floor := 0.0
	if b.Rate > 0 {
		floor = b.Floor / b.Rate
	}
	switch b.Kind {
	case PerSuccess:
		gain := b.Ratio * (1 - q)
		if gain >= 1 {
			return math.Inf(1)
		}
		return max(1/(1-gain), 1+floor)
	case OfActive:
		return max(1/(1-b.Ratio), 1+floor)
	}
	return 1 + b.Ratio + floor
}

// deposits is the number of retries per call that the budget pays for when a
// share of the calls succeeds. Cap is the number of attempts that spends it.
func (b *Budget) deposits(success float64) float64 {
	floor := 0.0
	if b.Rate > 0 {
		floor = b.Floor / b.Rate
	}
	switch b.Kind {
	case PerSuccess:
		return max(b.Ratio*success, floor)
	case OfActive:
		return max(b.Ratio/(1-b.Ratio), floor)
	}
	return b.Ratio + floor
}

// WorstCap is the largest Cap over all failure probabilities, and what a total
// outage leaves: for a per-success budget the load of an outage is 1, but just
// before it the cap is highest, at 1/(1-r).
func (b *Budget) WorstCap() float64 { return b.Cap(0) }

// Attempts returns the expected attempts of one call that may make n attempts
// of which each fails with probability q: sum of q^k for k < n, the truncated
// geometric series. It is exact at q = 1 (n) and q = 0 (1), and +Inf for an
// unbounded n at q = 1.
func Attempts(q float64, n Count) float64 {
	if n.Unbounded() {
		if q >= 1 {
			return math.Inf(1)
		}
		return 1 / (1 - q)
	}
	k := n.Float64()
	switch {
	case q <= 0:
		return min(k, 1)
	case q >= 1:
		return k
	case k <= 64:
		sum := 0.0
		for range int(k) {
			sum = sum*q + 1
		}
		return sum
	}
	return -math.Expm1(k*math.Log(q)) / (1 - q)
}

// FailureAfter returns q^n: the probability that all attempts fail.
func FailureAfter(q float64, n Count) float64 {
	switch {
	case n.IsZero():
		return 1
	case q >= 1:
		return 1
	case n.Unbounded() || q <= 0:
		return 0
	}
	return math.Pow(q, n.Float64())
}

// LongRun returns the attempts per first try, and the share of calls that fail
// for good, of a call with n attempts that each fail with probability q, under
// a budget (nil: none) in the long run. Every attempt succeeds with probability
// 1-q and a success ends the call, so the share of calls that succeed is
// attempts*(1-q) whatever the budget refuses.
func LongRun(q float64, n Count, b *Budget) (attempts, failure float64) {
	a := Attempts(q, n)
	if b == nil {
		return a, FailureAfter(q, n)
	}
	if c := b.Cap(q); c < a {
		return c, max(0, 1-(1-q)*c)
	}
	return a, FailureAfter(q, n)
}
