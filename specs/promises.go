package specs

import (
	"fmt"
	"sort"
	"strings"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/yamlx"
	"github.com/relplan/relplan/specs/ast"
)

// args gives the builders of sentences their arguments, resolved; an argument
// that names nothing is reported once and makes the sentence fail.
type args struct {
	d    *decoder
	got  map[string]match
	fail *bool
}

func (a args) failed() { *a.fail = true }

func (a args) has(name string) bool { _, ok := a.got[name]; return ok }

func (a args) word(name string) string { return a.got[name].text }

func (a args) n(name string) int {
	n, ok := countWord(a.got[name].text)
	if !ok {
		a.d.errorf(a.got[name].pos, "RP032", "expected a number, found '%s'", a.got[name].text)
		a.failed()
	}
	return n
}

func (a args) op(name string) *ast.Operation {
	m := a.got[name]
	op := a.d.operation(m.text, m.pos)
	if op == nil {
		a.failed()
	}
	return op
}

func (a args) effect(name string) *ast.Effect {
	m := a.got[name]
	if e, ok := a.d.effects[m.text]; ok {
		return e
	}
	a.d.unknown(m.pos, "RP010", "effect", m.text, sortedKeys(a.d.effects))
	a.failed()
	return nil
}

func (a args) table(name string) *ast.Table {
	m := a.got[name]
	t := a.d.tableNamed(m.text, m.pos)
	if t == nil {
		a.failed()
	}
	return t
}

func (a args) queue(name string) *ast.Resource {
	m := a.got[name]
	r := a.d.resourceNamed(m.text, m.pos, "queue or log", ast.QueueKind, ast.LogKind)
	if r == nil {
		a.failed()
	}
	return r
}

func (a args) proc(name string) *ast.Process {
	m := a.got[name]
	p := a.d.process(m.text, m.pos)
	if p == nil {
		a.failed()
	}
	return p
}

func (a args) class(name string) ast.Reply { return ast.Reply(a.got[name].text) }

func (a args) step(proc, label string) *ast.Step {
	p := a.proc(proc)
	if p == nil {
		return nil
	}
	m := a.got[label]
	s := a.d.labelled(p, m.text, m.pos)
	if s == nil {
		a.failed()
	}
	return s
}

// stateOf gives the column and value of `row of T in state S`.
func (a args) stateOf(table, state string) (*ast.Column, ast.Value) {
	m := a.got[state]
	v, ok := constant(m.text, false)
	if !ok {
		if p := a.d.params[strings.TrimPrefix(m.text, "$")]; p != nil {
			v, ok = constant(p.value.Value(), false)
		}
	}
	if !ok {
		a.d.errorf(m.pos, "RP032", "a state is a constant in capitals, found '%s'", m.text)
		a.failed()
		return nil, v
	}
	t := a.d.tables[a.got[table].text]
	if t == nil {
		a.failed()
		return nil, v
	}
	c := t.Column("state")
	if c == nil {
		var known []string
		for _, c := range t.Columns {
			known = append(known, c.Name)
		}
		a.d.l.Add(diag.Diagnostic{Code: "RP013", Pos: m.pos, Message: fmt.Sprintf("table '%s' has no column 'state'", t.Name),
			Hint: "use check: for another column; columns: " + strings.Join(known, ", ")})
		a.failed()
		return nil, v
	}
	a.d.inf.stateName(c, v, m.pos)
	return c, v
}

// count notes what counters are compared with.
func counted(e *ast.Effect, n int) {
	if e != nil && n > e.Compared {
		e.Compared = n
	}
}

func (a args) atMost(n int) *ast.AtMostOnce {
	e := a.effect("effect")
	counted(e, n)
	return &ast.AtMostOnce{Effect: e, Operation: a.op("per"), N: n}
}

// plusFaults is the rest of "at most once per OP plus one per crash".
func plusFaults(d *decoder, a args, s *ast.AtMostOnce) ast.Sentence {
	m := a.got["plus_one_per"]
	s.PlusPer = m.text
	fs, ok := d.faults[m.text]
	if _, known := faultKinds[m.text]; !ok && !known {
		d.unknown(m.pos, "RP040", "fault", m.text, append(sortedKeys(faultKinds), sortedKeys(d.faults)...))
		a.failed()
	}
	s.Plus = fs
	for _, f := range fs {
		counted(s.Effect, s.N+f.Max)
	}
	return s
}

func (a args) decided(orHuman bool) ast.Sentence {
	t := a.table("table")
	c, v := a.stateOf("table", "state")
	return &ast.RowDecided{Table: t, Column: c, State: v, OrHuman: orHuman}
}

// requested gives the operations that some process answers.
func (d *decoder) requested() []*ast.Operation {
	var out []*ast.Operation
	for _, p := range d.spec.Processes {
		if p.Trigger != nil && p.Trigger.Kind == ast.OnRequest && p.Trigger.Operation != nil {
			out = append(out, p.Trigger.Operation)
		}
	}
	return out
}

func (a args) conflict(op *ast.Operation, key, payload string) ast.Sentence {
	where := diag.Pos{}
	for _, m := range a.got {
		where = m.pos
	}
	if op == nil {
		for _, o := range a.d.requested() {
			if o.Field(key) != nil {
				op = o
			}
		}
		if op == nil && len(a.d.spec.Operations) > 0 {
			op = a.d.spec.Operations[0]
		}
	}
	if op == nil {
		a.failed()
		return nil
	}
	s := &ast.PayloadConflict{Operation: op, Key: op.Field(key), Payload: op.Field(payload)}
	for name, f := range map[string]*ast.OpField{key: s.Key, payload: s.Payload} {
		if f == nil {
			if where.Line == 0 {
				where = op.Pos
			}
			a.d.unknownField(where, op, name)
			a.failed()
		}
	}
	return s
}

func (a args) fencing() ast.Sentence {
	t := a.table("table")
	if t != nil && t.Token == nil {
		a.d.l.Add(diag.Diagnostic{Code: "RP032", Pos: a.got["table"].pos, Message: "table '" + t.Name + "' names no token column", Hint: "declare it: token: COLUMN"})
		a.failed()
	}
	return &ast.Fencing{Table: t}
}

func (a args) outlive() ast.Sentence {
	t := a.table("table")
	if t == nil {
		return nil
	}
	s := &ast.RowsOutlive{Table: t}
	seen := map[*ast.Resource]bool{}
	for _, p := range a.d.spec.Processes {
		if p.Trigger == nil || p.Trigger.Kind != ast.OnMessage || p.Trigger.Queue == nil {
			continue
		}
		for _, st := range p.All {
			if st.Table == t && (st.Verb == ast.VerbInsert || st.Verb == ast.VerbUpsert) && !seen[p.Trigger.Queue] {
				seen[p.Trigger.Queue] = true
				s.Queues = append(s.Queues, p.Trigger.Queue)
			}
		}
	}
	if len(s.Queues) == 0 {
		a.d.errorf(a.got["table"].pos, "RP032", "no process that is started by a message inserts into '%s'", t.Name)
		a.failed()
	}
	return s
}

func (a args) watermark() ast.Sentence {
	s := &ast.Watermark{}
	name, field, _ := strings.Cut(a.word("store"), ".")
	m := a.got["store"]
	s.StoreField = field
	if s.Store = a.d.resourceNamed(name, m.pos, "kv", ast.KVKind, ast.MemoryKind); s.Store == nil {
		a.failed()
		return nil
	}
	m = a.got["watermark"]
	of, sub, _ := strings.Cut(m.text, ".")
	if t, ok := a.d.tables[of]; ok {
		s.Column = a.d.column(t, sub, m.pos)
		if s.Column == nil {
			a.failed()
		}
		return s
	}
	if s.Floor = a.d.resourceNamed(of, m.pos, "kv, or TABLE.COLUMN", ast.KVKind, ast.MemoryKind); s.Floor == nil {
		a.failed()
	}
	s.FloorField = sub
	return s
}

func (a args) col(t *ast.Table, name string) *ast.Column {
	if t == nil || !a.has(name) {
		return nil
	}
	c := a.d.column(t, a.word(name), a.got[name].pos)
	if c == nil {
		a.failed()
	}
	return c
}

func (a args) effectsInOrder(gaps bool) ast.Sentence {
	t := a.table("table")
	return &ast.EffectsInOrder{Table: t, Column: a.col(t, "by"), Per: a.col(t, "per"), WithoutGaps: gaps}
}

func (a args) messagesInOrder(gaps bool) ast.Sentence {
	q := a.queue("queue")
	s := &ast.MessagesInOrder{Queue: q, WithoutGaps: gaps}
	if q == nil {
		return s
	}
	if s.Field = a.d.messageField(q, a.word("by"), a.got["by"].pos); s.Field == nil {
		a.failed()
	}
	if a.has("per") {
		if s.Per = a.d.messageField(q, a.word("per"), a.got["per"].pos); s.Per == nil {
			a.failed()
		}
	}
	return s
}

func (a args) inState() ast.Sentence {
	s := &ast.AtMostInState{N: a.n("max")}
	if a.has("of") {
		s.Operation = a.op("of")
	}
	m := a.got["state"]
	v, ok := constant(m.text, false)
	if !ok || v.Kind != ast.SymbolValue {
		a.d.errorf(m.pos, "RP032", "a state is a constant in capitals, found '%s'", m.text)
		a.failed()
		return s
	}
	s.State = v
	a.d.later = append(a.d.later, func() {
		for _, r := range a.d.spec.Resources {
			if r.SQL == nil {
				continue
			}
			for _, t := range r.SQL.Tables {
				if c := t.Column("state"); c != nil {
					s.Columns = append(s.Columns, c)
				}
			}
		}
		if len(s.Columns) == 0 {
			a.d.errorf(m.pos, "RP032", "no table has a column 'state'")
		}
	})
	return s
}

func (a args) canComplete() ast.Sentence {
	s := &ast.CanComplete{Operation: a.op("per")}
	a.d.later = append(a.d.later, func() {
		for _, e := range a.d.spec.Effects {
			if len(e.Operations) == 0 || containsOp(e.Operations, s.Operation) {
				s.Effects = append(s.Effects, e)
			}
		}
	})
	return s
}

func containsOp(list []*ast.Operation, op *ast.Operation) bool {
	for _, o := range list {
		if o == op {
			return true
		}
	}
	return false
}

func (a args) ownPayload(field string) ast.Sentence {
	s := &ast.OwnPayload{Operation: a.op("per"), Reply: a.class("answer")}
	if s.Operation == nil {
		return s
	}
	s.Payload = s.Operation.Field(field)
	if s.Payload == nil && field != "payload" {
		a.d.unknownField(a.got["payload"].pos, s.Operation, field)
		a.failed()
	}
	return s
}

func (a args) noEffectWhile() ast.Sentence {
	t := a.table("table")
	c, v := a.stateOf("table", "state")
	return &ast.NoEffectWhile{Operation: a.op("per"), Effect: a.effect("effect"), Table: t, Column: c, State: v}
}

func (a args) between() ast.Sentence {
	s := &ast.AtMostBetween{N: a.n("max"), Process: a.proc("process")}
	if s.Process == nil {
		return s
	}
	s.From, s.To = a.step("process", "from"), a.step("process", "to")
	if a.has("per") {
		sc := a.d.stepScope(s.Process)
		a.expr(&s.Per, "per", sc)
	}
	return s
}

// expr reads an expression slot.
func (a args) expr(into *ast.Expr, name string, sc scope) {
	m := a.got[name]
	if m.src == nil {
		a.failed()
		return
	}
	e := a.d.parseExpr(m.src, m.at, m.text, sc)
	if e == nil {
		a.failed()
		return
	}
	*into = e
	a.d.inf.slot(into, sc)
}

func (a args) waiting() ast.Sentence {
	s := &ast.AtMostWaiting{N: a.n("max"), Queue: a.queue("queue")}
	if a.has("per") && s.Queue != nil {
		if s.Per = a.d.messageField(s.Queue, a.word("per"), a.got["per"].pos); s.Per == nil {
			a.failed()
		}
	}
	return s
}

// tableColumn reads `T.COL`.
func (a args) tableColumn(name string) (*ast.Table, *ast.Column) {
	m := a.got[name]
	tn, cn, ok := strings.Cut(m.text, ".")
	if !ok {
		a.d.errorf(m.pos, "RP032", "expected TABLE.COLUMN, found '%s'", m.text)
		a.failed()
		return nil, nil
	}
	t := a.d.tableNamed(tn, m.pos)
	if t == nil {
		a.failed()
		return nil, nil
	}
	c := a.d.column(t, cn, m.pos)
	if c == nil {
		a.failed()
	}
	return t, c
}

func (a args) neverDecreases() ast.Sentence {
	t, c := a.tableColumn("column")
	return &ast.NeverDecreases{Column: c, Per: a.col(t, "per")}
}

func (a args) nothingStays() ast.Sentence {
	t := a.table("table")
	c, v := a.stateOf("table", "state")
	return &ast.NothingStays{Table: t, Column: c, State: v, Operation: a.op("per")}
}

func (a args) branchTaken(named bool) ast.Reachable {
	s := &ast.BranchTaken{Outcome: ast.NumOutcomes}
	m := a.got["branch"]
	var known []string
	for o := ast.IfExists; o < ast.NumOutcomes; o++ {
		known = append(known, o.String())
		if o.String() == m.text {
			s.Outcome = o
		}
	}
	if s.Outcome == ast.NumOutcomes {
		a.d.unknown(m.pos, "RP033", "branch", m.text, known)
		a.failed()
	}
	if named {
		s.Process = a.proc("process")
		s.Step = a.step("process", "label")
		return s
	}
	l := a.got["label"]
	var all []string
	for _, p := range a.d.spec.Processes {
		raw := a.d.raw[p]
		all = append(all, sortedKeys(raw.labels)...)
		if at, ok := raw.labels[l.text]; ok && at.step != nil {
			s.Process, s.Step = p, at.step
		}
	}
	if s.Step == nil {
		a.d.unknown(l.pos, "RP011", "label", l.text, all)
		a.failed()
	}
	return s
}

func (a args) check(mode ast.Mode) ast.Sentence {
	c := &ast.Check{Mode: mode}
	cs := &checkScope{}
	a.expr(&c.Expr, "check", scope{d: a.d, promise: true, check: cs})
	a.d.finishCheck(c, cs)
	return c
}

// finishCheck notes what the check is stated for.
func (d *decoder) finishCheck(c *ast.Check, cs *checkScope) {
	c.Process = cs.proc
	if cs.bound != nil {
		c.Bound, c.Operation = cs.bound, cs.bound.Operation
	}
}

func (d *decoder) decodePromises() {
	k, n := d.root.Lookup("promises")
	if k == nil {
		d.missing("promises", "say what must hold: promises: {once: effect E happens at most once per OP}")
		return
	}
	n = d.sub(n)
	switch n.Kind() {
	case yamlx.Sequence:
		for i, item := range n.Items() {
			d.promise(fmt.Sprintf("p%d", i+1), i+1, item, item.Pos())
		}
	case yamlx.Mapping:
		for i, e := range n.Entries() {
			if !d.name(e.Key, "promise") {
				continue
			}
			if e.Key.Value() == "all" {
				d.errorf(e.Key.Pos(), "RP006", "'all' names every promise in expect:")
				continue
			}
			d.promise(e.Key.Value(), i+1, e.Value, e.Key.Pos())
		}
	default:
		d.wanted(n, k.Pos(), "RP004", "a mapping from name to sentence, or a list of sentences", "")
	}
}

func (d *decoder) promise(name string, number int, n *yamlx.Node, at diag.Pos) {
	n = d.sub(n)
	p := &ast.Promise{Pos: n.Pos(), Name: name, Number: number}
	switch n.Kind() {
	case yamlx.Scalar:
		f, got := d.parse(n, promiseForms, "RP031")
		if f == nil {
			d.declared[name] = true
			return
		}
		p.Text = strings.Join(strings.Fields(n.Value()), " ")
		p.Body = d.build(f, got)
	case yamlx.Mapping:
		if d.trap(n) || !d.only(n) {
			d.declared[name] = true
			return
		}
		d.promiseMap(p, n)
	default:
		d.wanted(n, at, "RP031", "a sentence", "")
	}
	if p.Body == nil {
		d.declared[name] = true
		return
	}
	d.spec.Promises = append(d.spec.Promises, p)
}

func (d *decoder) build(f *form, got map[string]match) ast.Sentence {
	fail := false
	s := f.build(d, args{d: d, got: got, fail: &fail})
	if fail {
		return nil
	}
	return s
}

// promiseMap reads a map form: {at_most_once: {..}}, {check: EXPR, always: true}
// or {promise: SENTENCE, only: ..}.
func (d *decoder) promiseMap(p *ast.Promise, n *yamlx.Node) {
	if k, _ := n.Lookup("check"); k != nil {
		d.checkMap(p, n)
		return
	}
	if k, s := n.Lookup("promise"); k != nil {
		d.keys(n, "promise", "only")
		if s = d.sub(s); s.Kind() != yamlx.Scalar {
			d.wanted(s, k.Pos(), "RP031", "a sentence", "")
			return
		}
		f, got := d.parse(s, promiseForms, "RP031")
		if f != nil {
			p.Pos, p.Text = s.Pos(), strings.Join(strings.Fields(s.Value()), " ")
			p.Body = d.build(f, got)
		}
		return
	}
	f, got := d.mapForm(n, promiseForms, "RP032", "check", "promise")
	if f == nil {
		return
	}
	p.Text = sentenceOf(f, func(name string) string { return got[name].text })
	p.Body = d.build(f, got)
}

// mapForm finds the form whose key and arguments stand in n.
func (d *decoder) mapForm(n *yamlx.Node, forms []*form, code string, also ...string) (*form, map[string]match) {
	prepare()
	keys := map[string]bool{}
	for _, f := range forms {
		keys[f.key] = true
	}
	var key, val *yamlx.Node
	for _, e := range n.Entries() {
		switch {
		case e.Key.Value() == "only":
		case keys[e.Key.Value()] && key == nil:
			key, val = e.Key, d.sub(e.Value)
		default:
			d.unknownForm(e.Key, append(sortedKeys(keys), also...), code)
			return nil, nil
		}
	}
	if key == nil {
		d.errorf(n.Pos(), code, "an empty promise")
		return nil, nil
	}
	if val.Kind() != yamlx.Mapping {
		d.wanted(val, key.Pos(), code, "the arguments of "+key.Value()+", a mapping", exampleForm(forms, key.Value()))
		return nil, nil
	}
	if d.trap(val) {
		return nil, nil
	}
	return d.mapArgs(key, val, forms, code)
}

func (d *decoder) unknownForm(key *yamlx.Node, known []string, code string) {
	dg := diag.Diagnostic{Code: code, Pos: key.Pos(), Message: "unknown promise '" + key.Value() + "'", Found: key.Describe()}
	if code == "RP033" {
		dg.Message = "unknown key '" + key.Value() + "'"
	}
	if c, ok := suggest(key.Value(), known); ok {
		dg.Hint = "did you mean: " + c
	} else {
		dg.Hint = "map forms: " + strings.Join(known, ", ")
	}
	d.l.Add(dg)
}

func exampleForm(forms []*form, key string) string {
	for _, f := range forms {
		if f.key == key {
			return key + ": {" + strings.Join(f.argNames(), ": .., ") + ": ..}"
		}
	}
	return ""
}

// argNames are the arguments of the map form, in the order of the sentence.
func (f *form) argNames() []string {
	prepare()
	var out []string
	for _, p := range f.phrases {
		if p.slot != "" && fixedSlots[p.slot] == nil {
			out = append(out, p.arg)
		}
	}
	return out
}

func (d *decoder) mapArgs(key, val *yamlx.Node, forms []*form, code string) (*form, map[string]match) {
	given := map[string]*yamlx.Node{}
	flags := map[string]string{}
	known := map[string]bool{}
	for _, f := range forms {
		if f.key != key.Value() {
			continue
		}
		for _, a := range f.argNames() {
			known[a] = true
		}
		for a := range f.flags {
			known[a] = true
		}
	}
	bad := false
	for _, e := range val.Entries() {
		v := d.sub(e.Value)
		name := e.Key.Value()
		if !known[name] {
			dg := diag.Diagnostic{Code: code, Pos: e.Key.Pos(), Message: fmt.Sprintf("unknown argument '%s' of %s", name, key.Value()), Found: e.Key.Describe()}
			if c, ok := suggest(name, sortedKeys(known)); ok {
				dg.Hint = "did you mean: " + c
			} else {
				dg.Hint = exampleForm(forms, key.Value())
			}
			d.l.Add(dg)
			bad = true
			continue
		}
		if v.Kind() != yamlx.Scalar {
			d.wanted(v, e.Key.Pos(), code, "a single value", "")
			bad = true
			continue
		}
		if v.Value() == "false" && isFlag(forms, key.Value(), name) {
			continue
		}
		if isFlag(forms, key.Value(), name) {
			flags[name] = v.Value()
			continue
		}
		given[name] = v
	}
	if bad {
		return nil, nil
	}
	for _, f := range forms {
		if f.key != key.Value() || !sameArgs(f, given, flags) {
			continue
		}
		got := map[string]match{}
		for name, v := range given {
			got[name] = match{text: v.Value(), pos: v.Pos(), src: v}
		}
		return f, got
	}
	d.l.Add(diag.Diagnostic{Code: code, Pos: key.Pos(), Message: "the arguments of " + key.Value() + " do not make a sentence: " + strings.Join(sortedKeys(given), ", "),
		Hint: exampleForm(forms, key.Value())})
	return nil, nil
}

func isFlag(forms []*form, key, name string) bool {
	for _, f := range forms {
		if _, ok := f.flags[name]; ok && f.key == key {
			return true
		}
	}
	return false
}

func sameArgs(f *form, given map[string]*yamlx.Node, flags map[string]string) bool {
	names := f.argNames()
	if len(names) != len(given) || len(f.flags) != len(flags) {
		return false
	}
	for _, n := range names {
		if given[n] == nil {
			return false
		}
	}
	for k, v := range f.flags {
		if flags[k] != v {
			return false
		}
	}
	return true
}

var checkModes = map[string]ast.Mode{"always": ast.Always, "eventually": ast.Eventually, "finally": ast.Finally}

// checkMap reads {check: EXPR, always: true} and {check: EXPR, leads_to: EXPR}.
func (d *decoder) checkMap(p *ast.Promise, n *yamlx.Node) {
	d.keys(n, "check", "always", "eventually", "finally", "leads_to", "only")
	c := &ast.Check{}
	cs := &checkScope{}
	sc := scope{d: d, promise: true, check: cs}
	k, e := n.Lookup("check")
	if e = d.sub(e); e.Kind() != yamlx.Scalar {
		d.wanted(e, k.Pos(), "RP020", "a condition", "")
		return
	}
	d.exprText(&c.Expr, e, sc)
	var modes []string
	for name := range checkModes {
		if mk, m := n.Lookup(name); mk != nil && d.flag(m, mk.Pos()) {
			modes = append(modes, name)
			c.Mode = checkModes[name]
		}
	}
	word := strings.Join(modes, ", ")
	if lk, to := n.Lookup("leads_to"); lk != nil {
		modes = append(modes, "leads_to")
		c.Mode = ast.LeadsTo
		if to = d.sub(to); to.Kind() == yamlx.Scalar {
			d.exprText(&c.To, to, sc)
			word = "leads_to " + to.Value()
		} else {
			d.wanted(to, lk.Pos(), "RP020", "a condition", "")
		}
	}
	sort.Strings(modes)
	switch {
	case len(modes) == 0 && !(d.lacks(n, "always") && d.lacks(n, "eventually") && d.lacks(n, "finally") && d.lacks(n, "leads_to")):
		return
	case len(modes) == 0:
		d.l.Add(diag.Diagnostic{Code: "RP032", Pos: k.Pos(), Message: "check: does not say when", Hint: "add always: true, eventually: true, finally: true or leads_to: EXPR"})
		return
	case len(modes) > 1:
		d.errorf(k.Pos(), "RP032", "check: says %s: one of them", strings.Join(modes, " and "))
		return
	}
	if c.Expr == nil || c.Mode == ast.LeadsTo && c.To == nil {
		return
	}
	d.finishCheck(c, cs)
	p.Pos = e.Pos()
	p.Text = "check: " + strings.Join(strings.Fields(e.Value()), " ") + " (" + word + ")"
	p.Body = c
}

func (d *decoder) decodePossible() {
	k, n := d.root.Lookup("must_be_possible")
	if k == nil {
		return
	}
	n = d.sub(n)
	if n.Kind() != yamlx.Sequence {
		d.wanted(n, k.Pos(), "RP033", "a list of sentences", "")
		return
	}
	for _, item := range n.Items() {
		item = d.sub(item)
		switch item.Kind() {
		case yamlx.Scalar:
			d.possibleText(item)
		case yamlx.Mapping:
			if !d.trap(item) && d.only(item) {
				d.possibleMap(item)
			}
		default:
			d.wanted(item, k.Pos(), "RP033", "a sentence", "")
		}
	}
}

func (d *decoder) possible(pos diag.Pos, text string, f *form, got map[string]match) {
	fail := false
	r := f.reach(d, args{d: d, got: got, fail: &fail})
	if fail {
		return
	}
	d.spec.MustBePossible = append(d.spec.MustBePossible, &ast.Possibility{Pos: pos, Text: text, Body: r})
}

// possibleText reads a sentence; what is none is taken as a bare expression
// when it looks like one.
func (d *decoder) possibleText(n *yamlx.Node) {
	if strings.ContainsAny(n.Value(), "()=<>") {
		d.reachExpr(n, n)
		return
	}
	if f, got := d.parse(n, possibleForms, "RP033"); f != nil {
		d.possible(n.Pos(), strings.Join(strings.Fields(n.Value()), " "), f, got)
	}
}

func (d *decoder) reachExpr(n, at *yamlx.Node) {
	r := &ast.Reach{}
	cs := &checkScope{}
	d.exprText(&r.Expr, n, scope{d: d, promise: true, check: cs})
	if r.Expr == nil {
		return
	}
	r.Process = cs.proc
	if cs.bound != nil {
		r.Bound, r.Operation = cs.bound, cs.bound.Operation
	}
	d.spec.MustBePossible = append(d.spec.MustBePossible, &ast.Possibility{Pos: at.Pos(), Text: strings.Join(strings.Fields(n.Value()), " "), Body: r})
}

func (d *decoder) possibleMap(n *yamlx.Node) {
	if k, e := n.Lookup("reach"); k != nil {
		d.keys(n, "reach", "only")
		if e = d.sub(e); e.Kind() != yamlx.Scalar {
			d.wanted(e, k.Pos(), "RP033", "a condition", "")
			return
		}
		d.reachExpr(e, e)
		return
	}
	if k, s := n.Lookup("possible"); k != nil {
		d.keys(n, "possible", "only")
		if s = d.sub(s); s.Kind() == yamlx.Scalar {
			d.possibleText(s)
		} else {
			d.wanted(s, k.Pos(), "RP033", "a sentence", "")
		}
		return
	}
	f, got := d.mapForm(n, possibleForms, "RP033", "reach", "possible")
	if f != nil {
		d.possible(n.Pos(), sentenceOf(f, func(name string) string { return got[name].text }), f, got)
	}
}
