package irtest

import (
	"fmt"

	"github.com/relplan/relplan/modelcheck/ir"
	"pgregory.net/rapid"
)

// RandomLocal draws a program whose process has many variables of its own that
// often follow from its program counter: constants, copies, and what conditions
// say. It aims at the elimination of such variables.
func RandomLocal(t *rapid.T) *ir.Program {
	g := &localGen{gen: gen{t: t}, u: &ir.Set{Name: "worker", Size: 2}, m: &ir.Set{Name: "message", Size: 2}}
	g.declare()
	for at := range g.q.Locations {
		for range g.int(1, 2) {
			g.action(at)
		}
	}
	if g.chance(50) {
		g.crash()
	}
	return g.p
}

type localGen struct {
	gen
	u, m    *ir.Set
	q       *ir.Proc
	pc      *ir.Var
	own     []*ir.Var
	mark    *ir.Var // global, bool
	last    *ir.Var // global, message or none
	subject *ir.Local
	param   *ir.Local // nil: none
}

func (g *localGen) declare() {
	names := []string{"A", "B", "C", "D"}[:g.int(2, 4)]
	g.pc = &ir.Var{Name: "pc", Index: ir.Several(g.u), Type: ir.Type{Kind: ir.Enum, Names: names}}
	g.q = &ir.Proc{Name: "worker", Instances: g.u, PC: g.pc, Locations: names}
	g.mark = &ir.Var{Name: "mark"}
	g.last = &ir.Var{Name: "last", Type: ir.Type{Kind: ir.Ref, Set: g.m, Optional: true}, Initial: ir.None}
	g.p = &ir.Program{Name: "local", Sets: []*ir.Set{g.u, g.m}, Procs: []*ir.Proc{g.q}, Vars: []*ir.Var{g.pc, g.mark, g.last}}
	for i := range g.int(2, 4) {
		v := &ir.Var{Name: fmt.Sprint("x", i), Index: ir.Several(g.u), Type: ir.Type{Kind: ir.Range, Hi: 2}}
		switch {
		case g.chance(50):
			v.Type, v.Initial = g.last.Type, ir.None
		case g.chance(40):
			v.Type = ir.Type{Kind: ir.Bool}
		}
		g.own = append(g.own, v)
	}
	g.p.Vars = append(g.p.Vars, g.own...)
}

func (g *localGen) action(at int) {
	g.subject, g.param = &ir.Local{Name: "self"}, nil
	a := &ir.Action{Name: fmt.Sprint("a", len(g.p.Actions)), Proc: g.q, At: at, Self: g.subject}
	if g.chance(50) {
		g.param = &ir.Local{Name: "m"}
		a.Params = []ir.Param{ir.Pick(g.param, ir.In(g.m))}
	}
	if g.chance(30) {
		a.Guard = g.condition()
	}
	a.Body = g.body(g.int(1, 4), 2)
	if g.chance(85) {
		a.Body = append(a.Body, g.goTo())
	}
	g.p.Actions = append(g.p.Actions, a)
}

func (g *localGen) crash() {
	g.subject, g.param = &ir.Local{Name: "w"}, nil
	g.p.Actions = append(g.p.Actions, &ir.Action{Name: "crash", Kind: ir.Fault, Params: []ir.Param{ir.Pick(g.subject, ir.In(g.u))},
		Guard: ir.Differ(ir.Get(g.pc, ir.Of(g.subject)), ir.Num(0)), Body: append(g.body(g.int(1, 3), 1), g.goTo())})
}

func (g *localGen) goTo() ir.Stmt {
	return ir.Store(g.pc, ir.Num(g.int(0, len(g.q.Locations)-1)), ir.Of(g.subject))
}

func (g *localGen) body(n, deep int) []ir.Stmt {
	var out []ir.Stmt
	for range n {
		out = append(out, g.statement(deep))
	}
	return out
}

func (g *localGen) statement(deep int) ir.Stmt {
	v := pick(&g.gen, g.own)
	self := ir.Of(g.subject)
	switch k := g.int(0, 11); {
	case k == 0 && deep > 0:
		s := ir.If{Cond: g.condition(), Then: g.body(g.int(1, 2), deep-1)}
		if g.chance(50) {
			s.Else = g.body(1, deep-1)
		}
		return s
	case k == 1 && deep > 0:
		return ir.ForEach{Local: &ir.Local{Name: "l"}, Over: ir.In(g.m), Body: []ir.Stmt{ir.Store(v, ir.Num(v.Initial), self)}}
	case k == 2:
		return ir.Store(g.mark, g.condition())
	case k == 3:
		return ir.Store(g.last, g.value(g.last))
	case k == 4:
		return g.goTo()
	}
	return ir.Store(v, g.value(v), self)
}

// value suits the variable's type and is always one of its values.
func (g *localGen) value(v *ir.Var) ir.Expr {
	es := []ir.Expr{ir.Num(v.Initial), ir.Num(v.Initial)}
	switch v.Type.Kind {
	case ir.Range:
		es = append(es, ir.Num(g.int(0, 2)))
	case ir.Bool:
		es = append(es, ir.Num(g.int(0, 1)))
	default:
		es = append(es, ir.Get(g.last))
		if g.param != nil {
			es = append(es, ir.Of(g.param), ir.Of(g.param))
		}
	}
	for _, w := range g.own {
		if w != v && w.Type.Kind == v.Type.Kind {
			es = append(es, ir.Get(w, ir.Of(g.subject)))
		}
	}
	return pick(&g.gen, es)
}

func (g *localGen) condition() ir.Expr {
	v, self := pick(&g.gen, g.own), ir.Of(g.subject)
	if v.Type.Kind == ir.Bool && g.chance(60) {
		return ir.Get(v, self)
	}
	switch g.int(0, 5) {
	case 0:
		return ir.Get(g.mark)
	case 1:
		w := &ir.Local{Name: "w"}
		return ir.Exists{Local: w, Over: ir.In(g.u), Where: ir.Same(ir.Get(v, ir.Of(w)), g.value(v))}
	case 2:
		return ir.Differ(ir.Get(v, self), ir.Num(v.Initial))
	case 3:
		return ir.Not{A: ir.Is(ir.Get(g.pc, self), g.int(0, len(g.q.Locations)-1))}
	}
	return ir.Same(ir.Get(v, self), g.value(v))
}
