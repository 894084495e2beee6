package irtest

import (
	"slices"

	"github.com/relplan/relplan/modelcheck/ir"
)

// element draws an expression for an index.
func (g *gen) element(ix ir.Index, deep int) (ir.Expr, bool) {
	var es []ir.Expr
	for _, b := range g.scope {
		if b.ix == ix {
			es = append(es, ir.Of(b.l))
		}
	}
	if ix.Set != nil && ix.Set.Ordered && (len(es) == 0 || g.chance(40)) {
		if deep <= 0 {
			return ir.Num(g.int(-1, 3)), true
		}
		return g.number(deep), true
	}
	if ix.Set != nil && deep > 0 && (len(es) == 0 || g.chance(30)) {
		if e := g.read(func(t ir.Type) bool { return t.Kind == ir.Ref && t.Set == ix.Set }, deep-1); e != nil {
			return e, true
		}
	}
	if len(es) == 0 {
		return nil, false
	}
	return pick(g, es), true
}

// read loads some variable of a type that suits, nil if there is none.
func (g *gen) read(suits func(ir.Type) bool, deep int) ir.Expr {
	var vs []*ir.Var
	for _, v := range g.p.Vars {
		if suits(v.Type) && !slices.Contains(g.deny, v) && !g.isUsed(v) {
			vs = append(vs, v)
		}
	}
	if len(vs) == 0 {
		return nil
	}
	v := pick(g, vs)
	if at, ok := g.at(v, deep, nil); ok {
		return ir.Load{Var: v, At: at}
	}
	return nil
}

// value draws an expression that fits a type.
func (g *gen) value(t ir.Type, deep int) (ir.Expr, bool) {
	if t.Optional && g.chance(15) {
		return ir.Num(ir.None), true
	}
	if deep > 0 && g.chance(15) {
		a, ok := g.value(t, deep-1)
		b, ok2 := g.value(t, deep-1)
		return ir.Cond{If: g.bool(deep - 1), A: a, B: b}, ok && ok2
	}
	switch t.Kind {
	case ir.Bool:
		return g.bool(deep), true
	case ir.Range:
		return g.number(deep), true
	case ir.Enum:
		same := func(u ir.Type) bool { return u.Kind == ir.Enum && slices.Equal(u.Names, t.Names) }
		if e := g.read(same, deep-1); e != nil && g.chance(40) {
			return e, true
		}
		return ir.Num(g.int(0, len(t.Names)-1)), true
	case ir.Ref:
		return g.element(ir.Index{Set: t.Set}, deep)
	}
	e := g.read(func(u ir.Type) bool { return u.Kind == t.Kind && u.Sort == t.Sort }, deep-1)
	return e, e != nil
}

func isNumber(t ir.Type) bool {
	return t.Kind == ir.Range || t.Kind == ir.Ref && t.Set.Ordered
}

// number draws a number.
func (g *gen) number(deep int) ir.Expr {
	k := g.int(0, 9)
	switch {
	case deep <= 0 || k < 3:
		for _, b := range g.scope {
			if b.ix == (ir.Index{}) || b.ix.Set != nil && b.ix.Set.Ordered {
				if g.chance(40) {
					return ir.Of(b.l)
				}
			}
		}
		if e := g.read(isNumber, 0); e != nil && g.chance(60) {
			return e
		}
		return ir.Num(g.int(-1, 3))
	case k < 6:
		if e := g.read(isNumber, deep-1); e != nil {
			return e
		}
	case k == 6:
		return ir.Binary{Op: ir.Sub, A: g.number(deep - 1), B: g.number(deep - 1)}
	case k == 7:
		if l, ix, ok := g.binder(); ok {
			var w ir.Expr
			g.under(l, ix, func() { w = g.bool(deep - 1) })
			return ir.Count{Local: l, Over: ix, Where: w}
		}
	case k == 8:
		if l, ix, ok := g.binder(); ok {
			b := ir.Best{Local: l, Over: ix, Max: g.chance(50)}
			g.under(l, ix, func() { b.Where, b.Of = g.bool(deep-1), g.number(deep-1) })
			return b
		}
	}
	return ir.Binary{Op: ir.Add, A: g.number(deep - 1), B: ir.Num(g.int(-1, 2))}
}

// binder draws what a quantifier ranges over.
func (g *gen) binder() (*ir.Local, ir.Index, bool) {
	ix := g.index()
	return g.local(), ix, ix.Pool == nil || !slices.Contains(g.deny, ix.Pool.Used)
}

// bool draws a condition.
func (g *gen) bool(deep int) ir.Expr {
	if deep < -1 {
		return ir.Flag(g.chance(60))
	}
	k := g.int(0, 11)
	switch {
	case k < 2 && deep > 0:
		return ir.Binary{Op: ir.BinOp(g.int(int(ir.And), int(ir.Or))), A: g.bool(deep - 1), B: g.bool(deep - 1)}
	case k == 2 && deep > 0:
		return ir.Not{A: g.bool(deep - 1)}
	case k == 3 && deep > 0:
		if l, ix, ok := g.binder(); ok {
			e := ir.Exists{Local: l, Over: ix}
			g.under(l, ix, func() { e.Where = g.bool(deep - 1) })
			return e
		}
	case k == 4:
		return ir.Binary{Op: ir.BinOp(g.int(int(ir.Eq), int(ir.Le))), A: g.number(deep - 1), B: g.number(deep - 1)}
	case k == 5:
		if e := g.read(func(t ir.Type) bool { return t.Kind == ir.Bool }, deep-1); e != nil {
			return e
		}
	case k == 6:
		if e := g.rankComparison(deep); e != nil {
			return e
		}
	}
	return g.equality(deep)
}

func (g *gen) rankComparison(deep int) ir.Expr {
	rank := func(t ir.Type) bool { return t.Kind == ir.Rank }
	a, b := g.read(rank, deep-1), g.read(rank, deep-1)
	if a == nil || b == nil {
		return nil
	}
	return ir.Binary{Op: ir.BinOp(g.int(int(ir.Eq), int(ir.Le))), A: a, B: b}
}

// equality compares two values of one type, or a value with none.
func (g *gen) equality(deep int) ir.Expr {
	v := pick(g, g.p.Vars)
	if slices.Contains(g.deny, v) || g.isUsed(v) {
		return ir.Flag(g.chance(70))
	}
	at, ok := g.at(v, deep-1, nil)
	if !ok {
		return ir.Flag(g.chance(70))
	}
	e, ok := g.value(v.Type, deep-1)
	if !ok || g.chance(20) {
		e = ir.Num(ir.None)
	}
	op := ir.Eq
	if g.chance(40) {
		op = ir.Ne
	}
	return ir.Binary{Op: op, A: ir.Load{Var: v, At: at}, B: e}
}

// FromModel reads a packed state of a compiled program.
func FromModel(m *ir.Model, s []uint64) State {
	out := State{}
	for _, v := range m.Program.Vars {
		for _, at := range combos(v.Index) {
			out[Key(v, at...)] = m.Value(s, v, at...)
		}
	}
	return out
}
