package lower

import (
	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// initial writes the contents before the first step. Rows that stand for each
// operation (one InitialRow per operation from one place of the file) are
// written by a loop, so that the operations stay interchangeable.
func (lw *lowering) initial() {
	var stmts []ir.Stmt
	rows := lw.spec.Initially
	for i := 0; i < len(rows); {
		n := lw.group(rows[i:])
		if o := lw.groupOp(rows[i : i+n]); o != nil {
			l := &ir.Local{Name: o.Name}
			stmts = append(stmts, ir.ForEach{Local: l, Over: ir.In(lw.opSet(o)), Body: lw.initialRow(rows[i], o, use(l))})
		} else {
			for _, r := range rows[i : i+n] {
				stmts = append(stmts, lw.initialRow(r, nil, nil)...)
			}
		}
		i += n
	}
	for _, r := range lw.spec.Resources {
		if r.Kind == ast.QueueKind {
			stmts = append(stmts, lw.queues[r].initial()...)
		}
	}
	stmts = append(stmts, lw.initially...)
	lw.program.Initial = lw.initialChoices(stmts)
}

// group is the number of rows that come from one place of the file.
func (lw *lowering) group(rows []*ast.InitialRow) int {
	n := 1
	for n < len(rows) && rows[n].Pos == rows[0].Pos && rows[n].Table == rows[0].Table && rows[n].Resource == rows[0].Resource {
		n++
	}
	return n
}

// groupOp is the operation that the rows stand for, one each, or nil.
func (lw *lowering) groupOp(rows []*ast.InitialRow) *ast.Operation {
	var op *ast.Operation
	for i, r := range rows {
		found := -1
		for _, c := range r.Cells {
			ast.Walk(c.Value, func(e ast.Expr) bool {
				if k, ok := e.(*ast.OpConst); ok && (op == nil || op == k.Operation) {
					op, found = k.Operation, k.Index
				}
				return true
			})
		}
		if found != i || !sameButOperation(rows[0], r) {
			return nil
		}
	}
	if op == nil || op.Count != len(rows) {
		return nil
	}
	return op
}

// sameButOperation: every cell of the rows is an operation, or equal in both.
func sameButOperation(a, b *ast.InitialRow) bool {
	if len(a.Cells) != len(b.Cells) {
		return false
	}
	for i, c := range a.Cells {
		d := b.Cells[i]
		_, opA := c.Value.(*ast.OpConst)
		_, opB := d.Value.(*ast.OpConst)
		if !(opA && opB) && c.Value.String() != d.Value.String() {
			return false
		}
	}
	return true
}

// initialRow writes one row, entry or message; OpConst of op means e.
func (lw *lowering) initialRow(r *ast.InitialRow, op *ast.Operation, e ir.Expr) []ir.Stmt {
	sc := scope{lw: lw, constOp: func(c *ast.OpConst) (ir.Expr, bool) { return e, op != nil && c.Operation == op }}
	cells := map[string]value{}
	for _, c := range r.Cells {
		cells[c.Name] = sc.value(c.Value)
	}
	nothing := func(ir.Expr) []ir.Stmt { return nil }
	switch {
	case r.Table != nil:
		if t := lw.tables[r.Table]; t != nil {
			return t.insert(cells, func(at ir.Expr) []ir.Stmt { return lw.initialSequence(t, r, at) })
		}
	case r.Resource.Queue != nil:
		if q := lw.queues[r.Resource]; q != nil {
			return q.store(nil, cells)
		}
		return lw.initialAppend(r.Resource, cells)
	default:
		t := lw.kvs[r.Resource]
		if t.keys != nil {
			if at, ok := t.keys.index(cells["key"]); ok {
				return append([]ir.Stmt{set(t.used, yes, at)}, t.write(at, cells)...)
			}
		}
		return t.insert(cells, nothing)
	}
	return nil
}

// initial puts the messages that a queue starts with into a pool; an array has
// them by its variables' initial values.
func (q *queue) initial() []ir.Stmt {
	sw := q.q.StartsWith
	if sw == nil || q.pool == nil {
		return nil
	}
	l := &ir.Local{Name: sw.Per.Name}
	var body []ir.Stmt
	for i := 0; i < sw.Count; i++ {
		op := q.lw.operation(sw.Per, use(l))
		id := op
		if sw.Count > 1 {
			s := q.lw.copySet(q.r)
			s.Ordered = true
			id = newValue(leaf{"/m:" + q.name + ".o", refTo(q.lw.opSet(sw.Per)), use(l)}, leaf{"/m:" + q.name + ".c", refTo(s), num(i)})
		}
		body = append(body, q.store(nil, map[string]value{"op": op, "id": id})...)
	}
	return []ir.Stmt{ir.ForEach{Local: l, Over: ir.In(q.lw.opSet(sw.Per)), Body: body}}
}
