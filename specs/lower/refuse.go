package lower

import (
	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/specs/ast"
)

// refuse reports, with positions, everything the spec uses that has no meaning
// here yet: nothing is left out silently.
func (lw *lowering) refuse() {
	no := func(p diag.Pos, what string) { lw.problem(p, "%s is not checked yet", what) }
	for _, r := range lw.spec.Resources {
		switch {
		case r.Kind == ast.ClockKind:
			no(r.Pos, "kind: clock")
		}
	}
	for _, p := range lw.spec.Processes {
		if p.Trigger.Batch > 1 {
			no(p.Trigger.Pos, "batch:")
		}
	}
}
