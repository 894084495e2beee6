package anomaly

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/relplan/relplan/modelcheck"
	"github.com/relplan/relplan/specs"
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
	Errors   []string `json:"errors"` // refusals that a history meets: "serialization failure"
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

// refusal is why a history was refused: the step before it is handed over says
// "commits on db: serialization failure".
func refusal(h *lower.History) string {
	for i := len(h.Steps) - 1; i >= 0; i-- {
		if _, why, ok := strings.Cut(h.Steps[i].Text, ": "); ok {
			kind, _, _ := strings.Cut(why, ":")
			return kind
		}
	}
	return "error"
}
