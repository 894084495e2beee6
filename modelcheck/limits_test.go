package modelcheck_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/relplan/relplan/modelcheck"
	"github.com/relplan/relplan/modelcheck/models"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestLimitsGiveUnknown: whatever stops the search, nothing is claimed that was
// not seen, the limit is named, and what was found broken stays broken.
func TestLimitsGiveUnknown(t *testing.T) {
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	deadline, stop := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer stop()
	big := models.NewInbox(5, 3, 3, 3)
	cases := []struct {
		reason string
		ctx    context.Context
		opt    modelcheck.Options
		limit  string
	}{
		{"memory", context.Background(), modelcheck.Options{NoReduction: true, MemoryLimit: 4 << 20}, "memory limit"},
		{"time", context.Background(), modelcheck.Options{NoReduction: true, TimeLimit: 30 * time.Millisecond}, "time limit"},
		{"states", context.Background(), modelcheck.Options{NoReduction: true, MaxStates: 20_000}, "limit of 20000 states"},
		{"deadline of the caller", deadline, modelcheck.Options{NoReduction: true}, "time limit"},
		{"Ctrl-C", canceled, modelcheck.Options{NoReduction: true}, "interrupted"},
		{"memory, fingerprints", context.Background(), modelcheck.Options{NoReduction: true, Compact: true, MemoryLimit: 4 << 20}, "memory limit"},
	}
	for _, c := range cases {
		for w := 1; w <= 2; w++ {
			c.opt.Workers = w
			began := time.Now()
			r, err := modelcheck.Check(c.ctx, big, []modelcheck.Property{big.NoDup(), big.Delivered()}, c.opt)
			if err != nil {
				t.Fatal(err)
			}
			if r.Verdict != modelcheck.Unknown || r.Complete || len(r.Limits) == 0 || !strings.HasPrefix(r.Limits[0], c.limit) {
				t.Errorf("%s: verdict %v, complete %v, limits %q", c.reason, r.Verdict, r.Complete, r.Limits)
			}
			for _, p := range r.Properties {
				if p.Verdict != modelcheck.Unknown || p.Reason == "" {
					t.Errorf("%s: %s is %v, %q", c.reason, p.Name, p.Verdict, p.Reason)
				}
			}
			if lim := c.opt.MemoryLimit; lim > 0 && r.Bytes > lim {
				t.Errorf("%s: %d bytes used", c.reason, r.Bytes)
			}
			if d := time.Since(began); d > 20*time.Second {
				t.Errorf("%s: took %v", c.reason, d)
			}
		}
	}
}

func TestBrokenSurvivesALimit(t *testing.T) {
	m := models.NewSetnx(4, 3, 2, 2)
	r := check(t, m, []modelcheck.Property{m.NoLost(), m.NoDup()}, modelcheck.Options{NoReduction: true, MaxStates: 1_500_000})
	if r.Verdict != modelcheck.Broken || r.Properties[0].Verdict != modelcheck.Broken || r.Properties[1].Verdict != modelcheck.Unknown {
		t.Errorf("verdicts %v, %v, %v", r.Verdict, r.Properties[0].Verdict, r.Properties[1].Verdict)
	}
}

// TestSetnxHistory: the shortest history, the default one, and the smallest
// budgets.
func TestSetnxHistory(t *testing.T) {
	for n := 1; n <= 4; n++ {
		m := models.NewSetnx(n, 2, 1, 1)
		props := []modelcheck.Property{m.NoLost(), m.Delivered(), m.RestOnly()}
		for _, opt := range []modelcheck.Options{{}, {Shortest: true}, {NoReduction: true}} {
			opt.LeastFaults = true
			r := check(t, m, props, opt)
			for i := range 2 {
				h := r.Properties[i].History
				if h == nil || len(h.Steps) != 6+4*(n-1) || h.Faults["crash"] != 1 || len(h.Faults) != 1 || !h.Minimal {
					t.Fatalf("n=%d %s: %+v", n, props[i].Name, h)
				}
				if l := r.Properties[i].LeastFaults; len(l) != 1 || len(l[0]) != 1 || l[0]["crash"] != 1 {
					t.Errorf("n=%d: least faults %v", n, l)
				}
				if n == 1 && i == 1 && h.Sealed != 3 {
					t.Errorf("sealed after step %d, want 3: the crash", h.Sealed)
				}
			}
			if h := r.Properties[0].History; !opt.Shortest && h.ActorChanges != 0 {
				t.Errorf("n=%d: %d changes of actor, one worker can do it", n, h.ActorChanges)
			}
			if r.Properties[2].Verdict != modelcheck.Holds {
				t.Errorf("n=%d: %v", n, r.Properties[2].Verdict)
			}
		}
	}
}

// TestLeastFaultsAreLeast compares with trying all budgets on the oracle.
func TestLeastFaultsAreLeast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, props := drawTable(t), drawProps(t)
		o := explore(m, 100)
		traps := o.traps()
		r := check(t, m, props, modelcheck.Options{LeastFaults: true, Workers: 1})
		for i, p := range props {
			if r.Properties[i].History == nil {
				continue
			}
			goals := o.targets(&p, traps)
			var want []map[string]int
			for total := 0; total <= 12; total++ {
				for crash := 0; crash <= total; crash++ {
					lost := total - crash
					if part(want, crash, lost) || !o.reachable(m, &p, goals, crash, lost) {
						continue
					}
					b := map[string]int{}
					if crash > 0 {
						b["crash"] = crash
					}
					if lost > 0 {
						b["lost"] = lost
					}
					want = append(want, b)
				}
			}
			got := r.Properties[i].LeastFaults
			same := len(got) == len(want)
			for _, b := range want {
				found := false
				for _, c := range got {
					found = found || len(b) == len(c) && b["crash"] == c["crash"] && b["lost"] == c["lost"]
				}
				same = same && found
			}
			if !same {
				t.Fatalf("kind %d: least faults %v, want %v", p.Kind, got, want)
			}
		}
	})
}

func part(found []map[string]int, crash, lost int) bool {
	for _, f := range found {
		if f["crash"] <= crash && f["lost"] <= lost {
			return true
		}
	}
	return false
}

// reachable tells whether a target can be reached within a budget.
func (o *oracle) reachable(m modelcheck.Model, p *modelcheck.Property, goals map[node]bool, crash, lost int) bool {
	type place struct {
		node
		crash, lost int
	}
	seen := map[place]bool{}
	found := false
	var visit func(pl place)
	visit = func(pl place) {
		if seen[pl] || found {
			return
		}
		seen[pl] = true
		found = found || goals[pl.node]
		for _, e := range o.edges[pl.v] {
			to := place{crash: pl.crash, lost: pl.lost}
			switch e.action.FaultUnit {
			case "crash":
				to.crash--
			case "lost":
				to.lost--
			}
			if e.to >= 0 && to.crash >= 0 && to.lost >= 0 {
				to.node = node{e.to, o.owed(p, e.to, pl.owed)}
				visit(to)
			}
		}
	}
	m.Initial(func(st []uint64) {
		v := o.number[key(st)]
		visit(place{node{v, o.owed(p, v, false)}, crash, lost})
	})
	return found
}

// TestCompactAgrees: fingerprints of states of several words give the same
// counts and verdicts, and the chance of a missed state.
func TestCompactAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProgram(t)
		if explore(p, 2000) == nil {
			return
		}
		var props []modelcheck.Property
		for k := modelcheck.Invariant; k <= modelcheck.NoDeadlock; k++ {
			if k <= modelcheck.Reach || k == modelcheck.NoDeadlock {
				props = append(props, modelcheck.Property{Kind: k, Goal: p.drawSymmetricGoal(t)})
			}
		}
		a := check(t, p, props, modelcheck.Options{Workers: 1})
		b := check(t, p, props, modelcheck.Options{Compact: true, Workers: 2})
		compare(t, "compact", a, b, false)
		if (b.MissedState > 0) != (p.shape.Words > 1) {
			t.Fatalf("%d words: chance of a missed state %v", p.shape.Words, b.MissedState)
		}
		live := modelcheck.Property{Kind: modelcheck.Eventually, Goal: p.drawSymmetricGoal(t)}
		if v := check(t, p, []modelcheck.Property{live}, modelcheck.Options{Compact: true}).Verdict; p.shape.Words > 1 && v != modelcheck.Unknown {
			t.Fatalf("liveness on fingerprints: %v", v)
		}
	})
}
