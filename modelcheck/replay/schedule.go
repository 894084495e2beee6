package replay

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	mathrand "math/rand/v2"

	"github.com/relplan/relplan/modelcheck"
	"github.com/relplan/relplan/modelcheck/ir"
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

// goodWalks and goodSteps bound the search for a run without faults.
const (
	goodWalks = 40
	goodSteps = 120
)

// goodRun is the shortest of some runs without faults that come to rest, or,
// where a spec never rests, the one in which most effects happen.
func goodRun(spec *ast.Spec) (*Schedule, error) {
	calm := *spec
	calm.Faults = nil
	o, w, err := walker(&calm)
	if err != nil {
		return nil, err
	}
	var best *modelcheck.Walk
	var bestEffects int
	var out *Schedule
	for seed := range uint64(goodWalks) {
		k := w.Walk(goodSteps, chooser(seed+1))
		if k.Cut {
			continue
		}
		h, _ := w.Replay(k.Start, k.Steps)
		if h == nil {
			return nil, errors.New("internal: a walk cannot be repeated")
		}
		told := o.Tell(h)
		end := o.End(told)
		n := total(end)
		better := best == nil || n > bestEffects || n == bestEffects && (k.AtRest && !best.AtRest || k.AtRest == best.AtRest && len(k.Steps) < len(best.Steps))
		if better {
			best, bestEffects, out = k, n, &Schedule{Name: "good run", History: told, End: end}
		}
	}
	if out == nil {
		return nil, errors.New("no run without faults stays within the ranges of the spec")
	}
	return out, nil
}

func total(c *lower.Contents) (n int) {
	for _, ops := range c.Effects {
		for _, k := range ops {
			n += k
		}
	}
	return n
}

// walker draws histories of the model; pools are as large as a check has
// needed.
func walker(spec *ast.Spec) (*lower.Outcome, *modelcheck.Walker, error) {
	lo, err := lower.Lower(spec, lower.Options{})
	if err != nil {
		return nil, nil, err
	}
	m, err := ir.Compile(lo.Program, ir.Options{})
	if err != nil {
		return nil, nil, err
	}
	w, err := modelcheck.NewWalker(m, nil)
	return &lower.Outcome{Lowered: lo, Model: m}, w, err
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

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}
