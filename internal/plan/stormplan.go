package plan

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/relplan/relplan/reports"
	"github.com/relplan/relplan/retrytree/storm"
)

// storms analyses the call graph without simulation, for the whole plan; nil
// when no service has a capacity.
func (f *File) storms(ctx context.Context) (*StormResult, error) {
	capacity := false
	for _, n := range f.Nodes {
		capacity = capacity || n.Storm.Servers.Set || n.Storm.Contention.Set
	}
	if !capacity {
		return nil, nil
	}
	p, err := f.StormSystem(0)
	if err != nil {
		return nil, err
	}
	return p.Run(ctx, StormRun{})
}

// planBlocks are the storms as a section of the whole plan.
func (r *StormResult) planBlocks() []reports.Block {
	out := []reports.Block{reports.Heading{Level: 2, Text: "Retry storms"}}
	for i, d := range r.Doc.Edges {
		mark := reports.Good
		switch {
		case d.State == storm.Collapsed.String():
			mark = reports.Bad
		case d.State != storm.Stable.String():
			mark = reports.Unsure
		}
		if mark == reports.Good && r.Report.Edges[i].Curve.Monostable {
			continue
		}
		out = append(out, reports.Paragraph{Text: strings.Join(d.Text, " "), Mark: mark})
	}
	return append(out, edgeTable(r.Doc.Edges), reports.Paragraph{Text: "without simulation; `relplan retry storm` simulates, compares policies and proposes changes"})
}

// tips tells whether edge i has no healthy state or is tipped by a trigger.
func (r *StormResult) tips(i int) bool {
	e := r.Report.Edges[i]
	tips := e.State == storm.Collapsed
	for _, t := range e.Triggers {
		tips = tips || t.Tips
	}
	return tips
}

// advice says what to change at the calls that can be tipped.
func (r *StormResult) advice() []string {
	if r == nil {
		return nil
	}
	var out []string
	for i, e := range r.Report.Edges {
		if !r.tips(i) {
			continue
		}
		change := "add capacity or shed load"
		if best := math.Floor(e.SavingRatio*100 - 1e-9); best >= 1 && e.State != storm.Collapsed {
			change = fmt.Sprintf("keep all retries above it together within %.0f%% of first tries, or bound its queue to what is served within the timeout", best)
		}
		out = append(out, fmt.Sprintf("`%s` stays down after a disturbance until load falls below %s/s: %s", e.Edge, storm.Number(e.Stable), change))
	}
	return out
}
