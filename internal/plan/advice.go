package plan

import (
	"fmt"
	"time"

	"github.com/relplan/relplan/internal/quantity"
	"github.com/relplan/relplan/reports"
	"github.com/relplan/relplan/retrytree"
)

// advice says in one sentence each what breaks and what would mend it.
func (a *answers) advice() []string {
	d := quantity.FormatDuration
	var out []string
	for _, w := range a.capacity.windows {
		switch {
		case w.Covered:
		case w.Unlimited:
			out = append(out, fmt.Sprintf("`%s` never forgets, so no finite window of `%s` is safe: keep a business unique key for ever behind it", w.Longest, w.Store))
		default:
			out = append(out, fmt.Sprintf("keep rows of `%s` for %s (%s now): `%s` can bring an operation back up to %s after its row is gone", w.Store, d(w.Required), d(w.Retain), w.Longest, d(w.Gap)))
		}
	}
	for _, c := range a.crossChecks {
		if !c.Holds && c.advice != "" {
			out = append(out, c.advice)
		}
	}
	if p := a.file.Policies.MaxAttempts; p.Set && len(a.file.Nodes) > 0 && a.retries.top.Cmp(retrytree.NewCount(p.V)) > 0 {
		out = append(out, fmt.Sprintf("cut the attempts on the path %s: %s at worst, at most %d allowed", arrow(a.retries.doc.Worst.Path), a.retries.top, p.V))
	}
	for _, x := range a.deadlines {
		if !x.Admit {
			out = append(out, fmt.Sprintf("do not send the next attempt of `%s`: it needs %s and %s are left, short by %s", x.Name, d(time.Duration(x.NeededNS)), d(time.Duration(x.RemainingNS)), d(time.Duration(x.ShortByNS))))
		}
	}
	for _, p := range a.protocols {
		out = append(out, p.advice()...)
	}
	return append(out, a.storm.advice()...)
}

// findings fills the parts that SARIF and JUnit print.
func (a *answers) findings(r *reports.Report) {
	for _, p := range a.policies {
		c := reports.Case{Suite: "policies", Name: p.Policy, Status: reports.Passed, Message: p.Text}
		if !p.Pass {
			c.Status = reports.Failed
			pos := a.file.policyPos(p.Policy)
			r.Findings = append(r.Findings, reports.Finding{
				Rule: "plan-" + p.Policy, Title: "A policy of the plan is broken", Severity: "error",
				File: pos.File, Line: pos.Line, Column: pos.Column, Message: p.Text, Fingerprint: a.file.Name + "/" + p.Policy,
			})
		}
		r.Cases = append(r.Cases, c)
	}
}

func arrow(path []string) string {
	s := ""
	for i, p := range path {
		if i > 0 {
			s += " -> "
		}
		s += "`" + p + "`"
	}
	return s
}
