package plan

import (
	"fmt"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/reports"
	"github.com/relplan/relplan/retrytree"
)

// RetryTreeDocument is the JSON form of `retry tree`.
type RetryTreeDocument struct {
	Schema string `json:"schema"`
	Plan   string `json:"plan"`
	RetriesDoc
	Policies []AttemptsPolicyDoc `json:"policies"`
}

// DeadlinePlanDocument is the JSON form of `deadline plan`.
type DeadlinePlanDocument struct {
	Schema string `json:"schema"`
	Plan   string `json:"plan"`
	DeadlinePlanDoc
	Admissions []AdmitDoc `json:"admissions"`
}

// AttemptsPolicyDoc is the limit on attempts with the value it is held against.
type AttemptsPolicyDoc struct {
	Policy string `json:"policy"`
	Limit  int64  `json:"limit"`
	Value  *int64 `json:"value"`
	Pass   bool   `json:"pass"`
	Text   string `json:"text"`
}

// attemptsPolicy holds the worst case against max_attempts.
func (f *File) attemptsPolicy(res *retriesResult) AttemptsPolicyDoc {
	limit := f.Policies.MaxAttempts.V
	return AttemptsPolicyDoc{Policy: "max_attempts", Limit: limit, Value: res.doc.Worst.Attempts, Pass: res.top.Cmp(retrytree.NewCount(limit)) <= 0,
		Text: fmt.Sprintf("%s attempts at worst, at most %d allowed", res.top, limit)}
}

// Answer is the report of a verb that asks one section of a plan; Failed means
// exit 1.
type Answer struct {
	Report *reports.Report
	Failed bool
}

// needCalls refuses a plan without a call graph.
func (f *File) needCalls() error {
	if len(f.Nodes) > 0 {
		return nil
	}
	return &diag.Err{Diagnostics: []diag.Diagnostic{{Code: codeKey, Pos: diag.Pos{File: f.Path, Line: 1, Column: 1}, Message: "the plan has no calls",
		Hint: "calls: {gateway: {calls: [{to: orders, attempts: 2}]}}"}}}
}

// RetryTree computes the call graph alone.
func (f *File) RetryTree(o TreeOptions) (*Answer, error) {
	if err := f.needCalls(); err != nil {
		return nil, err
	}
	res, err := f.retryTree(o)
	if err != nil {
		return nil, err
	}
	doc := RetryTreeDocument{Schema: "relplan.dev/retry-tree/v1", Plan: f.Name, RetriesDoc: res.doc, Policies: []AttemptsPolicyDoc{}}
	out := &Answer{Report: &reports.Report{Command: "retry tree", Title: "Retry tree of " + f.Name}}
	if p := f.Policies.MaxAttempts; p.Set {
		pd := f.attemptsPolicy(res)
		doc.Policies = append(doc.Policies, pd)
		out.Failed = !pd.Pass
		c := reports.Case{Suite: "retry tree", Name: pd.Policy, Status: reports.Passed, Message: pd.Text}
		mark := reports.Good
		if out.Failed {
			c.Status, mark = reports.Failed, reports.Bad
			out.Report.Findings = append(out.Report.Findings, reports.Finding{Rule: "plan-max_attempts", Title: "A policy of the plan is broken", Severity: "error",
				File: p.Pos.File, Line: p.Pos.Line, Column: p.Pos.Column, EndColumn: p.Pos.EndColumn, Message: pd.Text, Fingerprint: f.Name + "/max_attempts"})
		}
		out.Report.Cases = append(out.Report.Cases, c)
		out.Report.Add(reports.Paragraph{Text: pd.Text, Mark: mark})
	}
	out.Report.Data = doc
	out.Report.Add(res.blocks()...)
	for _, c := range res.doc.Deadlines {
		if !c.Fits {
			out.Report.Add(reports.Heading{Level: 2, Text: "Deadlines"})
			out.Report.Add(res.plan.blocks()[0])
			break
		}
	}
	return out, nil
}

// DeadlinePlan carries the deadlines down the call graph.
func (f *File) DeadlinePlan() (*Answer, error) {
	res := &retriesResult{plan: DeadlinePlanDoc{Calls: []CallDeadlineDoc{}, Basis: reports.Arithmetic("admit iff spent + backoff + attempt <= budget")}}
	if len(f.Nodes) > 0 || len(f.Deadlines) == 0 { // deadlines alone are admitted or not
		err := f.needCalls()
		if err == nil {
			res, err = f.retryTree(TreeOptions{})
		}
		if err != nil {
			return nil, err
		}
	}
	all, err := f.admissions()
	if err != nil {
		return nil, err
	}
	admissions := []AdmitDoc{}
	for i, a := range all {
		if f.Deadlines[i].Attempt.Set { // without an attempt nothing was asked
			admissions = append(admissions, a)
		}
	}
	doc := DeadlinePlanDocument{Schema: "relplan.dev/deadline-plan/v1", Plan: f.Name, DeadlinePlanDoc: res.plan, Admissions: admissions}
	r := &reports.Report{Command: "deadline plan", Title: "Deadlines of " + f.Name, Data: doc}
	out := &Answer{Report: r}
	if len(res.plan.Calls) > 0 {
		r.Add(res.plan.blocks()...)
	}
	if len(admissions) > 0 {
		r.Add(reports.Heading{Level: 2, Text: "Admissions"})
		r.Add(admissionBlocks(admissions)[1:]...)
	}
	for _, c := range doc.Calls {
		f.judgeCall(out, c)
	}
	for _, a := range admissions {
		c := reports.Case{Suite: "deadline plan", Name: a.Name, Status: reports.Passed, Message: a.Text}
		if !a.Admit {
			out.Failed = true
			c.Status = reports.Failed
			r.Findings = append(r.Findings, deadlineFinding(f.deadlinePos(a.Name), a.Name, a.Text))
		}
		r.Cases = append(r.Cases, c)
	}
	return out, nil
}

func (f *File) judgeCall(out *Answer, c CallDeadlineDoc) {
	r := out.Report
	cs := reports.Case{Suite: "deadline plan", Name: c.Edge, Status: reports.Passed, Message: c.Text}
	if !c.Fits {
		out.Failed = true
		cs.Status = reports.Failed
		r.Findings = append(r.Findings, deadlineFinding(f.edgePos(c.Edge), c.Edge, c.Text))
	}
	r.Cases = append(r.Cases, cs)
}

func deadlineFinding(pos diag.Pos, name, text string) reports.Finding {
	return reports.Finding{Rule: "deadline-not-admitted", Title: "An attempt cannot fit its deadline", Severity: "error",
		File: pos.File, Line: pos.Line, Column: pos.Column, EndColumn: pos.EndColumn, Message: name + ": " + text, Fingerprint: name + "/deadline"}
}

// deadlinePos is the place of a deadline.
func (f *File) deadlinePos(name string) diag.Pos {
	for _, d := range f.Deadlines {
		if d.Name == name {
			return d.Pos
		}
	}
	return diag.Pos{File: f.Path}
}

// edgePos is the place of a call.
func (f *File) edgePos(edge string) diag.Pos {
	for _, n := range f.Nodes {
		for _, c := range n.Calls {
			if n.Name+"->"+c.To.V == edge {
				return c.To.Pos
			}
		}
	}
	return diag.Pos{File: f.Path}
}
