package plan

import (
	"context"
	"errors"
	"fmt"

	"github.com/relplan/relplan/reports"
)

// Document is the JSON form of a plan's answers.
type Document struct {
	Schema      string          `json:"schema"`
	Plan        string          `json:"plan"`
	Capacity    *CapacityDoc    `json:"capacity"`
	Retries     *RetriesDoc     `json:"retries"`
	Storm       *StormDoc       `json:"storm"` // null: no service has a capacity
	Deadlines   []AdmitDoc      `json:"deadlines"`
	Propagation DeadlinePlanDoc `json:"deadline_plan"`
	Protocols   []ProtocolDoc   `json:"protocols"`
	CrossChecks []CrossCheckDoc `json:"cross_checks"`
	Policies    []PolicyDoc     `json:"policies"`
}

// Result is the answer to a plan.
type Result struct {
	Report *reports.Report
	// Failed: a policy is broken. Inconclusive: a protocol's verdict is unknown.
	Failed, Inconclusive bool
}

// answers is everything computed for a plan, before it becomes a report.
type answers struct {
	file        *File
	capacity    *capacityResult
	retries     *retriesResult
	storm       *StormResult
	deadlines   []AdmitDoc
	protocols   []*protocolResult
	crossChecks []CrossCheckDoc
	policies    []PolicyDoc
}

// Run computes every section of the plan; give it its files with UseFiles. The error is a *diag.Err for bad
// input; a broken policy is no error.
func (f *File) Run(ctx context.Context) (*Result, error) {
	a := &answers{file: f}
	var err error
	if a.retries, err = f.retries(); err != nil {
		return nil, err
	}
	if a.capacity, err = f.capacity(a.retries.horizonSources()); err != nil {
		return nil, err
	}
	storm := make(chan error)
	go func() { // the longest computation, beside the others
		var err error
		a.storm, err = f.storms(ctx)
		storm <- err
	}()
	err = a.others(ctx)
	if err = errors.Join(<-storm, err); err != nil {
		return nil, err
	}
	a.policies = a.judge()
	return a.result(), nil
}

// others computes what the storms do not need.
func (a *answers) others(ctx context.Context) (err error) {
	if a.deadlines, err = a.file.admissions(); err != nil {
		return err
	}
	if a.protocols, err = a.file.protocols(ctx); err != nil {
		return err
	}
	a.crossChecks, err = a.check(ctx)
	return err
}

func (a *answers) result() *Result {
	res := &Result{Report: a.report()}
	for _, p := range a.policies {
		res.Failed = res.Failed || !p.Pass
	}
	for _, p := range a.protocols {
		res.Inconclusive = res.Inconclusive || p.unknown()
	}
	return res
}

// report lays the answers out for people, worst news first.
func (a *answers) report() *reports.Report {
	doc := Document{
		Schema: "relplan.dev/plan/v1", Plan: a.file.Name,
		Capacity: &a.capacity.doc, Retries: &a.retries.doc, Deadlines: a.deadlines, Propagation: a.retries.plan,
		Protocols: []ProtocolDoc{}, CrossChecks: a.crossChecks, Policies: a.policies,
	}
	if a.storm != nil {
		doc.Storm = &a.storm.Doc
	}
	for _, p := range a.protocols {
		doc.Protocols = append(doc.Protocols, p.doc)
	}
	r := &reports.Report{Command: "plan", Title: a.headline(), Data: doc}
	if todo := a.advice(); len(todo) > 0 {
		r.Add(reports.Heading{Level: 2, Text: "What to change"}, reports.List{Items: todo, Numbered: true})
	}
	if len(a.file.Stores) > 0 || len(a.file.Unknown) > 0 {
		r.Add(a.capacity.blocks()...)
	}
	if len(a.file.Nodes) > 0 {
		r.Add(a.retries.blocks()...)
	}
	if a.storm != nil {
		r.Add(a.storm.planBlocks()...)
	}
	if len(a.deadlines) > 0 {
		r.Add(admissionBlocks(a.deadlines)...)
	}
	r.Add(protocolBlocks(a.protocols, a.file.Render)...)
	r.Add(crossCheckBlocks(a.crossChecks)...)
	r.Add(policyBlocks(a.policies)...)
	a.findings(r)
	return r
}

func (a *answers) headline() string {
	broken := 0
	for _, p := range a.policies {
		if !p.Pass {
			broken++
		}
	}
	switch {
	case len(a.policies) == 0:
		return fmt.Sprintf("Plan %s", a.file.Name)
	case broken == 0:
		return fmt.Sprintf("Plan %s: all %d policies hold", a.file.Name, len(a.policies))
	default:
		return fmt.Sprintf("Plan %s: %d of %d policies are broken", a.file.Name, broken, len(a.policies))
	}
}
