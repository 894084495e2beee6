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
		if r.Queue != nil && r.Kind == ast.QueueKind {
			lw.refuseQueue(r, no)
		}
		if r.Provider != nil {
			for _, m := range r.Provider.Methods {
				if m.Kind == ast.Execute && !m.Atomic {
					no(m.Pos, "atomic: false")
				}
			}
		}
	}
	for _, p := range lw.spec.Processes {
		if p.Trigger.Batch > 1 {
			no(p.Trigger.Pos, "batch:")
		}
	}
	for _, f := range lw.spec.Faults {
		switch f.Kind {
		case ast.FaultClockJump:
			no(f.Pos, "the fault "+f.Name)
		}
	}
}

func (lw *lowering) refuseQueue(r *ast.Resource, no func(diag.Pos, string)) {
	q := r.Queue
	switch {
	case q.Ordered || q.OrderBy != nil:
		no(r.Pos, "order:")
	}
}
