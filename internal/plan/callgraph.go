package plan

import (
	"errors"

	"github.com/relplan/relplan/deadline"
	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/retrytree"
)

// Failure models of the expected amplification.
const (
	ModelTree = "tree" // every service fails by its own fault, failures travel up
	ModelLeaf = "leaf" // only services that call nobody fail
	ModelHop  = "hop"  // every attempt of every hop fails, whatever happens below
)

// TreeOptions are the questions asked beside the plan.
type TreeOptions struct {
	Failure *float64 // of services for which the plan says nothing; nil: none
	Model   string   // ModelTree when empty
}

// graph builds the call graph; mistakes in it are reported at the calls.
func (f *File) graph(o TreeOptions) (*retrytree.Graph, error) {
	nodes := make([]retrytree.Node, 0, len(f.Nodes))
	for _, n := range f.Nodes {
		node := retrytree.Node{Name: n.Name, Parallel: n.Parallel, Cost: n.Cost.V, Failure: n.Failure.V, Domain: n.Domain.V}
		for _, c := range n.Calls {
			node.Calls = append(node.Calls, c.lower())
		}
		nodes = append(nodes, node)
	}
	nodes = o.fail(f, nodes)
	g, err := retrytree.Build(nodes)
	var cycle *retrytree.CycleError
	if errors.As(err, &cycle) {
		return nil, &diag.Err{Diagnostics: []diag.Diagnostic{{Code: "PLAN-CYCLE", Pos: f.callPos(cycle.Path), Message: cycle.Error(),
			Hint: "a call tree has no circle; model a hop limit as separate services"}}}
	}
	if err != nil {
		return nil, f.inputErrors(err)
	}
	return g, nil
}

// fail gives the services without a failure of their own the one asked for.
func (o TreeOptions) fail(f *File, nodes []retrytree.Node) []retrytree.Node {
	if o.Failure == nil {
		return nodes
	}
	known := map[string]bool{}
	for i, n := range f.Nodes {
		known[n.Name] = true
		if !n.Failure.Set && (o.Model != ModelLeaf || len(n.Calls) == 0) {
			nodes[i].Failure = *o.Failure
		}
	}
	for _, name := range f.services() {
		if !known[name] {
			nodes = append(nodes, retrytree.Node{Name: name, Failure: *o.Failure})
		}
	}
	return nodes
}

// inputErrors puts the mistakes that only the calculator sees at their calls.
func (f *File) inputErrors(err error) error {
	var l diag.List
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return diag.New(diag.Pos{File: f.Path}, "%v", err)
	}
	for _, e := range joined.Unwrap() {
		pos := diag.Pos{File: f.Path}
		var in *retrytree.InputError
		if errors.As(e, &in) && in.Index < len(f.Nodes) {
			pos = f.Nodes[in.Index].Pos
			if in.Call >= 0 && in.Call < len(f.Nodes[in.Index].Calls) {
				pos = f.Nodes[in.Index].Calls[in.Call].Pos
			}
		}
		l.Errorf(pos, codeValue, "%v", e)
	}
	return l.Err()
}

// callPos is the place of the call that closes a circle.
func (f *File) callPos(path []string) diag.Pos {
	if len(path) >= 2 {
		from, to := path[len(path)-2], path[len(path)-1]
		for _, n := range f.Nodes {
			for _, c := range n.Calls {
				if n.Name == from && c.To.V == to {
					return c.To.Pos
				}
			}
		}
	}
	return diag.Pos{File: f.Path}
}

func (c *Call) lower() retrytree.Call {
	call := retrytree.Call{To: c.To.V, FanOut: c.FanOut.Or(1), Choice: c.Choice.V, Weight: c.Weight.V, Failure: c.Failure.V, FreshKey: c.Key.V == "fresh"}
	if c.Weight.Set && !c.Choice.Set {
		call.Choice = "weighted"
	}
	switch {
	case len(c.Layers) > 0:
		for _, l := range c.Layers {
			call.Layers = append(call.Layers, l.lower())
		}
	case c.read != nil:
		call.Layers = []retrytree.Layer{c.over(c.read.layer)}
	default:
		call.Layers = []retrytree.Layer{c.LayerSpec.lower()}
	}
	return call
}

func (l *LayerSpec) lower() retrytree.Layer {
	return l.over(retrytree.Layer{Name: l.Name.V, Attempts: 1})
}

// over puts what the plan writes over what is already known of the layer.
func (l *LayerSpec) over(out retrytree.Layer) retrytree.Layer {
	if l.Attempts.Set {
		out.Attempts, out.Unbounded = l.Attempts.V, l.Unlimited
	}
	if l.PerTry.Set {
		out.PerTry = l.PerTry.V
	}
	if l.Overall.Set {
		out.Overall, out.StopsOnly = l.Overall.V, l.StopsOnly
	}
	if l.TimeoutRetried.Set {
		out.TimeoutEnds = !l.TimeoutRetried.V
	}
	if l.Backoff != nil {
		out.Waits = l.Backoff.lower()
	}
	if l.Budget != nil {
		out.Budget = l.Budget.lower()
	}
	if l.Hedge != nil {
		out.Hedge = &retrytree.Hedge{Delay: l.Hedge.Delay.V, Slow: l.Hedge.Slow.V}
	}
	return out
}

func (b *Backoff) lower() deadline.Backoff {
	out := deadline.Backoff{Base: b.Base.V, Factor: b.Factor.Or(1), Step: b.Step.V, Max: b.Max.V, Spread: b.Spread.V}
	if !b.Factor.Set && !b.Step.Set && b.Max.Set {
		out.Factor = 2 // a cap without a growth would never be met
	}
	out.Jitter = map[string]deadline.Jitter{"full": deadline.FullJitter, "equal": deadline.EqualJitter,
		"decorrelated": deadline.Decorrelated, "spread": deadline.SpreadJitter}[b.Jitter.V]
	return out
}

func (b *Budget) lower() *retrytree.Budget {
	out := &retrytree.Budget{Ratio: b.Ratio.V, Floor: b.Floor.V, Rate: b.Rate.V, Bucket: float64(b.Bucket.V)}
	out.Kind = map[string]retrytree.BudgetKind{"success": retrytree.PerSuccess, "active": retrytree.OfActive}[b.Per.V]
	return out
}

// domains are the failure domains of the plan.
func (f *File) domainList() []retrytree.Domain {
	var out []retrytree.Domain
	for _, d := range f.Domains {
		out = append(out, retrytree.Domain{Name: d.Name, Outage: d.Outage.V, Out: d.Out.Or(1), MeanOutage: d.Mean.V})
	}
	return out
}

// entries are the deadlines that name a path of the call graph.
func (f *File) entries() []retrytree.Entry {
	var out []retrytree.Entry
	for _, d := range f.Deadlines {
		if len(d.Path) == 0 {
			continue
		}
		e := retrytree.Entry{Name: d.Name, Budget: d.Budget.V, Spent: d.Spent.V, Margin: d.Margin.V}
		for _, p := range d.Path {
			e.Path = append(e.Path, p.V)
		}
		out = append(out, e)
	}
	return out
}

// planDeadlines carries the deadlines down the graph; a path that is not in it is
// reported at the deadline.
func (f *File) planDeadlines(g *retrytree.Graph) ([]retrytree.CallDeadline, error) {
	entries := f.entries()
	calls, err := g.PlanDeadlines(entries)
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return calls, err
	}
	var l diag.List
	for _, e := range joined.Unwrap() {
		pos := diag.Pos{File: f.Path}
		var at *retrytree.EntryError
		if errors.As(e, &at) {
			pos = f.deadlinePos(entries[at.Index].Name)
		}
		l.Errorf(pos, codeRef, "%v", e)
	}
	return nil, l.Err()
}
