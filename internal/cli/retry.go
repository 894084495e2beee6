package cli

import "github.com/spf13/cobra"

func newRetry(f *factory) *cobra.Command {
	return group("retry", "What retries do to the services behind them",
		newRetryRead(f),
		newRetryTree(f),
		newRetryLint(f),
		newRetryDiff(f),
		newRetryStorm(f),
	)
}
