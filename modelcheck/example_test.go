package modelcheck_test

import (
	"context"
	"fmt"

	"github.com/relplan/relplan/modelcheck"
	"github.com/relplan/relplan/modelcheck/models"
)

// lostUpdate is a model of two interchangeable workers that read a counter and
// then write what they read plus one. Word 0 holds, from bit 0: the counter (2
// bits), then for each worker its program counter (2 bits: 0 start, 1 has read,
// 2 done) and the value it read (2 bits).
type lostUpdate struct{}

func (lostUpdate) Shape() *modelcheck.Shape {
	sh := &modelcheck.Shape{
		Words: 1, Actions: 4, Steps: []string{"read", "write"},
		Sets:   []modelcheck.Set{{Name: "worker", Size: 2}},
		Fields: []modelcheck.Field{{Name: "counter", Shift: 0, Bits: 2, Group: 0}},
	}
	for w := range 2 {
		me := []modelcheck.Element{{Set: 0, Index: w}}
		sh.Fields = append(sh.Fields,
			modelcheck.Field{Name: "pc", Shift: 2 + 4*w, Bits: 2, Index: me, Group: 1},
			modelcheck.Field{Name: "value", Shift: 4 + 4*w, Bits: 2, Index: me, Group: 2})
	}
	return sh
}

func (lostUpdate) Initial(emit func([]uint64)) { emit([]uint64{0}) }

func (lostUpdate) Expand(state []uint64, x *modelcheck.Sink) {
	s := state[0]
	for w := range 2 {
		at := 2 + 4*w
		switch s >> at & 3 {
		case 0: // read
			x.Next[0] = s | 1<<at | (s&3)<<(at+2)
			x.Emit(modelcheck.ActionID(w))
		case 1: // write; the value read is forgotten
			x.Next[0] = s&^(3|15<<at) | (s>>(at+2)+1)&3 | 2<<at
			x.Emit(modelcheck.ActionID(2 + w))
		}
	}
}

func (lostUpdate) Describe(a modelcheck.ActionID) modelcheck.Action {
	w, step := int(a)%2, int(a)/2
	return modelcheck.Action{
		Text: []string{"read", "write"}[step], Actor: fmt.Sprint("worker ", w+1), Instance: w,
		Who: []modelcheck.Element{{Set: 0, Index: w}}, StepID: step, Order: 2*w + step,
	}
}

// A promise is judged on every history; the one that breaks it is the easiest to
// read.
func ExampleCheck() {
	done := func(s []uint64) bool { return s[0]>>2&3 == 2 && s[0]>>6&3 == 2 }
	props := []modelcheck.Property{
		{Name: "both updates count", Kind: modelcheck.Finally, Goal: func(s []uint64) bool { return s[0]&3 == 2 }},
		{Name: "both end", Kind: modelcheck.Eventually, Goal: done, Latched: true},
	}
	r, err := modelcheck.Check(context.Background(), lostUpdate{}, props, modelcheck.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Println(r.Verdict, "after", r.States, "states")
	for _, p := range r.Properties {
		fmt.Println(p.Name+":", p.Verdict)
		if p.History != nil {
			fmt.Print(p.History)
		}
	}
	// Output:
	// broken after 8 states
	// both updates count: broken
	// 1 worker 1: read
	// 2 worker 2: read
	// 3 worker 2: write
	// 4 worker 1: write
	// both end: holds
}

// Random histories find what a search would take too long for; they never show
// that a promise holds.
func ExampleExplore() {
	m := models.NewSetnx(2, 2, 1, 0)
	r, err := modelcheck.Explore(context.Background(), m, []modelcheck.Property{m.NoDup(), m.NoLost()},
		modelcheck.RandomOptions{Runs: 1000, Seed: 1})
	if err != nil {
		panic(err)
	}
	for _, p := range r.Properties {
		fmt.Printf("%s: %v (%s)\n", p.Name, p.Verdict, p.Reason)
	}
	fmt.Println(len(r.Properties[1].History.Steps), "steps after shrinking")
	// Output:
	// NoDup: unknown (1000 random histories)
	// NoLost: broken ()
	// 10 steps after shrinking
}

// Predict tells what a check would take before it is run.
func ExamplePredict() {
	e, err := modelcheck.Predict(context.Background(), models.NewInbox(3, 2, 2, 2), modelcheck.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Println(e.Exact, e.States)
	// Output:
	// true 1550
}
