package plan

import (
	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/yamlx"
)

// stormNodeKeys and stormCallKeys are read by `retry storm` only.
var (
	stormNodeKeys = []string{"servers", "service", "queue", "load", "triggers", "clients", "discipline", "admission", "cancel"}
	stormCallKeys = []string{"breaker", "hedge", "throttle"}
)

func (d *decoder) calls(f *File, n *yamlx.Node) {
	d.each(n, "services", func(name string, pos diag.Pos, v *yamlx.Node) {
		node := &Node{Name: name, Pos: pos, Storm: v}
		f.Nodes = append(f.Nodes, node)
		fields := []field{
			optional("parallel", d.flag(&node.Parallel)),
			optional("cost", d.number(&node.Cost, 0)),
			optional("calls", func(v *yamlx.Node) {
				if v.Kind() != yamlx.Sequence {
					d.want(v, "a list of calls such as {to: orders, attempts: 2}")
					return
				}
				for _, item := range v.Items() {
					node.Calls = append(node.Calls, d.call(item))
				}
			}),
		}
		d.mapping(v, "a service", append(fields, ignored(stormNodeKeys)...)...)
	})
}

// ignored accepts keys that another verb reads.
func ignored(keys []string) []field {
	fs := make([]field, len(keys))
	for i, k := range keys {
		fs[i] = optional(k, func(*yamlx.Node) {})
	}
	return fs
}

func (d *decoder) call(n *yamlx.Node) *Call {
	c := &Call{Pos: n.Pos(), Storm: n}
	fields := []field{
		required("to", d.text(&c.To)),
		optional("attempts", d.count(&c.Attempts, 1)),
		optional("fan_out", d.count(&c.FanOut, 1)),
		optional("weight", d.ratio(&c.Weight)),
		optional("per_try", d.duration(&c.PerTry)),
		optional("overall", d.duration(&c.Overall)),
		optional("backoff", func(v *yamlx.Node) { c.Backoff = d.backoff(v) }),
		optional("method", d.text(&c.Method)),
		optional("key", d.oneOf(&c.Key, "reused", "fresh")),
		optional("failure", d.ratio(&c.Failure)),
		optional("budget", func(v *yamlx.Node) { c.Budget = d.budget(v) }),
		optional("from", func(v *yamlx.Node) {
			c.From = &From{Pos: v.Pos()}
			d.mapping(v, "from", required("file", d.text(&c.From.File)), optional("hop", d.text(&c.From.Hop)))
		}),
	}
	d.mapping(n, "a call", append(fields, ignored(stormCallKeys)...)...)
	if c.From != nil && c.Attempts.Set {
		d.l.Add(diag.Diagnostic{Code: codeValue, Pos: c.Attempts.Pos, Message: "attempts stand in the file named by `from`, expected only one of them"})
	}
	return c
}

func (d *decoder) backoff(n *yamlx.Node) *Backoff {
	b := &Backoff{}
	d.mapping(n, "a backoff",
		required("base", d.duration(&b.Base)),
		optional("factor", d.number(&b.Factor, 1)),
		optional("max", d.duration(&b.Max)),
		optional("jitter", d.oneOf(&b.Jitter, "none", "full", "equal", "decorrelated")),
	)
	return b
}

func (d *decoder) budget(n *yamlx.Node) *Budget {
	b := &Budget{Pos: n.Pos()}
	d.mapping(n, "a budget",
		required("ratio", d.ratio(&b.Ratio)),
		optional("per", d.oneOf(&b.Per, "first_try", "success")),
	)
	return b
}
