package modelcheck_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/relplan/relplan/modelcheck"
	"github.com/relplan/relplan/modelcheck/models"
)

// counts is a row of the reference table in docs/checker.md.
type counts struct {
	name                                 string
	model                                modelcheck.Model
	props                                []modelcheck.Property
	states, transitions, depth, terminal uint64
	orbits                               uint64 // 0: not published
	large                                bool
}

func table() []counts {
	inbox := func(name string, m, w, c, r int, n, t, d, e, o uint64) counts {
		b := models.NewInbox(m, w, c, r)
		return counts{name, b, []modelcheck.Property{b.NoDup(), b.NoLost(), b.RestOnly()}, n, t, d, e, o, n > 2e6}
	}
	setnx := func(name string, m, w, c, r int, n, t, d, e, o uint64) counts {
		b := models.NewSetnx(m, w, c, r)
		return counts{name, b, []modelcheck.Property{b.NoDup(), b.RestOnly()}, n, t, d, e, o, n > 2e6}
	}
	outbox := func(name string, m, w, c, r int, n, t, d, e, o uint64) counts {
		b := models.NewOutbox(m, w, c, r)
		return counts{name, b, []modelcheck.Property{b.NoDup(), b.NoLost(), b.SentDelivered(), b.RestOnly()}, n, t, d, e, o, n > 2e6}
	}
	return []counts{
		inbox("B1/tiny", 2, 2, 1, 1, 755, 2104, 15, 4, 210),
		inbox("B1/S", 3, 2, 2, 2, 15186, 54702, 23, 9, 1550),
		inbox("B1/M", 4, 3, 3, 2, 1001261, 5674860, 32, 12, 10976),
		inbox("B1/L", 5, 3, 3, 3, 9891116, 58259570, 38, 16, 31244),
		inbox("B1/3211", 3, 2, 1, 1, 4147, 0, 0, 0, 0),
		inbox("B1/3311", 3, 3, 1, 1, 20395, 0, 0, 0, 0),
		inbox("B1/4222", 4, 2, 2, 2, 71385, 0, 0, 0, 0),
		inbox("B1/3322", 3, 3, 2, 2, 99489, 0, 0, 0, 0),
		inbox("B1/4311", 4, 3, 1, 1, 124783, 0, 0, 0, 0),
		inbox("B1/5311", 5, 3, 1, 1, 597347, 0, 0, 0, 0),
		inbox("B1/4322", 4, 3, 2, 2, 669093, 0, 0, 0, 0),
		inbox("B1/5322", 5, 3, 2, 2, 3519985, 0, 0, 0, 0),
		setnx("B2/tiny", 2, 2, 1, 1, 985, 2476, 13, 8, 274),
		setnx("B2/S", 3, 2, 2, 2, 32055, 104574, 20, 36, 3158),
		setnx("B2/M", 4, 3, 2, 2, 1579897, 7383168, 26, 51, 16140),
		setnx("B2/L", 5, 3, 2, 2, 9375470, 43698540, 30, 69, 0),
		setnx("B2/4311", 4, 3, 1, 1, 155823, 0, 0, 0, 0),
		setnx("B2/3322", 3, 3, 2, 2, 203319, 0, 0, 0, 0),
		outbox("B3/S", 2, 2, 1, 1, 17302, 53054, 26, 19, 4548),
		outbox("B3/M", 3, 2, 1, 2, 1153783, 4157403, 39, 78, 100756),
		outbox("B3/L", 3, 2, 2, 2, 8149654, 32215425, 46, 303, 0),
		outbox("B3/2210", 2, 2, 1, 0, 1547, 0, 0, 0, 0),
		outbox("B3/3201", 3, 2, 0, 1, 13014, 0, 0, 0, 0),
		outbox("B3/3210", 3, 2, 1, 0, 16025, 0, 0, 0, 0),
		outbox("B3/2311", 2, 3, 1, 1, 49240, 0, 0, 0, 0),
		outbox("B3/3211", 3, 2, 1, 1, 202025, 0, 0, 0, 0),
		outbox("B3/2222", 2, 2, 2, 2, 421003, 0, 0, 0, 0),
		outbox("B3/3221", 3, 2, 2, 1, 1561902, 0, 0, 0, 0),
		outbox("B3/2322", 2, 3, 2, 2, 2315517, 0, 0, 0, 0),
	}
}

// TestCountsAreExact compares distinct states, transitions, depth and terminal
// states with the published table, and the orbits under symmetry.
func TestCountsAreExact(t *testing.T) {
	for _, c := range table() {
		if c.large && testing.Short() || c.large && !long() {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			r := run(t, c, modelcheck.Options{NoReduction: true})
			got := fmt.Sprint(r.States)
			want := fmt.Sprint(c.states)
			if c.transitions > 0 {
				got = fmt.Sprint(r.States, r.Transitions, r.Depth, r.Terminal)
				want = fmt.Sprint(c.states, c.transitions, c.depth, c.terminal)
			}
			if got != want {
				t.Errorf("states, transitions, depth, terminal: %s, want %s", got, want)
			}
			if b := float64(r.Bytes) / float64(r.States); r.States > 2e6 && b > 32 {
				t.Errorf("%.1f bytes a state, want at most 32", b)
			}
			o := run(t, c, modelcheck.Options{})
			if c.orbits > 0 && o.States != c.orbits {
				t.Errorf("%d orbits, want %d", o.States, c.orbits)
			}
			t.Logf("%d states, %d orbits, %v and %v, %.1f bytes a state", r.States, o.States, r.Elapsed, o.Elapsed, float64(r.Bytes)/float64(r.States))
		})
	}
}

func run(t *testing.T, c counts, opt modelcheck.Options) *modelcheck.Result {
	t.Helper()
	r, err := modelcheck.Check(context.Background(), c.model, c.props, opt)
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict != modelcheck.Holds || !r.Complete || len(r.NeverTaken) > 0 && c.states > 20000 {
		t.Errorf("verdict %v, complete %v, never taken %v, limits %v", r.Verdict, r.Complete, r.NeverTaken, r.Limits)
	}
	return r
}
