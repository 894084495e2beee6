package specs

import (
	"errors"
	"strings"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/expr"
	"github.com/relplan/relplan/internal/yamlx"
	"github.com/relplan/relplan/specs/ast"
)

// scope is what the names of an expression may mean.
type scope struct {
	d    *decoder
	proc *ast.Process // bound names of this process; nil in promises and initially

	table   *ast.Table    // candidate row, or
	store   *ast.Resource // candidate entry of a kv
	columns bool          // a bare name is a column of it first
	bare    bool          // a bare name can only be a column (partial unique keys)

	sql     *ast.Resource // a where: may read other tables of this resource (R36)
	promise bool          // counts, at(), answered(), operations and processes by name
	check   *checkScope   // what a promise speaks of
	bound   *ast.OpVar    // inside count(OP where ..) and the OP where ..
	static  bool          // initially: constants and each
	each    *ast.OpConst  // the operation of `each OP` in this row
	words   bool          // a bare word is a constant (beside a parameter)

	src *yamlx.Node // for positions
}

// checkScope collects the operation or process a check is stated for.
type checkScope struct {
	bound *ast.OpVar
	proc  *ast.Process
}

func (s scope) pos(n expr.Node) diag.Pos {
	a, b := n.Span()
	return span(s.src, a, b)
}

// span gives the position of characters a to b of a scalar.
func span(n *yamlx.Node, a, b int) diag.Pos {
	p, q := n.At(a), n.At(b)
	if q.Line == p.Line && q.Column > p.Column {
		p.EndColumn = q.Column
	}
	return p
}

// expr reads the expression in the scalar n into *into and registers it for
// typing. Nothing is stored after an error.
func (d *decoder) expr(into *ast.Expr, n *yamlx.Node, at diag.Pos, sc scope) {
	n = d.sub(n)
	switch n.Kind() {
	case yamlx.Mapping:
		cells := d.cells(n, at, cellRecord{}, sc)
		if cells == nil {
			return
		}
		*into = &ast.Record{Base: ast.Base{At: n.Pos()}, Cells: cells}
		d.inf.slot(into, sc)
		return
	case yamlx.Scalar:
	default:
		d.wanted(n, at, "RP020", "an expression", "")
		return
	}
	if n.Quoted() && plainText(n.Value()) {
		*into = &ast.Lit{Base: ast.Base{At: n.Pos()}, Value: ast.Value{Kind: ast.TextValue, Text: n.Value()}}
		d.inf.slot(into, sc)
		return
	}
	d.exprText(into, n, sc)
}

// plainText says whether quoted text is a text and not a quoted expression:
// one word, without a call, an operator or a field.
func plainText(s string) bool {
	for _, r := range s {
		if r != '-' && r != '/' && r != ':' && r != '_' && !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			return false
		}
	}
	return s != "" && s != "none"
}

// exprText reads the text of n as an expression, whatever its quotes.
func (d *decoder) exprText(into *ast.Expr, n *yamlx.Node, sc scope) {
	if e := d.parseExpr(n, 0, n.Value(), sc); e != nil {
		*into = e
		d.inf.slot(into, sc)
	}
}

// parseExpr reads text, which starts at character offset of the scalar n.
func (d *decoder) parseExpr(n *yamlx.Node, offset int, text string, sc scope) ast.Expr {
	tree, err := expr.Parse(strings.Repeat(" ", offset) + text)
	if err != nil {
		d.syntax(n, err)
		return nil
	}
	sc.src = n
	return sc.resolve(tree)
}

func (d *decoder) syntax(n *yamlx.Node, err error) {
	var e *expr.Error
	if !errors.As(err, &e) {
		d.errorf(n.Pos(), "RP020", "%s", err)
		return
	}
	d.l.Add(diag.Diagnostic{Code: "RP020", Pos: span(n, e.Start, e.End), Message: e.Error(), Found: e.Found, Expected: e.Expected, Hint: e.Hint})
}

// resolve gives the typed tree of n; nil after an error.
func (s scope) resolve(n expr.Node) ast.Expr {
	base := ast.Base{At: s.pos(n)}
	switch x := n.(type) {
	case *expr.Word:
		return s.word(x)
	case *expr.Int:
		return &ast.Lit{Base: base, Value: ast.Value{Kind: ast.IntValue, Int: x.Value}}
	case *expr.Text:
		return &ast.Lit{Base: base, Value: ast.Value{Kind: ast.TextValue, Text: x.Value}}
	case *expr.Field:
		return s.field(x, base)
	case *expr.Unary:
		v := s.resolve(x.X)
		if v == nil {
			return nil
		}
		if x.Op == "not" {
			return fold(&ast.Unary{Base: base, Op: ast.OpNot, X: v})
		}
		return &ast.Unary{Base: base, Op: ast.OpNeg, X: v}
	case *expr.Binary:
		return s.binary(x, base)
	case *expr.In:
		return s.in(x, base)
	case *expr.Cond:
		c, a, b := s.resolve(x.If), s.resolve(x.X), s.resolve(x.Y)
		if c == nil || a == nil || b == nil {
			return nil
		}
		return fold(&ast.Cond{Base: base, If: c, X: a, Y: b})
	case *expr.Call:
		return s.call(x, base)
	case *expr.The:
		return s.the(x, base)
	case *expr.Each:
		return s.eachOp(x, base)
	case *expr.List:
		s.d.l.Add(diag.Diagnostic{Code: "RP021", Pos: base.At, Message: "a list is not a value", Hint: "lists stand behind 'in', and in only: beside a parameter"})
		return nil
	}
	s.d.errorf(base.At, "RP020", "not an expression")
	return nil
}

var binaryOps = map[string]ast.Op{"==": ast.OpEq, "!=": ast.OpNe, "<": ast.OpLt, "<=": ast.OpLe, ">": ast.OpGt, ">=": ast.OpGe,
	"and": ast.OpAnd, "or": ast.OpOr, "implies": ast.OpImplies, "+": ast.OpAdd, "-": ast.OpSub}

func (s scope) binary(x *expr.Binary, base ast.Base) ast.Expr {
	if c, ok := x.X.(*expr.Call); ok && c.Func == "age" && s.ageOperator(x.Op) {
		return s.age(c, x, base)
	}
	sx, sy := s, s
	if x.Op == "==" || x.Op == "!=" { // `fix == dedupe_table`: a bare word beside a parameter
		sx.words, sy.words = s.isParam(x.Y), s.isParam(x.X)
	}
	a, b := sx.resolve(x.X), sy.resolve(x.Y)
	if a == nil || b == nil {
		return nil
	}
	return fold(&ast.Binary{Base: base, Op: binaryOps[x.Op], X: a, Y: b})
}

func (s scope) ageOperator(op string) bool { return op == ">" || op == ">=" || op == "<" || op == "<=" }

func (s scope) isParam(n expr.Node) bool {
	w, ok := n.(*expr.Word)
	if !ok {
		return false
	}
	_, is := s.d.params[strings.TrimPrefix(w.Name, "$")]
	return is && (s.proc == nil || s.proc.Var(w.Name) == nil)
}

func (s scope) in(x *expr.In, base ast.Base) ast.Expr {
	var out ast.Expr
	for _, item := range x.List.Items {
		a, b := s.resolve(x.X), s.resolve(item)
		if a == nil || b == nil {
			return nil
		}
		var eq ast.Expr = fold(&ast.Binary{Base: base, Op: ast.OpEq, X: a, Y: b})
		if out == nil {
			out = eq
		} else {
			out = fold(&ast.Binary{Base: base, Op: ast.OpOr, X: out, Y: eq})
		}
	}
	if out == nil {
		out = boolLit(base, false)
	}
	if x.Not {
		return fold(&ast.Unary{Base: base, Op: ast.OpNot, X: out})
	}
	return out
}

func boolLit(base ast.Base, v bool) *ast.Lit {
	return &ast.Lit{Base: base, Value: ast.Value{Kind: ast.BoolValue, Bool: v}}
}

// fold computes what is constant, which is what parameters leave behind.
func fold(e ast.Expr) ast.Expr {
	truth := func(x ast.Expr) (bool, bool) {
		l, ok := x.(*ast.Lit)
		if !ok || l.Value.Kind != ast.BoolValue {
			return false, false
		}
		return l.Value.Bool, true
	}
	switch x := e.(type) {
	case *ast.Unary:
		if v, ok := truth(x.X); ok && x.Op == ast.OpNot {
			return boolLit(x.Base, !v)
		}
	case *ast.Cond:
		if v, ok := truth(x.If); ok {
			if v {
				return x.X
			}
			return x.Y
		}
	case *ast.Binary:
		l, lok := x.X.(*ast.Lit)
		r, rok := x.Y.(*ast.Lit)
		if lok && rok && (x.Op == ast.OpEq || x.Op == ast.OpNe) {
			return boolLit(x.Base, (l.Value == r.Value) == (x.Op == ast.OpEq))
		}
		lv, lok := truth(x.X)
		rv, rok := truth(x.Y)
		switch {
		case x.Op == ast.OpAnd && lok:
			return pick(lv, x.Y, x.X)
		case x.Op == ast.OpAnd && rok:
			return pick(rv, x.X, x.Y)
		case x.Op == ast.OpOr && lok:
			return pick(lv, x.X, x.Y)
		case x.Op == ast.OpOr && rok:
			return pick(rv, x.Y, x.X)
		}
	}
	return e
}

func pick(c bool, a, b ast.Expr) ast.Expr {
	if c {
		return a
	}
	return b
}
