package retrytree

import (
	"fmt"
	"math"
	"time"

	"gonum.org/v1/gonum/mathext"
)

// Breaker is a circuit breaker that counts attempts: it opens when at least
// Threshold of the last Window attempts failed, refuses everything for OpenFor,
// then lets Probes attempts through and closes when they succeed. Resilience4j
// with a count-based window, Polly and Dapr have this shape.
type Breaker struct {
	// Threshold is the share of failures that opens it, from above 0 to 1.
	Threshold float64
	// Window is the number of attempts that are looked at; no decision is
	// made before that many were seen.
	Window int64
	// OpenFor is the time it stays open.
	OpenFor time.Duration
	// Probes is the number of attempts in the half-open state; 0 means 1.
	Probes int64
}

// Check returns an error for values without a meaning.
func (b Breaker) Check() error {
	switch {
	case !(b.Threshold > 0) || b.Threshold > 1:
		return fmt.Errorf("breaker threshold is %v, expected above 0 and at most 1", b.Threshold)
	case b.Window < 1:
		return fmt.Errorf("breaker window is %d, expected at least 1 attempt", b.Window)
	case b.OpenFor <= 0:
		return fmt.Errorf("breaker stays open for %v, expected more than 0", b.OpenFor)
	case b.Probes < 0:
		return fmt.Errorf("breaker probes with %d attempts, expected at least 1", b.Probes)
	}
	return nil
}

// need is the number of failures in a window that opens the breaker.
func (b Breaker) need() int64 {
	return max(1, int64(math.Ceil(b.Threshold*float64(b.Window)-1e-9)))
}

// TripProbability is the probability that a full window of independent attempts
// that fail with probability p opens the breaker: P(Bin(Window, p) >=
// ceil(Threshold*Window)), by the incomplete beta function.
func (b Breaker) TripProbability(p float64) float64 {
	k, n := b.need(), b.Window
	switch {
	case p <= 0 || k > n:
		return 0
	case p >= 1:
		return 1
	}
	return mathext.RegIncBeta(float64(k), float64(n-k+1), p)
}

// OutageLoad is what a total outage sends to the callee in the long run.
type OutageLoad struct {
	// BeforeOpen is the number of attempts that fail before it opens.
	BeforeOpen int64
	// PerSecond is the rate of probes while the outage lasts.
	PerSecond float64
	// OpenAfter is the time until it opens at the rate given.
	OpenAfter time.Duration
}

// Outage returns the load of a total outage on the callee of one breaker that
// sees the given rate of attempts per second (retries included), starting from
// a window of successes: it opens after the failures that fill the threshold,
// then lets Probes through every OpenFor. With N clients, each with its own
// breaker, everything counts N times.
func (b Breaker) Outage(attemptsPerSecond float64) OutageLoad {
	o := OutageLoad{BeforeOpen: b.need()}
	probes := float64(max(b.Probes, 1))
	if attemptsPerSecond > 0 {
		o.OpenAfter = time.Duration(float64(o.BeforeOpen) / attemptsPerSecond * float64(time.Second))
		o.PerSecond = probes / (b.OpenFor.Seconds() + probes/attemptsPerSecond)
	}
	return o
}

// InsideRetry returns the attempts of one call of n attempts that reach the
// callee when the breaker stands inside the retry loop and is open: none, for
// its refusals come back at once and use the attempts up. Outside, one refusal
// ends the call. In both places the callee is spared; inside, a call that
// started before the breaker opened goes on until it does.
func (b Breaker) InsideRetry(n int64, seen int64) int64 {
	return min(n, max(0, b.need()-seen))
}
