package fold

import (
	"math"
	"testing"

	"github.com/relplan/relplan/retrytree/storm/budget"
	"github.com/relplan/relplan/retrytree/storm/queue"
	"pgregory.net/rapid"
)

func near(t *testing.T, id string, got, want, rel float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > rel*math.Abs(want) {
		t.Errorf("%s: got %.10g, want %.10g (relative %g)", id, got, want, rel)
	}
}

func solve(t *testing.T, s Station, l ...Layer) *Curve {
	t.Helper()
	c, err := Solve(s, l...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func mm1(mu, tau float64) Station { return Station{Servers: 1, Rate: mu, Timeout: tau} }

func TestT8Folds(t *testing.T) {
	for _, row := range []struct {
		mu, tau float64
		n       int
		want    float64
	}{{300, 1, 2, 293.3187}, {100, 1, 3, 94.4416}, {100, .1, 3, 69.4658}, {10, 3, 5, 8.57182}, {10, 4, 4, 8.85142}} {
		c := solve(t, mm1(row.mu, row.tau), Layer{Attempts: row.n})
		near(t, "T8 fold", c.Fold, row.want, 1e-6)
		near(t, "T7 stable", c.Stable, row.mu/float64(row.n), 1e-9)
	}
	c := solve(t, mm1(100, .5), Layer{Attempts: 3})
	ps := c.At(90)
	if len(ps) < 2 {
		t.Fatalf("T8: %d steady states at 90", len(ps))
	}
	near(t, "T8 lower", ps[0].Attempts, 91.0225, 1e-6)
	near(t, "T8 upper", ps[1].Attempts, 93.3446, 1e-6)
	if !ps[0].Stable || ps[1].Stable {
		t.Errorf("T8: stability %v %v", ps[0].Stable, ps[1].Stable)
	}
	if up := c.At(c.Fold + 1); len(up) != 1 || up[0].Attempts < 100 {
		t.Errorf("T8: above the fold only the collapsed state is left: %+v", up)
	}
	near(t, "T7 fold", solve(t, mm1(100, 1), Layer{Attempts: 3}).Fold/100, .9444, 1e-4)
}

// Many servers of the same capacity have nearly the fold of one.
func TestFoldOfManyServers(t *testing.T) {
	for _, c := range []int{1, 2, 8, 33, 200} {
		v := solve(t, Station{Servers: c, Rate: 16500 / float64(c), Timeout: 3}, Layer{Attempts: 5})
		near(t, "fold", v.Fold, 16496.06, 1e-3)
		near(t, "stable", v.Stable, 3300, 1e-9)
	}
}

func TestT1T2StableLoad(t *testing.T) {
	near(t, "T1", solve(t, mm1(300, 1), Layer{Attempts: 2}).Stable, 150, 1e-9)
	for _, r := range []float64{.07, .08, .1, .2} {
		c := solve(t, mm1(300, 1), Layer{Attempts: 2, Budget: budget.Policy{Kind: budget.FirstTry, Ratio: r}})
		near(t, "T2", c.Stable, 300/(1+r), 1e-9)
		if (c.Stable > 280) != (r < 300.0/280-1) {
			t.Errorf("T2: at r %g the stable load is %g", r, c.Stable)
		}
	}
	// 20 attempts a second beyond the first: exactly 280 is stable.
	c := solve(t, mm1(300, 1), Layer{Attempts: 2, Budget: budget.Policy{Kind: budget.Rate, Floor: 20}})
	near(t, "T1 20/s", c.Stable, 280, 1e-6)
	// Two layers: 3 x 2 attempts, or the product of their budgets.
	near(t, "layers", solve(t, mm1(300, 1), Layer{Attempts: 3}, Layer{Attempts: 2}).Stable, 50, 1e-9)
	b := budget.Policy{Kind: budget.FirstTry, Ratio: .1}
	near(t, "layered budgets", solve(t, mm1(300, 1), Layer{Attempts: 3, Budget: b}, Layer{Attempts: 2, Budget: b}).Stable, 300/1.21, 1e-9)
	near(t, "OSDI'22", solve(t, Station{Servers: 1, Rate: 300, Timeout: 1, Degrade: .8}, Layer{Attempts: 2}).Stable, 120, 1e-9)
}

func TestT11NoCollapse(t *testing.T) {
	for _, s := range []Station{
		{Servers: 1, Rate: 300, Timeout: 1, Room: 150},
		{Servers: 1, Rate: 300, Timeout: 1, Sheds: true},
		{Servers: 1, Rate: 300},
	} {
		if c := solve(t, s, Layer{Attempts: 3}); !c.Monostable {
			t.Errorf("%+v: stable %g, fold %g; want one steady state only", s, c.Stable, c.Fold)
		}
	}
	// Room of ten timeouts collapses like an unbounded queue.
	c := solve(t, Station{Servers: 1, Rate: 300, Timeout: 1, Room: 3000}, Layer{Attempts: 2})
	if c.Monostable {
		t.Fatal("room for ten timeouts must collapse")
	}
	near(t, "bounded stable", c.Stable, 150, .02)
	near(t, "bounded fold", c.Fold, 293.3187, 1e-3)
}

func TestT9Escape(t *testing.T) {
	for _, row := range []struct {
		lam, mu, tau float64
		n            int
		want         float64
	}{{85, 100, .5, 3, 1499}, {88, 100, .5, 3, 410}, {8, 10, 3, 5, 2002}, {95, 100, 1, 3, 652}, {50, 100, .1, 3, 41}, {9.3, 10, 4, 4, 294}} {
		got := queue.FirstPassage(row.lam, row.mu, row.mu*row.tau)
		if math.Abs(got-row.want) > .5 {
			t.Errorf("T9 %v: %.2f s, want %g", row, got, row.want)
		}
		c := solve(t, mm1(row.mu, row.tau), Layer{Attempts: row.n})
		if l, ok := c.Escape(row.lam); ok {
			near(t, "T9 escape", math.Exp(l), got, 1e-6)
		} else if row.lam < c.Fold {
			t.Errorf("T9 %v: no escape time below the fold %g", row, c.Fold)
		}
	}
}

func TestT16Cache(t *testing.T) {
	a, h, f := CacheRisk(300, .9)
	near(t, "T16 advertised", a, 3000, 1e-9)
	near(t, "T16 hidden", h, 300, 1e-9)
	near(t, "T16 factor", f, 10, 1e-9)
}

// The concurrency law of Brooker's model: nominally 40/s is far below the
// fold, and above what it comes back from.
func TestBrookerLaw(t *testing.T) {
	c := solve(t, Station{Rate: 1, Slope: .01, Timeout: 3, Network: .1}, Layer{Attempts: 3})
	if c.Monostable || c.Stable > 30 || c.Fold < 45 || c.Fold > 70 {
		t.Errorf("stable %g fold %g", c.Stable, c.Fold)
	}
}

// A second, dumb implementation: iterate L <- lam A(p(L)) from below. It
// converges to the lowest steady state, which At must list first.
func TestAtAgainstIteration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Station{Servers: rapid.IntRange(1, 8).Draw(t, "c"), Rate: rapid.Float64Range(1, 50).Draw(t, "mu"),
			Timeout: rapid.Float64Range(.2, 5).Draw(t, "tau"), Room: rapid.SampledFrom([]int{0, 5, 60, 400}).Draw(t, "room")}
		l := Layer{Attempts: rapid.IntRange(1, 5).Draw(t, "n")}
		if rapid.Bool().Draw(t, "budget") {
			l.Budget = budget.Policy{Kind: budget.FirstTry, Ratio: rapid.Float64Range(.01, 1).Draw(t, "r")}
		}
		c, err := Solve(s, l)
		if err != nil {
			t.Fatal(err)
		}
		load := c.Capacity * rapid.Float64Range(.05, 1.2).Draw(t, "rho")
		if math.Abs(load-c.Fold) < .02*c.Fold {
			return // convergence of the iteration is arbitrarily slow there
		}
		x := load
		for range 20000 {
			a, _ := c.calls(c.law.at(x), load)
			if next := load * a; math.Abs(next-x) < 1e-12*x {
				break
			} else {
				x = next
			}
		}
		ps := c.At(load)
		if len(ps) == 0 {
			t.Fatalf("no steady state at %g: %+v", load, c.Points[len(c.Points)-1])
		}
		if math.Abs(ps[0].Attempts-x) > 1e-4*x {
			t.Fatalf("load %g (fold %g, stable %g): lowest state %g, iteration %g", load, c.Fold, c.Stable, ps[0].Attempts, x)
		}
		for i := 1; i < len(ps); i++ {
			if ps[i].Stable == ps[i-1].Stable {
				t.Fatalf("stability does not alternate: %+v", ps)
			}
		}
	})
}

// Blocking and lateness against sums over the stationary distribution.
func TestBoundedAgainstDistribution(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.IntRange(1, 12).Draw(t, "c")
		room := rapid.IntRange(1, 300).Draw(t, "room")
		mu := rapid.Float64Range(.5, 40).Draw(t, "mu")
		tau := rapid.Float64Range(.05, 4).Draw(t, "tau")
		x := float64(c) * mu * rapid.Float64Range(.01, 5).Draw(t, "rho")
		st := newLaw(Station{Servers: c, Rate: mu, Timeout: tau, Room: room}).at(x)
		k := c + room
		pi := queue.BirthDeath(x, mu, c, k)
		late := 0.0
		for q, tail := range queue.SojournTails(mu, c, k, tau) {
			late += pi[q] * tail
		}
		late /= 1 - pi[k]
		if math.Abs(st.reject-pi[k]) > 1e-9 || math.Abs(st.late-late) > 1e-7 {
			t.Fatalf("reject %g late %g, want %g %g", st.reject, st.late, pi[k], late)
		}
	})
}

func TestErrors(t *testing.T) {
	for _, s := range []Station{{}, {Servers: 1, Rate: math.NaN()}, {Rate: 1}, {Servers: -1, Rate: 1}, {Servers: 1, Rate: 1, Timeout: -1}, {Servers: 1, Rate: 1, Degrade: 2}} {
		if _, err := Solve(s); err == nil {
			t.Errorf("%+v accepted", s)
		}
	}
	if _, err := Solve(mm1(1, 1), Layer{}); err == nil {
		t.Error("no attempts accepted")
	}
}

func BenchmarkSolveUnbounded(b *testing.B) {
	for b.Loop() {
		if _, err := Solve(Station{Servers: 20, Rate: 25, Timeout: .5}, Layer{Attempts: 3}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N), "us/edge")
}

func BenchmarkSolveBounded(b *testing.B) {
	for b.Loop() {
		if _, err := Solve(Station{Servers: 20, Rate: 25, Timeout: .5, Room: 500}, Layer{Attempts: 3}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N), "us/edge")
}
