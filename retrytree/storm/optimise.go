package storm

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/relplan/relplan/retrytree/storm/budget"
	"github.com/relplan/relplan/retrytree/storm/des"
	"github.com/relplan/relplan/retrytree/storm/fluid"
)

// Effort ranks changes by what they cost the people who make them.
type Effort uint8

// The ranks, cheapest first.
const (
	// ClientConfig is a number in the configuration of a client.
	ClientConfig Effort = iota + 1
	// ServerConfig is a number in the configuration of the callee.
	ServerConfig
	// ServerRule needs another queueing rule or deadlines at the callee.
	ServerRule
	// Patience makes clients wait longer.
	Patience
	// Code needs cancellation through the call tree.
	Code
	// Hardware needs more servers.
	Hardware
)

// String names the rank.
func (e Effort) String() string {
	return [...]string{"", "client setting", "server setting", "server rule", "longer waits", "code", "hardware"}[e]
}

// Change is one way to survive a disturbance.
type Change struct {
	// Text says what to change, Why why it helps.
	Text, Why string
	Effort    Effort
	System    *System
	// State of the edge by the fixed-point solver after the change.
	State State
	// Verdict of the simulation; Survives when no run tipped or was still
	// undecided at the horizon.
	Verdict  Verdict
	Survives bool
	// Goodput is the share of first tries that succeed before any trigger.
	Goodput float64
}

// Optimise proposes changes that let the edge survive the trigger, simulates
// each of them, and returns them with the cheapest that survives first: fewer
// people involved, then more requests that succeed without a disturbance.
func Optimise(ctx context.Context, s *System, edge int, tr Trigger, o SimOptions) ([]Change, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if edge < 0 || edge >= len(s.Edges) {
		return nil, fmt.Errorf("no edge %d", edge)
	}
	v, ok := s.look(edge, s.flow())
	if !ok || v.timeout == 0 {
		return nil, fmt.Errorf("%s has no capacity limit or no timeout: nothing to optimise", s.EdgeName(edge))
	}
	o = o.filled()
	o.MaxEvents /= 2
	if o.Tail == 0 { // the same for changes with longer timeouts
		o.Tail = time.Duration(400 * s.slowest() * 1e9)
	}
	cs := s.candidates(v, tr, o)
	for i := range cs {
		c := &cs[i]
		if w, ok := c.System.look(edge, c.System.flow()); ok {
			if er, err := c.System.edge(ctx, w, Options{Triggers: []Trigger{}}); err == nil {
				c.State = er.State
			}
		}
		var err error
		if c.Verdict, err = c.System.Simulate(ctx, tr, o); err != nil {
			return nil, err
		}
		c.Survives = c.Verdict.Tipped == 0 && c.Verdict.Undecided == 0
		if c.Goodput, err = c.System.healthyGoodput(ctx, o); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(cs, func(a, b Change) int {
		switch {
		case a.Survives != b.Survives:
			return choose(a.Survives, -1, 1)
		case a.Effort != b.Effort:
			return int(a.Effort) - int(b.Effort)
		case math.Abs(a.Goodput-b.Goodput) > .005:
			return choose(a.Goodput > b.Goodput, -1, 1)
		}
		return 0 // the order of candidates: what keeps most of the attempts
	})
	return cs, nil
}

func choose[T any](c bool, a, b T) T {
	if c {
		return a
	}
	return b
}

// healthyGoodput simulates the system without a trigger.
func (s *System) healthyGoodput(ctx context.Context, o SimOptions) (float64, error) {
	sys, _, _ := s.fit(o, Trigger{}, 1, 1)
	cfg := sys.Experiment(o)
	cfg.Classify.Stop = false
	cfg.Warmup = sys.settle()
	cfg.Horizon = cfg.Warmup + time.Duration(20*sys.slowest()*1e9)
	sim, err := des.New(cfg)
	if err != nil {
		return 0, err
	}
	r, err := sim.RunContext(ctx, o.Seed)
	if err != nil {
		return 0, err
	}
	return math.Min(1, r.Goodput(&cfg)), nil
}

// candidates lists single changes, then pairs of the cheap ones.
func (s *System) candidates(v view, tr Trigger, o SimOptions) []Change {
	var cs []Change
	add := func(c *Change) {
		if c != nil {
			cs = append(cs, *c)
		}
	}
	budget := s.withBudget(v, tr, o)
	room := s.withRoom(v)
	add(budget)
	add(s.withAttempts(v))
	add(s.withTimeout(v, tr))
	add(room)
	if budget != nil && room != nil {
		c := *room
		c.System = budget.System.Clone()
		c.System.Nodes[s.Edges[v.edge].To].Queue = room.System.Nodes[s.Edges[v.edge].To].Queue
		c.Text = budget.Text + "; " + room.Text
		c.Why = "both"
		add(&c)
	}
	to := s.Edges[v.edge].To
	name := s.Nodes[to].Name
	rule := func(text, why string, effort Effort, set func(*System)) {
		c := s.Clone()
		set(c)
		cs = append(cs, Change{Text: text, Why: why, Effort: effort, System: c})
	}
	if s.Nodes[to].Order == des.FIFO {
		rule(fmt.Sprintf("serve the newest first (LIFO) at %s", name), "what is served still has a client waiting", ServerRule,
			func(c *System) { c.Nodes[to].Order = des.LIFO })
	}
	if !s.Nodes[to].Admit {
		rule(fmt.Sprintf("refuse at %s what cannot be finished in its remaining time", name), "no work is done for nobody", ServerRule,
			func(c *System) { c.Nodes[to].Admit = true })
	}
	if s.Edges[v.edge].Cancel == des.CancelNone {
		rule(fmt.Sprintf("cancel the work of %s when its client gives up", s.EdgeName(v.edge)), "late work leaves the queue", Code,
			func(c *System) { c.Edges[v.edge].Cancel = des.CancelDequeue })
	}
	if f := v.worst * v.load / v.capacity * 1.03; f > 1 && f < 20 && s.Nodes[to].Servers > 0 {
		rule(fmt.Sprintf("%d instead of %d servers at %s", int(math.Ceil(f*float64(s.Nodes[to].Servers))), s.Nodes[to].Servers, name),
			"even all attempts of all clients fit", Hardware,
			func(c *System) { c.Nodes[to].Servers = int(math.Ceil(f * float64(s.Nodes[to].Servers))) })
	}
	return cs
}

// withBudget gives every layer on the path the largest whole per cent that
// keeps the worst case 1 % below capacity and, by the fluid model, lets the
// backlog of the disturbance drain within half of the simulated time.
func (s *System) withBudget(v view, tr Trigger, o SimOptions) *Change {
	var edges []int
	for _, pi := range v.path {
		if s.Edges[pi].Attempts > 1 {
			edges = append(edges, pi)
		}
	}
	if len(edges) == 0 || v.load >= v.capacity {
		return nil
	}
	r := math.Floor((math.Pow(.99*v.capacity/v.load, 1/float64(len(edges)))-1)*100) / 100
	if r < .01 {
		return nil
	}
	r = math.Min(r, 1)
	half := 200 * s.slowest()
	if o.Tail > 0 {
		half = seconds(o.Tail) / 2
	}
	if kind, size, ok := (&EdgeReport{Index: v.edge, view: v}).fluidTrigger(tr, s); ok && v.station.Servers > 0 {
		for ; r > .015; r -= .01 {
			m := v.fluid(s)
			m.Step = v.timeout / 200
			m.Ratio = math.Pow(1+r, float64(len(edges))) - 1
			m.Horizon = half
			if out, err := m.Run(fluid.Trigger{Kind: kind, Size: size, Duration: seconds(tr.For)}); err == nil && out.Decided && !out.Tipped && out.Recovery < half {
				break
			}
		}
		r = math.Round(r*100) / 100
	}
	c := s.Clone()
	var names []string
	for _, pi := range edges {
		c.Edges[pi].Budget = budgetOf(r)
		names = append(names, s.EdgeName(pi))
	}
	return &Change{Text: fmt.Sprintf("retry budget of %.0f %% of first tries on %s", r*100, strings.Join(names, " and ")),
		Why: "when everything fails, the callee still keeps up with all attempts", Effort: ClientConfig, System: c}
}

// withAttempts lowers attempts, the outer layers first, until the worst case
// fits.
func (s *System) withAttempts(v view) *Change {
	c := s.Clone()
	worst := 1.0
	for _, pi := range v.path {
		worst *= float64(c.Edges[pi].Attempts)
	}
	var text []string
	for _, pi := range v.path {
		was := c.Edges[pi].Attempts
		for c.Edges[pi].Attempts > 1 && worst*v.load > .99*v.capacity {
			worst *= float64(c.Edges[pi].Attempts-1) / float64(c.Edges[pi].Attempts)
			c.Edges[pi].Attempts--
		}
		if c.Edges[pi].Attempts != was {
			text = append(text, fmt.Sprintf("%d instead of %d attempts on %s", c.Edges[pi].Attempts, was, s.EdgeName(pi)))
		}
	}
	if len(text) == 0 || worst*v.load > v.capacity {
		return nil
	}
	return &Change{Text: strings.Join(text, ", "), Why: "fewer attempts when everything fails", Effort: ClientConfig, System: c}
}

// withTimeout looks for the shortest longer timeout under which the fluid
// model survives.
func (s *System) withTimeout(v view, tr Trigger) *Change {
	r := &EdgeReport{Index: v.edge, view: v}
	kind, size, ok := r.fluidTrigger(tr, s)
	if !ok {
		return nil
	}
	for f := 1.25; f <= 64; f *= 1.25 {
		m := v.fluid(s)
		m.Timeout *= f
		m.Step *= f
		out, err := m.Run(fluid.Trigger{Kind: kind, Size: size, Duration: 1.1 * seconds(tr.For)})
		if err != nil {
			return nil
		}
		if !out.Tipped && out.Decided {
			c := s.Clone()
			e := &c.Edges[v.edge]
			was := e.Timeout
			e.Timeout = (time.Duration(float64(was) * f)).Round(10 * time.Millisecond)
			for _, pi := range v.path[:len(v.path)-1] {
				if p := &c.Edges[pi]; p.Timeout > 0 { // callers must outwait it
					p.Timeout = max(p.Timeout, e.Timeout+e.Timeout/10)
				}
			}
			if e.Timeout == 0 {
				return nil
			}
			return &Change{Text: fmt.Sprintf("timeout of %v instead of %v on %s", e.Timeout, was, s.EdgeName(v.edge)),
				Why: "the first attempts outlast the disturbance; clients wait longer", Effort: Patience, System: c}
		}
	}
	return nil
}

// withRoom bounds the queue to what is worked off within 80 % of the timeout.
func (s *System) withRoom(v view) *Change {
	if v.station.Servers == 0 {
		return nil
	}
	room := int(.8*v.capacity*v.timeout) - v.station.Servers
	if room < 1 || v.station.Room != 0 && v.station.Room <= room {
		return nil
	}
	c := s.Clone()
	to := s.Edges[v.edge].To
	c.Nodes[to].Queue = room
	return &Change{Text: fmt.Sprintf("at most %d waiting at %s", room, s.Nodes[to].Name),
		Why: "what is admitted is finished before its client gives up; the rest is refused at once", Effort: ServerConfig, System: c}
}

func budgetOf(r float64) budget.Policy {
	return budget.Policy{Kind: budget.FirstTry, Ratio: r, Max: 10}
}

// Variant is one policy to compare.
type Variant struct {
	Name   string
	System *System
}

// Compared is a variant with its analysis.
type Compared struct {
	Variant
	Report *Report
}

// Compare analyses every variant with the same random numbers.
func Compare(ctx context.Context, vs []Variant, o Options) ([]Compared, error) {
	var out []Compared
	for _, v := range vs {
		r, err := Analyse(ctx, v.System, o)
		if err != nil {
			return nil, fmt.Errorf("policy %q: %w", v.Name, err)
		}
		out = append(out, Compared{v, r})
	}
	return out, nil
}
