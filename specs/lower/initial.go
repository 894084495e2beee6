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
		switch r.Kind {
		case ast.QueueKind:
			stmts = append(stmts, lw.queues[r].initial()...)
		case ast.LogKind:
			stmts = append(stmts, lw.logs[r].initial()...)
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
			return t.insert(cells, func(at ir.Expr) []ir.Stmt { return append(lw.initialSequence(t, r, at), t.startTimed(at)...) })
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
	if sw == nil {
		return nil
	}
	if q.pool == nil {
		l := &ir.Local{Name: sw.Per.Name}
		body := q.lw.opensWindows(q.lw.operation(sw.Per, use(l)))
		if len(body) == 0 {
			return nil
		}
		return []ir.Stmt{ir.ForEach{Local: l, Over: ir.In(q.lw.opSet(sw.Per)), Body: body}}
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

// anyField is a constant of an operation that the checker chooses: `amount: any
// [10, 20]` is one initial state per choice.
func (lw *lowering) anyField(f *ast.OpField, op ir.Expr) value {
	c := lw.anyFields[f]
	if c == nil {
		c = &column{name: f.Name, parts: lw.shape(f.Type)}
		for _, pt := range c.parts {
			t := pt.typ
			t.Optional = true
			c.vars = append(c.vars, lw.variable(&ir.Var{Name: f.Operation.Name + "." + f.Name + pt.key, Index: ir.Several(lw.opSet(f.Operation)), Type: t, Initial: ir.None}))
		}
		lw.anyFields[f] = c
	}
	var ls []leaf
	for i, pt := range c.parts {
		ls = append(ls, leaf{pt.key, c.vars[i].Type, load(c.vars[i], op)})
	}
	return newValue(ls...)
}

// maxInitial bounds the initial states that `any` fields multiply to.
const maxInitial = 4096

// initialChoices makes one initial state per combination of `any` fields.
func (lw *lowering) initialChoices(stmts []ir.Stmt) [][]ir.Stmt {
	out := [][]ir.Stmt{nil}
	for _, o := range lw.spec.Operations {
		for _, f := range o.Fields {
			c := lw.anyFields[f]
			if f.Kind != ast.FieldAny || c == nil {
				continue
			}
			for op := 0; op < o.Count; op++ {
				var more [][]ir.Stmt
				for _, prefix := range out {
					for _, v := range f.Values {
						more = append(more, append(prefix[:len(prefix):len(prefix)], c.assignAt(lw.literal(v), num(op))...))
					}
				}
				if out = more; len(out) > maxInitial {
					lw.problem(f.Pos, "%s gives more than %d initial states", f.Name, maxInitial)
					return [][]ir.Stmt{stmts}
				}
			}
		}
	}
	for i := range out {
		out[i] = append(out[i], stmts...)
	}
	return out
}

func (c *column) assignAt(v value, at ir.Expr) []ir.Stmt { return c.assign(c.vars, v, at) }
