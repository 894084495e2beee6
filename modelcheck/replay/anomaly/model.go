package anomaly

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/relplan/relplan/modelcheck"
	"github.com/relplan/relplan/specs"
	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

// The promises of the specs in catalog/: `never` says that the thing in
// question never happens, each `no_error_..` that no transaction is refused.
const (
	neverPromise = "never"
	errorPromise = "no_error"
)

// ModelAnswer is what the model says of a case at one level.
type ModelAnswer struct {
	Possible bool     `json:"possible"`
	Errors   []string `json:"errors"` // refusals that a history meets: "serialization at commit"
}

// Ask checks the spec of a case at a level: is there a history in which the
// thing in question happens, and one in which a transaction is refused?
func Ask(ctx context.Context, c *Case, m Model) (*ModelAnswer, error) {
	spec, diags := specs.LoadWith(c.Name+".yaml", c.spec, specs.Options{With: map[string]string{"isolation": m.Isolation, "engine": m.Engine}})
	if spec == nil {
		return nil, fmt.Errorf("%s: %v", c.Name, diags)
	}
	o, err := lower.Check(ctx, spec.Variants()[0], modelcheck.Options{Workers: 1})
	if err != nil {
		return nil, err
	}
	out := &ModelAnswer{Errors: []string{}}
	asked := false
	for _, a := range o.Answers() {
		if a.Verdict != modelcheck.Broken && a.Verdict != modelcheck.Holds {
			return nil, fmt.Errorf("%s, %s: promise %s is %s: %s %v", c.Name, m, a.Promise.Name, a.Verdict, a.Reason, o.Unbounded)
		}
		broken := a.Verdict == modelcheck.Broken
		switch {
		case a.Promise.Name == neverPromise:
			out.Possible, asked = broken, true
		case broken && strings.HasPrefix(a.Promise.Name, errorPromise):
			if e := refusal(a.History); !slices.Contains(out.Errors, e) {
				out.Errors = append(out.Errors, e)
			}
		}
	}
	if !asked {
		return nil, fmt.Errorf("%s has no promise %s", c.Name, neverPromise)
	}
	return out, nil
}

// refusal is why and where the last refused step of a history was refused:
// "serialization at commit".
func refusal(h *lower.History) string {
	for i := len(h.Steps) - 1; i >= 0; i-- {
		e := h.Steps[i].Event
		if e.Step == nil || e.Branch != ast.OnError || e.Why == lower.NoReason {
			continue
		}
		if e.Commit {
			return e.Why.String() + " at commit"
		}
		return e.Why.String() + " at " + e.Step.Verb.String()
	}
	return "error"
}
