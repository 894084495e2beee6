package deadline

import (
	"fmt"
	"math"
	"time"
)

// Max is the largest duration, about 292 years. Sums saturate there.
const Max = time.Duration(math.MaxInt64)

// Request describes one attempt that wants to start.
type Request struct {
	// Budget is the whole time the caller gave.
	Budget time.Duration
	// Spent is the part of the budget that is gone. It may exceed Budget.
	Spent time.Duration
	// Backoff is the wait before the attempt.
	Backoff time.Duration
	// Attempt is the time the attempt may take: its per-try timeout.
	Attempt time.Duration
}

// Admission is the answer to a [Request].
type Admission struct {
	// Admit is true when Spent + Backoff + Attempt <= Budget.
	Admit bool
	// Remaining is Budget - Spent. It is negative when the budget is overdrawn.
	Remaining time.Duration
	// Needed is Backoff + Attempt.
	Needed time.Duration
	// ShortBy is Needed - Remaining when the attempt is refused, else 0.
	ShortBy time.Duration
	// Margin is Remaining - Needed when the attempt is admitted, else 0.
	Margin time.Duration
	// Saturated says that Needed or ShortBy has more than 292 years and stands at
	// [Max], a lower bound; Admit is right all the same.
	Saturated bool
}

// Admit decides whether an attempt may start. An attempt that would end exactly
// at the deadline is admitted. Negative durations are errors, because a
// negative wait would admit what does not fit.
//
// Source: SRE book, chapter 22 (deadline propagation): do not start work that
// cannot be finished before the caller stops waiting.
func Admit(r Request) (Admission, error) {
	for _, f := range []struct {
		name string
		d    time.Duration
	}{{"budget", r.Budget}, {"spent", r.Spent}, {"backoff", r.Backoff}, {"attempt", r.Attempt}} {
		if f.d < 0 {
			return Admission{}, fmt.Errorf("%s is negative: %v", f.name, f.d)
		}
	}
	a := admit(r.Budget-r.Spent, SatAdd(r.Backoff, r.Attempt))
	if r.Backoff > Max-r.Attempt { // needed is beyond Max, and so beyond any budget
		a.Admit, a.Margin, a.Saturated = false, 0, true
		a.ShortBy = SatAdd(SatSub(r.Backoff, a.Remaining), r.Attempt)
	}
	a.Saturated = a.Saturated || a.ShortBy == Max
	return a, nil
}

// admit compares what is needed with what remains; remaining may be negative.
func admit(remaining, needed time.Duration) Admission {
	a := Admission{Remaining: remaining, Needed: needed}
	if needed <= remaining {
		a.Admit = true
		a.Margin = remaining - needed
		return a
	}
	a.ShortBy = SatSub(needed, remaining)
	return a
}

// SatAdd returns a+b, or the nearest representable duration when the sum does
// not fit into 64 bits.
func SatAdd(a, b time.Duration) time.Duration {
	s := a + b
	switch {
	case a > 0 && b > 0 && s < 0:
		return Max
	case a < 0 && b < 0 && s >= 0:
		return math.MinInt64
	}
	return s
}

// SatSub returns a-b, or the nearest representable duration when the
// difference does not fit into 64 bits.
func SatSub(a, b time.Duration) time.Duration {
	d := a - b
	switch {
	case a >= 0 && b < 0 && d < 0:
		return Max
	case a < 0 && b > 0 && d >= 0:
		return math.MinInt64
	}
	return d
}

// SatMul returns d*n for a count n >= 0 and a duration d >= 0, or [Max] when
// the product does not fit into 64 bits.
func SatMul(d time.Duration, n int64) time.Duration {
	if d <= 0 || n <= 0 {
		return 0
	}
	if n > int64(Max)/int64(d) {
		return Max
	}
	return d * time.Duration(n)
}
