package specs

import (
	"fmt"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/yamlx"
	"github.com/relplan/relplan/specs/ast"
)

var triggerKeys = map[string][]string{
	"message": {"as", "batch", "workers"},
	"row":     {"as", "where", "order_by"},
	"request": {"as", "copies", "tries"},
	"start":   {"as", "durable", "in_order"},
	"poll":    {},
	"fault":   {},
	"every":   {},
}

var triggerOrder = []string{"message", "row", "request", "start", "poll", "fault", "every"}

// knownTrigger says whether on: has a trigger with keys that it knows.
func knownTrigger(on *yamlx.Node) bool {
	for _, t := range triggerOrder {
		if k, _ := on.Lookup(t); k != nil {
			for _, e := range on.Entries() {
				if e.Key.Value() != t && !contains(triggerKeys[t], e.Key.Value()) {
					return false
				}
			}
			return true
		}
	}
	return false
}

func (d *decoder) decodeTriggers() {
	for _, p := range d.spec.Processes {
		k, on := d.raw[p].node.Lookup("on")
		if k == nil {
			d.l.Add(diag.Diagnostic{Code: "RP003", Pos: p.Pos, Message: "process '" + p.Name + "' does not say what starts it",
				Hint: "on: {message: QUEUE, as: m}, {row: TABLE, as: r}, {request: OP, as: q}, {start: OP, as: s}, {poll: true} or {fault: NAME}"})
			continue
		}
		p.Trigger = d.trigger(p, d.sub(on), k.Pos())
	}
}

func (d *decoder) trigger(p *ast.Process, n *yamlx.Node, at diag.Pos) *ast.Trigger {
	if n.Kind() != yamlx.Mapping {
		d.wanted(n, at, "RP004", "what starts a run, such as {message: QUEUE, as: m}", "")
		return nil
	}
	if d.trap(n) {
		return nil
	}
	kind := ""
	var key, val *yamlx.Node
	for _, t := range triggerOrder {
		if k, v := n.Lookup(t); k != nil {
			if kind != "" {
				d.errorf(k.Pos(), "RP015", "two triggers: '%s' and '%s'; write two processes", kind, t)
				return nil
			}
			kind, key, val = t, k, d.sub(v)
		}
	}
	if kind == "" {
		dg := diag.Diagnostic{Code: "RP014", Pos: n.Pos(), Message: "unknown trigger", Hint: "triggers: message, row, request, start, poll, fault, every"}
		for _, e := range n.Entries() {
			if c, ok := suggest(e.Key.Value(), triggerOrder); ok {
				dg.Pos, dg.Message, dg.Hint = e.Key.Pos(), "unknown trigger '"+e.Key.Value()+"'", "did you mean: "+c
				break
			}
		}
		d.l.Add(dg)
		return nil
	}
	d.keys(n, append([]string{kind}, triggerKeys[kind]...)...)
	t := &ast.Trigger{Pos: key.Pos(), Batch: 1, Workers: 1, Copies: 1}
	if as := n.Get("as"); as != nil {
		t.As = p.Var(d.sub(as).Value())
	}
	d.triggerOf(p, t, kind, key, val, n)
	return t
}

func (d *decoder) triggerOf(p *ast.Process, t *ast.Trigger, kind string, key, val, n *yamlx.Node) {
	number := func(name string, into *int, lo, hi int) {
		if k, v := n.Lookup(name); k != nil {
			if c, ok := d.number(v, k.Pos(), lo, hi); ok {
				*into = c
			}
		}
	}
	switch kind {
	case "message":
		t.Kind = ast.OnMessage
		t.Queue = d.resource(val, key.Pos(), "queue or log", ast.QueueKind, ast.LogKind)
		number("batch", &t.Batch, 1, 100)
		number("workers", &t.Workers, 1, 8)
		if t.Queue != nil && t.Queue.Kind == ast.QueueKind && t.Workers > 1 {
			k, _ := n.Lookup("workers")
			d.l.Add(diag.Diagnostic{Code: "RP019", Pos: k.Pos(), Message: "workers: shares one member of a log's consumer group; '" + t.Queue.Name + "' is a queue", Hint: "use instances:"})
		}
	case "row":
		d.rowTrigger(p, t, key, val, n)
	case "request":
		t.Kind = ast.OnRequest
		t.Operation = d.opOf(val, key.Pos())
		number("copies", &t.Copies, 1, 8)
		number("tries", &t.Tries, 1, 16)
	case "start":
		t.Kind = ast.OnStart
		t.Operation = d.opOf(val, key.Pos())
		if k, v := n.Lookup("durable"); k != nil {
			t.Durable = d.flag(v, k.Pos())
		}
		if k, v := n.Lookup("in_order"); k != nil && t.Operation != nil {
			if w, ok := d.word(v, k.Pos(), "a field of the operation"); ok {
				if t.InOrder = t.Operation.Field(w); t.InOrder == nil {
					d.unknownField(d.sub(v).Pos(), t.Operation, w)
				}
			}
		}
	case "poll":
		t.Kind = ast.OnPoll
		if !d.flag(val, key.Pos()) && val.Value() == "false" {
			d.errorf(val.Pos(), "RP004", "poll: false starts nothing")
		}
	case "fault":
		t.Kind = ast.OnFault
		t.Name, _ = d.word(val, key.Pos(), "the name of a fault")
		d.customFault(t, val)
	case "every":
		t.Kind = ast.OnEvery
		t.Name, _ = d.word(val, key.Pos(), "a name")
	}
	if t.As != nil {
		d.inf.trigger(t)
	}
}

func (d *decoder) opOf(n *yamlx.Node, at diag.Pos) *ast.Operation {
	w, ok := d.word(n, at, "the name of an operation")
	if !ok {
		return nil
	}
	return d.operation(w, n.Pos())
}

func (d *decoder) rowTrigger(p *ast.Process, t *ast.Trigger, key, val, n *yamlx.Node) {
	t.Kind = ast.OnRow
	sc := d.stepScope(p)
	if r, ok := d.resources[val.Value()]; ok && r.KV != nil {
		t.Store, sc.store = r, r
	} else if t.Table = d.table(val, key.Pos()); t.Table != nil {
		sc.table, sc.sql = t.Table, t.Table.Resource
	} else {
		return
	}
	if k, w := n.Lookup("where"); k != nil {
		only := scope{d: d, table: sc.table, store: sc.store, sql: sc.sql}
		d.where(&t.Where, w, k.Pos(), only)
	}
	if k, o := n.Lookup("order_by"); k != nil {
		t.OrderBy, t.Desc = d.orderBy(o, k.Pos(), sc)
	}
}

func (d *decoder) customFault(t *ast.Trigger, n *yamlx.Node) {
	fs, ok := d.faults[t.Name]
	if !ok {
		if _, builtin := faultKinds[t.Name]; builtin {
			d.l.Add(diag.Diagnostic{Code: "RP040", Pos: n.Pos(), Message: fmt.Sprintf("'%s' is a fault with a meaning of its own", t.Name),
				Hint: "a fault that starts a process has a name of yours, with a budget under faults:"})
			return
		}
		d.l.Add(diag.Diagnostic{Code: "RP040", Pos: n.Pos(), Message: "unknown fault '" + t.Name + "'", Found: "'" + t.Name + "'",
			Hint: "give it a budget: faults: {" + t.Name + ": 1}"})
		return
	}
	if len(fs) > 0 {
		t.Fault = fs[0]
	}
}

// customNames are the faults that processes of the file are started by,
// whatever only: leaves of them.
func (d *decoder) customNames() map[string]bool {
	out := map[string]bool{}
	_, procs := d.root.Lookup("processes")
	for _, e := range d.sub(procs).Entries() {
		on := d.sub(d.sub(e.Value).Get("on"))
		if f := d.sub(on.Get("fault")); f.Kind() == yamlx.Scalar {
			out[f.Value()] = true
		}
	}
	return out
}
