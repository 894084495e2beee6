package storm

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/relplan/relplan/retrytree/storm/des"
	"github.com/relplan/relplan/retrytree/storm/fluid"
	"github.com/relplan/relplan/retrytree/storm/fold"
	"github.com/relplan/relplan/retrytree/storm/markov"
)

// State says what a load does to an edge. The zero value claims nothing.
type State uint8

// The states.
const (
	Unknown State = iota
	// Stable: whatever happened before, the system comes back.
	Stable
	// Vulnerable: healthy, but a disturbance can leave it down for good.
	Vulnerable
	// Collapsed: there is no healthy state at this load.
	Collapsed
)

// String names the state as in the JSON contract.
func (s State) String() string {
	return [...]string{"unknown", "stable", "vulnerable", "collapsed"}[s]
}

// Solver names one of the four.
type Solver string

// The solvers.
const (
	FixedPoint Solver = "fixed-point"
	Fluid      Solver = "fluid"
	Markov     Solver = "markov"
	Simulation Solver = "simulation"
)

// Answer is one number of one solver.
type Answer struct {
	Solver   Solver
	Quantity string // stable_rps, fold_rps, escape, tips_at, recovery, tips, state
	Trigger  string // which trigger, "" if none
	Value    float64
	Unit     string // "/s", "s", "probability" or ""
	// Low and High are an interval at 95 %, both 0 without one.
	Low, High float64
	Runs      int
	Seed      uint64
	// Scale is the factor by which a simulation reduced the rates, 0 or 1 if
	// it did not.
	Scale float64
	// Source is the formula or method, with its assumptions.
	Source string
}

// TriggerReport is what a disturbance does.
type TriggerReport struct {
	Trigger Trigger
	Name    string
	// Tips is the verdict of the simulation on the trigger as given, of the
	// fluid model when nothing was simulated.
	Tips bool
	// TipsAt is the shortest duration, seconds, of this kind and size that
	// tips; Inf if none does. P10 and P90 are those at which 10 and 90 % of
	// simulated runs tip; NaN when not simulated.
	TipsAt, P10, P90 float64
	// Recovery from the trigger as given, seconds; Inf if it tips.
	Recovery float64
	Verdict  *Verdict
}

// EdgeReport is the answer for one edge.
type EdgeReport struct {
	Index    int
	Edge     string
	Callee   string
	Load     float64
	Stable   float64
	Fold     float64
	Capacity float64
	State    State
	// Worst is the number of attempts per first try when everything fails.
	Worst float64
	// EscapeLog is the natural logarithm of the mean time, seconds, until
	// chance alone tips it; Escapes false when there is nothing to escape to.
	EscapeLog float64
	Escapes   bool
	// SavingRatio is the largest retry budget per first try under which this
	// load is stable, negative if even single attempts are too many;
	// SavingAttempts the largest number of attempts.
	SavingRatio    float64
	SavingAttempts int
	// Spare is the rate of attempts beyond the first that the callee can
	// work off: with fewer the system comes back.
	Spare    float64
	Triggers []TriggerReport
	Answers  []Answer
	// Disagreement says where solvers differ by more than their bounds.
	Disagreement []string
	// Assumptions made by the analytic solvers.
	Assumptions []string
	Curve       *fold.Curve

	view view
}

// Options of an analysis.
type Options struct {
	// Triggers to judge; none means an outage of ten timeouts at each callee.
	Triggers []Trigger
	// Simulate asks the simulation too; NoThreshold leaves out the search for
	// the shortest trigger that tips.
	Simulate, NoThreshold bool
	Sim                   SimOptions
}

// Report is the analysis of a system.
type Report struct {
	Edges []*EdgeReport
	// Unlimited names callees without a capacity: nothing can be said.
	Unlimited []string
	Simulated bool
}

// Analyse asks all solvers about every edge into a service with a capacity.
func Analyse(ctx context.Context, s *System, o Options) (*Report, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	f := s.flow()
	r := &Report{Simulated: o.Simulate}
	seen := map[int]bool{}
	for ei := range s.Edges {
		v, ok := s.look(ei, f)
		if !ok {
			if to := s.Edges[ei].To; !seen[to] && s.Edges[ei].From >= 0 {
				seen[to] = true
				r.Unlimited = append(r.Unlimited, s.Nodes[to].Name)
			}
			continue
		}
		if v.load <= 0 {
			continue
		}
		er, err := s.edge(ctx, v, o)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.EdgeName(ei), err)
		}
		r.Edges = append(r.Edges, er)
	}
	// Two starts show the state of the whole system: ask them of the edge that
	// decides it.
	if worst := r.worst(); worst != nil && o.Simulate {
		if err := s.askTwoSided(ctx, worst, o.Sim); err != nil {
			return nil, fmt.Errorf("%s: %w", worst.Edge, err)
		}
	}
	return r, nil
}

// worst is the edge with the highest load for what it comes back from.
func (r *Report) worst() *EdgeReport {
	var w *EdgeReport
	for _, e := range r.Edges {
		if w == nil || e.Load/e.Stable > w.Load/w.Stable {
			w = e
		}
	}
	return w
}

func (s *System) edge(ctx context.Context, v view, o Options) (*EdgeReport, error) {
	curve, err := fold.Solve(v.station, v.layers...)
	if err != nil {
		return nil, err
	}
	r := &EdgeReport{Index: v.edge, Edge: s.EdgeName(v.edge), Callee: s.Nodes[s.Edges[v.edge].To].Name, Load: v.load,
		Stable: curve.Stable, Fold: curve.Fold, Capacity: v.capacity, Worst: v.worst, Curve: curve, Assumptions: v.notes, view: v}
	switch {
	case v.load >= curve.Fold:
		r.State = Collapsed
	case v.load > curve.Stable:
		r.State = Vulnerable
	default:
		r.State = Stable
	}
	r.Spare = math.Max(0, v.capacity-v.load)
	r.SavingRatio = v.capacity/v.load - 1
	outer := v.worst / v.layers[len(v.layers)-1].Budget.Cap(v.layers[len(v.layers)-1].Attempts, v.load)
	r.SavingAttempts = int(math.Ceil(v.capacity/(v.load*outer))) - 1
	what := "lam(L) = L/A(p(L)) over the attempt rate L; stable below capacity/worst attempts"
	if curve.Coarse {
		r.Assumptions = append(r.Assumptions, "fewer than 20 services fit in a timeout: attempts return in bursts, trust the simulation")
	}
	if v.station.SCV != 0 && v.station.SCV != 1 || v.station.Deterministic {
		r.Assumptions = append(r.Assumptions, "service time is not exponential: the fold uses the heavy-traffic tail")
	}
	r.answer(Answer{Solver: FixedPoint, Quantity: "stable_rps", Value: curve.Stable, Unit: "/s", Source: what})
	r.answer(Answer{Solver: FixedPoint, Quantity: "fold_rps", Value: curve.Fold, Unit: "/s", Source: what})
	if l, ok := curve.Escape(v.load); ok {
		r.EscapeLog, r.Escapes = l, true
		r.answer(Answer{Solver: FixedPoint, Quantity: "escape", Value: math.Exp(math.Min(l, 700)), Unit: "s", Source: "first passage of M/M/c from empty to one timeout of work"})
	}
	s.askMarkov(r)
	if err := s.askTriggers(ctx, r, o); err != nil {
		return nil, err
	}
	r.compare()
	return r, nil
}

func (r *EdgeReport) answer(a Answer) { r.Answers = append(r.Answers, a) }

// askMarkov adds stationary and escape times of the chain where it is small.
func (s *System) askMarkov(r *EdgeReport) {
	p, ok := r.view.markov(s)
	if !ok {
		return
	}
	const src = "CTMC (queue x orbit), geometric attempts, exponential timeouts"
	level := min(p.Queue-1, int(math.Round(r.Capacity*r.view.timeout)))
	if r.Escapes && level > 0 {
		if t, err := markov.Escape(p, level); err == nil {
			r.answer(Answer{Solver: Markov, Quantity: "escape", Value: t, Unit: "s", Source: src})
		}
	}
	if p.Work() < 5e7 {
		if m, err := markov.Solve(p); err == nil {
			r.answer(Answer{Solver: Markov, Quantity: "mixing", Value: m.Mixing, Unit: "s", Source: src})
		}
	}
}

// triggersFor returns what to try on an edge.
func (s *System) triggersFor(r *EdgeReport, o Options) []Trigger {
	to := s.Edges[r.Index].To
	if len(o.Triggers) == 0 {
		d := time.Duration(math.Max(1, 10*r.view.timeout) * 1e9)
		return []Trigger{{Kind: des.Outage, Target: to, For: d}}
	}
	var ts []Trigger
	for _, t := range o.Triggers {
		if t.Kind == des.Spike || t.Kind == des.ColdCache && t.Target == r.Index || t.Kind != des.ColdCache && t.Target == to {
			ts = append(ts, t)
		}
	}
	return ts
}

// fluidTrigger maps a trigger to the delay equation; ok is false for kinds it
// does not know.
func (r *EdgeReport) fluidTrigger(t Trigger, s *System) (fluid.Kind, float64, bool) {
	switch t.Kind {
	case des.Outage:
		return fluid.Outage, 0, true
	case des.Capacity:
		return fluid.Capacity, t.Size, true
	case des.Spike:
		return fluid.Spike, t.Size, true
	case des.ColdCache:
		if p := probability(s.Edges[r.Index]); p > 0 {
			return fluid.Spike, t.Size / p, true
		}
	case des.Latency: // slower service is less capacity
		if m := s.Nodes[t.Target].Service.MeanNS(); m > 0 {
			return fluid.Capacity, 1 - m/(m+float64(t.Delay)), true
		}
	}
	return 0, 0, false
}

// TriggerName describes a trigger in words, without its duration.
func (s *System) TriggerName(t Trigger) string {
	at := ""
	switch {
	case t.Kind == des.ColdCache:
		at = s.EdgeName(t.Target)
	case t.Kind != des.Spike:
		at = s.Nodes[t.Target].Name
	}
	switch t.Kind {
	case des.Outage:
		return "outage of " + at
	case des.Capacity:
		return fmt.Sprintf("capacity cut of %.4g %% at %s", 100*t.Size, at)
	case des.Spike:
		return fmt.Sprintf("spike to %.4g times the load", t.Size)
	case des.Latency:
		return fmt.Sprintf("latency of %v more at %s", t.Delay, at)
	case des.Refuse:
		return "refusal of everything by " + at
	}
	return fmt.Sprintf("cold cache on %s (%.4g %% of calls)", at, 100*t.Size)
}

func (s *System) askTriggers(ctx context.Context, r *EdgeReport, o Options) error {
	for _, t := range s.triggersFor(r, o) {
		tr := TriggerReport{Trigger: t, Name: s.TriggerName(t), TipsAt: math.NaN(), P10: math.NaN(), P90: math.NaN(), Recovery: math.NaN()}
		most := math.Max(2*seconds(t.For), 40*math.Max(r.view.timeout, .01))
		if kind, size, ok := r.fluidTrigger(t, s); ok && r.view.timeout > 0 && r.view.station.Servers > 0 && !r.view.station.Sheds {
			m := r.view.fluid(s)
			th := fluid.Threshold{At: math.Inf(1), Monotone: true}
			src := "below the stable load everything drains"
			if r.State != Stable {
				var err error
				if th, err = m.MinDuration(kind, size, most); err != nil {
					return err
				}
				src = "fluid delay equation"
			}
			tr.TipsAt = th.At
			if !th.Monotone {
				src += ", longer ones do not always tip"
			}
			r.answer(Answer{Solver: Fluid, Quantity: "tips_at", Trigger: tr.Name, Value: th.At, Unit: "s", Source: src})
			out, err := m.Run(fluid.Trigger{Kind: kind, Size: size, Duration: seconds(t.For)})
			if err != nil {
				return err
			}
			tr.Tips, tr.Recovery = out.Tipped, out.Recovery
			if out.Tipped {
				tr.Recovery = math.Inf(1)
			}
			r.answer(Answer{Solver: Fluid, Quantity: "recovery", Trigger: tr.Name, Value: tr.Recovery, Unit: "s", Source: "fluid delay equation, trigger as given"})
		} else if r.view.station.Sheds {
			tr.TipsAt = math.Inf(1)
		}
		if o.Simulate {
			if err := s.simulateTrigger(ctx, r, &tr, most, o); err != nil {
				return err
			}
		}
		r.Triggers = append(r.Triggers, tr)
	}
	return nil
}

func (s *System) simulateTrigger(ctx context.Context, r *EdgeReport, tr *TriggerReport, most float64, opts Options) error {
	o := opts.Sim
	v, err := s.Simulate(ctx, tr.Trigger, o)
	if err != nil {
		return err
	}
	tr.Verdict = &v
	tr.Tips = 2*v.Tipped > v.Runs
	src := fmt.Sprintf("discrete-event simulation, %d of %d runs tipped, %d undecided", v.Tipped, v.Runs, v.Undecided)
	if v.Scale > 1 {
		src += fmt.Sprintf(", at 1/%.0f of the rates", v.Scale)
	}
	r.answer(Answer{Solver: Simulation, Quantity: "tips", Trigger: tr.Name, Value: float64(v.Tipped) / float64(v.Runs), Unit: "probability",
		Low: v.Low, High: v.High, Runs: v.Runs, Seed: v.Seed, Source: src})
	if !math.IsNaN(v.Recovery) {
		a := Answer{Solver: Simulation, Quantity: "recovery", Trigger: tr.Name, Value: v.Recovery, Unit: "s", Runs: v.Runs - v.Tipped - v.Undecided, Seed: v.Seed, Source: src}
		if !math.IsInf(v.RecoveryHigh, 0) {
			a.Low, a.High = v.RecoveryLow, v.RecoveryHigh
		}
		r.answer(a)
		if !tr.Tips {
			tr.Recovery = v.Recovery
		}
	}
	if tr.Tips {
		tr.Recovery = math.Inf(1)
	}
	if opts.NoThreshold {
		return nil
	}
	lo, hi := 0.0, most
	if at := tr.TipsAt; at > 0 && !math.IsInf(at, 0) && !math.IsNaN(at) {
		lo, hi = at/4, math.Min(most, at*2.5)
	} else if v.Tipped == 0 {
		return nil // nothing tips: no threshold to look for
	}
	th, err := s.TippingDuration(ctx, tr.Trigger, lo, hi, o)
	if err != nil {
		return err
	}
	tr.P10, tr.P90 = th.P10, th.P90
	src = fmt.Sprintf("discrete-event simulation, bisection for each of %d seeds", th.Runs)
	if th.Scale > 1 {
		src += fmt.Sprintf(", at 1/%.0f of the rates", th.Scale)
	}
	r.answer(Answer{Solver: Simulation, Quantity: "tips_at", Trigger: tr.Name, Value: th.P50, Unit: "s", Low: th.Low, High: th.High, Runs: th.Runs, Seed: th.Seed, Scale: th.Scale, Source: src})
	if math.IsNaN(tr.TipsAt) || math.IsInf(tr.TipsAt, 1) {
		tr.TipsAt = th.P50
	}
	return nil
}

// askTwoSided checks the state of the edge by two starts.
func (s *System) askTwoSided(ctx context.Context, r *EdgeReport, o SimOptions) error {
	empty, loaded, err := s.TwoSided(ctx, s.Edges[r.Index].To, o)
	if err != nil {
		return err
	}
	state := Unknown
	switch {
	case empty == des.Recovered && loaded == des.Recovered:
		state = Stable
	case empty == des.Recovered && loaded == des.Collapsed:
		state = Vulnerable
	case empty == des.Collapsed:
		state = Collapsed
	}
	r.answer(Answer{Solver: Simulation, Quantity: "state", Value: float64(state), Runs: 2, Seed: o.Seed,
		Source: fmt.Sprintf("two-sided start: empty %v, ten timeouts of backlog %v", empty, loaded)})
	if state != Unknown && state != r.State {
		r.Disagreement = append(r.Disagreement, fmt.Sprintf("state: fixed-point says %v, simulation says %v (started empty: %v, started with backlog: %v)", r.State, state, empty, loaded))
	}
	return nil
}

// Bounds within which solvers count as agreeing.
const (
	tipsBound   = 0.25 // relative, fluid threshold against the simulated median
	escapeBound = 3.0  // factor, first passage against the chain
	healBound   = 0.30 // relative, recovery time
)

// compare looks for answers to the same question that differ by more than the
// bounds of the methods.
func (r *EdgeReport) compare() {
	for i, a := range r.Answers {
		for _, b := range r.Answers[i+1:] {
			if a.Quantity != b.Quantity || a.Trigger != b.Trigger || a.Solver == b.Solver {
				continue
			}
			if differ(a, b) {
				what := a.Quantity
				if a.Trigger != "" {
					what += " (" + a.Trigger + ")"
				}
				r.Disagreement = append(r.Disagreement, fmt.Sprintf("%s: %s says %s, %s says %s", what, a.Solver, value(a), b.Solver, value(b)))
			}
		}
	}
}

func differ(a, b Answer) bool {
	x, y := a.Value, b.Value
	if math.IsInf(x, 1) || math.IsInf(y, 1) {
		return math.IsInf(x, 1) != math.IsInf(y, 1)
	}
	switch a.Quantity {
	case "escape":
		return math.Abs(math.Log(x/y)) > math.Log(escapeBound)
	case "recovery":
		return math.Abs(x-y) > math.Max(healBound*math.Max(x, y), 5)
	case "tips_at":
		if b.High > b.Low && x >= b.Low && x <= b.High {
			return false
		}
		bound := tipsBound
		if a.Scale > 1 || b.Scale > 1 {
			bound *= 2 // a smaller system tips earlier by chance
		}
		return math.Abs(x-y) > bound*math.Max(x, y)
	}
	return false
}

func value(a Answer) string {
	switch {
	case math.IsInf(a.Value, 1):
		return "never"
	case a.Unit == "s":
		return Seconds(a.Value)
	}
	return fmt.Sprintf("%.4g%s", a.Value, a.Unit)
}

// Fluid returns the delay equation of an edge at another load, with a trigger
// in its terms; ok is false for triggers and edges it does not know.
func (r *EdgeReport) Fluid(s *System, t Trigger, load float64) (m fluid.Model, kind fluid.Kind, size float64, ok bool) {
	kind, size, ok = r.fluidTrigger(t, s)
	if !ok || r.view.timeout == 0 || r.view.station.Servers == 0 || r.view.station.Sheds {
		return m, 0, 0, false
	}
	v := r.view
	v.load = load
	return v.fluid(s), kind, size, true
}
