package cli

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/relplan/relplan/internal/plan"
	"github.com/relplan/relplan/internal/quantity"
)

type retryTreeOptions struct {
	failure string
	model   string
}

func newRetryTree(f *factory) *cobra.Command {
	o := &retryTreeOptions{}
	c := &cobra.Command{
		Use:   "tree FILE",
		Short: "How attempts multiply along the call graph of a plan",
		Long: `Compute for every service how often one request can make it work: exactly in
the worst case (attempts multiply along a path, paths that meet add up), when
everything hangs, in the long run under retry budgets, and in the mean when the
plan or --failure says what fails. With the retry horizon of every path and the
calls whose attempts do not fit the time their caller gives them.

Exit 0, or 1 when the plan has a policy max_attempts and it is exceeded.`,
		Example: `  relplan retry tree relplan.yaml
  relplan retry tree relplan.yaml --failure 1% --model leaf
  relplan retry tree relplan.yaml -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runRetryTree(f, o, args[0]) },
	}
	c.Flags().StringVar(&o.failure, "failure", "", "probability that a service fails, where the plan gives none, such as 1%")
	c.Flags().StringVar(&o.model, "model", plan.ModelTree, "what fails: tree (every service, failures travel up), leaf (only services that call nobody), hop (every attempt of every hop, the rule of thumb)")
	_ = c.RegisterFlagCompletionFunc("model", cobra.FixedCompletions([]string{plan.ModelTree, plan.ModelLeaf, plan.ModelHop}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func runRetryTree(f *factory, o *retryTreeOptions, path string) error {
	opt := plan.TreeOptions{Model: o.model}
	if err := oneOf("model", o.model, plan.ModelTree, plan.ModelLeaf, plan.ModelHop); err != nil {
		return err
	}
	if o.failure != "" {
		p, err := quantity.ParseRatio(o.failure)
		if err != nil {
			return usagef("--failure %q: %w", o.failure, withHint(err))
		}
		if p < 0 || p > 1 {
			return usagef("--failure %q is not a probability, expected 0%% to 100%%", o.failure)
		}
		opt.Failure = &p
	}
	p, err := f.loadPlan(path)
	if err != nil {
		return err
	}
	a, err := p.RetryTree(opt)
	return f.answer(a, err)
}

// loadPlan reads a plan; the files it names are read from its folder.
func (f *factory) loadPlan(path string) (*plan.File, error) {
	name, src, err := f.ReadInput(path)
	if err != nil {
		return nil, err
	}
	p, err := plan.Load(name, src)
	if err != nil {
		return nil, err
	}
	p.UseFiles(os.ReadFile)
	f.Warn(p.Warnings)
	return p, nil
}

// answer prints the answer of a verb and turns it into an exit code.
func (f *factory) answer(a *plan.Answer, err error) error {
	if err != nil {
		return err
	}
	if err := f.Emit(a.Report); err != nil {
		return err
	}
	if a.Failed {
		return exit(exitFinding)
	}
	return nil
}
