package uncertain_test

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/relplan/relplan/capacity/uncertain"
)

func ExampleRun() {
	rate, _ := uncertain.Quantiles(map[float64]float64{0.5: 40_000, 0.95: 100_000})
	row, _ := uncertain.Range(190, 220)
	r, _ := uncertain.Run([]uncertain.Input{
		{Name: "rate", Dist: rate}, {Name: "bytes per row", Dist: row}, {Name: "days", Dist: uncertain.Point(7)},
	}, func(x []float64) float64 { return x[0] * x[1] * x[2] * 86400 }, uncertain.Options{})
	fmt.Printf("%.1f TB, 90%% within %.1f..%.1f TB\n", r.P50/1e12, r.P5/1e12, r.P95/1e12)
	fmt.Printf("driven by %s: %.0f%%\n", r.Drivers[0].Input, 100*r.Drivers[0].Share)
	// Output:
	// 4.9 TB, 90% within 2.0..12.3 TB
	// driven by rate: 100%
}

// The product of two lognormals is a lognormal with known quantiles.
func TestAgainstClosedForm(t *testing.T) {
	a, _ := uncertain.Range(10, 40)
	b, _ := uncertain.Range(3, 5)
	r, err := uncertain.Run([]uncertain.Input{{Name: "a", Dist: a}, {Name: "b", Dist: b}},
		func(x []float64) float64 { return x[0] * x[1] }, uncertain.Options{N: 400_000, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	z := 1.6448536269514722
	sa, sb := math.Log(4)/(2*z), math.Log(5.0/3)/(2*z)
	mu, s := math.Log(20)+math.Log(math.Sqrt(15)), math.Hypot(sa, sb)
	for _, c := range []struct{ got, want float64 }{
		{r.P5, math.Exp(mu - z*s)}, {r.P50, math.Exp(mu)}, {r.P95, math.Exp(mu + z*s)}, {r.Mean, math.Exp(mu + s*s/2)},
	} {
		if math.Abs(c.got/c.want-1) > 0.005 { // 400,000 samples: standard error below 0.2 %
			t.Errorf("got %v, want %v", c.got, c.want)
		}
	}
	if r.Drivers[0].Input != "a" || math.Abs(r.Drivers[0].Share+r.Drivers[1].Share-1) > 1e-12 {
		t.Errorf("drivers %+v", r.Drivers)
	}
}

func TestPointsAreExact(t *testing.T) {
	calls := 0
	r, err := uncertain.Run([]uncertain.Input{{Name: "n", Dist: uncertain.Point(777_600_000_000)}},
		func(x []float64) float64 { calls++; return x[0] * 100 }, uncertain.Options{})
	if err != nil || r.P5 != 77_760_000_000_000 || r.P95 != r.P5 || !r.Deterministic || calls != 1 {
		t.Errorf("%+v, %v, %d calls", r, err, calls)
	}
}

func TestSeedDecides(t *testing.T) {
	d, _ := uncertain.Range(1, 2)
	run := func(seed uint64) uncertain.Result {
		r, _ := uncertain.Run([]uncertain.Input{{Name: "d", Dist: d}}, func(x []float64) float64 { return x[0] }, uncertain.Options{N: 1000, Seed: seed})
		return r
	}
	if run(1).Mean != run(1).Mean || run(1).Mean == run(2).Mean {
		t.Error("the seed does not decide the samples")
	}
}

func TestRefusals(t *testing.T) {
	if _, err := uncertain.Range(3, 2); err == nil {
		t.Error("a falling range")
	}
	if _, err := uncertain.Quantiles(map[float64]float64{0.5: 1}); err == nil {
		t.Error("one quantile")
	}
	if _, err := uncertain.Quantiles(map[float64]float64{0.5: 1, 1.5: 2}); err == nil {
		t.Error("a share above 1")
	}
	if _, err := uncertain.Samples(nil); err == nil {
		t.Error("no samples")
	}
	if _, err := uncertain.Samples([]float64{1, math.NaN()}); err == nil {
		t.Error("NaN")
	}
	if _, err := uncertain.Run([]uncertain.Input{{Name: "x"}}, nil, uncertain.Options{}); err == nil {
		t.Error("no distribution")
	}
}

// However uneven, every quantile that is given is one of the distribution.
func TestAllQuantilesAreKept(t *testing.T) {
	for _, q := range []map[float64]float64{
		{0.05: 1, 0.5: 100e3, 0.95: 1e6, 0.999: 2e6},
		{0.1: -5, 0.5: 0, 0.9: 100},
	} {
		d, err := uncertain.Quantiles(q)
		if err != nil {
			t.Fatal(err)
		}
		for p, want := range q {
			if got := d.Quantile(p); math.Abs(got-want) > 1e-9*math.Max(1, math.Abs(want)) {
				t.Errorf("quantile %v is %v, want %v", p, got, want)
			}
		}
	}
}

// A range keeps its quantiles, whatever the sign.
func TestRangeProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.Float64Range(-1e6, 1e6).Draw(t, "lo")
		hi := lo + rapid.Float64Range(1e-3, 1e6).Draw(t, "width")
		d, err := uncertain.Range(lo, hi)
		if err != nil {
			t.Fatal(err)
		}
		tol := 1e-6 * (math.Abs(lo) + math.Abs(hi))
		if math.Abs(d.Quantile(0.05)-lo) > tol || math.Abs(d.Quantile(0.95)-hi) > tol {
			t.Fatalf("%v..%v became %v..%v", lo, hi, d.Quantile(0.05), d.Quantile(0.95))
		}
	})
}

func TestInterpolate(t *testing.T) {
	f := uncertain.Interpolate([]float64{1, 2, 4}, []float64{10, 20, 0})
	for x, want := range map[float64]float64{0: 0, 1: 10, 1.5: 15, 2: 20, 3: 10, 5: -10} {
		if got := f(x); got != want {
			t.Errorf("f(%v) = %v, want %v", x, got, want)
		}
	}
}

func BenchmarkRun(b *testing.B) {
	rate, _ := uncertain.Range(40_000, 100_000)
	row, _ := uncertain.Range(190, 220)
	days, _ := uncertain.Range(6, 8)
	for range b.N {
		_, _ = uncertain.Run([]uncertain.Input{{Name: "rate", Dist: rate}, {Name: "row", Dist: row}, {Name: "days", Dist: days}},
			func(x []float64) float64 { return x[0] * x[1] * x[2] * 86400 }, uncertain.Options{N: 1_000_000})
	}
	b.ReportMetric(float64(b.N)*1e6/b.Elapsed().Seconds(), "samples/s")
}
