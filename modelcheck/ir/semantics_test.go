package ir_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relplan/relplan/modelcheck"
	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/modelcheck/ir/irtest"
)

// check gives the verdicts by property name.
func check(t *testing.T, p *ir.Program) map[string]modelcheck.Verdict {
	t.Helper()
	m := compile(t, p)
	r, err := modelcheck.Check(context.Background(), m, m.Properties(), modelcheck.Options{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]modelcheck.Verdict{}
	for i, pr := range r.Properties {
		name := m.Origin(i).Property.Name
		if v, ok := out[name]; ok {
			out[name] = irtest.Worse(v, pr.Verdict)
		} else {
			out[name] = pr.Verdict
		}
	}
	return out
}

func TestLogVerdicts(t *testing.T) {
	const holds, broken = modelcheck.Holds, modelcheck.Broken
	for _, c := range []struct {
		o                  irtest.LogOptions
		once, all, inOrder modelcheck.Verdict
		reason             string
	}{
		{irtest.LogOptions{}, holds, holds, holds, "no fault"},
		{irtest.LogOptions{CommitFirst: true}, holds, holds, holds, "no fault"},
		{irtest.LogOptions{Crashes: 1}, broken, holds, holds, "crash between effect and commit repeats"},
		{irtest.LogOptions{Crashes: 1, CommitFirst: true}, holds, broken, broken, "crash between commit and effect loses"},
		{irtest.LogOptions{Rebalances: 1}, broken, holds, holds, "the zombie and the new owner apply the same record"},
		{irtest.LogOptions{Rebalances: 1, CommitFirst: true}, broken, holds, broken, "and the new owner is ahead of the zombie"},
	} {
		c.o.Members, c.o.Records = 2, 3
		got := check(t, irtest.Log(c.o))
		want := map[string]modelcheck.Verdict{"once": c.once, "all": c.all, "in order": c.inOrder}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%+v: %s: %s", c.o, c.reason, d)
		}
	}
}

func TestClockHoldsIffRetentionOutlivesHorizon(t *testing.T) {
	for retention := 1; retention <= 4; retention++ {
		for horizon := 0; horizon <= 4; horizon++ {
			want := modelcheck.Broken
			if retention > horizon {
				want = modelcheck.Holds
			}
			if got := check(t, irtest.Clock(retention, horizon))["once"]; got != want {
				t.Errorf("retention %d, horizon %d: found %v, expected %v", retention, horizon, got, want)
			}
		}
	}
}

// Ordered sets are not symmetries, everything else is, to the very field.
func TestShapeComesFromTypes(t *testing.T) {
	m := compile(t, irtest.Log(irtest.LogOptions{Members: 2, Records: 3, Crashes: 1}))
	sh := m.Shape()
	if len(sh.Sets) != 1 || sh.Sets[0].Name != "member" || sh.Sets[0].Size != 2 {
		t.Errorf("found sets %+v, expected the members only: offsets are ordered", sh.Sets)
	}
	group := map[string]int{}
	for _, f := range sh.Fields {
		group[f.Name] = f.Group
		if (f.RefTo != nil) != (f.Name == "owner") {
			t.Errorf("%s refers to %v, expected owner alone to refer to a member", f.Name, f.RefTo)
		}
		if (len(f.Index) == 1) != (strings.HasPrefix(f.Name, "pc[") || strings.HasPrefix(f.Name, "position[")) {
			t.Errorf("%s has index %v", f.Name, f.Index)
		}
	}
	if group["pc[member 1]"] != group["pc[member 2]"] {
		t.Error("pc of two members are not one group")
	}
	if group["effects[offset 1]"] == group["effects[offset 2]"] {
		t.Error("effects of two offsets are one group, expected two: offsets are ordered")
	}
}

func TestShapeOfPoolsAndTokens(t *testing.T) {
	sh := compile(t, newSmall().p).Shape()
	var got []string
	for _, s := range sh.Sets {
		got = append(got, fmt.Sprint(s.Name, " ", s.Size, " ", s.Value))
	}
	want := []string{"worker 2 false", "queue 2 true", "symbols 3 true"} // two cells hold tokens: a third is always fresh
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// fullLoop puts one record more than fits.
func fullPool() (*ir.Program, *ir.Pool) {
	x := newSmall()
	x.body(ir.Put{Pool: x.pool, Slot: &ir.Local{Name: "s"}})
	return x.p, x.pool
}

func TestCutsNameWhatWasTooSmall(t *testing.T) {
	full, pool := fullPool()
	counting := newSmall()
	counting.body(ir.Store(counting.num, ir.Plus(ir.Get(counting.num, ir.Num(1)), 1), ir.Num(1)))
	lost := newSmall()
	lost.body(ir.Store(lost.pc, ir.Num(1), ir.Get(lost.ref, ir.Of(lost.self))))
	few := newSmall()
	few.tok.Type.Hi, few.tok.Initial = 1, 0
	few.body(ir.Fresh{Var: few.tok, At: []ir.Expr{ir.Of(few.self)}})
	said := newSmall()
	said.body(ir.Cut{Reason: "not modelled"})
	for _, c := range []struct {
		name string
		p    *ir.Program
		want ir.CutInfo
	}{
		{"pool", full, ir.CutInfo{Reason: "queue is full", Pool: pool}},
		{"range", counting.p, ir.CutInfo{Reason: "num left 0 .. 3", Var: counting.num}},
		{"nowhere", lost.p, ir.CutInfo{Reason: "pc assigned at no element", Var: lost.pc, Misused: true}},
		{"symbols", few.p, ir.CutInfo{Reason: "tok: no fresh symbol left", Var: few.tok}},
		{"said", said.p, ir.CutInfo{Reason: "not modelled"}},
	} {
		m := compile(t, c.p)
		r, err := modelcheck.Check(context.Background(), m, nil, modelcheck.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Complete || r.Verdict != modelcheck.Unknown {
			t.Errorf("%s: complete %v, verdict %v, expected an incomplete, unknown one", c.name, r.Complete, r.Verdict)
		}
		if i := slices.IndexFunc(r.Limits, func(s string) bool { return strings.Contains(s, c.want.Reason) }); i < 0 {
			t.Errorf("%s: limits %q do not say %q", c.name, r.Limits, c.want.Reason)
		}
		got, ok := m.CutReason(c.want.Reason)
		if !ok || got != c.want {
			t.Errorf("%s: found %+v, expected %+v", c.name, got, c.want)
		}
	}
}

func TestInitialCutIsAnError(t *testing.T) {
	x := newSmall()
	s := &ir.Local{Name: "s"}
	put := ir.Put{Pool: x.pool, Slot: s}
	x.p.Initial = [][]ir.Stmt{{put, put, put}}
	_, err := ir.Compile(x.p, ir.Options{})
	var e *ir.InitialError
	if !errors.As(err, &e) || e.Cut.Pool != x.pool || e.Number != 1 {
		t.Errorf("found %v, expected an InitialError that names the pool", err)
	}
}

// A pool is a bag: the order of puts makes no state, and a dropped slot leaves
// nothing behind.
func TestPoolsAreBags(t *testing.T) {
	x := newSmall()
	s := &ir.Local{Name: "s"}
	for n := 1; n <= 2; n++ {
		x.body(ir.If{Cond: ir.Not{A: ir.Exists{Local: s, Over: ir.Slots(x.pool), Where: ir.Is(ir.Get(x.n, ir.Of(s)), n)}},
			Then: []ir.Stmt{ir.Put{Pool: x.pool, Slot: s, Body: []ir.Stmt{ir.Store(x.n, ir.Num(n), ir.Of(s))}}}})
	}
	x.p.Actions = append(x.p.Actions, &ir.Action{Name: "take", Params: []ir.Param{ir.Pick(s, ir.Slots(x.pool))}, Body: []ir.Stmt{ir.Drop{Pool: x.pool, Slot: ir.Of(s)}}})
	m := compile(t, x.p)
	r, err := modelcheck.Check(context.Background(), m, nil, modelcheck.Options{NoReduction: true})
	if err != nil {
		t.Fatal(err)
	}
	if r.States != 4 {
		t.Errorf("found %d states, expected 4: nothing, 1, 2, both", r.States)
	}
}

// Ranks keep only their order, so taking the next one for ever is finite.
func TestRanksStayFinite(t *testing.T) {
	x := newSmall()
	x.body(ir.Next{Var: x.rank, At: []ir.Expr{ir.Of(x.self)}})
	r, err := modelcheck.Check(context.Background(), compile(t, x.p), nil, modelcheck.Options{NoReduction: true})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Complete || r.States != 5 {
		t.Errorf("complete %v, %d states, expected 5: none, either worker alone, each before the other", r.Complete, r.States)
	}
}

// Tokens nobody holds are forgotten, so fresh ones never run out.
func TestTokensStayFinite(t *testing.T) {
	x := newSmall()
	x.body(ir.Fresh{Var: x.tok, At: []ir.Expr{ir.Of(x.self)}})
	v := &ir.Local{Name: "v"}
	x.body(ir.ForEach{Local: v, Over: ir.In(x.u), Body: []ir.Stmt{ir.Store(x.tok, ir.Get(x.tok, ir.Of(x.self)), ir.Of(v))}})
	r, err := modelcheck.Check(context.Background(), compile(t, x.p), nil, modelcheck.Options{NoReduction: true})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Complete || r.States != 5 {
		t.Errorf("complete %v, %d states, expected 5: none, either worker alone, the same symbol twice, two symbols", r.Complete, r.States)
	}
}

func TestDecode(t *testing.T) {
	x := newSmall()
	s := &ir.Local{Name: "s"}
	x.body(ir.Put{Pool: x.pool, Slot: s, Body: []ir.Stmt{ir.Store(x.n, ir.Num(2), ir.Of(s))}}, ir.Store(x.ref, ir.Of(x.self), ir.Of(x.self)), ir.Store(x.state, ir.Num(1)))
	m := compile(t, x.p)
	var first []uint64
	m.Initial(func(s []uint64) { first = slices.Clone(s) })
	sink := modelcheck.NewSink(m.Shape().Words)
	m.Expand(first, sink)
	next, id := sink.At(0)
	if a, self, params := m.Instance(id); a != x.p.Actions[0] || self != 0 || len(params) != 0 {
		t.Errorf("found instance %v of %q with %v", self, a.Name, params)
	}
	if got := m.Value(next, x.ref, 0); got != 0 {
		t.Errorf("ref of worker 1 is %d, expected element 0", got)
	}
	var got []string
	for _, c := range m.Diff(first, next) {
		got = append(got, c.String())
	}
	want := []string{"used[1] = true", "n[1] = 2", "ref[worker 1] = worker 1", "state = DONE"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if text := m.Print(first); strings.Contains(text, "n[1]") || !strings.Contains(text, "ref[worker 2] = none\n") {
		t.Errorf("found %q, expected free slots to be left out", text)
	}
	back, ok := m.Encode(m.Decode(next))
	if !ok || !slices.Equal(back, next) {
		t.Errorf("encoding what was decoded gives %v, expected %v", back, next)
	}
}

// What the compiler knows of a cell ends with a write at a computed index.
func TestComputedWritesAreSeen(t *testing.T) {
	x := newSmall()
	self := ir.Of(x.self)
	mark := &ir.Var{Name: "mark", Index: ir.Several(x.u)}
	x.p.Vars = append(x.p.Vars, mark)
	x.body(ir.Store(x.ref, self, self), ir.Store(x.pc, ir.Num(1), self))
	stale := func(e ir.Expr) ir.Stmt { return ir.If{Cond: e, Then: []ir.Stmt{ir.Cut{Reason: "stale"}}} }
	x.p.Actions = append(x.p.Actions, &ir.Action{Name: "again", Proc: x.proc, At: 1, Self: x.self, Body: []ir.Stmt{
		ir.Store(mark, ir.Num(1), self),
		ir.Store(mark, ir.Num(0), ir.Get(x.ref, self)), // the same cell, by another address
		stale(ir.Get(mark, self)),
		ir.ForEach{Local: &ir.Local{Name: "l"}, Over: ir.In(x.u), Body: []ir.Stmt{ir.Store(x.state, ir.Num(1))}},
		stale(ir.Is(ir.Get(x.state), 0)),
	}})
	for _, warm := range []uint32{0, 1 << 31} {
		m := compile(t, x.p)
		m.SetWarm(warm)
		r, err := modelcheck.Check(context.Background(), m, nil, modelcheck.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !r.Complete {
			t.Errorf("warm %d: cut: %v", warm, r.Limits)
		}
	}
}

// Branches of one decision are numbered apart for each instance.
func TestChoicesAreNumberedPerInstance(t *testing.T) {
	x := newSmall()
	for i := range 4 {
		x.p.Actions = append(x.p.Actions, &ir.Action{Name: "choose", Proc: x.proc, Self: x.self, Choice: 1 + i/2})
	}
	m := compile(t, x.p)
	seen := map[int][]string{}
	for id := range m.Shape().Actions {
		d := m.Describe(modelcheck.ActionID(id))
		seen[d.Choice] = append(seen[d.Choice], d.Actor)
	}
	if len(seen) != 4 {
		t.Fatalf("found decisions %v, expected two of each worker", seen)
	}
	for n, actors := range seen {
		if n == 0 || len(actors) != 2 || actors[0] != actors[1] {
			t.Errorf("decision %d has branches of %v", n, actors)
		}
	}
}

// Labels become steps, counted by the engine when never taken.
func TestNeverTakenSteps(t *testing.T) {
	x := newSmall()
	x.guard(ir.Flag(true))
	x.guard(ir.Is(ir.Get(x.state), 1))
	x.p.Actions[0].Label, x.p.Actions[1].Label = "taken", "never"
	m := compile(t, x.p)
	r, err := modelcheck.Check(context.Background(), m, nil, modelcheck.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.NeverTaken) != 1 || m.Shape().Steps[r.NeverTaken[0]] != "never" {
		t.Errorf("never taken: %v of %v", r.NeverTaken, m.Shape().Steps)
	}
}
