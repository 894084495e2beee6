package des

import (
	"math"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
)

// Mean, squared coefficient of variation and, for the exponential, the whole
// distribution.
func TestDistributions(t *testing.T) {
	for _, d := range []Dist{
		{Kind: Constant, Mean: time.Millisecond},
		{Kind: Exponential, Mean: time.Millisecond},
		{Kind: LogNormal, Mean: time.Millisecond, CV: 1.5},
		{Kind: Erlang, Mean: time.Millisecond, Phases: 4},
		{Kind: Hyper, Mean: time.Millisecond, CV: 2},
		{Kind: Uniform, Mean: time.Millisecond},
		{Kind: Empirical, Samples: []time.Duration{1e6, 2e6, 6e6}},
	} {
		s := newSampler(d, 1)
		s.reseed(3)
		const n = 400000
		sum, sq := 0.0, 0.0
		for range n {
			x := float64(s.draw())
			sum += x
			sq += x * x
		}
		mean := sum / n
		scv := sq/n/(mean*mean) - 1
		if math.Abs(mean/d.MeanNS()-1) > .015 {
			t.Errorf("%v: mean %.0f, want %.0f", d.Kind, mean, d.MeanNS())
		}
		if math.Abs(scv-d.SCV()) > .08*math.Max(1, d.SCV()) {
			t.Errorf("%v: scv %.3f, want %.3f", d.Kind, scv, d.SCV())
		}
	}
}

func TestExponentialFits(t *testing.T) {
	s := newSampler(Dist{}, 2)
	s.reseed(5)
	const n, cells = 2_000_000, 200
	var count [cells]float64
	top := 0
	for range n {
		x := s.exp()
		if x > 7.69711747013104972 {
			top++
		}
		count[int(-math.Expm1(-x)*cells)]++
	}
	chi := 0.0
	for _, c := range count {
		chi += (c - n/cells) * (c - n/cells) / (n / cells)
	}
	if p := 1 - (distuv.ChiSquared{K: cells - 1}).CDF(chi); p < 1e-3 {
		t.Errorf("chi-square %.1f over %d cells: p = %g", chi, cells, p)
	}
	want := n * math.Exp(-7.69711747013104972)
	if math.Abs(float64(top)-want) > 4*math.Sqrt(want) {
		t.Errorf("tail beyond the ziggurat: %d, want %.0f", top, want)
	}
}
