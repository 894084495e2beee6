package specs

import (
	"fmt"
	"strings"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/expr"
	"github.com/relplan/relplan/internal/yamlx"
	"github.com/relplan/relplan/specs/ast"
)

// word resolves a bare name.
func (s scope) word(w *expr.Word) ast.Expr {
	base := ast.Base{At: s.pos(w)}
	name := w.Name
	switch name {
	case "none":
		return &ast.Lit{Base: base}
	case "true", "false":
		return boolLit(base, name == "true")
	case "me", "my_run":
		if s.proc == nil {
			s.d.errorf(base.At, "RP012", "'%s' has no meaning here: it names the instance that runs a step", name)
			return nil
		}
		if name == "me" {
			return &ast.Me{Base: base, Process: s.proc}
		}
		return &ast.MyRun{Base: base, Process: s.proc}
	}
	var v *ast.Var
	if s.proc != nil {
		v = s.proc.Var(name)
	}
	var col ast.Expr
	if s.columns {
		col = s.columnNamed(name, base)
	}
	switch {
	case v != nil && col != nil && !s.bare:
		s.d.l.Add(diag.Diagnostic{Code: "RP024", Pos: base.At, Message: fmt.Sprintf("'%s' is a bound name and a column of %s", name, s.candidate()),
			Hint: fmt.Sprintf("write row.%s for the column, or bind another name with as:", name)})
		return nil
	case col != nil:
		return col
	case v != nil && !s.bare:
		return &ast.VarRef{Base: base, Var: v}
	}
	return s.otherWord(name, base)
}

func (s scope) otherWord(name string, base ast.Base) ast.Expr {
	if p, ok := s.d.params[strings.TrimPrefix(name, "$")]; ok {
		return s.paramValue(p, base)
	}
	if symbolForm.MatchString(name) {
		s.d.symbol(name, base.At)
		return &ast.Lit{Base: base, Value: ast.Value{Kind: ast.SymbolValue, Text: name}}
	}
	if s.words && s.d.paramWord(name) {
		return &ast.Lit{Base: base, Value: ast.Value{Kind: ast.SymbolValue, Text: name}}
	}
	if op, ok := s.d.ops[name]; ok {
		if s.bound != nil && s.bound.Operation == op {
			return s.bound
		}
		if s.promise {
			return s.outer(op, base)
		}
		if s.each != nil && s.each.Operation == op {
			return &ast.OpConst{Base: base, Operation: op, Index: s.each.Index}
		}
	}
	s.unknownWord(name, base.At)
	return nil
}

// unknownWord reports a name that means nothing, unless the trigger that may
// bind it is wrong already.
func (s scope) unknownWord(name string, pos diag.Pos) {
	if s.proc != nil && s.d.loose[s.proc] {
		return
	}
	s.d.l.Add(s.unknownName(name, pos))
}

// symbol remembers an ALL_CAPS word.
func (d *decoder) symbol(name string, pos diag.Pos) {
	if _, ok := d.syms[name]; !ok {
		d.syms[name] = pos
	}
}

// paramWord says whether some parameter has this word among its values.
func (d *decoder) paramWord(name string) bool {
	for _, p := range d.order {
		if p.value.Value() == name {
			return true
		}
		for _, a := range p.allowed {
			if a.Value() == name {
				return true
			}
		}
	}
	return false
}

func (s scope) paramValue(p *param, base ast.Base) ast.Expr {
	v, ok := constant(p.value.Value(), p.value.Quoted())
	if p.value.Kind() != yamlx.Scalar {
		s.d.errorf(base.At, "RP021", "the parameter '%s' is %s, not a value", p.name, p.value.Kind())
		return nil
	}
	if !ok {
		v = ast.Value{Kind: ast.SymbolValue, Text: p.value.Value()}
	}
	return &ast.Lit{Base: base, Value: v}
}

// outer is the operation that a check is stated for.
func (s scope) outer(op *ast.Operation, base ast.Base) ast.Expr {
	if s.check == nil {
		s.d.errorf(base.At, "RP012", "'%s' names every %s, no single one", op.Name, op.Name)
		return nil
	}
	if s.check.bound == nil {
		s.check.bound = &ast.OpVar{Base: base, Operation: op, Outer: true}
	}
	if s.check.bound.Operation != op {
		s.d.errorf(base.At, "RP021", "a check speaks of one kind of operation: '%s' or '%s'", s.check.bound.Operation.Name, op.Name)
		return nil
	}
	return s.check.bound
}

func (s scope) candidate() string {
	if s.table != nil {
		return s.table.Name
	}
	return s.store.Name
}

// columnNamed gives the column of the candidate row, nil if there is none.
func (s scope) columnNamed(name string, base ast.Base) ast.Expr {
	switch {
	case s.table != nil:
		if c := s.table.Column(name); c != nil {
			return &ast.ColumnRef{Base: base, Table: s.table, Column: c, Name: name}
		}
	case s.store != nil && s.store.KV != nil:
		if name == "key" || name == "value" || contains(s.d.kvFields[s.store], name) {
			return &ast.ColumnRef{Base: base, Store: s.store, Name: name}
		}
	case s.store != nil && s.store.Queue != nil:
		if s.store.Queue.Field(name) != nil {
			return &ast.ColumnRef{Base: base, Store: s.store, Name: name}
		}
	}
	return nil
}

func (s scope) columnNames() []string {
	var out []string
	switch {
	case s.table != nil:
		for _, c := range s.table.Columns {
			out = append(out, c.Name)
		}
	case s.store != nil && s.store.KV != nil:
		out = append(out, "key", "value")
		out = append(out, s.d.kvFields[s.store]...)
	case s.store != nil && s.store.Queue != nil:
		for _, f := range s.store.Queue.Fields {
			out = append(out, f.Name)
		}
	}
	return out
}

// bindable are the triggers that have something to bind.
var bindable = map[ast.TriggerKind]bool{ast.OnMessage: true, ast.OnRow: true, ast.OnRequest: true, ast.OnStart: true}

func (s scope) unknownName(name string, pos diag.Pos) diag.Diagnostic {
	var known []string
	if s.columns {
		known = append(known, s.columnNames()...)
	}
	var bound []string
	if s.proc != nil {
		for _, v := range s.proc.Vars {
			known = append(known, v.Name)
			bound = append(bound, v.Name)
		}
	}
	if s.promise || s.static {
		known = append(known, sortedKeys(s.d.ops)...)
	}
	known = append(known, s.d.paramNames("")...)
	dg := diag.Diagnostic{Code: "RP012", Pos: pos, Message: "unknown name '" + name + "'", Found: "'" + name + "'"}
	upper := strings.ToUpper(name)
	_, isSymbol := s.d.syms[upper]
	c, near := suggest(name, known)
	switch {
	case near:
		dg.Hint = "did you mean: " + c
		if upper == strings.ToUpper(c) || isSymbol {
			dg.Hint = fmt.Sprintf("did you mean the name %s, or the constant %s?", c, upper)
		}
	case isSymbol:
		dg.Hint = "did you mean the constant " + upper + "?"
	case len(bound) == 0 && s.proc != nil && s.proc.Trigger != nil && s.proc.Trigger.As == nil && bindable[s.proc.Trigger.Kind]:
		dg.Hint = fmt.Sprintf("the trigger binds no name: add as: %s to on: (line %d)", name, s.proc.Trigger.Pos.Line)
	case len(bound) > 0:
		dg.Hint = "bound names here: " + strings.Join(bound, ", ") + "; constants are written in capitals: " + upper
	default:
		dg.Hint = "constants are written in capitals: " + upper
	}
	return dg
}
