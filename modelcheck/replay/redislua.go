package replay

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/relplan/relplan/specs/ast"
)

// readsScript says whether the expression needs what the script itself reads.
func (l *luaScript) readsScript(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.VarRef:
		_, bound := l.slots[e.Var]
		return bound
	case *ast.FieldOf:
		return l.readsScript(e.X)
	case *ast.Unary:
		return l.readsScript(e.X)
	case *ast.Binary:
		return l.readsScript(e.X) || l.readsScript(e.Y)
	case *ast.Cond:
		return l.readsScript(e.If) || l.readsScript(e.X) || l.readsScript(e.Y)
	case *ast.Hash:
		return slices.ContainsFunc(e.Args, l.readsScript)
	case *ast.Record:
		return slices.ContainsFunc(e.Cells, func(c ast.Cell) bool { return l.readsScript(c.Value) })
	}
	return false
}

// expr is Lua that gives the encoded value.
func (l *luaScript) expr(e ast.Expr) (string, error) {
	if !l.readsScript(e) {
		v, err := l.names.eval(e)
		return l.arg(v), err
	}
	switch e := e.(type) {
	case *ast.VarRef:
		return fmt.Sprintf("V[%d]", l.slots[e.Var]), nil
	case *ast.FieldOf:
		return l.fieldOf(e)
	case *ast.Record:
		return l.record(e)
	case *ast.Unary:
		if e.Op == ast.OpNeg {
			x, err := l.expr(e.X)
			return "neg(" + x + ")", err
		}
	case *ast.Binary:
		if fn := map[ast.Op]string{ast.OpAdd: "add", ast.OpSub: "sub"}[e.Op]; fn != "" {
			x, y, err := l.both(e)
			return fn + "(" + x + ", " + y + ")", err
		}
	case *ast.Cond:
		return l.cond(e)
	default:
		return "", fmt.Errorf("%s: %w: %s in a script of redis, over what the script has read", e.Position(), errUnsupported, e)
	}
	t, err := l.truth(e)
	return "bool(" + t + ")", err
}

func (l *luaScript) both(e *ast.Binary) (x, y string, err error) {
	if x, err = l.expr(e.X); err != nil {
		return "", "", err
	}
	y, err = l.expr(e.Y)
	return x, y, err
}

// cond chooses; every encoded value is true in Lua.
func (l *luaScript) cond(e *ast.Cond) (string, error) {
	c, err := l.truth(e.If)
	if err != nil {
		return "", err
	}
	x, err := l.expr(e.X)
	if err != nil {
		return "", err
	}
	y, err := l.expr(e.Y)
	return fmt.Sprintf("((%s) and %s or %s)", c, x, y), err
}

// truth is Lua that gives true or false.
func (l *luaScript) truth(e ast.Expr) (string, error) {
	switch e := e.(type) {
	case *ast.Unary:
		if e.Op == ast.OpNot {
			x, err := l.truth(e.X)
			return "not (" + x + ")", err
		}
	case *ast.Binary:
		if form := truthForms[e.Op]; form.text != "" {
			side := l.expr
			if form.logical {
				side = l.truth
			}
			x, err := side(e.X)
			if err != nil {
				return "", err
			}
			y, err := side(e.Y)
			return fmt.Sprintf(form.text, x, y), err
		}
	}
	x, err := l.expr(e)
	return x + " == 'btrue'", err
}

// truthForms are operators that give a truth value.
var truthForms = map[ast.Op]struct {
	text    string
	logical bool
}{
	ast.OpAnd: {"((%s) and (%s))", true}, ast.OpOr: {"((%s) or (%s))", true}, ast.OpImplies: {"(not (%s) or (%s))", true},
	ast.OpEq: {"(%s == %s)", false}, ast.OpNe: {"(%s ~= %s)", false},
	ast.OpLt: {"less(%s, %s)", false}, ast.OpLe: {"atmost(%s, %s)", false},
	ast.OpGt: {"less(%[2]s, %[1]s)", false}, ast.OpGe: {"atmost(%[2]s, %[1]s)", false},
}

func (l *luaScript) record(e *ast.Record) (string, error) {
	cells := slices.Clone(e.Cells)
	sort.Slice(cells, func(i, j int) bool { return cells[i].Name < cells[j].Name })
	var parts []string
	for _, c := range cells {
		v, err := l.expr(c.Value)
		if err != nil {
			return "", err
		}
		parts = append(parts, luaQuote(c.Name), v)
	}
	return "record(" + strings.Join(parts, ", ") + ")", nil
}

// fieldOf reads a field of a record, or a constant of an operation.
func (l *luaScript) fieldOf(e *ast.FieldOf) (string, error) {
	x, err := l.expr(e.X)
	if err != nil {
		return "", err
	}
	read := fmt.Sprintf("field(%s, %s)", x, luaQuote(e.Name))
	alt := e.X.Type().Find(ast.KindOperation)
	if alt == nil {
		return read, nil
	}
	var constants []string
	for i := range alt.Operation.Count {
		constants = append(constants, fmt.Sprintf("[%s] = %s", luaQuote(encode(opName(alt.Operation, i))), luaQuote(encode(opField(alt.Operation, i, e.Name)))))
	}
	return fmt.Sprintf("(({%s})[%s] or %s)", strings.Join(constants, ", "), x, read), nil
}

// luaQuote is a text as a Lua literal.
func luaQuote(s string) string {
	var b strings.Builder
	b.WriteByte('\'')
	for _, c := range []byte(s) {
		if c < ' ' || c == '\'' || c == '\\' || c > '~' {
			fmt.Fprintf(&b, "\\%03d", c)
			continue
		}
		b.WriteByte(c)
	}
	b.WriteByte('\'')
	return b.String()
}
