package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/relplan/relplan/deadline"
	"github.com/relplan/relplan/internal/plan"
	"github.com/relplan/relplan/reports"
)

type admitOptions struct {
	budget, spent, backoff, attempt durationFlag
}

type admitDocument struct {
	Schema string `json:"schema"`
	plan.AdmitDoc
}

func newDeadlineAdmit(f *factory) *cobra.Command {
	o := &admitOptions{}
	c := &cobra.Command{
		Use:   "admit",
		Short: "Decide whether one more attempt fits the remaining budget",
		Long: `Decide before sending whether one more attempt fits: it is admitted when
spent + backoff + attempt <= budget, in whole nanoseconds. Exit 0 when admitted,
1 when refused.`,
		Example: `  relplan deadline admit --budget 300ms --spent 150ms --backoff 80ms --attempt 150ms
  relplan deadline admit --budget 2s --spent 500ms --attempt 1s -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runDeadlineAdmit(f, o) },
	}
	fl := c.Flags()
	fl.Var(&o.budget, "budget", "time the caller gives for the whole call")
	fl.Var(&o.spent, "spent", "time already used")
	fl.Var(&o.backoff, "backoff", "wait before the attempt")
	fl.Var(&o.attempt, "attempt", "time the attempt may take (its per-try timeout)")
	_ = c.MarkFlagRequired("budget")
	_ = c.MarkFlagRequired("attempt")
	return lacks(c, "sarif")
}

func runDeadlineAdmit(f *factory, o *admitOptions) error {
	req := deadline.Request{
		Budget: time.Duration(o.budget), Spent: time.Duration(o.spent),
		Backoff: time.Duration(o.backoff), Attempt: time.Duration(o.attempt),
	}
	a, err := plan.Admission(req)
	if err != nil {
		return usageError{err}
	}
	r := &reports.Report{Command: "deadline admit", Title: "Deadline admission", Data: admitDocument{"relplan.dev/deadline-admit/v1", a}}
	d := plan.SpanText
	status, mark := reports.Passed, reports.Good
	if !a.Admit {
		status, mark = reports.Failed, reports.Bad
	}
	r.Add(
		reports.Paragraph{Text: a.Text, Mark: mark},
		reports.Table{
			Columns: []reports.Column{{Name: "term"}, {Name: "value", Right: true}},
			Rows: [][]string{
				{"budget", d(req.Budget)}, {"- spent", d(req.Spent)}, {"= remaining", d(time.Duration(a.RemainingNS))},
				{"backoff", d(req.Backoff)}, {"+ attempt", d(req.Attempt)}, {"= needed", d(time.Duration(a.NeededNS))},
			},
		},
	)
	r.Cases = []reports.Case{{Suite: "deadline admit", Name: "attempt fits", Status: status, Message: a.Text}}
	if err := f.Emit(r); err != nil {
		return err
	}
	if !a.Admit {
		return exit(exitFinding)
	}
	return nil
}
