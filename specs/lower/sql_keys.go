package lower

import (
	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// An update can hit a unique key too (U): it is one statement, and a conflict
// of one row undoes all of it.

// rekeys lists the constraints whose key or condition the update may change.
func rekeys(t *table, s *ast.Step) []*ast.Unique {
	var out []*ast.Unique
	for _, u := range t.ast.Unique {
		hit := false
		for _, c := range s.Row {
			for _, k := range append(append([]*ast.Column{}, u.Columns...), u.Scope...) {
				hit = hit || c.Column == k
			}
			ast.Walk(u.Where, func(e ast.Expr) bool {
				if r, ok := e.(*ast.ColumnRef); ok && r.Column == c.Column {
					hit = true
				}
				return true
			})
		}
		if hit {
			out = append(out, u)
		}
	}
	return out
}

// updateConflict is true if a row would get the key of another row.
func (em *emitter) updateConflict(st *statement) ir.Expr {
	out := no
	for _, u := range rekeys(st.t, st.s) {
		out = or(out, st.any(func(x ir.Expr) ir.Expr {
			return and(st.match(x), st.t.some(func(y ir.Expr) ir.Expr { return em.clash(st, u, x, y) }))
		}))
	}
	return out
}

// clash: row x, updated, has the key of the other row y as it is afterwards.
func (em *emitter) clash(st *statement, u *ast.Unique, x, y ir.Expr) ir.Expr {
	t, r := st.t, em.reader()
	newX := em.after(st, x)
	changed := st.match(y)
	newY := em.after(st, y)
	later := func(name string) value { return choice(changed, newY(name), t.get(name, y, r)) }
	used := yes
	if t.pool == nil {
		used = load(t.used, y)
	}
	out := and(used, t.visible(y, r), not(same(x, y)))
	for _, c := range append(append([]*ast.Column{}, u.Columns...), u.Scope...) {
		v := newX(c.Name)
		out = and(out, v.present(), equal(v, later(c.Name)))
	}
	if u.Where != nil {
		sc := scope{lw: em.lw}
		holds := func(get func(string) value) ir.Expr {
			return sc.with(func(c *ast.ColumnRef) value { return get(c.Column.Name) }).cond(u.Where)
		}
		out = and(out, holds(newX), holds(later))
	}
	return out
}

// after gives the columns of a row once the statement has updated it.
func (em *emitter) after(st *statement, at ir.Expr) func(string) value {
	cells := em.newCells(st.t, st.s, at, &[]ir.Stmt{})
	return func(name string) value {
		if v, ok := cells[name]; ok {
			return v
		}
		return st.t.get(name, at, em.reader())
	}
}

// updateWaits is true while another transaction has to decide about a key that
// the update would set.
func (em *emitter) updateWaits(st *statement) ir.Expr {
	out := no
	for _, u := range rekeys(st.t, st.s) {
		out = or(out, st.any(func(x ir.Expr) ir.Expr {
			get := em.after(st, x)
			cells := map[string]value{}
			for _, c := range append(append([]*ast.Column{}, u.Columns...), u.Scope...) {
				cells[c.Name] = get(c.Name)
			}
			if u.Where != nil {
				ast.Walk(u.Where, func(e ast.Expr) bool {
					if r, ok := e.(*ast.ColumnRef); ok {
						cells[r.Column.Name] = get(r.Column.Name)
					}
					return true
				})
			}
			return and(st.match(x), st.t.some(func(y ir.Expr) ir.Expr { return st.t.undecided(u, cells, y, em.reader()) }))
		}))
	}
	return out
}
