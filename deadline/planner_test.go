package deadline

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"
)

func percentiles(t testing.TB, ps ...Percentile) *Latency {
	t.Helper()
	l, err := FromPercentiles(ps...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLatency(t *testing.T) {
	// Percentiles of a known distribution come back, and between them it is close.
	d := distuv.LogNormal{Mu: math.Log(0.020), Sigma: 0.8}
	at := func(p float64) Percentile {
		return Percentile{p, time.Duration(d.Quantile(p) * float64(time.Second))}
	}
	l := percentiles(t, at(0.5), at(0.9), at(0.95), at(0.99), at(0.999))
	for _, p := range []float64{0.5, 0.9, 0.95, 0.99, 0.999} {
		if got := l.Within(at(p).T); math.Abs(got-p) > 1e-6 {
			t.Errorf("Within(p%v) = %v", 100*p, got)
		}
		if got := l.Quantile(p); math.Abs(float64(got-at(p).T)) > 1e-4*float64(got) {
			t.Errorf("Quantile(%v) = %v, want %v", p, got, at(p).T)
		}
	}
	for _, p := range []float64{0.6, 0.8, 0.97, 0.995} {
		if got := l.Within(at(p).T); math.Abs((1-got)-(1-p)) > 0.15*(1-p) {
			t.Errorf("between the percentiles: Within(%v) = %v, want about %v", at(p).T, got, p)
		}
	}
	if l.Within(0) != 0 || l.Within(-1) != 0 {
		t.Error("something arrives before time 0")
	}
	if got := l.Within(at(0.5).T / 2); math.Abs(got-0.25) > 1e-6 {
		t.Errorf("half of the lowest percentile: %v, want 0.25", got)
	}
	if got := l.Within(2 * time.Second); got <= 0.999 || got >= 1 {
		t.Errorf("the tail goes on: %v", got)
	}
	if got := l.Known(); math.Abs(got-0.999) > 1e-9 {
		t.Errorf("Known = %v", got)
	}
	s, err := FromSamples([]time.Duration{3 * ms, 1 * ms, 2 * ms, 10 * ms})
	if err != nil {
		t.Fatal(err)
	}
	if s.Within(2*ms) != 0.5 || s.Within(ms-1) != 0 || s.Within(time.Hour) != 1 || s.Quantile(0.5) != 2*ms || s.Quantile(1) != 10*ms || s.Quantile(0) != ms {
		t.Error("the empirical distribution is wrong")
	}
	for _, bad := range [][]Percentile{{{0.5, ms}}, {{0.5, ms}, {0.5, 2 * ms}}, {{0.5, 2 * ms}, {0.9, ms}}, {{0, ms}, {0.5, 2 * ms}}, {{0.5, ms}, {1, 2 * ms}}, {{0.5, 0}, {0.9, ms}}} {
		if _, err := FromPercentiles(bad...); err == nil {
			t.Errorf("%v: no error", bad)
		}
	}
	if _, err := FromSamples(nil); err == nil {
		t.Error("no error without samples")
	}
	if _, err := FromSamples([]time.Duration{-1}); err == nil {
		t.Error("no error for a negative sample")
	}
}

func TestLatencyIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var ps []Percentile
		last, p := time.Duration(0), 0.0
		for i := rapid.IntRange(2, 6).Draw(t, "n"); i > 0; i-- {
			last += time.Duration(rapid.Int64Range(1e3, 1e9).Draw(t, "step"))
			p += (1 - p) * rapid.Float64Range(0.05, 0.95).Draw(t, "p")
			ps = append(ps, Percentile{p, last})
		}
		l, err := FromPercentiles(ps...)
		if err != nil {
			t.Fatal(err)
		}
		prev := 0.0
		for x := 1.0; x < 40e9; x *= 1.3 {
			v := l.Within(time.Duration(x))
			if v < prev-1e-12 || v < 0 || v > 1 || math.IsNaN(v) {
				t.Fatalf("%v: Within(%v) = %v after %v", ps, time.Duration(x), v, prev)
			}
			prev = v
		}
	})
}

var typical = []Percentile{{0.5, 20 * ms}, {0.9, 45 * ms}, {0.99, 120 * ms}, {0.999, 400 * ms}}

func TestSuggest(t *testing.T) {
	l := percentiles(t, typical...)
	tests := []struct {
		reason   string
		g        Goal
		attempts int64
		meets    bool
	}{
		{"one attempt is enough when nothing fails and there is time", Goal{Deadline: time.Second, Target: 0.999, Latency: l}, 1, true},
		{"a second attempt for 1% of failures", Goal{Deadline: 300 * ms, Target: 0.999, Latency: l, Failure: 0.01, MinBackoff: 10 * ms}, 2, true},
		{"more for 10%", Goal{Deadline: time.Second, Target: 0.999, Latency: l, Failure: 0.1, MinBackoff: 10 * ms}, 4, true},
		{"out of reach: the most that is possible", Goal{Deadline: 30 * ms, Target: 0.999, Latency: l}, 1, false},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			s, err := Suggest(tt.g)
			if err != nil {
				t.Fatal(err)
			}
			if s.Best.Attempts != tt.attempts || s.Best.Meets != tt.meets {
				t.Errorf("%+v; want %d attempts, meets %v\n%+v", s.Best, tt.attempts, tt.meets, s.Trade)
			}
			for _, o := range s.Trade {
				p := Policy{Attempts: o.Attempts, PerTry: o.PerTry, Waits: Backoff{Base: o.Backoff, Factor: 2}}
				if f := p.Fit(tt.g.Deadline); f.FitsHigh != o.Attempts {
					t.Errorf("%+v: only %d attempts fit %v", o, f.FitsHigh, tt.g.Deadline)
				}
				if w, _ := p.Worst(); w != o.Worst || w > tt.g.Deadline {
					t.Errorf("%+v: longest time %v", o, w)
				}
			}
		})
	}
	if _, err := Suggest(Goal{Deadline: time.Second, Target: 0.9}); err == nil {
		t.Error("no error without latencies")
	}
	for _, bad := range []Goal{{Target: 0.9}, {Deadline: 1, Target: 0}, {Deadline: 1, Target: 0.9, Failure: 2}, {Deadline: 1, Target: 0.9, MaxAttempts: 1000}, {Deadline: 1, Target: 0.9, Outage: 0.1}, {Deadline: 1, Target: 0.9, MinBackoff: -1}} {
		bad.Latency = l
		if _, err := Suggest(bad); err == nil {
			t.Errorf("%+v: no error", bad)
		}
	}
	s, err := Suggest(Goal{Deadline: time.Hour, Target: 0.9999, Latency: l})
	if err != nil || !s.Extrapolated {
		t.Errorf("an hour is beyond the p99.9 and rests on the tail: %+v, %v", s, err)
	}
}

// TestSuggestAgainstGrid tries all pairs of per-try limit and first wait on a
// grid: none that fits beats the suggestion.
func TestSuggestAgainstGrid(t *testing.T) {
	l := percentiles(t, typical...)
	for _, g := range []Goal{
		{Deadline: 300 * ms, Target: 0.999, Latency: l, Failure: 0.05, MinBackoff: 5 * ms, Factor: 2},
		{Deadline: 2 * time.Second, Target: 0.9999, Latency: l, Failure: 0.02, MinBackoff: 5 * ms, Factor: 2, Outage: 0.05, MeanOutage: 300 * ms},
		{Deadline: 2 * time.Second, Target: 0.9999, Latency: l, MinBackoff: 5 * ms, Factor: 1, Outage: 0.5, MeanOutage: time.Second},
	} {
		s, err := Suggest(g)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range s.Trade {
			best := 0.0
			for i := range 100 {
				wait := g.MinBackoff + time.Duration(i)*g.Deadline/100
				for j := 1; j <= 100; j++ {
					perTry := time.Duration(j) * g.Deadline / 100 / time.Duration(o.Attempts)
					b := Backoff{Base: wait, Factor: g.Factor}
					if _, w := b.Sum(o.Attempts - 1); SatAdd(SatMul(perTry, o.Attempts), w) > g.Deadline {
						continue
					}
					success, _ := g.outcome(o.Attempts, perTry, b)
					best = max(best, success)
				}
			}
			if o.Success < best-1e-6 {
				t.Errorf("%d attempts in %v: suggested success %.9f, the grid finds %.9f", o.Attempts, g.Deadline, o.Success, best)
			}
		}
	}
}

// TestOutcomeAgainstSimulation draws latencies, failures and outages.
func TestOutcomeAgainstSimulation(t *testing.T) {
	l := percentiles(t, typical...)
	g := Goal{Deadline: time.Second, Target: 0.99, Latency: l, Failure: 0.1, Factor: 2, Outage: 0.2, MeanOutage: 200 * ms}
	b := Backoff{Base: 50 * ms, Factor: 2}
	const n, perTry = 4, 60 * ms
	success, attempts := g.outcome(n, perTry, b)
	r := rand.New(rand.NewPCG(1, 1))
	const runs = 400_000
	ok, tries := 0.0, 0.0
	rate := 1 / ((1 - g.Outage) * g.MeanOutage.Seconds())
	for range runs {
		down := r.Float64() < g.Outage
		for k := int64(1); k <= n; k++ {
			tries++
			if !down && r.Float64() >= g.Failure && r.Float64() < l.Within(perTry) {
				ok++
				break
			}
			decay := math.Exp(-(perTry + b.Cap(k)).Seconds() * rate)
			p := g.Outage * (1 - decay)
			if down {
				p += decay
			}
			down = r.Float64() < p
		}
	}
	if math.Abs(ok/runs-success) > 0.003 || math.Abs(tries/runs-attempts) > 0.006 {
		t.Errorf("success %v and %v attempts, simulated %v and %v", success, attempts, ok/runs, tries/runs)
	}
}
