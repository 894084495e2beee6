package lower

import (
	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// makeSequence gives a table the counter of its sequence: ids are handed out at
// the insert, before the commit, and are not given back by a rollback.
func (lw *lowering) makeSequence(t *table) {
	c := t.ast.Sequence
	if c == nil || t.column(c.Name) == nil {
		return
	}
	_, hi := intRange(c.Type)
	t.sequence = lw.variable(&ir.Var{Name: t.name + " last " + c.Name, Type: ir.Type{Kind: ir.Range, Lo: 0, Hi: hi}})
}

// nextSequence adds the id to the cells of a new row.
func (em *emitter) nextSequence(t *table, cells map[string]value) []ir.Stmt {
	if t.sequence == nil {
		return nil
	}
	l := &ir.Local{Name: t.ast.Sequence.Name}
	cells[t.ast.Sequence.Name] = integer(use(l), 0, t.sequence.Type.Hi, false)
	return []ir.Stmt{ir.Let{Local: l, Value: sum(ir.Add, load(t.sequence), num(1))}, set(t.sequence, use(l))}
}

// initialSequence: rows that are there first have the ids they name, or the
// next ones.
func (lw *lowering) initialSequence(t *table, r *ast.InitialRow, at ir.Expr) []ir.Stmt {
	if t.sequence == nil {
		return nil
	}
	col := t.column(t.ast.Sequence.Name).vars[0]
	for _, c := range r.Cells {
		if c.Name == t.ast.Sequence.Name {
			v := load(col, at)
			return when(order(ir.Lt, load(t.sequence), v), []ir.Stmt{set(t.sequence, v)}, nil)
		}
	}
	return []ir.Stmt{set(t.sequence, sum(ir.Add, load(t.sequence), num(1))), set(col, load(t.sequence), at)}
}

// settledAt: no open transaction holds a smaller value of the sequence.
func (t *table) settledAt(at ir.Expr, c *ast.ColumnRef, r reader) ir.Expr {
	if t.hidden == nil {
		return yes
	}
	name := t.refName(c)
	mine := t.get(name, at, r)
	return not(t.some(func(other ir.Expr) ir.Expr {
		return and(load(t.hidden, other), less(ir.Lt, t.get(name, other, reader{}), mine))
	}))
}

// runToken names a run, for my_run.
func (lw *lowering) runToken(p *process) *ir.Var { return p.run }

// makeRun gives the instances of a process a token per run if somebody reads it.
func (p *process) makeRun() {
	for _, s := range p.ast.All {
		for _, e := range expressions(s) {
			ast.Walk(e, func(c ast.Expr) bool {
				if _, ok := c.(*ast.MyRun); ok && p.run == nil {
					p.run = p.perInstance("run", ir.Type{Kind: ir.Token, Optional: true})
				}
				return true
			})
		}
	}
}
