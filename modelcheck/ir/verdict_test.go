package ir_test

import (
	"context"
	"testing"

	"github.com/relplan/relplan/modelcheck"
	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/modelcheck/ir/irtest"
	"pgregory.net/rapid"
)

// The engine on the compiled program and the naive judge on the interpreter
// agree on every property, with and without reductions and with any number of
// workers, and on the numbers of states.
func TestRandomProgramsVerdicts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := irtest.Random(t)
		m, err := ir.Compile(p, ir.Options{})
		if err != nil {
			return // an initial state is cut; TestRandomProgramsExpandAlike looks at those
		}
		m.SetWarm(uint32(rapid.SampledFrom([]int{0, 2, 64}).Draw(t, "warm")))
		g := irtest.Explore(p, 150)
		if g == nil {
			return
		}
		want := g.Verdicts()
		for _, o := range []modelcheck.Options{{NoReduction: true, Workers: 1}, {Workers: 1}, {Workers: 3}} {
			o.NoHistories = true
			r, err := modelcheck.Check(context.Background(), m, m.Properties(), o)
			if err != nil {
				t.Fatal(err)
			}
			got := make([]modelcheck.Verdict, len(p.Props))
			for i := range got {
				got[i] = modelcheck.Holds
			}
			for i, pr := range r.Properties {
				n := index(p.Props, m.Origin(i).Property)
				got[n] = irtest.Worse(got[n], pr.Verdict)
			}
			for i, q := range p.Props {
				if got[i] != want[i] {
					t.Fatalf("%+v: property %s kind %d latched %v: found %v, expected %v", o, q.Name, q.Kind, q.Latched, got[i], want[i])
				}
			}
			if r.Complete && g.Incomplete {
				t.Fatalf("%+v: complete although something was cut", o)
			}
		}
		sameCounts(t, m, g)
	})
}

func sameCounts(t *rapid.T, m *ir.Model, g *irtest.Graph) {
	r, err := modelcheck.Check(context.Background(), m, nil, modelcheck.Options{NoReduction: true, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	if r.Complete == g.Incomplete {
		t.Fatalf("complete %v, cut %v, limits %v", r.Complete, g.Incomplete, r.Limits)
	}
	if int(r.States) != len(g.States) || int(r.Transitions) != g.Transitions {
		t.Fatalf("%v\nwithout reduction: found %d states, %d transitions, expected %d, %d", m.Program, r.States, r.Transitions, len(g.States), g.Transitions)
	}
	r, err = modelcheck.Check(context.Background(), m, nil, modelcheck.Options{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	if n := g.Orbits(); int(r.States) != n {
		t.Fatalf("%v\nwith symmetry: found %d states, expected %d orbits", m.Program, r.States, n)
	}
}

func index(qs []*ir.Property, q *ir.Property) int {
	for i := range qs {
		if qs[i] == q {
			return i
		}
	}
	return -1
}
