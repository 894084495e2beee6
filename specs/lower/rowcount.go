package lower

import (
	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// countRows is count(T where ..): committed rows, entries, or messages that
// wait or are held.
func (sc scope) countRows(x *ast.CountRows) ir.Expr {
	if t := sc.countedTable(x); t != nil {
		l := &ir.Local{Name: t.name + " row"}
		return count(l, t.over, sc.counts(t, x, use(l)))
	}
	if q := sc.countedQueue(x); q != nil {
		return q.countMessages(sc, x)
	}
	return num(0)
}

func (sc scope) existsRows(x *ast.CountRows) ir.Expr {
	if t := sc.countedTable(x); t != nil {
		return t.some(func(at ir.Expr) ir.Expr { return sc.counts(t, x, at) })
	}
	if q := sc.countedQueue(x); q != nil {
		return order(ir.Lt, num(0), q.countMessages(sc, x))
	}
	return no
}

func (sc scope) countedTable(x *ast.CountRows) *table {
	if x.Table != nil {
		return sc.lw.tables[x.Table]
	}
	return sc.lw.kvs[x.Store]
}

func (sc scope) countedQueue(x *ast.CountRows) *queue {
	if x.Store == nil {
		return nil
	}
	return sc.lw.queues[x.Store]
}

func (sc scope) counts(t *table, x *ast.CountRows, at ir.Expr) ir.Expr {
	r := reader{}
	if sc.proc != nil {
		r = reader{p: sc.proc, me: sc.me}
	}
	used := yes
	if t.pool == nil {
		used = load(t.used, at)
	}
	return and(used, t.visible(at, r), sc.with(t.candidate(at, r)).cond(x.Where))
}

// countMessages counts stored messages and those that a holder has taken along.
func (q *queue) countMessages(sc scope, x *ast.CountRows) ir.Expr {
	return q.countWhere(func(v value) ir.Expr {
		return sc.with(func(c *ast.ColumnRef) value { return v.field(c.Name) }).cond(x.Where)
	})
}

// someWhere is true if a stored or held message matches.
func (q *queue) someWhere(match func(v value) ir.Expr) ir.Expr {
	out := q.some(func(m message) ir.Expr {
		live := yes
		if q.acked != nil {
			live = not(load(q.acked, m...))
		}
		return and(live, match(q.value(m)))
	})
	if q.avail != nil {
		return out
	}
	for _, t := range q.holders {
		w := &ir.Local{Name: "w"}
		out = or(out, exists(w, ir.In(t.p.set), and(same(load(t.held, use(w)), num(held)), match(t.p.shown(t.as(), use(w))))))
	}
	return out
}

// countWhere counts the messages that wait or are held and match.
func (q *queue) countWhere(match func(v value) ir.Expr) ir.Expr {
	total := num(0)
	ls := q.locals()
	m := q.places(ls)
	live := yes
	if q.acked != nil {
		live = not(load(q.acked, m...))
	}
	if len(ls) == 1 {
		total = count(ls[0], q.over[0], and(live, match(q.value(m))))
	} else {
		n := q.q.StartsWith.Count
		for i := 1; i <= n; i++ { // operations with at least i such messages
			inner := count(ls[1], q.over[1], and(live, match(q.value(m))))
			total = sum(ir.Add, total, count(ls[0], q.over[0], order(ir.Le, num(i), inner)))
		}
	}
	if q.avail != nil {
		return total
	}
	for _, t := range q.holders {
		w := &ir.Local{Name: "w"}
		holds := same(load(t.held, use(w)), num(held))
		total = sum(ir.Add, total, count(w, ir.In(t.p.set), and(holds, match(t.p.shown(t.as(), use(w))))))
	}
	return total
}
