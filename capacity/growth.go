package capacity

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Growth describes a store that fills at a growing rate and forgets.
type Growth struct {
	// Rate at time 0.
	Rate Rate
	// PerYear is the yearly growth of the rate: 0.2 = 20 % a year. Above -1.
	PerYear float64
	// Retain is how long a record stays; ignored if Forever.
	Retain  time.Duration
	Forever bool
	// Lag is how long a record may still be there after Retain: until its
	// partition is dropped, or until the next sweep.
	Lag time.Duration
	// BytesPerRecord is what one record takes, all copies included.
	BytesPerRecord float64
	// FreshBytesPerRecord is the same before anything was deleted, 0 = as
	// BytesPerRecord. From Retain on it turns into BytesPerRecord within Settle,
	// in a straight line.
	FreshBytesPerRecord float64
	Settle              time.Duration
	// Base is what is there at time 0 and stays (other data on the disk).
	Base float64
}

// At returns records and bytes held at most t after the start of an empty store:
// the integral of rate x (1+g)^(t/year) over the last Retain + Lag. t in
// nanoseconds as a time.Duration, t < 0 counts as 0.
func (g Growth) At(t time.Duration) (records, bytes float64) {
	to := math.Max(0, t.Seconds())
	from := 0.0
	if !g.Forever {
		from = math.Max(0, to-g.Retain.Seconds()-g.Lag.Seconds())
	}
	records = g.Rate.Float() * g.integral(from, to)
	return records, g.Base + records*g.perRecord(to)
}

// perRecord is the bytes of a record t seconds after the start.
func (g Growth) perRecord(t float64) float64 {
	after := t - g.Retain.Seconds()
	switch {
	case g.FreshBytesPerRecord == 0:
		return g.BytesPerRecord
	case after <= 0 || g.Forever:
		return g.FreshBytesPerRecord
	case after >= g.Settle.Seconds():
		return g.BytesPerRecord
	}
	return g.FreshBytesPerRecord + (g.BytesPerRecord-g.FreshBytesPerRecord)*after/g.Settle.Seconds()
}

// settled is the time in seconds after which, at a steady rate, the bytes no
// longer change.
func (g Growth) settled() float64 {
	return g.Retain.Seconds() + math.Max(g.Lag.Seconds(), g.Settle.Seconds())
}

// integral of (1+g)^(t/year) from a to b seconds.
func (g Growth) integral(a, b float64) float64 {
	k := math.Log1p(g.PerYear) / Year.Seconds()
	if math.Abs(k*b) < 1e-12 {
		return b - a
	}
	return math.Exp(k*a) * math.Expm1(k*(b-a)) / k
}

// GrowthPoint is one point of a growth curve.
type GrowthPoint struct {
	T       time.Duration
	Records float64
	Bytes   float64
}

// Curve returns n+1 points from 0 to horizon, evenly spaced, plus the end of the
// retention if it lies between. Errors: n < 1, a growth at or below -100 %.
func (g Growth) Curve(horizon time.Duration, n int) ([]GrowthPoint, error) {
	if n < 1 || horizon <= 0 {
		return nil, errors.New("a curve needs a horizon above 0 and at least one step")
	}
	if !(g.PerYear > -1) {
		return nil, fmt.Errorf("growth of %v a year is not above -100 %%", g.PerYear)
	}
	pts := make([]GrowthPoint, 0, n+2)
	add := func(t time.Duration) {
		r, b := g.At(t)
		pts = append(pts, GrowthPoint{T: t, Records: r, Bytes: b})
	}
	prev := time.Duration(-1)
	for i := 0; i <= n; i++ {
		t := time.Duration(float64(horizon) / float64(n) * float64(i))
		if i == n {
			t = horizon
		}
		if !g.Forever && g.Retain > prev && g.Retain < t {
			add(g.Retain)
		}
		add(t)
		prev = t
	}
	return pts, nil
}

// Full is when a disk is full.
type Full struct {
	// Never: the store stays below the limit for ever (no growth, or it shrinks).
	Never bool
	// At is when the limit is reached; 0 if it is exceeded from the start.
	At time.Duration
	// Highest is the most bytes there are before At, or ever within the horizon
	// of 100 years.
	Highest float64
	Formula string
	Source  string
}

// FullAt returns when the bytes reach capacity x (1 - headroom). headroom is a
// ratio in 0..1 of the disk that must stay free. The horizon looked at is 100
// years.
func (g Growth) FullAt(capacity, headroom float64) (Full, error) {
	f := Full{Source: "bytes(t) = capacity x (1 - headroom)"}
	if !(headroom >= 0 && headroom < 1) || !(capacity > 0) || !(g.PerYear > -1) {
		return f, errors.New("disk full: capacity must be above 0, headroom in 0..1, growth above -100 %")
	}
	limit := capacity * (1 - headroom)
	at := func(t float64) float64 {
		_, b := g.At(time.Duration(t * float64(time.Second)))
		return b
	}
	top, steps := 100*Year.Seconds(), 1
	if !g.Forever && g.PerYear <= 0 {
		top = math.Min(top, g.settled())
	}
	if g.PerYear < 0 { // the bytes may fall again before top
		steps = 1000
	}
	highest, lo, hi := 0.0, 0.0, -1.0
	for i := range steps + 1 {
		t := top * float64(i) / float64(steps)
		highest = math.Max(highest, at(t))
		if at(t) >= limit {
			hi = t
			break
		}
		lo = t
	}
	f.Highest = highest
	if hi < 0 {
		f.Never = true
		f.Formula = fmt.Sprintf("at most %.6g B < %.6g B", highest, limit)
		return f, nil
	}
	for hi-lo > 1e-3 && hi-lo > 1e-12*hi {
		if mid := (lo + hi) / 2; at(mid) < limit {
			lo = mid
		} else {
			hi = mid
		}
	}
	f.At = time.Duration(hi * float64(time.Second)).Round(time.Second)
	if at(0) >= limit {
		f.At = 0
	}
	f.Formula = fmt.Sprintf("%.6g B reached after %s", limit, span(f.At.Round(time.Hour)))
	return f, nil
}
