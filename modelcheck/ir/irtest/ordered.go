package irtest

import . "github.com/relplan/relplan/modelcheck/ir" //nolint:revive // programs read like the tables they come from

// LogOptions are the bounds of Log and the order of its two last steps.
type LogOptions struct {
	Members, Records    int
	Crashes, Rebalances int
	CommitFirst         bool // commit the offset before the effect, else after
}

// Log is one partition of a log with a consumer group: offsets are ordered, so
// they are numbers and not interchangeable; members are. The owner reads the
// record at its position, applies its effect and commits its position. A crash
// or a rebalance gives the partition to another member, who starts at the
// committed offset; after a rebalance the old owner goes on as a zombie.
func Log(o LogOptions) *Program {
	offsets, group := &Set{Name: "offset", Size: o.Records, Ordered: true}, &Set{Name: "member", Size: o.Members}
	end, committed := number("end", o.Records, 0), number("committed", o.Records, 0)
	position, owner := number("position", o.Records, 0, group), optional("owner", group)
	effects := number("effects", 2, 0, offsets)
	crashes, rebalances := number("crashes", o.Crashes, o.Crashes), number("rebalances", o.Rebalances, o.Rebalances)
	pc := names("pc", []string{"IDLE", "READ", "HALF"}, group)
	member := &Proc{Name: "member", Instances: group, PC: pc, Locations: pc.Type.Names}
	m, x := &Local{Name: "m"}, &Local{Name: "x"}
	self := Of(m)
	p, mine := Get(position, self), Same(Get(owner), self)
	step := func(name string, at int, guard Expr, body ...Stmt) *Action {
		body = append(body, Store(pc, Num((at+1)%3), self))
		return &Action{Name: name, Label: name, Proc: member, At: at, Self: m, Guard: guard, Body: body}
	}
	apply := []Stmt{saturate(effects, 2, p)}
	commit := []Stmt{If{Cond: AtMost(Get(committed), p), Then: []Stmt{Store(committed, Plus(p, 1))}}}
	names, halves := []string{"apply", "commit"}, [][]Stmt{apply, commit}
	if o.CommitFirst {
		names, halves = []string{"commit", "apply"}, [][]Stmt{commit, apply}
	}
	take := []Stmt{Store(owner, self), Store(position, Get(committed), self)}
	pr := &Program{Name: "log", Sets: []*Set{offsets, group}, Procs: []*Proc{member},
		Vars: []*Var{pc, position, owner, end, committed, effects, crashes, rebalances},
		Actions: []*Action{
			{Name: "append", Label: "append", Kind: Delivery, Guard: Less(Get(end), Num(o.Records)), Body: []Stmt{Store(end, Plus(Get(end), 1))}},
			{Name: "assign", Label: "assign", Params: []Param{Pick(m, In(group))}, Guard: All(Is(Get(owner), None), Is(Get(pc, self), 0)), Body: take},
			{Name: "rebalance", Kind: Fault, Fault: "rebalance", Budget: rebalances, Params: []Param{Pick(m, In(group))},
				Guard: All(Differ(Get(owner), Num(None)), Not{A: mine}, Is(Get(pc, self), 0)), Body: take},
			step("read", 0, All(mine, Less(p, Get(end)))),
			step(names[0], 1, nil, halves[0]...),
			step(names[1], 2, nil, append(halves[1], Store(position, Plus(p, 1), self))...),
		}}
	for at := 1; at <= 2; at++ {
		pr.Actions = append(pr.Actions, &Action{Name: "crash", Kind: Fault, Fault: "crash", Budget: crashes, Proc: member, At: at, Self: m,
			Body: []Stmt{Store(pc, Num(0), self), Store(position, Num(0), self), If{Cond: mine, Then: []Stmt{Store(owner, none)}}}})
	}
	each := []Param{Pick(x, In(offsets))}
	done := Less(Num(0), Get(effects, Of(x)))
	pr.Props = []*Property{
		{Name: "once", ForEach: each, Goal: AtMost(Get(effects, Of(x)), Num(1))},
		{Name: "all", Kind: Eventually, Latched: true, ForEach: each, Goal: done},
		{Name: "in order", ForEach: each, Goal: Any(Not{A: done}, Is(Of(x), 0), Less(Num(0), Get(effects, Plus(Of(x), -1))))},
	}
	return pr
}

// Clock is an inbox whose rows are removed retention ticks after they were
// written, and a broker that may redeliver until horizon ticks after the first
// delivery. One effect per message holds iff retention > horizon: in the tick
// in which both end, the row may go first.
func Clock(retention, horizon int) *Program {
	last := max(retention, horizon) + 1
	messages := &Set{Name: "message", Size: 1}
	since := func(name string) *Var {
		return &Var{Name: name, Index: Several(messages), Type: Type{Kind: Range, Hi: last, Optional: true}, Initial: None}
	}
	now, sent, row := number("now", last, 0), since("sent"), since("row")
	effects := number("effects", 2, 0, messages)
	pending, redeliveries := boolean("pending", 1, messages), number("redeliveries", 1, 1)
	m := &Local{Name: "m"}
	x, each := Of(m), []Param{Pick(m, In(messages))}
	age := func(v *Var) Expr { return Binary{Op: Sub, A: Get(now), B: Get(v, x)} } // none while v is
	fresh := Any(Is(Get(sent, x), None), AtMost(age(sent), Num(horizon)))
	return &Program{Name: "clock", Sets: []*Set{messages}, Vars: []*Var{now, sent, row, effects, pending, redeliveries},
		Actions: []*Action{
			{Name: "tick", Label: "tick", Kind: Expiry, Guard: Less(Get(now), Num(last)), Body: []Stmt{Store(now, Plus(Get(now), 1))}},
			{Name: "deliver", Label: "deliver", Kind: Delivery, Params: each, Guard: All(Get(pending, x), fresh), Body: []Stmt{
				Store(pending, Num(0), x),
				If{Cond: Is(Get(sent, x), None), Then: []Stmt{Store(sent, Get(now), x)}},
				If{Cond: Is(Get(row, x), None), Then: []Stmt{Store(row, Get(now), x), saturate(effects, 2, x)}}}},
			{Name: "sweep", Label: "sweep", Kind: Expiry, Params: each, Guard: AtMost(Num(retention), age(row)), Body: []Stmt{Store(row, none, x)}},
			{Name: "redeliver", Kind: Fault, Fault: "redelivery", Budget: redeliveries, Params: each,
				Guard: All(Not{A: Get(pending, x)}, AtMost(age(sent), Num(horizon))), Body: []Stmt{Store(pending, Num(1), x)}},
		},
		Props: []*Property{{Name: "once", ForEach: each, Goal: AtMost(Get(effects, x), Num(1))}}}
}
