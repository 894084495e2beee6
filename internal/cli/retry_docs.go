package cli

import (
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/relplan/relplan/internal/quantity"
	"github.com/relplan/relplan/reports"
	"github.com/relplan/relplan/retrytree/lint"
	"github.com/relplan/relplan/retrytree/retryconfig"
)

// hopDoc is one hop in JSON.
type hopDoc struct {
	File         string        `json:"file"`
	Line         int           `json:"line"`
	Column       int           `json:"column"`
	Kind         string        `json:"kind"`
	Hop          string        `json:"hop"`
	Count        int           `json:"count"` // routes alike; 1 for most
	Attempts     *int64        `json:"attempts"`
	Unbounded    bool          `json:"unbounded"`
	AttemptsLow  *int64        `json:"attempts_low"`
	AttemptsHigh *int64        `json:"attempts_high"`
	Slow         *int64        `json:"slow_attempts"`
	SlowLow      *int64        `json:"slow_low"`
	SlowHigh     *int64        `json:"slow_high"`
	PerTryNS     *int64        `json:"per_try_ns"`
	OverallNS    *int64        `json:"overall_ns"`
	WorstNS      *int64        `json:"worst_ns"`
	WorstLowNS   *int64        `json:"worst_low_ns"`
	WorstHighNS  *int64        `json:"worst_high_ns"`
	Written      string        `json:"written"`
	Refused      *string       `json:"refused"`
	Undecided    *string       `json:"undecided"`
	Conditions   []string      `json:"conditions"`
	Methods      []string      `json:"methods"`
	To           []string      `json:"to"`
	Hidden       []string      `json:"hidden"`
	Notes        []string      `json:"notes"`
	Basis        reports.Basis `json:"basis"`
}

type unreadDoc struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Reason string `json:"reason"`
}

const hopFormula = "A attempts; slow: the largest k <= A with (k-1)*P + smallest waits < T; worst: min(T, A*P + largest waits)"

func ns(d *time.Duration) *int64 {
	if d == nil {
		return nil
	}
	n := int64(*d)
	return &n
}

func textPtr(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func list(l []string) []string {
	if l == nil {
		return []string{}
	}
	return l
}

func newHopDoc(g retryconfig.Group) hopDoc {
	h := g.Hop
	return hopDoc{File: filepath.ToSlash(h.File), Line: h.Line, Column: h.Column, Kind: h.Kind, Hop: g.Name, Count: g.Count, Attempts: h.Attempts, Unbounded: h.Unbounded,
		AttemptsLow: h.AttemptsLow, AttemptsHigh: h.AttemptsHigh, Slow: h.Slow, SlowLow: h.SlowLow, SlowHigh: h.SlowHigh,
		PerTryNS: ns(h.PerTry), OverallNS: ns(h.Overall), WorstNS: ns(h.Worst), WorstLowNS: ns(h.WorstLow), WorstHighNS: ns(h.WorstHigh),
		Written: h.Written, Refused: textPtr(h.Refused), Undecided: textPtr(h.Undecided), Conditions: list(h.Conditions), Methods: list(h.Methods), To: list(h.To),
		Hidden: list(h.Hidden), Notes: list(h.Notes), Basis: reports.Arithmetic(hopFormula)}
}

// hopDocs gives the hops of all files, routes alike grouped unless all is set.
func hopDocs(files []*retryconfig.File, all bool) []hopDoc {
	out := []hopDoc{}
	for _, f := range files {
		if all {
			for _, h := range f.Hops {
				out = append(out, newHopDoc(retryconfig.Group{Hop: h, Name: h.Name, Count: 1}))
			}
			continue
		}
		for _, g := range f.Grouped() {
			out = append(out, newHopDoc(g))
		}
	}
	return out
}

func unreadDocs(files []*retryconfig.File) []unreadDoc {
	out := []unreadDoc{}
	for _, f := range files {
		if f.Status == retryconfig.Unread {
			out = append(out, unreadDoc{filepath.ToSlash(f.Path), f.Line, f.Column, f.Reason})
		}
	}
	return out
}

// findingDoc is one finding in JSON.
type findingDoc struct {
	Rule        string          `json:"rule"`
	Title       string          `json:"title"`
	Severity    string          `json:"severity"`
	File        string          `json:"file"`
	Line        int             `json:"line"`
	Column      int             `json:"column"`
	Message     string          `json:"message"`
	Hop         *string         `json:"hop"`
	Value       any             `json:"value"` // a count as a number, anything else as text, null when there is none
	Limit       any             `json:"limit"`
	Fingerprint string          `json:"fingerprint"`
	Suppressed  *suppressionDoc `json:"suppressed"`
}

type suppressionDoc struct {
	Reason string  `json:"reason"`
	Until  *string `json:"until"`
}

func newFindingDoc(f lint.Finding) findingDoc {
	d := findingDoc{Rule: f.Rule, Title: f.Title, Severity: f.Severity.String(), File: filepath.ToSlash(f.File), Line: f.Line, Column: f.Column, Message: f.Message,
		Hop: textPtr(f.Hop), Value: jsonValue(f.Value), Limit: jsonValue(f.Limit), Fingerprint: f.Fingerprint}
	if f.Suppressed != nil {
		d.Suppressed = &suppressionDoc{f.Suppressed.Reason, textPtr(f.Suppressed.Until)}
	}
	return d
}

// jsonValue writes a count as a number and other values as text.
func jsonValue(s string) any {
	if s == "" {
		return nil
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n
	}
	return s
}

func findingDocs(fs []lint.Finding) []findingDoc {
	out := make([]findingDoc, 0, len(fs))
	for _, f := range fs {
		out = append(out, newFindingDoc(f))
	}
	return out
}

// reportFinding is the finding for SARIF and JUnit.
func reportFinding(f lint.Finding) reports.Finding {
	r := reports.Finding{Rule: f.Rule, Title: f.Title, Severity: f.Severity.String(), File: f.File, Line: f.Line, Column: f.Column, Message: f.Message, Fingerprint: f.Fingerprint}
	if f.Suppressed != nil {
		r.Suppressed = f.Suppressed.Reason
	}
	r.Help = rulePages()[f.Rule]
	return r
}

// rulePages are the pages of all rules, built once.
var rulePages = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for _, r := range lint.Rules {
		out[r.Code] = r.Page()
	}
	return out
})

// span words a time limit for people.
func span(d *time.Duration, none string) string {
	if d == nil {
		return none
	}
	return quantity.FormatDuration(*d)
}

// numbers are the cells that show a hop.
func hopCells(h *retryconfig.Hop) []string {
	slow, worst := "-", "unbounded"
	switch {
	case h.Slow != nil:
		slow = fmt.Sprint(*h.Slow)
	case h.SlowLow != nil && h.SlowHigh != nil:
		slow = fmt.Sprintf("%d to %d", *h.SlowLow, *h.SlowHigh)
	}
	switch {
	case h.Refused != "":
		worst = "-"
	case h.WorstLow != nil && h.WorstHigh != nil && *h.WorstLow != *h.WorstHigh:
		worst = span(h.WorstLow, "") + " to " + span(h.WorstHigh, "")
	case h.Worst != nil:
		worst = span(h.Worst, "")
	case h.Undecided != "" || h.Attempts == nil && !h.Unbounded:
		worst = "open"
	case h.Waits.Open && h.PerTry != nil:
		worst = "open"
	}
	return []string{h.AttemptsText(), slow, span(h.PerTry, "none"), span(h.Overall, "none"), worst}
}

// readPaths reads what a retry verb is given.
func (f *factory) readPaths(cmd *cobra.Command, paths []string) ([]*retryconfig.File, error) {
	ctx, cancel := f.limited(cmd)
	defer cancel()
	files, err := retryconfig.ReadPaths(ctx, paths, retryconfig.WalkOptions{In: f.In})
	if err != nil && ctx.Err() != nil {
		fmt.Fprintln(f.Err, "relplan: stopped before all files were read")
		return nil, exit(exitInconclusive)
	}
	if err != nil {
		return nil, inputError(pathOf(err), err)
	}
	if len(files) == 0 {
		return nil, usagef("no file in %q", paths)
	}
	return files, nil
}

// plural writes "1 error", "2 errors".
func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
