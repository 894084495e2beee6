package fluid

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func near(t *testing.T, id string, got, want, tol float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > tol {
		t.Errorf("%s: got %.6g, want %.6g +- %g", id, got, want, tol)
	}
}

func TestT4Outage(t *testing.T) {
	for _, row := range []struct{ rho, want, bound float64 }{{280. / 300, 1.005, 1.0048}, {2. / 3, 1.222, 1.1667}, {160. / 300, 1.459, 1.4083}} {
		m := Model{Load: row.rho * 300, Capacity: 300, Timeout: 1, Attempts: 2, Ratio: -1, Step: 2e-4}
		th, err := m.MinDuration(Outage, 0, 4)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "T4", th.At, row.want, .002)
		near(t, "T4 bound", OutageBound(row.rho, 1), row.bound, 1e-4)
		if !th.Monotone || th.Undecided > 0 {
			t.Errorf("T4 rho %g: %+v", row.rho, th)
		}
	}
}

// OSDI'22 figure 5: 6200 requests/s, timeout 3 s, 5 attempts, CPU cut.
func TestT12MongoDB(t *testing.T) {
	for c := 16000.0; c <= 17000; c += 250 {
		for _, row := range []struct {
			name      string
			load, cut float64
			d         float64
			want      bool
		}{{"a", 6200, .78, 10, false}, {"b", 6200, .80, 10, true}, {"c", 6200, .80, 9, false}, {"d", 4200, .80, 10, false}} {
			m := Model{Load: row.load, Capacity: c, Timeout: 3, Attempts: 5, Ratio: -1}
			o, err := m.Run(Trigger{Capacity, row.cut, row.d})
			if err != nil {
				t.Fatal(err)
			}
			if o.Tipped != row.want || !o.Decided {
				t.Errorf("T12 %s at capacity %g: tipped %v (decided %v), want %v", row.name, c, o.Tipped, o.Decided, row.want)
			}
		}
	}
}

func TestT3Recovery(t *testing.T) {
	for _, row := range []struct{ lam, r, form float64 }{{1000, -1, 16}, {1200, -1, 33}, {1400, -1, 118}, {2800, 0, 125}, {2800, .02, 177}, {2800, .05, 438}} {
		near(t, "T3 closed form", RecoveryTime(row.lam, 3000, 1, 10, 2, row.r), row.form, .5)
		m := Model{Load: row.lam, Capacity: 3000, Timeout: 1, Attempts: 2, Ratio: row.r, Step: 2e-3, Horizon: 2000}
		o, err := m.Run(Trigger{Kind: Outage, Duration: 10})
		if err != nil || o.Tipped {
			t.Fatalf("T3 %+v: %+v %v", row, o, err)
		}
		// The closed form lets the second attempt be sent during the whole
		// outage; the path itself is within a few per cent of it.
		near(t, "T3 fluid", o.Recovery, row.form, .06*row.form+2)
	}
}

func TestT1T2(t *testing.T) {
	for _, row := range []struct {
		load, ratio float64
		want        bool
	}{{148, -1, false}, {152, -1, true}, {280, -1, true}, {280, .07, false}, {280, .08, true}, {280, .1, true}, {280, .2, true}} {
		m := Model{Load: row.load, Capacity: 300, Timeout: 1, Attempts: 2, Ratio: row.ratio, Step: 2e-3, Horizon: 30000}
		o, err := m.Run(Trigger{Kind: Outage, Duration: 10})
		if err != nil {
			t.Fatal(err)
		}
		if o.Tipped != row.want || !o.Decided {
			t.Errorf("%+v: %+v", row, o)
		}
	}
}

// Bounded room below one timeout of work never tips.
func TestBoundedNeverTips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := Model{Capacity: 300, Timeout: 1, Ratio: -1, Step: 5e-3,
			Load: 300 * rapid.Float64Range(.2, .95).Draw(t, "rho"), Attempts: rapid.IntRange(1, 5).Draw(t, "n"),
			Room: rapid.Float64Range(10, 280).Draw(t, "room"), Backoff: []float64{.05}}
		o, err := m.Run(Trigger{Kind: Outage, Duration: rapid.Float64Range(0, 10).Draw(t, "d")})
		if err != nil {
			t.Fatal(err)
		}
		if o.Tipped {
			t.Fatalf("%+v tipped: %+v", m, o)
		}
	})
}

// More load, longer outages and more attempts never make it better; a run is
// the same at half the step.
func TestMonotoneAndConverged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := Model{Capacity: 100, Timeout: 1, Ratio: -1, Step: 2e-3,
			Load: 100 * rapid.Float64Range(.35, .95).Draw(t, "rho"), Attempts: rapid.IntRange(2, 4).Draw(t, "n")}
		a, err := m.MinDuration(Outage, 0, 4)
		if err != nil {
			t.Fatal(err)
		}
		fine := m
		fine.Step = 1e-3
		b, err := fine.MinDuration(Outage, 0, 4)
		if err != nil {
			t.Fatal(err)
		}
		if !math.IsInf(a.At, 1) && math.Abs(a.At-b.At) > .01 {
			t.Fatalf("%+v: threshold %g at one step, %g at half of it", m, a.At, b.At)
		}
		more := m
		more.Load = math.Min(99, m.Load*1.05)
		c, err := more.MinDuration(Outage, 0, 4)
		if err != nil {
			t.Fatal(err)
		}
		if c.At > a.At+.005 {
			t.Fatalf("%+v tips at %g, with more load only at %g", m, a.At, c.At)
		}
	})
}

func TestErrors(t *testing.T) {
	for _, m := range []Model{{}, {Load: 1, Capacity: 1, Attempts: 1}, {Load: 1, Capacity: 1, Timeout: 1}, {Load: 1, Capacity: 1, Timeout: 1, Attempts: 1, Backoff: []float64{-1}}} {
		if _, err := m.Run(Trigger{}); err == nil {
			t.Errorf("%+v accepted", m)
		}
	}
	m := Model{Load: 1, Capacity: 2, Timeout: 1, Attempts: 2, Ratio: -1}
	if _, err := m.Run(Trigger{Kind: Capacity, Size: 2}); err == nil {
		t.Error("cut of 200 % accepted")
	}
	if _, err := m.MinSize(Outage, 1, 1); err == nil {
		t.Error("size of an outage accepted")
	}
}

func BenchmarkThreshold(b *testing.B) {
	m := Model{Load: 280, Capacity: 300, Timeout: 1, Attempts: 2, Ratio: -1, Step: 1e-3}
	for b.Loop() {
		if _, err := m.MinDuration(Outage, 0, 4); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/threshold")
}
