package capacity_test

import (
	"errors"
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/relplan/relplan/capacity"
)

func TestRecordsExact(t *testing.T) {
	for _, c := range []struct {
		reason string
		rate   capacity.Rate
		retain time.Duration
		want   string
	}{
		{"the order chain", capacity.PerUnit(100_000, time.Second), 90 * day, "777600000000"},
		{"a third of a record is a record", capacity.PerUnit(1, 3*time.Second), time.Second, "1"},
		{"exact when it divides", capacity.PerUnit(1, 3*time.Second), 9 * time.Second, "3"},
		{"20M a day over 90 d", capacity.PerUnit(20_000_000, day), 90 * day, "1800000000"},
		{"beyond int64", capacity.PerUnit(math.MaxInt64, time.Second), 10 * time.Second, "92233720368547758070"},
		{"no time, no records", capacity.PerUnit(5, time.Second), 0, "0"},
		{"the zero rate", capacity.Rate{}, day, "0"},
		{"one nanosecond more needs one more", capacity.PerUnit(1, time.Second), time.Second + 1, "2"},
	} {
		n, err := capacity.Records(c.rate, c.retain)
		if err != nil || n.Value.String() != c.want {
			t.Errorf("%s: got %v, %v, want %s", c.reason, n.Value, err, c.want)
		}
	}
}

func TestNegativeInputs(t *testing.T) {
	_, e1 := capacity.Records(capacity.PerUnit(-1, time.Second), day)
	_, e2 := capacity.Records(capacity.PerUnit(1, time.Second), -day)
	_, e3 := capacity.RawBytes(big.NewInt(-1), 1)
	_, e4 := capacity.RawBytes(big.NewInt(1), -1)
	_, e5 := capacity.CheckWindow(capacity.Store{Retain: -1}, nil)
	_, e6 := capacity.CheckWindow(capacity.Store{}, []capacity.Source{{Keeps: -1}})
	_, e7 := capacity.CheckWindow(capacity.Store{Slack: capacity.Slack{Skew: -1}}, nil)
	_, e8 := capacity.CheckKeys(capacity.Source{RetriedFor: -1}, capacity.Slack{})
	_, e9 := capacity.EstimateCrash(capacity.CrashWindow{Window: -1})
	for i, e := range []error{e1, e2, e3, e4, e5, e6, e7, e8, e9} {
		if !errors.Is(e, capacity.ErrNegative) {
			t.Errorf("e%d = %v, want ErrNegative", i+1, e)
		}
	}
}

// Records against a dumb second implementation in whole nanosecond events.
func TestRecordsProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, 1e9).Draw(t, "n")
		per := rapid.Int64Range(1, int64(day)).Draw(t, "per")
		ret := rapid.Int64Range(0, int64(365*day)).Draw(t, "retain")
		got, err := capacity.Records(capacity.PerUnit(n, time.Duration(per)), time.Duration(ret))
		if err != nil {
			t.Fatal(err)
		}
		// want = smallest k with k*per >= n*ret
		prod := new(big.Int).Mul(big.NewInt(n), big.NewInt(ret))
		k := got.Value
		if new(big.Int).Mul(k, big.NewInt(per)).Cmp(prod) < 0 {
			t.Fatalf("%v records are too few", k)
		}
		if k.Sign() > 0 {
			less := new(big.Int).Sub(k, big.NewInt(1))
			if less.Mul(less, big.NewInt(per)).Cmp(prod) >= 0 {
				t.Fatalf("%v records are too many", k)
			}
		}
	})
}

func TestCheckWindow(t *testing.T) {
	src := func(name string, keeps time.Duration) capacity.Source {
		return capacity.Source{Name: name, Keeps: keeps}
	}
	for _, c := range []struct {
		reason  string
		store   capacity.Store
		sources []capacity.Source
		want    capacity.Window
	}{
		{"equal is covered", capacity.Store{Retain: 7 * day}, []capacity.Source{src("b", 7*day)},
			capacity.Window{Required: 7 * day, Longest: "b", Covered: true}},
		{"one nanosecond short is not", capacity.Store{Retain: 7*day - 1}, []capacity.Source{src("b", 7*day)},
			capacity.Window{Required: 7 * day, Longest: "b", Gap: 1}},
		{"slack adds up", capacity.Store{Retain: 7 * day, Slack: capacity.Slack{Residence: time.Hour, Delay: time.Second, Skew: time.Minute}},
			[]capacity.Source{src("b", 7*day)},
			capacity.Window{Required: 7*day + time.Hour + time.Second + time.Minute, Longest: "b", Gap: time.Hour + time.Second + time.Minute}},
		{"first of a tie decides", capacity.Store{Retain: day}, []capacity.Source{src("a", day), src("b", day)},
			capacity.Window{Required: day, Longest: "a", Covered: true}},
		{"a provider reaches as far as we retry", capacity.Store{Retain: day},
			[]capacity.Source{{Name: "p", Kind: capacity.Provider, Keeps: day, RetriedFor: 3 * day}},
			capacity.Window{Required: 3 * day, Longest: "p", Gap: 2 * day}},
		{"unlimited wins over any finite", capacity.Store{Retain: 100 * day},
			[]capacity.Source{src("a", day), {Name: "u", Unlimited: true}, src("z", 200*day)},
			capacity.Window{Longest: "u", Unlimited: true}},
		{"kept for ever covers unlimited", capacity.Store{Forever: true}, []capacity.Source{{Name: "u", Unlimited: true}},
			capacity.Window{Longest: "u", Unlimited: true, Covered: true}},
		{"no source needs nothing", capacity.Store{Retain: 0}, nil, capacity.Window{Covered: true}},
	} {
		got, err := capacity.CheckWindow(c.store, c.sources)
		if err != nil {
			t.Errorf("%s: %v", c.reason, err)
			continue
		}
		if got.Required != c.want.Required || got.Longest != c.want.Longest || got.Covered != c.want.Covered ||
			got.Gap != c.want.Gap || got.Unlimited != c.want.Unlimited || got.Formula == "" {
			t.Errorf("%s: got %+v, want %+v", c.reason, got, c.want)
		}
	}
	_, err := capacity.CheckWindow(capacity.Store{Slack: capacity.Slack{Skew: math.MaxInt64}}, []capacity.Source{src("b", 1)})
	if !errors.Is(err, capacity.ErrTooLong) {
		t.Errorf("overflow: %v", err)
	}
}

// The required window never falls when a source is added, and extending the
// retention to it always covers.
func TestWindowProperty(t *testing.T) {
	dur := rapid.Int64Range(0, int64(1000*day))
	rapid.Check(t, func(t *rapid.T) {
		var ss []capacity.Source
		for _, k := range rapid.SliceOfN(dur, 0, 6).Draw(t, "keeps") {
			ss = append(ss, capacity.Source{Name: "s", Keeps: time.Duration(k)})
		}
		st := capacity.Store{Retain: time.Duration(dur.Draw(t, "retain")), Slack: capacity.Slack{Skew: time.Duration(dur.Draw(t, "skew"))}}
		w, err := capacity.CheckWindow(st, ss)
		if err != nil {
			t.Fatal(err)
		}
		if w.Covered != (st.Retain >= w.Required) || (!w.Covered && w.Gap != w.Required-w.Retain) {
			t.Fatalf("inconsistent: %+v", w)
		}
		more, _ := capacity.CheckWindow(st, append(ss, capacity.Source{Name: "x", Keeps: time.Duration(dur.Draw(t, "x"))}))
		if more.Required < w.Required {
			t.Fatalf("a source made the window shorter: %v < %v", more.Required, w.Required)
		}
		st.Retain = w.Required
		if full, _ := capacity.CheckWindow(st, ss); !full.Covered {
			t.Fatalf("the required window does not cover: %+v", full)
		}
	})
}

func TestPoissonQuantile(t *testing.T) {
	// second implementation: sum of the mass function in logarithms
	dumb := func(mean, level float64) float64 {
		cum := 0.0
		for k := 0.0; ; k++ {
			lg, _ := math.Lgamma(k + 1)
			cum += math.Exp(k*math.Log(mean) - mean - lg)
			if cum >= level {
				return k
			}
		}
	}
	for _, m := range []float64{0.001, 0.5, 1, 3.7, 36, 400, 5000} {
		for _, l := range []float64{0.05, 0.5, 0.9, 0.99, 0.9999} {
			if got, want := capacity.PoissonQuantile(m, l), dumb(m, l); got != want {
				t.Errorf("PoissonQuantile(%v, %v) = %v, want %v", m, l, got, want)
			}
		}
	}
	if got := capacity.PoissonQuantile(0, 0.99); got != 0 {
		t.Errorf("mean 0: %v", got)
	}
}

func TestUnknown(t *testing.T) {
	u := capacity.Unknown{Name: "p", Rate: capacity.PerUnit(100_000, time.Second), Probability: 0.0001, Reconcile: time.Hour, AmountMean: 40, AmountSD: 60}
	e, err := capacity.EstimateUnknown(u)
	if err != nil || e.CountMean != 36000 || e.CountHigh < 36400 || e.CountHigh > 36500 {
		t.Errorf("count: %+v, %v", e, err)
	}
	// compound Poisson: sd = sqrt(36000*(40^2+60^2)) = 13682; z99 = 2.326
	if want := 36000*40 + 2.326*13682.0; math.Abs(e.AmountHigh-want) > 500 {
		t.Errorf("amount high %v, want about %v", e.AmountHigh, want)
	}
	d, err := capacity.LongestReconcile(u, 1000)
	if err != nil || d < 90*time.Second || d > 100*time.Second {
		t.Errorf("LongestReconcile = %v, %v", d, err)
	}
	u.Reconcile = d
	if e, _ := capacity.EstimateUnknown(u); e.CountHigh > 1000 {
		t.Errorf("p99 %v at the longest period is over the limit", e.CountHigh)
	}
	th, err := capacity.HumanThreshold(capacity.Unknown{Name: "p", Rate: capacity.PerUnit(1, time.Second), Probability: 0.01, Reconcile: time.Hour}, 1)
	if err != nil || th < 55 || th > 65 { // Poisson(36), 1 in 8760
		t.Errorf("threshold %v, %v", th, err)
	}
	for _, bad := range []float64{-0.1, 1.1, math.NaN()} {
		if _, err := capacity.EstimateUnknown(capacity.Unknown{Probability: bad}); err == nil {
			t.Errorf("probability %v accepted", bad)
		}
	}
}

func TestGrowth(t *testing.T) {
	g := capacity.Growth{Rate: capacity.PerUnit(1000, time.Second), PerYear: 0.2, Retain: 30 * day, BytesPerRecord: 200}
	// second implementation: sum day by day
	sum := func(to time.Duration) float64 {
		n, step := 0.0, time.Hour
		for t := max(0, to-g.Retain); t < to; t += step {
			n += 1000 * step.Seconds() * math.Pow(1.2, (t+step/2).Seconds()/capacity.Year.Seconds())
		}
		return n
	}
	for _, at := range []time.Duration{0, day, 30 * day, 400 * day} {
		got, _ := g.At(at)
		if want := sum(at); math.Abs(got-want) > 1e-6*want {
			t.Errorf("At(%v) = %v, want %v", at, got, want)
		}
	}
	_, full := g.At(30 * day)
	if f, err := g.FullAt(full*4, 0.5); err != nil || f.Never || math.Abs(f.At.Hours()/8760-math.Log(2)/math.Log(1.2)) > 0.2 {
		t.Errorf("doubling at 20 %% a year takes 3.8 years: %+v, %v", f, err)
	}
	g.PerYear = 0
	if f, _ := g.FullAt(full*4, 0.5); !f.Never {
		t.Errorf("a plateau below the limit is never full: %+v", f)
	}
	pts, err := g.Curve(90*day, 3)
	if err != nil || len(pts) != 4 || pts[1].T != 30*day || pts[3].Bytes != pts[1].Bytes {
		t.Errorf("curve %+v, %v", pts, err)
	}
}
