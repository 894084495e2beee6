package lower

import "github.com/relplan/relplan/modelcheck/ir"

// The helpers below build expressions and drop what is constant, so that a
// branch that cannot be taken is never emitted.

var (
	yes = ir.Expr(ir.Const{Value: 1})
	no  = ir.Expr(ir.Const{Value: 0})
)

func num(v int) ir.Expr { return ir.Const{Value: v} }

var none = num(ir.None)

// constant gives the value of a constant expression.
func constant(e ir.Expr) (int, bool) {
	c, ok := e.(ir.Const)
	return c.Value, ok
}

func truth(e ir.Expr) (value, known bool) {
	v, ok := constant(e)
	return v != 0 && v != ir.None, ok
}

func isTrue(e ir.Expr) bool  { v, ok := truth(e); return ok && v }
func isFalse(e ir.Expr) bool { v, ok := truth(e); return ok && !v }

func and(es ...ir.Expr) ir.Expr {
	out := yes
	for _, e := range es {
		switch {
		case e == nil || isTrue(e):
		case isFalse(e):
			return no
		case isTrue(out):
			out = e
		default:
			out = ir.Binary{Op: ir.And, A: out, B: e}
		}
	}
	return out
}

func or(es ...ir.Expr) ir.Expr {
	out := no
	for _, e := range es {
		switch {
		case e == nil || isFalse(e):
		case isTrue(e):
			return yes
		case isFalse(out):
			out = e
		default:
			out = ir.Binary{Op: ir.Or, A: out, B: e}
		}
	}
	return out
}

func not(e ir.Expr) ir.Expr {
	if v, ok := truth(e); ok {
		if v {
			return no
		}
		return yes
	}
	if n, ok := e.(ir.Not); ok {
		return n.A
	}
	return ir.Not{A: e}
}

func same(a, b ir.Expr) ir.Expr {
	x, okx := constant(a)
	y, oky := constant(b)
	if okx && oky {
		return ir.Flag(x == y)
	}
	if u, ok := a.(ir.Use); ok {
		if v, ok := b.(ir.Use); ok && u.Local == v.Local {
			return yes
		}
	}
	return ir.Binary{Op: ir.Eq, A: a, B: b}
}

func differ(a, b ir.Expr) ir.Expr {
	x, okx := constant(a)
	y, oky := constant(b)
	if okx && oky {
		return ir.Flag(x != y)
	}
	return ir.Binary{Op: ir.Ne, A: a, B: b}
}

func order(op ir.BinOp, a, b ir.Expr) ir.Expr {
	x, okx := constant(a)
	y, oky := constant(b)
	if okx && oky {
		if x == ir.None || y == ir.None {
			return no
		}
		if op == ir.Lt {
			return ir.Flag(x < y)
		}
		return ir.Flag(x <= y)
	}
	return ir.Binary{Op: op, A: a, B: b}
}

func sum(op ir.BinOp, a, b ir.Expr) ir.Expr {
	x, okx := constant(a)
	y, oky := constant(b)
	if okx && oky {
		switch {
		case x == ir.None || y == ir.None:
			return none
		case op == ir.Add:
			return num(x + y)
		default:
			return num(x - y)
		}
	}
	return ir.Binary{Op: op, A: a, B: b}
}

// pick is a if c holds, else b.
func pick(c, a, b ir.Expr) ir.Expr {
	if v, ok := truth(c); ok {
		if v {
			return a
		}
		return b
	}
	if x, ok := constant(a); ok {
		if y, ok := constant(b); ok && x == y {
			return a
		}
	}
	return ir.Cond{If: c, A: a, B: b}
}

func exists(l *ir.Local, over ir.Index, where ir.Expr) ir.Expr {
	if isFalse(where) {
		return no
	}
	return ir.Exists{Local: l, Over: over, Where: where}
}

func count(l *ir.Local, over ir.Index, where ir.Expr) ir.Expr {
	if isFalse(where) {
		return num(0)
	}
	return ir.Count{Local: l, Over: over, Where: where}
}

func use(l *ir.Local) ir.Expr { return ir.Use{Local: l} }

func load(v *ir.Var, at ...ir.Expr) ir.Expr { return ir.Load{Var: v, At: at} }

func set(v *ir.Var, value ir.Expr, at ...ir.Expr) ir.Stmt {
	return ir.Assign{Var: v, At: at, Value: value}
}

// when runs body if c holds; nothing is emitted for what is constant.
func when(c ir.Expr, then, els []ir.Stmt) []ir.Stmt {
	if v, ok := truth(c); ok {
		if v {
			return then
		}
		return els
	}
	if len(then) == 0 && len(els) == 0 {
		return nil
	}
	return []ir.Stmt{ir.If{Cond: c, Then: then, Else: els}}
}

// known says whether e is certainly a value, never None, and which.
func known(e ir.Expr) bool {
	v, ok := constant(e)
	return ok && v != ir.None
}
