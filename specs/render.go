package specs

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/quantity"
	"github.com/relplan/relplan/reports"
	"github.com/relplan/relplan/specs/ast"
)

// plainWidth is the width of a text report that no terminal limits.
const plainWidth = 100

// RenderOptions choose what Blocks shows.
type RenderOptions struct {
	Format  string // of the report; text shows histories in lanes, the others as a table and a diagram
	Width   int    // columns of a text report, 0: plainWidth
	Promise string // only the history of this promise; "": of every broken one
	Stats   bool   // reductions and notes too
}

// faultWords are the names of faults in prose: one, several.
var faultWords = map[string][2]string{
	"crash": {"crash", "crashes"}, "redelivery": {"redelivery", "redeliveries"}, "response_lost": {"lost answer", "lost answers"},
	"request_lost": {"lost request", "lost requests"}, "late_request": {"late request", "late requests"}, "stall": {"stall", "stalls"},
	"restart": {"restart", "restarts"}, "failover": {"failover", "failovers"}, "clock_jump": {"clock jump", "clock jumps"},
	"retention_expires": {"expired row", "expired rows"}, "error": {"error", "errors"}, "lock_timeout": {"lock timeout", "lock timeouts"},
	"session_lost": {"lost session", "lost sessions"}, "operator_replay": {"operator replay", "operator replays"}, "rebalance": {"rebalance", "rebalances"},
	"offset_reset": {"offset reset", "offset resets"},
}

// faultText prints a budget: "1 crash, 2 lost answers"; "no fault" for none.
func faultText(m map[string]int) string {
	var parts []string
	for _, name := range faultNames(m) {
		w, ok := faultWords[name]
		if !ok {
			w = [2]string{name, name}
		}
		if m[name] == 1 {
			parts = append(parts, "1 "+w[0])
		} else {
			parts = append(parts, fmt.Sprintf("%d %s", m[name], w[1]))
		}
	}
	if len(parts) == 0 {
		return "no fault"
	}
	return strings.Join(parts, ", ")
}

// Summary is the verdict of the file on one line:
// "as_reported: broken as expected (once, 9 steps); fixed: holds".
func (v *Verdict) Summary() string {
	var parts []string
	for _, x := range v.Variants {
		s := x.Summary()
		if n := x.Name(); n != "" {
			s = n + ": " + s
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, "; ")
}

// Summary of one variant: "broken as expected (once, 9 steps)".
func (v *VariantVerdict) Summary() string {
	if e := v.Estimate; e != nil {
		return e.text()
	}
	s := v.Verdict
	if v.Expect != nil && v.AsExpected == nil && v.Verdict != ast.Unknown {
		s += ", the rest of what is expected not decided"
	}
	if v.AsExpected != nil {
		switch {
		case !*v.AsExpected:
			s += ", not as expected"
		case v.Verdict != ast.Holds:
			s += " as expected"
		}
	}
	var broken []string
	for _, p := range v.Promises {
		if p.Verdict != ast.Broken {
			continue
		}
		text := p.Name
		if len(p.History) > 0 {
			text += fmt.Sprintf(", %s", steps(len(p.History)))
		}
		broken = append(broken, text)
	}
	if len(broken) > 0 {
		s += " (" + strings.Join(broken, "; ") + ")"
	}
	if v.AsExpected != nil && !*v.AsExpected {
		s += ": " + v.surprise()
	}
	return s
}

// surprise says what was expected otherwise.
func (v *VariantVerdict) surprise() string {
	var parts []string
	for _, p := range v.Promises {
		if p.Expected != nil && *p.Expected != p.Verdict {
			parts = append(parts, fmt.Sprintf("%s was expected %s and is %s", p.Name, as(*p.Expected), p.Verdict))
		}
	}
	for _, p := range v.Possible {
		if !p.Seen && !p.unknown {
			parts = append(parts, "not possible: "+p.Text)
		}
	}
	if len(parts) == 0 && v.Expect != nil {
		parts = append(parts, "expected "+*v.Expect)
	}
	return strings.Join(parts, ", ")
}

func as(verdict string) string {
	if verdict == ast.Holds {
		return "to hold"
	}
	return "to be " + verdict
}

func steps(n int) string {
	if n == 1 {
		return "1 step"
	}
	return fmt.Sprintf("%d steps", n)
}

func (e *EstimateInfo) text() string {
	if e.Reason != "" {
		return "no estimate: " + e.Reason
	}
	if e.Exact {
		return fmt.Sprintf("%d states, explored completely", e.States)
	}
	return fmt.Sprintf("about %d states (%d to %d), depth %d, %s", e.States, e.Low, e.High, e.Depth, bytesText(e.Bytes))
}

// Blocks gives the report of the file, in reading order.
func (v *Verdict) Blocks(o RenderOptions) []reports.Block {
	if o.Width <= 0 {
		o.Width = plainWidth
	}
	mark := reports.Good
	switch v.Exit() {
	case 1:
		mark = reports.Bad
	case 4:
		mark = reports.Unsure
	}
	out := []reports.Block{reports.Heading{Level: 2, Text: v.System + " (" + v.File + ")"}}
	if len(v.Variants) != 1 || v.Variants[0].Summary() != ast.Holds { // then the claim below says it all
		out = append(out, reports.Paragraph{Text: v.Summary(), Mark: mark})
	}
	for _, x := range v.Variants {
		if len(v.Variants) > 1 {
			out = append(out, reports.Heading{Level: 3, Text: x.title()})
		}
		if x.Estimate == nil {
			out = append(out, x.Blocks(o)...)
		}
	}
	return out
}

func (v *VariantVerdict) title() string {
	var with []string
	for _, k := range sortedKeys(v.Parameters) {
		with = append(with, k+": "+v.Parameters[k])
	}
	t := v.Name()
	if len(with) > 0 {
		t += " (" + strings.Join(with, ", ") + ")"
	}
	return t
}

// Blocks gives the report of one variant.
func (v *VariantVerdict) Blocks(o RenderOptions) []reports.Block {
	if o.Width <= 0 {
		o.Width = plainWidth
	}
	out := []reports.Block{reports.Paragraph{Text: v.claim(), Mark: v.mark()}, v.promiseTable()}
	out = append(out, v.histories(o)...)
	out = append(out, v.facts(o))
	return out
}

func (v *VariantVerdict) mark() reports.Mark {
	switch v.exit() {
	case 0:
		return reports.Good
	case 4:
		return reports.Unsure
	}
	return reports.Bad
}

// claim says what the verdict covers.
func (v *VariantVerdict) claim() string {
	bounds := "at most " + faultText(v.Bounds)
	if len(faultNames(v.Bounds)) == 0 {
		bounds = "no fault"
	}
	switch {
	case v.Random != nil && v.Verdict != ast.Broken:
		return fmt.Sprintf("unknown: %d random histories with %s (seed %d) broke nothing, which proves nothing", v.Random.N, bounds, v.Random.Seed)
	case v.Verdict == ast.Holds:
		return "holds for every history with " + bounds
	case v.Verdict == ast.Vacuous:
		return "vacuous: nothing is broken in any history with " + bounds + ", but what was to be shown never happens"
	case v.Verdict == ast.Unknown:
		s := "unknown"
		if len(v.Limits) > 0 {
			s += ": " + strings.Join(v.Limits, "; ")
		}
		return s
	}
	return "broken by a history with " + bounds
}

func (v *VariantVerdict) promiseTable() reports.Table {
	t := reports.Table{Columns: []reports.Column{{Name: "promise"}, {Name: "verdict"}, {Name: "history"}, {Name: "text"}}}
	for _, p := range v.Promises {
		history := ""
		if len(p.History) > 0 {
			history = steps(len(p.History)) + ", " + faultText(p.Faults)
		}
		verdict := p.Verdict
		if p.Expected != nil && *p.Expected != p.Verdict {
			verdict += " (expected " + *p.Expected + ")"
		}
		t.Rows = append(t.Rows, []string{p.Name, verdict, history, p.Text})
	}
	return t
}

// histories shows each broken promise once; promises with the same history
// share it.
func (v *VariantVerdict) histories(o RenderOptions) []reports.Block {
	var out []reports.Block
	shown := map[string]string{}
	for _, p := range v.Promises {
		if len(p.History) == 0 || o.Promise != "" && o.Promise != p.Name {
			continue
		}
		out = append(out, reports.Heading{Level: 4, Text: fmt.Sprintf("%s is broken: %s", p.Name, p.Text), Mark: reports.Bad})
		key := p.fingerprint()
		if same, ok := shown[key]; ok {
			out = append(out, reports.Paragraph{Text: "by the same history as " + same + p.ending()})
		} else {
			shown[key] = p.Name
			out = append(out, p.historyBlocks(o)...)
		}
		out = append(out, p.reasons()...)
	}
	return out
}

func (p *PromiseVerdict) fingerprint() string {
	var b strings.Builder
	for _, s := range p.History {
		fmt.Fprintf(&b, "%s|%s|%d\n", s.Actor, s.Text, s.Line)
	}
	return b.String()
}

// ending says how a liveness history goes on.
func (p *PromiseVerdict) ending() string {
	switch {
	case p.SealedAt != nil && *p.SealedAt > 0:
		return fmt.Sprintf("; sealed at step %d: nothing that can still happen changes that", *p.SealedAt)
	case p.LoopFrom != nil && *p.LoopFrom < len(p.History):
		return fmt.Sprintf("; from step %d on it goes round for ever", *p.LoopFrom+1)
	case p.Kind == "liveness":
		return "; and nothing that can still happen changes that"
	}
	return ""
}

func (p *PromiseVerdict) reasons() []reports.Block {
	var items []string
	items = append(items, p.Because...)
	if len(p.LeastFaults) > 0 {
		var least []string
		for _, m := range p.LeastFaults {
			least = append(least, faultText(m))
		}
		items = append(items, "the smallest budgets that break it: "+strings.Join(least, "; or "))
	}
	var out []reports.Block
	if len(items) > 0 {
		out = append(out, reports.Paragraph{Text: "because"}, reports.List{Items: items})
	}
	if p.Replay != nil {
		out = append(out, reports.Paragraph{Text: "again: `" + *p.Replay + "`"})
	}
	return out
}

// facts lists what the verdict rests on.
func (v *VariantVerdict) facts(o RenderOptions) reports.Block {
	l := reports.List{}
	add := func(format string, a ...any) { l.Items = append(l.Items, fmt.Sprintf(format, a...)) }
	add("bounds: %s", faultText(v.Bounds))
	for _, a := range v.Assumptions {
		add("assumed: %s", v.worth(a))
	}
	for _, r := range v.RestsOn {
		if strings.HasPrefix(r, "holds iff ") {
			add("%s", r)
		}
	}
	for _, p := range v.Possible {
		switch {
		case p.unknown:
			add("must be possible: %s: unknown", p.Text)
		case !p.Seen:
			add("must be possible: %s: never happens", p.Text)
		case p.Steps != nil:
			add("must be possible: %s: seen, %s", p.Text, steps(*p.Steps))
		default:
			add("must be possible: %s: seen", p.Text)
		}
	}
	for _, n := range v.NeverTaken {
		add("never taken: %s", n)
	}
	for _, n := range v.NeverTakenBranches {
		add("branch never taken: %s", n)
	}
	add("%s", v.effort())
	if o.Stats {
		for _, r := range v.Reductions {
			add("reduction: %s", r)
		}
		for _, n := range v.Notes {
			add("note: %s", n)
		}
	}
	return l
}

func bytesText(n int64) string { return quantity.FormatBytes(big.NewInt(n)) }

func count(n uint64) string { return quantity.FormatInt(new(big.Int).SetUint64(n)) }

// worth adds to an assumption whether it removed anything.
func (v *VariantVerdict) worth(assumption string) string {
	for _, r := range v.RestsOn {
		if strings.HasPrefix(r, assumption+": ") {
			return assumption + " (" + strings.TrimPrefix(r, assumption+": ") + ")"
		}
	}
	return assumption
}

func (v *VariantVerdict) effort() string {
	if v.Random != nil {
		return fmt.Sprintf("%d random histories, %d steps, the longest %d, seed %d", v.Random.N, v.Transitions, v.Depth, v.Random.Seed)
	}
	s := fmt.Sprintf("%s states, %s transitions, depth %d", count(v.States), count(v.Transitions), v.Depth)
	if v.Complete {
		s += ", complete"
	} else {
		s += ", not complete"
	}
	if v.Timing != nil {
		s += fmt.Sprintf(", %.2f s, %s, %d workers", float64(v.Timing.ElapsedNS)/1e9, bytesText(v.Timing.Bytes), v.Timing.Workers)
	}
	return s
}

// Findings gives one finding per broken promise, at the step that breaks it.
func (v *Verdict) Findings() []reports.Finding {
	var out []reports.Finding
	for _, x := range v.Variants {
		for _, p := range x.Promises {
			if f, ok := x.finding(p); ok {
				out = append(out, f)
			}
		}
		if x.Verdict == ast.Vacuous {
			for _, n := range x.NeverTaken {
				out = append(out, reports.Finding{Rule: "RPV3", Title: "a step is never taken", Severity: "warning", File: x.File, Line: lineOf(n), Column: 1,
					Message: x.where() + n, Fingerprint: x.System + "/" + x.Name() + "/never/" + n})
			}
			for _, q := range x.Possible {
				if !q.Seen {
					out = append(out, reports.Finding{Rule: "RPV4", Title: "what must be possible never happens", Severity: "error", File: x.File, Line: q.Line, Column: 1,
						Message: x.where() + q.Text + ": never happens", Fingerprint: x.System + "/" + x.Name() + "/possible/" + q.Text})
				}
			}
		}
	}
	return out
}

func (v *VariantVerdict) where() string {
	if n := v.Name(); n != "" {
		return n + ": "
	}
	return ""
}

func lineOf(never string) int {
	var n int
	if i := strings.LastIndex(never, "(line "); i >= 0 {
		fmt.Sscanf(never[i:], "(line %d)", &n)
	}
	return n
}

func (v *VariantVerdict) finding(p *PromiseVerdict) (reports.Finding, bool) {
	f := reports.Finding{Rule: "RPV1", Title: "a promise is broken", Severity: "error", File: v.File, Line: p.Line, Column: 1,
		Fingerprint: v.System + "/" + v.Name() + "/" + p.Name}
	expected := p.Expected != nil && *p.Expected == p.Verdict
	switch p.Verdict {
	case ast.Broken:
		if expected {
			f.Severity = "info"
		}
		if pos := p.wrongStep(); pos.Line > 0 {
			f.Line, f.Column, f.EndColumn = pos.Line, pos.Column, pos.EndColumn
		}
		f.Message = fmt.Sprintf("%s%s (%s) is broken by a history of %s with %s", v.where(), p.Name, p.Text, steps(len(p.History)), faultText(p.Faults))
		if len(p.Because) > 0 {
			f.Message += ": " + strings.Join(p.Because, "; ")
		}
		f.Help = p.markdown()
	case ast.Unknown:
		f.Rule, f.Title, f.Severity = "RPV2", "a promise is undecided", "warning"
		f.Message = fmt.Sprintf("%s%s (%s) is unknown", v.where(), p.Name, p.Text)
		if p.Reason != nil {
			f.Message += ": " + *p.Reason
		}
	default:
		if p.Expected == nil || expected {
			return f, false
		}
		f.Rule, f.Title = "RPV5", "a promise is not as expected"
		f.Message = fmt.Sprintf("%s%s (%s) was expected %s and is %s", v.where(), p.Name, p.Text, as(*p.Expected), p.Verdict)
	}
	return f, true
}

// wrongStep is where the step to look at stands: the last step of a safety
// history, the one that sealed a liveness history.
func (p *PromiseVerdict) wrongStep() diag.Pos {
	last := len(p.History)
	if p.SealedAt != nil && *p.SealedAt > 0 && *p.SealedAt <= last {
		last = *p.SealedAt
	}
	for i := last - 1; i >= 0; i-- {
		if p.History[i].pos.Line > 0 {
			return p.History[i].pos
		}
	}
	return diag.Pos{}
}

// Cases gives one JUnit case per promise and possibility of each variant.
func (v *Verdict) Cases() []reports.Case {
	var out []reports.Case
	for _, x := range v.Variants {
		suite := x.System
		if n := x.Name(); n != "" {
			suite += " / " + n
		}
		for _, p := range x.Promises {
			out = append(out, p.testCase(suite))
		}
		for _, q := range x.Possible {
			c := reports.Case{Suite: suite, Name: "must be possible: " + q.Text, Status: reports.Passed}
			switch {
			case q.unknown:
				c.Status, c.Message = reports.Skipped, "unknown: the search was cut"
			case !q.Seen:
				c.Status, c.Message = reports.Failed, "never happens"
			}
			out = append(out, c)
		}
	}
	return out
}

func (p *PromiseVerdict) testCase(suite string) reports.Case {
	c := reports.Case{Suite: suite, Name: p.Name + ": " + p.Text, Status: reports.Passed}
	want := ast.Holds
	if p.Expected != nil {
		want = *p.Expected
	}
	switch {
	case p.Verdict == want:
	case p.Verdict == ast.Unknown:
		c.Status, c.Message = reports.Skipped, "unknown"
		if p.Reason != nil {
			c.Message += ": " + *p.Reason
		}
	default:
		c.Status = reports.Failed
		c.Message = fmt.Sprintf("expected %s, found %s", want, p.Verdict)
		c.Details = p.lanes(100)
		if len(p.Because) > 0 {
			c.Details += "\nbecause\n- " + strings.Join(p.Because, "\n- ") + "\n"
		}
	}
	return c
}

// Document is the JSON document of `relplan check`.
type Document struct {
	Schema string            `json:"schema"`
	Specs  []*VariantVerdict `json:"specs"`
}

// NewDocument makes the document of several files.
func NewDocument(vs []*Verdict) Document {
	d := Document{Schema: "relplan.dev/check/v1", Specs: []*VariantVerdict{}}
	for _, v := range vs {
		d.Specs = append(d.Specs, v.Variants...)
	}
	return d
}
