package lower

import (
	"fmt"

	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// A replica (Y) has applied all commits but the last 0..lag. For each number k
// of commits it may be behind there is a copy of the replicated tables as they
// were k commits ago; applying is a fair step. A commit position is the number
// of commits since, as far as it matters: after lag commits the replica has
// certainly applied it.
type replica struct {
	r      *ast.Resource
	lag    int
	behind *ir.Var
	copies map[*table][]*replicaCopy // [k-1]: k commits ago
}

type replicaCopy struct {
	used *ir.Var
	vars map[*ir.Var]*ir.Var
}

func (lw *lowering) makeReplica(r *ast.Resource) {
	if !r.SQL.Replica {
		return
	}
	rp := &replica{r: r, lag: max(r.SQL.ReplicaLag, 1), copies: map[*table][]*replicaCopy{}}
	for _, s := range lw.allSteps() {
		if !s.Replica || s.Resource != r {
			continue
		}
		if t := lw.tables[s.Table]; t != nil && rp.copies[t] == nil {
			rp.copies[t] = rp.copy(lw, t)
		}
	}
	if len(rp.copies) == 0 && !lw.bindsPosition(r) {
		return
	}
	rp.behind = lw.variable(&ir.Var{Name: r.Name + " replica behind", Type: ir.Type{Kind: ir.Range, Lo: 0, Hi: rp.lag}})
	lw.replicas[r] = rp
}

func (lw *lowering) bindsPosition(r *ast.Resource) bool {
	for _, s := range lw.allSteps() {
		if s.PositionAs != nil && s.Resource == r {
			return true
		}
	}
	return false
}

func (rp *replica) copy(lw *lowering, t *table) []*replicaCopy {
	var out []*replicaCopy
	for k := 1; k <= rp.lag; k++ {
		c := &replicaCopy{vars: map[*ir.Var]*ir.Var{}}
		v := func(name string, ty ir.Type, initial int) *ir.Var {
			return lw.variable(&ir.Var{Name: fmt.Sprintf("%s %d commits ago", name, k), Index: []ir.Index{t.over}, Type: ty, Initial: initial})
		}
		c.used = v(t.name, ir.Type{Kind: ir.Bool}, 0)
		for _, col := range t.columns {
			for _, x := range col.vars {
				c.vars[x] = v(x.Name, x.Type, x.Initial)
			}
		}
		out = append(out, c)
	}
	return out
}

// beforeCommit runs before a commit changes a replicated resource: the copies
// move on by one commit and the replica falls one further behind.
func (lw *lowering) beforeCommit(r *ast.Resource) []ir.Stmt {
	rp := lw.replicas[r]
	if rp == nil {
		return nil
	}
	var out []ir.Stmt
	for _, s := range lw.spec.Resources {
		if s != r {
			continue
		}
		for _, a := range r.SQL.Tables {
			t := lw.tables[a]
			cs := rp.copies[t]
			if t == nil || len(cs) == 0 {
				continue
			}
			out = append(out, t.each(func(at ir.Expr) []ir.Stmt { return rp.shift(t, cs, at) })...)
		}
	}
	b := load(rp.behind)
	out = append(out, set(rp.behind, pick(order(ir.Lt, b, num(rp.lag)), sum(ir.Add, b, num(1)), b)))
	return append(out, lw.agePositions(r, rp.lag)...)
}

func (rp *replica) shift(t *table, cs []*replicaCopy, at ir.Expr) []ir.Stmt {
	var out []ir.Stmt
	for k := len(cs) - 1; k > 0; k-- {
		out = append(out, set(cs[k].used, load(cs[k-1].used, at), at))
		for _, col := range t.columns {
			for _, x := range col.vars {
				out = append(out, set(cs[k].vars[x], load(cs[k-1].vars[x], at), at))
			}
		}
	}
	seen := and(t.there(at), t.visible(at, reader{}))
	out = append(out, set(cs[0].used, seen, at))
	for _, col := range t.columns {
		for _, x := range col.vars {
			out = append(out, set(cs[0].vars[x], pick(seen, load(x, at), num(x.Initial)), at))
		}
	}
	return out
}

// agePositions: every position that is bound is one commit older.
func (lw *lowering) agePositions(r *ast.Resource, lag int) []ir.Stmt {
	var out []ir.Stmt
	for _, p := range lw.order {
		for _, s := range p.slots {
			if s.ir == nil || s.key != "/n:"+r.Name {
				continue
			}
			w := &ir.Local{Name: p.ast.Name}
			c := load(s.ir, use(w))
			out = append(out, ir.ForEach{Local: w, Over: ir.In(p.set), Body: when(and(differ(c, none), order(ir.Lt, c, num(lag))), []ir.Stmt{set(s.ir, sum(ir.Add, c, num(1)), use(w))}, nil)})
		}
	}
	return out
}

// applies adds the fair step by which the replica catches up.
func (rp *replica) applies(lw *lowering) {
	b := load(rp.behind)
	body := []ir.Stmt{set(rp.behind, sum(ir.Sub, b, num(1)))}
	// The copy that nobody can read any more is forgotten.
	for _, a := range rp.r.SQL.Tables {
		t := lw.tables[a]
		cs := rp.copies[t]
		if t == nil {
			continue
		}
		for k := len(cs); k >= 1; k-- {
			c := cs[k-1]
			clear := t.each(func(at ir.Expr) []ir.Stmt {
				out := []ir.Stmt{set(c.used, no, at)}
				for _, col := range t.columns {
					for _, x := range col.vars {
						out = append(out, set(c.vars[x], num(x.Initial), at))
					}
				}
				return out
			})
			body = append(body, when(order(ir.Lt, load(rp.behind), num(k)), clear, nil)...)
		}
	}
	lw.event(&event{kind: ir.Expiry, name: "replica applies", what: ReplicaApplies, of: &about{resource: rp.r}, guard: order(ir.Lt, num(0), b), body: body,
		text: []any{"the replica of " + rp.r.Name + " applies a commit"}})
}

// seen is a row as the replica has it.
func (rp *replica) seen(t *table, at ir.Expr) (there ir.Expr, get func(string) value) {
	cs := rp.copies[t]
	b := load(rp.behind)
	there = and(t.there(at), t.visible(at, reader{}))
	for k := 1; k <= rp.lag; k++ {
		there = pick(same(b, num(k)), load(cs[k-1].used, at), there)
	}
	get = func(name string) value {
		cur := t.get(name, at, reader{})
		c := t.column(name)
		if c == nil {
			return cur
		}
		var ls []leaf
		for i, pt := range c.parts {
			e := load(c.vars[i], at)
			for k := 1; k <= rp.lag; k++ {
				e = pick(same(b, num(k)), load(cs[k-1].vars[c.vars[i]], at), e)
			}
			ls = append(ls, leaf{pt.key, pt.typ, e})
		}
		return newValue(ls...)
	}
	return there, get
}

// replicaPlan is a select from the replica; at_least waits until it has applied
// a position.
func (em *emitter) replicaPlan(n *node) plan {
	s := n.step
	pl := plan{lossy: true}
	t, rp := em.lw.tables[s.Table], em.lw.replicas[s.Resource]
	if t == nil || rp == nil {
		pl.outcomes = []*outcome{{done: true, guard: yes, pure: true, do: func(em *emitter) []ir.Stmt { delete(em.env, s.As); return nil }}}
		return pl
	}
	if s.AtLeast != nil {
		pos := em.pure(s.AtLeast).at("/n:" + s.Resource.Name)
		pl.blocked = and(differ(pos, none), order(ir.Lt, pos, load(rp.behind)))
	}
	match := func(at ir.Expr) ir.Expr {
		there, get := rp.seen(t, at)
		return and(there, em.scope(nil).with(func(c *ast.ColumnRef) value { return get(t.refName(c)) }).cond(s.Where))
	}
	l := &ir.Local{Name: t.name + " row"}
	found := &outcome{done: true, pure: true, params: []ir.Param{{Local: l, Over: t.over}}, guard: match(use(l)), text: "finds a row"}
	_, get := rp.seen(t, use(l))
	row := t.rowOf(get)
	found.reads = &row
	found.do = func(em *emitter) []ir.Stmt {
		var out []ir.Stmt
		em.bind(s.As, em.p.onlyRead(s.As, row), &out)
		return append(out, em.lw.monitors.readReplica(em, t, n, get, use(l))...)
	}
	pl.outcomes = []*outcome{found, {done: true, pure: true, guard: not(t.some(match)), text: "finds nothing", why: NoneMatches, do: func(em *emitter) []ir.Stmt {
		if s.As != nil {
			delete(em.env, s.As)
		}
		return em.lw.monitors.readNone(em, t, n)
	}}}
	return pl
}

// bindPosition binds `position: t` of a write or commit: no commit since.
func (em *emitter) bindPosition(n *node) {
	s := n.step
	if s.PositionAs == nil {
		return
	}
	em.env[s.PositionAs] = newValue(leaf{"/n:" + s.Resource.Name, em.lw.positionType(s.Resource), num(0)})
}

// positionType: commits since (sql), or an offset (log).
func (lw *lowering) positionType(r *ast.Resource) ir.Type {
	if r.Kind == ast.LogKind {
		if l := lw.logs[r]; l != nil {
			return ir.Type{Kind: ir.Range, Lo: 0, Hi: l.places.Size}
		}
		return ir.Type{Kind: ir.Range, Lo: 0, Hi: maxSlots}
	}
	lag := 1
	if r.SQL != nil {
		lag = max(r.SQL.ReplicaLag, 1)
	}
	return ir.Type{Kind: ir.Range, Lo: 0, Hi: lag}
}

// watchOwnWrites (M9): a run remembers which rows it has written; a later read
// of one of them that gives another version than the committed one, while the
// run was its last writer, breaks the promise.
func (lw *lowering) watchOwnWrites(p *ast.Promise, b ast.ReadsOwnWrites) {
	t := lw.tables[b.Table]
	q := lw.process(b.Process)
	if t == nil {
		return
	}
	bad := lw.broken(p)
	mine := lw.variable(&ir.Var{Name: t.name + " last written by", Index: []ir.Index{t.over}, Initial: ir.None,
		Type: ir.Type{Kind: ir.Ref, Set: q.set, Optional: true}})
	t.extra = append(t.extra, mine)
	q.ownRows = append(q.ownRows, ownRow{t, mine})
	h := &lw.monitors.hooks
	h.wrote = append(h.wrote, func(em *emitter, at *table, s *ast.Step, place ir.Expr) []ir.Stmt {
		if at != t {
			return nil
		}
		if em.p != q {
			return []ir.Stmt{set(mine, none, place)}
		}
		return []ir.Stmt{set(mine, em.me, place)}
	})
	h.replica = append(h.replica, func(em *emitter, at *table, n *node, get func(string) value, place ir.Expr) []ir.Stmt {
		if at != t || em.p != q {
			return nil
		}
		old := no
		for _, c := range t.columns {
			old = or(old, not(equal(get(c.name), t.get(c.name, place, em.reader()))))
		}
		return when(and(same(load(mine, place), em.me), old), bad(), nil)
	})
	h.missed = append(h.missed, func(em *emitter, at *table, n *node) []ir.Stmt {
		if at != t || em.p != q {
			return nil
		}
		// It found nothing: did it write a row that matches?
		lost := t.some(func(place ir.Expr) ir.Expr {
			return and(t.there(place), same(load(mine, place), em.me), em.rows(t, place, nil).cond(n.step.Where))
		})
		return when(lost, bad(), nil)
	})
}

// ownRow lets a run forget, when it ends, which rows it wrote.
type ownRow struct {
	t    *table
	mine *ir.Var
}

func (p *process) forgetOwnRows(me ir.Expr) []ir.Stmt {
	var out []ir.Stmt
	for _, o := range p.ownRows {
		out = append(out, o.t.each(func(at ir.Expr) []ir.Stmt {
			return when(same(load(o.mine, at), me), []ir.Stmt{set(o.mine, none, at)}, nil)
		})...)
	}
	return out
}
