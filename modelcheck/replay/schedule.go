package replay

import (
	"context"
	"errors"
	mathrand "math/rand/v2"
	"slices"

	"github.com/relplan/relplan/modelcheck"
	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

// Schedule is a history to act out.
type Schedule struct {
	// Name is the promise that it breaks, "good run", or "random N".
	Name    string
	History *lower.History
	End     *lower.Contents
}

// broken gives the histories of the promises that a check has found broken.
func broken(o *lower.Outcome) []Schedule {
	var out []Schedule
	for _, a := range o.Answers() {
		if a.Verdict == modelcheck.Broken && a.History != nil {
			out = append(out, Schedule{Name: a.Promise.Name, History: a.History, End: o.End(a.History)})
		}
	}
	return out
}

// goodWalks and goodSteps bound the random look at what a spec can achieve.
const (
	goodWalks = 40
	goodSteps = 120
)

const goodRunName = "good run"

// errNoGoodRun: a spec may have none.
var errNoGoodRun = errors.New("no run without faults ends and has an effect")

// goodRun is a run without faults that comes to rest, if the spec ever does,
// and in which as many effects happen as random runs show to be possible: the
// one with the fewest changes of worker.
func goodRun(ctx context.Context, spec *ast.Spec) (*Schedule, error) {
	calm := *spec
	calm.Faults = nil
	o, err := lower.Check(ctx, &calm, modelcheck.Options{NoHistories: true})
	if err != nil {
		return nil, err
	}
	most, rests, err := achievable(o)
	if err != nil {
		return nil, err
	}
	next := modelcheck.NewSink(o.Model.Shape().Words)
	goal := modelcheck.Property{Name: "good run", Kind: modelcheck.Reach, Goal: func(state []uint64) bool {
		n, idle := o.Total(state)
		switch {
		case !idle || n < most || isInitial(o, state):
			return false
		case !rests:
			return true
		}
		next.Reset()
		o.Model.Expand(state, next)
		return next.Len() == 0
	}}
	res, err := modelcheck.Check(ctx, o.Model, []modelcheck.Property{goal}, modelcheck.Options{Workers: 1})
	if err != nil {
		return nil, err
	}
	h := res.Properties[0].History
	if h == nil {
		return nil, errNoGoodRun
	}
	told := o.Tell(h)
	return &Schedule{Name: goodRunName, History: told, End: o.End(told)}, nil
}

func isInitial(o *lower.Outcome, state []uint64) (is bool) {
	o.Model.Initial(func(st []uint64) { is = is || slices.Equal(st, state[:len(st)]) })
	return is
}

// achievable draws runs: the most effects at which all are idle, and whether
// one of them comes to rest with as many.
func achievable(o *lower.Outcome) (most int, rests bool, err error) {
	w, err := modelcheck.NewWalker(o.Model, nil)
	if err != nil {
		return 0, false, err
	}
	for seed := range uint64(goodWalks) {
		k := w.Walk(goodSteps, chooser(seed+1))
		h, _ := w.Replay(k.Start, k.Steps)
		if h == nil {
			return 0, false, errors.New("internal: a walk cannot be repeated")
		}
		for i, s := range h.Steps {
			n, idle := o.Total(s.State)
			if !idle || n < most {
				continue
			}
			atRest := k.AtRest && i == len(h.Steps)-1
			if n > most {
				most, rests = n, atRest
			}
			rests = rests || atRest
		}
	}
	return most, rests, nil
}

func chooser(seed uint64) modelcheck.Chooser {
	r := mathrand.New(mathrand.NewPCG(seed, 0x5eed))
	return func(n int) int { return r.IntN(n) }
}

// randomSteps bounds a random schedule.
const randomSteps = 60

// randomSchedules draws n histories, faults included, of at most randomSteps
// steps each.
func randomSchedules(ctx context.Context, o *lower.Outcome, n int, seed uint64, each func(i int, w *modelcheck.Walker, k *modelcheck.Walk) error) error {
	w, err := modelcheck.NewWalker(o.Model, nil)
	if err != nil {
		return err
	}
	for i := range n {
		if err := ctx.Err(); err != nil {
			return err
		}
		k := w.Walk(randomSteps, chooser(seed+uint64(i)))
		if err := each(i, w, k); err != nil {
			return err
		}
	}
	return nil
}
