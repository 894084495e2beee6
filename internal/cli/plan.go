package cli

import (
	"github.com/spf13/cobra"

	"github.com/relplan/relplan/specs"
)

func newPlan(f *factory) *cobra.Command {
	return &cobra.Command{
		Use:   "plan [FILE]",
		Short: "Answer everything about one system: capacity, attempts, deadlines, protocols",
		Long: `Read a plan file (relplan.yaml by default), size its stores, compare every dedupe
window with what can deliver a record again, multiply attempts along the call
graph, admit or refuse attempts, check the protocols, compare the answers with
each other and with the policies, and print one report.

Exit 0 when every policy holds, 1 when one is broken, 4 when a protocol could not
be decided within the limits.`,
		Example: `  relplan plan
  relplan plan examples/order-chain/relplan.yaml
  relplan plan relplan.yaml -o markdown --out plan.md
  relplan plan relplan.yaml -o json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := "relplan.yaml"
			if len(args) == 1 {
				path = args[0]
			}
			return runPlan(f, cmd, path)
		},
	}
}

func runPlan(f *factory, cmd *cobra.Command, path string) error {
	p, err := f.loadPlan(path)
	if err != nil {
		return err
	}
	p.Render = specs.RenderOptions{Format: f.format, Width: f.Width}
	p.MemoryLimit = int64(f.limitMemory)
	ctx, cancel := f.limited(cmd)
	defer cancel()
	res, err := p.Run(ctx)
	if err != nil {
		return err
	}
	if err := f.Emit(res.Report); err != nil {
		return err
	}
	switch {
	case res.Failed:
		return exit(exitFinding)
	case res.Inconclusive:
		return exit(exitInconclusive)
	}
	return nil
}
