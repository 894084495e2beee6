package fold

import (
	"math"
	"testing"

	"github.com/relplan/relplan/retrytree/storm/budget"
)

func chain(t testing.TB, links ...Link) *Chain {
	t.Helper()
	c, err := NewChain(links...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A chain of one link has the folds of its curve.
func TestChainOfOne(t *testing.T) {
	for _, n := range []int{2, 3, 5} {
		curve := solve(t, mm1(100, 1), Layer{Attempts: n})
		stable, fold := chain(t, Link{Station: mm1(100, 1), Layer: Layer{Attempts: n}}).Folds()
		near(t, "stable", stable, curve.Stable, 1e-3)
		near(t, "fold", fold, curve.Fold, 1e-3)
	}
}

// Three layers of three attempts above one slow leaf: worst case 27.
func TestChainCollapsesByTheProduct(t *testing.T) {
	fast := Station{Servers: 1, Rate: 1e6, Timeout: 100}
	links := []Link{{Station: fast, Layer: Layer{Attempts: 3}}, {Station: fast, Layer: Layer{Attempts: 3}},
		{Station: mm1(300, 1), Layer: Layer{Attempts: 3}}}
	c := chain(t, links...)
	st, good := c.Solve(200, true)
	if good > 1 || math.Abs(st[2].Attempts-200*27) > 1 {
		t.Errorf("collapsed: goodput %g, leaf attempts %g, want %g", good, st[2].Attempts, 200*27.)
	}
	stable, fold := c.Folds()
	near(t, "stable", stable, 300.0/27, 1e-3)
	if fold < 250 {
		t.Errorf("fold %g", fold)
	}
	for i := range links {
		links[i].Layer.Budget = budget.Policy{Kind: budget.FirstTry, Ratio: .1}
	}
	stable, _ = chain(t, links...).Folds()
	near(t, "budgets", stable, 300/1.331, 3e-3) // half of the calls still succeed just below
	if st, good = c.Solve(200, false); good < 199 || st[2].Utilization > .7 {
		t.Errorf("healthy: goodput %g, %+v", good, st[2])
	}
}

func long100() []Link {
	links := make([]Link, 100)
	for i := range links {
		links[i] = Link{Station: Station{Servers: 1, Rate: 300, Timeout: 5 - float64(i)*.04}, Layer: Layer{Attempts: 2, Budget: budget.Policy{Kind: budget.FirstTry, Ratio: .2}}}
	}
	return links
}

func BenchmarkChain100x20(b *testing.B) {
	c := chain(b, long100()...)
	for b.Loop() {
		for k := range 20 {
			c.Solve(15*float64(k+1)-1, k%2 == 1)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/1e3/float64(b.N), "ms/100x20")
}
