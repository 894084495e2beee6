package lower

import (
	"fmt"

	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// promiseMonitors adds the monitors of promises about the order of things.
func (lw *lowering) promiseMonitors() {
	for _, p := range lw.spec.Promises {
		switch b := p.Body.(type) {
		case ast.SameAnswer:
			lw.watchAnswers(p, b)
		case ast.OwnPayload:
			lw.watchPayload(p, b)
		case ast.Fencing:
			lw.watchToken(p, b)
		case ast.RowsOutlive:
			lw.watchRetention(p, b)
		case ast.Watermark:
			lw.watchWatermark(p, b)
		case ast.EffectsInOrder:
			lw.watchEffects(p, b)
		case ast.MessagesInOrder:
			lw.watchMessages(p, b)
		case ast.NeverDecreases:
			lw.watchDecrease(p, b)
		case ast.ReadsOwnWrites:
			lw.watchOwnWrites(p, b)
		}
	}
}

// broken makes the latch of a promise.
func (lw *lowering) broken(p *ast.Promise) func() []ir.Stmt {
	v := lw.variable(&ir.Var{Name: fmt.Sprintf("promise %d broken", p.Number), Type: ir.Type{Kind: ir.Bool}})
	lw.monitors.bad[p] = v
	return func() []ir.Stmt { return []ir.Stmt{set(v, yes)} }
}

// watchAnswers: the first answer of an operation is remembered, with its body.
func (lw *lowering) watchAnswers(p *ast.Promise, b ast.SameAnswer) {
	bad := lw.broken(p)
	for _, o := range lw.spec.Operations {
		if b.Operation != nil && b.Operation != o || lw.opState.open[o] == nil {
			continue
		}
		ix := ir.Several(lw.opSet(o))
		class := lw.variable(&ir.Var{Name: o.Name + " first answer", Index: ix, Type: ir.Type{Kind: ir.Range, Lo: 0, Hi: 15, Optional: true}, Initial: ir.None})
		body := &column{name: "body"}
		for _, pt := range lw.bodyShape(o) {
			t := pt.typ
			t.Optional = true
			body.parts = append(body.parts, pt)
			body.vars = append(body.vars, lw.variable(&ir.Var{Name: o.Name + " first answer" + pt.key, Index: ix, Type: t, Initial: ir.None}))
		}
		classes := map[ast.Reply]int{}
		lw.monitors.hooks.given = append(lw.monitors.hooks.given, func(em *emitter, of *ast.Operation, op ir.Expr, c ast.Reply, v value) []ir.Stmt {
			if of != o || c == ast.ReplyTryLater {
				return nil
			}
			if _, ok := classes[c]; !ok {
				classes[c] = len(classes)
			}
			var ls []leaf
			store := []ir.Stmt{set(class, num(classes[c]), op)}
			for i, pt := range body.parts {
				ls = append(ls, leaf{pt.key, body.vars[i].Type, load(body.vars[i], op)})
				store = append(store, set(body.vars[i], v.at(pt.key), op))
			}
			differs := or(differ(load(class, op), num(classes[c])), not(equal(newValue(ls...), v)))
			return when(same(load(class, op), none), store, when(differs, bad(), nil))
		})
	}
}

// bodyShape joins the bodies of the replies to an operation.
func (lw *lowering) bodyShape(o *ast.Operation) []part {
	m := map[string]ir.Type{}
	for _, p := range lw.spec.Processes {
		if p.Trigger.Operation != o {
			continue
		}
		for _, s := range p.All {
			if s.Verb == ast.VerbReply && s.Body != nil {
				lw.flatten(s.Body.Type(), "", true, m, 0)
			}
		}
	}
	var ls []leaf
	for k, t := range m {
		ls = append(ls, leaf{k, t, nil})
	}
	var out []part
	for _, l := range newValue(ls...).leaves {
		out = append(out, part{l.key, l.typ})
	}
	return out
}

// watchPayload: whatever in a body names an operation or a payload is the
// request's own (M3).
func (lw *lowering) watchPayload(p *ast.Promise, b ast.OwnPayload) {
	bad := lw.broken(p)
	o := b.Operation
	lw.monitors.hooks.answer = append(lw.monitors.hooks.answer, func(em *emitter, of *ast.Operation, op ir.Expr, c ast.Reply, v value) []ir.Stmt {
		if of != o || c != b.Reply {
			return nil
		}
		own := lw.operation(o, op)
		if b.Payload != nil {
			own = lw.opField(b.Payload, op)
		}
		foreign := no
		for _, l := range v.leaves {
			for _, k := range own.leaves {
				if rest, ok := cutSuffix(l.key, k.key); ok && (rest == "" || rest[0] == '.' || rest[0] == '/') {
					foreign = or(foreign, and(differ(l.e, none), differ(l.e, k.e)))
				}
			}
		}
		return when(foreign, bad(), nil)
	})
}

func cutSuffix(s, suffix string) (string, bool) {
	if len(s) >= len(suffix) && s[len(s)-len(suffix):] == suffix {
		return s[:len(s)-len(suffix)], true
	}
	return s, false
}

// watchToken: a run knows the token it has read or written last; a write to a
// row whose token is newer breaks the promise unless it changes nothing.
func (lw *lowering) watchToken(p *ast.Promise, b ast.Fencing) {
	t := lw.tables[b.Table]
	if t == nil || b.Table.Token == nil {
		return
	}
	bad := lw.broken(p)
	tok := t.column(b.Table.Token.Name)
	if tok == nil || len(tok.parts) == 0 {
		return
	}
	typ := tok.vars[0].Type
	typ.Optional = true
	knows := map[*process]*ir.Var{}
	for _, q := range lw.order {
		knows[q] = q.perInstance("token of "+t.name, typ)
	}
	learn := func(em *emitter, at *table, place ir.Expr) []ir.Stmt {
		if at != t {
			return nil
		}
		return []ir.Stmt{set(knows[em.p], at.get(tok.name, place, em.reader()).at(tok.parts[0].key), em.me)}
	}
	h := &lw.monitors.hooks
	h.read = append(h.read, func(em *emitter, at *table, n *node, place ir.Expr) []ir.Stmt { return learn(em, at, place) })
	h.took = append(h.took, learn)
	h.write = append(h.write, func(em *emitter, at *table, s *ast.Step, place ir.Expr) []ir.Stmt {
		if at != t {
			return nil
		}
		cells := em.newCells(t, s, place, nil)
		changes := no
		for name, v := range cells {
			changes = or(changes, not(equal(v, t.get(name, place, em.reader()))))
		}
		now := t.get(tok.name, place, em.reader()).at(tok.parts[0].key)
		mine := load(knows[em.p], em.me)
		return when(and(differ(mine, none), order(ir.Lt, mine, now), changes), bad(), nil)
	})
	h.wrote = append(h.wrote, func(em *emitter, at *table, s *ast.Step, place ir.Expr) []ir.Stmt {
		if s == nil {
			return nil
		}
		for _, c := range s.Row {
			if c.Column == b.Table.Token {
				return learn(em, at, place)
			}
		}
		return nil
	})
}

// watchRetention: no delivery after the row of its operation was removed by age.
func (lw *lowering) watchRetention(p *ast.Promise, b ast.RowsOutlive) {
	t := lw.tables[b.Table]
	if t == nil {
		return
	}
	bad := lw.broken(p)
	for _, o := range lw.operationsOf(b.Table) {
		gone := lw.variable(&ir.Var{Name: t.name + " row removed of " + o.Name, Index: ir.Several(lw.opSet(o)), Type: ir.Type{Kind: ir.Bool}})
		key := "/o:" + o.Name
		h := &lw.monitors.hooks
		h.gone = append(h.gone, func(at *table, place ir.Expr) []ir.Stmt {
			if at != t {
				return nil
			}
			op := at.get("op", place, reader{}).at(key)
			return when(differ(op, none), []ir.Stmt{set(gone, yes, op)}, nil)
		})
		h.recv = append(h.recv, func(em *emitter, q *queue, v value) []ir.Stmt {
			if !hasResource(b.Queues, q.r) {
				return nil
			}
			return when(load(gone, v.field("op").at(key)), bad(), nil)
		})
	}
}

// watchWatermark: a get that answers an older version than the watermark has.
func (lw *lowering) watchWatermark(p *ast.Promise, b ast.Watermark) {
	bad := lw.broken(p)
	version := func(v value, field string) ir.Expr {
		if field != "" {
			v = v.field(field)
		}
		return v.at("/i")
	}
	lw.monitors.hooks.got = append(lw.monitors.hooks.got, func(em *emitter, s *ast.Step, v value) []ir.Stmt {
		if s.Resource != b.Store {
			return nil
		}
		mine := version(v, b.StoreField)
		var older ir.Expr = no
		switch {
		case b.Column != nil && lw.tables[b.Column.Table] != nil:
			t := lw.tables[b.Column.Table]
			older = t.some(func(at ir.Expr) ir.Expr {
				return and(t.visible(at, reader{}), order(ir.Lt, mine, t.get(b.Column.Name, at, reader{}).at("/i")))
			})
		case b.Floor != nil:
			t := lw.kvs[b.Floor]
			older = t.some(func(at ir.Expr) ir.Expr {
				return and(load(t.used, at), order(ir.Lt, mine, version(t.get("value", at, reader{}), b.FloorField)))
			})
		}
		return when(older, bad(), nil)
	})
}

// marks of order: the largest value seen, per group.
type largest struct {
	lw     *lowering
	single *ir.Var // without groups
	groups *table
}

func (lw *lowering) newLargest(name string, per *ast.Type, lo, hi int) *largest {
	t := ir.Type{Kind: ir.Range, Lo: lo, Hi: hi, Optional: true}
	if per == nil {
		return &largest{lw: lw, single: lw.variable(&ir.Var{Name: name, Type: t, Initial: ir.None})}
	}
	g := &table{lw: lw, name: name}
	n := 1
	if o := operationOf(per); o != nil {
		n = o.Count
	}
	lw.makePool(g, n)
	g.addColumn("k", nil, per)
	g.addColumn("n", nil, &ast.Type{Alts: []ast.Alt{{Kind: ast.KindInt, Lo: lo, Hi: hi}}})
	return &largest{lw: lw, groups: g}
}

// see compares a new value with the largest so far: smaller is bad, and with
// gaps forbidden so is one that skips.
func (m *largest) see(group value, v ir.Expr, withoutGaps bool, bad func() []ir.Stmt) []ir.Stmt {
	judge := func(now ir.Expr, raise []ir.Stmt) []ir.Stmt {
		wrong := order(ir.Lt, v, now)
		if withoutGaps {
			wrong = or(wrong, order(ir.Lt, sum(ir.Add, now, num(1)), v))
		}
		return append(when(wrong, bad(), nil), when(order(ir.Lt, now, v), raise, nil)...)
	}
	if m.single != nil {
		first := []ir.Stmt{set(m.single, v)}
		return when(same(load(m.single), none), first, judge(load(m.single), first))
	}
	g := m.groups
	is := func(at ir.Expr) ir.Expr { return equal(g.get("k", at, reader{}), group) }
	first := g.insert(map[string]value{"k": group, "n": integer(v, 0, 0, false)}, func(ir.Expr) []ir.Stmt { return nil })
	l := &ir.Local{Name: "seen"}
	later := g.each(func(at ir.Expr) []ir.Stmt {
		n := g.column("n").vars[0]
		return when(is(at), judge(load(n, at), []ir.Stmt{set(n, v, at)}), nil)
	})
	return append([]ir.Stmt{ir.Let{Local: l, Value: g.some(is)}}, when(use(l), later, first)...)
}

func intRange(t *ast.Type) (lo, hi int) {
	if a := t.Find(ast.KindInt); a != nil {
		return a.Lo, a.Hi
	}
	return 0, 7
}

// watchEffects: rows of T become durable in the order of the column.
func (lw *lowering) watchEffects(p *ast.Promise, b ast.EffectsInOrder) {
	t := lw.tables[b.Table]
	if t == nil {
		return
	}
	bad := lw.broken(p)
	var per *ast.Type
	if b.Per != nil {
		per = b.Per.Type
	}
	lo, hi := intRange(b.Column.Type)
	m := lw.newLargest("largest "+b.Column.Name+" of "+t.name, per, lo, hi)
	lw.eachDurableWrite(t, func(row func(name string) value) []ir.Stmt {
		group := value{}
		if b.Per != nil {
			group = row(b.Per.Name)
		}
		return m.see(group, row(b.Column.Name).at("/i"), b.WithoutGaps, bad)
	})
}

// eachDurableWrite runs body for every row that a statement of its own or a
// commit writes; row gives the new values.
func (lw *lowering) eachDurableWrite(t *table, body func(row func(name string) value) []ir.Stmt) {
	h := &lw.monitors.hooks
	h.wrote = append(h.wrote, func(em *emitter, at *table, s *ast.Step, place ir.Expr) []ir.Stmt {
		if at != t || em.in != nil {
			return nil
		}
		return body(func(name string) value { return t.get(name, place, em.reader()) })
	})
	h.commit = append(h.commit, func(em *emitter, at *table, place ir.Expr) []ir.Stmt {
		if at != t {
			return nil
		}
		written := no
		if t.hidden != nil {
			written = or(written, load(t.hidden, place))
		}
		if t.updated != nil {
			written = or(written, load(t.updated, place))
		}
		return when(written, body(func(name string) value { return t.get(name, place, em.reader()) }), nil)
	})
}

// watchMessages: messages are stored in the order of the field.
func (lw *lowering) watchMessages(p *ast.Promise, b ast.MessagesInOrder) {
	bad := lw.broken(p)
	var per *ast.Type
	if b.Per != nil {
		per = b.Per.Type
	}
	lo, hi := intRange(b.Field.Type)
	m := lw.newLargest("largest "+b.Field.Name+" in "+b.Queue.Name, per, lo, hi)
	lw.monitors.hooks.stored = append(lw.monitors.hooks.stored, func(r *ast.Resource, fields map[string]value) []ir.Stmt {
		if r != b.Queue {
			return nil
		}
		group := value{}
		if b.Per != nil {
			group = fields[b.Per.Name]
		}
		return m.see(group, fields[b.Field.Name].at("/i"), b.WithoutGaps, bad)
	})
}

// watchDecrease: a committed value is never smaller than an earlier one of the
// same row, or of the same group.
func (lw *lowering) watchDecrease(p *ast.Promise, b ast.NeverDecreases) {
	t := lw.tables[b.Column.Table]
	if t == nil {
		return
	}
	bad := lw.broken(p)
	lo, hi := intRange(b.Column.Type)
	if b.Per != nil {
		m := lw.newLargest("largest "+b.Column.Name, b.Per.Type, lo, hi)
		lw.eachDurableWrite(t, func(row func(string) value) []ir.Stmt {
			return m.see(row(b.Per.Name), row(b.Column.Name).at("/i"), false, bad)
		})
		return
	}
	most := lw.variable(&ir.Var{Name: t.name + " largest " + b.Column.Name, Index: []ir.Index{t.over},
		Type: ir.Type{Kind: ir.Range, Lo: lo, Hi: hi, Optional: true}, Initial: ir.None})
	t.extra = append(t.extra, most)
	judge := func(place, v ir.Expr) []ir.Stmt {
		return append(when(order(ir.Lt, v, load(most, place)), bad(), nil), set(most, v, place))
	}
	h := &lw.monitors.hooks
	h.wrote = append(h.wrote, func(em *emitter, at *table, s *ast.Step, place ir.Expr) []ir.Stmt {
		if at != t || em.in != nil {
			return nil
		}
		return judge(place, t.get(b.Column.Name, place, em.reader()).at("/i"))
	})
	h.commit = append(h.commit, func(em *emitter, at *table, place ir.Expr) []ir.Stmt {
		if at != t {
			return nil
		}
		return judge(place, t.get(b.Column.Name, place, em.reader()).at("/i"))
	})
	lw.initially = append(lw.initially, t.each(func(at ir.Expr) []ir.Stmt {
		return []ir.Stmt{set(most, t.get(b.Column.Name, at, reader{}).at("/i"), at)}
	})...)
}
