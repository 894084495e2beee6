package ir_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/relplan/relplan/modelcheck"
	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/modelcheck/ir/irtest"
	"pgregory.net/rapid"
)

// stateLimit bounds the graphs of random programs that are walked in full.
const stateLimit = 300

// Every state that the compiled program reaches has the same successors, cuts
// included, as in the interpreter, to the last cell.
func TestRandomProgramsExpandAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := irtest.Random(t)
		for _, warm := range []uint32{0, 3, 1 << 31} {
			m, err := ir.Compile(p, ir.Options{})
			if in := irtest.New(p); err != nil {
				if _, cuts := in.Initial(); len(cuts) > 0 {
					return
				}
				t.Fatalf("%v", err)
			} else {
				m.SetWarm(warm)
				sameGraph(t, m, in)
			}
		}
	})
}

func sameGraph(t *rapid.T, m *ir.Model, in *irtest.Interp) {
	x := modelcheck.NewSink(m.Shape().Words)
	var queue [][]uint64
	seen := map[string]bool{}
	add := func(s []uint64) {
		if k := key(s); !seen[k] && len(seen) < stateLimit {
			seen[k] = true
			queue = append(queue, slices.Clone(s))
		}
	}
	m.Initial(add)
	first, _ := in.Initial()
	var want, got []string
	for _, s := range first {
		want = append(want, in.String(s))
	}
	m.Initial(func(s []uint64) { got = append(got, in.String(irtest.FromModel(m, s))) })
	if !slices.Equal(got, want) {
		t.Fatalf("initial states\n%v\nexpected\n%v", got, want)
	}
	for i := 0; i < len(queue); i++ {
		x.Reset()
		m.Expand(queue[i], x)
		s := irtest.FromModel(m, queue[i])
		want, cuts := edges(in, s)
		var got []string
		for j := range x.Len() {
			to, id := x.At(j)
			a, self, params := m.Instance(id)
			got = append(got, fmt.Sprint(a.Name, self, params, " -> ", in.String(irtest.FromModel(m, to))))
			add(to)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("%v\nfrom %s\nfound    %q\nexpected %q", m.Program, in.String(s), got, want)
		}
		found := x.Cuts()
		slices.Sort(found)
		if !slices.Equal(found, cuts) {
			t.Fatalf("from %s\ncuts     %q\nexpected %q", in.String(s), found, cuts)
		}
	}
}

func edges(in *irtest.Interp, s irtest.State) (steps, cuts []string) {
	for _, e := range in.Successors(s) {
		if e.To == nil {
			cuts = append(cuts, e.Cut)
			continue
		}
		steps = append(steps, fmt.Sprint(e.Action.Name, e.Self, e.Params, " -> ", in.String(e.To)))
	}
	slices.Sort(steps)
	slices.Sort(cuts)
	return steps, cuts
}

// The same for programs made for the elimination of variables, which must keep
// the value of every variable, stored or not.
func TestRandomLocalProgramsExpandAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := irtest.RandomLocal(t)
		in := irtest.New(p)
		for _, warm := range []uint32{0, 1 << 31} {
			m, err := ir.Compile(p, ir.Options{})
			if err != nil {
				t.Fatalf("%v\n%v", p, err)
			}
			m.SetWarm(warm)
			sameGraph(t, m, in)
		}
	})
}
