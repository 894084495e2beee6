package lower

import "github.com/relplan/relplan/specs/ast"

// refuse reports, with positions, what the spec uses that has no meaning here:
// nothing is left out silently.
func (lw *lowering) refuse() {
	for _, p := range lw.spec.Processes {
		tr := p.Trigger
		if tr.Kind == ast.OnMessage && tr.Batch > 1 && tr.Queue.Kind != ast.LogKind {
			lw.problem(tr.Pos, "batch: is checked for a log only: a queue's messages come one by one, take one per run")
		}
	}
}
