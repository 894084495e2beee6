package specs

import (
	"fmt"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/expr"
	"github.com/relplan/relplan/specs/ast"
)

// field resolves X.name.
func (s scope) field(x *expr.Field, base ast.Base) ast.Expr {
	namePos := span(s.src, x.NameAt, x.NameAt+len([]rune(x.Name)))
	if w, ok := x.X.(*expr.Word); ok {
		if w.Name == "row" && (s.table != nil || s.store != nil) && (s.proc == nil || s.proc.Var("row") == nil) {
			if c := s.columnNamed(x.Name, base); c != nil {
				return c
			}
			s.d.unknown(namePos, "RP013", "column of "+s.candidate(), x.Name, s.columnNames())
			return nil
		}
		if p, ok := s.d.procs[w.Name]; ok && s.promise {
			return s.instanceVar(p, x, namePos, base)
		}
		if s.promise && s.d.ops[w.Name] == nil && s.d.declared[w.Name] {
			return nil
		}
	}
	v := s.resolve(x.X)
	if v == nil {
		return nil
	}
	if c, ok := v.(*ast.OpConst); ok {
		return s.constField(c, x, namePos, base)
	}
	at := base
	at.At = namePos
	f := &ast.FieldOf{Base: base, X: v, Name: x.Name}
	s.d.inf.fieldAt[f] = namePos
	return f
}

func (s scope) constField(c *ast.OpConst, x *expr.Field, namePos diag.Pos, base ast.Base) ast.Expr {
	if x.Name == "op" || x.Name == "id" {
		return c
	}
	f := c.Operation.Field(x.Name)
	if f == nil {
		s.d.unknownField(namePos, c.Operation, x.Name)
		return nil
	}
	if f.Kind == ast.FieldList && c.Index < len(f.Values) {
		return &ast.Lit{Base: base, Value: f.Values[c.Index]}
	}
	return &ast.FieldOf{Base: base, X: c, Name: x.Name}
}

func (d *decoder) unknownField(pos diag.Pos, op *ast.Operation, name string) {
	var known []string
	for _, f := range op.Fields {
		known = append(known, f.Name)
	}
	if len(known) == 0 {
		d.l.Add(diag.Diagnostic{Code: "RP013", Pos: pos, Message: fmt.Sprintf("the operation '%s' has no field '%s'", op.Name, name),
			Hint: fmt.Sprintf("declare it: operations: {%s: {count: %d, %s: distinct}}", op.Name, op.Count, name)})
		return
	}
	d.unknown(pos, "RP013", "field of "+op.Name, name, known)
}

func (s scope) instanceVar(p *ast.Process, x *expr.Field, namePos diag.Pos, base ast.Base) ast.Expr {
	v := p.Var(x.Name)
	if v == nil {
		var known []string
		for _, v := range p.Vars {
			known = append(known, v.Name)
		}
		s.d.unknown(namePos, "RP012", "bound name of "+p.Name, x.Name, known)
		return nil
	}
	if !s.speakOf(p, base.At) {
		return nil
	}
	return &ast.InstanceVar{Base: base, Process: p, Var: v}
}

// speakOf notes that a check is stated for every instance of p.
func (s scope) speakOf(p *ast.Process, pos diag.Pos) bool {
	if s.check == nil {
		return true
	}
	if s.check.proc != nil && s.check.proc != p {
		s.d.errorf(pos, "RP021", "a check speaks of one process: '%s' or '%s'", s.check.proc.Name, p.Name)
		return false
	}
	s.check.proc = p
	return true
}

func (s scope) the(x *expr.The, base ast.Base) ast.Expr {
	op := s.d.operation(x.Name, span(s.src, x.NameAt, x.NameAt+len([]rune(x.Name))))
	if op == nil {
		return nil
	}
	inner := s
	inner.bound = &ast.OpVar{Base: base, Operation: op}
	w := inner.opCondition(x.Where, op)
	if w == nil {
		return nil
	}
	return &ast.OpWhere{Base: base, Bound: inner.bound, Where: w}
}

// opCondition resolves a condition over an operation: its fields are bare names.
func (s scope) opCondition(n expr.Node, op *ast.Operation) ast.Expr {
	return s.resolve(rewriteFields(n, op))
}

// rewriteFields turns the bare names that are fields of op into OP.field.
func rewriteFields(n expr.Node, op *ast.Operation) expr.Node {
	return expr.Map(n, func(w *expr.Word) expr.Node {
		if op.Field(w.Name) == nil {
			return w
		}
		return expr.FieldOf(w, op.Name)
	})
}

func (s scope) eachOp(x *expr.Each, base ast.Base) ast.Expr {
	pos := span(s.src, x.NameAt, x.NameAt+len([]rune(x.Name)))
	op := s.d.operation(x.Name, pos)
	switch {
	case op == nil:
	case s.each == nil:
		s.d.errorf(base.At, "RP020", "'each %s' stands under initially: only", x.Name)
	case s.each.Operation != op:
		s.d.errorf(pos, "RP020", "one row is made for each %s: it cannot be for each %s too", s.each.Operation.Name, op.Name)
	default:
		return &ast.OpConst{Base: base, Operation: op, Index: s.each.Index}
	}
	return nil
}
