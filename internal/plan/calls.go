package plan

import (
	"slices"
	"time"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/quantity"
	"github.com/relplan/relplan/internal/yamlx"
)

func (d *decoder) calls(f *File, n *yamlx.Node) {
	d.each(n, "services", func(name string, pos diag.Pos, v *yamlx.Node) {
		node := &Node{Name: name, Pos: pos}
		f.Nodes = append(f.Nodes, node)
		fields := []field{
			optional("parallel", d.flag(&node.Parallel)),
			optional("cost", d.number(&node.Cost, 0)),
			optional("failure", d.probability(&node.Failure)),
			optional("domain", d.text(&node.Domain)),
			optional("latency", func(v *yamlx.Node) { node.Latency = d.latency(v) }),
			optional("from", func(v *yamlx.Node) { node.From = d.from(v) }),
			optional("calls", func(v *yamlx.Node) {
				d.items(v, "a list of calls such as {to: orders, attempts: 2}", func(item *yamlx.Node) {
					node.Calls = append(node.Calls, d.call(item))
				})
			}),
		}
		d.mapping(v, "a service", append(fields, d.stormNode(&node.Storm)...)...)
	})
}

func (d *decoder) call(n *yamlx.Node) *Call {
	c := &Call{Pos: n.Pos()}
	c.LayerSpec.Pos = n.Pos()
	fields := []field{
		required("to", d.text(&c.To)),
		optional("fan_out", d.count(&c.FanOut, 1)),
		optional("weight", d.ratio(&c.Weight)),
		optional("choice", d.text(&c.Choice)),
		optional("method", d.text(&c.Method)),
		optional("key", d.oneOf(&c.Key, "reused", "fresh")),
		optional("failure", d.probability(&c.Failure)),
		optional("target", d.probability(&c.Target)),
		optional("layers", func(v *yamlx.Node) {
			d.items(v, "a list of policies, the outermost first, such as {name: client, attempts: 3}", func(item *yamlx.Node) {
				l := &LayerSpec{Pos: item.Pos()}
				d.mapping(item, "a layer", append(d.layer(l), optional("name", d.text(&l.Name)))...)
				c.Layers = append(c.Layers, l)
			})
		}),
		optional("from", func(v *yamlx.Node) { c.From = d.from(v) }),
	}
	d.mapping(n, "a call", append(append(fields, d.layer(&c.LayerSpec)...), d.stormCall(&c.Storm)...)...)
	d.oneSource(c)
	return c
}

// from names a real configuration and a hop in it.
func (d *decoder) from(n *yamlx.Node) *From {
	f := &From{Pos: n.Pos()}
	d.mapping(n, "from", required("file", d.text(&f.File)), optional("hop", d.text(&f.Hop)))
	return f
}

// oneSource allows one place for the numbers of a call.
func (d *decoder) oneSource(c *Call) {
	if c.From != nil && c.Attempts.Set {
		d.l.Add(diag.Diagnostic{Code: codeValue, Pos: c.Attempts.Pos, Message: "attempts stand in the file named by `from`, expected only one of them"})
	}
	if len(c.Layers) == 0 {
		return
	}
	switch l := &c.LayerSpec; {
	case l.Attempts.Set:
		d.l.Errorf(l.Attempts.Pos, codeValue, "attempts stand beside `layers`, expected only one of them")
	case l.PerTry.Set:
		d.l.Errorf(l.PerTry.Pos, codeValue, "per_try stands beside `layers`, expected only one of them")
	case l.Overall.Set:
		d.l.Errorf(l.Overall.Pos, codeValue, "overall stands beside `layers`, expected only one of them")
	case l.Backoff != nil || l.Budget != nil || l.Hedge != nil || c.From != nil:
		d.l.Errorf(c.Pos, codeValue, "a call has both `layers` and backoff, budget, hedge or from of its own, expected only one of them")
	}
}

// layer reads the keys of one retry policy.
func (d *decoder) layer(l *LayerSpec) []field {
	return []field{
		optional("attempts", d.attempts(l)),
		optional("per_try", d.duration(&l.PerTry)),
		optional("overall", d.duration(&l.Overall)),
		optional("stops_only", d.flag(&l.StopsOnly)),
		optional("timeout_retried", func(v *yamlx.Node) {
			var b bool
			d.flag(&b)(v)
			l.TimeoutRetried = Value[bool]{V: b, Set: true, Pos: v.Pos()}
		}),
		optional("backoff", func(v *yamlx.Node) { l.Backoff = d.backoff(v) }),
		optional("budget", func(v *yamlx.Node) { l.Budget = d.budget(v) }),
		optional("hedge", func(v *yamlx.Node) { l.Hedge = d.hedge(v) }),
	}
}

// attempts reads a count or the word unlimited.
func (d *decoder) attempts(l *LayerSpec) func(*yamlx.Node) {
	return func(v *yamlx.Node) {
		d.describe(&shape{words: []string{"unlimited"}})
		if v.Kind() == yamlx.Scalar && v.Value() == "unlimited" {
			l.Unlimited = true
			l.Attempts = Value[int64]{V: 1, Set: true, Pos: v.Pos()}
			return
		}
		d.count(&l.Attempts, 1)(v)
	}
}

func (d *decoder) hedge(n *yamlx.Node) *HedgeSpec {
	h := &HedgeSpec{Pos: n.Pos()}
	if d.short(n, d.duration(&h.Delay)) { // hedge: 50ms
		return h
	}
	d.mapping(n, "a hedge", required("delay", d.duration(&h.Delay)), optional("slow", d.probability(&h.Slow)))
	return h
}

func (d *decoder) backoff(n *yamlx.Node) *Backoff {
	b := &Backoff{}
	d.mapping(n, "a backoff",
		required("base", d.duration(&b.Base)),
		optional("factor", d.number(&b.Factor, 1)),
		optional("step", d.duration(&b.Step)),
		optional("max", d.duration(&b.Max)),
		optional("jitter", d.oneOf(&b.Jitter, "none", "full", "equal", "decorrelated", "spread")),
		optional("spread", d.probability(&b.Spread)),
	)
	if (b.Jitter.V == "spread") != b.Spread.Set {
		d.l.Add(diag.Diagnostic{Code: codeValue, Pos: n.Pos(), Message: "jitter: spread and spread: 20% belong together", Hint: "write {base: 100ms, jitter: spread, spread: 20%}"})
	}
	return b
}

func (d *decoder) budget(n *yamlx.Node) *Budget {
	b := &Budget{Pos: n.Pos()}
	var rate, floor Value[quantity.Rate]
	fields := []field{
		optional("ratio", d.ratio(&b.Ratio)),
		optional("per", d.oneOf(&b.Per, "first_try", "success", "active")),
		optional("floor", d.rate(&floor)),
		optional("rate", d.rate(&rate)),
		optional("bucket", d.count(&b.Bucket, 0)),
	}
	d.mapping(n, "a budget", append(fields, d.stormBudget(&b.Storm)...)...)
	if !b.Ratio.Set && !b.Storm.Kind.Set {
		d.l.Add(diag.Diagnostic{Code: codeKey, Pos: n.Pos(), Message: "a budget needs the key 'ratio'", Expected: "ratio", Hint: "budget: {ratio: 20%, per: first_try}"})
	}
	b.Rate = Value[float64]{V: rate.V.PerSecond(), Set: rate.Set, Pos: rate.Pos}
	b.Floor = Value[float64]{V: floor.V.PerSecond(), Set: floor.Set, Pos: floor.Pos}
	if b.Floor.Set && !b.Rate.Set && !b.Storm.Kind.Set {
		d.l.Add(diag.Diagnostic{Code: codeValue, Pos: b.Floor.Pos, Message: "a floor needs the rate of one client beside it", Hint: "add rate: 50/s, the first tries of one client"})
	}
	return b
}

// probability reads a share of at most 100%.
func (d *decoder) probability(out *Value[float64]) func(*yamlx.Node) {
	return parsed(d, out, func(s string) (float64, error) {
		v, err := quantity.ParseRatio(s)
		if err == nil && (v < 0 || v > 1) {
			err = &quantity.SyntaxError{Text: s, Expected: "a probability from 0% to 100%"}
		}
		return v, err
	})
}

func (d *decoder) latency(n *yamlx.Node) *LatencySpec {
	l := &LatencySpec{Pos: n.Pos()}
	fields := []field{optional("samples", d.text(&l.Samples))}
	if n.Kind() == yamlx.Mapping {
		for _, e := range n.Entries() {
			p, ok := Quantile(e.Key.Value())
			if !ok {
				continue
			}
			fields = append(fields, optional(e.Key.Value(), func(v *yamlx.Node) {
				var t Value[time.Duration]
				d.duration(&t)(v)
				l.Points = append(l.Points, LatencyPoint{P: p, T: t})
			}))
		}
	}
	d.mapping(n, "a latency", fields...)
	if !l.Samples.Set && len(l.Points) < 2 {
		d.l.Add(diag.Diagnostic{Code: codeValue, Pos: n.Pos(), Message: "a latency needs two percentiles or samples", Hint: "latency: {p50: 20ms, p99: 120ms} or latency: {samples: bank.txt}"})
	}
	if l.Samples.Set && len(l.Points) > 0 {
		d.l.Errorf(l.Samples.Pos, codeValue, "a latency has both percentiles and samples, expected one of them")
	}
	return l
}

func (d *decoder) domains(f *File, n *yamlx.Node) {
	d.each(n, "failure domains", func(name string, pos diag.Pos, v *yamlx.Node) {
		x := &FailureDomain{Name: name, Pos: pos}
		f.Domains = append(f.Domains, x)
		d.mapping(v, "a failure domain",
			required("outage", d.probability(&x.Outage)),
			optional("out", d.probability(&x.Out)),
			optional("mean", d.duration(&x.Mean)),
		)
	})
}

// checkCalls reports what a single key cannot show.
func (f *File) checkCalls(l *diag.List) {
	var domains []string
	for _, x := range f.Domains {
		domains = append(domains, x.Name)
	}
	for _, n := range f.Nodes {
		defined(l, n.Domain, "failure domain", domains)
		for _, c := range n.Calls {
			if c.Weight.Set && !slices.ContainsFunc(n.Calls, func(o *Call) bool { return o != c && o.Weight.Set && o.Choice.V == c.Choice.V }) {
				l.Add(diag.Diagnostic{Code: codeValue, Pos: c.Weight.Pos, Message: "a weight makes a call one of several alternatives, found no other with a weight",
					Hint: "give the other alternatives their weight, or leave it out"})
			}
		}
	}
}
