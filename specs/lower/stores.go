package lower

import (
	"slices"

	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// makeStores makes the variables of every resource.
func (lw *lowering) makeStores() {
	for _, r := range lw.spec.Resources {
		if r.Kind == ast.ClockKind && lw.clock == nil {
			lw.makeClock(r)
		}
	}
	for _, r := range lw.spec.Resources {
		switch r.Kind {
		case ast.SQLKind:
			for _, a := range r.SQL.Tables {
				lw.makeTable(a)
			}
			lw.makeLocks(r)
			lw.makeReplica(r)
		case ast.KVKind, ast.MemoryKind:
			lw.makeKV(r)
		case ast.QueueKind:
			lw.makeQueue(r)
		case ast.LogKind:
			lw.makeLog(r)
		case ast.ProviderKind:
			lw.makeProvider(r)
		}
	}
	for _, p := range lw.order {
		p.makePending()
		p.makeRetries()
		p.makeRun()
		p.makeLookups()
		p.makeDriver()
		p.makeAges()
		p.makeCutOff()
		p.makeSnapshots()
		p.makeReadMarks()
	}
}

// makeTable stores a table if anybody reads it: "is it there" counts.
func (lw *lowering) makeTable(a *ast.Table) {
	if !lw.tableRead(a) {
		lw.note("table %s is never read: not stored", a.Name)
		return
	}
	t := &table{lw: lw, name: a.Name, ast: a}
	lw.tables[a] = t
	if c, o := lw.arrayKey(a); c != nil {
		t.key, t.over = c.Name, ir.In(lw.opSet(o))
		t.leaf = part{"/o:" + o.Name, refTo(lw.opSet(o))}
		t.used = lw.variable(&ir.Var{Name: a.Name, Index: []ir.Index{t.over}, Type: ir.Type{Kind: ir.Bool}})
	} else {
		lw.makePool(t, lw.rowsOf(a))
	}
	for _, c := range a.Columns {
		if c.Name != t.key && lw.columnRead[c] || c.Name == t.key && t.pool != nil {
			t.addColumn(c.Name, c, c.Type)
		}
	}
	lw.openColumns(t)
	lw.makeSequence(t)
	if k := a.Keeps; k != nil && !k.None {
		t.timed(k)
	}
}

// makePool stores the records of t in a bag of slots.
func (lw *lowering) makePool(t *table, n int) {
	t.pool = &ir.Pool{Name: t.name, Cap: lw.capacity(t.name, n)}
	t.over = ir.Slots(t.pool)
	t.used = lw.variable(&ir.Var{Name: t.name, Index: []ir.Index{t.over}, Type: ir.Type{Kind: ir.Bool}})
	t.pool.Used = t.used
	lw.program.Pools = append(lw.program.Pools, t.pool)
}

// arrayKey is the one-column key whose values are the operations of one kind.
func (lw *lowering) arrayKey(a *ast.Table) (*ast.Column, *ast.Operation) {
	for _, u := range a.Unique {
		if len(u.Columns) != 1 || len(u.Scope) > 0 || u.Where != nil {
			continue
		}
		c := u.Columns[0]
		if c.Type == nil || len(c.Type.Alts) != 1 || c.Type.Alts[0].Kind != ast.KindOperation || lw.isSet(c) {
			continue
		}
		if !lw.keyAlwaysGiven(a, c) {
			continue
		}
		return c, c.Type.Alts[0].Operation
	}
	return nil, nil
}

// isSet says whether some update writes the column.
func (lw *lowering) isSet(c *ast.Column) bool {
	for _, s := range lw.allSteps() {
		if s.Verb == ast.VerbUpdate && s.Table == c.Table {
			for _, cell := range s.Row {
				if cell.Column == c {
					return true
				}
			}
		}
	}
	return false
}

func (lw *lowering) keyAlwaysGiven(a *ast.Table, c *ast.Column) bool {
	for _, s := range lw.allSteps() {
		if s.Table != a || s.Verb != ast.VerbInsert && s.Verb != ast.VerbUpsert {
			continue
		}
		given := false
		for _, cell := range s.Row {
			given = given || cell.Column == c
		}
		if !given {
			return false
		}
	}
	return true
}

func (lw *lowering) allSteps() []*ast.Step {
	var out []*ast.Step
	for _, p := range lw.spec.Processes {
		out = append(out, p.All...)
	}
	return out
}

// rowsOf derives how many rows a table needs: its first rows, and one for every
// operation at every insert. Too few is found by the search and grown.
func (lw *lowering) rowsOf(a *ast.Table) int {
	if a.MaxRows > 0 {
		return a.MaxRows
	}
	n := 0
	for _, r := range lw.spec.Initially {
		if r.Table == a {
			n++
		}
	}
	for _, s := range lw.allSteps() {
		if s.Table == a && (s.Verb == ast.VerbInsert || s.Verb == ast.VerbUpsert) {
			n += lw.cellsCount(s.Row)
		}
	}
	return n
}

// cellsCount is the number of operations the cells speak of, at least 1.
func (lw *lowering) cellsCount(cells []ast.Cell) int {
	n := 1
	for _, c := range cells {
		if o := operationOf(c.Value.Type()); o != nil {
			n = max(n, o.Count)
		}
	}
	return n
}

// openColumns gives the table what transactions of several statements need.
func (lw *lowering) openColumns(t *table) {
	for _, p := range lw.order {
		for _, s := range p.ast.All {
			if s.Table != t.ast || !inTransaction(s) {
				continue
			}
			switch s.Verb {
			case ast.VerbInsert:
				t.flag(&t.hidden, "uncommitted")
			case ast.VerbUpsert:
				t.flag(&t.hidden, "uncommitted")
				lw.shadowRow(t, s)
			case ast.VerbUpdate:
				lw.shadowRow(t, s)
			case ast.VerbDelete:
				t.flag(&t.deleted, "deleted (open)")
			case ast.VerbSelect:
				if !s.Lock {
					continue
				}
			}
			t.lockable(p)
		}
	}
	if lw.deletesAndInserts(t) {
		t.reinserts = true
		t.flag(&t.updated, "updated (open)")
		for _, c := range t.columns {
			t.shadowed(c)
		}
	}
}

// deletesAndInserts says whether some transaction deletes rows of a table whose
// place is their key, and inserts there.
func (lw *lowering) deletesAndInserts(t *table) bool {
	deletes := map[*ast.Step]bool{}
	for _, p := range lw.order {
		for _, s := range p.ast.All {
			if s.Table == t.ast && s.Verb == ast.VerbDelete && inTransaction(s) {
				deletes[s.Block] = true
			}
		}
	}
	return t.pool == nil && slices.ContainsFunc(lw.allSteps(), func(s *ast.Step) bool {
		return s.Table == t.ast && (s.Verb == ast.VerbInsert || s.Verb == ast.VerbUpsert) && deletes[s.Block]
	})
}

func (lw *lowering) shadowRow(t *table, s *ast.Step) {
	t.flag(&t.updated, "updated (open)")
	for _, c := range s.Row {
		t.shadowed(t.column(c.Name))
	}
}

// makeRetries gives every counted retry its counter.
func (p *process) makeRetries() {
	for _, n := range p.nodes {
		if n.kind == beginNode || n.kind == scriptEndNode {
			continue
		}
		for _, b := range n.step.Branches {
			for ; b != nil; b = b.Then {
				if b.Kind == ast.BranchRetry && b.Times >= 0 && p.retries[n] == nil {
					p.retries[n] = p.perInstance("attempts of "+p.locationName(n), ir.Type{Kind: ir.Range, Lo: 0, Hi: b.Times})
				}
			}
		}
	}
}
