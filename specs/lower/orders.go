package lower

import (
	"context"
	"fmt"

	"github.com/relplan/relplan/internal/quantity"
	"github.com/relplan/relplan/modelcheck"
	"github.com/relplan/relplan/specs/ast"
)

// maxExtra is the number of states up to which a check is repeated with other
// orders of durations and without assumptions, to say what the verdict rests on.
const maxExtra = 200_000

// restsOn says what the verdict rests on: the order of named durations ("holds
// iff keep > horizon") and each assumption ("used", "not needed"). The lines are
// added to the notes of the outcome.
func (o *Outcome) restsOn(ctx context.Context, opt modelcheck.Options) error {
	if o.Result.States > maxExtra || !o.Result.Complete {
		return nil
	}
	opt.NoHistories, opt.Progress = true, nil
	if err := o.durationOrders(ctx, opt); err != nil {
		return err
	}
	return o.assumptionsUsed(ctx, opt)
}

// durationOrders checks every pair of named durations in both orders.
func (o *Outcome) durationOrders(ctx context.Context, opt modelcheck.Options) error {
	var ds []*ast.Duration
	for _, c := range o.lw.classes {
		d := c.duration
		if d == nil || d.Inline || d.None || c.clocked() || containsDuration(ds, d) {
			continue
		}
		ds = append(ds, d)
	}
	for i, a := range ds {
		for _, b := range ds[i+1:] {
			aLonger, err := o.again(ctx, opt, Options{longer: a, shorter: b}, nil)
			if err != nil {
				return err
			}
			bLonger, err := o.again(ctx, opt, Options{longer: b, shorter: a}, nil)
			if err != nil {
				return err
			}
			switch {
			case aLonger.allHold() && !bLonger.allHold():
				o.note(a, b)
			case bLonger.allHold() && !aLonger.allHold():
				o.note(b, a)
			}
		}
	}
	return nil
}

func (o *Outcome) note(long, short *ast.Duration) {
	o.Orders = append(o.Orders, Inequality{Shorter: short, Longer: long})
	than := ">"
	if long.Length > 0 && long.Length == short.Length && o.allHold() {
		than = ">="
	}
	o.Notes = append(o.Notes, fmt.Sprintf("holds iff %s %s %s (here %s and %s)", long.Name, than, short.Name, length(long), length(short)))
}

func length(d *ast.Duration) string {
	if d.Length == 0 {
		return "no length given"
	}
	return quantity.FormatDuration(d.Length)
}

func containsDuration(ds []*ast.Duration, d *ast.Duration) bool {
	for _, x := range ds {
		if x == d {
			return true
		}
	}
	return false
}

// assumptionsUsed repeats the check without each assumption of the closed list:
// one that removed no transition is not needed.
func (o *Outcome) assumptionsUsed(ctx context.Context, opt modelcheck.Options) error {
	for i, a := range o.lw.spec.Assume {
		if a.Kind == ast.AssumeText {
			o.Notes = append(o.Notes, fmt.Sprintf("assumption %q is text: it removes nothing", a.Text))
			continue
		}
		without := *o.lw.spec
		without.Assume = append(append([]*ast.Assumption{}, o.lw.spec.Assume[:i]...), o.lw.spec.Assume[i+1:]...)
		r, err := o.again(ctx, opt, Options{}, &without)
		if err != nil {
			return err
		}
		word := "used"
		if r.Result.Transitions == o.Result.Transitions && r.Result.States == o.Result.States {
			word = "not needed"
		}
		o.Assumed = append(o.Assumed, Assumed{a, word == "used"})
		o.Notes = append(o.Notes, fmt.Sprintf("assumption %q: %s", a.Text, word))
	}
	return nil
}

// Assumed is an assumption with whether it removed anything.
type Assumed struct {
	Assumption *ast.Assumption
	Used       bool
}

// again repeats the check with other options or another spec.
func (o *Outcome) again(ctx context.Context, opt modelcheck.Options, lo Options, spec *ast.Spec) (*Outcome, error) {
	if spec == nil {
		spec = o.lw.spec
	}
	return explore(ctx, spec, opt, lo)
}

// allHold says whether every promise holds.
func (o *Outcome) allHold() bool {
	for _, ids := range o.Promises {
		for k, r := range o.Result.Properties {
			if o.stands(ids, k) && r.Verdict != modelcheck.Holds && r.Verdict != modelcheck.Vacuous {
				return false
			}
		}
	}
	return true
}
