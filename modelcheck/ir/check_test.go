package ir_test

import (
	"strings"
	"testing"

	. "github.com/relplan/relplan/modelcheck/ir"
)

// small is a program with one of everything, for tests that break one thing.
type small struct {
	p            *Program
	u, o         *Set
	pool         *Pool
	used, n      *Var // of the pool
	pc, ref, num *Var // ref[u]: element of u or none; num[o]: 0..3
	tok, rank    *Var
	state        *Var // enum
	proc         *Proc
	self         *Local
}

func newSmall() *small {
	x := &small{u: &Set{Name: "worker", Size: 2}, o: &Set{Name: "slot", Size: 3, Ordered: true}, pool: &Pool{Name: "queue", Cap: 2}, self: &Local{Name: "w"}}
	x.used = &Var{Name: "used", Index: []Index{Slots(x.pool)}}
	x.pool.Used = x.used
	x.n = &Var{Name: "n", Index: []Index{Slots(x.pool)}, Type: Type{Kind: Range, Hi: 3}}
	x.pc = &Var{Name: "pc", Index: Several(x.u), Type: Type{Kind: Enum, Names: []string{"IDLE", "BUSY"}}}
	x.ref = &Var{Name: "ref", Index: Several(x.u), Type: Type{Kind: Ref, Set: x.u, Optional: true}, Initial: None}
	x.num = &Var{Name: "num", Index: Several(x.o), Type: Type{Kind: Range, Hi: 3}}
	x.tok = &Var{Name: "tok", Index: Several(x.u), Type: Type{Kind: Token, Optional: true}, Initial: None}
	x.rank = &Var{Name: "rank", Index: Several(x.u), Type: Type{Kind: Rank, Sort: "seq", Optional: true}, Initial: None}
	x.state = &Var{Name: "state", Type: Type{Kind: Enum, Names: []string{"NEW", "DONE"}}}
	x.proc = &Proc{Name: "worker", Instances: x.u, PC: x.pc, Locations: x.pc.Type.Names}
	x.p = &Program{Name: "small", Sets: []*Set{x.u, x.o}, Pools: []*Pool{x.pool}, Procs: []*Proc{x.proc},
		Vars: []*Var{x.used, x.n, x.pc, x.ref, x.num, x.tok, x.rank, x.state}}
	return x
}

// guard adds an action with a guard.
func (x *small) guard(e Expr) {
	x.p.Actions = append(x.p.Actions, &Action{Name: "act", Proc: x.proc, Self: x.self, Guard: e})
}

func (x *small) body(ss ...Stmt) {
	x.p.Actions = append(x.p.Actions, &Action{Name: "act", Proc: x.proc, Self: x.self, Body: ss})
}

func TestValidate(t *testing.T) {
	l := &Local{Name: "l"}
	for _, c := range []struct {
		name   string
		change func(x *small)
		want   string // "" accepts
		reason string
	}{
		{"as it is", func(x *small) {}, "", "the base of the others"},
		{"element by constant", func(x *small) { x.guard(Is(Get(x.ref, Of(x.self)), 0)) }, "compared values differ in type: element of worker and constant 0", "an unordered set has no first element"},
		{"element compared with none", func(x *small) { x.guard(Is(Get(x.ref, Of(x.self)), None)) }, "", "none is no element"},
		{"element by order", func(x *small) { x.guard(Less(Of(x.self), Get(x.ref, Of(x.self)))) }, "cannot be compared by order", "order would break symmetry"},
		{"element in a sum", func(x *small) { x.guard(Is(Plus(Of(x.self), 1), 1)) }, "expected number", "elements are not numbers"},
		{"index by constant", func(x *small) { x.guard(Is(Get(x.pc, Num(0)), 0)) }, "index 1 of \"pc\": found constant 0, expected element of worker", "the same"},
		{"ordered index by constant", func(x *small) { x.guard(Is(Get(x.num, Num(2)), 0)) }, "", "ordered elements are numbers"},
		{"ordered index by element", func(x *small) { x.guard(Is(Get(x.num, Of(x.self)), 0)) }, "expected number", "sets are not mixed"},
		{"initial element", func(x *small) { x.ref.Initial = 1 }, "names an element of the unordered set worker", "the same for initial values"},
		{"initial none", func(x *small) { x.ref.Type.Optional = false }, "initial value none is outside worker", "none needs optional"},
		{"initial outside", func(x *small) { x.num.Initial = 4 }, "initial value 4 is outside 0 .. 3", "ranges are checked"},
		{"token by constant", func(x *small) { x.guard(Is(Get(x.tok, Of(x.self)), 0)) }, "token and constant 0", "symbols have no names"},
		{"token by order", func(x *small) { x.guard(Less(Get(x.tok, Of(x.self)), Get(x.tok, Of(x.self)))) }, "cannot be compared by order", "symbols have no order"},
		{"rank by order", func(x *small) { x.guard(Less(Get(x.rank, Of(x.self)), Get(x.rank, Of(x.self)))) }, "", "ranks have"},
		{"rank plus one", func(x *small) { x.body(Store(x.rank, Plus(Get(x.rank, Of(x.self)), 1), Of(x.self))) }, "expected number", "but no numbers: they are renumbered"},
		{"bool as number", func(x *small) { x.guard(Plus(Get(x.num, Num(0)), 1)) }, "guard: found number, expected bool", "conditions are bools"},
		{"enum of another", func(x *small) { x.guard(Same(Get(x.state), Get(x.pc, Of(x.self)))) }, "differ in type: enum(NEW,DONE) and enum(IDLE,BUSY)", "enums are told apart by their names"},
		{"enum constant outside", func(x *small) { x.guard(Is(Get(x.state), 2)) }, "constant 2", "there is no third name"},
		{"assign enum constant outside", func(x *small) { x.body(Store(x.state, Num(5))) }, "found constant 5, expected enum(NEW,DONE)", "found before any state"},
		{"slot kept", func(x *small) {
			x.body(Put{Pool: x.pool, Slot: l, Body: []Stmt{Store(x.num, Of(l), Num(0))}})
		}, "found slot of queue, expected number", "slots have no names"},
		{"slot index", func(x *small) {
			x.body(Put{Pool: x.pool, Slot: l, Body: []Stmt{Store(x.n, Num(2), Of(l))}})
		}, "", "that is what they are for"},
		{"token of a free slot", func(x *small) {
			x.p.Vars = append(x.p.Vars, &Var{Name: "id", Index: []Index{Slots(x.pool)}, Type: Type{Kind: Token}})
		}, "names a symbol, which Drop would bring back", "symbols are renamed after every step"},
		{"used by hand", func(x *small) {
			x.body(ForEach{Local: l, Over: Slots(x.pool), Body: []Stmt{Store(x.used, Num(0), Of(l))}})
		}, "\"used\" is changed by Put and Drop only", "a free slot would keep its values"},
		{"put in a loop over the pool", func(x *small) {
			x.body(ForEach{Local: l, Over: Slots(x.pool), Body: []Stmt{Put{Pool: x.pool, Slot: &Local{Name: "s"}}}})
		}, "a loop over pool \"queue\" puts into it", "the loop's extent would depend on slot order"},
		{"local outside", func(x *small) { x.guard(Same(Of(l), Of(x.self))) }, "local \"l\" is used outside its binder", "scopes"},
		{"local bound twice", func(x *small) {
			x.guard(Exists{Local: x.self, Over: In(x.u), Where: Flag(true)})
		}, "local \"w\" is bound again inside its own scope", "shadowing hides mistakes"},
		{"let ends with its list", func(x *small) {
			x.body(If{Cond: Flag(true), Then: []Stmt{Let{Local: l, Value: Num(1)}}}, Store(x.num, Of(l), Num(0)))
		}, "used outside its binder", "scopes"},
		{"unknown variable", func(x *small) { x.guard(Get(&Var{Name: "ghost"})) }, "variable \"ghost\" is not declared", "typos of a lowering"},
		{"missing index", func(x *small) { x.guard(Is(Get(x.num), 0)) }, "takes 1 indices, found 0", "arity"},
		{"location outside", func(x *small) { x.guard(Flag(true)); x.p.Actions[0].At = 2 }, "location 2, expected 0 to 1", "dispatch is by location"},
		{"budget indexed", func(x *small) { x.guard(Flag(true)); x.p.Actions[0].Budget = x.num }, "its budget must be a declared, unindexed range from 0", "one counter per fault"},
		{"fresh number", func(x *small) { x.body(Fresh{Var: x.num, At: []Expr{Num(0)}}) }, "takes no fresh token", "kinds"},
		{"next token", func(x *small) { x.body(Next{Var: x.tok, At: []Expr{Of(x.self)}}) }, "takes no next rank", "kinds"},
		{"property per slot", func(x *small) {
			x.p.Props = []*Property{{Name: "p", ForEach: []Param{Pick(l, Slots(x.pool))}, Goal: Flag(true)}}
		}, "slots have no identity over time", "a slot is another record in another state"},
		{"leads to from nowhere", func(x *small) {
			x.p.Props = []*Property{{Name: "p", Kind: LeadsTo, Goal: Flag(true)}}
		}, "leads-to needs From", "kinds of properties"},
		{"twice the same name", func(x *small) { x.n.Name = "used" }, "variable \"used\" is declared twice", "histories name variables"},
		{"set undeclared", func(x *small) { x.p.Sets = x.p.Sets[:1] }, "set \"slot\" is not declared", "typos of a lowering"},
		{"pool without use", func(x *small) { x.pool.Used = x.n }, "Used must be a declared bool per slot", "pools need it"},
		{"nil body", func(x *small) { x.body(nil) }, "a statement is missing", "no panic"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := newSmall()
			c.change(x)
			_, err := Compile(x.p, Options{})
			switch {
			case c.want == "" && err != nil:
				t.Errorf("refused: %v: %s", err, c.reason)
			case c.want != "" && err == nil:
				t.Errorf("accepted, expected %q: %s", c.want, c.reason)
			case c.want != "" && !strings.Contains(err.Error(), c.want):
				t.Errorf("found error %q, expected %q: %s", err, c.want, c.reason)
			}
		})
	}
}

func TestValidateReportsEverything(t *testing.T) {
	x := newSmall()
	x.guard(Is(Get(x.ref, Of(x.self)), 0))
	x.body(Store(x.state, Num(5)))
	err := Validate(x.p)
	for _, want := range []string{
		`action 1 "act" of worker at IDLE: guard: compared values differ`,
		`action 2 "act" of worker at IDLE: body: found constant 5`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("found %q, expected %q in it", err, want)
		}
	}
}

func TestDeepNestingIsRefused(t *testing.T) {
	x := newSmall()
	e := Flag(true)
	for range 100000 {
		e = Not{A: e}
	}
	x.guard(e)
	if _, err := Compile(x.p, Options{}); err == nil || !strings.Contains(err.Error(), "nested deeper") {
		t.Errorf("found %v, expected a refusal: recursion must end", err)
	}
}

func TestTooManyLocals(t *testing.T) {
	x := newSmall()
	wide := &Var{Name: "wide", Index: Several(x.o), Type: Type{Kind: Range, Hi: 1 << 20}}
	x.p.Vars = append(x.p.Vars, wide)
	var ss []Stmt
	sum := Num(0)
	for i := range 4 {
		l := &Local{Name: "l"}
		ss = append(ss, Let{Local: l, Value: Get(wide, Get(x.num, Num(i%3)))})
		sum = Binary{Op: Add, A: sum, B: Of(l)}
	}
	x.body(append(ss, Store(wide, sum, Num(0)))...)
	if _, err := Compile(x.p, Options{}); err == nil || !strings.Contains(err.Error(), "more than 64 bits of run-time locals") {
		t.Errorf("found %v, expected a refusal at compile time", err)
	}
}
