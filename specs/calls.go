package specs

import (
	"fmt"
	"strings"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/expr"
	"github.com/relplan/relplan/specs/ast"
)

var functions = []string{"count", "exists", "hash", "fresh", "age", "settled", "alive", "spent", "at", "answered", "handed", "ended"}

// call resolves f(args).
func (s scope) call(x *expr.Call, base ast.Base) ast.Expr {
	name := span(s.src, startOf(x), startOf(x)+len([]rune(x.Func)))
	if x.Where != nil && x.Func != "count" && x.Func != "exists" {
		s.d.errorf(s.pos(x.Where), "RP020", "'where' stands in count( ) and exists( ) only")
		return nil
	}
	switch x.Func {
	case "count", "exists":
		return s.count(x, base, name)
	case "fresh":
		if !s.arity(x, name, 0) {
			return nil
		}
		if s.proc == nil {
			s.d.errorf(name, "RP021", "fresh() belongs to steps: it makes a new value each time the step runs")
			return nil
		}
		return &ast.Fresh{Base: base}
	case "hash":
		return s.hash(x, base, name)
	case "alive":
		if !s.arity(x, name, 1) {
			return nil
		}
		if v := s.resolve(x.Args[0]); v != nil {
			return &ast.Alive{Base: base, X: v}
		}
		return nil
	case "settled":
		return s.settled(x, base, name)
	case "age":
		s.d.l.Add(diag.Diagnostic{Code: "RP021", Pos: name, Message: "age() is compared with a duration and nothing else", Hint: "write age(x) > D, D one of durations:"})
		return nil
	case "spent", "at", "answered", "handed", "ended":
		if !s.promise {
			s.d.errorf(name, "RP023", "%s() may stand in promises only: no step can read it", x.Func)
			return nil
		}
		return s.promiseCall(x, base, name)
	}
	dg := diag.Diagnostic{Code: "RP012", Pos: name, Message: "unknown function '" + x.Func + "'", Found: "'" + x.Func + "'"}
	if c, ok := suggest(x.Func, functions); ok {
		dg.Hint = "did you mean: " + c
	} else {
		dg.Hint = "functions: " + strings.Join(functions, ", ")
	}
	s.d.l.Add(dg)
	return nil
}

func startOf(n expr.Node) int { a, _ := n.Span(); return a }

func (s scope) arity(x *expr.Call, pos diag.Pos, n int) bool {
	if len(x.Args) == n {
		return true
	}
	s.d.errorf(pos, "RP021", "%s() takes %d %s, found %d", x.Func, n, map[bool]string{true: "argument", false: "arguments"}[n == 1], len(x.Args))
	return false
}

func (s scope) hash(x *expr.Call, base ast.Base, name diag.Pos) ast.Expr {
	if len(x.Args) == 0 {
		s.d.errorf(name, "RP021", "hash() of nothing")
		return nil
	}
	h := &ast.Hash{Base: base}
	for _, a := range x.Args {
		if v := s.resolve(a); v != nil {
			h.Args = append(h.Args, v)
		}
	}
	if len(h.Args) < len(x.Args) {
		return nil
	}
	return h
}

func (s scope) settled(x *expr.Call, base ast.Base, name diag.Pos) ast.Expr {
	if !s.arity(x, name, 1) {
		return nil
	}
	if !s.columns || s.table == nil {
		s.d.errorf(name, "RP021", "settled() stands in a where: over the rows of a table")
		return nil
	}
	c, ok := s.resolve(x.Args[0]).(*ast.ColumnRef)
	if !ok {
		s.d.errorf(s.pos(x.Args[0]), "RP021", "settled() takes a column")
		return nil
	}
	if c.Column != s.table.Sequence {
		s.d.l.Add(diag.Diagnostic{Code: "RP021", Pos: s.pos(x.Args[0]), Message: fmt.Sprintf("'%s' is not a sequence of %s", c.Name, s.table.Name),
			Hint: "declare it: sequence: " + c.Name})
		return nil
	}
	return &ast.Settled{Base: base, Column: c}
}

func (s scope) age(c *expr.Call, x *expr.Binary, base ast.Base) ast.Expr {
	if !s.arity(c, s.pos(c), 1) {
		return nil
	}
	v := s.resolve(c.Args[0])
	w, ok := x.Y.(*expr.Word)
	if !ok {
		s.d.errorf(s.pos(x.Y), "RP043", "age() is compared with a duration of durations:")
		return nil
	}
	dur := s.d.durations[strings.TrimPrefix(w.Name, "$")]
	if p, ok := s.d.params[strings.TrimPrefix(w.Name, "$")]; ok && dur == nil {
		dur = s.d.durations[p.value.Value()]
	}
	if dur == nil {
		s.d.unknown(s.pos(x.Y), "RP043", "duration", w.Name, sortedKeys(s.d.durations))
		return nil
	}
	if v == nil {
		return nil
	}
	over := &ast.AgeOver{Base: base, X: v, Duration: dur}
	if x.Op == "<" || x.Op == "<=" {
		return &ast.Unary{Base: base, Op: ast.OpNot, X: over}
	}
	return over
}

// count resolves count(X where ..) and exists(X where ..).
func (s scope) count(x *expr.Call, base ast.Base, name diag.Pos) ast.Expr {
	if len(x.Args) == 0 || len(x.Args) > 2 {
		s.d.errorf(name, "RP021", "%s() takes a table, a store, an effect or an operation", x.Func)
		return nil
	}
	w, ok := x.Args[0].(*expr.Word)
	if !ok {
		s.d.errorf(s.pos(x.Args[0]), "RP021", "%s() takes the name of a table, a store, an effect or an operation", x.Func)
		return nil
	}
	exists := x.Func == "exists"
	at := s.pos(w)
	if t, ok := s.d.tables[w.Name]; ok {
		return s.countRows(x, base, name, &ast.CountRows{Base: base, Exists: exists, Table: t})
	}
	if r, ok := s.d.resources[w.Name]; ok && (r.KV != nil || r.Queue != nil) {
		return s.countRows(x, base, name, &ast.CountRows{Base: base, Exists: exists, Store: r})
	}
	if !s.promise {
		if _, known := s.d.effects[w.Name]; known || s.d.ops[w.Name] != nil {
			s.d.errorf(name, "RP023", "%s(%s) may stand in promises only: no step can read it", x.Func, w.Name)
			return nil
		}
	}
	if e, ok := s.d.effects[w.Name]; ok {
		return s.countEffect(x, base, e)
	}
	if op, ok := s.d.ops[w.Name]; ok {
		return s.countOps(x, base, &ast.OpVar{Base: base, Operation: op}, nil)
	}
	var known []string
	known = append(known, sortedKeys(s.d.tables)...)
	for _, r := range s.d.spec.Resources {
		if r.KV != nil || r.Queue != nil {
			known = append(known, r.Name)
		}
	}
	if s.promise {
		known = append(known, sortedKeys(s.d.effects)...)
		known = append(known, sortedKeys(s.d.ops)...)
	}
	s.d.unknown(at, "RP010", "table or store", w.Name, known)
	return nil
}

func (s scope) countRows(x *expr.Call, base ast.Base, name diag.Pos, c *ast.CountRows) ast.Expr {
	if !s.promise && (s.sql == nil || c.Table == nil || c.Table.Resource != s.sql) {
		what := w(x)
		s.d.l.Add(diag.Diagnostic{Code: "RP023", Pos: base.At, Message: fmt.Sprintf("%s(%s) reads '%s': a second round trip in disguise", x.Func, what, what),
			Hint: hiddenRead(x, c, what)})
		return nil
	}
	if len(x.Args) > 1 || x.Ops {
		s.d.errorf(name, "RP021", "%s(%s where ..) takes nothing else", x.Func, w(x))
		return nil
	}
	if x.Where == nil {
		return c
	}
	inner := s
	inner.table, inner.store, inner.columns, inner.bare = c.Table, c.Store, true, false
	c.Where = inner.resolve(x.Where)
	if c.Where == nil {
		return nil
	}
	return c
}

func w(x *expr.Call) string { return x.Args[0].(*expr.Word).Name }

func hiddenRead(x *expr.Call, c *ast.CountRows, name string) string {
	if c.Store != nil && c.Store.KV == nil {
		return "no step can look into a queue"
	}
	if x.Func == "exists" {
		return fmt.Sprintf("read it in a step of its own: - select: %s, where: .., as: r; then: r != none", name)
	}
	return fmt.Sprintf("read it in a step of its own: - select: %s, count: true, as: n", name)
}

func (s scope) countEffect(x *expr.Call, base ast.Base, e *ast.Effect) ast.Expr {
	if x.Func == "exists" {
		s.d.errorf(base.At, "RP021", "exists() of an effect: write count(%s) > 0", e.Name)
		return nil
	}
	c := &ast.CountEffect{Base: base, Effect: e}
	if x.Where != nil { // count(E where n > 1 ops): operations whose number of E, called n, is so
		if !x.Ops {
			s.d.l.Add(diag.Diagnostic{Code: "RP021", Pos: s.pos(x.Where), Message: "an effect has no columns to select by",
				Hint: fmt.Sprintf("count operations: count(OP where count(%s, OP) > 1)", e.Name)})
			return nil
		}
		return s.countOps(x, base, nil, e)
	}
	if len(x.Args) == 2 {
		if c.Operation = s.resolve(x.Args[1]); c.Operation == nil {
			return nil
		}
	}
	return c
}

// countOps is count(OP where ..); with e, the form count(E where n > 1 ops).
func (s scope) countOps(x *expr.Call, base ast.Base, bound *ast.OpVar, e *ast.Effect) ast.Expr {
	if e != nil {
		if len(s.d.spec.Operations) != 1 {
			s.d.errorf(base.At, "RP021", "with several operations, say which: count(OP where count(%s, OP) > 1)", e.Name)
			return nil
		}
		bound = &ast.OpVar{Base: base, Operation: s.d.spec.Operations[0]}
	}
	c := &ast.CountOps{Base: base, Exists: x.Func == "exists", Bound: bound}
	if x.Where == nil {
		return &ast.Lit{Base: base, Value: ast.Value{Kind: ast.IntValue, Int: bound.Operation.Count}}
	}
	inner := s
	inner.bound = bound
	inner.columns, inner.table, inner.store = false, nil, nil
	where := x.Where
	if e != nil {
		where = expr.MapN(where, "n", e.Name, bound.Operation.Name)
	}
	c.Where = inner.opCondition(where, bound.Operation)
	if c.Where == nil {
		return nil
	}
	return c
}

func (s scope) promiseCall(x *expr.Call, base ast.Base, name diag.Pos) ast.Expr {
	wordArg := func(i int) (string, diag.Pos, bool) {
		w, ok := x.Args[i].(*expr.Word)
		if !ok {
			s.d.errorf(s.pos(x.Args[i]), "RP021", "%s() takes a name here", x.Func)
			return "", diag.Pos{}, false
		}
		return w.Name, s.pos(w), true
	}
	switch x.Func {
	case "spent":
		if !s.arity(x, name, 1) {
			return nil
		}
		w, at, ok := wordArg(0)
		if !ok {
			return nil
		}
		return s.spent(w, at, base)
	case "at":
		if !s.arity(x, name, 2) {
			return nil
		}
		p, pat, ok1 := wordArg(0)
		l, lat, ok2 := wordArg(1)
		if !ok1 || !ok2 {
			return nil
		}
		proc := s.d.process(p, pat)
		if proc == nil {
			return nil
		}
		step := s.d.labelled(proc, l, lat)
		if step == nil || !s.speakOf(proc, base.At) {
			return nil
		}
		return &ast.AtStep{Base: base, Process: proc, Step: step}
	}
	if len(x.Args) == 0 || len(x.Args) > 2 || len(x.Args) == 2 && x.Func != "answered" {
		s.d.errorf(name, "RP021", "%s() takes an operation", x.Func)
		return nil
	}
	op := s.resolve(x.Args[0])
	if op == nil {
		return nil
	}
	switch x.Func {
	case "handed":
		return &ast.Handed{Base: base, Operation: op}
	case "ended":
		return &ast.Ended{Base: base, Operation: op}
	}
	a := &ast.Answered{Base: base, Operation: op}
	if len(x.Args) == 2 {
		w, _, ok := wordArg(1)
		if !ok {
			return nil
		}
		a.Reply = ast.Reply(w)
	}
	return a
}

func (s scope) spent(name string, pos diag.Pos, base ast.Base) ast.Expr {
	fs, ok := s.d.faults[name]
	if !ok {
		if _, known := faultKinds[name]; !known {
			s.d.unknown(pos, "RP040", "fault", name, append(sortedKeys(faultKinds), sortedKeys(s.d.faults)...))
			return nil
		}
	}
	return &ast.Spent{Base: base, Name: name, Faults: fs}
}

func (d *decoder) process(name string, pos diag.Pos) *ast.Process {
	if p, ok := d.procs[name]; ok {
		return p
	}
	if p, ok := d.procs[strings.TrimSuffix(name, "s")]; ok {
		return p
	}
	d.unknown(pos, "RP010", "process", name, sortedKeys(d.procs))
	return nil
}

// labelled gives the step of that label.
func (d *decoder) labelled(p *ast.Process, label string, pos diag.Pos) *ast.Step {
	raw := d.raw[p]
	if l, ok := raw.labels[label]; ok {
		if l.step == nil {
			d.errorf(pos, "RP011", "nothing stands at the label '%s' of %s in this variant", label, p.Name)
		}
		return l.step
	}
	d.unknown(pos, "RP011", "label of "+p.Name, label, sortedKeys(raw.labels))
	return nil
}
