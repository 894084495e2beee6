package lower

import (
	"fmt"

	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// scope is what the names of an expression mean.
type scope struct {
	lw *lowering
	// me is the instance the expression is of, nil outside a process.
	proc *process
	me   ir.Expr
	// names gives the value of a bound name.
	names func(*ast.Var) value
	// row gives a column (or key, value, field of the value) of the candidate.
	row func(*ast.ColumnRef) value
	ops map[*ast.OpVar]ir.Expr
	// instance is the instance an InstanceVar of a promise speaks of.
	instance map[*ast.Process]ir.Expr
	// constOp replaces a constant operation in the initial rows of `each OP`.
	constOp func(*ast.OpConst) (ir.Expr, bool)
	// fresh makes a new token; nil where no statement can be emitted.
	fresh func() ir.Expr
	// settled is the meaning of settled(COL) for the candidate row.
	settled func(*ast.ColumnRef) ir.Expr
}

// with is a copy of the scope whose candidate row is row.
func (sc scope) with(row func(*ast.ColumnRef) value) scope {
	sc.row = row
	return sc
}

// value evaluates an expression.
func (sc scope) value(e ast.Expr) value {
	lw := sc.lw
	switch x := e.(type) {
	case nil:
		return value{}
	case *ast.Lit:
		return lw.literal(x.Value)
	case *ast.OpConst:
		if sc.constOp != nil {
			if e, ok := sc.constOp(x); ok {
				return lw.operation(x.Operation, e)
			}
		}
		lw.opSet(x.Operation).Ordered = true
		return lw.operation(x.Operation, num(x.Index))
	case *ast.OpVar:
		return lw.operation(x.Operation, sc.ops[x])
	case *ast.OpWhere:
		return sc.opWhere(x)
	case *ast.VarRef:
		return sc.names(x.Var)
	case *ast.InstanceVar:
		return sc.of(x.Process).names(x.Var)
	case *ast.FieldOf:
		return sc.fieldOf(x)
	case *ast.ColumnRef:
		return sc.row(x)
	case *ast.Me:
		return lw.instance(sc.proc.ast, sc.me)
	case *ast.MyRun:
		return newValue(leaf{"/t", ir.Type{Kind: ir.Token, Optional: true}, load(lw.runToken(sc.proc), sc.me)})
	case *ast.Fresh:
		return newValue(leaf{"/t", ir.Type{Kind: ir.Token, Optional: true}, sc.fresh()})
	case *ast.Hash:
		var ls []leaf
		for i, a := range x.Args {
			ls = append(ls, sc.value(a).below(fmt.Sprintf("/h%d.%d", len(x.Args), i))...)
		}
		return newValue(ls...)
	case *ast.Record:
		ls := []leaf{here(yes)}
		for _, c := range x.Cells {
			ls = append(ls, sc.value(c.Value).below("."+c.Name)...)
		}
		return newValue(ls...)
	case *ast.Cond:
		return choice(sc.cond(x.If), sc.value(x.X), sc.value(x.Y))
	case *ast.Binary:
		if x.Op == ast.OpAdd || x.Op == ast.OpSub {
			op := ir.Add
			if x.Op == ast.OpSub {
				op = ir.Sub
			}
			return integer(sum(op, sc.value(x.X).at("/i"), sc.value(x.Y).at("/i")), -1<<20, 1<<20, true)
		}
	case *ast.Unary:
		if x.Op == ast.OpNeg {
			return integer(sum(ir.Sub, num(0), sc.value(x.X).at("/i")), -1<<20, 1<<20, true)
		}
	case *ast.CountRows:
		if !x.Exists {
			return integer(sc.countRows(x), 0, 1<<20, false)
		}
	case *ast.CountEffect:
		return integer(sc.countEffect(x), 0, 1<<20, false)
	case *ast.CountOps:
		if !x.Exists {
			return integer(sc.countOps(x), 0, 1<<20, false)
		}
	case *ast.Spent:
		return integer(lw.spent(x.Faults), 0, 1<<20, false)
	}
	return boolean(sc.cond(e))
}

// of is the scope of the instance a promise speaks of.
func (sc scope) of(p *ast.Process) scope {
	q := sc.lw.process(p)
	me := sc.instance[p]
	inner := sc
	inner.proc, inner.me = q, me
	inner.names = func(v *ast.Var) value { return q.stored(v, me) }
	return inner
}

func (sc scope) fieldOf(x *ast.FieldOf) value {
	v := sc.value(x.X)
	if o := operationOf(x.X.Type()); o != nil {
		if f := o.Field(x.Name); f != nil {
			if l, ok := v.find("/o:" + o.Name); ok {
				return sc.lw.opField(f, l.e)
			}
		}
	}
	return v.field(x.Name)
}

// operationOf is the operation an expression of that type is, nil if it is none.
func operationOf(t *ast.Type) *ast.Operation {
	if a := t.Find(ast.KindOperation); a != nil {
		return a.Operation
	}
	return nil
}

// opField is the constant of an operation.
func (lw *lowering) opField(f *ast.OpField, op ir.Expr) value {
	key := "/f:" + f.Operation.Name + "." + f.Name
	switch f.Kind {
	case ast.FieldSame:
		return newValue(leaf{key, ir.Type{Kind: ir.Range, Optional: true}, pick(same(op, none), none, num(0))})
	case ast.FieldDistinct:
		t := refTo(lw.opSet(f.Operation))
		t.Optional = true
		return newValue(leaf{key, t, op})
	case ast.FieldAny:
		return lw.anyField(f, op)
	}
	lw.opSet(f.Operation).Ordered = true
	v := value{}
	for i := len(f.Values) - 1; i >= 0; i-- {
		c := lw.literal(f.Values[i])
		if i == len(f.Values)-1 {
			v = c
			continue
		}
		v = choice(same(op, num(i)), c, v)
	}
	return v
}

func (sc scope) opWhere(x *ast.OpWhere) value {
	s := sc.lw.opSet(x.Bound.Operation)
	s.Ordered = true
	l := &ir.Local{Name: x.Bound.Operation.Name}
	inner := sc.bindOp(x.Bound, use(l))
	return sc.lw.operation(x.Bound.Operation, ir.Best{Local: l, Over: ir.In(s), Where: inner.cond(x.Where), Of: use(l)})
}

func (sc scope) bindOp(v *ast.OpVar, e ir.Expr) scope {
	ops := map[*ast.OpVar]ir.Expr{v: e}
	for k, o := range sc.ops {
		if k != v {
			ops[k] = o
		}
	}
	sc.ops = ops
	return sc
}

// literal is a constant.
func (lw *lowering) literal(v ast.Value) value {
	switch v.Kind {
	case ast.BoolValue:
		return boolean(ir.Flag(v.Bool))
	case ast.IntValue:
		return integer(num(v.Int), v.Int, v.Int, false)
	case ast.SymbolValue, ast.TextValue:
		return newValue(leaf{"/s", lw.symbolType(), num(lw.symbol(v))})
	}
	return value{}
}

func (lw *lowering) instance(p *ast.Process, e ir.Expr) value {
	return newValue(leaf{"/p:" + p.Name, refTo(lw.instances(p)), e})
}

// cond evaluates a condition.
func (sc scope) cond(e ast.Expr) ir.Expr {
	switch x := e.(type) {
	case nil:
		return yes
	case *ast.Lit:
		return ir.Flag(x.Value.Kind == ast.BoolValue && x.Value.Bool)
	case *ast.Unary:
		if x.Op == ast.OpNot {
			return not(sc.cond(x.X))
		}
	case *ast.Binary:
		return sc.binary(x)
	case *ast.CountRows:
		if x.Exists {
			return sc.existsRows(x)
		}
	case *ast.CountOps:
		if x.Exists {
			l := &ir.Local{Name: x.Bound.Operation.Name}
			return exists(l, ir.In(sc.lw.opSet(x.Bound.Operation)), sc.bindOp(x.Bound, use(l)).cond(x.Where))
		}
	case *ast.AgeOver:
		return sc.ageOver(x)
	case *ast.Settled:
		return sc.settled(x.Column)
	case *ast.Alive:
		return sc.alive(x)
	case *ast.AtStep:
		return sc.atStep(x)
	case *ast.Answered:
		return sc.lw.answered(sc.value(x.Operation), x.Reply)
	case *ast.Handed:
		return sc.lw.handedOver(sc.value(x.Operation))
	case *ast.Ended:
		return sc.lw.endedOp(sc.value(x.Operation))
	case *ast.Cond:
		return pick(sc.cond(x.If), sc.cond(x.X), sc.cond(x.Y))
	}
	l, ok := sc.value(e).find("/b")
	if !ok {
		return no
	}
	if !l.typ.Optional {
		return l.e
	}
	return same(l.e, num(1))
}

func (sc scope) binary(x *ast.Binary) ir.Expr {
	switch x.Op {
	case ast.OpAnd:
		return and(sc.cond(x.X), sc.cond(x.Y))
	case ast.OpOr:
		return or(sc.cond(x.X), sc.cond(x.Y))
	case ast.OpImplies:
		return or(not(sc.cond(x.X)), sc.cond(x.Y))
	case ast.OpEq:
		return equal(sc.value(x.X), sc.value(x.Y))
	case ast.OpNe:
		return not(equal(sc.value(x.X), sc.value(x.Y)))
	}
	a, b := sc.value(x.X), sc.value(x.Y)
	switch x.Op {
	case ast.OpLt:
		return less(ir.Lt, a, b)
	case ast.OpLe:
		return less(ir.Le, a, b)
	case ast.OpGt:
		return less(ir.Lt, b, a)
	case ast.OpGe:
		return less(ir.Le, b, a)
	}
	return no
}

// less compares integers or positions.
func less(op ir.BinOp, a, b value) ir.Expr {
	out := no
	for _, l := range a.leaves {
		if l.key != "/i" && !isPosition(l.key) {
			continue
		}
		if m, ok := b.find(l.key); ok {
			out = or(out, order(op, l.e, m.e))
		}
	}
	return out
}

func isPosition(key string) bool { return len(key) > 2 && key[:3] == "/n:" }

func (sc scope) countOps(x *ast.CountOps) ir.Expr {
	l := &ir.Local{Name: x.Bound.Operation.Name}
	return count(l, ir.In(sc.lw.opSet(x.Bound.Operation)), sc.bindOp(x.Bound, use(l)).cond(x.Where))
}

func (sc scope) countEffect(x *ast.CountEffect) ir.Expr {
	lw := sc.lw
	if x.Operation != nil {
		return lw.effectCount(x.Effect, sc.value(x.Operation))
	}
	total := num(0)
	for _, o := range x.Effect.Operations {
		s := lw.opSet(o)
		// The sum over interchangeable elements: each level that a counter has
		// reached adds one.
		for k := 1; k <= lw.effectMax(x.Effect); k++ {
			l := &ir.Local{Name: o.Name}
			total = sum(ir.Add, total, count(l, ir.In(s), order(ir.Le, num(k), load(lw.effectVar(x.Effect, o), use(l)))))
		}
	}
	return total
}

func (sc scope) alive(x *ast.Alive) ir.Expr {
	out := no
	for _, l := range sc.value(x.X).leaves {
		switch {
		case len(l.key) > 3 && l.key[:3] == "/p:":
			// An instance has no down state (R26): its name is alive even when the
			// run that wrote it is dead. my_run tells them apart.
			out = or(out, differ(l.e, none))
		case l.key == "/t":
			for _, p := range sc.lw.order {
				if p.run == nil {
					continue
				}
				w := &ir.Local{Name: "w"}
				out = or(out, and(differ(l.e, none),
					exists(w, ir.In(p.set), and(differ(load(p.pc, use(w)), num(0)), same(load(p.run, use(w)), l.e)))))
			}
		}
	}
	return out
}

func (sc scope) atStep(x *ast.AtStep) ir.Expr {
	p := sc.lw.process(x.Process)
	me := sc.instance[x.Process]
	loc, ok := p.locationOf(x.Step)
	if !ok {
		return no
	}
	return same(load(p.pc, me), num(loc))
}
