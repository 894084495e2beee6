package retrytree

import (
	"math"
	"time"
)

// Hedge sends copies of a call without waiting for a failure.
type Hedge struct {
	// Delay is the time between copies; 0 sends all at once.
	Delay time.Duration
	// Slow is the share of attempts that have not answered after one Delay.
	// Copies are taken as independent; later copies are counted with the same
	// share, an upper bound. Ignored when Delay is 0: every copy is sent.
	Slow float64
}

// Copies returns the expected copies of one call of at most n, sum of slow^k.
func (h *Hedge) Copies(n Count) float64 {
	if h.Delay == 0 {
		return n.Float64()
	}
	return Attempts(h.Slow, n)
}

// Hedged returns the expected number of copies of one call that sends at most n
// copies, one every delay, until an answer arrives. survival(t) is the
// probability that one copy has not answered t after it was sent; copies are
// independent. Copy k+1 is sent when none of the k before it has answered:
//
//	E = 1 + sum_{k=1}^{n-1} prod_{j=1}^{k} survival(j*delay)
//
// late is the probability that no answer has come within limit.
func Hedged(survival func(time.Duration) float64, delay time.Duration, n int64, limit time.Duration) (copies, late float64) {
	copies, late = 1, survival(limit)
	quiet := 1.0
	for k := int64(1); k < n; k++ {
		at := time.Duration(k) * delay
		if delay > 0 {
			quiet *= survival(at)
		}
		copies += quiet
		if at < limit {
			late *= survival(limit - at)
		}
		if quiet == 0 {
			break
		}
	}
	return copies, late
}

// AnyOf returns the probability that at least one of n independent events of
// probability p happens, 1 - (1-p)^n. A request that waits for n parallel
// leaves is as slow as the slowest. Source: Dean and Barroso, "The Tail at
// Scale", CACM 2013.
func AnyOf(p float64, n int64) float64 {
	if p >= 1 {
		return 1
	}
	return -math.Expm1(float64(n) * math.Log1p(-p))
}

// AllOf returns the probability that m calls all succeed when each is shed at
// random with the probability given: (1-shed)^m. Shedding by a priority that
// all calls of a request share keeps 1-shed. Source: Zhou et al., "Overload
// Control for Scaling WeChat Microservices" (DAGOR), SoCC 2018.
func AllOf(shed float64, m int64) float64 { return math.Pow(1-shed, float64(m)) }
