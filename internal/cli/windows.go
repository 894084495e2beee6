package cli

import (
	"github.com/spf13/cobra"

	"github.com/relplan/relplan/reports"
	"github.com/relplan/relplan/specs"
)

func newWindows(f *factory) *cobra.Command {
	var variants []string
	c := &cobra.Command{
		Use:   "windows SPEC",
		Short: "The crash table: what each single crash or lost answer leaves, and what then happens",
		Long: `Draw the crash table of a protocol: for every step boundary a crash there alone,
for every remote step an answer or a request lost there alone (and, where the
provider can do it, executed late). Each row says what is durable then, what
happens next without another fault, and which promises this one event breaks in
any history. Other faults of the spec do not happen here.

Exit 0, 1 if a row breaks a promise, 4 if one is undecided.`,
		Example: `  relplan windows inbox.yaml
  relplan windows payment.yaml --variant blind -o markdown`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runWindows(f, cmd, args[0], variants) },
	}
	c.Flags().StringArrayVar(&variants, "variant", nil, "only this variant (may be repeated)")
	return lacks(c, "sarif")
}

func runWindows(f *factory, cmd *cobra.Command, path string, variants []string) error {
	list, err := f.loadSpecs([]string{path}, specs.Options{})
	if err != nil {
		return err
	}
	o := checkOptions{CheckOptions: specs.CheckOptions{Variants: variants, MemoryLimit: int64(f.limitMemory)}}
	if err := o.names(list); err != nil {
		return err
	}
	ctx, cancel := f.limited(cmd)
	defer cancel()
	t, err := list[0].Windows(ctx, variants, o.CheckOptions)
	if err != nil {
		return err
	}
	r := &reports.Report{Command: "windows", Data: t, Cases: t.Cases()}
	r.Add(t.Blocks()...)
	if err := f.Emit(r); err != nil {
		return err
	}
	return exit(t.Exit())
}
