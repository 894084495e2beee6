package retryconfig

import (
	"math"
	"time"
)

// Growth says how waits grow from one attempt to the next.
type Growth uint8

// The ways waits grow. NoWait is the zero value: attempts follow at once.
const (
	NoWait Growth = iota
	Constant
	Linear          // base*n
	Exponential     // base*factor^(n-1)
	Listed          // the list, whose last value repeats
	ExponentialLess // base*(factor^n - 1), as in the Azure SDKs
	Quartic         // n^4 + base, as in Sidekiq
	Decorrelated    // base*(f(t_n)-f(t_n-1))/1.4, f(t) = 2^t*tanh(sqrt(4t)), t_n in [n-1, n): Polly's decorrelated jitter
)

// Backoff describes the waits between attempts. Wait n stands before attempt n+1.
// The growing value is cut at Max, then jitter gives the smallest and the largest
// wait: value*Low + AddLow and value*High + AddHigh, cut at Ceiling and held at Floor.
type Backoff struct {
	Growth Growth
	Base   time.Duration
	Factor float64         // of Exponential; 0 counts as 2
	Max    time.Duration   // cap of the value before jitter; 0: none
	List   []time.Duration // of Listed
	Shift  int             // added to n: Knative counts from 0 (-1)

	Low, High       float64 // jitter factors; both 0: no jitter (1 and 1)
	AddLow, AddHigh time.Duration
	Floor, Ceiling  time.Duration // bounds after jitter; 0: none
	Jitter          bool          // waits of two clients differ

	Elsewhere bool   // the next attempt goes to another server, so that no wait is usual
	Open      bool   // the schedule is not published or not in the file: sums are not known
	Source    string // formula, in words
	Explicit  bool   // the file writes the wait (or writes that there is none)
	Line      int    // where it stands, 0 when it is a default
}

// value is wait n before jitter, saturating.
func (b *Backoff) value(n int64) time.Duration {
	n += int64(b.Shift)
	var v time.Duration
	switch b.Growth {
	case NoWait:
		return 0
	case Constant:
		v = b.Base
	case Linear:
		v = mulDur(b.Base, n)
	case Exponential:
		f := b.Factor
		if f == 0 {
			f = 2
		}
		v = scale(b.Base, math.Pow(f, float64(n-1)))
	case ExponentialLess:
		v = scale(b.Base, math.Pow(b.Factor, float64(n))-1)
	case Listed:
		if len(b.List) == 0 {
			return 0
		}
		v = b.List[min(max(n, 1), int64(len(b.List)))-1]
	case Quartic:
		c := float64(n - 1)
		v = addDur(scale(time.Second, c*c*c*c), b.Base)
	}
	if b.Max > 0 && v > b.Max {
		v = b.Max
	}
	return v
}

// scale multiplies a duration by a factor, rounds to nanoseconds and saturates.
func scale(d time.Duration, f float64) time.Duration {
	v := math.Round(float64(d) * f)
	switch {
	case math.IsNaN(v) || v <= 0:
		return 0
	case v >= math.MaxInt64:
		return maxDuration
	}
	return time.Duration(v)
}

// Wait gives the smallest and the largest wait before attempt n+1 (n from 1).
func (b *Backoff) Wait(n int64) (low, high time.Duration) {
	if b.Growth == Decorrelated {
		_, high = b.decorrelated(n)
		return 0, high
	}
	v := b.value(n)
	low, high = v, v
	if b.Low != 0 || b.High != 0 {
		low, high = scale(v, b.Low), scale(v, b.High)
	}
	low, high = addDur(low, b.AddLow), addDur(high, b.AddHigh)
	if b.Growth == Quartic {
		high = addDur(high, 10*time.Second*time.Duration(min(n, 1<<20)))
	}
	if b.Ceiling > 0 {
		low, high = min(low, b.Ceiling), min(high, b.Ceiling)
	}
	if b.Floor > 0 {
		low, high = max(low, b.Floor), max(high, b.Floor)
	}
	return low, high
}

// sumSteps is how many waits are added one by one before the tail is taken as
// constant (a capped or constant schedule) or saturated (a growing one).
const sumSteps = 4096

// Sum gives the smallest and the largest sum of the first n waits.
func (b *Backoff) Sum(n int64) (low, high time.Duration) {
	if n <= 0 || b.Growth == NoWait && b.AddHigh == 0 && b.Floor == 0 {
		return 0, 0
	}
	if b.Growth == Decorrelated {
		return b.decorrelated(n)
	}
	if b.Growth == Constant {
		l, h := b.Wait(1)
		return mulDur(l, n), mulDur(h, n)
	}
	for i := int64(1); i <= n; i++ {
		l, h := b.Wait(i)
		if i > sumSteps {
			return b.tail(i, n, low, high)
		}
		low, high = addDur(low, l), addDur(high, h)
		if low == maxDuration {
			return low, maxDuration
		}
	}
	return low, high
}

// decorrelated sums telescope: n waits lie between f(n-1) and f(n) times base/1.4.
func (b *Backoff) decorrelated(n int64) (low, high time.Duration) {
	f := func(t float64) time.Duration {
		return scale(b.Base, math.Exp2(min(t, 80))*math.Tanh(math.Sqrt(4*t))/1.4)
	}
	low, high = f(float64(n-1)), f(float64(n))
	if b.Max > 0 {
		limit := mulDur(b.Max, n)
		low, high = min(low, limit), min(high, limit)
	}
	return low, high
}

// tail adds waits i..n, taking each growing schedule at its mean of both ends; it is
// exact for constant tails and for linear ones.
func (b *Backoff) tail(i, n int64, low, high time.Duration) (time.Duration, time.Duration) {
	l1, h1 := b.Wait(i)
	l2, h2 := b.Wait(n)
	count := n - i + 1
	mean := func(a, z time.Duration) time.Duration {
		return scale(time.Second, (float64(a)+float64(z))/2*float64(count)/float64(time.Second))
	}
	if l1 == l2 && h1 == h2 {
		return addDur(low, mulDur(l1, count)), addDur(high, mulDur(h1, count))
	}
	return addDur(low, mean(l1, l2)), addDur(high, mean(h1, h2))
}

// None reports whether attempts follow each other at once, as far as the file says.
func (b *Backoff) None() bool {
	if b.Open {
		return false
	}
	_, h := b.Wait(1)
	_, h2 := b.Wait(2)
	return h == 0 && h2 == 0
}

// envoyBackoff is uniform [0, u) with u doubling from base up to ten times base, or
// up to max when max is not 0: the reading of Envoy's JitteredExponentialBackOffStrategy.
func envoyBackoff(base, max time.Duration) Backoff {
	if max == 0 {
		max = mulDur(base, 10)
	}
	return Backoff{Growth: Exponential, Base: base, Factor: 2, Max: max, Low: 0, High: 1, Jitter: true,
		Source: "uniform [0, u), u doubles from the base interval up to the maximum"}
}

// envoyBase is Envoy's default base interval.
const envoyBase = 25 * time.Millisecond
