package specs

import (
	"fmt"
	"strings"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/specs/ast"
)

// check reports what types show to be wrong.
func (d *decoder) check() {
	for _, s := range d.inf.slots {
		if *s.e != nil {
			d.checkExpr(*s.e)
		}
	}
	d.checkMarks()
	for _, p := range d.spec.Processes {
		for _, s := range p.All {
			d.checkStep(s)
		}
		if p.Trigger != nil && p.Trigger.Where != nil {
			d.wantBool(p.Trigger.Where)
		}
	}
	for _, p := range d.spec.Promises {
		if c, ok := p.Body.(*ast.Check); ok {
			d.wantBool(c.Expr)
			if c.To != nil {
				d.wantBool(c.To)
			}
		}
	}
	for _, p := range d.spec.MustBePossible {
		if c, ok := p.Body.(*ast.Reach); ok {
			d.wantBool(c.Expr)
		}
	}
	d.checkColumns()
	d.checkStates()
	d.checkRanges()
	d.checkSources()
	d.checkCounted()
}

func (d *decoder) wantBool(e ast.Expr) {
	t := d.inf.typeOf(e)
	if len(t.Alts) > 0 && !t.Only(ast.KindBool) {
		d.l.Add(diag.Diagnostic{Code: "RP021", Pos: e.Position(), Message: fmt.Sprintf("expected a condition, found '%s', which is %s", e, t), Expected: "a condition",
			Hint: conditionHint(e, t)})
	}
}

func conditionHint(e ast.Expr, t *ast.Type) string {
	if t.Optional() {
		return fmt.Sprintf("compare it: %s != none", e)
	}
	return ""
}

func (d *decoder) checkStep(s *ast.Step) {
	for _, e := range []ast.Expr{s.When, s.Where} {
		if e != nil {
			d.wantBool(e)
		}
	}
	if s.OnlyIfValue != nil && s.Resource != nil {
		a, b := d.inf.typeOf(s.OnlyIfValue), s.Resource.KV.Value
		if len(a.Alts) > 0 && len(b.Alts) > 0 && !comparable(a, b) {
			d.l.Add(diag.Diagnostic{Code: "RP021", Pos: s.OnlyIfValue.Position(), Message: fmt.Sprintf("'%s' is never the value: %s against %s", s.OnlyIfValue, a, b), Hint: neverEqualHint(a, b)})
		}
	}
	if s.Human != nil {
		d.wantOperation(s.Human, s.Human.Position(), "ask_human")
	}
	if s.AtLeast != nil {
		if t := d.inf.typeOf(s.AtLeast); len(t.Alts) > 0 && !t.Has(ast.KindPosition) {
			d.errorf(s.AtLeast.Position(), "RP021", "at_least: takes a position, bound by position: on a write, found %s", t)
		}
	}
	if s.Message != nil {
		if t := s.Message.Type; len(t.Alts) > 0 && !t.Has(ast.KindMessage) {
			d.l.Add(diag.Diagnostic{Code: "RP021", Pos: s.Pos, Message: fmt.Sprintf("'%s: %s' takes a message, '%s' is %s", s.Verb, s.Message.Name, s.Message.Name, t)})
		} else if a := t.Find(ast.KindMessage); a != nil {
			if a.Resource.Kind == ast.LogKind {
				d.l.Add(diag.Diagnostic{Code: "RP019", Pos: s.Pos, Message: fmt.Sprintf("'%s' is a log: its messages are not acked one by one", a.Resource.Name), Hint: "write: commit_offset: " + a.Resource.Name})
			}
			s.Resource = a.Resource
		}
	}
	if s.Verb == ast.VerbCommitOffset && s.Resource != nil && s.UpTo == ast.UpToMessage && s.UpToExpr == nil {
		if t := s.Process.Trigger; t == nil || t.Queue != s.Resource {
			d.errorf(s.Pos, "RP003", "this process is not started by a message of '%s': say up_to:", s.Resource.Name)
		}
	}
	d.checkHuman(s)
}

func (d *decoder) checkHuman(s *ast.Step) {
	for _, b := range s.Branches {
		if b == nil || b.Implicit {
			continue
		}
		human := b.Kind == ast.BranchAskHuman || b.Then != nil && b.Then.Kind == ast.BranchAskHuman
		reply := b.Kind == ast.BranchReply || b.Then != nil && b.Then.Kind == ast.BranchReply
		t := s.Process.Trigger
		if t == nil {
			continue
		}
		if reply && t.Kind != ast.OnRequest {
			d.errorf(b.Pos, "RP018", "'reply' in a process that no request starts")
		}
		if human && (t.Kind == ast.OnPoll || t.Kind == ast.OnFault || t.Kind == ast.OnEvery) {
			d.l.Add(diag.Diagnostic{Code: "RP018", Pos: b.Pos, Message: "ask_human hands over the operation that started the run, and this run has none", Hint: "write a step: ask_human: OP"})
		}
	}
	if s.Verb == ast.VerbReply && (s.Process.Trigger == nil || s.Process.Trigger.Kind != ast.OnRequest) && s.Process.Trigger != nil {
		d.errorf(s.Pos, "RP019", "a reply in a process that no request starts: nobody waits for it")
	}
}

// wantOperation checks that e can only be an operation (or none).
func (d *decoder) wantOperation(e ast.Expr, pos diag.Pos, what string) bool {
	t := d.inf.typeOf(e)
	if t.Only(ast.KindOperation) || len(t.Alts) == 0 { // nothing ever gets here in this variant
		return true
	}
	hint := "name the operation: m.op of a message, r.op of a row, q of a request"
	d.l.Add(diag.Diagnostic{Code: "RP022", Pos: pos, Message: fmt.Sprintf("%s takes an operation, '%s' is %s", what, e, t), Expected: "an operation", Hint: hint})
	return false
}

func (d *decoder) checkMarks() {
	for _, m := range d.inf.marks {
		if *m.value == nil {
			continue
		}
		if d.wantOperation(*m.value, (*m.value).Position(), "effect "+m.effect.Name) {
			t := d.inf.typeOf(*m.value)
			for i := range t.Alts {
				if op := t.Alts[i].Operation; op != nil && !containsOp(m.effect.Operations, op) {
					m.effect.Operations = append(m.effect.Operations, op)
				}
			}
		}
	}
}

// checkExpr checks operators and fields.
func (d *decoder) checkExpr(e ast.Expr) {
	ast.Walk(e, func(e ast.Expr) bool {
		switch x := e.(type) {
		case *ast.FieldOf:
			d.checkField(x)
		case *ast.Binary:
			d.checkBinary(x)
		case *ast.Unary:
			if x.Op == ast.OpNot {
				d.wantBool(x.X)
			} else if t := d.inf.typeOf(x.X); len(t.Alts) > 0 && !t.Has(ast.KindInt) {
				d.errorf(x.At, "RP021", "'-' takes a number, '%s' is %s", x.X, t)
			}
		case *ast.Cond:
			d.wantBool(x.If)
		case *ast.Alive:
			if t := d.inf.typeOf(x.X); len(t.Alts) > 0 && !t.Has(ast.KindInstance) && !t.Has(ast.KindRun) {
				d.errorf(x.At, "RP021", "alive() takes an instance (me) or a run (my_run), '%s' is %s", x.X, t)
			}
		case *ast.CountRows:
			if x.Where != nil {
				d.wantBool(x.Where)
			}
		case *ast.CountEffect:
			d.opArgument(x.Operation)
		case *ast.Answered:
			d.opArgument(x.Operation)
		case *ast.Handed:
			d.opArgument(x.Operation)
		case *ast.Ended:
			d.opArgument(x.Operation)
		}
		return true
	})
}

func (d *decoder) opArgument(e ast.Expr) {
	if e == nil {
		return
	}
	if t := d.inf.typeOf(e); len(t.Alts) > 0 && !t.Has(ast.KindOperation) {
		d.errorf(e.Position(), "RP021", "expected an operation, '%s' is %s", e, t)
	}
}

func (d *decoder) checkField(x *ast.FieldOf) {
	t := d.inf.typeOf(x.X)
	if len(t.Alts) == 0 || len(t.Alts) == 1 && t.Optional() {
		return
	}
	if _, ok := d.inf.fieldOf(t, x.Name); ok {
		return
	}
	pos := d.inf.fieldAt[x]
	known := d.inf.fieldsOf(t)
	if a := t.Find(ast.KindOperation); a != nil && t.Only(ast.KindOperation) {
		d.unknownField(pos, a.Operation, x.Name)
		return
	}
	if a := t.Find(ast.KindMessage); a != nil && x.Name == "deliveries" {
		d.l.Add(diag.Diagnostic{Code: "RP013", Pos: pos, Message: "deliveries are counted only under max_deliveries", Hint: "without it the count grows without bound"})
		return
	}
	if len(known) == 0 {
		d.errorf(pos, "RP013", "'%s' has no fields: it is %s", x.X, t)
		return
	}
	what := "field of " + x.X.String()
	if a := t.Find(ast.KindRow); a != nil {
		what = "column of " + a.Table.Name
	}
	d.unknown(pos, "RP013", what, x.Name, known)
}

func (d *decoder) checkBinary(x *ast.Binary) {
	a, b := d.inf.typeOf(x.X), d.inf.typeOf(x.Y)
	switch x.Op {
	case ast.OpAnd, ast.OpOr, ast.OpImplies:
		d.wantBool(x.X)
		d.wantBool(x.Y)
	case ast.OpEq, ast.OpNe:
		if len(a.Alts) == 0 || len(b.Alts) == 0 || comparable(a, b) {
			return
		}
		d.l.Add(diag.Diagnostic{Code: "RP021", Pos: x.At, Message: fmt.Sprintf("'%s' and '%s' are never equal: %s against %s", x.X, x.Y, a, b), Hint: neverEqualHint(a, b)})
	case ast.OpAdd, ast.OpSub:
		for _, e := range []ast.Expr{x.X, x.Y} {
			if t := d.inf.typeOf(e); len(t.Alts) > 0 && !t.Has(ast.KindInt) {
				d.errorf(e.Position(), "RP021", "'%s' adds numbers, '%s' is %s", x.Op, e, t)
			}
		}
	default:
		for _, e := range []ast.Expr{x.X, x.Y} {
			t := d.inf.typeOf(e)
			if len(t.Alts) == 0 || t.Has(ast.KindInt) || t.Has(ast.KindPosition) || len(t.Alts) == 1 && t.Optional() {
				continue
			}
			d.l.Add(diag.Diagnostic{Code: "RP021", Pos: e.Position(), Message: fmt.Sprintf("'%s' orders numbers, '%s' is %s", x.Op, e, t), Hint: "values of this kind have no order: compare them with == or !="})
		}
	}
}

// comparable says whether some value is in both types; none counts only if one
// side is nothing else.
func comparable(a, b *ast.Type) bool {
	onlyNone := func(t *ast.Type) bool { return len(t.Alts) == 1 && t.Optional() }
	if onlyNone(a) || onlyNone(b) {
		return true
	}
	for i := range a.Alts {
		for j := range b.Alts {
			x, y := &a.Alts[i], &b.Alts[j]
			if x.Kind == ast.KindNone || x.Kind != y.Kind {
				continue
			}
			switch x.Kind {
			case ast.KindOperation, ast.KindInstance, ast.KindRun, ast.KindEntry, ast.KindRow, ast.KindMessage, ast.KindReceipt, ast.KindPosition, ast.KindMessageID:
				if x.Operation != y.Operation || x.Process != y.Process || x.Resource != y.Resource || x.Table != y.Table {
					continue
				}
			case ast.KindHash:
				if len(x.Elems) != len(y.Elems) {
					continue
				}
			}
			return true
		}
	}
	return false
}

func neverEqualHint(a, b *ast.Type) string {
	inst := a.Find(ast.KindInstance)
	if inst == nil {
		inst = b.Find(ast.KindInstance)
	}
	if inst != nil {
		return "instances have no numbers: they are interchangeable; compare with me, or keep a name such as FIRST in a table"
	}
	return ""
}

// checkColumns: a column that keys and leases name and no row ever has would
// make them say nothing.
func (d *decoder) checkColumns() {
	for _, r := range d.spec.Resources {
		if r.SQL == nil {
			continue
		}
		for _, t := range r.SQL.Tables {
			var known []string
			for _, c := range t.Columns {
				if d.writes[c] || c == t.Sequence {
					known = append(known, c.Name)
				}
			}
			for _, c := range t.Columns {
				if d.writes[c] || c == t.Sequence || c.Declared || len(known) == 0 {
					continue
				}
				dg := diag.Diagnostic{Code: "RP013", Pos: c.Pos, Message: fmt.Sprintf("no row of %s ever has a column '%s'", t.Name, c.Name), Found: "'" + c.Name + "'"}
				if near, ok := suggest(c.Name, known); ok {
					dg.Hint = "did you mean: " + near
				} else {
					dg.Hint = "columns: " + strings.Join(known, ", ")
				}
				d.l.Add(dg)
			}
		}
	}
}

// stateWords are the constants that a column is ever given, in any variant.
func (d *decoder) writtenWords() map[string]bool {
	out := map[string]bool{}
	collectWords(d.root, out, false)
	return out
}

func (d *decoder) checkStates() {
	words := d.writtenWords()
	for _, s := range d.inf.steps {
		if s.val.Kind != ast.SymbolValue {
			continue
		}
		a := s.col.Type.Find(ast.KindSymbol)
		if a != nil && contains(a.Symbols, s.val.Text) || words[s.val.Text] {
			continue
		}
		var known []string
		if a != nil {
			known = a.Symbols
		}
		dg := diag.Diagnostic{Code: "RP013", Pos: s.pos, Message: fmt.Sprintf("no row of %s is ever in state %s", s.col.Table.Name, s.val.Text), Found: s.val.Text}
		if c, ok := suggest(s.val.Text, known); ok {
			dg.Hint = "did you mean: " + c
		} else if len(known) > 0 {
			dg.Hint = "states: " + strings.Join(known, ", ")
		}
		d.l.Add(dg)
	}
}

// checkRanges reports constants outside a range that the author named.
func (d *decoder) checkRanges() {
	for _, a := range d.inf.assigns {
		if *a.from == nil {
			continue
		}
		lit, ok := (*a.from).(*ast.Lit)
		t := a.to.Find(ast.KindInt)
		if !ok || lit.Value.Kind != ast.IntValue || t == nil || !t.Named {
			continue
		}
		if lit.Value.Int < t.Lo || lit.Value.Int > t.Hi {
			d.errorf(lit.At, "RP021", "%d is outside the range %d .. %d of %s", lit.Value.Int, t.Lo, t.Hi, a.what)
		}
	}
}

// checkSources: every operation has exactly one source (R30).
func (d *decoder) checkSources() {
	for _, op := range d.spec.Operations {
		var from []string
		for _, r := range d.spec.Resources {
			if r.Queue != nil && r.Queue.StartsWith != nil && r.Queue.StartsWith.Per == op {
				from = append(from, "starts_with of "+r.Name)
			}
		}
		for _, p := range d.spec.Processes {
			if p.Trigger != nil && (p.Trigger.Kind == ast.OnRequest || p.Trigger.Kind == ast.OnStart) && p.Trigger.Operation == op {
				from = append(from, "process "+p.Name)
			}
		}
		for _, row := range d.spec.Initially {
			for _, c := range row.Cells {
				if o, ok := c.Value.(*ast.OpConst); ok && o.Operation == op {
					name := ""
					if row.Table != nil {
						name = "rows of " + row.Table.Name
					} else {
						name = "contents of " + row.Resource.Name
					}
					if !contains(from, name) {
						from = append(from, name)
					}
				}
			}
		}
		switch {
		case len(from) == 0:
			d.l.Add(diag.Diagnostic{Code: "RP070", Pos: op.Pos, Message: fmt.Sprintf("nothing starts '%s': no request, start, message or row of it exists", op.Name),
				Hint: "add on: {request: " + op.Name + ", as: q}, on: {start: " + op.Name + "}, starts_with: one per " + op.Name + ", or rows under initially:"})
		case len(from) > 1:
			d.l.Add(diag.Diagnostic{Code: "RP170", Severity: diag.Warning, Pos: op.Pos, Message: fmt.Sprintf("'%s' has %d sources: %s", op.Name, len(from), strings.Join(from, ", ")),
				Hint: "one operation then starts in several places"})
		}
	}
}

// checkCounted: a promise counts an effect for an operation that it has.
func (d *decoder) checkCounted() {
	wrong := func(p *ast.Promise, e *ast.Effect, op *ast.Operation) {
		if e == nil || op == nil || len(e.Operations) == 0 || containsOp(e.Operations, op) {
			return
		}
		d.l.Add(diag.Diagnostic{Code: "RP022", Pos: p.Pos, Message: fmt.Sprintf("effect %s is counted per %s, never per %s", e.Name, e.Operations[0].Name, op.Name),
			Hint: "did you mean: per " + e.Operations[0].Name})
	}
	for _, p := range d.spec.Promises {
		switch s := p.Body.(type) {
		case *ast.AtMostOnce:
			wrong(p, s.Effect, s.Operation)
		case *ast.ExactlyOnce:
			wrong(p, s.Effect, s.Operation)
		case *ast.EventuallyEffect:
			wrong(p, s.Effect, s.Operation)
		case *ast.NotAnsweredBefore:
			wrong(p, s.Effect, s.Operation)
		case *ast.NoEffectWhile:
			wrong(p, s.Effect, s.Operation)
		}
	}
}
