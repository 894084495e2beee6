package cli

import "github.com/spf13/cobra"

func newDeadline(f *factory) *cobra.Command {
	c := group("deadline", "Does another attempt still fit the deadline?",
		newDeadlineAdmit(f),
		newDeadlinePlan(f),
	)
	c.Example = `  relplan deadline admit --budget 300ms --spent 150ms --backoff 80ms --attempt 150ms
  relplan deadline plan relplan.yaml                  what every call of a plan has left, and what fits`
	return c
}
