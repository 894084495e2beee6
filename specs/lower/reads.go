package lower

import (
	"strings"

	"github.com/relplan/relplan/specs/ast"
)

// What nobody reads is not stored. This pass finds the columns, parts of kv
// entries and parts of messages that an expression, a key, a lease or a promise
// looks at.

func (lw *lowering) findReads() {
	for _, p := range lw.spec.Processes {
		tr := p.Trigger
		lw.readExpr(tr.Where)
		if tr.OrderBy != nil {
			lw.readExpr(tr.OrderBy)
		}
		for _, s := range p.All {
			for _, e := range expressions(s) {
				lw.readExpr(e)
			}
			if s.OrderBy != nil {
				lw.readExpr(s.OrderBy)
			}
			if s.OnlyIfValue != nil { // compare and delete looks at the value
				lw.readEntry(s.Resource, "")
			}
		}
	}
	for _, r := range lw.spec.Resources {
		if r.SQL != nil {
			for _, t := range r.SQL.Tables {
				lw.readTable(t)
			}
		}
	}
	for _, p := range lw.spec.Promises {
		lw.readSentence(p.Body)
	}
	for _, p := range lw.spec.MustBePossible {
		switch b := p.Body.(type) {
		case ast.RowInState:
			lw.columnRead[b.Column] = true
		case ast.Reach:
			lw.readExpr(b.Expr)
			lw.watchExpr(b.Expr)
		}
	}
}

func (lw *lowering) readTable(t *ast.Table) {
	for _, u := range t.Unique {
		for _, c := range append(append([]*ast.Column{}, u.Columns...), u.Scope...) {
			lw.columnRead[c] = true
		}
		lw.readExpr(u.Where)
	}
	if l := t.Lease; l != nil {
		for _, c := range l.While {
			lw.columnRead[c.Column] = true
		}
	}
}

// readExpr notes what an expression reads.
func (lw *lowering) readExpr(e ast.Expr) {
	if e == nil {
		return
	}
	walkUses(e, "", lw.reads)
	ast.Walk(e, func(c ast.Expr) bool {
		if r, ok := c.(*ast.ColumnRef); ok {
			if r.Column != nil {
				lw.columnRead[r.Column] = true
			}
			if r.Store != nil {
				switch r.Name {
				case "key":
					lw.keyRead[r.Store] = true
				case "value":
					lw.readEntry(r.Store, "")
				default:
					lw.readEntry(r.Store, "."+r.Name)
				}
			}
		}
		return true
	})
}

// reads notes what is behind a part of a bound name.
func (lw *lowering) reads(v *ast.Var, prefix string) {
	if v.Type == nil {
		return
	}
	presence := strings.HasPrefix(prefix, onlyPresence)
	name, rest := splitField(prefix)
	for i := range v.Type.Alts {
		a := &v.Type.Alts[i]
		switch a.Kind {
		case ast.KindRow:
			for _, c := range a.Table.Columns {
				if !presence && (prefix == "" || c.Name == name) {
					lw.columnRead[c] = true
				}
			}
		case ast.KindEntry:
			if !presence && (prefix == "" || name == "value") {
				lw.readEntry(a.Resource, rest)
			}
		case ast.KindMessage:
			if !presence {
				lw.readEntry(a.Resource, prefix)
			}
		}
	}
	// A get binds the value of an entry.
	for _, s := range v.Process.All {
		if s.Verb == ast.VerbGet && s.As == v {
			lw.readEntry(s.Resource, prefix)
		}
	}
}

func splitField(prefix string) (name, rest string) {
	if !strings.HasPrefix(prefix, ".") {
		return "", ""
	}
	name = prefix[1:]
	if i := strings.IndexAny(name, "./?"); i >= 0 {
		return name[:i], name[i:]
	}
	return name, ""
}

func (lw *lowering) readEntry(r *ast.Resource, part string) {
	if lw.entryRead[r] == nil {
		lw.entryRead[r] = map[string]bool{}
	}
	lw.entryRead[r][part] = true
}

// entryReads says whether a leaf of a kv's value or of a queue's message is read.
func (lw *lowering) entryReads(r *ast.Resource, key string) bool {
	for p := range lw.entryRead[r] {
		if i := strings.Index(p, onlyPresence); i >= 0 {
			// Presence: of a record its own leaf, of a plain value all leaves.
			base := p[:i]
			if key == base+"?" || strings.HasPrefix(key, base+"/") {
				return true
			}
			continue
		}
		if under(key, p) {
			return true
		}
	}
	return false
}

// mentions says whether a field of a message is read by its name; reading the
// whole message is not enough.
func (lw *lowering) mentions(r *ast.Resource, field string) bool {
	for p := range lw.entryRead[r] {
		if name, _ := splitField(p); name == field {
			return true
		}
	}
	return false
}

// watchExpr keeps the names and places that a promise looks at.
func (lw *lowering) watchExpr(e ast.Expr) {
	ast.Walk(e, func(c ast.Expr) bool {
		switch x := c.(type) {
		case *ast.InstanceVar:
			lw.watched[x.Var] = true
		case *ast.AtStep:
			lw.observed[x.Step] = true
		}
		return true
	})
}

// tableRead says whether the rows of a table matter.
func (lw *lowering) tableRead(a *ast.Table) bool {
	inserts := false
	for _, s := range lw.allSteps() {
		if s.Table != a {
			continue
		}
		if s.Verb != ast.VerbInsert {
			return true
		}
		inserts = true
	}
	if len(a.Unique) > 0 && inserts {
		return true
	}
	for _, p := range lw.spec.Processes {
		if p.Trigger.Table == a {
			return true
		}
	}
	for _, c := range a.Columns {
		if lw.columnRead[c] {
			return true
		}
	}
	return lw.counted(a)
}

// counted says whether a promise or where counts the rows of the table.
func (lw *lowering) counted(a *ast.Table) bool {
	found := false
	look := func(e ast.Expr) {
		ast.Walk(e, func(c ast.Expr) bool {
			if x, ok := c.(*ast.CountRows); ok && x.Table == a {
				found = true
			}
			return !found
		})
	}
	for _, s := range lw.allSteps() {
		for _, e := range expressions(s) {
			look(e)
		}
	}
	for _, p := range lw.spec.Promises {
		if c, ok := p.Body.(ast.Check); ok {
			look(c.Expr)
			look(c.To)
		}
	}
	for _, p := range lw.spec.MustBePossible {
		if r, ok := p.Body.(ast.Reach); ok {
			look(r.Expr)
		}
	}
	return found
}

// readSentence notes the columns a promise is about.
func (lw *lowering) readSentence(s ast.Sentence) {
	col := func(cs ...*ast.Column) {
		for _, c := range cs {
			if c != nil {
				lw.columnRead[c] = true
			}
		}
	}
	op := func(t *ast.Table) {
		if t != nil {
			col(t.Column("op"))
		}
	}
	switch b := s.(type) {
	case ast.RowEventuallyEffect:
		op(b.Table)
	case ast.RowDecided:
		op(b.Table)
		col(b.Column)
	case ast.NoEffectWithoutRow:
		op(b.Table)
	case ast.NoMessageWithoutRow:
		op(b.Table)
		lw.readEntry(b.Queue, ".op")
	case ast.RowEventuallySent:
		op(b.Table)
	case ast.Fencing:
		col(b.Table.Columns...) // a write that leaves the row as it was is allowed
	case ast.RowsOutlive:
		op(b.Table)
	case ast.Watermark:
		col(b.Column)
		lw.readEntry(b.Store, fieldPrefix(b.StoreField))
		if b.Floor != nil {
			lw.readEntry(b.Floor, fieldPrefix(b.FloorField))
		}
	case ast.EffectsInOrder:
		col(b.Column, b.Per)
	case ast.MessagesInOrder:
		lw.readEntry(b.Queue, "."+b.Field.Name)
		if b.Per != nil {
			lw.readEntry(b.Queue, "."+b.Per.Name)
		}
	case ast.AtMostInState:
		for _, c := range b.Columns {
			col(c)
			op(c.Table)
		}
	case ast.NotAnsweredBefore:
		op(b.Table)
	case ast.NoEffectWhile:
		op(b.Table)
		col(b.Column)
	case ast.AtMostBetween:
		walkUses(b.Per, "", func(v *ast.Var, _ string) { lw.watched[v] = true })
	case ast.AtMostWaiting:
		if b.Per != nil {
			lw.readEntry(b.Queue, "."+b.Per.Name)
		}
	case ast.ReadsOwnWrites:
		op(b.Table)
	case ast.NeverDecreases:
		col(b.Column, b.Per)
	case ast.NothingStays:
		op(b.Table)
		col(b.Column)
	case ast.Check:
		lw.readExpr(b.Expr)
		lw.readExpr(b.To)
		lw.watchExpr(b.Expr)
		lw.watchExpr(b.To)
	}
}

func fieldPrefix(f string) string {
	if f == "" {
		return ""
	}
	return "." + f
}
