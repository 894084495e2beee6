package specs

import (
	"fmt"
	"strings"

	"github.com/relplan/relplan/internal/diag"
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
