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
		case r.Kind == ast.LogKind:
			no(r.Pos, "kind: log")
		case r.Kind == ast.ClockKind:
			no(r.Pos, "kind: clock")
		case r.HiddenRetry > 0:
			no(r.Pos, "hidden_retry")
		}
		if r.SQL != nil {
			lw.refuseSQL(r, no)
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
	for _, s := range lw.allSteps() {
		switch {
		case s.Replica:
			no(s.Pos, "from: replica")
		}
		for _, e := range expressions(s) {
			lw.refuseExpr(e, no)
		}
	}
	for _, f := range lw.spec.Faults {
		switch f.Kind {
		case ast.FaultRestart, ast.FaultFailover, ast.FaultClockJump, ast.FaultOperatorReplay, ast.FaultRebalance, ast.FaultOffsetReset:
			no(f.Pos, "the fault "+f.Name)
		}
	}
	for _, a := range lw.spec.Assume {
		switch a.Kind {
		case ast.AssumeDowntime, ast.AssumeOrder, ast.AssumeKeyNotReused:
			no(a.Pos, "this assumption")
		}
	}
}

func (lw *lowering) refuseSQL(r *ast.Resource, no func(diag.Pos, string)) {
	if r.SQL.Isolation != ast.ReadCommitted {
		for _, s := range lw.allSteps() {
			if s.Verb == ast.VerbTransaction && s.Resource == r {
				no(r.Pos, "isolation: "+r.SQL.Isolation.String())
				break
			}
		}
	}
}

func (lw *lowering) refuseQueue(r *ast.Resource, no func(diag.Pos, string)) {
	q := r.Queue
	switch {
	case q.DedupBy != nil:
		no(r.Pos, "dedup:")
	case q.Ordered || q.OrderBy != nil:
		no(r.Pos, "order:")
	}
}

func (lw *lowering) refuseExpr(e ast.Expr, no func(diag.Pos, string)) {
	ast.Walk(e, func(c ast.Expr) bool {
		switch c.(type) {
		case *ast.AgeOver:
			no(c.Position(), "age()")
		}
		return true
	})
}
