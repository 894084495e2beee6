package specs

import (
	"fmt"
	"strings"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/yamlx"
	"github.com/relplan/relplan/specs/ast"
)

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
