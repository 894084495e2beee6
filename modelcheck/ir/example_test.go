package ir_test

import (
	"context"
	"fmt"

	"github.com/relplan/relplan/modelcheck"
	. "github.com/relplan/relplan/modelcheck/ir"
)

// A worker takes a message, applies its effect and acknowledges it. A crash
// between effect and acknowledgement brings the message back.
func ExampleCompile() {
	workers, messages := &Set{Name: "worker", Size: 2}, &Set{Name: "message", Size: 1}
	pc := &Var{Name: "pc", Index: Several(workers), Type: Type{Kind: Enum, Names: []string{"IDLE", "HAS", "DONE"}}}
	held := &Var{Name: "held", Index: Several(workers), Type: Type{Kind: Ref, Set: messages, Optional: true}, Initial: None}
	waiting := &Var{Name: "waiting", Index: Several(messages), Initial: 1}
	effects := &Var{Name: "effects", Index: Several(messages), Type: Type{Kind: Range, Hi: 2}}
	crashes := &Var{Name: "crashes", Type: Type{Kind: Range, Hi: 1}, Initial: 1}
	worker := &Proc{Name: "worker", Instances: workers, PC: pc, Locations: pc.Type.Names}

	w, m := &Local{Name: "w"}, &Local{Name: "m"}
	self, msg := Of(w), Get(held, Of(w))
	p := &Program{
		Name: "naive", Sets: []*Set{workers, messages}, Procs: []*Proc{worker}, Vars: []*Var{pc, held, waiting, effects, crashes},
		Actions: []*Action{
			{Name: "take", Kind: Delivery, Proc: worker, Self: w, Params: []Param{Pick(m, In(messages))}, Guard: Get(waiting, Of(m)),
				Body: []Stmt{Store(waiting, Num(0), Of(m)), Store(held, Of(m), self), Store(pc, Num(1), self)}},
			{Name: "apply", Proc: worker, At: 1, Self: w,
				Body: []Stmt{Store(effects, Plus(Get(effects, msg), 1), msg), Store(pc, Num(2), self)}},
			{Name: "ack", Proc: worker, At: 2, Self: w,
				Body: []Stmt{Store(held, Num(None), self), Store(pc, Num(0), self)}},
			{Name: "crash", Kind: Fault, Fault: "crash", Budget: crashes, Proc: worker, At: 2, Self: w,
				Body: []Stmt{Store(waiting, Num(1), msg), Store(held, Num(None), self), Store(pc, Num(0), self)}},
		},
		Props: []*Property{{Name: "once", ForEach: []Param{Pick(m, In(messages))}, Goal: AtMost(Get(effects, Of(m)), Num(1))}},
	}

	model, err := Compile(p, Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := modelcheck.Check(context.Background(), model, model.Properties(), modelcheck.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, q := range r.Properties {
		fmt.Println(q.Name, q.Verdict)
		state := q.History.Initial
		for _, s := range q.History.Steps {
			fmt.Println(" ", s.Action.Actor, s.Action.Text, model.Diff(state, s.State))
			state = s.State
		}
	}
	// Output:
	// once broken
	//   worker 1 take message 1 [pc[worker 1] = HAS held[worker 1] = message 1 waiting[message 1] = false]
	//   worker 1 apply [pc[worker 1] = DONE effects[message 1] = 1]
	//   worker 1 crash [pc[worker 1] = IDLE held[worker 1] = none waiting[message 1] = true crashes = 0]
	//   worker 1 take message 1 [pc[worker 1] = HAS held[worker 1] = message 1 waiting[message 1] = false]
	//   worker 1 apply [pc[worker 1] = DONE effects[message 1] = 2]
}
