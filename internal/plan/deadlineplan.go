package plan

import (
	"bufio"
	"fmt"
	"strings"
	"time"

	"github.com/relplan/relplan/deadline"
	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/quantity"
	"github.com/relplan/relplan/reports"
	"github.com/relplan/relplan/retrytree"
)

// DeadlinePlanDoc is the deadline plan object of the JSON contract.
type DeadlinePlanDoc struct {
	Calls []CallDeadlineDoc `json:"calls"`
	Basis reports.Basis     `json:"basis"`
}

// CallDeadlineDoc is the time one call has and what fits into it. Counts are
// null when unbounded, times when nothing limits them.
type CallDeadlineDoc struct {
	Edge              string       `json:"edge"`
	RemainingNS       *int64       `json:"remaining_ns"`
	LimitedBy         string       `json:"limited_by"` // "" when nothing does
	BeforeNS          *int64       `json:"before_ns"`  // longest time of the calls made before; null: no bound
	PerTryNS          *int64       `json:"per_try_ns"`
	AttemptsConfig    *int64       `json:"attempts_configured"`
	AttemptsThatFit   *int64       `json:"attempts_that_fit"` // whatever the jitter
	AttemptsMayFit    *int64       `json:"attempts_that_may_fit"`
	AttemptsThatStart *int64       `json:"attempts_that_start"`
	Attempts          []SlotDoc    `json:"attempts"`
	MarginNS          *int64       `json:"margin_ns"`
	Fits              bool         `json:"fits"`
	Suggest           *SuggestDoc  `json:"suggest"`
	Trade             []SuggestDoc `json:"trade,omitempty"`
	Text              string       `json:"text"`
}

// SlotDoc is one attempt.
type SlotDoc struct {
	K           int64 `json:"k"`
	StartsNS    int64 `json:"starts_ns"`
	StartsHigh  int64 `json:"starts_high_ns"`
	EndsLowNS   int64 `json:"ends_low_ns"`
	EndsHighNS  int64 `json:"ends_high_ns"`
	Admit       bool  `json:"admit"`
	AdmitAtBest bool  `json:"admit_at_best"`
}

// SuggestDoc is a policy that fits. Success and amplification are known only
// where the plan gives latencies.
type SuggestDoc struct {
	Attempts      int64    `json:"attempts"`
	PerTryNS      int64    `json:"per_try_ns"`
	BackoffNS     int64    `json:"backoff_ns"`
	Success       *float64 `json:"success"`
	Amplification *float64 `json:"amplification"`
	MeetsTarget   *bool    `json:"meets_target"`
	Extrapolated  bool     `json:"extrapolated,omitempty"` // rests on the tail beyond the highest percentile
}

// maxSlotDocs bounds the attempts listed for one call.
const maxSlotDocs = 20

func (f *File) deadlinePlan(calls []retrytree.CallDeadline) (DeadlinePlanDoc, error) {
	doc := DeadlinePlanDoc{Calls: []CallDeadlineDoc{}, Basis: reports.Arithmetic("attempt k fits iff (k-1) x per-try + largest waits + per-try <= remaining; a callee has min(per-try of its caller, remaining of its caller)")}
	nodes := map[string]*Node{}
	for _, n := range f.Nodes {
		nodes[n.Name] = n
	}
	var l diag.List
	for i := range calls {
		c := &calls[i]
		d := callDeadlineDoc(c)
		call := nodes[c.From].Calls[c.Call]
		if callee := nodes[c.To]; callee != nil && callee.Latency != nil && c.Fit.Limit != deadline.Max && c.Fit.Limit > 0 {
			l.AddErr(callee.Latency.Pos, codeValue, f.suggest(&d, c, call, callee))
		} else if !d.Fits && len(call.Layers) <= 1 {
			d.Suggest = shrink(c)
		}
		d.Text = deadlineText(c, &d)
		doc.Calls = append(doc.Calls, d)
	}
	return doc, l.Err()
}

func callDeadlineDoc(c *retrytree.CallDeadline) CallDeadlineDoc {
	fit := c.Fit
	d := CallDeadlineDoc{Edge: c.From + "->" + c.To, RemainingNS: wireDuration(fit.Limit, true), LimitedBy: c.Limit, BeforeNS: wireDuration(c.Before, c.BeforeKnown),
		PerTryNS:       wireDuration(fit.PerTry, fit.PerTry > 0),
		AttemptsConfig: wireCount(fit.Configured), AttemptsThatFit: wireCount(fit.FitsHigh), AttemptsMayFit: wireCount(fit.FitsLow), AttemptsThatStart: wireCount(fit.Starts),
		Attempts: []SlotDoc{}, MarginNS: wireDuration(fit.Margin, fit.Bounded && fit.Limit != deadline.Max)}
	// What has no limit by design (attempts until the time is over) does not fail
	// to fit, as long as one attempt does.
	d.Fits = fit.Limit == deadline.Max || fit.FitsHigh.Cmp(fit.Configured) >= 0 || fit.Configured.Unbounded() && !fit.FitsHigh.IsZero()
	for _, s := range fit.Slots[:min(len(fit.Slots), maxSlotDocs)] {
		d.Attempts = append(d.Attempts, SlotDoc{K: s.K, StartsNS: int64(s.StartsLow), StartsHigh: int64(s.StartsHigh), EndsLowNS: int64(s.EndsLow), EndsHighNS: int64(s.EndsHigh), Admit: s.Admit, AdmitAtBest: s.FitsLow})
	}
	return d
}

// shrink is the largest policy of the same shape that fits: as many attempts as
// possible with the longest per-try limit they then may have.
func shrink(c *retrytree.CallDeadline) *SuggestDoc {
	if c.Fit.Limit <= 0 || c.Fit.Limit == deadline.Max {
		return nil
	}
	p := c.Policy
	for n := min(p.Attempts, 1000); n >= 1; n-- {
		p.Attempts = n
		if perTry, ok := p.PerTryFor(c.Fit.Limit); ok {
			s := &SuggestDoc{Attempts: n, PerTryNS: int64(perTry)}
			if p.Waits != nil && n > 1 {
				_, high := p.Waits.Wait(1)
				s.BackoffNS = int64(high)
			}
			return s
		}
	}
	return nil
}

// suggest plans attempts, per-try limit and backoff from the latency of the
// service called.
func (f *File) suggest(d *CallDeadlineDoc, c *retrytree.CallDeadline, call *Call, callee *Node) error {
	l, err := f.latency(callee.Latency)
	if err != nil {
		return err
	}
	g := deadline.Goal{Deadline: c.Fit.Limit, Target: call.Target.Or(0.999), Latency: l, Failure: 1 - (1-callee.Failure.V)*(1-call.Failure.V)}
	if b := call.Backoff; b != nil {
		g.MinBackoff, g.Factor = b.Base.V, b.lower().Factor
	}
	for _, x := range f.Domains {
		if callee.Domain.Set && x.Name == callee.Domain.V && x.Mean.Set {
			g.Outage, g.MeanOutage = x.Outage.V, x.Mean.V
		}
	}
	s, err := deadline.Suggest(g)
	if err != nil {
		return err
	}
	best := suggestDoc(s.Best)
	best.Extrapolated = s.Extrapolated
	d.Suggest = &best
	for _, o := range s.Trade {
		d.Trade = append(d.Trade, suggestDoc(o))
	}
	return nil
}

func suggestDoc(o deadline.Option) SuggestDoc {
	return SuggestDoc{Attempts: o.Attempts, PerTryNS: int64(o.PerTry), BackoffNS: int64(o.Backoff), Success: &o.Success, Amplification: &o.Amplification, MeetsTarget: &o.Meets}
}

// latency reads a distribution; samples stand in a file, one duration a line.
func (f *File) latency(l *LatencySpec) (*deadline.Latency, error) {
	if !l.Samples.Set {
		var ps []deadline.Percentile
		for _, p := range l.Points {
			ps = append(ps, deadline.Percentile{P: p.P, T: p.T.V})
		}
		return deadline.FromPercentiles(ps...)
	}
	src, err := f.readFile(l.Samples)
	if err != nil {
		return nil, err
	}
	var samples []time.Duration
	lines := bufio.NewScanner(strings.NewReader(string(src)))
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		d, err := quantity.ParseDuration(text)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", l.Samples.V, n, err)
		}
		samples = append(samples, d)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", l.Samples.V, err)
	}
	return deadline.FromSamples(samples)
}

// deadlineText says in words what is wrong with a call, or that nothing is.
func deadlineText(c *retrytree.CallDeadline, d *CallDeadlineDoc) string {
	fit, q := c.Fit, quantity.FormatDuration
	configured := fit.Configured.String()
	switch {
	case fit.Limit == deadline.Max:
		return "no deadline reaches this call"
	case fit.Limit <= 0:
		return fmt.Sprintf("nothing remains: the calls before it may take everything (%s)", c.Limit)
	case d.Fits && fit.Configured.Unbounded():
		return fmt.Sprintf("%s attempts fit, then the time is over", fit.FitsHigh)
	case d.Fits && configured == "1":
		return "the one attempt fits"
	case d.Fits:
		return fmt.Sprintf("all %s attempts fit", configured)
	case fit.PerTry == 0:
		return fmt.Sprintf("no per-try limit: a first attempt that hangs takes all of %s, so %s", q(fit.Limit), never(configured))
	case fit.FitsHigh.IsZero():
		return fmt.Sprintf("not even one attempt of %s fits %s (%s)", q(fit.PerTry), q(fit.Limit), c.Limit)
	case fit.FitsLow.Cmp(fit.Configured) >= 0:
		return fmt.Sprintf("%s of %s attempts fit whatever the jitter, all of them only with the shortest waits (%s)", fit.FitsHigh, configured, c.Limit)
	}
	return fmt.Sprintf("%s of %s attempts fit, short by %s (%s)", fit.FitsHigh, configured, q(-fit.Margin), c.Limit)
}

// never names the attempts after the first.
func never(configured string) string {
	if configured == "2" {
		return "attempt 2 is never made"
	}
	return "attempts 2 to " + configured + " are never made"
}

// deadlineBlocks show the plan for people.
func (d *DeadlinePlanDoc) blocks() []reports.Block {
	t := reports.Table{Columns: []reports.Column{{Name: "call"}, {Name: "has", Right: true}, {Name: "attempts", Right: true}, {Name: "start", Right: true}, {Name: "fit", Right: true}, {Name: "margin", Right: true}, {Name: "because"}}}
	var tips []string
	for _, c := range d.Calls {
		t.Rows = append(t.Rows, []string{strings.Replace(c.Edge, "->", " -> ", 1), limitText(c.RemainingNS, "no limit"), countText(c.AttemptsConfig), countText(c.AttemptsThatStart), countText(c.AttemptsThatFit), limitText(c.MarginNS, "-"), c.Text})
		if s := c.Suggest; s != nil {
			tips = append(tips, "`"+c.Edge+"`: "+s.text())
		}
	}
	out := []reports.Block{t}
	if len(tips) > 0 {
		out = append(out, reports.Paragraph{Text: "What would fit:"}, reports.List{Items: tips})
	}
	for _, c := range d.Calls {
		if len(c.Trade) > 1 {
			out = append(out, tradeTable(c))
		}
	}
	return out
}

func (s *SuggestDoc) text() string {
	q := func(ns int64) string { return quantity.FormatDuration(time.Duration(ns).Round(time.Microsecond)) }
	text := fmt.Sprintf("%d attempts of %s", s.Attempts, q(s.PerTryNS))
	if s.Attempts == 1 {
		text = "one attempt of " + q(s.PerTryNS)
	}
	if s.Attempts > 1 && s.BackoffNS > 0 {
		text += " with waits from " + q(s.BackoffNS)
	}
	if s.Success != nil {
		text += fmt.Sprintf(": success %s, %s attempts a call", percent(*s.Success), shortFloat(*s.Amplification))
		if !*s.MeetsTarget {
			text += " (the target is out of reach)"
		}
		if s.Extrapolated {
			text += " (rests on the tail beyond the highest percentile)"
		}
	}
	return text
}

func tradeTable(c CallDeadlineDoc) reports.Table {
	t := reports.Table{Caption: "Attempts against amplification on " + c.Edge,
		Columns: []reports.Column{{Name: "attempts", Right: true}, {Name: "per try", Right: true}, {Name: "first wait", Right: true}, {Name: "success", Right: true}, {Name: "attempts a call", Right: true}, {Name: "target"}}}
	for _, s := range c.Trade {
		met := "missed"
		if *s.MeetsTarget {
			met = "met"
		}
		t.Rows = append(t.Rows, []string{quantity.Itoa(s.Attempts), quantity.FormatDuration(time.Duration(s.PerTryNS).Round(time.Microsecond)), quantity.FormatDuration(time.Duration(s.BackoffNS)), percent(*s.Success), shortFloat(*s.Amplification), met})
	}
	return t
}
