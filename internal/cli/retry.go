package cli

import "github.com/spf13/cobra"

func newRetry(f *factory) *cobra.Command {
	c := group("retry", "What retries do to the services behind them",
		newRetryRead(f),
		newRetryTree(f),
		newRetryLint(f),
		newRetryDiff(f),
		newRetryStorm(f),
	)
	c.Example = `  relplan retry read deploy/virtual-service.yaml      what one configuration really does
  relplan retry lint deploy/                          what is wrong with it
  relplan retry diff base/deploy head/deploy          what a change does: "12 -> 36"
  relplan retry tree relplan.yaml                     how attempts multiply along a call graph
  relplan retry storm relplan.yaml                    when retries tip a service over`
	return c
}
