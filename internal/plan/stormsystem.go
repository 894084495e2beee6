package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/retrytree"
	"github.com/relplan/relplan/retrytree/storm"
	"github.com/relplan/relplan/retrytree/storm/budget"
	"github.com/relplan/relplan/retrytree/storm/des"
)

// StormPlan is the part of a plan that `retry storm` works on.
type StormPlan struct {
	System   *storm.System
	Triggers []storm.Trigger
	// Loaded tells whether the plan or the caller gives a load.
	Loaded bool
	// Roots are the services that nothing calls.
	Roots []string
	// Notes say what was assumed of the plan.
	Notes []string

	file  *File
	index map[string]int
	calls []*Call // the call of an edge, nil for load from outside
}

// StormSystem builds the system of the call graph. load is a rate at the roots
// that replaces those of the plan, 0 to keep them.
func (f *File) StormSystem(load float64) (*StormPlan, error) {
	var l diag.List
	p := &StormPlan{System: &storm.System{}, file: f, index: map[string]int{}}
	if err := f.needCalls(); err != nil {
		return nil, err
	}
	if err := f.resolve(); err != nil {
		return nil, err
	}
	if _, err := f.graph(TreeOptions{}); err != nil {
		return nil, err
	}
	for _, name := range f.services() {
		p.index[name] = len(p.System.Nodes)
		p.System.Nodes = append(p.System.Nodes, des.Node{Name: name})
	}
	called := map[string]bool{}
	for _, n := range f.Nodes {
		for _, c := range n.Calls {
			called[c.To.V] = true
		}
	}
	for _, n := range f.Nodes {
		i := p.index[n.Name]
		node := &p.System.Nodes[i]
		node.Parallel = n.Parallel
		n.Storm.apply(node, &l)
		node.FailProb = n.Failure.V
		for _, t := range n.Storm.Triggers {
			t.Target = i
			p.Triggers = append(p.Triggers, t)
		}
		for _, c := range n.Calls {
			p.addCall(i, n, c)
		}
	}
	p.cancelOfCallee()
	p.addSources(called, load, &l)
	if err := l.Err(); err != nil {
		return nil, err
	}
	if err := p.System.Validate(); err != nil {
		return nil, diag.New(diag.Pos{File: f.Path}, "%v", err)
	}
	return p, nil
}

// addCall adds the edges of a call, one for each policy on it: outer policies
// end in a service of their own that does no work.
func (p *StormPlan) addCall(from int, n *Node, c *Call) {
	to := p.index[c.To.V]
	low := c.lower()
	name := n.Name + "->" + c.To.V
	for i, l := range low.Layers {
		e := des.Edge{Name: name, From: from, To: to, Clients: int(n.Storm.Clients.Or(1))}
		if i < len(low.Layers)-1 {
			via := l.Name
			if via == "" {
				via = fmt.Sprintf("policy %d", i+1)
			}
			p.System.Nodes = append(p.System.Nodes, des.Node{Name: name + " after " + via})
			e.Name, e.To = name+" by "+via, len(p.System.Nodes)-1
		}
		if i == 0 {
			e.Calls = int(min(low.FanOut, 1e4))
			p.choose(&e, n, c)
		}
		p.lowerLayer(&e, l)
		c.Storm.apply(&e)
		if l := c.layerAt(i); l != nil && l.Budget != nil {
			l.Budget.override(&e.Budget)
		}
		p.System.Edges = append(p.System.Edges, e)
		p.calls = append(p.calls, c)
		from = e.To
	}
	last := &p.System.Edges[len(p.System.Edges)-1]
	last.Lost = c.Failure.V
	if t := c.Storm.Cold; t != nil {
		cold := *t
		cold.Target = len(p.System.Edges) - len(low.Layers)
		p.Triggers = append(p.Triggers, cold)
	}
}

// layerAt is the i-th policy as the plan writes it, nil if it stands elsewhere.
func (c *Call) layerAt(i int) *LayerSpec {
	if len(c.Layers) > 0 {
		return c.Layers[i]
	}
	return &c.LayerSpec
}

// choose gives an alternative the probability of its weight.
func (p *StormPlan) choose(e *des.Edge, n *Node, c *Call) {
	if !c.Weight.Set {
		return
	}
	sum := 0.0
	for _, o := range n.Calls {
		if o.Weight.Set && o.Choice.V == c.Choice.V {
			sum += o.Weight.V
		}
	}
	e.Prob = c.Weight.V / sum
	e.Never = e.Prob == 0
	p.Notes = append(p.Notes, fmt.Sprintf("%s is drawn with probability %.3g, independently of its alternatives", e.Name, e.Prob))
}

// lowerLayer puts a policy, wherever it was read, into an edge.
func (p *StormPlan) lowerLayer(e *des.Edge, l retrytree.Layer) {
	const most = 1000
	e.Attempts = int(min(max(l.Attempts, 1), most))
	if l.Unbounded || l.Attempts > most {
		e.Attempts = most
		p.Notes = append(p.Notes, fmt.Sprintf("%s has no limit of attempts: taken as %d", e.Name, most))
	}
	e.Timeout, e.Deadline, e.NoRetryTimeout = l.PerTry, l.Overall, l.TimeoutEnds
	if l.Waits != nil {
		for k := range int64(min(e.Attempts-1, 64)) {
			low, high := l.Waits.Wait(k + 1)
			e.Backoff.Table = append(e.Backoff.Table, [2]time.Duration{low, high})
		}
		e.Backoff = plainBackoff(e.Backoff)
	}
	if l.Hedge != nil {
		e.Hedge = max(l.Hedge.Delay, 1)
	}
	if b := l.Budget; b != nil {
		e.Budget = budget.Policy{Kind: budget.FirstTry, Ratio: b.Ratio, Max: b.Bucket, Floor: b.Floor}
		switch {
		case b.Kind == retrytree.PerSuccess:
			e.Budget.Kind = budget.Success
		case b.Kind == retrytree.OfActive:
			e.Budget.Kind = budget.Concurrent
		case b.Floor > 0:
			e.Budget.Kind = budget.Window
		}
	}
}

// plainBackoff uses the constant form where every wait is the same: those
// timers are cheaper.
func plainBackoff(b des.Backoff) des.Backoff {
	if len(b.Table) == 0 {
		return des.Backoff{}
	}
	first := b.Table[0]
	for _, w := range b.Table {
		if w != first || w[0] != w[1] {
			return b
		}
	}
	return des.Backoff{Base: first[0]}
}

// cancelOfCallee hands the callee's way of cancelling to its callers' edges.
func (p *StormPlan) cancelOfCallee() {
	for _, n := range p.file.Nodes {
		if !n.Storm.Cancel.Set && !n.Storm.CancelDelay.Set {
			continue
		}
		for i := range p.System.Edges {
			if e := &p.System.Edges[i]; e.To == p.index[n.Name] {
				if e.Cancel == des.CancelNone {
					e.Cancel = cancelOf(n.Storm.Cancel.V)
				}
				e.CancelDelay = n.Storm.CancelDelay.V
			}
		}
	}
}

func cancelOf(word string) des.Cancel {
	return des.Cancel(max(0, slices.Index(cancelWords, word)))
}

// addSources adds the load of the roots.
func (p *StormPlan) addSources(called map[string]bool, load float64, l *diag.List) {
	for _, n := range p.file.Nodes {
		s := n.Storm
		if called[n.Name] {
			if s.Load.Set || s.Workload.Set || s.Closed != nil {
				l.Add(diag.Diagnostic{Code: codeValue, Pos: n.Pos, Message: "service '" + n.Name + "' is called by others and has a load of its own", Hint: "give the load at a service that nothing calls"})
			}
			continue
		}
		if len(n.Calls) == 0 && !s.Load.Set && !s.Workload.Set && s.Closed == nil && s.Service == nil {
			continue
		}
		p.Roots = append(p.Roots, n.Name)
		src := des.Source{Edge: len(p.System.Edges)}
		switch {
		case load > 0:
			src.Rate = load
		case s.Closed != nil:
			src = *s.Closed
			src.Edge = len(p.System.Edges)
		case s.Load.Set:
			src.Rate = s.Load.V.PerSecond()
		case s.Workload.Set:
			src.Rate = p.rateOf(s.Workload, l)
		}
		if src.Rate > 0 || src.Clients > 0 {
			p.Loaded = true
		} else {
			src.Rate = 1 // shows what reaches each service for one request
		}
		p.System.Edges = append(p.System.Edges, des.Edge{Name: "clients->" + n.Name, From: -1, To: p.index[n.Name], Attempts: 1})
		p.System.Sources = append(p.System.Sources, src)
		p.calls = append(p.calls, nil)
	}
}

// rateOf is the peak rate of a workload per second.
func (p *StormPlan) rateOf(name Value[string], l *diag.List) float64 {
	var known []string
	for _, w := range p.file.Workloads {
		known = append(known, w.Name)
		if w.Name == name.V {
			switch {
			case w.Rate.Peak.Set:
				return w.Rate.Peak.V.PerSecond()
			case w.Rate.Mean.Set:
				return w.Rate.Mean.V.PerSecond()
			}
			l.Errorf(name.Pos, codeValue, "workload '%s' has neither a peak nor a mean rate", name.V)
			return 1
		}
	}
	defined(l, name, "workload", known)
	return 1
}

// apply puts what the plan says into a node; what it does not say stays.
func (s *StormNode) apply(n *des.Node, l *diag.List) {
	setInt(&n.Servers, s.Servers)
	setInt(&n.Queue, s.Queue)
	setInt(&n.LIFOAbove, s.LIFOAbove)
	if s.Service != nil {
		n.Service = *s.Service
		if s.Service.MeanNS() <= 0 && n.Servers > 0 {
			l.Errorf(s.ServicePos, codeValue, "a service time of zero has no capacity")
		}
	}
	setValue(&n.Slope, s.Contention)
	setValue(&n.Hold, s.Hold)
	setValue(&n.RejectWork, s.RejectWork)
	if s.Discipline.Set {
		n.Order = des.Order(max(0, slices.Index([]string{"fifo", "lifo", "adaptive_lifo"}, s.Discipline.V)))
	}
	if s.Admission.Set {
		n.DropExpired, n.Admit = s.Admission.V == "expired", s.Admission.V == "deadline"
	}
	if s.CoDel != nil {
		n.CoDel = *s.CoDel
	}
	if s.Limit != nil {
		n.Limit = *s.Limit
	}
	if s.Shed != nil {
		n.Shed = *s.Shed
	}
	if n.Servers > 0 && n.Service.MeanNS() == 0 {
		l.Add(diag.Diagnostic{Code: codeKey, Pos: s.Servers.Pos, Message: "servers without a service time have no capacity", Expected: "service", Hint: "service: 40ms"})
	}
	if n.Servers == 0 && n.Slope == 0 && (s.Queue.Set || s.Discipline.Set || s.Admission.Set) {
		pos := s.Queue.Pos
		if !s.Queue.Set {
			pos = s.Discipline.Pos
			if !s.Discipline.Set {
				pos = s.Admission.Pos
			}
		}
		l.Add(diag.Diagnostic{Code: codeKey, Pos: pos, Message: "a queue needs the number of servers that work it off", Expected: "servers", Hint: "servers: 20"})
	}
}

// apply puts what only `retry storm` reads of a call into an edge.
func (s *StormCall) apply(e *des.Edge) {
	setValue(&e.Throttle, s.Throttle)
	setValue(&e.Propagate, s.Propagate)
	setValue(&e.Margin, s.Margin)
	if s.Breaker != nil {
		e.Breaker = *s.Breaker
	}
	if s.Network != nil {
		e.Network = *s.Network
	}
	if s.Probability.Set {
		e.Prob, e.Never = s.Probability.V, s.Probability.V == 0
	}
	if s.Cancel.Set {
		e.Cancel = cancelOf(s.Cancel.V)
	}
	if s.RetryOn != nil {
		e.NoRetryRejected = !slices.Contains(s.RetryOn, "rejected")
		e.NoRetryError = !slices.Contains(s.RetryOn, "error")
		e.NoRetryTimeout = !slices.Contains(s.RetryOn, "timeout")
	}
}

// override puts the keys that only `retry storm` reads over a budget.
func (b *Budget) override(p *budget.Policy) {
	s := &b.Storm
	p.Initial, p.Cost, p.TimeoutCost, p.TTL, p.Min = s.Initial.V, s.Cost.V, s.TimeoutCost.V, int64(s.Window.V), int(s.Min.V)
	if s.Initial.Set && s.Initial.V == 0 {
		p.Initial = -1
	}
	if s.Kind.Set {
		p.Kind = budget.Kind(max(0, slices.Index(budget.Kinds(), s.Kind.V)))
	}
}

func setInt(out *int, v Value[int64]) {
	if v.Set {
		*out = int(min(v.V, 1<<31))
	}
}

func setValue[T bool | float64 | time.Duration](out *T, v Value[T]) {
	if v.Set {
		*out = v.V
	}
}
