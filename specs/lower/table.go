package lower

import (
	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// table stores records: the rows of a sql table, or the entries of a kv or
// memory. A table whose one key is an operation is an array over the
// operations; any other is a pool.
//
// What open transactions have done is part of the record: a new row is hidden
// until the commit, an updated one has shadow columns, a deleted one a mark;
// the owner is the instance whose transaction holds the row's lock. Only what
// some transaction of the spec can do has a variable.
type table struct {
	lw   *lowering
	name string
	ast  *ast.Table    // nil for a kv
	kv   *ast.Resource // nil for a table
	over ir.Index
	pool *ir.Pool // nil for an array
	key  string   // column that is the index of an array: its leaf is keyLeaf
	leaf part
	used *ir.Var

	columns []*column
	hidden  *ir.Var
	updated *ir.Var
	deleted *ir.Var
	// reinserts: a transaction may insert a row that it has deleted.
	reinserts bool
	owners    []owner

	timers []*timer // of the records
	lease  *timer
	ttl    *timer

	keys      *keying // of a kv stored as an array
	scratches []keptLeaf
	extra     []*ir.Var   // further variables of a record
	sequence  *ir.Var     // last id handed out
	retention *timerClass // keeps:, or the window of a queue
	last      *lastWrites
	snapshots []*snapshot
}

// owner is the lock holder among the instances of one process.
type owner struct {
	p *process
	v *ir.Var
}

// column is a stored column, one variable per leaf.
type column struct {
	name   string
	ast    *ast.Column
	parts  []part
	vars   []*ir.Var
	shadow []*ir.Var // nil: never updated in a transaction
}

func (t *table) column(name string) *column {
	for _, c := range t.columns {
		if c.name == name {
			return c
		}
	}
	return nil
}

// addColumn stores a column.
func (t *table) addColumn(name string, a *ast.Column, ty *ast.Type) *column {
	c := &column{name: name, ast: a, parts: t.lw.shape(ty)}
	for _, pt := range c.parts {
		v := &ir.Var{Name: t.name + "." + name + pt.key, Index: []ir.Index{t.over}, Type: optionalRef(pt.typ)}
		v.Initial = cleared(v.Type)
		c.vars = append(c.vars, t.lw.variable(v))
	}
	t.columns = append(t.columns, c)
	return c
}

// optionalRef makes room for "nothing" where there is no other initial value.
func optionalRef(t ir.Type) ir.Type {
	if t.Kind == ir.Ref || t.Kind == ir.Token || t.Kind == ir.Rank {
		t.Optional = true
	}
	return t
}

// shadowed gives a column a place for the values of an open transaction.
func (t *table) shadowed(c *column) {
	if c == nil || c.shadow != nil {
		return
	}
	for _, v := range c.vars {
		w := &ir.Var{Name: v.Name + " (open)", Index: v.Index, Type: v.Type, Initial: v.Initial}
		c.shadow = append(c.shadow, t.lw.variable(w))
	}
}

func (t *table) flag(f **ir.Var, name string) {
	if *f == nil {
		*f = t.lw.variable(&ir.Var{Name: t.name + " " + name, Index: []ir.Index{t.over}, Type: ir.Type{Kind: ir.Bool}})
	}
}

// lockable gives the table a lock owner for a process.
func (t *table) lockable(p *process) {
	for _, o := range t.owners {
		if o.p == p {
			return
		}
	}
	v := &ir.Var{Name: t.name + " locked by " + p.ast.Name, Index: []ir.Index{t.over}, Initial: ir.None,
		Type: ir.Type{Kind: ir.Ref, Set: p.set, Optional: true}}
	t.owners = append(t.owners, owner{p, t.lw.variable(v)})
}

// reader is who looks at a row: an instance of a process, or nobody (p nil).
type reader struct {
	p  *process
	me ir.Expr
	// by asks only for the locks of one instance of that process (deadlocks).
	by   *process
	byMe ir.Expr
}

// mine is true if the reader's open transaction holds the row.
func (t *table) mine(at ir.Expr, r reader) ir.Expr {
	if r.p == nil {
		return no
	}
	for _, o := range t.owners {
		if o.p == r.p {
			return same(load(o.v, at), r.me)
		}
	}
	return no
}

// locked is true if another open transaction holds the row.
func (t *table) locked(at ir.Expr, r reader) ir.Expr {
	out := no
	for _, o := range t.owners {
		l := load(o.v, at)
		if r.by != nil {
			if o.p == r.by {
				out = or(out, same(l, r.byMe))
			}
			continue
		}
		if o.p == r.p {
			out = or(out, and(differ(l, none), differ(l, r.me)))
		} else {
			out = or(out, differ(l, none))
		}
	}
	return out
}

// visible is true if the reader sees a row there: committed, or its own.
func (t *table) visible(at ir.Expr, r reader) ir.Expr {
	out := load(t.used, at)
	if t.pool != nil {
		out = yes // quantifiers and parameters range over slots in use
	}
	mine := t.mine(at, r)
	if t.hidden != nil {
		out = and(out, or(not(load(t.hidden, at)), mine))
	}
	if t.deleted != nil {
		out = and(out, not(and(load(t.deleted, at), mine)))
	}
	return out
}

// get is a column of the row as the reader sees it.
func (t *table) get(name string, at ir.Expr, r reader) value {
	if t.pool == nil && name == t.key && t.keys != nil && t.keys.names != nil {
		return t.keys.value(t.lw, at)
	}
	if t.pool == nil && name == t.key {
		return newValue(leaf{t.leaf.key, t.leaf.typ, at})
	}
	c := t.column(name)
	if c == nil {
		return value{}
	}
	mine := no
	if c.shadow != nil {
		mine = and(load(t.updated, at), t.mine(at, r))
	}
	var ls []leaf
	for i, pt := range c.parts {
		e := load(c.vars[i], at)
		if c.shadow != nil {
			e = pick(mine, load(c.shadow[i], at), e)
		}
		ls = append(ls, leaf{pt.key, pt.typ, e})
	}
	return newValue(ls...)
}

// row is the whole row as a value; a column that is not stored is left out.
func (t *table) row(at ir.Expr, r reader) value {
	ls := []leaf{here(yes)}
	if t.pool == nil && t.key != "" {
		ls = append(ls, t.get(t.key, at, r).below("."+t.key)...)
	}
	for _, c := range t.columns {
		if t.pool == nil && c.name == t.key {
			continue
		}
		ls = append(ls, t.get(c.name, at, r).below("."+c.name)...)
	}
	return newValue(ls...)
}

// candidate gives the columns of a row to a scope.
func (t *table) candidate(at ir.Expr, r reader) func(*ast.ColumnRef) value {
	return func(c *ast.ColumnRef) value {
		if c.Column != nil {
			return t.get(c.Column.Name, at, r)
		}
		if c.Name == "key" || c.Name == "value" {
			return t.get(c.Name, at, r)
		}
		return t.get("value", at, r).field(c.Name)
	}
}

// write stores values into the committed columns.
func (t *table) write(at ir.Expr, cells map[string]value) []ir.Stmt {
	out := t.changed(at)
	for _, c := range t.columns {
		v, ok := cells[c.name]
		if !ok {
			continue
		}
		out = append(out, c.assign(c.vars, v, at)...)
	}
	return out
}

func (c *column) assign(vars []*ir.Var, v value, at ir.Expr) []ir.Stmt {
	var out []ir.Stmt
	for i, pt := range c.parts {
		e := v.at(pt.key)
		if n, ok := constant(e); ok && n == ir.None && !vars[i].Type.Optional {
			e = num(vars[i].Initial)
		}
		out = append(out, set(vars[i], e, at))
	}
	return out
}

// insert makes a row. body gets its place and runs after the columns are set.
func (t *table) insert(cells map[string]value, body func(at ir.Expr) []ir.Stmt) []ir.Stmt {
	if t.pool == nil {
		at := cells[t.key].at(t.leaf.key)
		out := []ir.Stmt{set(t.used, yes, at)}
		out = append(out, t.write(at, cells)...)
		return append(out, body(at)...)
	}
	l := &ir.Local{Name: t.name + " row"}
	at := use(l)
	inner := t.write(at, cells)
	return []ir.Stmt{ir.Put{Pool: t.pool, Slot: l, Body: append(inner, body(at)...)}}
}

// remove frees a row.
func (t *table) remove(at ir.Expr) []ir.Stmt {
	if t.pool != nil {
		return append(t.forgetSafely(at), ir.Drop{Pool: t.pool, Slot: at})
	}
	out := append(t.changed(at), set(t.used, no, at))
	reset := func(v *ir.Var) {
		if v != nil {
			out = append(out, set(v, num(v.Initial), at))
		}
	}
	for _, c := range t.columns {
		for _, v := range append(append([]*ir.Var{}, c.vars...), c.shadow...) {
			reset(v)
		}
	}
	reset(t.hidden)
	reset(t.updated)
	reset(t.deleted)
	for _, o := range t.owners {
		reset(o.v)
	}
	for _, tm := range t.timers {
		for _, v := range tm.vars() {
			reset(v)
		}
	}
	for _, v := range t.extra {
		reset(v)
	}
	out = append(out, t.retention.stopped(t.lw, at)...)
	for _, tm := range t.timers {
		out = append(out, tm.class.stopped(t.lw, at)...)
	}
	return out
}

// forgetSafely cuts where a row is deleted that an open snapshot still sees:
// a slot of a pool cannot be kept for it.
func (t *table) forgetSafely(at ir.Expr) []ir.Stmt {
	var out []ir.Stmt
	for _, s := range t.snapshots {
		l := &ir.Local{Name: s.p.ast.Name}
		out = append(out, when(exists(l, ir.In(s.p.set), load(s.used, at, use(l))),
			[]ir.Stmt{ir.Cut{Reason: "a row of " + t.name + " is deleted while a snapshot still has it"}}, nil)...)
	}
	return out
}

// each runs body for every row in use (all elements of an array).
func (t *table) each(body func(at ir.Expr) []ir.Stmt) []ir.Stmt {
	l := &ir.Local{Name: t.name + " row"}
	b := body(use(l))
	if len(b) == 0 {
		return nil
	}
	return []ir.Stmt{ir.ForEach{Local: l, Over: t.over, Body: b}}
}

// some is true if cond holds for some row.
func (t *table) some(cond func(at ir.Expr) ir.Expr) ir.Expr {
	l := &ir.Local{Name: t.name + " row"}
	return exists(l, t.over, cond(use(l)))
}

// direct is the place of the row that where can match at most, if where fixes
// the key of an array.
func (t *table) direct(where ast.Expr, sc scope) (ir.Expr, bool) {
	if t.pool != nil {
		return nil, false
	}
	b, ok := where.(*ast.Binary)
	if !ok {
		return nil, false
	}
	if b.Op == ast.OpAnd {
		if at, ok := t.direct(b.X, sc); ok {
			return at, true
		}
		return t.direct(b.Y, sc)
	}
	if b.Op != ast.OpEq {
		return nil, false
	}
	for _, pair := range [][2]ast.Expr{{b.X, b.Y}, {b.Y, b.X}} {
		c, ok := pair[0].(*ast.ColumnRef)
		if !ok || t.refName(c) != t.key || readsRow(pair[1]) {
			continue
		}
		if l, ok := sc.value(pair[1]).find(t.leaf.key); ok {
			return l.e, true
		}
	}
	return nil, false
}

func (t *table) refName(c *ast.ColumnRef) string {
	if c.Column != nil {
		return c.Column.Name
	}
	return c.Name
}

func readsRow(e ast.Expr) bool {
	found := false
	ast.Walk(e, func(c ast.Expr) bool {
		if _, ok := c.(*ast.ColumnRef); ok {
			found = true
		}
		return !found
	})
	return found
}
