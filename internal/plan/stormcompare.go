package plan

import (
	"fmt"
	"slices"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/yamlx"
)

// StormVariants reads a file of policies to compare: a mapping `policies` from
// a name to what it changes, `calls` by edge (or "*" for every call of the
// plan) and `services` by name.
func (p *StormPlan) StormVariants(path string, src []byte) ([]StormVariant, error) {
	var l diag.List
	docs := yamlx.Parse(path, src, yamlx.Limits{}, &l)
	if l.HasErrors() {
		return nil, l.Err()
	}
	if len(docs) == 0 || docs[0].Kind() != yamlx.Mapping {
		return nil, &diag.Err{Diagnostics: []diag.Diagnostic{{Code: "FILE", Pos: diag.Pos{File: path, Line: 1, Column: 1}, Message: "expected a mapping with the key 'policies'",
			Hint: "policies: {\"10 % budget\": {calls: {\"web->db\": {budget: {ratio: 10%}}}}}"}}}
	}
	d := &decoder{l: &l}
	var out []StormVariant
	d.mapping(docs[0], "a file of policies",
		optional("relplan", func(*yamlx.Node) {}),
		optional("about", func(*yamlx.Node) {}),
		required("policies", func(n *yamlx.Node) {
			d.each(n, "policies", func(name string, _ diag.Pos, v *yamlx.Node) {
				out = append(out, StormVariant{Name: name, System: p.System.Clone()})
				p.variant(d, &out[len(out)-1], v)
			})
		}),
	)
	if err := l.Err(); err != nil {
		return nil, err
	}
	for _, v := range out {
		if err := v.System.Validate(); err != nil {
			return nil, diag.New(diag.Pos{File: path}, "policy %q: %v", v.Name, err)
		}
	}
	return out, nil
}

func (p *StormPlan) variant(d *decoder, v *StormVariant, n *yamlx.Node) {
	if n.Kind() == yamlx.Null {
		return
	}
	d.mapping(n, "a policy",
		optional("calls", func(n *yamlx.Node) {
			d.each(n, "calls", func(name string, pos diag.Pos, n *yamlx.Node) { p.variantCall(d, v, name, pos, n) })
		}),
		optional("services", func(n *yamlx.Node) {
			d.each(n, "services", func(name string, pos diag.Pos, n *yamlx.Node) { p.variantNode(d, v, name, pos, n) })
		}),
	)
}

// variantCall changes the edges of the calls that a name stands for.
func (p *StormPlan) variantCall(d *decoder, v *StormVariant, name string, pos diag.Pos, n *yamlx.Node) {
	c := &Call{Pos: pos}
	fields := append(d.layer(&c.LayerSpec), d.stormCall(&c.Storm)...)
	d.mapping(n, "the change of a call", fields...)
	found := false
	var known []string
	for i, of := range p.calls {
		if of == nil {
			continue
		}
		e := &v.System.Edges[i]
		known = append(known, e.Name)
		if name != "*" && name != e.Name {
			continue
		}
		found = true
		scratch := *p // notes of a policy are not those of the plan
		changed := *e
		scratch.lowerLayer(&changed, c.LayerSpec.lower())
		if c.Attempts.Set {
			e.Attempts = changed.Attempts
		}
		if c.PerTry.Set {
			e.Timeout = changed.Timeout
		}
		if c.Overall.Set {
			e.Deadline = changed.Deadline
		}
		if c.TimeoutRetried.Set {
			e.NoRetryTimeout = changed.NoRetryTimeout
		}
		if c.Backoff != nil || c.Attempts.Set && len(e.Backoff.Table) > 0 {
			if c.Backoff != nil {
				e.Backoff = changed.Backoff
			}
		}
		if c.Budget != nil {
			e.Budget = changed.Budget
			c.Budget.override(&e.Budget)
		}
		if c.Hedge != nil {
			e.Hedge = changed.Hedge
		}
		c.Storm.apply(e)
	}
	if !found {
		p.unknown(d, "call", name, pos, append(known, "*"))
	}
}

func (p *StormPlan) variantNode(d *decoder, v *StormVariant, name string, pos diag.Pos, n *yamlx.Node) {
	i, ok := p.index[name]
	if !ok {
		var known []string
		for k := range p.index {
			known = append(known, k)
		}
		slices.Sort(known)
		p.unknown(d, "service", name, pos, known)
		return
	}
	var s StormNode
	d.mapping(n, "the change of a service", d.stormNode(&s)...)
	s.apply(&v.System.Nodes[i], d.l)
	if s.Cancel.Set || s.CancelDelay.Set {
		for k := range v.System.Edges {
			if e := &v.System.Edges[k]; e.To == i {
				e.Cancel, e.CancelDelay = cancelOf(s.Cancel.V), s.CancelDelay.V
			}
		}
	}
	if s.Load.Set || s.Workload.Set || s.Closed != nil || len(s.Triggers) > 0 {
		d.l.Errorf(pos, codeValue, "a policy changes neither load nor triggers: all are compared under the same")
	}
}

func (p *StormPlan) unknown(d *decoder, what, name string, pos diag.Pos, known []string) {
	g := diag.Diagnostic{Code: codeRef, Pos: pos, Message: fmt.Sprintf("%s '%s' is not in the plan", what, name), Found: "'" + name + "'"}
	if near, ok := diag.Closest(name, known); ok {
		g.Hint = "did you mean: " + near
	}
	d.l.Add(g)
}
