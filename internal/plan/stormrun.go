package plan

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/reports"
	"github.com/relplan/relplan/retrytree/storm"
	"github.com/relplan/relplan/retrytree/storm/des"
	"github.com/relplan/relplan/retrytree/storm/plots"
)

// StormRun says how a storm analysis is made.
type StormRun struct {
	// Simulate asks the simulation too; Fix looks for changes that survive;
	// Figures draws pictures.
	Simulate, Fix, Figures bool
	// Seed and Runs override those of the plan when not 0.
	Seed, Runs int64
	Workers    int
	Variants   []StormVariant
}

// StormVariant is a named policy of a file given to --compare.
type StormVariant struct {
	Name   string
	System *storm.System
}

// StormDoc is the retry storm object of the JSON contract.
type StormDoc struct {
	Edges    []StormEdgeDoc   `json:"edges"`
	Policies []StormPolicyDoc `json:"policies"`
	Changes  []StormChangeDoc `json:"changes"`
	// Unlimited names services without a capacity: nothing is said of them.
	Unlimited []string      `json:"unlimited"`
	Notes     []string      `json:"notes"`
	Basis     reports.Basis `json:"basis"`
}

// StormEdgeDoc is one edge.
type StormEdgeDoc struct {
	Edge           string            `json:"edge"`
	StableRPS      *float64          `json:"stable_rps"`
	FoldRPS        *float64          `json:"fold_rps"`
	LoadRPS        *float64          `json:"load_rps"`
	CapacityRPS    float64           `json:"capacity_rps"`
	State          string            `json:"state"`
	EscapeNS       *int64            `json:"escape_ns"`
	EscapeLogS     *float64          `json:"escape_log_seconds"`
	Trigger        []StormTriggerDoc `json:"trigger"`
	RecoveryNS     *int64            `json:"recovery_ns"`
	WorstAttempts  float64           `json:"worst_attempts"`
	SparePerSecond *float64          `json:"spare_per_second"`
	SavingBudget   *float64          `json:"saving_budget"`
	SavingAttempts *int              `json:"saving_attempts"`
	Answers        []StormAnswerDoc  `json:"answers"`
	Disagreement   []string          `json:"disagreement"`
	Assumptions    []string          `json:"assumptions"`
	Text           []string          `json:"text"`
	Basis          reports.Basis     `json:"basis"`
}

// StormTriggerDoc is a disturbance: TipsAt, P10 and P90 are seconds.
type StormTriggerDoc struct {
	Kind       string   `json:"kind"`
	Size       *float64 `json:"size"`
	TipsAt     *float64 `json:"tips_at"`
	P10        *float64 `json:"p10"`
	P90        *float64 `json:"p90"`
	TipsAtNS   *int64   `json:"tips_at_ns"`
	GivenNS    int64    `json:"given_ns"`
	Tips       *bool    `json:"tips"`
	RecoveryNS *int64   `json:"recovery_ns"`

	Basis       reports.Basis  `json:"basis"`
	TipsAtBasis *reports.Basis `json:"tips_at_basis,omitempty"` // where it differs
}

// triggerBasis says how the numbers of a trigger came about: by the fluid model, or by
// runs, whose interval is that of the share that tips.
func triggerBasis(t storm.TriggerReport) (basis reports.Basis, tipsAt *reports.Basis) {
	fluid := reports.Arithmetic("fluid delay equation: the shortest disturbance that tips; where it finds none, the median of the runs")
	v := t.Verdict
	if v == nil {
		return fluid, nil
	}
	seed := v.Seed
	runs := reports.Basis{Kind: "simulated", Runs: v.Runs, Seed: &seed, Interval: []float64{v.Low, v.High}, Level: levelOfIntervals, Source: "discrete-event simulation: the share of runs that tip"}
	return runs, &fluid
}

// StormAnswerDoc is one number of one solver; null means never or unbounded.
type StormAnswerDoc struct {
	Solver   string        `json:"solver"`
	Quantity string        `json:"quantity"`
	Trigger  string        `json:"trigger"`
	Value    *float64      `json:"value"`
	Unit     string        `json:"unit"`
	Basis    reports.Basis `json:"basis"`
}

// StormPolicyDoc is one compared policy at its most endangered edge.
type StormPolicyDoc struct {
	Name       string        `json:"name"`
	Edge       string        `json:"edge"`
	State      string        `json:"state"`
	StableRPS  *float64      `json:"stable_rps"`
	FoldRPS    *float64      `json:"fold_rps"`
	Worst      float64       `json:"worst_attempts"`
	TipsAt     *float64      `json:"tips_at"`
	Tipped     *int          `json:"tipped"`
	Undecided  *int          `json:"undecided"`
	RecoveryNS *int64        `json:"recovery_ns"`
	Survives   bool          `json:"survives"`
	Basis      reports.Basis `json:"basis"`
}

// StormChangeDoc is one proposed change.
type StormChangeDoc struct {
	Edge       string        `json:"edge"`
	Text       string        `json:"text"`
	Why        string        `json:"why"`
	Effort     string        `json:"effort"`
	Survives   bool          `json:"survives"`
	Tipped     int           `json:"tipped"`
	Undecided  int           `json:"undecided"`
	RecoveryNS *int64        `json:"recovery_ns"`
	Goodput    float64       `json:"goodput"`
	Basis      reports.Basis `json:"basis"`
}

// StormResult is an analysis in every form.
type StormResult struct {
	Doc      StormDoc
	Blocks   []reports.Block
	Report   *storm.Report
	Pictures []*plots.Picture
	Findings []reports.Finding
	Cases    []reports.Case
	// Survives: no edge is collapsed and none tips under a given trigger.
	Survives bool
}

const levelOfIntervals = 0.95

func (p *StormPlan) simOptions(o StormRun) storm.SimOptions {
	s := &p.file.Storm
	sim := storm.SimOptions{Seed: uint64(s.Seed.Or(1)), Runs: int(s.Runs.Or(40)), Steps: int(s.Steps.Or(8)), Tail: s.Tail.V, Workers: o.Workers}
	if o.Seed != 0 {
		sim.Seed = uint64(o.Seed)
	}
	if o.Runs != 0 {
		sim.Runs = int(o.Runs)
	}
	return sim
}

// Run analyses the plan's system and puts the answers into words, numbers and
// pictures.
func (p *StormPlan) Run(ctx context.Context, o StormRun) (*StormResult, error) {
	sim := p.simOptions(o)
	opts := storm.Options{Triggers: p.Triggers, Simulate: o.Simulate && p.Loaded, Sim: sim}
	if !p.Loaded {
		opts.Triggers = []storm.Trigger{{Kind: des.Spike, Size: 1}} // nothing to tip
	}
	rep, err := storm.Analyse(ctx, p.System, opts)
	if err != nil {
		return nil, err
	}
	res := &StormResult{Report: rep, Survives: true}
	res.Doc = StormDoc{Edges: []StormEdgeDoc{}, Policies: []StormPolicyDoc{}, Changes: []StormChangeDoc{},
		Unlimited: p.named(rep.Unlimited), Notes: append([]string{}, p.Notes...),
		Basis: reports.Arithmetic("L = lam A(p(L)): fixed points over the attempt rate; fluid delay equation; Markov chain; discrete-event simulation")}
	if opts.Simulate {
		res.Doc.Basis = reports.Basis{Kind: "simulated", Runs: sim.Runs, Seed: &sim.Seed, Source: res.Doc.Basis.Source}
	}
	for _, e := range rep.Edges {
		p.addEdge(res, e)
	}
	if o.Fix && p.Loaded {
		if err := p.addChanges(ctx, res, sim); err != nil {
			return nil, err
		}
	}
	if len(o.Variants) > 0 {
		if err := p.addPolicies(ctx, res, o.Variants, opts); err != nil {
			return nil, err
		}
	}
	if o.Figures && p.Loaded {
		if err := p.addFigures(ctx, res, opts); err != nil {
			return nil, err
		}
	}
	res.Blocks = p.blocks(res)
	return res, nil
}

// named keeps the services of the plan, without those that stand for a policy.
func (p *StormPlan) named(all []string) []string {
	out := []string{}
	for _, n := range all {
		if _, ok := p.index[n]; ok {
			out = append(out, n)
		}
	}
	return out
}

func (p *StormPlan) addEdge(res *StormResult, e *storm.EdgeReport) {
	d := StormEdgeDoc{Edge: e.Edge, StableRPS: number(e.Stable), FoldRPS: number(e.Fold), CapacityRPS: e.Capacity, State: e.State.String(),
		Trigger: []StormTriggerDoc{}, WorstAttempts: e.Worst, Answers: []StormAnswerDoc{}, Disagreement: append([]string{}, e.Disagreement...),
		Assumptions: append([]string{}, e.Assumptions...), Text: []string{}, Basis: reports.Arithmetic("lam(L) = L/A(p(L)), folds are its extrema; stable below capacity / worst attempts")}
	if e.Curve.Monostable {
		d.StableRPS, d.FoldRPS = number(e.Stable), nil
	}
	if !p.Loaded {
		d.State = storm.Unknown.String()
		d.Answers = answersOf(e)
		d.Text = append(d.Text, unloadedText(e))
		res.Doc.Edges = append(res.Doc.Edges, d)
		return
	}
	d.LoadRPS, d.SparePerSecond = number(e.Load), number(e.Spare)
	if e.SavingRatio > 0 {
		d.SavingBudget = number(e.SavingRatio)
	}
	if e.SavingAttempts > 0 {
		d.SavingAttempts = &e.SavingAttempts
	}
	if e.Escapes {
		d.EscapeLogS = number(e.EscapeLog)
		d.EscapeNS = nanos(e.EscapeSeconds())
	}
	for _, t := range e.Triggers {
		td := StormTriggerDoc{Kind: t.Trigger.Kind.String(), TipsAt: number(t.TipsAt), P10: number(t.P10), P90: number(t.P90),
			TipsAtNS: nanos(t.TipsAt), GivenNS: int64(t.Trigger.For), RecoveryNS: nanos(t.Recovery)}
		td.Basis, td.TipsAtBasis = triggerBasis(t)
		if t.Trigger.Kind != des.Outage && t.Trigger.Kind != des.Refuse {
			td.Size = number(t.Trigger.Size)
		}
		if t.Verdict != nil || !math.IsNaN(t.Recovery) {
			tips := t.Tips
			td.Tips = &tips
		}
		if d.RecoveryNS == nil {
			d.RecoveryNS = td.RecoveryNS
		}
		if t.Tips {
			res.Survives = false
		}
		d.Trigger = append(d.Trigger, td)
	}
	if e.State == storm.Collapsed {
		res.Survives = false
	}
	d.Answers = answersOf(e)
	d.Text = append(d.Text, e.Sentences()...)
	res.Doc.Edges = append(res.Doc.Edges, d)
	p.judge(res, e, d)
}

func unloadedText(e *storm.EdgeReport) string {
	if e.Curve.Monostable {
		return fmt.Sprintf("%s has one state only and serves up to %s rps; its load is not given.", e.Edge, storm.Number(e.Capacity))
	}
	return fmt.Sprintf("%s comes back from any disturbance up to %s rps; from there to the fold at %s rps it can be tipped; its load is not given.", e.Edge, storm.Number(e.Stable), storm.Number(e.Fold))
}

// judge adds what SARIF and JUnit list.
func (p *StormPlan) judge(res *StormResult, e *storm.EdgeReport, d StormEdgeDoc) {
	c := reports.Case{Suite: "retry storm", Name: e.Edge, Status: reports.Passed, Message: firstText(d.Text)}
	pos := p.posOf(e.Index)
	f := reports.Finding{Rule: "STORM-VULNERABLE", Title: "a disturbance can leave the system down", Severity: "warning", File: pos.File, Line: pos.Line, Column: pos.Column,
		EndColumn: pos.EndColumn, Message: firstText(d.Text), Help: "Limit attempts beyond the first with a budget, bound the queue to what is served within the timeout, or refuse work that cannot finish in time.", Fingerprint: "storm/" + e.Edge}
	switch e.State {
	case storm.Collapsed:
		f.Rule, f.Title, f.Severity = "STORM-COLLAPSED", "no healthy state at this load", "error"
		c.Status = reports.Failed
		res.Findings = append(res.Findings, f)
	case storm.Vulnerable:
		res.Findings = append(res.Findings, f)
		for _, t := range e.Triggers {
			if t.Tips {
				c.Status = reports.Failed
			}
		}
	}
	res.Cases = append(res.Cases, c)
}

func firstText(s []string) string {
	if len(s) == 0 {
		return ""
	}
	return s[0]
}

func answersOf(e *storm.EdgeReport) []StormAnswerDoc {
	out := []StormAnswerDoc{}
	for _, a := range e.Answers {
		b := reports.Basis{Kind: "arithmetic", Source: a.Source}
		if a.Solver == storm.Simulation {
			seed := a.Seed
			b = reports.Basis{Kind: "simulated", Runs: a.Runs, Seed: &seed, Source: a.Source}
			if a.Low < a.High && !math.IsInf(a.Low, 0) && !math.IsInf(a.High, 0) {
				b.Interval, b.Level = []float64{a.Low, a.High}, levelOfIntervals
			}
		}
		v := number(a.Value)
		ad := StormAnswerDoc{Solver: string(a.Solver), Quantity: a.Quantity, Trigger: a.Trigger, Value: v, Unit: a.Unit, Basis: b}
		out = append(out, ad)
	}
	return out
}

// posOf is the place of an edge in the plan.
func (p *StormPlan) posOf(edge int) diag.Pos {
	if c := p.calls[edge]; c != nil {
		return c.To.Pos
	}
	name := p.System.Nodes[p.System.Edges[edge].To].Name
	for _, n := range p.file.Nodes {
		if n.Name == name {
			return n.Pos
		}
	}
	return diag.Pos{File: p.file.Path, Line: 1, Column: 1}
}

// target picks the edge and trigger that changes and policies are judged by:
// the worst state first, then the highest load over stable load.
func (p *StormPlan) target(r *storm.Report) (*storm.EdgeReport, storm.Trigger, bool) {
	var best *storm.EdgeReport
	for _, e := range r.Edges {
		if best == nil || e.State > best.State || e.State == best.State && e.Load/e.Stable > best.Load/best.Stable {
			best = e
		}
	}
	if best == nil {
		return nil, storm.Trigger{}, false
	}
	for _, t := range best.Triggers {
		if t.Tips {
			return best, t.Trigger, true
		}
	}
	if len(best.Triggers) > 0 {
		return best, best.Triggers[0].Trigger, true
	}
	return best, storm.Trigger{Kind: des.Outage, Target: p.System.Edges[best.Index].To, For: 10 * time.Second}, true
}

func (p *StormPlan) addChanges(ctx context.Context, res *StormResult, sim storm.SimOptions) error {
	e, tr, ok := p.target(res.Report)
	if !ok || e.State == storm.Stable {
		return nil
	}
	sim.Runs = min(sim.Runs, 20)
	cs, err := storm.Optimise(ctx, p.System, e.Index, tr, sim)
	if err != nil {
		return err
	}
	for _, c := range cs {
		seed := c.Verdict.Seed
		res.Doc.Changes = append(res.Doc.Changes, StormChangeDoc{Edge: e.Edge, Text: c.Text, Why: c.Why, Effort: c.Effort.String(), Survives: c.Survives,
			Tipped: c.Verdict.Tipped, Undecided: c.Verdict.Undecided, RecoveryNS: nanos(c.Verdict.Recovery), Goodput: c.Goodput,
			Basis: reports.Basis{Kind: "simulated", Runs: c.Verdict.Runs, Seed: &seed, Interval: []float64{c.Verdict.Low, c.Verdict.High}, Level: levelOfIntervals,
				Source: "runs through " + p.System.TriggerName(tr) + " for " + storm.Seconds(tr.For.Seconds())}})
	}
	return nil
}

func (p *StormPlan) addPolicies(ctx context.Context, res *StormResult, vs []StormVariant, opts storm.Options) error {
	all := []storm.Variant{{Name: "as planned", System: p.System}}
	for _, v := range vs {
		all = append(all, storm.Variant(v))
	}
	e, tr, ok := p.target(res.Report)
	if !ok {
		return nil
	}
	opts.Triggers, opts.NoThreshold = []storm.Trigger{tr}, true
	cs, err := storm.Compare(ctx, all, opts)
	if err != nil {
		return err
	}
	for _, c := range cs {
		for _, r := range c.Report.Edges {
			if r.Index != e.Index {
				continue
			}
			d := StormPolicyDoc{Name: c.Name, Edge: r.Edge, State: r.State.String(), StableRPS: number(r.Stable), FoldRPS: number(r.Fold), Worst: r.Worst,
				Survives: r.State != storm.Collapsed, Basis: reports.Basis{Kind: "arithmetic", Source: "fixed point and fluid model, " + p.System.TriggerName(tr) + " for " + storm.Seconds(tr.For.Seconds())}}
			if r.Curve.Monostable {
				d.FoldRPS = nil
			}
			for _, t := range r.Triggers {
				d.TipsAt, d.RecoveryNS = number(t.TipsAt), nanos(t.Recovery)
				if t.Tips || t.Verdict != nil && t.Verdict.Tipped+t.Verdict.Undecided > 0 {
					d.Survives = false
				}
				if v := t.Verdict; v != nil {
					tipped, undecided, seed := v.Tipped, v.Undecided, v.Seed
					d.Tipped, d.Undecided = &tipped, &undecided
					d.Basis.Kind, d.Basis.Runs, d.Basis.Seed = "simulated", v.Runs, &seed
					d.Basis.Interval, d.Basis.Level = []float64{v.Low, v.High}, levelOfIntervals
				}
			}
			res.Doc.Policies = append(res.Doc.Policies, d)
		}
	}
	return nil
}

// number is x as JSON can hold it: nil for infinite and unknown.
func number(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// nanos is a time in seconds as whole nanoseconds, nil for never and unknown,
// and for what does not fit into 64 bits.
func nanos(x float64) *int64 {
	if math.IsNaN(x) || x < 0 || x > 9.2e9 {
		return nil
	}
	n := int64(math.Round(x * 1e9))
	return &n
}
