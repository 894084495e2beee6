package plan

import (
	"strings"
	"time"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/quantity"
	"github.com/relplan/relplan/internal/yamlx"
	"github.com/relplan/relplan/retrytree/storm"
	"github.com/relplan/relplan/retrytree/storm/budget"
	"github.com/relplan/relplan/retrytree/storm/des"
)

// StormNode is what `retry storm` reads of a service. Every field is optional;
// pointers of the simulator's own parts are nil when not given.
type StormNode struct {
	Servers     Value[int64]
	Service     *des.Dist
	ServicePos  diag.Pos
	Contention  Value[time.Duration] // added to the service time for each request in service
	Queue       Value[int64]         // waiting room; -1 none, 0 unbounded
	Discipline  Value[string]
	LIFOAbove   Value[int64]
	Admission   Value[string]
	Hold        Value[bool]
	RejectWork  Value[time.Duration]
	Clients     Value[int64]
	Load        Value[quantity.Rate]
	Workload    Value[string] // load: {workload: payments}
	Closed      *des.Source   // load: {clients: 100, think: 1s}
	Cancel      Value[string]
	CancelDelay Value[time.Duration]
	CoDel       *des.CoDel
	Limit       *des.Limit
	Shed        *des.Shed
	Triggers    []storm.Trigger // Target is set when the system is built
}

// StormCall is what `retry storm` reads of a call beside the common fields.
type StormCall struct {
	Breaker     *des.Breaker
	Throttle    Value[float64]
	Network     *des.Dist
	Propagate   Value[bool]
	Margin      Value[time.Duration]
	Probability Value[float64]
	RetryOn     []string
	Cancel      Value[string]
	Cold        *storm.Trigger
}

// StormBudget is what `retry storm` reads of a budget beside the common keys.
type StormBudget struct {
	Kind              Value[string]
	Initial           Value[float64] // tokens
	Cost, TimeoutCost Value[float64] // tokens
	Window            Value[time.Duration]
	Min               Value[int64]
}

// StormOptions is the section `storm`: how to simulate.
type StormOptions struct {
	Runs, Seed, Steps Value[int64]
	Tail              Value[time.Duration]
}

func (d *decoder) storm(f *File, n *yamlx.Node) {
	o := &f.Storm
	d.mapping(n, "storm",
		optional("runs", d.count(&o.Runs, 2)),
		optional("seed", d.count(&o.Seed, 0)),
		optional("steps", d.count(&o.Steps, 1)),
		optional("tail", d.duration(&o.Tail)),
	)
}

// boolean reads true or false with its position.
func (d *decoder) boolean(out *Value[bool]) func(*yamlx.Node) {
	return func(n *yamlx.Node) {
		v, ok := n.Bool()
		if !ok {
			d.want(n, "true or false")
			return
		}
		*out = Value[bool]{V: v, Set: true, Pos: n.Pos()}
	}
}

// stormNode lists the fields of a service that only `retry storm` uses.
func (d *decoder) stormNode(s *StormNode) []field {
	return []field{
		optional("servers", d.count(&s.Servers, 1)),
		optional("service", func(n *yamlx.Node) { s.Service, s.ServicePos = d.dist(n), n.Pos() }),
		optional("contention", d.duration(&s.Contention)),
		optional("queue", d.queue(&s.Queue)),
		optional("discipline", d.oneOf(&s.Discipline, "fifo", "lifo", "adaptive_lifo")),
		optional("lifo_above", d.count(&s.LIFOAbove, 0)),
		optional("admission", d.oneOf(&s.Admission, "none", "expired", "deadline")),
		optional("hold", d.boolean(&s.Hold)),
		optional("reject_work", d.duration(&s.RejectWork)),
		optional("clients", d.count(&s.Clients, 1)),
		optional("load", func(n *yamlx.Node) { d.stormLoad(s, n) }),
		optional("cancel", d.oneOf(&s.Cancel, cancelWords...)),
		optional("cancel_delay", d.duration(&s.CancelDelay)),
		optional("codel", func(n *yamlx.Node) { s.CoDel = d.codel(n) }),
		optional("limit", func(n *yamlx.Node) { s.Limit = d.limit(n) }),
		optional("shed", func(n *yamlx.Node) { s.Shed = d.shed(n) }),
		optional("triggers", func(n *yamlx.Node) { s.Triggers = d.triggers(n) }),
	}
}

var (
	cancelWords = []string{"none", "dequeue", "preempt"}
	retryWords  = []string{"timeout", "rejected", "error"}
	limitWords  = []string{"", "aimd", "vegas", "gradient"}
)

// stormCall lists the fields of a call that only `retry storm` uses.
func (d *decoder) stormCall(s *StormCall) []field {
	return []field{
		optional("breaker", func(n *yamlx.Node) { s.Breaker = d.breaker(n) }),
		optional("throttle", d.number(&s.Throttle, 1)),
		optional("network", func(n *yamlx.Node) { s.Network = d.dist(n) }),
		optional("propagate", d.boolean(&s.Propagate)),
		optional("margin", d.duration(&s.Margin)),
		optional("probability", d.ratio(&s.Probability)),
		optional("retry_on", func(n *yamlx.Node) { s.RetryOn = d.words(n, retryWords) }),
		optional("cancel", d.oneOf(&s.Cancel, cancelWords...)),
		optional("cold", func(n *yamlx.Node) { s.Cold = d.cold(n) }),
	}
}

// stormBudget lists the fields of a budget beside the common ones.
func (d *decoder) stormBudget(s *StormBudget) []field {
	return []field{
		optional("kind", d.oneOf(&s.Kind, budget.Kinds()[1:]...)),
		optional("initial", d.number(&s.Initial, 0)),
		optional("cost", d.number(&s.Cost, 0)),
		optional("timeout_cost", d.number(&s.TimeoutCost, 0)),
		optional("window", d.duration(&s.Window)),
		optional("min", d.count(&s.Min, 0)),
	}
}

// words reads a list of words out of known.
func (d *decoder) words(n *yamlx.Node, known []string) []string {
	out := []string{}
	d.items(n, "a list of "+strings.Join(known, ", "), func(item *yamlx.Node) {
		var v Value[string]
		d.oneOf(&v, known...)(item)
		if v.Set {
			out = append(out, v.V)
		}
	})
	return out
}

// dist reads 40ms (exponential) or {mean: 40ms, distribution: lognormal, cv: 1.5}
// or {samples: [10ms, 12ms]}.
func (d *decoder) dist(n *yamlx.Node) *des.Dist {
	var mean Value[time.Duration]
	if d.short(n, d.duration(&mean)) {
		return &des.Dist{Kind: des.Exponential, Mean: mean.V}
	}
	var kind Value[string]
	var cv Value[float64]
	var phases Value[int64]
	var samples []time.Duration
	kinds := des.DistKinds()
	d.mapping(n, "a time",
		optional("mean", d.duration(&mean)),
		optional("distribution", d.oneOf(&kind, kinds[:len(kinds)-1]...)),
		optional("cv", d.number(&cv, 0)),
		optional("phases", d.count(&phases, 1)),
		optional("samples", func(v *yamlx.Node) {
			if v.Kind() != yamlx.Sequence || len(v.Items()) == 0 {
				d.want(v, "a list of times such as [10ms, 12ms, 80ms]")
				return
			}
			for _, item := range v.Items() {
				var s Value[time.Duration]
				d.duration(&s)(item)
				samples = append(samples, s.V)
			}
		}),
	)
	out := &des.Dist{Kind: des.Exponential, Mean: mean.V, CV: cv.V, Phases: int(phases.V), Samples: samples}
	for i, k := range kinds {
		if kind.V == k {
			out.Kind = des.DistKind(i)
		}
	}
	switch {
	case len(samples) > 0 && (mean.Set || kind.Set):
		d.l.Errorf(n.Pos(), codeValue, "a time has samples or a mean, found both")
	case len(samples) > 0:
		out.Kind = des.Empirical
	case !mean.Set:
		d.l.Add(diag.Diagnostic{Code: codeValue, Pos: n.Pos(), Message: "a time needs a mean or samples", Hint: "service: 40ms or service: {mean: 40ms, distribution: lognormal, cv: 1.5}"})
	case (out.Kind == des.LogNormal || out.Kind == des.Hyper) && !cv.Set:
		out.CV = 1
		if out.Kind == des.Hyper {
			out.CV = 2
		}
	case out.Kind == des.Erlang && !phases.Set:
		out.Phases = 4
	case out.Kind == des.Hyper && cv.V < 1:
		d.l.Errorf(cv.Pos, codeValue, "a hyperexponential time has a cv of at least 1, found %g", cv.V)
	}
	return out
}

// queue reads a number of places, unbounded or none.
func (d *decoder) queue(out *Value[int64]) func(*yamlx.Node) {
	return parsed(d, out, func(s string) (int64, error) {
		switch s {
		case "unbounded":
			return 0, nil
		case "none":
			return -1, nil
		}
		v, err := quantity.ParseCount(s)
		if err != nil || v < 0 || v > 1e7 {
			return 0, &quantity.SyntaxError{Text: s, Expected: "a number of places up to 10 million, unbounded or none"}
		}
		if v == 0 {
			return -1, nil
		}
		return v, nil
	})
}

// stormLoad reads 280/s, {workload: payments} or {clients: 100, think: 1s}.
func (d *decoder) stormLoad(s *StormNode, n *yamlx.Node) {
	if d.short(n, d.rate(&s.Load)) {
		return
	}
	var clients Value[int64]
	var think *des.Dist
	d.mapping(n, "a load",
		optional("rate", d.rate(&s.Load)),
		optional("workload", d.text(&s.Workload)),
		optional("clients", d.count(&clients, 1)),
		optional("think", func(v *yamlx.Node) { think = d.dist(v) }),
	)
	if clients.Set {
		s.Closed = &des.Source{Clients: int(clients.V)}
		if think != nil {
			s.Closed.Think = *think
		}
	}
	given := 0
	for _, set := range []bool{s.Load.Set, s.Workload.Set, clients.Set} {
		if set {
			given++
		}
	}
	if given != 1 {
		d.l.Add(diag.Diagnostic{Code: codeValue, Pos: n.Pos(), Message: "a load is one of rate, workload and clients", Hint: "load: 280/s, load: {workload: payments} or load: {clients: 100, think: 1s}"})
	}
}

func (d *decoder) codel(n *yamlx.Node) *des.CoDel {
	var target, interval Value[time.Duration]
	d.mapping(n, "codel", required("target", d.duration(&target)), optional("interval", d.duration(&interval)))
	return &des.CoDel{Target: target.V, Interval: interval.V}
}

func (d *decoder) limit(n *yamlx.Node) *des.Limit {
	var kind Value[string]
	var initial, low, high Value[float64]
	var slow Value[time.Duration]
	d.mapping(n, "a limit", required("kind", d.oneOf(&kind, limitWords[1:]...)), optional("initial", d.number(&initial, 1)),
		optional("min", d.number(&low, 1)), optional("max", d.number(&high, 1)), optional("slow", d.duration(&slow)))
	l := &des.Limit{Initial: initial.V, Min: low.V, Max: high.V, Slow: slow.V}
	for i, w := range limitWords {
		if w == kind.V {
			l.Kind = des.LimitKind(i)
		}
	}
	return l
}

func (d *decoder) shed(n *yamlx.Node) *des.Shed {
	var wait, period Value[time.Duration]
	d.mapping(n, "shed", required("wait", d.duration(&wait)), optional("period", d.duration(&period)))
	return &des.Shed{Wait: wait.V, Period: period.V}
}

func (d *decoder) breaker(n *yamlx.Node) *des.Breaker {
	var window, probes Value[int64]
	var ratio Value[float64]
	var open Value[time.Duration]
	d.mapping(n, "a breaker", required("window", d.count(&window, 1)), required("ratio", d.ratio(&ratio)),
		required("open", d.duration(&open)), optional("probes", d.count(&probes, 1)))
	if window.V > 256 {
		d.l.Errorf(window.Pos, codeValue, "expected a breaker window of at most 256 attempts, found %d", window.V)
	}
	return &des.Breaker{Window: int(min(window.V, 256)), Ratio: ratio.V, Open: open.V, Probes: int(probes.V)}
}

// triggers reads a list such as [{outage: 10s}, {capacity: 80%, for: 10s}].
func (d *decoder) triggers(n *yamlx.Node) []storm.Trigger {
	if n.Kind() != yamlx.Sequence {
		d.want(n, "a list of triggers such as [{outage: 10s}]")
		return nil
	}
	var out []storm.Trigger
	for _, item := range n.Items() {
		var t storm.Trigger
		var outage, refuse, latency, lasts Value[time.Duration]
		var cut, spike Value[float64]
		d.mapping(item, "a trigger",
			optional("outage", d.duration(&outage)), optional("refuse", d.duration(&refuse)),
			optional("capacity", d.ratio(&cut)), optional("latency", d.duration(&latency)),
			optional("spike", d.number(&spike, 0)), optional("for", d.duration(&lasts)))
		t.For = lasts.V
		kinds := 0
		set := func(on bool, kind des.TriggerKind) {
			if on {
				kinds++
				t.Kind = kind
			}
		}
		set(outage.Set, des.Outage)
		set(refuse.Set, des.Refuse)
		set(cut.Set, des.Capacity)
		set(latency.Set, des.Latency)
		set(spike.Set, des.Spike)
		switch {
		case kinds != 1:
			d.l.Add(diag.Diagnostic{Code: codeValue, Pos: item.Pos(), Message: "a trigger is one of outage, refuse, capacity, latency and spike",
				Hint: "{outage: 10s}, {capacity: 80%, for: 10s}, {latency: 200ms, for: 30s} or {spike: 2, for: 5s}"})
		case (outage.Set || refuse.Set) && lasts.Set:
			d.l.Errorf(lasts.Pos, codeValue, "an outage says how long it lasts itself, expected no `for`")
		case !outage.Set && !refuse.Set && !lasts.Set:
			d.l.Add(diag.Diagnostic{Code: codeKey, Pos: item.Pos(), Message: "the trigger needs the key 'for': a disturbance ends", Expected: "for"})
		}
		t.For += outage.V + refuse.V
		t.Size, t.Delay = cut.V+spike.V, latency.V
		out = append(out, t)
	}
	return out
}

// cold reads {miss: 100%, for: 60s}: the share of calls made while the cache is
// cold.
func (d *decoder) cold(n *yamlx.Node) *storm.Trigger {
	var miss Value[float64]
	var lasts Value[time.Duration]
	d.mapping(n, "cold", required("miss", d.ratio(&miss)), required("for", d.duration(&lasts)))
	return &storm.Trigger{Kind: des.ColdCache, Size: miss.V, For: lasts.V}
}
