package cli

import "github.com/spf13/cobra"

func newDeadlinePlan(f *factory) *cobra.Command {
	return &cobra.Command{
		Use:   "plan FILE",
		Short: "Carry deadlines down the call graph of a plan and show which attempts fit",
		Long: `Carry the deadlines and per-try limits of a plan down its call graph: the time
each call has, which of its attempts start, which fit whatever the jitter, and
what would fit in their place. A callee has no more time than one attempt of its
caller; what it does after that is for nobody. Where the plan gives the latency
of a service, attempts, per-try limit and backoff are planned from it and the
trade against amplification is shown.

Exit 0 when every attempt fits and every deadline is admitted, else 1.`,
		Example: `  relplan deadline plan relplan.yaml
  relplan deadline plan relplan.yaml -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := f.loadPlan(args[0])
			if err != nil {
				return err
			}
			a, err := p.DeadlinePlan()
			return f.answer(a, err)
		},
	}
}
