package lint

import (
	"fmt"
	"strings"
	"time"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/retrytree/retryconfig"
)

// Source is a file of an example.
type Source struct{ Name, Text string }

// Rule is one rule. A test fails on a rule without text, without a bad example that it
// finds, or without a good one that it leaves alone.
type Rule struct {
	Number   int    // in the list of rules
	Code     string // such as "no-backoff"
	Title    string // one line
	Text     string // Markdown: why it matters and what to do
	Before   []Source
	After    []Source
	Severity diag.Severity
	Options  Options // that the examples need
	Run      func(p *Pass)
}

// Options are what a run is judged by.
type Options struct {
	Limit       int64     // attempts along a path that are accepted; 0: 10
	FailureRate float64   // of one attempt, for expected amplification; 0: not judged
	Expected    float64   // accepted expected attempts at FailureRate; 0: 1.5
	Rate        float64   // first tries per second and client, for budget floors; 0: not judged
	Today       time.Time // suppressions expire against it; zero: none expires
	Baseline    map[string]bool
}

func (o Options) limit() int64 {
	if o.Limit > 0 {
		return o.Limit
	}
	return 10
}

func (o Options) expected() float64 {
	if o.Expected > 0 {
		return o.Expected
	}
	return 1.5
}

// Finding is one place that a rule complains about.
type Finding struct {
	Rule, Title  string
	Severity     diag.Severity
	File         string
	Line, Column int
	Message      string
	Hop          string // "" when it belongs to no hop
	Value, Limit string // the number that was found and what it is compared with
	Fingerprint  string // stable over moved lines
	Suppressed   *Suppression
}

// Suppression says why a finding does not count.
type Suppression struct {
	Reason string
	Until  string // date, "" for the baseline
}

// Pass is what a rule sees, and where it reports.
type Pass struct {
	Files   []*retryconfig.File
	Edges   []Edge
	Options Options
	rule    *Rule
	found   []Finding
}

// report adds a finding at a hop.
func (p *Pass) report(h *retryconfig.Hop, format string, args ...any) *Finding {
	p.found = append(p.found, Finding{Rule: p.rule.Code, Title: p.rule.Title, Severity: p.rule.Severity, File: h.File, Line: h.Line, Column: h.Column,
		Hop: h.Name, Message: fmt.Sprintf(format, args...)})
	return &p.found[len(p.found)-1]
}

// hops calls f for every hop that makes more than one attempt and is not refused.
func (p *Pass) hops(f func(h *retryconfig.Hop)) {
	for _, file := range p.Files {
		for _, h := range file.Hops {
			if h.Refused == "" && h.Retries() {
				f(h)
			}
		}
	}
}

// facts reports what the readers have seen under the name of this rule.
func (p *Pass) facts() {
	mild := map[diag.Severity]diag.Severity{diag.Error: diag.Warning, diag.Warning: diag.Info, diag.Info: diag.Info}
	for _, file := range p.Files {
		for _, x := range file.Facts {
			if x.Rule != p.rule.Code {
				continue
			}
			f := Finding{Rule: p.rule.Code, Title: p.rule.Title, Severity: p.rule.Severity, File: file.Path, Line: x.Line, Column: x.Column, Message: x.Message, Value: x.Value, Limit: x.Limit}
			if x.Mild {
				f.Severity = mild[f.Severity]
			}
			if x.Hop != nil {
				f.Hop = x.Hop.Name
			}
			p.found = append(p.found, f)
		}
	}
}

// fromFacts is the Run of a rule that only a reader can see.
func fromFacts(p *Pass) { p.facts() }

// one is an example of a single file.
func one(name, text string) []Source { return []Source{{name, text}} }

// Find gives the rule with the code.
func Find(code string) (*Rule, bool) {
	for _, r := range Rules {
		if r.Code == code {
			return r, true
		}
	}
	return nil, false
}

// Page is the documentation of a rule in Markdown.
func (r *Rule) Page() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s. Severity: %s.\n\n%s\n", r.Code, r.Title, r.Severity, strings.TrimSpace(r.Text))
	for _, part := range []struct {
		title string
		files []Source
	}{{"Found", r.Before}, {"Not found", r.After}} {
		fmt.Fprintf(&b, "\n## %s\n", part.title)
		for _, s := range part.files {
			fmt.Fprintf(&b, "\n`%s`\n\n```%s\n%s\n```\n", s.Name, language(s.Name), strings.TrimRight(s.Text, "\n"))
		}
	}
	b.WriteString("\nSilence it in the file, with a reason and a date: `relplan:ignore " + r.Code + " until 2027-06-30: reason` in a comment on the line or above it.\n")
	return b.String()
}

func language(name string) string {
	for suffix, lang := range map[string]string{".yaml": "yaml", ".yml": "yaml", ".json": "json", ".properties": "properties", ".conf": "nginx", ".toml": "toml"} {
		if strings.HasSuffix(name, suffix) {
			return lang
		}
	}
	return ""
}
