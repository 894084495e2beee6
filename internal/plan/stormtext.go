package plan

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/relplan/relplan/reports"
	"github.com/relplan/relplan/retrytree/storm"
	"github.com/relplan/relplan/retrytree/storm/plots"
)

// blocks puts the answers in reading order: sentences, then numbers.
func (p *StormPlan) blocks(res *StormResult) []reports.Block {
	var out []reports.Block
	add := func(b ...reports.Block) { out = append(out, b...) }
	mark := reports.Good
	headline := res.Report.Headline()
	switch {
	case !p.Loaded && len(res.Report.Edges) > 0:
		mark, headline = reports.Unsure, "no load is given: give it at "+strings.Join(p.Roots, ", ")+", such as `load: 280/s`, or with --load"
	case len(res.Report.Edges) == 0:
		mark, headline = reports.Unsure, "no called service has a capacity: give it `servers` and a `service` time"
	default:
		for _, e := range res.Report.Edges {
			if e.State == storm.Collapsed {
				mark = reports.Bad
			} else if e.State == storm.Vulnerable && mark != reports.Bad {
				mark = reports.Unsure
			}
		}
	}
	add(reports.Paragraph{Text: headline, Mark: mark})
	for _, d := range res.Doc.Edges {
		if len(d.Text) > 0 {
			add(reports.Paragraph{Text: strings.Join(d.Text, " ")})
		}
	}
	if c := res.Doc.Changes; len(c) > 0 {
		add(cheapest(c))
	}
	if len(res.Doc.Edges) > 0 {
		add(edgeTable(res.Doc.Edges))
	}
	if t := triggerTable(res.Report, p.Loaded); len(t.Rows) > 0 {
		add(t)
	}
	if len(res.Doc.Policies) > 0 {
		add(reports.Heading{Level: 2, Text: "Policies compared"}, policyTable(res.Doc.Policies))
	}
	if len(res.Doc.Changes) > 0 {
		add(reports.Heading{Level: 2, Text: "Changes that were tried"}, changeTable(res.Doc.Changes))
	}
	if len(res.Doc.Edges) > 0 {
		add(reports.Heading{Level: 2, Text: "Answers by solver"}, answerTable(res.Report))
	}
	var notes []string
	for _, d := range res.Doc.Edges {
		for _, a := range d.Assumptions {
			notes = append(notes, d.Edge+": "+a)
		}
	}
	notes = append(notes, p.Notes...)
	if len(res.Doc.Unlimited) > 0 {
		notes = append(notes, "no capacity is given for "+strings.Join(res.Doc.Unlimited, ", ")+": nothing is said of them")
	}
	if len(notes) > 0 {
		add(reports.Heading{Level: 2, Text: "Assumptions"}, reports.List{Items: notes})
	}
	for _, pic := range res.Pictures {
		if svg, err := pic.SVG(); err == nil {
			add(reports.Figure{Name: pic.Name, Caption: pic.Caption, SVG: svg})
		}
	}
	return out
}

// cheapest says which change to make.
func cheapest(cs []StormChangeDoc) reports.Paragraph {
	c := cs[0]
	if !c.Survives {
		return reports.Paragraph{Text: "no single change that was tried survives " + strings.TrimPrefix(c.Basis.Source, "runs through ") + ".", Mark: reports.Bad}
	}
	again := "at once"
	if c.RecoveryNS != nil && *c.RecoveryNS > int64(50*time.Millisecond) {
		again = "in " + storm.Seconds(float64(*c.RecoveryNS)/1e9)
	}
	return reports.Paragraph{Text: fmt.Sprintf("cheapest change that survives %s: %s (%s; 0 of %d runs tip, goodput is back %s).",
		strings.TrimPrefix(c.Basis.Source, "runs through "), c.Text, c.Why, c.Basis.Runs, again), Mark: reports.Good}
}

func cell(x *float64, none string) string {
	if x == nil {
		return none
	}
	return storm.Number(*x)
}

func edgeTable(es []StormEdgeDoc) reports.Table {
	t := reports.Table{Caption: "rates per second; stable: comes back from anything below it; fold: no healthy state above it (fixed-point solver)",
		Columns: []reports.Column{{Name: "edge"}, {Name: "load", Right: true}, {Name: "state"}, {Name: "stable", Right: true}, {Name: "fold", Right: true},
			{Name: "capacity", Right: true}, {Name: "attempts at worst", Right: true}, {Name: "escape", Right: true}}}
	for _, e := range es {
		escape := "-"
		if e.EscapeLogS != nil {
			escape = storm.Seconds(math.Exp(math.Min(*e.EscapeLogS, 700)))
		}
		t.Rows = append(t.Rows, []string{e.Edge, cell(e.LoadRPS, "-"), e.State, cell(e.StableRPS, "-"), cell(e.FoldRPS, "none"),
			storm.Number(e.CapacityRPS), fmt.Sprintf("%.4g", e.WorstAttempts), escape})
	}
	return t
}

func triggerTable(r *storm.Report, loaded bool) reports.Table {
	t := reports.Table{Columns: []reports.Column{{Name: "edge"}, {Name: "trigger"}, {Name: "given", Right: true}, {Name: "tips at", Right: true}, {Name: "10 to 90 % of runs tip at", Right: true},
		{Name: "as given"}, {Name: "back in", Right: true}}}
	if !loaded {
		return t
	}
	for _, e := range r.Edges {
		for _, tr := range e.Triggers {
			span := "-"
			if !math.IsNaN(tr.P10) {
				span = storm.Seconds(tr.P10) + " to " + storm.Seconds(tr.P90)
			}
			verdict := "comes back"
			if tr.Tips {
				verdict = "stays down"
			}
			if v := tr.Verdict; v != nil {
				verdict += fmt.Sprintf(" (%d of %d runs tip", v.Tipped, v.Runs)
				if v.Undecided > 0 {
					verdict += fmt.Sprintf(", %d undecided", v.Undecided)
				}
				verdict += ")"
			} else if math.IsNaN(tr.Recovery) {
				verdict = "not simulated"
			}
			t.Rows = append(t.Rows, []string{e.Edge, tr.Name, storm.Seconds(tr.Trigger.For.Seconds()), storm.Seconds(tr.TipsAt), span, verdict, storm.Seconds(tr.Recovery)})
		}
	}
	return t
}

func policyTable(ps []StormPolicyDoc) reports.Table {
	t := reports.Table{Caption: "every policy with the same random numbers; " + strings.TrimPrefix(ps[0].Basis.Source, "fixed point and fluid model, "),
		Columns: []reports.Column{{Name: "policy"}, {Name: "state"}, {Name: "stable", Right: true}, {Name: "fold", Right: true}, {Name: "attempts at worst", Right: true},
			{Name: "tips at", Right: true}, {Name: "runs tipped", Right: true}, {Name: "back in", Right: true}, {Name: "survives"}}}
	for _, p := range ps {
		tipped, tips, back := "-", "never", "never"
		if p.Tipped != nil {
			tipped = fmt.Sprintf("%d of %d", *p.Tipped, p.Basis.Runs)
			if *p.Undecided > 0 {
				tipped += fmt.Sprintf(", %d undecided", *p.Undecided)
			}
		}
		if p.TipsAt != nil {
			tips = storm.Seconds(*p.TipsAt)
		}
		if p.RecoveryNS != nil {
			back = storm.Seconds(float64(*p.RecoveryNS) / 1e9)
		}
		survives := "no"
		switch {
		case p.Survives:
			survives = "yes"
		case p.Tipped != nil && *p.Tipped == 0 && p.State == storm.Stable.String():
			survives, back = "slowly", "not in the simulated time"
		}
		t.Rows = append(t.Rows, []string{p.Name, p.State, cell(p.StableRPS, "-"), cell(p.FoldRPS, "none"), fmt.Sprintf("%.4g", p.Worst), tips, tipped, back, survives})
	}
	return t
}

func changeTable(cs []StormChangeDoc) reports.Table {
	t := reports.Table{Caption: cs[0].Edge + ": " + cs[0].Basis.Source + "; the cheapest that survives first",
		Columns: []reports.Column{{Name: "change"}, {Name: "who"}, {Name: "survives"}, {Name: "runs tipped", Right: true}, {Name: "back in", Right: true}, {Name: "success before", Right: true}}}
	for _, c := range cs {
		survives, back := "no", "-"
		if c.Survives {
			survives = "yes"
		}
		if c.RecoveryNS != nil {
			back = storm.Seconds(float64(*c.RecoveryNS) / 1e9)
		}
		tipped := fmt.Sprintf("%d of %d", c.Tipped, c.Basis.Runs)
		if c.Undecided > 0 {
			tipped += fmt.Sprintf(", %d undecided", c.Undecided)
		}
		t.Rows = append(t.Rows, []string{c.Text, c.Effort, survives, tipped, back, fmt.Sprintf("%.1f %%", 100*c.Goodput)})
	}
	return t
}

func answerTable(r *storm.Report) reports.Table {
	t := reports.Table{Columns: []reports.Column{{Name: "edge"}, {Name: "question"}, {Name: "solver"}, {Name: "answer", Right: true}, {Name: "interval 95 %", Right: true}, {Name: "basis"}}}
	for _, e := range r.Edges {
		for _, a := range e.Answers {
			q := map[string]string{"stable_rps": "stable load", "fold_rps": "fold", "escape": "escape time", "tips_at": "tips at", "recovery": "back in",
				"tips": "tips", "state": "state", "mixing": "memory of the start"}[a.Quantity]
			if a.Trigger != "" {
				q += ", " + a.Trigger
			}
			v := storm.Number(a.Value) + a.Unit
			switch {
			case a.Unit == "s":
				v = storm.Seconds(a.Value)
			case a.Quantity == "state":
				v = storm.State(a.Value).String()
			case a.Unit == "probability":
				v = fmt.Sprintf("%.4g %%", 100*a.Value)
			}
			span := "-"
			if a.Low < a.High {
				span = fmt.Sprintf("%.4g to %.4g", a.Low, a.High)
				if a.Unit == "s" {
					span = storm.Seconds(a.Low) + " to " + storm.Seconds(a.High)
				}
			}
			basis := a.Source
			if a.Solver == storm.Simulation {
				basis += fmt.Sprintf(" (seeds from %d)", a.Seed)
			}
			t.Rows = append(t.Rows, []string{e.Edge, q, string(a.Solver), v, span, basis})
		}
	}
	return t
}

// addFigures draws the fold diagram, the vulnerability map and one run of the
// most endangered edge.
func (p *StormPlan) addFigures(ctx context.Context, res *StormResult, o storm.Options) error {
	e, tr, ok := p.target(res.Report)
	if !ok {
		return nil
	}
	pic, err := plots.Fold(e.Edge, e.Curve, e.Load)
	if err != nil {
		return err
	}
	res.Pictures = append(res.Pictures, pic)
	if m, err := p.vulnerability(e, tr); err != nil {
		return err
	} else if m != nil {
		res.Pictures = append(res.Pictures, m)
	}
	run, err := p.System.Path(ctx, tr, 60*p.slowest(), o.Sim)
	if err != nil {
		return err
	}
	start := (run.Trigger - tr.For).Seconds()
	if pic, err = plots.Goodput(e.Edge, run, start, tr.For.Seconds()); err != nil {
		return err
	}
	res.Pictures = append(res.Pictures, pic)
	return nil
}

func (p *StormPlan) slowest() time.Duration {
	d := time.Second
	for _, e := range p.System.Edges {
		d = max(d, e.Timeout)
	}
	return d
}

// vulnerability computes the map by the fluid model at 16 loads.
func (p *StormPlan) vulnerability(e *storm.EdgeReport, tr storm.Trigger) (*plots.Picture, error) {
	if e.Curve.Monostable {
		return nil, nil
	}
	var ts []plots.Threshold
	const points = 16
	for i := range points {
		load := e.Stable + (e.Fold-e.Stable)*(float64(i)+.5)/points
		m, kind, size, ok := e.Fluid(p.System, tr, load)
		if !ok {
			return nil, nil
		}
		th, err := m.MinDuration(kind, size, 40*m.Timeout)
		if err != nil {
			return nil, err
		}
		ts = append(ts, plots.Threshold{Load: load, Fluid: th.At, P10: math.NaN(), P90: math.NaN()})
	}
	for _, t := range e.Triggers {
		if t.Trigger.Kind == tr.Kind && t.Trigger.Size == tr.Size && !math.IsNaN(t.P10) {
			ts = append(ts, plots.Threshold{Load: e.Load, Fluid: math.NaN(), P10: t.P10, P90: t.P90})
		}
	}
	return plots.Vulnerability(e.Edge, p.System.TriggerName(tr), e.Curve, e.Load, ts)
}
