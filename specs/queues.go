package specs

import (
	"strings"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/yamlx"
	"github.com/relplan/relplan/specs/ast"
)

func (d *decoder) decodeQueue(r *ast.Resource, v *yamlx.Node) {
	q := r.Queue
	if k, n := v.Lookup("delivery"); k != nil {
		if w, ok := d.oneOf(n, k.Pos(), "at_least_once", "at_most_once"); ok {
			q.Delivery = w
		}
	}
	if k, n := v.Lookup("starts_with"); k != nil {
		d.startsWith(q, n, k.Pos())
	}
	if k, n := v.Lookup("copies"); k != nil {
		c, ok := d.number(n, k.Pos(), 1, 4)
		switch {
		case q.StartsWith == nil:
			d.errorf(k.Pos(), "RP002", "copies: needs starts_with:")
		case ok:
			q.StartsWith.Copies = c
		}
	}
	if k, n := v.Lookup("order"); k != nil {
		if w, ok := d.word(n, k.Pos(), "none, queue or a field of the messages"); ok {
			switch w {
			case "none":
			case "queue":
				q.Ordered = true
			default:
				q.OrderBy = d.messageField(r, w, d.sub(n).Pos())
			}
		}
	}
	if r.Kind == ast.LogKind {
		d.decodeLog(r, v)
		return
	}
	if k, n := v.Lookup("visibility"); k != nil {
		n = d.sub(n)
		if n.Kind() == yamlx.Mapping {
			d.keys(n, "lasts", "renewed")
			if k, l := n.Lookup("lasts"); k != nil {
				q.Visibility = d.duration(l, k.Pos(), "visibility of "+r.Name)
			}
			if k, l := n.Lookup("renewed"); k != nil {
				q.Renewed = d.flag(l, k.Pos())
			}
		} else {
			q.Visibility = d.duration(n, k.Pos(), "visibility of "+r.Name)
		}
		if q.Visibility != nil && q.Visibility.None {
			q.Visibility = nil
		}
	}
	if k, n := v.Lookup("max_deliveries"); k != nil {
		q.MaxDeliveries, _ = d.number(n, k.Pos(), 1, 16)
	}
	if k, n := v.Lookup("dead_letter"); k != nil {
		q.DeadLetter = d.resource(n, k.Pos(), "queue", ast.QueueKind)
		if q.DeadLetter == r {
			d.errorf(d.sub(n).Pos(), "RP010", "'%s' is its own dead letter queue", r.Name)
		}
		if q.MaxDeliveries == 0 {
			d.l.Add(diag.Diagnostic{Code: "RP003", Pos: k.Pos(), Message: "dead_letter: without max_deliveries: nothing would ever move there", Hint: "add max_deliveries: 3"})
		}
	}
	if k, n := v.Lookup("replay"); k != nil {
		d.replayOf(r, n, k.Pos())
	}
	if k, n := v.Lookup("dedup"); k != nil {
		d.dedup(r, n, k.Pos())
	}
	if k, n := v.Lookup("stale_ack"); k != nil {
		w, _ := d.oneOf(n, k.Pos(), "accepted", "refused")
		q.RefuseStale = w == "refused"
	}
	if k, n := v.Lookup("same_server_as"); k != nil {
		for _, i := range d.list(n) {
			if o := d.resource(i, k.Pos(), "kv or queue", ast.KVKind, ast.QueueKind); o != nil && o != r {
				q.SameServer = append(q.SameServer, o)
			}
		}
	}
}

func (d *decoder) startsWith(q *ast.Queue, n *yamlx.Node, at diag.Pos) {
	s, ok := d.word(n, at, "one per OPERATION")
	if !ok {
		return
	}
	n = d.sub(n)
	w := strings.Fields(s)
	if len(w) != 3 || w[1] != "per" {
		d.wanted(n, at, "RP004", "one per OPERATION (or two per OPERATION)", "")
		return
	}
	c, ok := countWord(w[0])
	if !ok {
		d.wanted(n, at, "RP004", "one per OPERATION (or two per OPERATION)", "")
		return
	}
	op := d.operation(w[2], n.At(strings.LastIndex(s, w[2])))
	if op == nil {
		return
	}
	q.StartsWith = &ast.StartsWith{Pos: n.Pos(), Per: op, Count: c, Copies: 1}
}

// operation gives the operation of that name, also in the plural.
func (d *decoder) operation(name string, pos diag.Pos) *ast.Operation {
	if op, ok := d.ops[name]; ok {
		return op
	}
	if op, ok := d.ops[strings.TrimSuffix(name, "s")]; ok {
		return op
	}
	if d.noOps {
		return nil
	}
	pos.EndColumn = pos.Column + len([]rune(name))
	d.unknown(pos, "RP010", "operation", name, sortedKeys(d.ops))
	return nil
}

func (d *decoder) replayOf(r *ast.Resource, n *yamlx.Node, at diag.Pos) {
	n = d.sub(n)
	if n.Kind() != yamlx.Mapping {
		d.wanted(n, at, "RP004", "{to: QUEUE, within: 14d}", "")
		return
	}
	d.keys(n, "to", "within")
	if k, t := n.Lookup("to"); k != nil {
		r.Queue.ReplayTo = d.resource(t, k.Pos(), "queue", ast.QueueKind)
	} else {
		d.errorf(n.Pos(), "RP003", "replay: does not say to which queue: {to: QUEUE}")
	}
	if k, w := n.Lookup("within"); k != nil {
		r.Queue.ReplayWithin = d.duration(w, k.Pos(), "replay from "+r.Name)
	}
}

func (d *decoder) dedup(r *ast.Resource, n *yamlx.Node, at diag.Pos) {
	n = d.sub(n)
	if n.Kind() != yamlx.Mapping {
		d.wanted(n, at, "RP004", "{by: id, window: 2m}", "")
		return
	}
	d.keys(n, "by", "window", "scope")
	by := "id"
	pos := n.Pos()
	if k, b := n.Lookup("by"); k != nil {
		if w, ok := d.word(b, k.Pos(), "id or a field of the messages"); ok {
			by, pos = w, d.sub(b).Pos()
		}
	}
	r.Queue.DedupBy = d.messageField(r, by, pos)
	if k, w := n.Lookup("window"); k != nil {
		r.Queue.DedupWindow = d.duration(w, k.Pos(), "dedup window of "+r.Name)
		if r.Queue.DedupWindow != nil && r.Queue.DedupWindow.None {
			r.Queue.DedupWindow = nil
		}
	}
	if k, s := n.Lookup("scope"); k != nil {
		if w, ok := d.word(s, k.Pos(), "queue or a field of the messages"); ok && w != "queue" {
			r.Queue.DedupScope = ast.DedupField
			r.Queue.DedupField = d.messageField(r, w, d.sub(s).Pos())
		}
	}
}

// messageField gives the field that messages of r carry.
func (d *decoder) messageField(r *ast.Resource, name string, pos diag.Pos) *ast.Field {
	if f := r.Queue.Field(name); f != nil {
		return f
	}
	var known []string
	for _, f := range r.Queue.Fields {
		known = append(known, f.Name)
	}
	d.unknown(pos, "RP013", "field of the messages of "+r.Name, name, known)
	return nil
}

func (d *decoder) decodeLog(r *ast.Resource, v *yamlx.Node) {
	q := r.Queue
	if k, n := v.Lookup("partitions"); k != nil {
		if c, ok := d.number(n, k.Pos(), 1, 8); ok {
			q.Partitions = c
		}
	}
	if k, n := v.Lookup("partition_by"); k != nil {
		if w, ok := d.word(n, k.Pos(), "a field of the messages"); ok {
			q.PartitionBy = d.messageField(r, w, d.sub(n).Pos())
		}
	}
	if k, n := v.Lookup("fenced"); k != nil {
		q.Fenced = d.flag(n, k.Pos())
	}
	if k, n := v.Lookup("reset"); k != nil {
		w, _ := d.oneOf(n, k.Pos(), "earliest", "latest")
		q.ResetLatest = w == "latest"
	}
	if k, n := v.Lookup("keeps"); k != nil {
		q.Keeps = d.duration(n, k.Pos(), "retention of "+r.Name)
	}
}
