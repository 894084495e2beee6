package lower

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// A kv, or process-local memory, is a table with the columns key and value.
// Where all keys are operations, instances or named constants it is an array
// over them; any other is a pool. Private memory of several instances carries
// its owner.

// keying says how a value becomes the index of an array.
type keying struct {
	leaf  string         // the leaf that is the index
	names map[string]int // constants, by leaf and number: their position
	set   *ir.Set
}

// index is the place of a key.
func (k *keying) index(v value) (ir.Expr, bool) {
	if k.names == nil {
		l, ok := v.find(k.leaf)
		return l.e, ok
	}
	for _, l := range v.leaves {
		if c, ok := constant(l.e); ok {
			if i, ok := k.names[fmt.Sprintf("%s=%d", l.key, c)]; ok {
				return num(i), true
			}
		}
		if i, ok := k.names[l.key]; ok {
			return num(i), true
		}
	}
	return nil, false
}

// value is the key at a place of an array over constants.
func (k *keying) value(lw *lowering, at ir.Expr) value {
	out := map[string]ir.Expr{}
	for _, name := range slices.Sorted(maps.Keys(k.names)) {
		key, number, isSymbol := strings.Cut(name, "=")
		c := num(0)
		if isSymbol {
			n, _ := strconv.Atoi(number)
			c = num(n)
		}
		if out[key] == nil {
			out[key] = none
		}
		out[key] = pick(same(at, num(k.names[name])), c, out[key])
	}
	var ls []leaf
	for key, e := range out {
		t := ir.Type{Kind: ir.Range, Optional: true}
		if key == "/s" {
			t = lw.symbolType()
			t.Optional = true
		}
		ls = append(ls, leaf{key, t, e})
	}
	return newValue(ls...)
}

func (lw *lowering) makeKV(r *ast.Resource) {
	t := &table{lw: lw, name: r.Name, kv: r}
	lw.kvs[r] = t
	owned := r.Kind == ast.MemoryKind && r.KV.Scope == ast.PerInstance && r.KV.Process != nil && r.KV.Process.Instances > 1
	if k := lw.keyingOf(r); k != nil && !owned {
		t.keys, t.key, t.over = k, "key", ir.In(k.set)
		t.leaf = part{k.leaf, refTo(k.set)}
		t.used = lw.variable(&ir.Var{Name: r.Name, Index: []ir.Index{t.over}, Type: ir.Type{Kind: ir.Bool}})
	} else {
		lw.makePool(t, lw.entriesOf(r))
		if owned {
			t.addColumn("owner", nil, &ast.Type{Alts: []ast.Alt{{Kind: ast.KindInstance, Process: r.KV.Process}}})
		}
		t.addColumn("key", nil, r.KV.Key)
	}
	c := &column{name: "value"}
	for _, pt := range lw.shape(r.KV.Value) {
		if !lw.entryReads(r, pt.key) {
			continue
		}
		v := &ir.Var{Name: r.Name + ".value" + pt.key, Index: []ir.Index{t.over}, Type: optionalRef(pt.typ)}
		v.Initial = cleared(v.Type)
		c.parts = append(c.parts, pt)
		c.vars = append(c.vars, lw.variable(v))
	}
	if len(c.parts) > 0 {
		t.columns = append(t.columns, c)
	}
	lw.makeTTL(t)
	lw.makeFailover(t)
}

// keyingOf finds the index of an array for the keys of a kv, nil for a pool. An
// array over named constants does not hold the key itself, so it serves only
// where nobody reads it.
func (lw *lowering) keyingOf(r *ast.Resource) *keying {
	parts := lw.shape(r.KV.Key)
	if len(parts) == 1 && parts[0].typ.Kind == ir.Ref {
		return &keying{leaf: parts[0].key, set: parts[0].typ.Set}
	}
	names := map[string]int{}
	var printed []string
	for _, a := range r.KV.Key.Alts {
		switch {
		case a.Kind == ast.KindSymbol || a.Kind == ast.KindText:
			kind := ast.SymbolValue
			if a.Kind == ast.KindText {
				kind = ast.TextValue
			}
			for _, s := range a.Symbols {
				v := ast.Value{Kind: kind, Text: s}
				names[fmt.Sprintf("/s=%d", lw.symbol(v))] = len(printed)
				printed = append(printed, s)
			}
		case a.Kind == ast.KindOpField && a.OpField.Kind == ast.FieldSame:
			names["/f:"+a.Operation.Name+"."+a.OpField.Name] = len(printed)
			printed = append(printed, a.OpField.Name)
		default:
			return nil
		}
	}
	if len(printed) == 0 || lw.keyRead[r] || !lw.keysConstant(r, names) {
		return nil
	}
	s := &ir.Set{Name: r.Name + " key", Size: len(printed), Ordered: true, Elements: printed}
	lw.program.Sets = append(lw.program.Sets, s)
	return &keying{names: names, set: s}
}

// keysConstant: every step names its key by a constant.
func (lw *lowering) keysConstant(r *ast.Resource, names map[string]int) bool {
	for _, s := range lw.allSteps() {
		if s.Resource != r || s.Key == nil {
			continue
		}
		switch x := s.Key.(type) {
		case *ast.Lit:
		case *ast.FieldOf:
			if o := operationOf(x.X.Type()); o == nil || o.Field(x.Name) == nil {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// entriesOf derives the number of slots.
func (lw *lowering) entriesOf(r *ast.Resource) int {
	n := 0
	for _, in := range lw.spec.Initially {
		if in.Resource == r {
			n++
		}
	}
	for _, s := range lw.allSteps() {
		if s.Resource == r && (s.Verb == ast.VerbPut || s.Verb == ast.VerbPutNew) && s.Key != nil {
			if o := operationOf(s.Key.Type()); o != nil {
				n = max(n, o.Count)
			}
		}
	}
	if r.KV.Process != nil && r.Kind == ast.MemoryKind && r.KV.Scope == ast.PerInstance {
		return max(n, 1) * r.KV.Process.Instances
	}
	return max(n, 1)
}

// makeTTL gives entries a timer if some step sets one.
func (lw *lowering) makeTTL(t *table) {
	if !t.kv.KV.HasTTL {
		return
	}
	tm := &timer{t: t}
	tm.running = lw.variable(&ir.Var{Name: t.name + " expires", Index: []ir.Index{t.over}, Type: ir.Type{Kind: ir.Bool}})
	t.timers = append(t.timers, tm)
	t.ttl = tm
	defer func() {
		tm.class = lw.timerClass("ttl of "+t.name, tm.duration, t.over, func(i ir.Expr) ir.Expr { return and(t.there(i), load(tm.running, i)) })
		tm.class.held = true
	}()
	for _, p := range lw.order {
		for _, s := range p.ast.All {
			if s.Resource == t.kv && setsTTL(s) {
				if tm.duration == nil {
					tm.duration = s.TTL
				}
				tm.holdable(p, "ttl")
			}
		}
	}
}

func setsTTL(s *ast.Step) bool { return s.TTL != nil && !s.TTL.None }

// entry is the place of a key, seen by a step.
type entry struct {
	em  *emitter
	t   *table
	key value
	at  ir.Expr // array
}

func (em *emitter) entry(s *ast.Step, stmts *[]ir.Stmt) *entry {
	t := em.lw.kvs[s.Resource]
	e := &entry{em: em, t: t, key: em.value(s.Key, stmts)}
	if t.keys != nil {
		if at, ok := t.keys.index(e.key); ok {
			e.at = at
		} else {
			em.lw.problem(s.Pos, "key %s of %s", s.Key, t.name)
			e.at = num(0)
		}
	}
	return e
}

// is is true if the entry at that place has the key.
func (e *entry) is(at ir.Expr) ir.Expr {
	m := equal(e.t.get("key", at, reader{}), e.key)
	if c := e.t.column("owner"); c != nil {
		m = and(m, same(load(c.vars[0], at), e.em.me))
	}
	return m
}

// there is true if the key exists (and cond holds for its entry).
func (e *entry) there(cond func(at ir.Expr) ir.Expr) ir.Expr {
	if cond == nil {
		cond = func(ir.Expr) ir.Expr { return yes }
	}
	if e.at != nil {
		return and(load(e.t.used, e.at), cond(e.at))
	}
	return e.t.some(func(at ir.Expr) ir.Expr { return and(e.is(at), cond(at)) })
}

// do runs body at the entry's place if it exists.
func (e *entry) do(body func(at ir.Expr) []ir.Stmt) []ir.Stmt {
	if e.at != nil {
		return when(load(e.t.used, e.at), body(e.at), nil)
	}
	return e.t.each(func(at ir.Expr) []ir.Stmt { return when(e.is(at), body(at), nil) })
}

// make creates the entry.
func (e *entry) make(cells map[string]value, body func(at ir.Expr) []ir.Stmt) []ir.Stmt {
	if e.at != nil {
		out := append([]ir.Stmt{set(e.t.used, yes, e.at)}, e.t.write(e.at, cells)...)
		return append(out, body(e.at)...)
	}
	cells["key"] = e.key
	if e.t.column("owner") != nil {
		cells["owner"] = e.em.lw.instance(e.em.p.ast, e.em.me)
	}
	return e.t.insert(cells, body)
}

func (em *emitter) kvPlan(n *node) plan {
	switch n.step.Verb {
	case ast.VerbGet:
		return em.getPlan(n)
	case ast.VerbRemove:
		return em.removePlan(n)
	case ast.VerbExpire:
		return em.expirePlan(n)
	}
	return em.putPlan(n)
}

func (em *emitter) putPlan(n *node) plan {
	s := n.step
	pl := plan{lossy: true}
	e := em.entry(s, nil)
	there := no
	if !hasFresh(s.Key) {
		there = e.there(nil)
	}
	done := &outcome{done: true, guard: yes, do: func(em *emitter) []ir.Stmt { return em.put(s) }}
	pl.outcomes = []*outcome{done}
	if s.IfAbsent || s.Branches[ast.IfExists] != nil {
		done.guard = not(there)
		if !isFalse(there) {
			pl.outcomes = append(pl.outcomes, &outcome{branch: ast.IfExists, guard: there, pure: true, text: "the key is there already", why: KeyThere})
		}
	}
	return pl
}

func (em *emitter) put(s *ast.Step) []ir.Stmt {
	var out []ir.Stmt
	e := em.entry(s, &out)
	out = append(out, e.noteWrite(s)...)
	v := newValue(here(yes))
	if s.Value != nil {
		v = em.freeze(s.Resource.Name, em.value(s.Value, &out), &out)
	}
	cells := map[string]value{"value": v}
	ttl := func(at ir.Expr) []ir.Stmt { return e.t.startTTL(em, s, at) }
	if isFalse(e.there(nil)) || hasFresh(s.Key) {
		return append(out, e.make(cells, ttl)...)
	}
	found := e.there(nil)
	fresh := e.make(map[string]value{"value": v}, ttl)
	if s.IfAbsent {
		return append(out, fresh...)
	}
	l := &ir.Local{Name: "there"}
	out = append(out, ir.Let{Local: l, Value: found})
	old := e.do(func(at ir.Expr) []ir.Stmt { return append(e.t.write(at, cells), ttl(at)...) })
	return append(out, when(use(l), old, fresh)...)
}

// startTTL sets or clears the timer of an entry that was put (R37).
func (t *table) startTTL(em *emitter, s *ast.Step, at ir.Expr) []ir.Stmt {
	if t.ttl == nil || s.KeepTTL {
		return nil
	}
	if !setsTTL(s) {
		return append([]ir.Stmt{set(t.ttl.running, no, at)}, t.ttl.drop(at)...)
	}
	return append([]ir.Stmt{set(t.ttl.running, yes, at)}, t.ttl.hold(em, at)...)
}

func (em *emitter) getPlan(n *node) plan {
	s := n.step
	pl := plan{lossy: true}
	e := em.entry(s, nil)
	if e.at == nil && n.kind == inlineNode {
		pl.outcomes = []*outcome{{done: true, guard: yes, pure: true, do: func(em *emitter) []ir.Stmt { return em.getInline(s) }}}
		return pl
	}
	found := &outcome{done: true, pure: true, guard: e.there(nil), text: "finds"}
	place := e.at
	if place == nil {
		l := &ir.Local{Name: e.t.name + " entry"}
		place = use(l)
		found.params = []ir.Param{{Local: l, Over: e.t.over}}
		found.guard = e.is(place)
	}
	found.shows = []any{rowText{e.t, place}}
	seen := em.entryValue(e.t, place)
	found.reads = &seen
	found.do = func(em *emitter) []ir.Stmt {
		var out []ir.Stmt
		em.bind(s.As, em.p.onlyRead(s.As, em.entryValue(e.t, place)), &out)
		return append(out, em.remember(s, em.entryValue(e.t, place))...)
	}
	pl.outcomes = []*outcome{found, {done: true, pure: true, guard: not(e.there(nil)), text: "finds nothing", why: NoneMatches, do: func(em *emitter) []ir.Stmt {
		if s.As != nil {
			delete(em.env, s.As)
		}
		return nil
	}}}
	return pl
}

// entryValue is what a get answers for an entry that is there.
func (em *emitter) entryValue(t *table, at ir.Expr) value {
	v := t.get("value", at, reader{})
	if a := t.kv.KV.Value.Find(ast.KindRecord); a != nil || t.kv.KV.Value.Has(ast.KindPresent) {
		if len(t.kv.KV.Value.Alts) == 1 {
			v = v.with(here(yes))
		}
	}
	return v
}

// getInline reads through scratch variables, since a script cannot branch over
// the slots of a pool.
func (em *emitter) getInline(s *ast.Step) []ir.Stmt {
	var out []ir.Stmt
	e := em.entry(s, &out)
	scratch := e.t.scratch()
	out = append(out, e.do(func(at ir.Expr) []ir.Stmt {
		var in []ir.Stmt
		v := em.entryValue(e.t, at)
		for _, c := range scratch {
			in = append(in, set(c.v, v.at(c.key)))
		}
		return in
	})...)
	var ls []leaf
	for _, c := range scratch {
		l := &ir.Local{Name: e.t.name + " " + c.key}
		out = append(out, ir.Let{Local: l, Value: load(c.v)}, set(c.v, none))
		ls = append(ls, leaf{c.key, c.v.Type, use(l)})
	}
	if s.As != nil {
		em.env[s.As] = newValue(ls...)
	}
	return append(out, em.remember(s, newValue(ls...))...)
}

// remember keeps what a get has found until it is clear whether the run does
// something with it; where nothing reads it, it counts as answered.
func (em *emitter) remember(s *ast.Step, v value) []ir.Stmt {
	if s.As == nil || !slices.ContainsFunc(em.p.byVar[s.As], func(l *slot) bool { return em.p.read[l.id] }) {
		return em.lw.monitors.got(em, s, v)
	}
	em.gets = append(em.gets, get{s, v})
	return nil
}

// get is a get with what it has found.
type get struct {
	step  *ast.Step
	value value
}

// answered judges the gets of this action whose names the run still reads at n, or
// all of them where it ends (nil): an entry that is looked at and dropped on the
// way to the next round trip was no answer.
func (em *emitter) answered(n *node) []ir.Stmt {
	var out []ir.Stmt
	for _, g := range em.gets {
		if n == nil || slices.ContainsFunc(em.p.byVar[g.step.As], func(l *slot) bool { return n.live[l.id] }) {
			out = append(out, em.lw.monitors.got(em, g.step, g.value)...)
		}
	}
	return out
}

// scratch makes the variables for getInline.
func (t *table) scratch() []keptLeaf {
	if t.scratches != nil {
		return t.scratches
	}
	add := func(key string, ty ir.Type) {
		ty.Optional = true
		v := &ir.Var{Name: t.name + " read" + key, Type: ty, Initial: ir.None}
		t.scratches = append(t.scratches, keptLeaf{key, t.lw.variable(v)})
	}
	for _, pt := range t.lw.shape(t.kv.KV.Value) {
		if pt.key == "?" || t.lw.entryReads(t.kv, pt.key) {
			add(pt.key, pt.typ)
		}
	}
	return t.scratches
}

func (em *emitter) removePlan(n *node) plan {
	s := n.step
	pl := plan{lossy: true}
	e := em.entry(s, nil)
	cond := func(at ir.Expr) ir.Expr { return em.valueIs(e.t, s, at) }
	remove := func(em *emitter) []ir.Stmt {
		var out []ir.Stmt
		e := em.entry(s, &out)
		if inOneScript(s) {
			out = append(out, e.noteWrite(s)...)
		} else { // nothing is written where nothing is there
			out = append(out, when(e.there(cond), e.noteWrite(s), nil)...)
		}
		return append(out, e.do(func(at ir.Expr) []ir.Stmt { return when(em.valueIs(e.t, s, at), e.t.remove(at), nil) })...)
	}
	if s.OnlyIfValue == nil && s.Branches[ast.IfNone] == nil {
		pl.outcomes = []*outcome{{done: true, guard: yes, do: remove}}
		return pl
	}
	match := e.there(cond)
	pl.outcomes = []*outcome{{done: true, guard: match, do: remove},
		{branch: ast.IfNone, guard: not(match), pure: true, text: "it is not there, or has another value", why: NoneMatches}}
	return pl
}

func (em *emitter) valueIs(t *table, s *ast.Step, at ir.Expr) ir.Expr {
	if s.OnlyIfValue == nil {
		return yes
	}
	return equal(em.entryValue(t, at), em.pure(s.OnlyIfValue))
}

func (em *emitter) expirePlan(n *node) plan {
	s := n.step
	e := em.entry(s, nil)
	pl := plan{lossy: true}
	pl.outcomes = []*outcome{{done: true, guard: e.there(nil), do: func(em *emitter) []ir.Stmt {
		var out []ir.Stmt
		e := em.entry(s, &out)
		out = append(out, e.noteWrite(s)...)
		return append(out, e.do(func(at ir.Expr) []ir.Stmt { return e.t.startTTL(em, s, at) })...)
	}}, {branch: ast.IfNone, guard: not(e.there(nil)), pure: true, text: "it is not there", why: NoneMatches}}
	return pl
}

// scriptPlan runs its steps in one transition: atomic, not undone by a failure.
func (em *emitter) scriptPlan(n *node) plan {
	return plan{lossy: true, outcomes: []*outcome{{done: true, guard: yes}}}
}

// ttlExpiry adds the end of the ttl of entries.
func (lw *lowering) ttlExpiry(t *table) {
	if t.ttl == nil {
		return
	}
	l := &ir.Local{Name: t.name + " entry"}
	at := use(l)
	var lives []*holding
	for _, h := range t.ttl.holders {
		lives = append(lives, &holding{p: h.p, me: load(h.v, at), slow: h.p.hasSlow()})
	}
	lw.expiry(&expiring{
		duration: t.ttl.duration, resource: t.kv,
		name: "ttl of " + t.name + " ends", what: TTLEnds, of: &about{table: t, at: at, duration: t.ttl.duration}, params: []ir.Param{{Local: l, Over: t.over}}, lives: lives,
		guard: and(load(t.used, at), load(t.ttl.running, at), t.ttl.class.mayFire(lw, at)),
		body:  func() []ir.Stmt { return t.remove(at) },
		late:  lw.outlives(ast.AssumeTTL, t.kv, nil),
		text:  []any{"the key ", keyText{t, at}, " of " + t.name + " expires"},
	})
}
