package specs

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/relplan/relplan/modelcheck"
	"github.com/relplan/relplan/reports"
	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

// CrashTable is the answer of `relplan windows`: one row per place where one
// thing goes wrong, alone.
type CrashTable struct {
	Schema string `json:"schema"`
	System string `json:"system"`
	// Complete: no limit kept a row or a verdict out; Limits names those that did.
	Complete bool         `json:"complete"`
	Limits   []string     `json:"limits"`
	Rows     []*WindowRow `json:"rows"`

	File string `json:"file"`
}

// WindowRow is one row of the crash table.
type WindowRow struct {
	Variant    *string         `json:"variant"` // null for the one unnamed variant
	Process    string          `json:"process"`
	AfterStep  string          `json:"after_step"`
	Line       int             `json:"line"`
	Event      string          `json:"event"` // crash, answer_lost, request_lost or late
	Durable    []string        `json:"durable"`
	Redelivery string          `json:"redelivery"` // what happens next, without another fault
	Promises   []WindowPromise `json:"promises"`
	Basis      reports.Basis   `json:"basis"`
}

// WindowPromise is the answer to a promise when the event happens there, once,
// in any history.
type WindowPromise struct {
	Name    string `json:"name"`
	Text    string `json:"text"`
	Verdict string `json:"verdict"`
}

// Windows draws the crash table of the variants (all for none): every step
// boundary with a crash there alone, every remote step with its answer or its
// request lost there alone. Other faults of the spec do not happen. A limit or a
// cancelled context gives a table that is not complete.
func (s *Spec) Windows(ctx context.Context, variants []string, o CheckOptions) (*CrashTable, error) {
	t := &CrashTable{Schema: "relplan.dev/windows/v1", File: s.File, System: s.System, Limits: []string{}, Rows: []*WindowRow{}}
	for _, tree := range s.variants {
		if len(variants) > 0 && !contains(variants, tree.Variant) {
			continue
		}
		rows, limits, err := lower.Windows(ctx, tree, modelcheck.Options{Workers: o.Workers, MemoryLimit: o.MemoryLimit, TimeLimit: o.TimeLimit})
		if err != nil {
			return nil, err
		}
		for i := range rows {
			t.Rows = append(t.Rows, windowRow(tree, &rows[i], len(limits) == 0))
		}
		for _, l := range limits {
			if !contains(t.Limits, l) {
				t.Limits = append(t.Limits, l)
			}
		}
	}
	t.Complete = len(t.Limits) == 0
	return t, nil
}

// worldForm is what a step's text says about its lost answer; the event says it too.
var worldForm = regexp.MustCompile(` \((done|answer|no answer|not committed|request)[^()]*\)$`)

// windowFault is the fault whose one unit an event spends.
var windowFault = map[string]string{"crash": "crash", "answer_lost": "response_lost", "request_lost": "request_lost", "late": "late_request"}

func windowRow(tree *ast.Spec, w *lower.Window, complete bool) *WindowRow {
	r := &WindowRow{Process: w.Process, AfterStep: worldForm.ReplaceAllString(w.After, ""), Line: w.Line, Event: w.Event, Durable: []string{}, Promises: []WindowPromise{}, Redelivery: w.Next}
	if tree.Variant != "" {
		name := tree.Variant
		r.Variant = &name
	}
	r.Basis = reports.Basis{Kind: "exhaustive", Bounds: map[string]int{windowFault[w.Event]: 1}}
	if !complete {
		r.Basis.Kind = "sampled"
	}
	r.Durable = append(r.Durable, w.Durable...)
	for _, a := range w.Promises {
		r.Promises = append(r.Promises, WindowPromise{Name: a.Promise.Name, Text: a.Promise.Text, Verdict: a.Verdict.String()})
	}
	return r
}

// Broken lists the promises that the row breaks.
func (r *WindowRow) Broken() []string {
	var out []string
	for _, p := range r.Promises {
		if p.Verdict == ast.Broken {
			out = append(out, p.Name)
		}
	}
	return out
}

// undecided says whether the row leaves a promise open.
func (r *WindowRow) undecided() bool {
	for _, p := range r.Promises {
		if p.Verdict == ast.Unknown {
			return true
		}
	}
	return false
}

// Exit is 1 if a row breaks a promise, 4 if one is undecided or a limit kept
// rows out, else 0.
func (t *CrashTable) Exit() int {
	code := 0
	if !t.Complete {
		code = 4
	}
	for _, r := range t.Rows {
		for _, p := range r.Promises {
			switch p.Verdict {
			case ast.Broken:
				return 1
			case ast.Unknown:
				code = 4
			}
		}
	}
	return code
}

var eventWords = map[string]string{"crash": "crash", "answer_lost": "answer lost", "request_lost": "request lost", "late": "executed late"}

// Blocks gives the table for people: one row per window, then what happens next
// in each.
func (t *CrashTable) Blocks() []reports.Block {
	table := reports.Table{Columns: []reports.Column{{Name: "#", Right: true}, {Name: "process"}, {Name: "event"}, {Name: "after"}, {Name: "line", Right: true}, {Name: "durable then"}, {Name: "verdict"}}}
	broken, open := 0, 0
	for i, r := range t.Rows {
		verdict := "holds"
		switch b := r.Broken(); {
		case len(b) > 0:
			verdict = "breaks " + strings.Join(b, ", ")
			broken++
		case r.undecided():
			verdict = "unknown"
			open++
		}
		process := r.Process
		if r.Variant != nil {
			process = *r.Variant + ": " + process
		}
		table.Rows = append(table.Rows, []string{fmt.Sprint(i + 1), process, eventWords[r.Event], r.AfterStep, fmt.Sprint(r.Line), strings.Join(r.Durable, "; "), verdict})
	}
	claim, mark := fmt.Sprintf("no promise breaks in any of %d windows", len(t.Rows)), reports.Good
	switch {
	case broken > 0:
		claim, mark = fmt.Sprintf("%d of %d windows break a promise", broken, len(t.Rows)), reports.Bad
	case open > 0 || !t.Complete:
		claim, mark = fmt.Sprintf("unknown: no promise is seen to break in %d windows, %d of them undecided", len(t.Rows), open), reports.Unsure
	}
	if !t.Complete {
		claim += "; not complete, windows may be missing: " + strings.Join(t.Limits, "; ")
	}
	out := []reports.Block{reports.Heading{Level: 2, Text: t.System + " (" + t.File + ")"}, reports.Paragraph{Text: claim, Mark: mark}, table,
		reports.Paragraph{Text: "what happens next, without another fault, on the shortest way into each window"}}
	list := reports.List{Numbered: true}
	for _, r := range t.Rows {
		then := r.Redelivery
		if then == "" {
			then = "nothing"
		}
		list.Items = append(list.Items, then)
	}
	return append(out, list)
}

// Cases gives one JUnit case per row.
func (t *CrashTable) Cases() []reports.Case {
	var out []reports.Case
	for _, r := range t.Rows {
		c := reports.Case{Suite: t.System + " windows", Name: fmt.Sprintf("%s: %s after %s (line %d)", r.Process, eventWords[r.Event], r.AfterStep, r.Line), Status: reports.Passed}
		if r.undecided() {
			c.Status, c.Message = reports.Skipped, "unknown: the search was cut"
		}
		if b := r.Broken(); len(b) > 0 {
			c.Status, c.Message, c.Details = reports.Failed, "breaks "+strings.Join(b, ", "), r.Redelivery
		}
		out = append(out, c)
	}
	return out
}
