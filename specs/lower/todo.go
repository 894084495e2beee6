package lower

import (
	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

func (lw *lowering) makeLocks(r *ast.Resource)                      {}
func (lw *lowering) makeLog(r *ast.Resource)                        {}
func (lw *lowering) makeSequence(t *table)                          {}
func (lw *lowering) finishStores()                                  {}
func (lw *lowering) logAckedAfter(p *ast.Promise, b ast.AckedAfter) {}
func (lw *lowering) mayFire(d *ast.Duration) ir.Expr                { return yes }
func (lw *lowering) startAge(em *emitter, v *ast.Var, o *[]ir.Stmt) {}
func (sc scope) ageOver(x *ast.AgeOver) ir.Expr                     { return no }
func (lw *lowering) sqlEvents(r *ast.Resource)                      {}
func (lw *lowering) kvEvents(r *ast.Resource)                       {}
func (lw *lowering) queueEvents(r *ast.Resource)                    {}
func (lw *lowering) logEvents(r *ast.Resource)                      {}
func (lw *lowering) anyField(f *ast.OpField, op ir.Expr) value      { return value{} }
func (lw *lowering) positionType(r *ast.Resource) ir.Type {
	return ir.Type{Kind: ir.Range, Lo: 0, Hi: 7}
}
func (lw *lowering) runToken(p *process) *ir.Var                                 { return p.run }
func (lw *lowering) newLogTrigger(b baseTrigger) trigger                         { return &b }
func (q *queue) makeDedup()                                                      {}
func (q *queue) remember(em *emitter, f map[string]value, s []ir.Stmt) []ir.Stmt { return s }
func (t *table) settledAt(at ir.Expr, c *ast.ColumnRef, r reader) ir.Expr        { return yes }
func (em *emitter) validCommit(n *node) ir.Expr                                  { return yes }
func (em *emitter) updateWaits(st *statement) ir.Expr                            { return no }
func (em *emitter) updateConflict(st *statement) ir.Expr                         { return no }
func (em *emitter) nextSequence(t *table, cells map[string]value) []ir.Stmt      { return nil }
func (em *emitter) replicaPlan(n *node) plan                                     { return plan{} }
func (em *emitter) lockPlan(n *node) plan                                        { return plan{} }
func (em *emitter) appendPlan(n *node) plan                                      { return plan{} }
func (em *emitter) commitOffsetPlan(n *node) plan                                { return plan{} }
func (em *emitter) releaseLocks(tx bool) []ir.Stmt                               { return nil }
func (p *process) ownsMemory() bool                                              { return false }
func (p *process) loseMemory(em *emitter) []ir.Stmt                              { return nil }

func (lw *lowering) initialChoices(s []ir.Stmt) [][]ir.Stmt                            { return [][]ir.Stmt{s} }
func (lw *lowering) initialSequence(t *table, r *ast.InitialRow, at ir.Expr) []ir.Stmt { return nil }
func (lw *lowering) initialAppend(r *ast.Resource, cells map[string]value) []ir.Stmt   { return nil }

func (lw *lowering) logMessagesOf(r *ast.Resource, o *ast.Operation, op ir.Expr) ir.Expr {
	return num(0)
}
func (lw *lowering) watchOwnWrites(p *ast.Promise, b ast.ReadsOwnWrites) {}
