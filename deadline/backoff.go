package deadline

import (
	"math"
	"time"
)

// Waits are the pauses of a retry loop: wait n stands between attempt n and
// attempt n+1, n from 1. Both methods give the smallest and the largest value
// that jitter leaves open, in nanoseconds, saturating at [Max].
type Waits interface {
	// Wait gives the bounds of wait n.
	Wait(n int64) (low, high time.Duration)
	// Sum gives the bounds of the sum of the first n waits.
	Sum(n int64) (low, high time.Duration)
}

// Jitter says how a wait is drawn around its cap c.
type Jitter uint8

// The kinds of jitter.
const (
	NoJitter     Jitter = iota // exactly c
	FullJitter                 // uniform [0, c]
	EqualJitter                // uniform [c/2, c]
	SpreadJitter               // uniform [c*(1-Spread), c*(1+Spread)], after the cap: it may exceed Max
	Decorrelated               // uniform [Base, 3 * the wait before], at most Max
)

// Backoff is the usual family of waits. Its cap before wait n is
//
//	c(n) = min(Max, Base*Factor^(n-1) + Step*(n-1))
//
// and jitter is applied to the cap. The zero value waits for nothing. Source of
// the names: Marc Brooker, "Exponential Backoff and Jitter", AWS architecture
// blog (full, equal, decorrelated).
type Backoff struct {
	// Base is c(1).
	Base time.Duration
	// Factor is the growth from one wait to the next; 0 means 1.
	Factor float64
	// Step is added for every wait after the first: linear growth.
	Step time.Duration
	// Max is the largest cap; 0 means none.
	Max time.Duration
	// Jitter is the way a wait is drawn.
	Jitter Jitter
	// Spread is the relative half width of SpreadJitter, such as 0.2.
	Spread float64
}

// Cap returns c(n), n from 1; 0 for n < 1.
func (b Backoff) Cap(n int64) time.Duration {
	if n < 1 {
		return 0
	}
	c := b.grown(n)
	if b.Step > 0 {
		c = SatAdd(c, SatMul(b.Step, n-1))
	}
	if b.Max > 0 {
		c = min(c, b.Max)
	}
	return c
}

// grown is Base*Factor^(n-1), exact for whole factors.
func (b Backoff) grown(n int64) time.Duration {
	f := b.Factor
	switch {
	case b.Base <= 0:
		return 0
	case f == 0 || f == 1 || n == 1:
		return b.Base
	case f == math.Trunc(f) && f > 1 && f < 1<<31:
		c := b.Base
		for i := int64(1); i < n && c < Max; i++ {
			c = SatMul(c, int64(f))
		}
		return c
	}
	return scale(b.Base, math.Pow(f, float64(n-1)))
}

// scale multiplies, rounds to the nearest nanosecond and saturates.
func scale(d time.Duration, f float64) time.Duration {
	v := math.Round(float64(d) * f)
	switch {
	case math.IsNaN(v) || v <= 0:
		return 0
	case v >= math.MaxInt64:
		return Max
	}
	return time.Duration(v)
}

// Wait implements [Waits].
func (b Backoff) Wait(n int64) (low, high time.Duration) {
	if n < 1 {
		return 0, 0
	}
	c := b.Cap(n)
	switch b.Jitter {
	case FullJitter:
		return 0, c
	case EqualJitter:
		return c / 2, c
	case SpreadJitter:
		return scale(c, 1-b.Spread), scale(c, 1+b.Spread)
	case Decorrelated:
		d := Backoff{Base: SatMul(b.Base, 3), Factor: 3, Max: b.Max}
		return Backoff{Base: b.Base, Max: b.Max}.Cap(1), d.Cap(n)
	}
	return c, c
}

// settles returns the first wait from which on all waits are equal, or n+1.
func (b Backoff) settles(n int64) int64 {
	grows := b.Step > 0 || b.Factor > 1 || b.Jitter == Decorrelated
	shrinks := b.Factor > 0 && b.Factor < 1
	switch {
	case !grows && !shrinks:
		return 1
	case shrinks:
		return n + 1
	}
	top := Max // a growing cap ends at Max, or where 64 bits end
	if b.Max > 0 {
		top = b.Max
	}
	atTop := func(k int64) bool {
		if b.Jitter == Decorrelated {
			_, h := b.Wait(k)
			return h >= top
		}
		return b.Cap(k) >= top
	}
	if !atTop(n) {
		return n + 1
	}
	lo, hi := int64(1), n
	for lo < hi {
		if mid := lo + (hi-lo)/2; atTop(mid) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}

// sumSteps bounds the waits that are added one by one; beyond it a schedule that
// still grows is summed by its closed form, to the precision of a float64.
const sumSteps = 4096

// Sum implements [Waits].
func (b Backoff) Sum(n int64) (low, high time.Duration) {
	if n < 1 {
		return 0, 0
	}
	until := b.settles(n) // from here on all waits are equal
	if until > sumSteps && b.Jitter != Decorrelated {
		return b.closedSum(min(until-1, n), n)
	}
	i := int64(1)
	for ; i < until && i <= n && low < Max; i++ {
		l, h := b.Wait(i)
		low, high = SatAdd(low, l), SatAdd(high, h)
	}
	if i > n || low == Max {
		return low, max(low, high)
	}
	l, h := b.Wait(i)
	return SatAdd(low, SatMul(l, n-i+1)), SatAdd(high, SatMul(h, n-i+1))
}

// closedSum sums n waits of which the first k change and the rest is equal:
//
//	Base*(Factor^k - 1)/(Factor - 1) + Step*k*(k-1)/2 + (n-k)*c(n)
func (b Backoff) closedSum(k, n int64) (low, high time.Duration) {
	m, f := float64(k), b.Factor
	caps := float64(b.Base) * m
	if f > 0 && f != 1 {
		caps = float64(b.Base) * math.Expm1(m*math.Log(f)) / (f - 1)
	}
	caps += float64(max(b.Step, 0)) * m * (m - 1) / 2
	if n > k {
		caps += float64(n-k) * float64(b.Cap(n))
	}
	l, h := 1.0, 1.0
	switch b.Jitter {
	case FullJitter:
		l = 0
	case EqualJitter:
		l = 0.5
	case SpreadJitter:
		l, h = 1-b.Spread, 1+b.Spread
	}
	return scale(1, caps*l), scale(1, caps*h)
}

// MeanSum returns the expected sum of the first n waits. For [Decorrelated] it
// is an upper bound (the cap is applied to the mean).
func (b Backoff) MeanSum(n int64) time.Duration {
	if b.Jitter == Decorrelated {
		var sum, prev float64 = 0, float64(b.Base)
		for i := int64(0); i < min(n, sumSteps); i++ {
			prev = (float64(b.Base) + 3*prev) / 2
			if b.Max > 0 {
				prev = min(prev, float64(b.Max))
			}
			sum += prev
		}
		return scale(1, sum)
	}
	plain := b
	plain.Jitter = NoJitter
	_, caps := plain.Sum(n)
	switch b.Jitter {
	case FullJitter:
		return caps / 2
	case EqualJitter:
		return caps - caps/4
	}
	return caps
}

// GRPC is the backoff of a gRPC retry policy: the cap drawn in [0.8, 1.2].
// Source: grpc-go v1.85.0 stream.go; the text of gRFC A6 of 2017 said
// uniform [0, cap), see [GRPC2017].
func GRPC(initial, max time.Duration, multiplier float64) Backoff {
	return Backoff{Base: initial, Factor: multiplier, Max: max, Jitter: SpreadJitter, Spread: 0.2}
}

// GRPC2017 is the backoff of the first text of gRFC A6: uniform [0, cap).
func GRPC2017(initial, max time.Duration, multiplier float64) Backoff {
	return Backoff{Base: initial, Factor: multiplier, Max: max, Jitter: FullJitter}
}

// Envoy is Envoy's jittered exponential backoff: uniform [0, u), u doubling from
// base up to max. A max of 0 is Envoy's default, ten times base. Source: Envoy
// backoff_strategy.cc (random % next_interval).
func Envoy(base, max time.Duration) Backoff {
	if max == 0 {
		max = SatMul(base, 10)
	}
	return Backoff{Base: base, Factor: 2, Max: max, Jitter: FullJitter}
}

// EnvoyDocs is the upper bound that Envoy's documentation gives for wait n,
// (2^n - 1)*base: 25, 75, 175 ms, up to max. Use it for a conservative bound.
type EnvoyDocs struct{ Base, Max time.Duration }

// Wait implements [Waits].
func (e EnvoyDocs) Wait(n int64) (low, high time.Duration) {
	if n < 1 {
		return 0, 0
	}
	high = Max
	if n < 62 {
		high = SatMul(e.Base, 1<<n-1)
	}
	limit := e.Max
	if limit == 0 {
		limit = SatMul(e.Base, 10)
	}
	return 0, min(high, limit)
}

// Sum implements [Waits].
func (e EnvoyDocs) Sum(n int64) (low, high time.Duration) {
	for i := int64(1); i <= min(n, 64); i++ {
		_, h := e.Wait(i)
		high = SatAdd(high, h)
	}
	if n > 64 {
		_, h := e.Wait(64)
		high = SatAdd(high, SatMul(h, n-64))
	}
	return 0, high
}

// AWSSimulator is the backoff of the AWS architecture blog's simulator, whose
// attempt counter starts at 1: the first cap is 2*base. Source:
// aws-arch-backoff-simulator.
func AWSSimulator(base, max time.Duration) Backoff {
	return Backoff{Base: SatMul(base, 2), Factor: 2, Max: max, Jitter: FullJitter}
}
