package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/reports"
	"github.com/relplan/relplan/retrytree/lint"
	"github.com/relplan/relplan/retrytree/retryconfig"
)

type retryDiffOptions struct {
	limit int64
	today string
}

type retryDiffDoc struct {
	Schema   string          `json:"schema"`
	Hops     []hopChangeDoc  `json:"hops"`
	Paths    []pathChangeDoc `json:"paths"`
	Findings struct {
		New  []findingDoc `json:"new"`
		Gone []findingDoc `json:"gone"`
	} `json:"findings"`
	Unread struct {
		Old []unreadDoc `json:"old"`
		New []unreadDoc `json:"new"`
	} `json:"unread"`
	Basis reports.Basis `json:"basis"`
}

type hopChangeDoc struct {
	Hop      string  `json:"hop"`
	Old      *hopDoc `json:"old"`
	New      *hopDoc `json:"new"`
	Attempts string  `json:"attempts"`
	Worst    *string `json:"worst"`
	Grew     bool    `json:"grew"`
}

type pathChangeDoc struct {
	Path     string `json:"path"`
	Old      *int64 `json:"old"`
	New      *int64 `json:"new"`
	Attempts string `json:"attempts"`
}

func newRetryDiff(f *factory) *cobra.Command {
	o := &retryDiffOptions{}
	c := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "What a change does to attempts, worst time and findings",
		Long: `Compare two states of a file or folder: the attempts and the worst time of every
hop, the product along every path of a plan, and the findings that are new or gone.
Written for the comment on a pull request (-o markdown).

Exit 1 when attempts or a worst time grew, or an error or warning is new; exit 2
when neither side can be read.`,
		Example: `  relplan retry diff old/vs.yaml new/vs.yaml
  relplan retry diff base/deploy head/deploy -o markdown`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error { return runRetryDiff(f, cmd, o, args[0], args[1]) },
	}
	c.Flags().Int64Var(&o.limit, "limit", 10, "accepted attempts along a path")
	c.Flags().StringVar(&o.today, "today", "", "date that suppressions expire against, YYYY-MM-DD; the date of the clock by default")
	return c
}

func runRetryDiff(f *factory, cmd *cobra.Command, o *retryDiffOptions, oldPath, newPath string) error {
	opt := lint.Options{Limit: o.limit, Today: f.Now()}
	if o.today != "" {
		day, err := time.Parse("2006-01-02", o.today)
		if err != nil {
			return usagef("--today %q is no date, expected YYYY-MM-DD", o.today)
		}
		opt.Today = day
	}
	old, err := f.readPaths(cmd, []string{oldPath})
	if err != nil {
		return err
	}
	now, err := f.readPaths(cmd, []string{newPath})
	if err != nil {
		return err
	}
	d := lint.Compare(old, now, rootOf(oldPath), rootOf(newPath), opt)
	r := &reports.Report{Command: "retry diff", Title: "Retry settings: what changes", Data: diffDoc(d, old, now)}
	blind := allUnread(old) && allUnread(now)
	if blind {
		r.Add(reports.Paragraph{Text: "nothing is compared: neither side can be read", Mark: reports.Bad})
		r.Add(unreadBlocks(slices.Concat(old, now))...)
	} else {
		r.Add(diffBlocks(d)...)
		r.Add(unreadBlocks(now)...)
	}
	for _, x := range d.New {
		r.Findings = append(r.Findings, reportFinding(x))
	}
	addGrowth(r, d)
	if err := f.Emit(r); err != nil {
		return err
	}
	if blind {
		return exit(exitUsage)
	}
	if d.Worse() {
		return exit(exitFinding)
	}
	return nil
}

// allUnread says that of no file anything is known.
func allUnread(files []*retryconfig.File) bool {
	return !slices.ContainsFunc(files, func(x *retryconfig.File) bool { return x.Status != retryconfig.Unread })
}

// rootOf is the folder that paths are compared below.
func rootOf(p string) string {
	if info, err := os.Stat(p); err == nil && info.IsDir() {
		return p
	}
	return filepath.Dir(p)
}

func diffDoc(d lint.Diff, old, now []*retryconfig.File) retryDiffDoc {
	doc := retryDiffDoc{Schema: "relplan.dev/retry-diff/v1", Hops: []hopChangeDoc{}, Paths: []pathChangeDoc{},
		Basis: reports.Arithmetic(hopFormula + "; a path: the product of its attempts")}
	side := func(h *retryconfig.Hop) *hopDoc {
		if h == nil {
			return nil
		}
		x := newHopDoc(retryconfig.Group{Hop: h, Name: h.Name, Count: 1})
		return &x
	}
	for _, h := range d.Hops {
		doc.Hops = append(doc.Hops, hopChangeDoc{h.Hop, side(h.Old), side(h.New), h.Attempts, textPtr(h.Worst), h.Grew})
	}
	count := func(n int64) *int64 {
		if n == 0 {
			return nil
		}
		return &n
	}
	for _, p := range d.Paths {
		doc.Paths = append(doc.Paths, pathChangeDoc{p.Path, count(p.Old), count(p.New), pathText(p)})
	}
	doc.Findings.New, doc.Findings.Gone = findingDocs(d.New), findingDocs(d.Gone)
	doc.Unread.Old, doc.Unread.New = unreadDocs(old), unreadDocs(now)
	return doc
}

func diffBlocks(d lint.Diff) []reports.Block {
	var blocks []reports.Block
	if len(d.Hops) > 0 {
		t := reports.Table{Columns: []reports.Column{{Name: "hop"}, {Name: "attempts"}, {Name: "at worst"}, {Name: "when slow"}, {Name: "one attempt"}, {Name: "the call"}}}
		for _, h := range d.Hops {
			t.Rows = append(t.Rows, append([]string{h.Hop, h.Attempts}, changedCells(h.Old, h.New)...))
		}
		blocks = append(blocks, t)
	}
	if len(d.Paths) > 0 {
		t := reports.Table{Caption: "attempts along a path, for one request at the top", Columns: []reports.Column{{Name: "path"}, {Name: "attempts"}}}
		for _, p := range d.Paths {
			t.Rows = append(t.Rows, []string{p.Path, pathText(p)})
		}
		blocks = append(blocks, t)
	}
	for _, part := range []struct {
		title string
		list  []lint.Finding
		mark  reports.Mark
	}{{"New findings", d.New, reports.Bad}, {"Findings that are gone", d.Gone, reports.Good}} {
		var items []string
		for _, f := range part.list {
			if f.Severity == diag.Info {
				continue
			}
			items = append(items, fmt.Sprintf("%s `%s` %s:%d %s", f.Severity, f.Rule, f.File, f.Line, f.Message))
		}
		if len(items) > 0 {
			blocks = append(blocks, reports.Heading{Level: 2, Text: part.title, Mark: part.mark}, reports.List{Items: items})
		}
	}
	if len(blocks) == 0 {
		return []reports.Block{reports.Paragraph{Text: "no change in attempts, limits or findings", Mark: reports.Good}}
	}
	text, mark := "nothing grew", reports.Good
	if d.Worse() {
		text, mark = "attempts or a worst time grew, or a finding is new", reports.Bad
	}
	return append(blocks, reports.Paragraph{Text: text, Mark: mark})
}

// addGrowth gives SARIF and JUnit what changed: a hop or a path that grew fails, and is a
// finding of its own where no rule finds anything.
func addGrowth(r *reports.Report, d lint.Diff) {
	add := func(name, message string, grew bool, at *retryconfig.Hop) {
		c := reports.Case{Suite: "retry diff", Name: name, Status: reports.Passed, Message: message}
		if grew {
			c.Status = reports.Failed
		}
		r.Cases = append(r.Cases, c)
		if grew && at != nil {
			r.Findings = append(r.Findings, reports.Finding{Rule: "retry-grew", Title: "A change makes more attempts or a longer worst time", Severity: diag.Warning.String(), File: at.File, Line: at.Line, Column: at.Column,
				Message: name + ": " + message, Fingerprint: "retry-grew/" + name, Help: "Compare the attempts and the worst time before and after: relplan retry diff OLD NEW."})
		}
	}
	for _, h := range d.Hops {
		message := "attempts " + h.Attempts
		if h.Worst != "" {
			message += ", at worst " + h.Worst
		}
		add(h.Hop, message, h.Grew, h.New)
	}
	for _, p := range d.Paths {
		add(p.Path, "attempts "+pathText(p), p.New > p.Old, p.Hop)
	}
}

func pathText(p lint.PathChange) string {
	return fmt.Sprintf("%s -> %s", orNone(p.Old), orNone(p.New))
}

func orNone(n int64) string {
	if n == 0 {
		return "none"
	}
	return fmt.Sprint(n)
}

// changedCells shows worst, slow, per try and overall: one value when it stays.
func changedCells(a, b *retryconfig.Hop) []string {
	none := []string{"none", "none", "none", "none", "none"}
	x, y := none, none
	if a != nil {
		x = hopCells(a)
	}
	if b != nil {
		y = hopCells(b)
	}
	var out []string
	for _, i := range []int{4, 1, 2, 3} {
		if x[i] == y[i] {
			out = append(out, y[i])
		} else {
			out = append(out, x[i]+" -> "+y[i])
		}
	}
	return out
}
