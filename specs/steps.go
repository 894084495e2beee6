package specs

import (
	"fmt"
	"strings"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/expr"
	"github.com/relplan/relplan/internal/yamlx"
	"github.com/relplan/relplan/specs/ast"
)

// resolveSteps resolves every step of every process.
func (d *decoder) resolveSteps() {
	for _, p := range d.spec.Processes {
		raw := d.raw[p]
		d.eachRaw(raw.steps, func(r *rawStep) { d.resolveStep(p, raw, r) })
	}
}

// stepScope is the scope of expressions in steps of p.
func (d *decoder) stepScope(p *ast.Process) scope { return scope{d: d, proc: p} }

func (d *decoder) resolveStep(p *ast.Process, raw *rawProcess, r *rawStep) {
	s := r.step
	sc := d.stepScope(p)
	switch s.Verb {
	case ast.VerbTransaction:
		s.Resource = d.resource(r.verb, s.Pos, "sql resource", ast.SQLKind)
	case ast.VerbScript:
		s.Resource = d.resource(r.verb, s.Pos, "kv", ast.KVKind, ast.MemoryKind)
	case ast.VerbInsert, ast.VerbUpsert, ast.VerbUpdate, ast.VerbDelete, ast.VerbSelect:
		d.rowStep(r, sc)
	case ast.VerbPut, ast.VerbPutNew, ast.VerbGet, ast.VerbRemove, ast.VerbExpire:
		d.kvStep(r, sc)
	case ast.VerbSend:
		d.sendStep(r, sc)
	case ast.VerbAck, ast.VerbNack, ast.VerbCommitOffset:
		d.ackStep(r, sc)
	case ast.VerbCall:
		d.callStep(r, sc)
	case ast.VerbReply:
		d.replyStep(r, sc)
	case ast.VerbAskHuman:
		if r.verb.Kind() == yamlx.Scalar && r.verb.Value() == "none" || r.verb.Kind() == yamlx.Null {
			break // every operation
		}
		d.expr(&s.Human, r.verb, s.Pos, sc)
	case ast.VerbLock, ast.VerbUnlock:
		d.lockStep(r, sc)
	case ast.VerbLet:
		d.letStep(r, sc)
	default:
		d.localStep(raw, r, sc)
	}
	if k, n := r.arg("as"); k != nil {
		s.As = p.Var(d.sub(n).Value())
	}
	if k, n := r.arg("slow"); k != nil {
		s.Slow = d.flag(n, k.Pos())
	}
	if k, n := r.arg("effect"); k != nil {
		s.Effects = d.marks(n, k.Pos(), sc)
	}
	if k, n := r.arg("undo"); k != nil {
		s.Undoes = d.marks(n, k.Pos(), sc)
	}
	d.branches(raw, r)
	d.inBlock(r)
}

func (d *decoder) marks(n *yamlx.Node, at diag.Pos, sc scope) []ast.Mark {
	entries := d.mapping(n, at, "{NAME: operation}, such as {moves_money: m.op}")
	out := make([]ast.Mark, 0, len(entries))
	for _, e := range entries {
		if eff := d.effects[e.Key.Value()]; eff != nil {
			out = append(out, ast.Mark{Pos: e.Key.Pos(), Effect: eff})
		}
	}
	i := 0
	for _, e := range entries {
		if d.effects[e.Key.Value()] == nil {
			continue
		}
		d.expr(&out[i].Operation, e.Value, e.Key.Pos(), sc)
		d.inf.mark(&out[i], e.Value.Pos())
		i++
	}
	return out
}

// table reads the name of a table.
func (d *decoder) table(n *yamlx.Node, at diag.Pos) *ast.Table {
	if n.Kind() != yamlx.Scalar {
		d.wanted(n, at, "RP004", "the name of a table", "")
		return nil
	}
	return d.tableNamed(n.Value(), n.Pos())
}

func (d *decoder) tableNamed(name string, pos diag.Pos) *ast.Table {
	if t, ok := d.tables[name]; ok {
		return t
	}
	if r, ok := d.resources[name]; ok {
		dg := diag.Diagnostic{Code: "RP010", Pos: pos, Message: fmt.Sprintf("'%s' is a %s, expected a table", name, kindNoun(r.Kind)), Expected: "a table"}
		if r.SQL != nil && len(r.SQL.Tables) > 0 {
			dg.Hint = "its tables: " + strings.Join(tableNames(r.SQL.Tables), ", ")
		} else if r.KV != nil {
			dg.Hint = "a kv has the verbs put, get and remove"
		}
		d.l.Add(dg)
		return nil
	}
	d.unknown(pos, "RP010", "table", name, sortedKeys(d.tables))
	return nil
}

func tableNames(ts []*ast.Table) []string {
	var out []string
	for _, t := range ts {
		out = append(out, t.Name)
	}
	return out
}

func (d *decoder) rowStep(r *rawStep, sc scope) {
	s := r.step
	if s.Verb == ast.VerbSelect && r.verb.Kind() == yamlx.Scalar { // a kv can be polled like a table (W)
		if kv, ok := d.resources[r.verb.Value()]; ok && kv.KV != nil {
			s.Resource = kv
		}
	}
	if s.Resource == nil {
		s.Table = d.table(r.verb, s.Pos)
		if s.Table == nil {
			return
		}
		s.Resource = s.Table.Resource
	}
	rows := sc
	rows.table, rows.sql = s.Table, s.Resource
	if s.Table == nil {
		rows.store, rows.sql = s.Resource, nil
	}
	if k, n := r.arg("row"); k != nil {
		s.Row = d.cells(n, k.Pos(), cellTable{t: s.Table, assign: true}, sc)
	}
	if k, n := r.arg("set"); k != nil {
		set := rows
		set.columns, set.sql = true, nil
		s.Row = d.cells(n, k.Pos(), cellTable{t: s.Table, assign: true}, set)
	}
	if k, n := r.arg("where"); k != nil {
		d.where(&s.Where, n, k.Pos(), rows)
	}
	d.selectKeys(r, rows)
	if k, n := r.arg("position"); k != nil {
		s.PositionAs = s.Process.Var(d.sub(n).Value())
		if s.PositionAs != nil {
			d.inf.position(s.PositionAs, s.Resource)
		}
	}
}

func (d *decoder) selectKeys(r *rawStep, rows scope) {
	s := r.step
	if k, n := r.arg("order_by"); k != nil {
		s.OrderBy, s.Desc = d.orderBy(n, k.Pos(), rows)
	}
	for key, into := range map[string]*bool{"skip_locked": &s.Skip, "nowait": &s.NoWait, "count": &s.Count, "lock": &s.Lock} {
		if k, n := r.arg(key); k != nil {
			*into = d.flag(n, k.Pos())
		}
	}
	if s.Table == nil && (s.Lock || s.Skip || s.NoWait) {
		d.errorf(s.Pos, "RP019", "'%s' is a %s: it has no row locks", s.Subject, s.Resource.Kind)
	}
	if (s.Skip || s.NoWait) && !s.Lock {
		d.l.Add(diag.Diagnostic{Code: "RP019", Pos: s.Pos, Message: "skip_locked and nowait need lock: true", Hint: "a plain select never waits"})
	}
	if k, n := r.arg("from"); k != nil {
		if w, _ := d.oneOf(n, k.Pos(), "replica", "primary"); w == "replica" {
			s.Replica = true
			if s.Resource.SQL == nil || !s.Resource.SQL.Replica {
				d.l.Add(diag.Diagnostic{Code: "RP010", Pos: d.sub(n).Pos(), Message: fmt.Sprintf("'%s' has no replica", s.Resource.Name), Hint: "declare it: replica: {lag: 1}"})
			}
			if s.Lock || s.Block != nil {
				d.errorf(k.Pos(), "RP019", "a replica is read alone and without a lock")
			}
		}
	}
	if k, n := r.arg("at_least"); k != nil {
		d.expr(&s.AtLeast, n, k.Pos(), d.stepScope(s.Process))
	}
}

func (d *decoder) orderBy(n *yamlx.Node, at diag.Pos, rows scope) (*ast.ColumnRef, bool) {
	v, ok := d.word(n, at, "a column")
	if !ok {
		return nil, false
	}
	n = d.sub(n)
	f := strings.Fields(v)
	if len(f) == 0 || len(f) > 2 || len(f) == 2 && f[1] != "desc" && f[1] != "asc" {
		d.wanted(n, at, "RP004", "a column, or a column and desc", "")
		return nil, false
	}
	base := ast.Base{At: n.Pos()}
	c := rows.columnNamed(f[0], base)
	if c == nil {
		d.unknown(n.Pos(), "RP013", "column of "+rows.candidate(), f[0], rows.columnNames())
		return nil, false
	}
	ref := c.(*ast.ColumnRef)
	d.inf.column(ref)
	return ref, len(f) == 2 && f[1] == "desc"
}

// where reads a condition over rows: {column: value}, or an expression.
func (d *decoder) where(into *ast.Expr, n *yamlx.Node, at diag.Pos, sc scope) {
	n = d.sub(n)
	switch n.Kind() {
	case yamlx.Mapping:
		if d.trap(n) {
			return
		}
		d.whereMap(into, n, sc)
	case yamlx.Scalar:
		sc.columns = true
		if n.Value() == "true" && !n.Quoted() {
			return
		}
		d.exprText(into, n, sc)
	default:
		d.wanted(n, at, "RP020", "{column: value} or a condition", "")
	}
}

func (d *decoder) whereMap(into *ast.Expr, n *yamlx.Node, sc scope) {
	var all ast.Expr
	for _, e := range n.Entries() {
		base := ast.Base{At: e.Key.Pos()}
		col := sc.columnNamed(e.Key.Value(), base)
		if col == nil {
			d.unknown(e.Key.Pos(), "RP013", "column of "+sc.candidate(), e.Key.Value(), sc.columnNames())
			continue
		}
		v := d.sub(e.Value)
		var cond ast.Expr
		inner := sc
		inner.columns, inner.sql = false, nil
		if v.Kind() == yamlx.Sequence {
			for _, item := range v.Items() {
				if x := d.cellValue(d.sub(item), e.Key.Pos(), inner); x != nil {
					eq := ast.Expr(&ast.Binary{Base: ast.Base{At: item.Pos()}, Op: ast.OpEq, X: col, Y: x})
					if cond == nil {
						cond = eq
					} else {
						cond = &ast.Binary{Base: ast.Base{At: item.Pos()}, Op: ast.OpOr, X: cond, Y: eq}
					}
				}
			}
		} else if x := d.cellValue(v, e.Key.Pos(), inner); x != nil {
			cond = &ast.Binary{Base: base, Op: ast.OpEq, X: col, Y: x}
		}
		if cond == nil {
			continue
		}
		if all == nil {
			all = cond
		} else {
			all = &ast.Binary{Base: ast.Base{At: n.Pos()}, Op: ast.OpAnd, X: all, Y: cond}
		}
	}
	if all != nil {
		*into = all
		d.inf.slot(into, sc)
	}
}

// cellValue reads one value without registering it: it becomes part of a
// larger expression.
func (d *decoder) cellValue(n *yamlx.Node, at diag.Pos, sc scope) ast.Expr {
	switch n.Kind() {
	case yamlx.Mapping:
		cells := d.cells(n, at, cellRecord{}, sc)
		if cells == nil {
			return nil
		}
		return &ast.Record{Base: ast.Base{At: n.Pos()}, Cells: cells}
	case yamlx.Scalar:
		if n.Quoted() && plainText(n.Value()) {
			return &ast.Lit{Base: ast.Base{At: n.Pos()}, Value: ast.Value{Kind: ast.TextValue, Text: n.Value()}}
		}
		return d.parseExpr(n, 0, n.Value(), sc)
	}
	hint := ""
	if n.Kind() == yamlx.Null {
		hint = "for no value write: none"
	}
	d.wanted(n, at, "RP020", "a value", hint)
	return nil
}

// cellTarget says what the names of cells are.
type cellTarget interface {
	cell(d *decoder, c *ast.Cell) bool
}

type (
	cellTable struct {
		t      *ast.Table
		assign bool
	}
	cellRecord  struct{}
	cellMessage struct{ r *ast.Resource }
	cellArgs    struct{ m *ast.Method }
)

func (c cellTable) cell(d *decoder, cell *ast.Cell) bool {
	cell.Column = d.column(c.t, cell.Name, cell.Pos)
	return cell.Column != nil
}
func (cellRecord) cell(d *decoder, cell *ast.Cell) bool {
	if !nameForm.MatchString(cell.Name) {
		d.errorf(cell.Pos, "RP006", "field %q: a name has letters, digits and _", cell.Name)
		return false
	}
	return true
}
func (c cellMessage) cell(d *decoder, cell *ast.Cell) bool {
	return cellRecord{}.cell(d, cell) && c.r.Queue.Field(cell.Name) != nil
}
func (c cellArgs) cell(d *decoder, cell *ast.Cell) bool { return cellRecord{}.cell(d, cell) }

// cells reads {name: value, ..}; nil after an error in the mapping itself.
func (d *decoder) cells(n *yamlx.Node, at diag.Pos, target cellTarget, sc scope) []ast.Cell {
	n = d.sub(n)
	if n.Kind() != yamlx.Mapping {
		d.wanted(n, at, "RP004", "{name: value, ..}", "")
		return nil
	}
	if d.trap(n) {
		return nil
	}
	out := []ast.Cell{}
	for _, e := range n.Entries() {
		c := ast.Cell{Pos: e.Key.Pos(), Name: e.Key.Value()}
		if !target.cell(d, &c) {
			continue
		}
		c.Value = d.cellValue(d.sub(e.Value), e.Key.Pos(), sc)
		if c.Value != nil {
			out = append(out, c)
		}
	}
	for i := range out {
		d.inf.slot(&out[i].Value, sc)
		switch t := target.(type) {
		case cellTable:
			if t.assign {
				d.inf.assign(out[i].Column.Type, &out[i].Value, "column "+t.t.Name+"."+out[i].Name)
				d.inf.written[out[i].Column] = true
			}
		case cellMessage:
			d.inf.assign(t.r.Queue.Field(out[i].Name).Type, &out[i].Value, "field "+out[i].Name+" of "+t.r.Name)
		case cellArgs:
			d.inf.assign(d.methodField(t.m, out[i].Name, out[i].Pos).Type, &out[i].Value, "field "+out[i].Name+" of "+t.m.Name)
		}
	}
	return out
}

func (d *decoder) kvStep(r *rawStep, sc scope) {
	s := r.step
	s.Resource = d.resource(r.verb, s.Pos, "kv", ast.KVKind, ast.MemoryKind)
	if k, n := r.arg("key"); k != nil {
		d.expr(&s.Key, n, k.Pos(), sc)
	}
	if k, n := r.arg("value"); k != nil {
		d.expr(&s.Value, n, k.Pos(), sc)
	}
	if k, n := r.arg("only_if_value"); k != nil {
		d.expr(&s.OnlyIfValue, n, k.Pos(), sc)
	}
	for key, into := range map[string]*bool{"if_absent": &s.IfAbsent, "keep_ttl": &s.KeepTTL} {
		if k, n := r.arg(key); k != nil {
			*into = d.flag(n, k.Pos())
		}
	}
	if s.Verb == ast.VerbPutNew {
		s.IfAbsent = true
	}
	if k, _ := r.arg("if_exists"); k != nil && !s.IfAbsent {
		d.l.Add(diag.Diagnostic{Code: "RP019", Pos: k.Pos(), Message: "if_exists: on a put that overwrites: it is never taken", Hint: "add if_absent: true, or write put_new:"})
	}
	if s.Resource == nil {
		return
	}
	kv := s.Resource.KV
	if k, n := r.arg("ttl"); k != nil {
		s.TTL = d.duration(n, k.Pos(), "ttl of "+s.Resource.Name)
		if s.TTL != nil && s.TTL.None {
			s.TTL = nil
		}
		if s.Resource.Kind == ast.MemoryKind {
			d.errorf(k.Pos(), "RP019", "memory has no ttl")
		}
		kv.HasTTL = kv.HasTTL || s.TTL != nil
	}
	d.inf.assign(kv.Key, &s.Key, "key of "+s.Resource.Name)
	if s.Verb == ast.VerbPut || s.Verb == ast.VerbPutNew {
		if k, _ := r.arg("value"); k == nil {
			d.inf.present(kv.Value)
		} else {
			d.inf.assign(kv.Value, &s.Value, "value of "+s.Resource.Name)
		}
	}
	if s.Resource.Kind == ast.MemoryKind && kv.Process == nil {
		kv.Process = s.Process
	}
}

func (d *decoder) sendStep(r *rawStep, sc scope) {
	s := r.step
	s.Resource = d.resource(r.verb, s.Pos, "queue or log", ast.QueueKind, ast.LogKind)
	if s.Resource == nil {
		return
	}
	k, n := r.arg("message")
	if k != nil {
		s.Row = d.cells(n, k.Pos(), cellMessage{s.Resource}, sc)
	}
	idType := s.Resource.Queue.Field("id").Type
	if k, n := r.arg("id"); k != nil {
		d.expr(&s.MessageID, n, k.Pos(), sc)
		d.inf.assign(idType, &s.MessageID, "id of "+s.Resource.Name)
	}
	hasOp := false
	for i := range s.Row {
		switch s.Row[i].Name {
		case "id":
			if s.MessageID != nil {
				d.errorf(s.Row[i].Pos, "RP019", "the id is given twice")
			}
			s.MessageID = s.Row[i].Value
		case "op":
			hasOp = true
		}
	}
	if !hasOp && k != nil && s.Row != nil {
		d.l.Add(diag.Diagnostic{Code: "RP003", Pos: k.Pos(), Message: "the message does not say which operation it is for", Hint: "add op: message: {op: m.op}"})
	}
	if k, n := r.arg("epoch"); k != nil {
		d.expr(&s.Epoch, n, k.Pos(), sc)
		if s.Resource.Kind != ast.LogKind || !s.Resource.Queue.Fenced {
			d.l.Add(diag.Diagnostic{Code: "RP019", Pos: k.Pos(), Message: "epoch: needs a log with fenced: true"})
		}
	}
}

func (d *decoder) ackStep(r *rawStep, sc scope) {
	s := r.step
	if s.Verb == ast.VerbCommitOffset {
		d.commitOffset(r, sc)
		return
	}
	w, ok := d.word(r.verb, s.Pos, "the name of a message")
	if !ok {
		return
	}
	v := s.Process.Var(w)
	if v == nil {
		sc.unknownWord(w, r.verb.Pos())
		return
	}
	s.Message = v
	d.later = append(d.later, func() {
		t := s.Process.Trigger
		if t == nil || t.Kind != ast.OnMessage {
			return
		}
		s.Resource = t.Queue
	})
}

func (d *decoder) commitOffset(r *rawStep, sc scope) {
	s := r.step
	s.Resource = d.resource(r.verb, s.Pos, "log", ast.LogKind)
	if k, n := r.arg("up_to"); k != nil {
		if n = d.sub(n); n.Value() == "contiguous" && n.Kind() == yamlx.Scalar && s.Process.Var("contiguous") == nil {
			s.UpTo = ast.UpToContiguous
		} else {
			d.expr(&s.UpToExpr, n, k.Pos(), sc)
		}
	}
	if k, n := r.arg("lower"); k != nil {
		w, _ := d.oneOf(n, k.Pos(), "accepted", "refused")
		s.Lower = w == "refused"
	}
}

func (d *decoder) callStep(r *rawStep, sc scope) {
	s := r.step
	w, ok := d.word(r.verb, s.Pos, "PROVIDER.METHOD")
	if !ok {
		return
	}
	name, method, found := strings.Cut(w, ".")
	pos := r.verb.Pos()
	if !found {
		hint := ""
		if p := d.resources[name]; p != nil && p.Provider != nil && len(p.Provider.Methods) > 0 {
			hint = "write: call: " + name + "." + p.Provider.Methods[0].Name
		}
		d.wanted(r.verb, s.Pos, "RP004", "PROVIDER.METHOD", hint)
		return
	}
	s.Resource = d.resourceNamed(name, span(r.verb, 0, len([]rune(name))), "provider", ast.ProviderKind)
	if s.Resource == nil {
		return
	}
	if pos.EndColumn > 0 {
		pos = span(r.verb, len([]rune(name))+1, len([]rune(w)))
	}
	s.Method = d.method(s.Resource, method, pos)
	if s.Method == nil {
		return
	}
	k, n := r.arg("with")
	if k != nil {
		s.Row = d.cells(n, k.Pos(), cellArgs{s.Method}, sc)
	}
	if k == nil || s.Row != nil {
		d.callArgs(r)
	}
}

// callArgs checks that a call sends what its method needs.
func (d *decoder) callArgs(r *rawStep) {
	s := r.step
	has := func(name string) bool {
		for _, c := range s.Row {
			if c.Name == name {
				return true
			}
		}
		return false
	}
	need := func(f *ast.Field, why string) {
		if f != nil && !has(f.Name) {
			d.l.Add(diag.Diagnostic{Code: "RP003", Pos: s.Pos, Message: fmt.Sprintf("the call does not send '%s': %s", f.Name, why), Hint: "add it to with:"})
		}
	}
	need(s.Method.DedupBy, s.Subject+" deduplicates by it")
	if s.Method.Kind == ast.Find && !s.Method.ByReceipt {
		need(s.Method.By, s.Subject+" looks up by it")
	}
	if (s.Method.Effect != nil || s.Method.Undo != nil) && !has("op") {
		d.l.Add(diag.Diagnostic{Code: "RP003", Pos: s.Pos, Message: "the call does not say for which operation its effect counts", Hint: "add op: to with:"})
	}
	if s.Method.Effect != nil || s.Method.Undo != nil {
		for i := range s.Row {
			if s.Row[i].Name == "op" {
				eff := s.Method.Effect
				if eff == nil {
					eff = s.Method.Undo
				}
				d.inf.callMark(eff, &s.Row[i].Value, s.Row[i].Pos)
			}
		}
	}
}

func (d *decoder) replyStep(r *rawStep, sc scope) {
	s := r.step
	w, ok := d.word(r.verb, s.Pos, "ok, refused, try_later or a word")
	if ok {
		s.Reply = ast.Reply(w)
		if !nameForm.MatchString(w) {
			d.wanted(r.verb, s.Pos, "RP004", "ok, refused, try_later or a word", "what is answered goes into body:")
		}
	}
	s.Process.HasReply = true
	if k, n := r.arg("body"); k != nil {
		d.expr(&s.Body, n, k.Pos(), sc)
	}
}

func (d *decoder) lockStep(r *rawStep, sc scope) {
	s := r.step
	s.Resource = d.resource(r.verb, s.Pos, "sql resource", ast.SQLKind)
	if k, n := r.arg("key"); k != nil {
		d.expr(&s.Key, n, k.Pos(), sc)
	}
	if k, n := r.arg("scope"); k != nil {
		w, _ := d.oneOf(n, k.Pos(), "transaction", "session")
		s.SessionLock = w == "session"
	}
	if k, n := r.arg("try"); k != nil {
		s.Try = d.flag(n, k.Pos())
	}
	if k, _ := r.arg("if_held"); k != nil && !s.Try {
		d.l.Add(diag.Diagnostic{Code: "RP019", Pos: k.Pos(), Message: "if_held: on a lock that waits: it is never taken", Hint: "add try: true"})
	}
}

func (d *decoder) letStep(r *rawStep, sc scope) {
	s := r.step
	entries := d.mapping(r.verb, s.Pos, "{name: value}")
	for _, e := range entries {
		v := s.Process.Var(e.Key.Value())
		if v == nil {
			continue
		}
		s.Lets = append(s.Lets, ast.Let{Pos: e.Key.Pos(), Var: v})
	}
	i := 0
	for _, e := range entries {
		if s.Process.Var(e.Key.Value()) == nil {
			continue
		}
		let := &s.Lets[i]
		i++
		val := d.sub(e.Value)
		if val.Kind() == yamlx.Scalar && strings.Contains(val.Value(), "..") {
			if rng, ok := d.rangeOf(val); ok {
				let.Declare = true
				d.declareVar(let.Var, rng, e.Key.Pos())
			}
			continue
		}
		d.expr(&let.Value, val, e.Key.Pos(), sc)
		d.inf.assign(let.Var.Type, &let.Value, let.Var.Name)
	}
}

func (d *decoder) declareVar(v *ast.Var, rng *expr.Range, pos diag.Pos) {
	if v.Declared && (v.Lo != rng.Lo || v.Hi != rng.Hi) {
		d.errorf(pos, "RP006", "'%s' is declared as %d .. %d already", v.Name, v.Lo, v.Hi)
		return
	}
	v.Declared, v.Lo, v.Hi = true, rng.Lo, rng.Hi
	d.inf.ranged(v.Type, rng.Lo, rng.Hi)
}

// rangeOf reads `0 .. 3`.
func (d *decoder) rangeOf(n *yamlx.Node) (*expr.Range, bool) {
	tree, err := expr.ParseOrRange(n.Value())
	if err != nil {
		d.syntax(n, err)
		return nil, false
	}
	rng, ok := tree.(*expr.Range)
	if !ok {
		d.wanted(n, n.Pos(), "RP020", "a range such as 0 .. 3", "")
		return nil, false
	}
	if rng.Hi-rng.Lo > 1000 {
		d.errorf(n.Pos(), "RP020", "a range of more than 1000 values")
		return nil, false
	}
	return rng, true
}

func (d *decoder) localStep(raw *rawProcess, r *rawStep, sc scope) {
	s := r.step
	if k, n := r.arg("when"); k != nil {
		d.expr(&s.When, n, k.Pos(), sc)
	}
	switch s.Verb {
	case ast.VerbGo:
		if w, ok := d.word(r.verb, s.Pos, "a label"); ok {
			s.Target = d.target(raw, s, w, r.verb.Pos())
		}
	case ast.VerbChoose:
		if r.verb.Kind() != yamlx.Sequence || len(r.verb.Items()) < 2 {
			d.wanted(r.verb, s.Pos, "RP004", "a list of at least two labels", "")
			return
		}
		for _, i := range d.list(r.verb) {
			if t := d.target(raw, s, i.Value(), i.Pos()); t != nil {
				s.Choose = append(s.Choose, *t)
			}
		}
		if k, n := r.arg("fair"); k != nil {
			s.Fair = d.flag(n, k.Pos())
		}
	case ast.VerbStop, ast.VerbFail:
		if !d.flag(r.verb, s.Pos) && r.verb.Value() == "false" {
			d.l.Add(diag.Diagnostic{Code: "RP004", Pos: r.verb.Pos(), Message: fmt.Sprintf("%s: false does nothing", s.Verb), Hint: "remove the step"})
		}
	}
}

func withEnd(labels map[string]labelAt) []string {
	out := sortedKeys(labels)
	if !contains(out, "end") {
		out = append(out, "end")
	}
	return out
}

// target resolves a label seen from step s.
func (d *decoder) target(raw *rawProcess, s *ast.Step, label string, pos diag.Pos) *ast.Target {
	t := &ast.Target{Pos: pos, Label: label}
	at, ok := raw.labels[label]
	switch {
	case !ok && label == "end":
		t.Kind = ast.ToEnd
		t.Leaves = s.Block != nil
		return t
	case !ok && strings.Contains(label, " when "):
		d.l.Add(diag.Diagnostic{Code: "RP011", Pos: pos, Message: "expected a label, found '" + label + "'", Hint: "write when: on a line of its own"})
		return nil
	case !ok:
		d.unknown(pos, "RP011", "label", label, withEnd(raw.labels))
		return nil
	case at.block != nil && at.block != s.Block:
		d.l.Add(diag.Diagnostic{Code: "RP016", Pos: pos, Message: fmt.Sprintf("'%s' stands inside a %s: no jump leads into a block", label, at.block.Verb),
			Hint: fmt.Sprintf("put the label on the %s itself (line %d), or on a step outside", at.block.Verb, at.block.Pos.Line)})
		return nil
	}
	t.Leaves = s.Block != nil && at.block == nil
	switch {
	case at.step != nil:
		t.Kind, t.Step = ast.ToStep, at.step
	case at.block != nil:
		t.Kind = ast.ToBlockEnd
	default:
		t.Kind = ast.ToEnd
	}
	return t
}

// inBlock checks what may stand inside transaction: and script:.
func (d *decoder) inBlock(r *rawStep) {
	s := r.step
	b := s.Block
	if b == nil {
		return
	}
	if b.Verb == ast.VerbTransaction {
		if s.Table != nil && b.Resource != nil && s.Resource != b.Resource {
			d.l.Add(diag.Diagnostic{Code: "RP016", Pos: r.verb.Pos(), Message: fmt.Sprintf("table '%s' is in '%s', the transaction is on '%s'", s.Table.Name, s.Resource.Name, b.Resource.Name),
				Hint: "one transaction covers one sql resource"})
		}
		if s.Verb == ast.VerbReply {
			d.errorf(s.Pos, "RP016", "a reply inside a transaction: answer after the commit")
		}
		return
	}
	same := func(o *ast.Resource) bool {
		if o == b.Resource || b.Resource == nil {
			return true
		}
		for _, x := range b.Resource.KV.SameServer {
			if x == o {
				return true
			}
		}
		return false
	}
	switch s.Verb {
	case ast.VerbPut, ast.VerbPutNew, ast.VerbGet, ast.VerbRemove, ast.VerbExpire, ast.VerbSend, ast.VerbSelect:
		if s.Resource != nil && !same(s.Resource) {
			d.l.Add(diag.Diagnostic{Code: "RP016", Pos: r.verb.Pos(), Message: fmt.Sprintf("a script on '%s' cannot touch '%s'", b.Resource.Name, s.Resource.Name),
				Hint: "if they are one server, say so: same_server_as: " + b.Resource.Name})
		}
	case ast.VerbGo, ast.VerbStop, ast.VerbLet, ast.VerbChoose, ast.VerbFail:
	default:
		d.errorf(s.Pos, "RP016", "'%s' inside a script: it holds kv verbs and local decisions only", s.Verb)
	}
}
