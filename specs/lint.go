package specs

import (
	"fmt"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/specs/ast"
)

// lint warns about what is legal and suspicious, without any search.
func (d *decoder) lint() {
	mutable := d.mutableColumns()
	for _, p := range d.spec.Processes {
		l := linter{d: d, p: p, mutable: mutable}
		l.effectApart()
		l.ackEarly()
		l.markFirst()
		for _, s := range p.All {
			l.ttlLock(s)
			l.blindUpdate(s)
			l.inTransaction(s)
			l.mintedKey(s)
			l.anyRow(s)
			l.neverExists(s)
		}
		l.unguarded()
	}
	d.lintResources()
	d.lintStates()
}

func (d *decoder) warn(pos diag.Pos, code, hint, format string, a ...any) {
	d.l.Add(diag.Diagnostic{Code: code, Severity: diag.Warning, Pos: pos, Message: fmt.Sprintf(format, a...), Hint: hint})
}

type linter struct {
	d       *decoder
	p       *ast.Process
	mutable map[*ast.Column]bool
}

// mutableColumns are those that some update sets.
func (d *decoder) mutableColumns() map[*ast.Column]bool {
	out := map[*ast.Column]bool{}
	d.inf.eachStep(func(s *ast.Step) {
		if s.Verb == ast.VerbUpdate || s.Verb == ast.VerbUpsert {
			for _, c := range s.Row {
				out[c.Column] = true
			}
		}
	})
	for _, t := range d.tables {
		if t.Lease != nil {
			for _, c := range t.Lease.Then {
				out[c.Column] = true
			}
		}
	}
	return out
}

// isMark says whether the step is an inbox insert: it takes a branch when the
// key is already there.
func isMark(s *ast.Step) bool {
	return s.Verb == ast.VerbInsert && s.Branches[ast.IfExists] != nil && len(s.Table.Unique) > 0 && len(s.Effects) == 0
}

// isKVMark is the same in a kv, without a ttl (with one it is a lock).
func isKVMark(s *ast.Step) bool {
	return (s.Verb == ast.VerbPut || s.Verb == ast.VerbPutNew) && s.IfAbsent && s.TTL == nil && len(s.Effects) == 0 && s.Resource.Kind == ast.KVKind
}

// effectApart: the inbox row and the effect are in two transactions.
func (l linter) effectApart() {
	if l.p.Trigger.Kind != ast.OnMessage {
		return
	}
	for _, m := range l.p.All {
		if !isMark(m) {
			continue
		}
		for _, s := range l.p.All {
			if len(s.Effects) == 0 || s.Resource != m.Resource || s.Table == nil {
				continue
			}
			if s.Block != nil && s.Block == m.Block {
				continue
			}
			l.d.warn(s.Effects[0].Pos, "RP101", "put both into one transaction:",
				"effect %s and the row of %s (line %d) are written apart: a crash between them keeps one without the other", s.Effects[0].Effect.Name, m.Table.Name, m.Pos.Line)
		}
	}
}

// writes says whether the step changes something that others see for good.
func writes(s *ast.Step) bool {
	switch s.Verb {
	case ast.VerbTransaction:
		for _, x := range s.Do {
			if writes(x) {
				return true
			}
		}
	case ast.VerbInsert, ast.VerbUpsert, ast.VerbUpdate, ast.VerbDelete, ast.VerbSend:
		return true
	case ast.VerbCall:
		return s.Method != nil && s.Method.Kind != ast.Find
	}
	return len(s.Effects) > 0 && s.Verb != ast.VerbAck
}

// ackEarly: an ack with a write behind it.
func (l linter) ackEarly() {
	for i, s := range l.p.Steps {
		if s.Verb != ast.VerbAck && !(s.Verb == ast.VerbCommitOffset && s.UpTo == ast.UpToMessage) {
			continue
		}
		for _, next := range l.p.Steps[i+1:] {
			if next.Verb == ast.VerbStop || next.Verb == ast.VerbGo && next.When == nil {
				break
			}
			if writes(next) {
				l.d.warn(s.Pos, "RP102", "ack behind the last write: what is not acked comes back",
					"'%s' stands before '%s' (line %d): after a crash between them the message does not come back", s.Verb, next.Verb, next.Pos.Line)
				break
			}
		}
	}
}

// markFirst: a mark in a kv, then the effect somewhere else.
func (l linter) markFirst() {
	for i, m := range l.p.All {
		if !isKVMark(m) {
			continue
		}
		for _, s := range l.p.All[i+1:] {
			eff := ""
			switch {
			case len(s.Effects) > 0:
				eff = s.Effects[0].Effect.Name
			case s.Method != nil && s.Method.Effect != nil:
				eff = s.Method.Effect.Name
			}
			if eff == "" || s.Block != nil && s.Block == m.Block {
				continue
			}
			l.d.warn(m.Pos, "RP105", "write the mark with the effect, or make the effect itself refuse a repeat",
				"the mark in %s is written before effect %s (line %d): after a crash between them the mark says done", m.Resource.Name, eff, s.Pos.Line)
			break
		}
	}
}

// ttlLock: a lock that can expire under its holder, with no token behind it.
func (l linter) ttlLock(s *ast.Step) {
	if s.Verb != ast.VerbPut && s.Verb != ast.VerbPutNew || !s.IfAbsent || s.TTL == nil {
		return
	}
	if t := s.Value; t == nil || !t.Type().Has(ast.KindInstance) && !t.Type().Has(ast.KindFresh) && !t.Type().Has(ast.KindRun) {
		return
	}
	for _, w := range l.p.All[s.ID+1:] {
		if !writes(w) || w.Verb == ast.VerbTransaction || l.fenced(w) {
			continue
		}
		l.d.warn(s.Pos, "RP103", "let the write itself check a token (where: {token: ..}) or a unique key",
			"the lock in %s ends after its ttl, also under a live holder: nothing stops the late '%s' at line %d", s.Resource.Name, w.Verb, w.Pos.Line)
		return
	}
}

// fenced says whether the write refuses a late or repeated one by itself.
func (l linter) fenced(s *ast.Step) bool {
	switch s.Verb {
	case ast.VerbInsert:
		return len(s.Table.Unique) > 0
	case ast.VerbUpdate, ast.VerbDelete:
		return l.readsMutable(s.Where)
	case ast.VerbCall:
		return s.Method.DedupBy != nil
	}
	return true
}

func (l linter) readsMutable(e ast.Expr) bool {
	found := false
	ast.Walk(e, func(x ast.Expr) bool {
		if c, ok := x.(*ast.ColumnRef); ok && l.mutable[c.Column] {
			found = true
		}
		return true
	})
	return found
}

// blindUpdate: an update that sets a state whatever it was.
func (l linter) blindUpdate(s *ast.Step) {
	if s.Verb != ast.VerbUpdate || l.readsMutable(s.Where) {
		return
	}
	if s.Block != nil { // read under a lock in the same transaction
		for _, x := range s.Block.Do {
			if x.ID < s.ID && x.Verb == ast.VerbSelect && x.Table == s.Table && x.Lock {
				return
			}
		}
	}
	for _, c := range s.Row {
		if lit, ok := c.Value.(*ast.Lit); ok && lit.Value.Kind == ast.SymbolValue {
			l.d.warn(s.Pos, "RP104", fmt.Sprintf("compare and set: where: {.., %s: OLD}, with if_none:", c.Name),
				"the update sets %s to %s whatever it was: a late worker overwrites a newer state", c.Name, lit.Value)
			return
		}
	}
}

// inTransaction: what a rollback does not undo (R40).
func (l linter) inTransaction(s *ast.Step) {
	if s.Block == nil || s.Block.Verb != ast.VerbTransaction {
		return
	}
	switch s.Verb {
	case ast.VerbCall, ast.VerbSend, ast.VerbPut, ast.VerbPutNew, ast.VerbRemove, ast.VerbExpire:
		if s.Resource.Kind == ast.MemoryKind {
			return
		}
		l.d.warn(s.Pos, "RP106", "move it behind the commit, or write an outbox row here",
			"'%s: %s' inside a transaction happens at once: a rollback does not undo it, and a crash before the commit keeps it", s.Verb, s.Subject)
	}
}

// mintedKey: a deduplication key that every attempt makes anew.
func (l linter) mintedKey(s *ast.Step) {
	check := func(e ast.Expr, what string) {
		if e == nil {
			return
		}
		if why := minted(e, l.p); why != "" {
			l.d.warn(e.Position(), "RP107", "derive the key from what stays the same: the operation",
				"%s is made of %s, which a repeated attempt makes anew: it is never found again", what, why)
		}
	}
	switch {
	case s.Verb == ast.VerbCall && s.Method != nil && s.Method.DedupBy != nil:
		for _, c := range s.Row {
			if c.Name == s.Method.DedupBy.Name {
				check(c.Value, "the key of "+s.Subject)
			}
		}
	case s.IfAbsent:
		check(s.Key, "the key in "+s.Resource.Name)
	case s.Verb == ast.VerbSend && s.Resource.Queue.DedupBy != nil:
		for _, c := range s.Row {
			if c.Name == s.Resource.Queue.DedupBy.Name {
				check(c.Value, "the deduplication id of "+s.Resource.Name)
			}
		}
	case s.Verb == ast.VerbInsert && s.Branches[ast.IfExists] != nil:
		for _, u := range s.Table.Unique {
			for _, col := range u.Columns {
				for _, c := range s.Row {
					if c.Column == col {
						check(c.Value, "the unique key of "+s.Table.Name)
					}
				}
			}
		}
	}
}

// minted says what part of e differs between two attempts of one operation.
func minted(e ast.Expr, p *ast.Process) string {
	why := ""
	ast.Walk(e, func(x ast.Expr) bool {
		switch y := x.(type) {
		case *ast.Fresh:
			why = "fresh()"
		case *ast.MyRun:
			why = "my_run"
		case *ast.VarRef:
			if bound := boundFresh(y.Var, p); bound > 0 {
				why = fmt.Sprintf("%s (fresh at line %d)", y.Var.Name, bound)
			}
		}
		return true
	})
	return why
}

// boundFresh gives the line of a `let: {v: fresh()}`, 0 without one.
func boundFresh(v *ast.Var, p *ast.Process) int {
	for _, s := range p.All {
		for _, l := range s.Lets {
			if _, ok := l.Value.(*ast.Fresh); ok && l.Var == v {
				return l.Pos.Line
			}
		}
	}
	return 0
}

// anyRow: a select that may match several rows and does not say which.
func (l linter) anyRow(s *ast.Step) {
	if s.Verb != ast.VerbSelect || s.Count || s.OrderBy != nil || s.Table == nil || l.pinned(s) {
		return
	}
	if !l.severalRows(s.Table) {
		return
	}
	l.d.warn(s.Pos, "RP108", "add order_by: COLUMN, or select by a unique key", "the select may match several rows of %s: the engine chooses, every choice is explored", s.Table.Name)
}

// pinned says whether the where fixes all columns of some uniqueness
// constraint, or the operation of a row.
func (l linter) pinned(s *ast.Step) bool {
	fixed := map[string]bool{}
	var walk func(e ast.Expr)
	walk = func(e ast.Expr) {
		b, ok := e.(*ast.Binary)
		if !ok {
			return
		}
		if b.Op == ast.OpAnd {
			walk(b.X)
			walk(b.Y)
			return
		}
		if b.Op != ast.OpEq {
			return
		}
		for _, x := range []ast.Expr{b.X, b.Y} {
			if c, ok := x.(*ast.ColumnRef); ok && c.Column != nil {
				fixed[c.Column.Name] = true
			}
		}
	}
	walk(s.Where)
	if fixed["op"] {
		return true
	}
	for _, u := range s.Table.Unique {
		all := u.Where == nil
		for _, c := range u.Columns {
			all = all && fixed[c.Name]
		}
		if all {
			return true
		}
	}
	return false
}

// severalRows says whether more than one row of t can exist.
func (l linter) severalRows(t *ast.Table) bool {
	rows, inserts := 0, 0
	for _, r := range l.d.spec.Initially {
		if r.Table == t {
			rows++
		}
	}
	l.d.inf.eachStep(func(s *ast.Step) {
		if s.Table == t && (s.Verb == ast.VerbInsert || s.Verb == ast.VerbUpsert) {
			inserts++
		}
	})
	most := 0
	for _, op := range l.d.spec.Operations {
		most = max(most, op.Count)
	}
	return rows+inserts*most > 1
}

// neverExists: if_exists: on a table that nothing conflicts in.
func (l linter) neverExists(s *ast.Step) {
	if b := s.Branches[ast.IfExists]; s.Verb == ast.VerbInsert && b != nil && !b.Implicit && len(s.Table.Unique) == 0 {
		l.d.warn(b.Pos, "RP114", "declare what makes a row the same: unique: [op]", "if_exists: is never taken: %s has no uniqueness constraint", s.Table.Name)
	}
}

// unguarded: a field of what may be none, never tested (R35).
func (l linter) unguarded() {
	tested := map[*ast.Var]bool{}
	l.eachExpr(func(e ast.Expr) {
		ast.Walk(e, func(x ast.Expr) bool {
			if b, ok := x.(*ast.Binary); ok {
				for _, pair := range [][2]ast.Expr{{b.X, b.Y}, {b.Y, b.X}} {
					v, isVar := pair[0].(*ast.VarRef)
					lit, isLit := pair[1].(*ast.Lit)
					if isVar && isLit && lit.Value.Kind == ast.NoneValue {
						tested[v.Var] = true
					}
				}
			}
			return true
		})
	})
	warned := map[*ast.Var]bool{}
	l.eachExpr(func(e ast.Expr) {
		ast.Walk(e, func(x ast.Expr) bool {
			f, ok := x.(*ast.FieldOf)
			if !ok {
				return true
			}
			v, ok := f.X.(*ast.VarRef)
			if !ok || tested[v.Var] || warned[v.Var] || !v.Var.Type.Optional() {
				return true
			}
			warned[v.Var] = true
			l.d.warn(f.At, "RP110", fmt.Sprintf("test it first: go: .., when: %s == none", v.Var.Name), "'%s' may be none, and then '%s' is none", v.Var.Name, f)
			return true
		})
	})
}

func (l linter) eachExpr(do func(ast.Expr)) {
	for _, s := range l.p.All {
		for _, e := range []ast.Expr{s.When, s.Where, s.Key, s.Value, s.OnlyIfValue, s.Body, s.Human, s.AtLeast, s.UpToExpr} {
			if e != nil {
				do(e)
			}
		}
		for _, c := range s.Row {
			do(c.Value)
		}
		for _, x := range s.Lets {
			if x.Value != nil {
				do(x.Value)
			}
		}
		for _, m := range s.Effects {
			do(m.Operation)
		}
	}
}

func (d *decoder) lintResources() {
	late := len(d.faults["response_lost"]) > 0 || len(d.faults["late_request"]) > 0
	for _, r := range d.spec.Resources {
		if r.Provider != nil && r.Provider.CanArriveLate && !late {
			d.warn(r.Pos, "RP111", "give it a budget: faults: {late_request: 1}", "'%s' may execute requests late, but no fault makes an answer get lost: it never happens", r.Name)
		}
		if q := r.Queue; q != nil && q.MaxDeliveries > 0 && q.DeadLetter == nil {
			d.warn(r.Pos, "RP112", "name a queue for them: dead_letter: NAME", "messages of '%s' vanish after %d deliveries", r.Name, q.MaxDeliveries)
		}
	}
}

// lintStates: comparisons with a constant that is never written.
func (d *decoder) lintStates() {
	words := d.writtenWords()
	for _, t := range d.tables {
		if t.Lease != nil {
			for _, c := range t.Lease.While {
				if lit, ok := c.Value.(*ast.Lit); ok {
					d.neverWritten(c.Column.Type, lit, t.Name+"."+c.Name, words)
				}
			}
		}
	}
	for _, s := range d.inf.slots {
		if *s.e == nil {
			continue
		}
		ast.Walk(*s.e, func(x ast.Expr) bool {
			b, ok := x.(*ast.Binary)
			if !ok || b.Op != ast.OpEq && b.Op != ast.OpNe {
				return true
			}
			for _, pair := range [][2]ast.Expr{{b.X, b.Y}, {b.Y, b.X}} {
				if lit, ok := pair[1].(*ast.Lit); ok {
					d.neverWritten(pair[0].Type(), lit, pair[0].String(), words)
				}
			}
			return true
		})
	}
}

func (d *decoder) neverWritten(t *ast.Type, lit *ast.Lit, what string, words map[string]bool) {
	if lit.Value.Kind != ast.SymbolValue || !symbolForm.MatchString(lit.Value.Text) || words[lit.Value.Text] {
		return
	}
	a := t.Find(ast.KindSymbol)
	if a == nil || contains(a.Symbols, lit.Value.Text) {
		return
	}
	hint := ""
	if c, ok := suggest(lit.Value.Text, a.Symbols); ok {
		hint = "did you mean: " + c
	}
	d.warn(lit.At, "RP113", hint, "'%s' is never %s", what, lit.Value.Text)
}
