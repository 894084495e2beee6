package modelcheck_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/relplan/relplan/modelcheck"
	"pgregory.net/rapid"
)

// tableModel is an explicit transition table: state v is the word v.
type tableModel struct {
	shape   modelcheck.Shape
	initial []uint64
	edges   [][]tableEdge
	actions []modelcheck.Action
}

type tableEdge struct {
	to     uint64
	action modelcheck.ActionID
	cut    bool
}

func (m *tableModel) Shape() *modelcheck.Shape { return &m.shape }

func (m *tableModel) Initial(emit func([]uint64)) {
	for _, v := range m.initial {
		emit([]uint64{v})
	}
}

func (m *tableModel) Expand(s []uint64, x *modelcheck.Sink) {
	for _, e := range m.edges[s[0]] {
		if e.cut {
			x.Cut(e.action, "outside")
			continue
		}
		x.Next[0] = e.to
		x.Emit(e.action)
	}
}

func (m *tableModel) Describe(a modelcheck.ActionID) modelcheck.Action { return m.actions[a] }

// drawTable makes a random table with fair actions, faults, unfair actions,
// decisions and, rarely, cuts.
func drawTable(t *rapid.T) *tableModel {
	n := rapid.IntRange(1, 8).Draw(t, "states")
	m := &tableModel{shape: modelcheck.Shape{Words: 1, Fields: []modelcheck.Field{{Name: "v", Bits: 8}}, Steps: []string{"s"}}}
	for i := range 8 {
		a := modelcheck.Action{Text: fmt.Sprint("a", i), Process: i % 3, Order: i}
		switch i {
		case 3:
			a.Kind, a.FaultUnit, a.Process = modelcheck.Fault, "crash", -1
		case 4:
			a.Unfair = true
		case 5, 6:
			a.Choice = 1
		case 7:
			a.FaultUnit, a.FaultRank = "lost", 1
		}
		m.actions = append(m.actions, a)
	}
	m.shape.Actions = len(m.actions)
	cuts := rapid.IntRange(0, 3).Draw(t, "cuts") == 0
	for range n {
		var es []tableEdge
		for range rapid.IntRange(0, 4).Draw(t, "degree") {
			e := tableEdge{to: uint64(rapid.IntRange(0, n-1).Draw(t, "to"))}
			e.action = modelcheck.ActionID(rapid.SampledFrom([]int{0, 1, 2, 0, 1, 3, 4, 5, 6, 7}).Draw(t, "action"))
			if cuts && rapid.IntRange(0, 7).Draw(t, "cut") == 0 {
				e.cut, e.action = true, 0
			}
			es = append(es, e)
		}
		m.edges = append(m.edges, es)
	}
	m.initial = []uint64{0}
	if rapid.Bool().Draw(t, "two initial states") && n > 1 {
		m.initial = append(m.initial, 1)
	}
	return m
}

// drawProps makes one property of each kind with random goals.
func drawProps(t *rapid.T) []modelcheck.Property {
	set := func(name string, dense bool) func([]uint64) bool {
		bits := rapid.Uint8().Draw(t, name)
		if dense {
			bits |= rapid.Uint8().Draw(t, name+" too")
		}
		return func(s []uint64) bool { return bits>>s[0]&1 != 0 }
	}
	var ps []modelcheck.Property
	for k := modelcheck.Invariant; k <= modelcheck.NoDeadlock; k++ {
		p := modelcheck.Property{Name: fmt.Sprint("p", k), Kind: k, Goal: set("goal", k == modelcheck.Invariant)}
		if k == modelcheck.LeadsTo {
			p.From = set("from", false)
		}
		ps = append(ps, p)
	}
	return ps
}

// TestVerdictsEqualDefinitions compares every kind of property with its
// definition over all subsets of states.
func TestVerdictsEqualDefinitions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, props := drawTable(t), drawProps(t)
		o := explore(m, 100)
		traps := o.traps()
		opt := modelcheck.Options{Workers: rapid.IntRange(1, 3).Draw(t, "workers"), Shortest: rapid.Bool().Draw(t, "shortest")}
		r, err := modelcheck.Check(context.Background(), m, props, opt)
		if err != nil {
			t.Fatal(err)
		}
		if int(r.States) != len(o.states) || int(r.Transitions) != o.trans {
			t.Fatalf("%d states, %d transitions; want %d, %d", r.States, r.Transitions, len(o.states), o.trans)
		}
		for i, p := range props {
			want := o.verdict(p, traps)
			if got := r.Properties[i].Verdict; got != want {
				t.Fatalf("property kind %d: %v, want %v", p.Kind, got, want)
			}
			shown := want == modelcheck.Broken || p.Kind == modelcheck.Reach && want == modelcheck.Holds
			if (r.Properties[i].History != nil) != shown {
				t.Fatalf("property kind %d: history %v, verdict %v", p.Kind, r.Properties[i].History, want)
			}
			if shown {
				checkHistory(t, m, &p, o, traps, r.Properties[i].History, opt.Shortest)
			}
		}
	})
}
