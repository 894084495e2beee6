package irtest

import (
	"fmt"
	"slices"

	"github.com/relplan/relplan/modelcheck/ir"
	"pgregory.net/rapid"
)

// Random draws a random well-typed program: sets of both sorts, a pool,
// tokens and ranks, processes and environment actions, budgets, and promises of
// every kind. It is small, but its graph may be cyclic and may have cut states.
func Random(t *rapid.T) *ir.Program {
	g := &gen{t: t, p: &ir.Program{Name: "random"}, latches: map[*ir.Var]bool{}, own: map[*ir.Proc][]*ir.Var{}}
	g.sets()
	g.procs()
	g.variables()
	g.actions()
	g.initial()
	g.properties()
	return g.p
}

type gen struct {
	t       *rapid.T
	p       *ir.Program
	n       int // for names
	budgets []*ir.Var
	latches map[*ir.Var]bool
	own     map[*ir.Proc][]*ir.Var // that each action of the process sets
	scope   []bound
	deny    []*ir.Var // variables that must not be read here
	lasting bool      // a property: no slots in scope
}

// bound is a local in scope and what it ranges over.
type bound struct {
	l  *ir.Local
	ix ir.Index
}

// int draws uniformly, unlike rapid's ranges, which favour small numbers: the
// programs would have hardly any states.
func (g *gen) int(lo, hi int) int {
	return lo + uniform(hi-lo+1).Draw(g.t, "n")
}

func uniform(n int) *rapid.Generator[int] {
	return rapid.Custom(func(t *rapid.T) int {
		x := 0
		for m := 1; m < 4*n; m *= 2 {
			x *= 2
			if coin.Draw(t, "coin") {
				x++
			}
		}
		return x % n
	})
}

var coin = rapid.Bool()

func (g *gen) chance(pc int) bool { return g.int(1, 100) <= pc }
func (g *gen) name(s string) string {
	g.n++
	return fmt.Sprint(s, g.n)
}

func (g *gen) local() *ir.Local { return &ir.Local{Name: g.name("l")} }

func pick[T any](g *gen, xs []T) T { return xs[g.int(0, len(xs)-1)] }

func (g *gen) sets() {
	for range g.int(1, 2) {
		g.p.Sets = append(g.p.Sets, &ir.Set{Name: g.name("u"), Size: g.int(1, 3)})
	}
	if g.chance(40) {
		g.p.Sets = append(g.p.Sets, &ir.Set{Name: g.name("o"), Size: g.int(1, 3), Ordered: true})
	}
	if g.chance(50) {
		p := &ir.Pool{Name: g.name("pool"), Cap: g.int(1, 3)}
		p.Used = g.variable(ir.Type{Kind: ir.Bool}, ir.Index{Pool: p})
		g.p.Pools = append(g.p.Pools, p)
	}
}

func (g *gen) variable(ty ir.Type, ix ...ir.Index) *ir.Var {
	pooled := slices.ContainsFunc(ix, func(x ir.Index) bool { return x.Pool != nil })
	if pooled && ty.Kind == ir.Token {
		ty.Optional = true
	}
	v := &ir.Var{Name: g.name("v"), Index: ix, Type: ty}
	switch {
	case ty.Optional && (ty.Kind == ir.Ref || pooled && ty.Kind == ir.Token || g.chance(50)):
		v.Initial = ir.None
	case ty.Kind == ir.Range:
		v.Initial = g.int(ty.Lo, ty.Hi)
	case ty.Kind == ir.Enum:
		v.Initial = g.int(0, len(ty.Names)-1)
	}
	g.p.Vars = append(g.p.Vars, v)
	return v
}

func (g *gen) procs() {
	for range g.int(1, 2) {
		q := &ir.Proc{Name: g.name("proc"), Instances: pick(g, g.p.Sets)}
		for range g.int(1, 3) {
			q.Locations = append(q.Locations, g.name("at"))
		}
		q.PC = g.variable(ir.Type{Kind: ir.Enum, Names: q.Locations}, ir.Index{Set: q.Instances})
		q.PC.Initial = 0
		g.p.Procs = append(g.p.Procs, q)
	}
}

func (g *gen) leaf() ir.Type {
	opt := g.chance(40)
	switch g.int(0, 6) {
	case 0:
		return ir.Type{Kind: ir.Bool, Optional: g.chance(20)}
	case 1:
		return ir.Type{Kind: ir.Enum, Names: []string{"A", "B", "C"}[:g.int(1, 3)], Optional: opt}
	case 2, 3:
		lo := g.int(-1, 1)
		return ir.Type{Kind: ir.Range, Lo: lo, Hi: lo + g.int(0, 3), Optional: opt}
	case 4:
		if g.chance(50) {
			return ir.Type{Kind: ir.Token, Optional: opt}
		}
		return ir.Type{Kind: ir.Rank, Sort: "s", Optional: opt}
	}
	s := pick(g, g.p.Sets)
	return ir.Type{Kind: ir.Ref, Set: s, Optional: opt || !s.Ordered}
}

func (g *gen) index() ir.Index {
	if len(g.p.Pools) > 0 && g.chance(25) {
		return ir.Index{Pool: g.p.Pools[0]}
	}
	return ir.Index{Set: pick(g, g.p.Sets)}
}

func (g *gen) variables() {
	for range g.int(0, 2) {
		hi := g.int(0, 2)
		b := g.variable(ir.Type{Kind: ir.Range, Hi: hi})
		b.Initial = hi
		g.budgets = append(g.budgets, b)
	}
	for range g.int(1, 4) {
		var ix []ir.Index
		if g.chance(75) {
			ix = append(ix, g.index())
		}
		if len(ix) == 1 && g.chance(15) {
			if j := g.index(); j.Pool == nil || ix[0].Pool == nil {
				ix = append(ix, j)
			}
		}
		g.variable(g.leaf(), ix...)
	}
	for _, q := range g.p.Procs {
		for range g.int(0, 2) {
			ty := ir.Type{Kind: ir.Ref, Set: g.p.Sets[0], Optional: true}
			if g.chance(40) {
				ty = ir.Type{Kind: ir.Range, Hi: 2}
			}
			g.own[q] = append(g.own[q], g.variable(ty, ir.Index{Set: q.Instances}))
		}
	}
	for _, p := range g.p.Pools {
		g.variable(g.leaf(), ir.Index{Pool: p})
	}
	if g.chance(60) {
		var ix []ir.Index
		if g.chance(60) {
			ix = append(ix, ir.Index{Set: pick(g, g.p.Sets)})
		}
		v := g.variable(ir.Type{Kind: ir.Bool}, ix...)
		v.Initial = 0
		g.latches[v] = true
	}
}

func (g *gen) under(l *ir.Local, ix ir.Index, f func()) {
	g.scope = append(g.scope, bound{l, ix})
	f()
	g.scope = g.scope[:len(g.scope)-1]
}

func (g *gen) params(n int, f func(ps []ir.Param)) {
	var rec func(ps []ir.Param)
	rec = func(ps []ir.Param) {
		if len(ps) == n {
			f(ps)
			return
		}
		p := ir.Pick(g.local(), g.index())
		if g.lasting {
			p.Over = ir.Index{Set: pick(g, g.p.Sets)}
		}
		g.under(p.Local, p.Over, func() { rec(append(ps, p)) })
	}
	rec(nil)
}

func (g *gen) actions() {
	for i := range g.int(4, 9) {
		a := &ir.Action{Name: fmt.Sprint("a", i), Order: i, Label: fmt.Sprint("a", i)}
		if g.chance(80) {
			a.Proc = pick(g, g.p.Procs)
			a.At = g.int(0, len(a.Proc.Locations)-1)
			if g.chance(30) {
				a.At = 0
			}
			a.Self = g.local()
			g.scope = []bound{{a.Self, ir.Index{Set: a.Proc.Instances}}}
		}
		if len(g.budgets) > 0 && g.chance(30) {
			a.Budget, a.Fault, a.Kind = pick(g, g.budgets), "fault", ir.Fault
		} else if g.chance(15) {
			a.Unfair = true
		}
		n := 0
		if g.chance(40) {
			n = g.int(1, 2)
		}
		g.params(n, func(ps []ir.Param) {
			a.Params = ps
			if g.chance(45) {
				a.Guard = g.bool(2)
			}
			a.Body = g.stmts(g.int(1, 3), 2)
			a.Body = append(g.setOwn(a), a.Body...)
			if a.Proc != nil && g.chance(70) {
				a.Body = append(a.Body, ir.Store(a.Proc.PC, ir.Num(g.int(0, len(a.Proc.Locations)-1)), ir.Of(a.Self)))
			}
		})
		g.scope = nil
		g.p.Actions = append(g.p.Actions, a)
	}
}

// setOwn gives the instance's own variables values that often follow from where
// it is: constants, parameters and each other.
func (g *gen) setOwn(a *ir.Action) []ir.Stmt {
	var out []ir.Stmt
	if a.Proc == nil {
		return nil
	}
	self := ir.Of(a.Self)
	for _, v := range g.own[a.Proc] {
		var es []ir.Expr
		if v.Type.Kind == ir.Range {
			es = append(es, ir.Num(v.Initial), ir.Num(g.int(0, 2)))
		} else {
			es = append(es, ir.Num(ir.None))
			for _, b := range g.scope {
				if b.ix.Set == v.Type.Set {
					es = append(es, ir.Of(b.l))
				}
			}
		}
		for _, w := range g.own[a.Proc] {
			if w != v && w.Type.Kind == v.Type.Kind {
				es = append(es, ir.Get(w, self))
			}
		}
		if g.chance(60) {
			out = append(out, ir.Store(v, pick(g, es), self))
		}
	}
	return out
}

func (g *gen) initial() {
	if g.chance(50) {
		return
	}
	for range g.int(1, 2) {
		g.p.Initial = append(g.p.Initial, g.stmts(g.int(0, 2), 1))
	}
}

func (g *gen) properties() {
	g.lasting = true
	for i := range g.int(1, 5) {
		q := &ir.Property{Name: fmt.Sprint("p", i), Kind: ir.PropKind(g.int(0, int(ir.CanAlways)))}
		n := 0
		if g.chance(50) {
			n = g.int(1, 2)
		}
		g.params(n, func(ps []ir.Param) {
			q.ForEach = ps
			q.Goal = g.bool(2)
			if l := g.latch(); l != nil && g.chance(50) {
				q.Goal, q.Latched = l, true
			}
			if q.Kind == ir.LeadsTo {
				q.From = g.bool(1)
			}
		})
		g.scope = nil
		g.p.Props = append(g.p.Props, q)
	}
}

// latch reads a variable that is only ever set.
func (g *gen) latch() ir.Expr {
	for v := range g.latches {
		if at, ok := g.at(v, 0, nil); ok && len(v.Index) < 2 {
			return ir.Load{Var: v, At: at}
		}
	}
	return nil
}

// stmts draws statements; deep bounds nesting.
func (g *gen) stmts(n, deep int) []ir.Stmt {
	depth := len(g.scope)
	var out []ir.Stmt
	for range n {
		if s := g.stmt(deep); s != nil {
			out = append(out, s)
		}
	}
	g.scope = g.scope[:depth]
	return out
}

func (g *gen) stmt(deep int) ir.Stmt {
	k := g.int(0, 11)
	switch {
	case k == 0 && deep > 0:
		return ir.If{Cond: g.bool(1), Then: g.stmts(g.int(1, 2), deep-1), Else: g.stmts(g.int(0, 1), deep-1)}
	case k == 1 && deep > 0:
		return g.forEach()
	case k == 2 && len(g.p.Pools) > 0:
		return g.put()
	case k == 3:
		return g.drop()
	case k == 4 && g.chance(10):
		return ir.Cut{Reason: "cut here"}
	case k == 5:
		l := g.local()
		s := ir.Let{Local: l, Value: g.number(1)}
		g.scope = append(g.scope, bound{l: l})
		return s
	}
	return g.assign(g.target())
}

func (g *gen) isOwn(v *ir.Var) bool {
	for _, vs := range g.own {
		if slices.Contains(vs, v) {
			return !g.chance(15)
		}
	}
	return slices.ContainsFunc(g.p.Procs, func(q *ir.Proc) bool { return q.PC == v }) && !g.chance(15)
}

// target is a variable that statements may assign.
func (g *gen) target() *ir.Var {
	var vs []*ir.Var
	for _, v := range g.p.Vars {
		if !g.isUsed(v) && !slices.Contains(g.budgets, v) && !slices.Contains(g.deny, v) && !g.isOwn(v) {
			vs = append(vs, v)
		}
	}
	return pick(g, vs)
}

func (g *gen) isUsed(v *ir.Var) bool {
	return slices.ContainsFunc(g.p.Pools, func(p *ir.Pool) bool { return p.Used == v })
}

func (g *gen) assign(v *ir.Var) ir.Stmt {
	at, ok := g.at(v, g.int(0, 1), nil)
	if !ok {
		return nil
	}
	s := g.assignAt(v, at, true)
	if s == nil || g.chance(10) {
		return s
	}
	var inside []ir.Expr
	for i, ix := range v.Index {
		if _, local := at[i].(ir.Use); local {
			continue
		}
		inside = append(inside, ir.Differ(at[i], ir.Num(ir.None)))
		if ix.Set != nil && ix.Set.Ordered {
			inside = append(inside, ir.AtMost(ir.Num(0), at[i]), ir.Less(at[i], ir.Num(ix.Set.Size)))
		}
	}
	if len(inside) == 0 {
		return s
	}
	return ir.If{Cond: ir.All(inside...), Then: []ir.Stmt{s}}
}

func (g *gen) assignAt(v *ir.Var, at []ir.Expr, rank bool) ir.Stmt {
	switch {
	case g.latches[v]:
		return ir.Store(v, ir.Num(1), at...)
	case v.Type.Kind == ir.Token && g.chance(50):
		return ir.Fresh{Var: v, At: at}
	case v.Type.Kind == ir.Rank && rank && g.chance(50):
		return ir.Next{Var: v, At: at}
	}
	e, ok := g.value(v.Type, 2)
	if !ok {
		return nil
	}
	s := ir.Store(v, e, at...)
	if isNumber(v.Type) && g.chance(90) { // mostly stay in the range: cuts end a graph early
		lo, hi := v.Type.Lo, v.Type.Hi
		if v.Type.Kind == ir.Ref {
			hi = v.Type.Set.Size - 1
		}
		return ir.If{Cond: ir.All(ir.AtMost(ir.Num(lo), e), ir.AtMost(e, ir.Num(hi))), Then: []ir.Stmt{s}}
	}
	return s
}

// forEach assigns one variable per element; it reads nothing that it assigns,
// so its result does not depend on the order of elements.
func (g *gen) forEach() ir.Stmt {
	l, ix := g.local(), g.index()
	s := ir.ForEach{Local: l, Over: ix}
	if ix.Pool != nil && g.chance(40) {
		return g.forEachDrop(s)
	}
	v := g.target()
	d := slices.Index(v.Index, ix)
	if d < 0 || slices.Contains(g.deny, v) {
		return nil
	}
	saved := g.deny
	g.deny = append(slices.Clone(saved), v)
	if v.Type.Kind == ir.Token { // a fresh token depends on the tokens held
		for _, w := range g.p.Vars {
			if w.Type.Kind == ir.Token {
				g.deny = append(g.deny, w)
			}
		}
	}
	g.under(l, ix, func() {
		if at, ok := g.at(v, 0, map[int]ir.Expr{d: ir.Of(l)}); ok {
			if a := g.assignAt(v, at, false); a != nil {
				s.Body = []ir.Stmt{a}
				if g.chance(50) {
					s.Body = []ir.Stmt{ir.If{Cond: g.bool(1), Then: s.Body}}
				}
			}
		}
	})
	g.deny = saved
	return s
}

func (g *gen) forEachDrop(s ir.ForEach) ir.Stmt {
	p := s.Over.Pool
	saved := g.deny
	g.deny = slices.Clone(saved)
	for _, v := range g.p.Vars { // the condition sees the slot only
		if slices.Contains(v.Index, s.Over) && len(v.Index) > 1 || v == p.Used {
			g.deny = append(g.deny, v)
		}
	}
	g.under(s.Local, s.Over, func() {
		s.Body = []ir.Stmt{ir.If{Cond: g.bool(1), Then: []ir.Stmt{ir.Drop{Pool: p, Slot: ir.Of(s.Local)}}}}
	})
	g.deny = saved
	return s
}

func (g *gen) put() ir.Stmt {
	p := g.p.Pools[0]
	if slices.Contains(g.deny, p.Used) || g.inLoop(p) {
		return nil
	}
	s := ir.Put{Pool: p, Slot: g.local()}
	g.under(s.Slot, ir.Index{Pool: p}, func() {
		for _, v := range g.p.Vars {
			d := slices.Index(v.Index, ir.Index{Pool: p})
			if d < 0 || v == p.Used || slices.Contains(g.deny, v) {
				continue
			}
			if at, ok := g.at(v, 1, map[int]ir.Expr{d: ir.Of(s.Slot)}); ok {
				if a := g.assignAt(v, at, true); a != nil {
					s.Body = append(s.Body, a)
				}
			}
		}
	})
	return s
}

// inLoop reports a slot of the pool in scope: a parameter or loop that a Put
// could disturb.
func (g *gen) inLoop(p *ir.Pool) bool {
	return slices.ContainsFunc(g.scope, func(b bound) bool { return b.ix.Pool == p })
}

func (g *gen) drop() ir.Stmt {
	for _, b := range g.scope {
		if p := b.ix.Pool; p != nil && !slices.Contains(g.deny, p.Used) {
			return ir.Drop{Pool: p, Slot: ir.Of(b.l)}
		}
	}
	return nil
}

// at draws indices for a variable; some may be fixed.
func (g *gen) at(v *ir.Var, deep int, fixed map[int]ir.Expr) ([]ir.Expr, bool) {
	var out []ir.Expr
	for d, ix := range v.Index {
		e, ok := fixed[d], true
		if e == nil {
			e, ok = g.element(ix, deep)
		}
		if !ok {
			return nil, false
		}
		out = append(out, e)
	}
	return out, true
}
