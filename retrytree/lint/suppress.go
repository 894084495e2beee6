package lint

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/retrytree/retryconfig"
)

// ignoreMark is the comment that silences rules on its line or on the next one:
// relplan:ignore RULE[,RULE] until YYYY-MM-DD: reason. ignore-file silences them in the
// whole file.
var ignoreMark = regexp.MustCompile(`relplan:ignore(-file)?\s+([a-z0-9\-]+(?:\s*,\s*[a-z0-9\-]+)*)(?:\s+until\s+(\S+?))?(?:\s*:\s*|\s+|$)(.*)`)

type ignore struct {
	file   string
	whole  bool
	line   int
	rules  []string
	until  string
	reason string
	bad    string // why it does not count
}

// ignores reads the marks of a file.
func ignores(f *retryconfig.File, today time.Time) []*ignore {
	if !strings.Contains(string(f.Source), "relplan:ignore") {
		return nil
	}
	var out []*ignore
	for i, l := range strings.Split(string(f.Source), "\n") {
		l = strings.TrimRight(l, "\r")
		m := ignoreMark.FindStringSubmatch(l)
		if m == nil {
			continue
		}
		reason := m[4]
		if before, _, _ := strings.Cut(l, m[0]); strings.Count(before, `"`)%2 == 1 {
			reason, _, _ = strings.Cut(reason, `"`) // the mark stands in a string, as it must in JSON
		}
		g := &ignore{file: f.Path, whole: m[1] != "", line: i + 1, until: strings.TrimSuffix(m[3], ":"), reason: strings.Trim(reason, " \t\"'*/->,}")}
		for _, r := range strings.Split(m[2], ",") {
			g.rules = append(g.rules, strings.TrimSpace(r))
		}
		day, err := time.Parse("2006-01-02", g.until)
		switch {
		case g.until == "":
			g.bad = "has no expiry date: write until YYYY-MM-DD"
		case err != nil:
			g.bad = fmt.Sprintf("has no date %q, expected YYYY-MM-DD", g.until)
		case g.reason == "":
			g.bad = "gives no reason"
		case !today.IsZero() && today.After(day.Add(24*time.Hour-1)):
			g.bad = "expired on " + g.until
		}
		for _, r := range g.rules {
			if _, ok := Find(r); !ok && g.bad == "" {
				g.bad = fmt.Sprintf("names no rule %q", r)
				if near, found := diag.Closest(r, codes()); found {
					g.bad += ", did you mean " + near + "?"
				}
			}
		}
		out = append(out, g)
	}
	return out
}

func codes() []string {
	out := make([]string, len(Rules))
	for i, r := range Rules {
		out[i] = r.Code
	}
	return out
}

// badSuppression is the name under which a mark that does not count is reported.
const badSuppression = "bad-suppression"

// marksOf reads the marks of all files, by file.
func marksOf(files []*retryconfig.File, o Options) map[string][]*ignore {
	marks := map[string][]*ignore{}
	for _, f := range files {
		if list := ignores(f, o.Today); len(list) > 0 {
			marks[f.Path] = append(marks[f.Path], list...)
		}
	}
	return marks
}

// badMarks reports the marks that do not count, in the order of the files.
func badMarks(files []*retryconfig.File, marks map[string][]*ignore) (out []Finding) {
	for _, file := range files {
		for _, g := range marks[file.Path] {
			if g.bad != "" {
				rules := strings.Join(g.rules, ",")
				out = append(out, Finding{Rule: badSuppression, Title: "A suppression does not count", Severity: diag.Warning, File: g.file, Line: g.line, Column: 1,
					Message: "relplan:ignore " + rules + " " + g.bad, Value: rules})
			}
		}
	}
	return out
}

// suppress marks what comments and the baseline silence.
func suppress(fs []Finding, marks map[string][]*ignore, o Options) {
	for i := range fs {
		f := &fs[i]
		if o.Baseline[f.Fingerprint] {
			f.Suppressed = &Suppression{Reason: "in the baseline"}
		}
		for _, g := range marks[f.File] {
			if g.bad == "" && g.covers(f) {
				f.Suppressed = &Suppression{Reason: g.reason, Until: g.until}
			}
		}
	}
}

func (g *ignore) covers(f *Finding) bool {
	if !g.whole && f.Line != g.line && f.Line != g.line+1 {
		return false
	}
	for _, r := range g.rules {
		if r == f.Rule {
			return true
		}
	}
	return false
}
