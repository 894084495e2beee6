package deadline

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	"gonum.org/v1/gonum/interp"
)

// Latency is the distribution of the time one attempt takes when it succeeds.
// Make one with [FromPercentiles] or [FromSamples]; the zero value answers at
// once.
type Latency struct {
	samples []time.Duration // sorted; or nil
	curve   *interp.FritschButland
	first   float64 // log seconds of the lowest percentile
	firstP  float64
	last    float64 // log seconds of the highest percentile
	slope   float64 // of -log(1-p) over log t beyond it
	lastH   float64
}

// Percentile is one point of a latency distribution: the share P of answers
// (0.99 for p99) arrives within T.
type Percentile struct {
	P float64
	T time.Duration
}

// FromPercentiles builds a distribution through at least two percentiles. In
// between, -log(1-p) is interpolated over log t by a monotone cubic (Fritsch
// and Butland); below the lowest the share falls linearly to 0 at time 0;
// beyond the highest the last slope goes on, a power-law tail. What lies
// beyond the highest percentile is therefore a guess: see [Latency.Known].
func FromPercentiles(ps ...Percentile) (*Latency, error) {
	if len(ps) < 2 {
		return nil, fmt.Errorf("%d percentiles, expected at least 2 such as p50 and p99", len(ps))
	}
	ps = slices.Clone(ps)
	sort.Slice(ps, func(i, j int) bool { return ps[i].P < ps[j].P })
	xs, ys := make([]float64, len(ps)), make([]float64, len(ps))
	for i, p := range ps {
		if !(p.P > 0) || p.P >= 1 {
			return nil, fmt.Errorf("percentile %v, expected between 0 and 1", p.P)
		}
		if p.T <= 0 {
			return nil, fmt.Errorf("p%v is %v, expected more than 0", 100*p.P, p.T)
		}
		if i > 0 && (p.P == ps[i-1].P || p.T <= ps[i-1].T) {
			return nil, fmt.Errorf("p%v is %v and p%v is %v, expected times to grow with the percentile", 100*ps[i-1].P, ps[i-1].T, 100*p.P, p.T)
		}
		xs[i], ys[i] = math.Log(p.T.Seconds()), -math.Log1p(-p.P)
	}
	l := &Latency{curve: &interp.FritschButland{}}
	if err := l.curve.Fit(xs, ys); err != nil {
		return nil, err
	}
	n := len(xs) - 1
	l.first, l.firstP, l.last, l.lastH = xs[0], ps[0].P, xs[n], ys[n]
	l.slope = (ys[n] - ys[n-1]) / (xs[n] - xs[n-1])
	return l, nil
}

// FromSamples builds the empirical distribution of measured latencies.
func FromSamples(samples []time.Duration) (*Latency, error) {
	if len(samples) == 0 {
		return nil, errors.New("no latency samples")
	}
	s := slices.Clone(samples)
	slices.Sort(s)
	if s[0] < 0 {
		return nil, fmt.Errorf("latency sample %v is negative", s[0])
	}
	return &Latency{samples: s}, nil
}

// Within is the share of answers that arrive within t.
func (l *Latency) Within(t time.Duration) float64 {
	switch {
	case l.samples != nil:
		n := sort.Search(len(l.samples), func(i int) bool { return l.samples[i] > t })
		return float64(n) / float64(len(l.samples))
	case l.curve == nil:
		return 1
	case t <= 0:
		return 0
	}
	x := math.Log(t.Seconds())
	switch {
	case x <= l.first:
		return l.firstP * t.Seconds() / math.Exp(l.first)
	case x >= l.last:
		return -math.Expm1(-(l.lastH + l.slope*(x-l.last)))
	}
	return -math.Expm1(-l.curve.Predict(x))
}

// Quantile is the shortest time within which the share p of answers arrives;
// [Max] when it never does.
func (l *Latency) Quantile(p float64) time.Duration {
	if l.samples != nil {
		i := int(math.Ceil(p*float64(len(l.samples)))) - 1
		if i >= len(l.samples) {
			return Max
		}
		return l.samples[max(i, 0)]
	}
	lo, hi := time.Duration(0), time.Duration(1)
	for l.Within(hi) < p {
		if hi > Max/2 {
			return Max
		}
		hi *= 2
	}
	for lo+1 < hi {
		if mid := lo + (hi-lo)/2; l.Within(mid) >= p {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// Known is the largest share that rests on data and not on the tail that was
// added to it.
func (l *Latency) Known() float64 {
	switch {
	case l.samples != nil:
		return 1 - 1/float64(len(l.samples))
	case l.curve == nil:
		return 1
	}
	return -math.Expm1(-l.lastH)
}
