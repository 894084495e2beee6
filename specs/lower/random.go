package lower

import (
	"context"
	"fmt"

	"github.com/relplan/relplan/modelcheck"
	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// Random draws random histories of a spec. A pool that overflows in one of them
// is grown and all are drawn again, as in Check. The outcome's Result has the
// properties and limits only; it is never complete.
func Random(ctx context.Context, spec *ast.Spec, opt modelcheck.RandomOptions) (*Outcome, *modelcheck.RandomResult, error) {
	caps := map[string]int{}
	for run := 0; ; run++ {
		lo, err := Lower(spec, Options{Capacity: caps})
		if err != nil {
			return nil, nil, err
		}
		m, err := ir.Compile(lo.Program, ir.Options{})
		if err != nil {
			return nil, nil, fmt.Errorf("%s: internal: %w", spec.File, err)
		}
		r, err := modelcheck.Explore(ctx, m, m.Properties(), opt)
		if err != nil {
			return nil, nil, err
		}
		res := &modelcheck.Result{Verdict: r.Verdict, Properties: r.Properties, Limits: r.Limits, Depth: r.Longest, Transitions: r.Steps,
			NeverTaken: r.NeverTaken, Elapsed: r.Elapsed}
		o := &Outcome{Lowered: lo, Model: m, Result: res, Reruns: run}
		grown, stuck := grow(caps, m, res)
		if !grown {
			o.Unbounded = stuck
			return o, r, nil
		}
	}
}
