package modelcheck_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/relplan/relplan/modelcheck"
	"github.com/relplan/relplan/modelcheck/models"
	"pgregory.net/rapid"
)

// TestShrinkingIsExact compares the shortened history of a random walk with the
// shortest of all subsequences of its steps, by brute force.
func TestShrinkingIsExact(t *testing.T) {
	compared := 0
	rapid.Check(t, func(t *rapid.T) {
		m, props := drawTable(t), drawProps(t)
		seed := rapid.Uint64().Draw(t, "seed")
		r, err := modelcheck.Explore(context.Background(), m, props, modelcheck.RandomOptions{Runs: 1, Seed: seed, MaxSteps: 11, Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		w, err := modelcheck.NewWalker(m, props)
		if err != nil {
			t.Fatal(err)
		}
		k := w.Walk(11, rand.New(rand.NewPCG(seed, 0)).IntN)
		o := explore(m, 100)
		traps := o.traps()
		for i, p := range props {
			h := r.Properties[i].History
			if (h != nil) != (k.Decides[i] >= 0) {
				t.Fatalf("history %v, walk decides after %d", h, k.Decides[i])
			}
			if h == nil {
				continue
			}
			if want := o.verdict(p, traps); r.Properties[i].Verdict != want {
				t.Fatalf("kind %d: a random history says %v, the whole graph %v", p.Kind, r.Properties[i].Verdict, want)
			}
			best := shortestCut(m, p, k.Start, k.Steps[:k.Decides[i]])
			if len(h.Steps) != best {
				t.Fatalf("kind %d: shrunk to %d steps, %d are enough", p.Kind, len(h.Steps), best)
			}
			compared++
		}
	})
	if compared < 100 {
		t.Errorf("only %d histories compared", compared)
	}
}

// shortestCut tries all subsequences.
func shortestCut(m *tableModel, p modelcheck.Property, start int, steps []modelcheck.WalkStep) int {
	best := -1
	for bits := range 1 << len(steps) {
		v, n, owed, ok := m.initial[start], 0, false, true
		for i := -1; i < len(steps) && ok; i++ {
			if i >= 0 && bits>>i&1 == 0 {
				continue
			}
			if i >= 0 {
				n++
				ok = false
				nth := 0
				for _, e := range m.edges[v] {
					if e.cut || e.action != steps[i].Action {
						continue
					}
					if nth == steps[i].Nth {
						v, ok = e.to, true
						break
					}
					nth++
				}
			}
			if p.Kind == modelcheck.LeadsTo {
				s := []uint64{v}
				owed = !p.Goal(s) && (owed || p.From(s))
			}
		}
		if ok && (best < 0 || n < best) && decidesAt(m, p, v, owed) {
			best = n
		}
	}
	return best
}

func decidesAt(m *tableModel, p modelcheck.Property, v uint64, owed bool) bool {
	rest := true
	for _, e := range m.edges[v] {
		a := m.actions[e.action]
		rest = rest && !e.cut && a.IsFault()
	}
	goal := p.Goal([]uint64{v})
	switch p.Kind {
	case modelcheck.Invariant:
		return !goal
	case modelcheck.Reach:
		return goal
	case modelcheck.NoDeadlock:
		return len(m.edges[v]) == 0 && !goal
	case modelcheck.LeadsTo:
		return rest && owed
	}
	return rest && !goal
}

// TestExploreIsReproducible: the seed decides everything, workers nothing.
func TestExploreIsReproducible(t *testing.T) {
	m := models.NewSetnx(3, 2, 1, 1)
	props := []modelcheck.Property{m.NoDup(), m.NoLost()}
	var first string
	for w := 1; w <= 3; w++ {
		r, err := modelcheck.Explore(context.Background(), m, props, modelcheck.RandomOptions{Runs: 300, Seed: 7, Workers: w})
		if err != nil {
			t.Fatal(err)
		}
		if r.Properties[0].Verdict != modelcheck.Unknown || r.Properties[1].Verdict != modelcheck.Broken || r.Verdict != modelcheck.Broken {
			t.Fatalf("verdicts %v, %v", r.Properties[0].Verdict, r.Properties[1].Verdict)
		}
		h := r.Properties[1].History
		if !h.Minimal || len(h.Steps) < 6+4*2 {
			t.Errorf("%d steps, minimal %v", len(h.Steps), h.Minimal)
		}
		if s := fmt.Sprint(r.Runs, r.Steps, r.Longest, r.Complete, r.NeverTaken, *h); w == 1 {
			first = s
		} else if s != first {
			t.Errorf("%d workers: %s, want %s", w, s, first)
		}
	}
}
