package lab

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/relplan/relplan/modelcheck/replay"
	"github.com/relplan/relplan/reports"
)

// InboxDocument is the JSON document of `relplan lab inbox`.
type InboxDocument struct {
	Schema   string          `json:"schema"`
	Cases    []Case          `json:"cases"`
	Boundary replay.Boundary `json:"boundary"`
	Basis    reports.Basis   `json:"basis"`
}

// NewInboxDocument makes the document of some cases.
func NewInboxDocument(cases []Case, b replay.Boundary) InboxDocument {
	return InboxDocument{"relplan.dev/lab-inbox/v1", cases, b, reports.Basis{Kind: "measured", Engine: "sqlite"}}
}

// RecoveryDocument is the JSON document of `relplan lab recovery`.
type RecoveryDocument struct {
	Schema       string          `json:"schema"`
	Observations []Observation   `json:"observations"`
	Boundary     replay.Boundary `json:"boundary"`
	Basis        reports.Basis   `json:"basis"`
}

// NewRecoveryDocument makes the document of some observations.
func NewRecoveryDocument(list []Observation, b replay.Boundary) RecoveryDocument {
	seen := map[string]bool{}
	for _, o := range list {
		if o.Pass != nil {
			seen[strings.TrimSpace(o.Engine+" "+o.Version)] = true
		}
	}
	engine := strings.Join(slices.Sorted(maps.Keys(seen)), ", ")
	return RecoveryDocument{"relplan.dev/lab-recovery/v1", list, b, reports.Basis{Kind: "measured", Engine: engine}}
}

// InboxExit is 1 if a value differs, 4 if a case was not run.
func InboxExit(cases []Case, b replay.Boundary) int {
	for _, c := range cases {
		if !c.Pass {
			return 1
		}
	}
	if len(b.NotRun) > 0 {
		return 4
	}
	return 0
}

// RecoveryExit is 1 if a value differs, 4 if an observation was not run.
func RecoveryExit(list []Observation) int {
	code := 0
	for _, o := range list {
		switch {
		case o.Pass == nil:
			code = 4
		case !*o.Pass:
			return 1
		}
	}
	return code
}

// FillInbox writes the cases for people and for JUnit.
func FillInbox(r *reports.Report, cases []Case, b replay.Boundary) {
	t := reports.Table{Columns: []reports.Column{{Name: "case"}, {Name: "deliveries"}, {Name: "values, read after reopening"}, {Name: "result"}}}
	for _, c := range cases {
		t.Rows = append(t.Rows, []string{c.name(), strings.Join(c.Statuses, ", "), c.valuesText(), c.result()})
		k := reports.Case{Suite: "lab inbox", Name: c.name(), Status: reports.Passed}
		if !c.Pass {
			k.Status, k.Message = reports.Failed, c.Reason
		}
		r.Cases = append(r.Cases, k)
	}
	r.Add(reports.Heading{Level: 2, Text: "The inbox lab", Mark: markOf(InboxExit(cases, b))}, t)
	for _, c := range cases {
		if !c.Pass {
			r.Add(reports.Paragraph{Text: c.name() + ": " + c.Reason, Mark: reports.Bad})
		}
	}
	for _, c := range cases {
		if c.Counterexample {
			r.Add(reports.Paragraph{Text: c.name() + " is a counterexample: the protocol is deliberately wrong, and what passes is that the damage is really there."})
		}
	}
	r.Add(boundaryBlocks(b)...)
}

func markOf(exit int) reports.Mark {
	return map[int]reports.Mark{0: reports.Good, 1: reports.Bad, 4: reports.Unsure}[exit]
}

func (c *Case) name() string { return strings.TrimSpace(c.Case + " " + c.Label) }

func (c *Case) result() string {
	switch {
	case !c.Pass:
		return "FAILED"
	case c.Counterexample:
		return "shown (counterexample)"
	}
	return "shown"
}

// valuesText lists the values of the case that there are.
func (c *Case) valuesText() string {
	var parts []string
	for _, name := range []string{"balance", "version", "inbox_rows", "effects", "requests", "charges"} {
		if v := *c.value(name); v != nil {
			parts = append(parts, fmt.Sprintf("%s %d", strings.ReplaceAll(name, "_", " "), *v))
		}
	}
	return strings.Join(parts, ", ")
}

// FillRecovery writes the observations for people and for JUnit.
func FillRecovery(r *reports.Report, list []Observation, b replay.Boundary) {
	r.Add(reports.Heading{Level: 2, Text: "The recovery lab", Mark: markOf(RecoveryExit(list))})
	for _, engine := range enginesOf(list) {
		t := reports.Table{Caption: engine, Columns: []reports.Column{{Name: "observation"}, {Name: "values"}, {Name: "result"}}}
		for _, o := range list {
			if o.Engine != engine {
				continue
			}
			t.Rows = append(t.Rows, []string{o.Name, o.valuesText(), o.result()})
			if o.Version != "" {
				t.Caption = engine + " " + o.Version
			}
		}
		r.Add(t)
	}
	for _, o := range list {
		k := reports.Case{Suite: "lab recovery", Name: o.Name + " on " + o.Engine, Status: reports.Passed}
		switch {
		case o.Pass == nil:
			k.Status, k.Message = reports.Skipped, "NOT_RUN: "+o.Reason
		case !*o.Pass:
			k.Status, k.Message = reports.Failed, o.Reason
			r.Add(reports.Paragraph{Text: fmt.Sprintf("%s on %s: %s", o.Name, o.Engine, o.Reason), Mark: reports.Bad})
		}
		r.Cases = append(r.Cases, k)
	}
	r.Add(boundaryBlocks(b)...)
}

func enginesOf(list []Observation) []string {
	var out []string
	for _, o := range list {
		if !slices.Contains(out, o.Engine) {
			out = append(out, o.Engine)
		}
	}
	return out
}

func (o *Observation) result() string {
	switch {
	case o.Pass == nil:
		return "NOT_RUN"
	case !*o.Pass:
		return "FAILED"
	}
	return "shown"
}

func (o *Observation) valuesText() string {
	if o.Pass == nil {
		return o.Reason
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(o.Values)) {
		parts = append(parts, fmt.Sprintf("%s %s", name, valueText(o.Values[name])))
	}
	return strings.Join(parts, ", ")
}

func valueText(v any) string {
	if list, ok := v.([]string); ok {
		return strings.Join(list, "+")
	}
	return fmt.Sprint(v)
}

// boundaryBlocks says what the run has shown and what it has not.
func boundaryBlocks(b replay.Boundary) []reports.Block {
	return []reports.Block{reports.Paragraph{Text: "the boundary of this proof"}, reports.List{Items: b.Items()}}
}
