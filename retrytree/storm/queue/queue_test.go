package queue

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func near(t *testing.T, id string, got, want, rel float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > rel*math.Max(math.Abs(want), 1e-300) {
		t.Errorf("%s: got %.12g, want %.12g (relative %g)", id, got, want, rel)
	}
}

func mmc(t *testing.T, lam, mu float64, c int) Result {
	t.Helper()
	r, err := MMc(lam, mu, c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Rows of the table of published numbers, section D. A value printed with k
// digits is compared to half a unit of its last digit where that is coarser
// than 1e-9 relative.
func TestClosedForms(t *testing.T) {
	r := mmc(t, 8, 10, 1)
	near(t, "D1 U", r.Utilization, 0.8, 1e-9)
	near(t, "D1 R", r.Response, 0.5, 1e-9)
	near(t, "D1 N", r.InSystem, 4, 1e-9)
	near(t, "D1 half", mmc(t, 0.5, 1, 1).InSystem, 1, 1e-9)
	near(t, "D1 .99", mmc(t, 0.99, 1, 1).InSystem, 99, 1e-9)

	near(t, "D2 C", ErlangC(8, 10), 0.4091801508, 1.5e-10)
	near(t, "D2 R", mmc(t, 8, 1, 10).Response, 1.20459008, 5e-9)
	near(t, "D2 N", mmc(t, 8, 1, 10).InSystem, 9.63672060, 1e-9)
	near(t, "D3 5", ErlangC(2.5, 5), 0.1303713, 4e-7)
	near(t, "D3 10", ErlangC(5, 10), 0.0361054, 1.4e-6)
	for _, row := range []struct {
		c    int
		want float64
	}{{1, 5}, {2, 2.777778}, {5, 1.554113}, {10, 1.204590}, {20, 1.064019}, {50, 1.008695}} {
		near(t, "D4", mmc(t, 0.8*float64(row.c), 1, row.c).Response, row.want, 5e-7)
	}
	k, err := MMcK(0.9, 1, 1, 10)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "D5 pK", k.Blocked, 0.05081373, 1e-7)
	near(t, "D5 X", k.Throughput, 0.85426764, 1e-8)
	near(t, "D5 N", k.InSystem, 3.96944060, 2e-9)
	near(t, "D5 R", k.Response, 4.64660067, 2e-9)
	if k, err = MMcK(2, 1, 1, 5); err != nil {
		t.Fatal(err)
	}
	near(t, "D6 pK", k.Blocked, 32.0/63, 1e-9)
	near(t, "D6 pK printed", k.Blocked, 0.50793651, 1e-8)
	near(t, "D6 X", k.Throughput, 0.98412698, 5e-9)
	near(t, "D6 N", k.InSystem, 4.09523810, 2e-9)
	near(t, "D8 a", ErlangB(10, 15), 0.0364969455, 2e-9)
	near(t, "D8 b", ErlangB(2, 3), 4.0/19, 1e-9)
	near(t, "D8 c", ErlangB(100, 110), 0.0274634484, 2e-9)
	near(t, "D9 a", ErlangC(10, 15), 0.1020423670, 1e-9)
	near(t, "D9 b", ErlangC(2, 3), 4.0/9, 1e-9)
	d, err := MD1(0.8, 1)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "D10 R", d.Response, 3, 1e-9)
	near(t, "D10 N", d.InSystem, 2.4, 1e-9)
	near(t, "D11 a", DropLate(0.9, 1, 10), 0.047163, 1.1e-5)
	near(t, "D11 b", DropLate(2, 1, 5), 0.500844, 1e-6)
	near(t, "D11 b goodput", 2*(1-DropLate(2, 1, 5)), 0.99831, 5e-6)
	near(t, "D11 c", DropLate(1.2, 1, 10), 0.183955, 3e-6)
	for _, row := range []struct{ lam, mu, theta, want float64 }{{.5, 1, 1, 1}, {.8, 1, 2, 4.8}} {
		v, err := Orbit(row.lam, row.mu, row.theta)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "D12", v, row.want, 1e-9)
	}
	inf, err := Orbit(0.8, 1, math.Inf(1))
	if err != nil {
		t.Fatal(err)
	}
	m := mmc(t, 0.8, 1, 1)
	near(t, "D12 theta->inf is Lq", inf, m.InSystem-m.Utilization, 1e-9)
	ab, n, err := ErlangA(1, 1, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "D14 abandon", ab, math.Exp(-1), 1e-9)
	near(t, "D14 N", n, 1, 1e-9)
	near(t, "D16 before", mmc(t, 0.8, 1, 1).Response, 5, 1e-9)
	near(t, "D16 after", mmc(t, 0.84, 1, 1).Response, 6.25, 1e-9)
	near(t, "D17 plain", AnySlow(0.01, 100), 0.633968, 1e-6)
	near(t, "D17 hedged", AnySlowHedged(0.01, 100), 0.00995, 5e-4)
	near(t, "D17 hedged exact", AnySlowHedged(0.01, 100), 1-math.Pow(1-1e-4, 100), 1e-9)
	near(t, "A10", AnySlow(1e-4, 2000), 0.181277, 3e-6)
}

func TestErrors(t *testing.T) {
	if _, err := MMc(10, 10, 1); !errors.Is(err, ErrUnstable) {
		t.Errorf("saturated queue: got %v", err)
	}
	if _, err := MG1(2, 1, 1); !errors.Is(err, ErrUnstable) {
		t.Errorf("saturated M/G/1: got %v", err)
	}
	if _, err := Orbit(1, 1, 1); !errors.Is(err, ErrUnstable) {
		t.Errorf("saturated orbit: got %v", err)
	}
	for _, bad := range [][2]float64{{0, 1}, {-1, 1}, {math.NaN(), 1}, {1, 0}, {1, math.Inf(1)}} {
		if _, err := MMc(bad[0], bad[1], 1); err == nil {
			t.Errorf("rates %v accepted", bad)
		}
	}
	if _, err := MMc(1, 2, 0); err == nil {
		t.Error("no servers accepted")
	}
	if _, err := MMcK(1, 1, 3, 2); err == nil {
		t.Error("less room than servers accepted")
	}
	if _, _, err := ErlangA(1, 1, 0, 1); err == nil {
		t.Error("no impatience accepted")
	}
}

// The tail of the response time is checked against numerical convolution
// and against simulation of the arrival's path, state by state.
func TestResponseTailAgainstConvolution(t *testing.T) {
	for _, row := range []struct {
		lam, mu, t float64
		c          int
	}{{8, 10, .3, 1}, {3, 1, 2, 4}, {9, 1, 1.5, 10}, {4, 1, 3, 5}, {3.999999, 1, 2, 5}} {
		w := ErlangC(row.lam/row.mu, row.c)
		eta := float64(row.c)*row.mu - row.lam
		// P(W+S>t) = P(S>t)(1-w) + w [e^-eta t + int_0^t eta e^-eta u e^-mu(t-u) du]
		const n = 200000
		sum := 0.0
		h := row.t / n
		for i := 0; i < n; i++ {
			u := (float64(i) + .5) * h
			sum += eta * math.Exp(-eta*u-row.mu*(row.t-u)) * h
		}
		want := (1-w)*math.Exp(-row.mu*row.t) + w*(math.Exp(-eta*row.t)+sum)
		near(t, "tail", ResponseTail(row.lam, row.mu, row.c, row.t), want, 1e-8)
	}
}

// Long timeouts of many servers: neither overflow nor NaN, and between the
// wait alone and the wait plus one service.
func TestResponseTailExtremes(t *testing.T) {
	for _, c := range []int{1, 2, 33, 1000} {
		for _, spare := range []float64{1e-6, 1e-3, .1, .9} {
			mu := 16500 / float64(c)
			lam := 16500 * (1 - spare)
			got := ResponseTail(lam, mu, c, 3)
			if math.IsNaN(got) || got < WaitTail(lam, mu, c, 3)*(1-1e-12) || got > WaitTail(lam, mu, c, 3-40/mu)+math.Exp(-40) && 3 > 40/mu {
				t.Errorf("c %d spare %g: tail %g, wait %g", c, spare, got, WaitTail(lam, mu, c, 3))
			}
		}
	}
}

func TestSojournTailsAgainstSampling(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []int{1, 2, 3, 8} {
		const mu, tau, k = 1.0, 2.0, 30
		tails := SojournTails(mu, c, k, tau)
		for _, q := range []int{0, c - 1, c, c + 3, k - 1} {
			const n = 40000
			late := 0
			for i := 0; i < n; i++ {
				x := 0.0
				for j := 0; j < q-c+1; j++ {
					x += rng.ExpFloat64() / (float64(c) * mu)
				}
				x += rng.ExpFloat64() / mu
				if x > tau {
					late++
				}
			}
			p := float64(late) / n
			if math.Abs(p-tails[q]) > 4*math.Sqrt(.25/n) {
				t.Errorf("c=%d q=%d: tail %.5f, sampled %.5f", c, q, tails[q], p)
			}
		}
	}
}

// Summing the state tails with the stationary weights is the closed form.
func TestTailsSumToClosedForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.IntRange(1, 12).Draw(t, "c")
		mu := rapid.Float64Range(.2, 5).Draw(t, "mu")
		rho := rapid.Float64Range(.05, .85).Draw(t, "rho")
		tau := rapid.Float64Range(.1, 10).Draw(t, "tau") / mu
		lam := rho * float64(c) * mu
		const k = 600
		pi := BirthDeath(lam, mu, c, k)
		tails := SojournTails(mu, c, k, tau)
		got := 0.0
		for q, w := range tails {
			got += pi[q] * w
		}
		want := ResponseTail(lam, mu, c, tau)
		if math.Abs(got-want) > 1e-9+1e-7*want {
			t.Fatalf("sum over states %.12g, closed form %.12g", got, want)
		}
	})
}

func TestFirstPassageTwoWays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mu := rapid.Float64Range(.5, 100).Draw(t, "mu")
		lam := mu * rapid.Float64Range(.3, 1.2).Draw(t, "rho")
		k := rapid.IntRange(1, 60).Draw(t, "k")
		got := math.Exp(LogFirstPassage(lam, mu, 1, k))
		want := FirstPassage(lam, mu, float64(k))
		if math.Abs(got-want) > 1e-6*want && math.Abs(mu/lam-1) > 1e-4 {
			t.Fatalf("recursion %.12g, closed form %.12g", got, want)
		}
	})
	if v := LogFirstPassage(1, 2, 1, 300); math.Abs(v-math.Log(4)-300*math.Log(2)+0) > 1 || math.IsInf(v, 0) {
		t.Errorf("log first passage to 300 at rho 1/2: %g", v)
	}
}

func TestBirthDeathExtremes(t *testing.T) {
	for _, lam := range []float64{1e-9, 1, 1e9} {
		pi := BirthDeath(lam, 1, 3, 400)
		sum := 0.0
		for _, p := range pi {
			if math.IsNaN(p) || p < 0 {
				t.Fatalf("lam %g: weight %g", lam, p)
			}
			sum += p
		}
		near(t, "sum", sum, 1, 1e-12)
	}
}
