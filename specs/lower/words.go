package lower

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// glance reads expressions in one state.
type glance struct {
	lw     *lowering
	m      *ir.Model
	state  []uint64
	locals map[*ir.Local]int
	// past, if not nil, is where the variables of the instances of remembers are
	// read: what a run knew in another state.
	past      []uint64
	remembers *ir.Set
}

func (g *glance) with(l *ir.Local, v int) *glance {
	locals := map[*ir.Local]int{l: v}
	for k, x := range g.locals {
		if k != l {
			locals[k] = x
		}
	}
	h := *g
	h.locals = locals
	return &h
}

func (g *glance) size(ix ir.Index) int {
	if ix.Pool != nil {
		return ix.Pool.Cap
	}
	return ix.Set.Size
}

func (g *glance) inUse(ix ir.Index, i int) bool {
	return ix.Pool == nil || g.m.Value(g.state, ix.Pool.Used, i) == 1
}

// eval is the value of an expression, as package ir defines it.
func (g *glance) eval(e ir.Expr) int {
	switch x := e.(type) {
	case ir.Const:
		return x.Value
	case ir.Use:
		if v, ok := g.locals[x.Local]; ok {
			return v
		}
		return ir.None
	case ir.Load:
		at := make([]int, len(x.At))
		for d, a := range x.At {
			at[d] = g.eval(a)
			if at[d] < 0 || at[d] >= g.size(x.Var.Index[d]) {
				if x.Var.Type.Kind == ir.Bool && !x.Var.Type.Optional {
					return 0
				}
				return ir.None
			}
		}
		return g.m.Value(g.stateOf(x.Var), x.Var, at...)
	case ir.Not:
		return flag(!g.holds(x.A))
	case ir.Cond:
		if g.holds(x.If) {
			return g.eval(x.A)
		}
		return g.eval(x.B)
	case ir.Binary:
		return g.binary(x)
	case ir.Exists:
		n := g.each(x.Local, x.Over, x.Where, nil)
		return flag(n > 0)
	case ir.Count:
		return g.each(x.Local, x.Over, x.Where, nil)
	case ir.Best:
		best := ir.None
		g.each(x.Local, x.Over, x.Where, func(h *glance) {
			v := h.eval(x.Of)
			if best == ir.None || x.Max && v > best || !x.Max && v < best {
				best = v
			}
		})
		return best
	}
	return ir.None
}

func (g *glance) stateOf(v *ir.Var) []uint64 {
	if g.past != nil && slices.ContainsFunc(v.Index, func(ix ir.Index) bool { return ix.Set == g.remembers }) {
		return g.past
	}
	return g.state
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (g *glance) holds(e ir.Expr) bool { v := g.eval(e); return v != ir.None && v != 0 }

func (g *glance) each(l *ir.Local, over ir.Index, where ir.Expr, f func(*glance)) int {
	n := 0
	for i := 0; i < g.size(over); i++ {
		if !g.inUse(over, i) {
			continue
		}
		h := g.with(l, i)
		if h.holds(where) {
			n++
			if f != nil {
				f(h)
			}
		}
	}
	return n
}

func (g *glance) binary(x ir.Binary) int {
	switch x.Op {
	case ir.And:
		return flag(g.holds(x.A) && g.holds(x.B))
	case ir.Or:
		return flag(g.holds(x.A) || g.holds(x.B))
	}
	a, b := g.eval(x.A), g.eval(x.B)
	switch x.Op {
	case ir.Eq:
		return flag(a == b)
	case ir.Ne:
		return flag(a != b)
	}
	if a == ir.None || b == ir.None {
		if x.Op == ir.Add || x.Op == ir.Sub {
			return ir.None
		}
		return 0
	}
	switch x.Op {
	case ir.Add:
		return a + b
	case ir.Sub:
		return a - b
	case ir.Lt:
		return flag(a < b)
	}
	return flag(a <= b)
}

// element is the printed element of a set.
func element(s *ir.Set, i int) string {
	if i >= 0 && i < len(s.Elements) {
		return s.Elements[i]
	}
	return fmt.Sprintf("%s %d", s.Name, i+1)
}

// worker is the printed instance.
func (p *process) worker(i int) string {
	if p.set.Size == 1 {
		return p.ast.Name
	}
	return fmt.Sprintf("%s %d", p.ast.Name, i+1)
}

// value prints a value as the state has it.
func (g *glance) value(v value) string {
	var plain []string
	fields := map[string][]leaf{}
	there, hash := false, map[int][]leaf{}
	for _, l := range v.leaves {
		n := g.eval(l.e)
		switch {
		case l.key == "?":
			there = n != ir.None
		case l.key[0] == '.':
			name, rest := splitField(l.key)
			fields[name] = append(fields[name], leaf{rest, l.typ, num(n)})
		case strings.HasPrefix(l.key, "/h"):
			var arity, i int
			fmt.Sscanf(l.key, "/h%d.%d", &arity, &i)
			rest := l.key[len(fmt.Sprintf("/h%d.%d", arity, i)):]
			hash[i] = append(hash[i], leaf{rest, l.typ, num(n)})
		case n != ir.None:
			plain = append(plain, g.leafText(l.key, l.typ, n))
		}
	}
	if len(plain) > 0 {
		return strings.Join(plain, " ")
	}
	if s := g.hashText(hash); s != "" {
		return s
	}
	if !there {
		return "none"
	}
	return g.fieldsText(fields)
}

func (g *glance) hashText(hash map[int][]leaf) string {
	var parts []string
	empty := true
	for i := 0; i < len(hash); i++ {
		s := g.value(newValue(hash[i]...))
		empty = empty && s == "none"
		parts = append(parts, s)
	}
	if empty {
		return ""
	}
	return "hash(" + strings.Join(parts, ", ") + ")"
}

func (g *glance) fieldsText(fields map[string][]leaf) string {
	var names []string
	for f := range fields {
		names = append(names, f)
	}
	if len(names) == 0 {
		return "there"
	}
	sort.Strings(names)
	var parts []string
	for _, f := range names {
		parts = append(parts, f+": "+g.value(newValue(fields[f]...)))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func (g *glance) leafText(key string, t ir.Type, n int) string {
	switch {
	case key == "/b":
		return fmt.Sprint(n == 1)
	case key == "/s":
		if n < len(g.lw.symbolNames) {
			return g.lw.symbolNames[n]
		}
	case key == "/t":
		return fmt.Sprintf("#%d", n+1)
	case strings.HasPrefix(key, "/p:"):
		return g.lw.procs[key[3:]].worker(n)
	case strings.HasPrefix(key, "/f:"):
		_, field, _ := strings.Cut(key[3:], ".")
		if t.Kind == ir.Ref {
			return fmt.Sprintf("%s %d", field, n+1)
		}
		return field
	case strings.HasPrefix(key, "/m:"):
		return element(t.Set, n)
	case t.Kind == ir.Ref && t.Set != nil:
		return element(t.Set, n)
	}
	return fmt.Sprint(n)
}

// text puts pieces together.
func (g *glance) text(pieces []any) string {
	var b strings.Builder
	for _, p := range pieces {
		switch x := p.(type) {
		case string:
			b.WriteString(x)
		case int:
			fmt.Fprint(&b, x)
		case rowText:
			b.WriteString(g.row(x.t, x.at))
		case messageText:
			b.WriteString(g.message(x.q, x.m))
		case logText:
			b.WriteString(g.value(x.l.value(x.part, x.pos)))
		case opText:
			b.WriteString(element(g.lw.opSet(x.o), g.eval(x.e)))
		case workerText:
			b.WriteString(x.p.worker(g.eval(x.e)))
		case keyText:
			b.WriteString(g.value(g.keyOf(x.t, x.at)))
		case valueText:
			b.WriteString(g.value(x.v))
		}
	}
	return b.String()
}

func (g *glance) keyOf(t *table, at ir.Expr) value {
	return t.get("key", at, reader{})
}

// row prints the columns of a record: `op: order 1, state: NEW`.
func (g *glance) row(t *table, at ir.Expr) string {
	var parts []string
	if t.pool == nil && t.key != "" {
		if t.keys != nil {
			parts = append(parts, g.value(g.keyOf(t, at)))
		} else {
			parts = append(parts, t.key+": "+g.value(t.get(t.key, at, reader{})))
		}
	}
	for _, c := range t.columns {
		if s := g.value(t.get(c.name, at, reader{})); s != "none" || t.kv == nil {
			parts = append(parts, c.name+": "+s)
		}
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

func (g *glance) message(q *queue, m message) string {
	v := q.value(m)
	var parts []string
	if op := v.field("op"); len(op.leaves) > 0 {
		parts = append(parts, g.value(op))
	}
	if q.pool == nil && q.q.StartsWith.Count > 1 {
		parts = append(parts, g.value(newValue(leaf{"/m:", refTo(q.lw.copySet(q.r)), m[1]})))
	}
	for _, c := range q.fields {
		if c.name != "op" {
			parts = append(parts, c.name+": "+g.value(v.field(c.name)))
		}
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// shown prints what an expression gives at this step, or the expression itself
// where its names are not part of the state (nobody reads the result).
func (g *glance) shown(em *emitter, e ast.Expr) string {
	text := g.value(em.pure(e))
	if text != "none" || isNone(e) {
		return text
	}
	stored := true
	walkUses(e, "", func(v *ast.Var, prefix string) {
		here := false
		for _, s := range em.p.matching(v, prefix) {
			_, ok := em.env[v].find(s.key)
			here = here || ok
		}
		stored = stored && here
	})
	if stored {
		return text
	}
	return e.String()
}

// phrase says what a step does, with the values it works on.
func (g *glance) phrase(p *process, n *node) string {
	s := n.step
	if n.kind == commitNode {
		return "commits on " + s.Subject
	}
	em := p.emitter(n)
	cells := func() string {
		var parts []string
		for _, c := range s.Row {
			if readsRow(c.Value) || hasFresh(c.Value) {
				parts = append(parts, c.Name+": "+c.Value.String())
				continue
			}
			parts = append(parts, c.Name+": "+g.shown(em, c.Value))
		}
		return strings.Join(parts, ", ")
	}
	show := func(e ast.Expr) string {
		if e == nil {
			return ""
		}
		if hasFresh(e) {
			return e.String()
		}
		return g.shown(em, e)
	}
	where := func() string {
		if s.Where == nil {
			return ""
		}
		return " where " + s.Where.String()
	}
	switch s.Verb {
	case ast.VerbInsert:
		return "inserts into " + s.Subject + " (" + cells() + ")"
	case ast.VerbUpsert:
		return "upserts into " + s.Subject + " (" + cells() + ")"
	case ast.VerbUpdate:
		return "updates " + s.Subject + " (" + cells() + ")" + where()
	case ast.VerbDelete:
		return "deletes from " + s.Subject + where()
	case ast.VerbSelect:
		words := "reads " + s.Subject + where()
		if s.Lock {
			words = "locks and " + words
		}
		return words
	case ast.VerbPut, ast.VerbPutNew:
		words := "puts " + show(s.Key) + " into " + s.Subject
		if s.Value != nil {
			words += " as " + show(s.Value)
		}
		return words
	case ast.VerbGet:
		return "gets " + show(s.Key) + " from " + s.Subject
	case ast.VerbRemove:
		return "removes " + show(s.Key) + " from " + s.Subject
	case ast.VerbExpire:
		return "sets the ttl of " + show(s.Key) + " in " + s.Subject
	case ast.VerbScript:
		if fails(s) {
			return "runs a script on " + s.Subject + " that fails before its end"
		}
		return "runs a script on " + s.Subject
	case ast.VerbSend:
		return "sends to " + s.Subject + " (" + cells() + ")"
	case ast.VerbAck, ast.VerbNack:
		return s.Verb.String() + "s the message"
	case ast.VerbCall:
		return "calls " + s.Subject + " (" + cells() + ")"
	case ast.VerbReply:
		return "replies " + string(s.Reply)
	case ast.VerbAskHuman:
		return "hands " + show(s.Human) + " to a human"
	case ast.VerbCommitOffset:
		return "commits the offset of " + s.Subject
	case ast.VerbLock, ast.VerbUnlock:
		return s.Verb.String() + "s " + show(s.Key) + " on " + s.Subject
	}
	return s.Verb.String() + " " + s.Subject
}

// fails says whether the script always fails before its end.
func fails(script *ast.Step) bool {
	return slices.ContainsFunc(script.Do, func(s *ast.Step) bool { return s.Verb == ast.VerbFail && s.When == nil })
}
