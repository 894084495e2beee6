package plan

import (
	"context"
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
