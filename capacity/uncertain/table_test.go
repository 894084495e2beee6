package uncertain

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestNthIsTheSortedValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOfN(rapid.Float64Range(-5, 5), 1, 200).Draw(t, "xs")
		if rapid.Bool().Draw(t, "ties") {
			for i := range xs {
				xs[i] = math.Round(xs[i])
			}
		}
		k := rapid.IntRange(0, len(xs)-1).Draw(t, "k")
		want := slices.Sorted(slices.Values(xs))[k]
		if got := nth(xs, k); got != want {
			t.Fatalf("nth %d = %v, want %v", k, got, want)
		}
	})
}

func TestTableFollowsTheDistribution(t *testing.T) {
	d, err := Range(10, 1000)
	if err != nil {
		t.Fatal(err)
	}
	tab := newTable(d, 1_000_000)
	for i := 1; i < 200_000; i++ {
		p := float64(i) / 200_000
		if got, want := tab.at(p), d.Quantile(p); math.Abs(got/want-1) > 2e-4 {
			t.Fatalf("at %v: %v, want %v", p, got, want)
		}
	}
}
