package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/quantity"
	"github.com/relplan/relplan/reports"
	"github.com/relplan/relplan/retrytree/lint"
	"github.com/relplan/relplan/retrytree/retryconfig"
)

type retryLintOptions struct {
	failOn                  string
	limit                   int64
	failure                 string
	rate                    string
	today                   string
	baseline, writeBaseline string
	all                     bool
}

type retryLintDoc struct {
	Schema   string       `json:"schema"`
	Findings []findingDoc `json:"findings"`
	Unread   []unreadDoc  `json:"unread"`
}

// baselineDoc is the file of --baseline.
type baselineDoc struct {
	Schema       string   `json:"schema"`
	Fingerprints []string `json:"fingerprints"`
}

const baselineSchema = "relplan.dev/retry-lint-baseline/v1"

func newRetryLint(f *factory) *cobra.Command {
	o := &retryLintOptions{}
	c := &cobra.Command{
		Use:   "lint PATH...",
		Short: "Judge retry settings by sixty rules",
		Long: `Judge retry settings: hidden defaults, dead policies, limits that no attempt fits,
writes that are repeated, waits without jitter, and so on. A plan file among the
paths gives the calls between the hops. "relplan help RULE" explains a rule.

A finding is silenced by a comment on its line or above it, with a date and a
reason: relplan:ignore RULE until 2027-06-30: reason.

Exit 1 when a finding is at or above --fail-on.`,
		Example: `  relplan retry lint deploy/
  relplan retry lint deploy/ -o sarif --out retries.sarif
  relplan retry lint application.yml --fail-on warning`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runRetryLint(f, cmd, o, args) },
	}
	fl := c.Flags()
	fl.StringVar(&o.failOn, "fail-on", "error", "lowest severity that fails: error, warning, info")
	fl.Int64Var(&o.limit, "limit", 10, "accepted attempts along a path")
	fl.StringVar(&o.failure, "failure-rate", "", "share of attempts that fail, such as 5%: judges the expected attempts")
	fl.StringVar(&o.rate, "rate", "", "first tries of one client, such as 50/s: judges the floors of budgets")
	fl.StringVar(&o.today, "today", "", "date that suppressions expire against, YYYY-MM-DD; the date of the clock by default")
	fl.StringVar(&o.baseline, "baseline", "", "file of findings that are known and do not count")
	fl.StringVar(&o.writeBaseline, "write-baseline", "", "write the present findings to this file and succeed")
	fl.BoolVar(&o.all, "all", false, "show findings of severity info, too")
	_ = c.RegisterFlagCompletionFunc("fail-on", cobra.FixedCompletions([]string{"error", "warning", "info"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

var severityRank = map[string]diag.Severity{"error": diag.Error, "warning": diag.Warning, "info": diag.Info}

func (o *retryLintOptions) lintOptions(f *factory) (lint.Options, error) {
	out := lint.Options{Limit: o.limit, Today: f.Now()}
	if o.limit < 1 {
		return out, usagef("--limit %d is below 1", o.limit)
	}
	if err := oneOf("fail-on", o.failOn, "error", "warning", "info"); err != nil {
		return out, err
	}
	if o.today != "" {
		day, err := time.Parse("2006-01-02", o.today)
		if err != nil {
			return out, usagef("--today %q is no date, expected YYYY-MM-DD", o.today)
		}
		out.Today = day
	}
	if o.failure != "" {
		p, err := quantity.ParseRatio(o.failure)
		if err != nil || p < 0 || p > 1 {
			return out, usagef("--failure-rate %q is not a share, expected 0%% to 100%%", o.failure)
		}
		out.FailureRate = p
	}
	if o.rate != "" {
		r, err := quantity.ParseRate(o.rate)
		if err != nil {
			return out, usageError{withHint(err)}
		}
		out.Rate = r.PerSecond()
	}
	return out, o.readBaseline(f, &out)
}

func (o *retryLintOptions) readBaseline(f *factory, out *lint.Options) error {
	if o.baseline == "" {
		return nil
	}
	name, src, err := f.ReadInput(o.baseline)
	if err != nil {
		return err
	}
	var doc baselineDoc
	if err := json.Unmarshal(src, &doc); err != nil || doc.Schema != baselineSchema {
		return diag.New(diag.Pos{File: name, Line: 1, Column: 1}, "no baseline: expected JSON with the schema %s, as --write-baseline writes it", baselineSchema)
	}
	out.Baseline = map[string]bool{}
	for _, fp := range doc.Fingerprints {
		out.Baseline[fp] = true
	}
	return nil
}

func runRetryLint(f *factory, cmd *cobra.Command, o *retryLintOptions, paths []string) error {
	opt, err := o.lintOptions(f)
	if err != nil {
		return err
	}
	files, err := f.readPaths(cmd, paths)
	if err != nil {
		return err
	}
	found := lint.Run(files, opt)
	if o.writeBaseline != "" {
		return writeBaseline(f, o.writeBaseline, found)
	}
	doc := retryLintDoc{Schema: "relplan.dev/retry-lint/v1", Findings: findingDocs(found), Unread: unreadDocs(files)}
	r := &reports.Report{Command: "retry lint", Title: "Retry settings judged", Data: doc}
	for _, x := range found {
		r.Findings = append(r.Findings, reportFinding(x))
	}
	r.Add(lintBlocks(found, o.all || o.failOn == "info")...)
	r.Add(unreadBlocks(readableConfig(files))...)
	if len(found) == 0 {
		r.Cases = append(r.Cases, reports.Case{Suite: "retry lint", Name: "no finding", Status: reports.Passed})
	}
	if err := f.Emit(r); err != nil {
		return err
	}
	if slices.ContainsFunc(found, func(x lint.Finding) bool { return x.Suppressed == nil && x.Severity <= severityRank[o.failOn] }) {
		return exit(exitFinding)
	}
	return nil
}

// readableConfig leaves out program code: its findings say it, a list would be long.
func readableConfig(files []*retryconfig.File) []*retryconfig.File {
	return slices.DeleteFunc(slices.Clone(files), func(x *retryconfig.File) bool {
		return slices.ContainsFunc(x.Facts, func(f retryconfig.Fact) bool { return f.Rule == "unsupported-format" })
	})
}

func writeBaseline(f *factory, name string, found []lint.Finding) error {
	doc := baselineDoc{Schema: baselineSchema, Fingerprints: []string{}}
	for _, x := range found {
		if x.Suppressed == nil {
			doc.Fingerprints = append(doc.Fingerprints, x.Fingerprint)
		}
	}
	slices.Sort(doc.Fingerprints)
	doc.Fingerprints = slices.Compact(doc.Fingerprints)
	b, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	if err := writeAtomically(name, append(b, '\n')); err != nil {
		return err
	}
	if !f.quiet {
		fmt.Fprintf(f.Err, "%d findings written to %s\n", len(doc.Fingerprints), name)
	}
	return nil
}

// lintBlocks shows findings; those of severity info are counted only, unless asked for.
func lintBlocks(found []lint.Finding, all bool) []reports.Block {
	t := reports.Table{Columns: []reports.Column{{Name: "place"}, {Name: "severity"}, {Name: "rule"}, {Name: "finding"}}}
	hidden, silenced := 0, 0
	for _, x := range found {
		switch {
		case x.Suppressed != nil:
			silenced++
		case x.Severity == diag.Info && !all:
			hidden++
		default:
			message := x.Message
			if x.Hop != "" {
				message = x.Hop + ": " + message
			}
			t.Rows = append(t.Rows, []string{fmt.Sprintf("%s:%d:%d", x.File, x.Line, x.Column), x.Severity.String(), x.Rule, message})
		}
	}
	n := lint.Counts(found)
	text, mark := fmt.Sprintf("%s, %s", plural(n[diag.Error], "error"), plural(n[diag.Warning], "warning")), reports.Good
	switch {
	case n[diag.Error] > 0:
		mark = reports.Bad
	case n[diag.Warning] > 0:
		mark = reports.Unsure
	}
	if hidden > 0 {
		text += fmt.Sprintf(", %s not shown (--all)", plural(hidden, "remark"))
	} else if n[diag.Info] > 0 {
		text += ", " + plural(n[diag.Info], "remark")
	}
	if silenced > 0 {
		text += fmt.Sprintf(", %d silenced", silenced)
	}
	if len(t.Rows) == 0 {
		return []reports.Block{reports.Paragraph{Text: text, Mark: mark}}
	}
	return []reports.Block{t, reports.Paragraph{Text: text, Mark: mark}}
}
