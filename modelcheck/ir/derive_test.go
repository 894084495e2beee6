package ir

import (
	"slices"
	"testing"

	"github.com/relplan/relplan/modelcheck"
)

// DerivedVars counts the variables that take no bits because their value
// follows from a program counter.
func (m *Model) DerivedVars() (names []string) {
	for _, v := range m.Program.Vars {
		if m.l.vars[v].derived != nil {
			names = append(names, v.Name)
		}
	}
	return names
}

// The analysis finds constants per location, copies, and what a test says.
func TestDerivedVariables(t *testing.T) {
	u, msgs := &Set{Name: "worker", Size: 2}, &Set{Name: "message", Size: 2}
	ref := Type{Kind: Ref, Set: msgs, Optional: true}
	pc := &Var{Name: "pc", Index: Several(u), Type: Type{Kind: Enum, Names: []string{"IDLE", "HAVE", "DONE"}}}
	cur := &Var{Name: "cur", Index: Several(u), Type: ref, Initial: None}
	holds := &Var{Name: "holds", Index: Several(u)}                               // 1 iff not idle
	pending := &Var{Name: "pending", Index: Several(u), Type: ref, Initial: None} // cur when done
	free := &Var{Name: "free", Index: Several(u), Type: ref, Initial: None}       // keeps its value: stored
	q := &Proc{Name: "worker", Instances: u, PC: pc, Locations: pc.Type.Names}
	w, m := &Local{Name: "w"}, &Local{Name: "m"}
	self := Of(w)
	p := &Program{Name: "derived", Sets: []*Set{u, msgs}, Procs: []*Proc{q}, Vars: []*Var{pc, cur, holds, pending, free}, Actions: []*Action{
		{Name: "take", Proc: q, Self: w, Params: []Param{Pick(m, In(msgs))}, Body: []Stmt{
			Store(cur, Of(m), self), Store(holds, Num(1), self), Store(pc, Num(1), self)}},
		{Name: "do", Proc: q, At: 1, Self: w, Body: []Stmt{
			Store(pending, Get(cur, self), self), Store(pc, Num(2), self)}},
		{Name: "end", Proc: q, At: 2, Self: w, Body: []Stmt{
			If{Cond: Differ(Get(pending, self), Num(None)), Then: []Stmt{
				Store(free, Get(pending, self), self), Store(pending, Num(None), self)}},
			Store(cur, Num(None), self), Store(holds, Num(0), self), Store(pc, Num(0), self)}},
		{Name: "crash", Kind: Fault, Params: []Param{Pick(w, In(u))}, Guard: Differ(Get(pc, self), Num(0)), Body: []Stmt{
			If{Cond: Get(holds, self), Then: []Stmt{Store(pc, Num(0), self)}},
			Store(pending, Num(None), self), Store(cur, Num(None), self), Store(holds, Num(0), self)}},
	}}
	model, err := Compile(p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := model.DerivedVars()
	if len(got) != 2 || got[0] != "holds" || got[1] != "pending" {
		t.Errorf("found %q derived, expected holds and pending", got)
	}
	if m, _ := Compile(p, Options{NoElimination: true}); len(m.DerivedVars()) != 0 {
		t.Error("NoElimination eliminates")
	}
	// somebody else's write makes holds a variable again
	p.Actions = append(p.Actions, &Action{Name: "meddle", Body: []Stmt{ForEach{Local: &Local{Name: "x"}, Over: In(u)}}})
	x := p.Actions[4].Body[0].(ForEach).Local
	p.Actions[4].Body[0] = ForEach{Local: x, Over: In(u), Body: []Stmt{Store(holds, Num(0), Of(x))}}
	model, err = Compile(p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := model.DerivedVars(); len(got) != 1 || got[0] != "pending" {
		t.Errorf("found %q derived, expected pending alone", got)
	}
}

// What is lost at one location is lost at those after it, however late.
func TestDerivedFactsReachTheirFixpoint(t *testing.T) {
	x := newCopies()
	self := Of(x.w)
	x.step("d", 3, 0, Store(x.pend, Num(None), self), Store(x.cur, Of(x.m), self)) // against the order of the analysis
	x.p.Actions[0].Params = []Param{Pick(x.m, In(x.msgs))}
	x.step("c", 2, 3)
	x.step("b", 1, 2)
	x.step("a", 0, 1, Store(x.pend, Get(x.cur, self), self))
	if got := x.after(t, 7); got[1] != 0 || got[0] != 0 { // a b c d a b c
		t.Errorf("pend and cur are %v, expected the first message in both", got)
	}
}

// A copy keeps its value while the variable it followed is overwritten and the
// program counter has not moved yet.
func TestDerivedCopyOutlivesItsSource(t *testing.T) {
	x := newCopies()
	self := Of(x.w)
	x.step("take", 0, 1, Store(x.cur, Of(x.m), self), Store(x.pend, Of(x.m), self))
	x.p.Actions[0].Params = []Param{Pick(x.m, In(x.msgs))}
	x.step("move", 1, 2, Store(x.keep, Get(x.cur, self), self), Store(x.cur, Num(None), self), Store(x.last, Get(x.pend, self)))
	x.step("end", 2, 0, Store(x.keep, Num(None), self), Store(x.pend, Num(None), self))
	if got := x.after(t, 2); got[2] != 0 {
		t.Errorf("last is %s, expected the first message", number(got[2]))
	}
}

// after takes the first transition n times and gives pend, cur and last.
func (x *copies) after(t *testing.T, n int) [3]int {
	t.Helper()
	m, err := Compile(x.p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(m.DerivedVars(), "pend") {
		t.Fatal("pend is not derived: the test tests nothing")
	}
	sink := modelcheck.NewSink(m.Shape().Words)
	var s []uint64
	m.Initial(func(first []uint64) { s = first })
	for range n {
		sink.Reset()
		m.Expand(s, sink)
		next, _ := sink.At(0)
		s = append([]uint64(nil), next...)
	}
	return [3]int{m.Value(s, x.pend, 0), m.Value(s, x.cur, 0), m.Value(s, x.last)}
}

// copies is a process of one worker with three variables for messages.
type copies struct {
	p               *Program
	msgs            *Set
	q               *Proc
	cur, pend, keep *Var
	last            *Var // global
	w, m            *Local
}

func newCopies() *copies {
	u, msgs := &Set{Name: "worker", Size: 1}, &Set{Name: "message", Size: 2}
	pc := &Var{Name: "pc", Index: Several(u), Type: Type{Kind: Enum, Names: []string{"A", "B", "C", "D"}}}
	ref := func(name string, ix ...*Set) *Var {
		return &Var{Name: name, Index: Several(ix...), Type: Type{Kind: Ref, Set: msgs, Optional: true}, Initial: None}
	}
	x := &copies{msgs: msgs, w: &Local{Name: "w"}, m: &Local{Name: "m"}, cur: ref("cur", u), pend: ref("pend", u), keep: ref("keep", u), last: ref("last")}
	x.q = &Proc{Name: "worker", Instances: u, PC: pc, Locations: pc.Type.Names}
	x.p = &Program{Name: "copies", Sets: []*Set{u, msgs}, Procs: []*Proc{x.q}, Vars: []*Var{pc, x.pend, x.cur, x.keep, x.last}}
	return x
}

func (x *copies) step(name string, from, to int, body ...Stmt) {
	body = append(body, Store(x.q.PC, Num(to), Of(x.w)))
	x.p.Actions = append(x.p.Actions, &Action{Name: name, Proc: x.q, At: from, Self: x.w, Body: body})
}
