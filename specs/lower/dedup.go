package lower

import (
	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// makeDedup gives a queue the ids it has accepted within its window (R13).
func (q *queue) makeDedup() {
	if q.q.DedupBy == nil {
		return
	}
	t := &table{lw: q.lw, name: q.name + " window"}
	n := 0
	for _, s := range q.lw.allSteps() {
		if s.Verb == ast.VerbSend && s.Resource == q.r {
			n += q.lw.cellsCount(s.Row)
		}
	}
	q.lw.makePool(t, n)
	t.addColumn("id", nil, q.q.DedupBy.Type)
	if q.q.DedupScope == ast.DedupField && q.q.DedupField != nil {
		t.addColumn("scope", nil, q.q.DedupField.Type)
	}
	if d := q.q.DedupWindow; d != nil && !d.None {
		t.timed(d)
	}
	q.dedupIDs = t
}

// remember stores the message unless its id is known, and remembers the id.
func (q *queue) remember(em *emitter, fields map[string]value, stored []ir.Stmt) []ir.Stmt {
	t := q.dedupIDs
	cells := map[string]value{"id": fields[q.q.DedupBy.Name]}
	if t.stores("scope") {
		cells["scope"] = fields[q.q.DedupField.Name]
	}
	known := t.some(func(at ir.Expr) ir.Expr {
		out := and(cells["id"].present(), equal(t.get("id", at, reader{}), cells["id"]))
		if t.stores("scope") {
			out = and(out, equal(t.get("scope", at, reader{}), cells["scope"]))
		}
		return out
	})
	keep := t.insert(cells, func(at ir.Expr) []ir.Stmt { return t.startTimed(at) })
	return when(known, nil, append(stored, keep...))
}

// windowEnds: the window timer has no holder; it may fire at any time.
func (q *queue) windowEnds() {
	t := q.dedupIDs
	if t == nil || q.q.DedupWindow == nil || q.q.DedupWindow.None {
		return
	}
	l := &ir.Local{Name: "id"}
	q.lw.event(&event{kind: ir.Expiry, name: "dedup window", what: DedupWindowEnds,
		of: &about{resource: q.r, fields: map[string]value{"id": t.get("id", use(l), reader{})}, duration: q.q.DedupWindow}, params: []ir.Param{{Local: l, Over: t.over}}, guard: t.mayFire(use(l)),
		body: t.remove(use(l)), text: []any{q.name + " forgets the id ", valueText{t.get("id", use(l), reader{})}, " after " + q.q.DedupWindow.Name}})
}
