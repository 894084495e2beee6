package plan

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/relplan/relplan/deadline"
	"github.com/relplan/relplan/internal/quantity"
	"github.com/relplan/relplan/reports"
	"github.com/relplan/relplan/retrytree"
)

// RetriesDoc is the retry tree object of the JSON contract.
type RetriesDoc struct {
	Nodes     []RetryNodeDoc    `json:"nodes"`
	Edges     []RetryEdgeDoc    `json:"edges"`
	Worst     RetryWorstDoc     `json:"worst"`
	Expected  *RetryExpectedDoc `json:"expected"`             // null: the plan gives no failure
	WorstWork *float64          `json:"worst_work,omitempty"` // only where services have a cost
	Horizons  []HorizonDoc      `json:"horizons"`
	Deadlines []CallDeadlineDoc `json:"deadlines"`
	Basis     reports.Basis     `json:"basis"`
}

// RetryNodeDoc is what retries do to one service.
type RetryNodeDoc struct {
	Name               string   `json:"name"`
	WorstAttempts      *int64   `json:"worst_attempts"` // null: unbounded or beyond 2^63
	WorstAttemptsExact string   `json:"worst_attempts_exact"`
	SlowAttempts       *int64   `json:"slow_attempts"` // when every attempt hangs
	FleetAttempts      *float64 `json:"fleet_attempts"`
	ExpectedAttempts   *float64 `json:"expected_attempts"`
	ExpectedHigh       *float64 `json:"expected_attempts_high,omitempty"` // only where the expectation is a lower bound
	WorstPath          []string `json:"worst_path"`                       // empty for services beyond maxPathNames
	PathAttempts       *int64   `json:"path_attempts"`
	UpperBound         bool     `json:"upper_bound,omitempty"`
}

// RetryEdgeDoc is one call.
type RetryEdgeDoc struct {
	From         string   `json:"from"`
	To           string   `json:"to"`
	FanOut       int64    `json:"fan_out"`
	Attempts     *int64   `json:"attempts"`
	FastAttempts *int64   `json:"fast_attempts"`
	SlowAttempts *int64   `json:"slow_attempts"`
	Expected     *float64 `json:"expected"`
	Starts       *int64   `json:"starts"`
	FitsLow      *int64   `json:"fits_low"`
	FitsHigh     *int64   `json:"fits_high"`
	PerTryNS     *int64   `json:"per_try_ns"`
	WorstNS      *int64   `json:"worst_ns"`
	HorizonNS    *int64   `json:"horizon_ns"`
	Source       string   `json:"source,omitempty"` // the configuration it was read from
	Notes        []string `json:"notes,omitempty"`
}

// RetryWorstDoc is the service with the most attempts. Path is the worst single
// path to it; PathAttempts is its part of Attempts.
type RetryWorstDoc struct {
	Path          []string `json:"path"`
	Attempts      *int64   `json:"attempts"`
	AttemptsExact string   `json:"attempts_exact"`
	PathAttempts  *int64   `json:"path_attempts"`
}

// RetryExpectedDoc says how the expectations came about.
type RetryExpectedDoc struct {
	Model   string        `json:"model"`
	Method  string        `json:"method"` // exact, bounded or approximate
	Success *float64      `json:"success"`
	States  int           `json:"states"`
	Work    *float64      `json:"work_amplification"`
	Notes   []string      `json:"notes"`
	Basis   reports.Basis `json:"basis"`
}

// HorizonDoc is the retry horizon of one path; null means no bound.
type HorizonDoc struct {
	Path      []string `json:"path"`
	HorizonNS *int64   `json:"horizon_ns"`
	Unbounded string   `json:"unbounded_by,omitempty"` // the call without a bound
}

// retriesResult is everything computed on the call graph.
type retriesResult struct {
	doc       RetriesDoc
	graph     *retrytree.Graph
	worst     *retrytree.Worst
	top       retrytree.Count
	horizons  []retrytree.Horizon
	deadlines []retrytree.CallDeadline
	plan      DeadlinePlanDoc
}

func (f *File) retries() (*retriesResult, error) { return f.retryTree(TreeOptions{}) }

func (f *File) retryTree(o TreeOptions) (*retriesResult, error) {
	if err := f.resolve(); err != nil {
		return nil, err
	}
	g, err := f.graph(o)
	if err != nil {
		return nil, err
	}
	res := &retriesResult{graph: g, worst: g.Worst(), horizons: g.Horizons()}
	if res.deadlines, err = f.planDeadlines(g); err != nil {
		return nil, err
	}
	if res.plan, err = f.deadlinePlan(res.deadlines); err != nil {
		return nil, err
	}
	res.doc = RetriesDoc{Nodes: []RetryNodeDoc{}, Edges: []RetryEdgeDoc{}, Worst: RetryWorstDoc{Path: []string{}}, Horizons: []HorizonDoc{}, Deadlines: res.plan.Calls,
		Basis: reports.Arithmetic("W(root) = 1; W(v) = sum over calls u -> v of W(u) x fan-out x attempts")}
	if work := res.worst.Work(); work > 0 {
		res.doc.WorstWork = wireFloat(work)
	}
	res.fillNodes()
	res.fillEdges(f)
	res.fillHorizons()
	if w := res.worst; w.Top >= 0 {
		res.top = w.Nodes[w.Top].Attempts
		res.doc.Worst = RetryWorstDoc{Path: w.Path(w.Top), Attempts: wireCount(res.top), AttemptsExact: res.top.String(), PathAttempts: wireCount(w.Nodes[w.Top].PathAttempts)}
	}
	return res, res.expect(f, o)
}

// maxPathNames bounds the names in all worst paths together: in a chain of many
// thousand services the paths would be far larger than everything else.
const maxPathNames = 100_000

func (r *retriesResult) fillNodes() {
	names := 0
	slow := r.graph.WorstSlow()
	var fleet []float64
	if r.graph.HasBudgets() {
		fleet = r.graph.Fleet()
	}
	for i, n := range r.worst.Nodes {
		d := RetryNodeDoc{Name: n.Name, WorstAttempts: wireCount(n.Attempts), WorstAttemptsExact: n.Attempts.String(), SlowAttempts: wireCount(slow.Nodes[i].Attempts),
			WorstPath: []string{}, PathAttempts: wireCount(n.PathAttempts), UpperBound: n.UpperBound}
		if names < maxPathNames {
			d.WorstPath = r.worst.Path(i)
			names += len(d.WorstPath)
		}
		if fleet != nil {
			d.FleetAttempts = wireFloat(fleet[i])
		}
		r.doc.Nodes = append(r.doc.Nodes, d)
	}
}

func (r *retriesResult) fillEdges(f *File) {
	calls := map[string]*Node{}
	for _, n := range f.Nodes {
		calls[n.Name] = n
	}
	for i, e := range r.graph.Timings() {
		fit := r.deadlines[i].Fit
		d := RetryEdgeDoc{From: e.From, To: e.To, FanOut: e.FanOut, Attempts: wireCount(e.Attempts), FastAttempts: wireCount(e.Fast), SlowAttempts: wireCount(e.Slow),
			Starts: wireCount(fit.Starts), FitsLow: wireCount(fit.FitsLow), FitsHigh: wireCount(fit.FitsHigh)}
		if e.PerTry > 0 {
			d.PerTryNS = wireDuration(e.PerTry, true)
		}
		d.WorstNS, d.HorizonNS = wireDuration(e.Worst, e.WorstKnown), wireDuration(e.Horizon, e.HorizonKnown)
		if c := calls[e.From].Calls[e.Call]; c.read != nil {
			d.Source, d.Notes = c.read.origin, c.read.notes
		}
		r.doc.Edges = append(r.doc.Edges, d)
	}
}

func (r *retriesResult) fillHorizons() {
	for _, h := range r.horizons {
		r.doc.Horizons = append(r.doc.Horizons, HorizonDoc{Path: h.Path, HorizonNS: wireDuration(h.Horizon, h.Known), Unbounded: h.Cause})
	}
}

// expect fills the expectations when the plan or the caller says what fails. A
// service gets the numbers of the root from which it is executed most.
func (r *retriesResult) expect(f *File, o TreeOptions) error {
	if !f.saysWhatFails(o) {
		return nil
	}
	model := o.Model
	if model == "" {
		model = ModelTree
	}
	doc := &RetryExpectedDoc{Model: model, Notes: []string{}, Basis: reports.Arithmetic("f(v) = 1 - (1-p(v)) x prod(1-f(call)); f(call) = q^n; attempts = sum of q^k for k < n")}
	worstSuccess, work, first := 1.0, 0.0, 0.0
	for _, root := range r.graph.Roots() {
		e, err := r.graph.Expect(root, retrytree.ExpectOptions{Domains: f.domainList(), PerHop: model == ModelHop})
		if err != nil {
			return err
		}
		worstSuccess = min(worstSuccess, e.Success)
		work, first = work+e.Work, first+e.FirstWork
		doc.Method, doc.States = e.Method.String(), max(doc.States, e.States)
		doc.Notes = append(doc.Notes, e.Notes...)
		if e.Method == retrytree.Bounded {
			doc.Basis.Interval = []float64{e.Success, math.Min(1, e.Success+e.Left)}
		}
		for i := range r.doc.Nodes {
			n := &r.doc.Nodes[i]
			if v := e.Nodes[i].Executions; n.ExpectedAttempts == nil || v > *n.ExpectedAttempts {
				n.ExpectedAttempts = wireFloat(v)
				if e.Method == retrytree.Bounded {
					n.ExpectedHigh = wireFloat(v + e.Left*r.worst.Nodes[i].Attempts.Float64())
				}
			}
		}
		for j := range r.doc.Edges {
			if d := &r.doc.Edges[j]; e.Edges[j].Calls > 0 {
				d.Expected = wireFloat(e.Edges[j].PerCall)
			}
		}
	}
	if model != ModelHop {
		doc.Success = wireFloat(worstSuccess)
	}
	if first > 0 {
		doc.Work = wireFloat(work / first)
	}
	r.doc.Expected = doc
	return nil
}

func (f *File) saysWhatFails(o TreeOptions) bool {
	if o.Failure != nil {
		return true
	}
	for _, n := range f.Nodes {
		if n.Failure.Set || n.Domain.Set {
			return true
		}
		for _, c := range n.Calls {
			if c.Failure.Set {
				return true
			}
		}
	}
	return false
}

// wireCount is the count as a JSON integer, null if it is unbounded or too large.
func wireCount(c retrytree.Count) *int64 {
	v, ok := c.Int64()
	if !ok || c.Unbounded() || v == math.MaxInt64 {
		return nil
	}
	return &v
}

// wireFloat is null for what is not a finite number.
func wireFloat(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// wireDuration is null for what has no bound.
func wireDuration(d time.Duration, known bool) *int64 {
	if !known || d == deadline.Max {
		return nil
	}
	ns := int64(d)
	return &ns
}

func (r *retriesResult) blocks() []reports.Block {
	out := []reports.Block{
		reports.Heading{Level: 2, Text: "Attempts"},
		reports.Paragraph{Text: r.sentence()},
		r.nodeTable(),
		r.edgeTable(),
	}
	if e := r.doc.Expected; e != nil {
		text := fmt.Sprintf("expected attempts: model `%s`, %s", e.Model, e.Method)
		if e.Success != nil {
			text += fmt.Sprintf(", success %s", percent(*e.Success))
		}
		if e.Work != nil {
			text += fmt.Sprintf(", work x%s", shortFloat(*e.Work))
		}
		out = append(out, reports.Paragraph{Text: text})
		if len(e.Notes) > 0 {
			out = append(out, reports.List{Items: e.Notes})
		}
	}
	return append(out, r.horizonTable())
}

// sentence is the worst case in words.
func (r *retriesResult) sentence() string {
	w := r.worst
	if w.Top < 0 {
		return "the plan has no calls"
	}
	n := w.Nodes[w.Top]
	text := fmt.Sprintf("one request can become %s attempts at %s", n.Attempts, strings.Join(r.doc.Worst.Path, " -> "))
	if n.PathAttempts.Cmp(n.Attempts) != 0 {
		text += fmt.Sprintf(" (%s paths meet there; the path named is %s of them)", n.Paths, n.PathAttempts)
	}
	if n.UpperBound {
		text += " (an upper bound: the alternatives share too many services)"
	}
	if work := r.doc.WorstWork; work != nil {
		text += fmt.Sprintf("; all services together do at most %s of work for it", shortFloat(*work))
	}
	return text
}

func (r *retriesResult) nodeTable() reports.Table {
	t := reports.Table{Columns: []reports.Column{{Name: "service"}, {Name: "at worst", Right: true}, {Name: "all hang", Right: true}}}
	fleet, expected := false, r.doc.Expected != nil
	for _, n := range r.doc.Nodes {
		fleet = fleet || n.FleetAttempts != nil
	}
	if fleet {
		t.Columns = append(t.Columns, reports.Column{Name: "with budgets", Right: true})
	}
	if expected {
		t.Columns = append(t.Columns, reports.Column{Name: "expected", Right: true})
	}
	t.Columns = append(t.Columns, reports.Column{Name: "worst path"})
	for _, n := range r.doc.Nodes {
		row := []string{n.Name, n.WorstAttemptsExact, countText(n.SlowAttempts)}
		if fleet {
			row = append(row, floatText(n.FleetAttempts))
		}
		if expected {
			row = append(row, floatText(n.ExpectedAttempts))
		}
		t.Rows = append(t.Rows, append(row, strings.Join(n.WorstPath, " -> ")))
	}
	return t
}

func (r *retriesResult) edgeTable() reports.Table {
	t := reports.Table{Columns: []reports.Column{{Name: "call"}, {Name: "attempts", Right: true}, {Name: "fail at once", Right: true}, {Name: "hang", Right: true},
		{Name: "per try", Right: true}, {Name: "longest", Right: true}, {Name: "horizon", Right: true}, {Name: "from"}}}
	sources := false
	for _, e := range r.doc.Edges {
		name := e.From + " -> " + e.To
		if e.FanOut > 1 {
			name += fmt.Sprintf(" x%d", e.FanOut)
		}
		sources = sources || e.Source != ""
		t.Rows = append(t.Rows, []string{name, countText(e.Attempts), countText(e.FastAttempts), countText(e.SlowAttempts), limitText(e.PerTryNS, "none"), limitText(e.WorstNS, "no bound"), limitText(e.HorizonNS, "no bound"), e.Source})
	}
	if !sources {
		t.Columns = t.Columns[:len(t.Columns)-1]
		for i := range t.Rows {
			t.Rows[i] = t.Rows[i][:len(t.Columns)]
		}
	}
	return t
}

func (r *retriesResult) horizonTable() reports.Table {
	t := reports.Table{Caption: "Retry horizon: how long attempts with one key may arrive; the receiver must remember it at least that long",
		Columns: []reports.Column{{Name: "path"}, {Name: "horizon", Right: true}}}
	for _, h := range r.horizons {
		text := quantity.FormatDuration(h.Horizon)
		if !h.Known {
			text = "no bound: " + h.Cause + " has no limit"
		}
		t.Rows = append(t.Rows, []string{strings.Join(h.Path, " -> "), text})
	}
	return t
}

func countText(n *int64) string {
	if n == nil {
		return "unbounded"
	}
	return quantity.Itoa(*n)
}

func floatText(v *float64) string {
	if v == nil {
		return "unbounded"
	}
	return shortFloat(*v)
}

func shortFloat(v float64) string { return fmt.Sprintf("%.4g", v) }

// percent shows a share with enough digits to tell it from 1.
func percent(p float64) string {
	if p > 0.99 && p < 1 {
		digits := min(int(math.Floor(-math.Log10(1-p))), 12)
		return fmt.Sprintf("%.*f%%", digits, 100*p)
	}
	return fmt.Sprintf("%.4g%%", 100*p)
}

func limitText(ns *int64, none string) string {
	if ns == nil {
		return none
	}
	return quantity.FormatDuration(time.Duration(*ns))
}
