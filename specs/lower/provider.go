package lower

import (
	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// provider is a service with a ledger of its own. A method that deduplicates
// or can be asked about has records; requests that are under way after the
// caller has given up on them are pending (R24).
type provider struct {
	lw      *lowering
	r       *ast.Resource
	p       *ast.Provider
	methods map[*ast.Method]*method
}

type method struct {
	pr     *provider
	m      *ast.Method
	ledger *table // nil: nobody looks records up
	keyed  string // the request field by which repeats are recognised
	// visible: a find sees the record (lag); dead: the value of the field deadBy
	// was answered "not found" for good (not_found: final) or cancelled.
	visible *ir.Var
	dead    *table
	deadBy  string
	pending *ir.Pool
	late    []*column // what a pending request carries
}

func (lw *lowering) makeProvider(r *ast.Resource) {
	pr := &provider{lw: lw, r: r, p: r.Provider, methods: map[*ast.Method]*method{}}
	lw.provs[r] = pr
	for _, m := range r.Provider.Methods {
		if m.Kind == ast.Find {
			continue
		}
		pr.methods[m] = pr.newMethod(m)
	}
}

func (pr *provider) newMethod(m *ast.Method) *method {
	x := &method{pr: pr, m: m}
	var fields []*ast.Field
	add := func(f *ast.Field) {
		for _, g := range fields {
			if f == nil || g.Name == f.Name {
				return
			}
		}
		if f != nil {
			fields = append(fields, f)
		}
	}
	lag := false
	var refusedBy *ast.Field
	refuses := func(q *ast.Method, f *ast.Field) {
		if refusedBy != nil && f != nil && f.Name != refusedBy.Name {
			pr.lw.problem(q.Pos, "%s refuses later requests by %s, and another method by %s: one field must decide", q.Name, f.Name, refusedBy.Name)
		}
		refusedBy = f
	}
	add(x.arg(m.DedupBy))
	for _, q := range pr.p.Methods {
		if q.Kind == ast.Find && (q.Of == m || q.Of == nil) && !q.ByReceipt {
			add(x.arg(q.By))
			lag = lag || q.Lag
			if q.NotFoundFinal {
				refuses(q, x.arg(q.By))
			}
		}
		if q.Kind == ast.Cancel && q.RefusesAfter == m {
			add(x.arg(q.DedupBy))
			if len(fields) == 0 {
				add(x.arg(&ast.Field{Name: "op"}))
			}
			refuses(q, fields[0])
		}
	}
	if len(fields) > 0 {
		x.keyed = fields[0].Name
		for _, f := range m.Compares {
			add(x.arg(f))
		}
		x.makeLedger(fields, lag, refusedBy)
	}
	x.makePending()
	return x
}

// arg is the request field of that name of this method.
func (x *method) arg(f *ast.Field) *ast.Field {
	if f == nil {
		return nil
	}
	for _, a := range x.m.Args {
		if a.Name == f.Name {
			return a
		}
	}
	return nil
}

// ledgerOwner names the ledger: the provider, or the method where it cancels or
// the provider has several that execute.
func (x *method) ledgerOwner() string {
	n := 0
	for _, m := range x.pr.p.Methods {
		if m.Kind == ast.Execute {
			n++
		}
	}
	if n > 1 || x.m.Kind != ast.Execute {
		return x.pr.r.Name + "." + x.m.Name
	}
	return x.pr.r.Name
}

func (x *method) makeLedger(fields []*ast.Field, lag bool, refusedBy *ast.Field) {
	lw := x.pr.lw
	owner := x.ledgerOwner()
	x.ledger = x.records(owner+" record", fields)
	if k := x.m.Keeps; k != nil && !k.None {
		x.ledger.timed(k)
	}
	if lag {
		x.visible = lw.variable(&ir.Var{Name: owner + " record visible", Index: []ir.Index{x.ledger.over}, Type: ir.Type{Kind: ir.Bool}})
		x.ledger.extra = append(x.ledger.extra, x.visible)
	}
	if refusedBy != nil {
		x.dead, x.deadBy = x.records(owner+" refused key", []*ast.Field{refusedBy}), refusedBy.Name
	}
}

// records makes a set of records: an array if its one field is an operation.
func (x *method) records(name string, fields []*ast.Field) *table {
	lw := x.pr.lw
	t := &table{lw: lw, name: name}
	ty := fields[0].Type
	if len(fields) == 1 && ty != nil && len(ty.Alts) == 1 && ty.Alts[0].Kind == ast.KindOperation {
		o := ty.Alts[0].Operation
		t.key, t.over = fields[0].Name, ir.In(lw.opSet(o))
		t.leaf = part{"/o:" + o.Name, refTo(lw.opSet(o))}
		t.used = lw.variable(&ir.Var{Name: name, Index: []ir.Index{t.over}, Type: ir.Type{Kind: ir.Bool}})
		return t
	}
	n := 1
	if ty != nil {
		if o := operationOf(ty); o != nil {
			n = o.Count
		}
	}
	lw.makePool(t, n+1)
	for _, f := range fields {
		t.addColumn(f.Name, nil, f.Type)
	}
	return t
}

// makePending makes room for requests that are executed later.
func (x *method) makePending() {
	lw := x.pr.lw
	if !x.pr.p.CanArriveLate || x.m.Kind == ast.Find {
		return
	}
	n := 0
	for _, f := range lw.spec.Faults {
		switch f.Kind {
		case ast.FaultResponseLost, ast.FaultLateRequest, ast.FaultCrash:
			n += f.Max
		}
	}
	if n == 0 {
		return
	}
	name := x.pr.r.Name + "." + x.m.Name + " under way"
	x.pending = &ir.Pool{Name: name, Cap: lw.capacity(name, n)}
	over := []ir.Index{ir.Slots(x.pending)}
	x.pending.Used = lw.variable(&ir.Var{Name: name, Index: over, Type: ir.Type{Kind: ir.Bool}})
	lw.program.Pools = append(lw.program.Pools, x.pending)
	for _, f := range x.m.Args {
		if f.Name != "op" && (x.ledger == nil || !x.ledger.stores(f.Name)) {
			continue
		}
		c := &column{name: f.Name, parts: lw.shape(f.Type)}
		for _, pt := range c.parts {
			c.vars = append(c.vars, lw.variable(&ir.Var{Name: name + " " + f.Name + pt.key, Index: over, Type: optionalRef(pt.typ), Initial: cleared(optionalRef(pt.typ))}))
		}
		x.late = append(x.late, c)
	}
}

// key is what records are looked up by.
func (x *method) key(args map[string]value) value { return args[x.keyed] }

// recorded is true if a record has that value in the field (and cond).
func (x *method) recorded(t *table, field string, key value, cond func(at ir.Expr) ir.Expr) ir.Expr {
	if cond == nil {
		cond = func(ir.Expr) ir.Expr { return yes }
	}
	if t.pool == nil {
		at := key.at(t.leaf.key)
		return and(load(t.used, at), cond(at))
	}
	return t.some(func(at ir.Expr) ir.Expr { return and(equal(t.get(field, at, reader{}), key), cond(at)) })
}

// refuses is true if the provider refuses the request: the key is dead, or was
// used with other values.
func (x *method) refuses(args map[string]value) ir.Expr {
	out := no
	if x.dead != nil {
		out = or(out, x.recorded(x.dead, x.deadBy, args[x.deadBy], nil))
	}
	if x.m.DedupBy != nil && len(x.m.Compares) > 0 {
		out = or(out, x.recorded(x.ledger, x.keyed, x.key(args), func(at ir.Expr) ir.Expr {
			differs := no
			for _, f := range x.m.Compares {
				differs = or(differs, not(equal(x.ledger.get(f.Name, at, reader{}), args[f.Name])))
			}
			return differs
		}))
	}
	return out
}

// execute is what the provider does with a request, whenever it arrives.
func (x *method) execute(args map[string]value) []ir.Stmt {
	known := no
	if x.ledger != nil {
		known = x.recorded(x.ledger, x.keyed, x.key(args), nil)
	}
	return x.work(args, known)
}

// work executes a request whose key is known or not.
func (x *method) work(args map[string]value, known ir.Expr) []ir.Stmt {
	lw := x.pr.lw
	var work []ir.Stmt
	if x.m.Effect != nil {
		work = append(work, lw.countMark(x.m.Effect, args["op"], false)...)
		work = append(work, lw.monitors.effect(nil, nil, x.m.Effect)...)
	}
	if x.m.Undo != nil {
		// There is something to take back only if it happened.
		happened := order(ir.Lt, num(0), lw.effectCount(x.m.Undo, args["op"]))
		work = append(work, when(happened, lw.countMark(x.m.Undo, args["op"], true), nil)...)
	}
	work = append(work, x.forbids(args)...)
	if x.ledger == nil {
		return when(x.refuses(args), nil, work)
	}
	cells := map[string]value{}
	for k, v := range args {
		if x.ledger.stores(k) {
			cells[k] = v
		}
	}
	if x.m.DedupBy == nil && x.ledger.pool != nil {
		known = x.recorded(x.ledger, x.keyed, x.key(args), func(at ir.Expr) ir.Expr {
			eq := yes
			for _, c := range x.ledger.columns {
				eq = and(eq, equal(x.ledger.get(c.name, at, reader{}), cells[c.name]))
			}
			return eq
		})
	}
	record := x.ledger.insert(cells, func(at ir.Expr) []ir.Stmt { return x.ledger.startTimed(at) })
	if x.m.DedupBy != nil {
		return when(or(known, x.refuses(args)), nil, append(work, record...))
	}
	return when(x.refuses(args), nil, append(work, when(known, nil, record)...))
}

// forbids: after a cancellation the execution of the same key is refused.
func (x *method) forbids(args map[string]value) []ir.Stmt {
	if x.m.RefusesAfter == nil {
		return nil
	}
	y := x.pr.methods[x.m.RefusesAfter]
	if y == nil || y.dead == nil {
		return nil
	}
	k, ok := args[y.deadBy]
	if !ok {
		return nil
	}
	mark := y.dead.insert(map[string]value{y.deadBy: k}, func(ir.Expr) []ir.Stmt { return nil })
	return when(y.recorded(y.dead, y.deadBy, k, nil), nil, mark)
}

// args evaluates `with:`.
func (em *emitter) args(s *ast.Step, stmts *[]ir.Stmt) map[string]value {
	out := map[string]value{}
	for _, c := range s.Row {
		out[c.Name] = em.value(c.Value, stmts)
	}
	return out
}

func (em *emitter) callPlan(n *node) plan {
	s := n.step
	pr := em.lw.provs[s.Resource]
	if s.Method.Kind == ast.Find {
		return em.findPlan(n, pr)
	}
	x := pr.methods[s.Method]
	pl := plan{lossy: true}
	refused := x.refuses(em.args(s, nil))
	if v := em.p.lookups[n]; v != nil {
		return em.twoSteps(n, x, v)
	}
	pl.outcomes = []*outcome{{done: true, guard: not(refused), do: func(em *emitter) []ir.Stmt {
		var out []ir.Stmt
		args := em.args(s, &out)
		out = append(out, x.execute(args)...)
		em.bind(s.As, em.p.onlyRead(s.As, receipt(args)), &out)
		return out
	}}}
	if !isFalse(refused) {
		pl.outcomes = append(pl.outcomes, &outcome{branch: ast.OnRefused, guard: refused, pure: true, text: "refused", why: Refused})
	}
	return pl
}

// twoSteps: a provider that looks the key up and executes in two steps (atomic:
// false): two requests with one key can both find nothing.
func (em *emitter) twoSteps(n *node, x *method, looked *ir.Var) plan {
	s := n.step
	args := em.args(s, nil)
	known, refused := x.recorded(x.ledger, x.keyed, x.key(args), nil), x.refuses(args)
	asked := load(looked, em.me)
	answer := func(em *emitter) []ir.Stmt {
		var out []ir.Stmt
		em.bind(s.As, em.p.onlyRead(s.As, receipt(em.args(s, &out))), &out)
		return out
	}
	pl := plan{lossy: true}
	pl.outcomes = []*outcome{
		{done: true, guard: and(not(asked), not(refused), not(known)), stay: true, quiet: true, text: "the provider looks the key up and does not know it", why: LookedUp,
			do: func(em *emitter) []ir.Stmt { return []ir.Stmt{set(looked, yes, em.me)} }},
		{done: true, guard: and(not(asked), not(refused), known), pure: true, text: "the provider knows the key", why: FoundAtProvider, do: answer},
		{done: true, guard: asked, text: "the provider executes", do: func(em *emitter) []ir.Stmt {
			var out []ir.Stmt
			out = append(out, set(looked, no, em.me))
			out = append(out, x.work(em.args(s, &out), no)...)
			return append(out, answer(em)...)
		}},
	}
	if !isFalse(refused) {
		pl.outcomes = append(pl.outcomes, &outcome{branch: ast.OnRefused, guard: and(not(asked), refused), pure: true, text: "refused", why: Refused})
	}
	return pl
}

// makeLookups gives calls of such a provider the flag "looked up".
func (p *process) makeLookups() {
	p.lookups = map[*node]*ir.Var{}
	for _, n := range p.nodes {
		if n.kind == remoteNode && n.step.Verb == ast.VerbCall && n.step.Method.Kind != ast.Find && !n.step.Method.Atomic && n.step.Method.DedupBy != nil {
			p.lookups[n] = p.perInstance("looked up at "+p.locationName(n), ir.Type{Kind: ir.Bool})
		}
	}
}

// receipt is the answer of a call.
func receipt(args map[string]value) value {
	ls := []leaf{here(yes)}
	for k, v := range args {
		ls = append(ls, v.below("."+k)...)
	}
	return newValue(ls...)
}

func (em *emitter) findPlan(n *node, pr *provider) plan {
	s := n.step
	pl := plan{lossy: true}
	var x *method
	for _, m := range pr.p.Methods {
		if m.Kind == ast.Execute && (s.Method.Of == m || s.Method.Of == nil && x == nil) {
			x = pr.methods[m]
		}
	}
	if s.Method.ByReceipt || x == nil || x.ledger == nil {
		return em.findReceipt(n)
	}
	by := s.Method.By.Name
	key := func(em *emitter) value {
		for _, c := range s.Row {
			if c.Name == by {
				return em.pure(c.Value)
			}
		}
		return value{}
	}
	seen := func(at ir.Expr) ir.Expr {
		if x.visible == nil {
			return yes
		}
		return load(x.visible, at)
	}
	there := x.recorded(x.ledger, by, key(em), seen)
	found := &outcome{done: true, pure: true, guard: there, text: "the provider knows it", why: FoundAtProvider}
	found.do = func(em *emitter) []ir.Stmt {
		var out []ir.Stmt
		v := newValue(here(yes)).with(key(em).below("." + by)...)
		em.bind(s.As, em.p.onlyRead(s.As, v), &out)
		return out
	}
	missing := &outcome{done: true, pure: !s.Method.NotFoundFinal, guard: not(there), text: "the provider does not know it", why: UnknownToProvider}
	missing.do = func(em *emitter) []ir.Stmt {
		if s.As != nil {
			delete(em.env, s.As)
		}
		if !s.Method.NotFoundFinal {
			return nil
		}
		k := key(em)
		mark := x.dead.insert(map[string]value{x.deadBy: k}, func(ir.Expr) []ir.Stmt { return nil })
		return when(x.recorded(x.dead, x.deadBy, k, nil), nil, mark)
	}
	pl.outcomes = []*outcome{found, missing}
	return pl
}

// findReceipt asks by a receipt: it exists iff the caller has one.
func (em *emitter) findReceipt(n *node) plan {
	s := n.step
	arg := value{}
	for _, c := range s.Row {
		if s.Method.By == nil || c.Name == s.Method.By.Name {
			arg = em.pure(c.Value)
		}
	}
	there := arg.present()
	return plan{lossy: true, outcomes: []*outcome{
		{done: true, pure: true, guard: there, text: "the provider knows it", why: FoundAtProvider, do: func(em *emitter) []ir.Stmt {
			var out []ir.Stmt
			em.bind(s.As, em.p.onlyRead(s.As, arg.with(here(yes))), &out)
			return out
		}},
		{done: true, pure: true, guard: not(there), text: "the provider does not know it", why: UnknownToProvider, do: func(em *emitter) []ir.Stmt {
			if s.As != nil {
				delete(em.env, s.As)
			}
			return nil
		}},
	}}
}

// put makes a request pending.
func (x *method) put(args map[string]value) []ir.Stmt {
	l := &ir.Local{Name: "request"}
	var body []ir.Stmt
	for _, c := range x.late {
		body = append(body, c.assign(c.vars, args[c.name], use(l))...)
	}
	return []ir.Stmt{ir.Put{Pool: x.pending, Slot: l, Body: body}}
}

// lateWorlds adds, for a call of a provider whose requests can arrive late, the
// two other worlds of a lost answer: never arrived, and pending.
func (p *process) lateWorlds(n *node, pl plan, unknown func(*emitter) []ir.Stmt, add addAction) {
	s := n.step
	if s.Verb != ast.VerbCall || s.Method.Kind == ast.Find || !s.Resource.Provider.CanArriveLate {
		return
	}
	x := p.lw.provs[s.Resource].methods[s.Method]
	if x.pending == nil {
		return
	}
	own := p.lw.faultsOn(ast.FaultLateRequest, s.Resource)
	budgets := append(append([]*budget{}, p.lw.faultsOn(ast.FaultResponseLost, s.Resource)...), own...)
	only := p.lw.opts.window // the crash table asks for one world at a time
	if only != nil && only.event != "late" {
		return
	}
	for i, f := range budgets {
		if i >= len(budgets)-len(own) && only == nil {
			o := pl.outcomes[0]
			add(o, o.guard, f, DoneLost, func(em *emitter) []ir.Stmt {
				out := o.do(em)
				out = append(out, em.marks(n)...)
				return append(out, unknown(em)...)
			})
		}
		if only == nil {
			add(&outcome{guard: yes, branch: ast.OnUnknown}, yes, f, NeverArrives, unknown)
		}
		add(&outcome{guard: yes, branch: ast.OnUnknown}, yes, f, ArrivesLate, func(em *emitter) []ir.Stmt {
			var out []ir.Stmt
			args := em.args(s, &out)
			out = append(out, x.put(args)...)
			return append(out, unknown(em)...)
		})
	}
}

// lateCrashes: a crash at a call leaves the request under way.
func (p *process) lateCrashes(f *budget) {
	for _, n := range p.inFileOrder() {
		s := n.step
		if n.loc < 0 || p.lw.opts.window != nil || s.Verb != ast.VerbCall || s.Method.Kind == ast.Find || !s.Resource.Provider.CanArriveLate {
			continue
		}
		x := p.lw.provs[s.Resource].methods[s.Method]
		l := &ir.Local{Name: p.ast.Name}
		em := &emitter{lw: p.lw, p: p, self: l, me: use(l), env: p.namesAt(n, use(l)), from: bits{}}
		var body []ir.Stmt
		args := em.args(s, &body)
		body = append(body, x.put(args)...)
		body = append(body, p.crash(l)...)
		p.lw.event(&event{kind: ir.Fault, name: "crash", what: Crash, of: &about{resource: s.Resource, method: s.Method, fields: args}, fault: f, params: []ir.Param{{Local: l, Over: ir.In(p.set)}},
			guard: same(load(p.pc, use(l)), num(n.loc)), body: body, proc: p, me: use(l),
			text: []any{"crashes with the request of line ", s.Pos.Line, " under way"}})
	}
}

// environment adds the execution of late requests, records that become visible
// and keys that are forgotten.
func (pr *provider) environment() {
	for _, m := range pr.p.Methods {
		x := pr.methods[m]
		if x == nil {
			continue
		}
		x.executesLate()
		x.becomesVisible()
		x.forgets()
	}
}

// keyNotReused: the spec assumes that no key is used again once it is forgotten.
func (x *method) keyNotReused() bool {
	for _, a := range x.pr.lw.spec.Assume {
		if a.Kind == ast.AssumeKeyNotReused && a.Method == x.m {
			return true
		}
	}
	return false
}

func (x *method) executesLate() {
	if x.pending == nil {
		return
	}
	l := &ir.Local{Name: "request"}
	args := map[string]value{}
	var text []any
	for _, c := range x.late {
		var ls []leaf
		for i, pt := range c.parts {
			ls = append(ls, leaf{pt.key, pt.typ, load(c.vars[i], use(l))})
		}
		args[c.name] = newValue(ls...)
	}
	text = append(text, x.pr.r.Name, " executes the late request ", x.m.Name, " of ", valueText{args["op"]})
	body := x.execute(args)
	body = append(body, ir.Drop{Pool: x.pending, Slot: use(l)})
	x.pr.lw.event(&event{kind: ir.Expiry, name: "late request", what: LateRequest, of: &about{resource: x.pr.r, method: x.m, fields: args}, params: []ir.Param{{Local: l, Over: ir.Slots(x.pending)}}, guard: yes, body: body, text: text})
}

// recordAt is a record of the method's ledger.
func (x *method) recordAt(at ir.Expr) *about {
	return &about{resource: x.pr.r, method: x.m, table: x.ledger, at: at, duration: x.m.Keeps}
}

func (x *method) becomesVisible() {
	if x.visible == nil {
		return
	}
	l := &ir.Local{Name: "record"}
	x.pr.lw.event(&event{kind: ir.Expiry, name: "visible", what: BecomesVisible, of: x.recordAt(use(l)), params: []ir.Param{{Local: l, Over: x.ledger.over}},
		guard: and(load(x.ledger.used, use(l)), not(load(x.visible, use(l)))), body: []ir.Stmt{set(x.visible, yes, use(l))},
		text: []any{"a record of ", x.pr.r.Name, " becomes visible"}})
}

// forgets: the provider keeps keys for a time only.
func (x *method) forgets() {
	if x.ledger == nil || x.ledger.retention == nil || x.keyNotReused() {
		return
	}
	l := &ir.Local{Name: "record"}
	x.pr.lw.event(&event{kind: ir.Expiry, name: "key forgotten", what: KeyForgotten, of: x.recordAt(use(l)), params: []ir.Param{{Local: l, Over: x.ledger.over}},
		guard: and(load(x.ledger.used, use(l)), x.ledger.mayFire(use(l))), body: x.ledger.remove(use(l)),
		text: []any{x.pr.r.Name, " forgets a key after ", x.m.Keeps.Name}})
}
