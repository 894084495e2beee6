package cli

import "github.com/spf13/cobra"

func newDeadline(f *factory) *cobra.Command {
	return group("deadline", "Does another attempt still fit the deadline?",
		newDeadlineAdmit(f),
		newDeadlinePlan(f),
	)
}
