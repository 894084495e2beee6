package lower

import (
	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

func (lw *lowering) makeLog(r *ast.Resource)                        {}
func (lw *lowering) finishStores()                                  {}
func (lw *lowering) logAckedAfter(p *ast.Promise, b ast.AckedAfter) {}
func (lw *lowering) mayFire(d *ast.Duration) ir.Expr                { return yes }
func (lw *lowering) startAge(em *emitter, v *ast.Var, o *[]ir.Stmt) {}
func (sc scope) ageOver(x *ast.AgeOver) ir.Expr                     { return no }
func (lw *lowering) sqlEvents(r *ast.Resource)                      { lw.sessionsLost(r) }
func (lw *lowering) kvEvents(r *ast.Resource)                       {}
func (lw *lowering) queueEvents(r *ast.Resource)                    {}
func (lw *lowering) logEvents(r *ast.Resource)                      {}
func (lw *lowering) anyField(f *ast.OpField, op ir.Expr) value      { return value{} }
func (lw *lowering) positionType(r *ast.Resource) ir.Type {
	return ir.Type{Kind: ir.Range, Lo: 0, Hi: 7}
}
func (lw *lowering) newLogTrigger(b baseTrigger) trigger                         { return &b }
func (q *queue) makeDedup()                                                      {}
func (q *queue) remember(em *emitter, f map[string]value, s []ir.Stmt) []ir.Stmt { return s }
func (em *emitter) validCommit(n *node) ir.Expr                                  { return yes }
func (em *emitter) updateWaits(st *statement) ir.Expr                            { return no }
func (em *emitter) updateConflict(st *statement) ir.Expr                         { return no }
func (em *emitter) replicaPlan(n *node) plan                                     { return plan{} }
func (em *emitter) appendPlan(n *node) plan                                      { return plan{} }
func (em *emitter) commitOffsetPlan(n *node) plan                                { return plan{} }
func (p *process) ownsMemory() bool                                              { return false }
func (p *process) loseMemory(em *emitter) []ir.Stmt                              { return nil }

func (lw *lowering) initialChoices(s []ir.Stmt) [][]ir.Stmt                          { return [][]ir.Stmt{s} }
func (lw *lowering) initialAppend(r *ast.Resource, cells map[string]value) []ir.Stmt { return nil }

func (lw *lowering) logMessagesOf(r *ast.Resource, o *ast.Operation, op ir.Expr) ir.Expr {
	return num(0)
}
func (lw *lowering) watchOwnWrites(p *ast.Promise, b ast.ReadsOwnWrites) {}
