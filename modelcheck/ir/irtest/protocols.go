package irtest

import . "github.com/relplan/relplan/modelcheck/ir" //nolint:revive // programs read like the tables they come from

// none is the constant None.
var none = Num(None)

// inboxVars is B1 or B2 with the variables its parts are built from.
type inboxVars struct {
	p            *Program
	messages     *Set
	workers      *Set
	q, ak, row   *Var
	eff, pc, cur *Var
	c, r         *Var
	proc         *Proc
	w, m         *Local
	self, held   Expr // w and cur[w]
}

func boolean(name string, initial int, ix ...*Set) *Var {
	return &Var{Name: name, Index: Several(ix...), Type: Type{Kind: Bool}, Initial: initial}
}

func number(name string, hi, initial int, ix ...*Set) *Var {
	return &Var{Name: name, Index: Several(ix...), Type: Type{Kind: Range, Hi: hi}, Initial: initial}
}

func names(name string, ns []string, ix ...*Set) *Var {
	return &Var{Name: name, Index: Several(ix...), Type: Type{Kind: Enum, Names: ns}}
}

func optional(name string, to *Set, ix ...*Set) *Var {
	return &Var{Name: name, Index: Several(ix...), Type: Type{Kind: Ref, Set: to, Optional: true}, Initial: None}
}

// saturate is v := min(v + 1, top).
func saturate(v *Var, top int, at ...Expr) Stmt {
	return If{Cond: Less(Get(v, at...), Num(top)), Then: []Stmt{Store(v, Plus(Get(v, at...), 1), at...)}}
}

// step adds an action of the process at a location.
func (x *inboxVars) step(name string, at int, guard Expr, body ...Stmt) {
	x.p.Actions = append(x.p.Actions, &Action{Name: name, Label: name, Proc: x.proc, At: at, Self: x.w, Guard: guard, Body: body, Order: len(x.p.Actions)})
}

// queueing builds what inbox and setnx share: one queue, workers, crashes and
// redeliveries.
func queueing(name string, key string, locations []string, m, w, c, r int) *inboxVars {
	x := &inboxVars{messages: &Set{Name: "message", Size: m}, workers: &Set{Name: "worker", Size: w}, w: &Local{Name: "w"}, m: &Local{Name: "m"}}
	x.q, x.ak = boolean("q", 1, x.messages), boolean("ak", 0, x.messages)
	x.row, x.eff = boolean(key, 0, x.messages), number("eff", 2, 0, x.messages)
	x.pc, x.cur = names("pc", locations, x.workers), optional("cur", x.messages, x.workers)
	x.c, x.r = number("c", c, c), number("r", r, r)
	x.proc = &Proc{Name: "worker", Instances: x.workers, PC: x.pc, Locations: locations}
	x.p = &Program{Name: name, Sets: []*Set{x.messages, x.workers}, Vars: []*Var{x.q, x.ak, x.row, x.eff, x.pc, x.cur, x.c, x.r}, Procs: []*Proc{x.proc}}
	x.self = Of(x.w)
	x.held = Get(x.cur, x.self)
	return x
}

// free puts the worker back to idle.
func (x *inboxVars) free() []Stmt {
	return []Stmt{Store(x.pc, Num(0), x.self), Store(x.cur, none, x.self)}
}

func (x *inboxVars) at(location int) Stmt { return Store(x.pc, Num(location), x.self) }

// deliveries adds receive, ack, crash and redeliver; done is the last location.
func (x *inboxVars) deliveries(done int) {
	p, m := x.p, Of(x.m)
	p.Actions = append(p.Actions, &Action{Name: "receive", Label: "receive", Kind: Delivery, Proc: x.proc, Self: x.w, Params: []Param{Pick(x.m, In(x.messages))},
		Guard: Get(x.q, m), Body: []Stmt{Store(x.q, Num(0), m), x.at(1), Store(x.cur, m, x.self)}})
	x.step("ack", done, nil, append([]Stmt{Store(x.ak, Num(1), x.held), Store(x.q, Num(0), x.held)}, x.free()...)...)
	for at := 1; at <= done; at++ {
		p.Actions = append(p.Actions, &Action{Name: "crash", Kind: Fault, Fault: "crash", Budget: x.c, Proc: x.proc, At: at, Self: x.w, Order: len(p.Actions),
			Body: append([]Stmt{If{Cond: Not{A: Get(x.ak, x.held)}, Then: []Stmt{Store(x.q, Num(1), x.held)}}}, x.free()...)})
	}
	v := &Local{Name: "v"}
	holds := Exists{Local: v, Over: In(x.workers), Where: All(Differ(Get(x.pc, Of(v)), Num(0)), Same(Get(x.cur, Of(v)), m))}
	p.Actions = append(p.Actions, &Action{Name: "redeliver", Kind: Fault, Fault: "redelivery", Rank: 1, Budget: x.r, Params: []Param{Pick(x.m, In(x.messages))},
		Guard: All(Not{A: Get(x.q, m)}, Not{A: Get(x.ak, m)}, holds), Body: []Stmt{Store(x.q, Num(1), m)}, Order: len(p.Actions)})
}

// promises adds NoDup and NoLost.
func (x *inboxVars) promises() {
	m, n, v := &Local{Name: "m"}, &Local{Name: "n"}, &Local{Name: "v"}
	quiet := All(Every(n, In(x.messages), Get(x.ak, Of(n))), Every(v, In(x.workers), Is(Get(x.pc, Of(v)), 0)))
	x.p.Props = []*Property{
		{Name: "NoDup", ForEach: []Param{Pick(m, In(x.messages))}, Goal: AtMost(Get(x.eff, Of(m)), Num(1))},
		{Name: "NoLost", ForEach: []Param{Pick(m, In(x.messages))}, Goal: Any(Not{A: quiet}, Is(Get(x.eff, Of(m)), 1))},
	}
}

// B1 is the inbox protocol: m messages, w workers, c crashes, r redeliveries.
func B1(m, w, c, r int) *Program {
	x := queueing("inbox", "row", []string{"IDLE", "RECV", "TX", "EFF", "DONE"}, m, w, c, r)
	v := &Local{Name: "v"}
	locked := Exists{Local: v, Over: In(x.workers), Where: All(Differ(Of(v), x.self), Same(Get(x.cur, Of(v)), x.held),
		Any(Is(Get(x.pc, Of(v)), 2), Is(Get(x.pc, Of(v)), 3)))}
	x.deliveries(4)
	x.step("insert", 1, All(Not{A: Get(x.row, x.held)}, Not{A: locked}), x.at(2))
	x.step("duplicate", 1, Get(x.row, x.held), x.at(4))
	x.step("apply", 2, nil, x.at(3))
	x.step("commit", 3, nil, Store(x.row, Num(1), x.held), saturate(x.eff, 2, x.held), x.at(4))
	x.promises()
	return x.p
}

// B2 is the protocol that sets a key before the effect and loses it in a crash.
func B2(m, w, c, r int) *Program {
	x := queueing("setnx", "key", []string{"IDLE", "RECV", "WON", "DONE"}, m, w, c, r)
	x.deliveries(3)
	x.step("setnx-win", 1, Not{A: Get(x.row, x.held)}, Store(x.row, Num(1), x.held), x.at(2))
	x.step("setnx-lose", 1, Get(x.row, x.held), x.at(3))
	x.step("apply", 2, nil, saturate(x.eff, 2, x.held), x.at(3))
	x.promises()
	return x.p
}

type outboxVars struct {
	p                  *Program
	rows, relays, one  *Set
	st, ver, own, dlv  *Var
	bq, seen, eff      *Var
	pc, cur, tok       *Var
	cpc, ccur, c, l    *Var
	relay, consumer    *Proc
	w, m               *Local
	self, held, cheld  Expr
	mine, live         Expr
	freeRelay, freeOne []Stmt
}

// B3 is the outbox protocol: m rows, w relays, c crashes, l early expiries.
func B3(m, w, c, l int) *Program {
	x := outboxDeclarations(m, w, c, l)
	x.relaySteps(1 + c + l)
	x.consumerSteps()
	x.promises()
	return x.p
}

func outboxDeclarations(m, w, c, l int) *outboxVars {
	x := &outboxVars{rows: &Set{Name: "row", Size: m}, relays: &Set{Name: "relay", Size: w}, one: &Set{Name: "consumer", Size: 1}, w: &Local{Name: "w"}, m: &Local{Name: "m"}}
	top := 1 + c + l
	x.st = names("st", []string{"PENDING", "CLAIMED", "SENT"}, x.rows)
	x.ver, x.own = number("ver", top, 0, x.rows), optional("own", x.relays, x.rows)
	x.dlv, x.bq = number("dlv", 3, 0, x.rows), number("bq", 3, 0, x.rows)
	x.seen, x.eff = boolean("seen", 0, x.rows), number("eff", 2, 0, x.rows)
	x.pc, x.cur = names("pc", []string{"IDLE", "HAVE", "PUB"}, x.relays), optional("cur", x.rows, x.relays)
	x.tok = number("tok", top, 0, x.relays)
	x.cpc, x.ccur = names("cpc", []string{"CIDLE", "CGOT", "CDONE"}, x.one), optional("ccur", x.rows, x.one)
	x.c, x.l = number("c", c, c), number("l", l, l)
	x.relay = &Proc{Name: "relay", Instances: x.relays, PC: x.pc, Locations: x.pc.Type.Names}
	x.consumer = &Proc{Name: "consumer", Instances: x.one, PC: x.cpc, Locations: x.cpc.Type.Names}
	x.p = &Program{Name: "outbox", Sets: []*Set{x.rows, x.relays, x.one}, Procs: []*Proc{x.relay, x.consumer},
		Vars: []*Var{x.st, x.ver, x.own, x.dlv, x.bq, x.seen, x.eff, x.pc, x.cur, x.tok, x.cpc, x.ccur, x.c, x.l}}
	x.self = Of(x.w)
	x.held, x.cheld = Get(x.cur, x.self), Get(x.ccur, x.self)
	x.mine = All(Is(Get(x.st, x.held), 1), Same(Get(x.own, x.held), x.self), Same(Get(x.ver, x.held), Get(x.tok, x.self)))
	v := &Local{Name: "v"}
	x.live = Exists{Local: v, Over: In(x.relays), Where: All(Differ(Get(x.pc, Of(v)), Num(0)), Same(Get(x.own, Of(x.m)), Of(v)),
		Same(Get(x.cur, Of(v)), Of(x.m)), Same(Get(x.tok, Of(v)), Get(x.ver, Of(x.m))))}
	x.freeRelay = []Stmt{Store(x.pc, Num(0), x.self), Store(x.cur, none, x.self), Store(x.tok, Num(0), x.self)}
	x.freeOne = []Stmt{Store(x.cpc, Num(0), x.self), Store(x.ccur, none, x.self)}
	return x
}

func (x *outboxVars) add(a Action) {
	a.Order = len(x.p.Actions)
	if a.Proc != nil {
		a.Self = x.w
	}
	if a.Kind != Fault {
		a.Label = a.Name
	}
	x.p.Actions = append(x.p.Actions, &a)
}

func (x *outboxVars) relaySteps(top int) {
	m, row := Of(x.m), []Param{Pick(x.m, In(x.rows))}
	x.add(Action{Name: "claim", Kind: Delivery, Proc: x.relay, Params: row, Guard: All(Is(Get(x.st, m), 0), Less(Get(x.ver, m), Num(top))), Body: []Stmt{
		Store(x.st, Num(1), m), Store(x.ver, Plus(Get(x.ver, m), 1), m), Store(x.own, x.self, m),
		Store(x.pc, Num(1), x.self), Store(x.cur, m, x.self), Store(x.tok, Get(x.ver, m), x.self)}})
	x.add(Action{Name: "publish", Proc: x.relay, At: 1, Body: []Stmt{saturate(x.dlv, 3, x.held), saturate(x.bq, 3, x.held), Store(x.pc, Num(2), x.self)}})
	x.add(Action{Name: "mark-ok", Proc: x.relay, At: 2, Guard: x.mine, Body: append([]Stmt{Store(x.st, Num(2), x.held), Store(x.own, none, x.held)}, x.freeRelay...)})
	x.add(Action{Name: "mark-fail", Proc: x.relay, At: 2, Guard: Not{A: x.mine}, Body: x.freeRelay})
	for at := 1; at <= 2; at++ {
		x.add(Action{Name: "crash-relay", Kind: Fault, Fault: "crash", Budget: x.c, Proc: x.relay, At: at, Body: x.freeRelay})
	}
	expire := []Stmt{Store(x.st, Num(0), m), Store(x.own, none, m)}
	x.add(Action{Name: "expire-live", Kind: Fault, Fault: "expiry", Rank: 1, Budget: x.l, Params: row, Guard: All(Is(Get(x.st, m), 1), x.live), Body: expire})
	x.add(Action{Name: "expire-orphan", Kind: Expiry, Params: row, Guard: All(Is(Get(x.st, m), 1), Not{A: x.live}), Body: expire})
}

func (x *outboxVars) consumerSteps() {
	m := Of(x.m)
	x.add(Action{Name: "fetch", Kind: Delivery, Proc: x.consumer, Params: []Param{Pick(x.m, In(x.rows))}, Guard: Less(Num(0), Get(x.bq, m)),
		Body: []Stmt{Store(x.bq, Plus(Get(x.bq, m), -1), m), Store(x.cpc, Num(1), x.self), Store(x.ccur, m, x.self)}})
	x.add(Action{Name: "consume", Proc: x.consumer, At: 1, Body: []Stmt{
		If{Cond: Not{A: Get(x.seen, x.cheld)}, Then: []Stmt{Store(x.seen, Num(1), x.cheld), saturate(x.eff, 2, x.cheld)}}, Store(x.cpc, Num(2), x.self)}})
	x.add(Action{Name: "consumer-ack", Proc: x.consumer, At: 2, Body: x.freeOne})
	for at := 1; at <= 2; at++ {
		x.add(Action{Name: "crash-consumer", Kind: Fault, Fault: "crash", Budget: x.c, Proc: x.consumer, At: at, Body: append([]Stmt{saturate(x.bq, 3, x.cheld)}, x.freeOne...)})
	}
}

func (x *outboxVars) promises() {
	m, n, v, one := &Local{Name: "m"}, &Local{Name: "n"}, &Local{Name: "v"}, &Local{Name: "one"}
	quiet := All(Every(n, In(x.rows), All(Is(Get(x.st, Of(n)), 2), Is(Get(x.bq, Of(n)), 0))), Every(v, In(x.relays), Is(Get(x.pc, Of(v)), 0)),
		Every(one, In(x.one), Is(Get(x.cpc, Of(one)), 0)))
	each := []Param{Pick(m, In(x.rows))}
	x.p.Props = []*Property{
		{Name: "NoDup", ForEach: each, Goal: AtMost(Get(x.eff, Of(m)), Num(1))},
		{Name: "SentDelivered", ForEach: each, Goal: Any(Differ(Get(x.st, Of(m)), Num(2)), Less(Num(0), Get(x.dlv, Of(m))))},
		{Name: "NoLost", ForEach: each, Goal: Any(Not{A: quiet}, Is(Get(x.eff, Of(m)), 1))},
	}
}
