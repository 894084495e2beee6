package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/relplan/relplan/internal/plan"
	"github.com/relplan/relplan/internal/quantity"
	"github.com/relplan/relplan/reports"
)

type retryStormOptions struct {
	load     string
	compare  string
	plots    string
	analytic bool
	fix      bool
	runs     int64
	seed     int64
	workers  int
}

type retryStormDocument struct {
	Schema string `json:"schema"`
	Plan   string `json:"plan"`
	plan.StormDoc
	Pass bool `json:"pass"`
}

func newRetryStorm(f *factory) *cobra.Command {
	o := &retryStormOptions{}
	c := &cobra.Command{
		Use:   "storm FILE",
		Short: "When retries tip a service over, and what brings it back",
		Long: `Compute for every call into a service with a capacity the load up to which it
comes back from anything, the load at which the healthy state ends, how long an
outage (or how deep a cut, or how wide a spike) tips it, how long recovery takes,
and how long chance alone needs. Four solvers answer: steady states and folds, a
fluid model, a small Markov chain, and a simulation in which the server goes on
working for clients that have given up. Where they disagree, that is shown.

The plan gives servers, service times and load:

  calls:
    web: {load: 280/s, calls: [{to: db, attempts: 2, per_try: 1s}]}
    db:  {servers: 1, service: 3.3ms, triggers: [{outage: 10s}]}

Exit 0; 1 only with the policy "storm: survives" when a trigger of the plan tips
it or there is no healthy state.`,
		Example: `  relplan retry storm relplan.yaml
  relplan retry storm relplan.yaml --load 280/s --fix
  relplan retry storm relplan.yaml --compare budgets.yaml
  relplan retry storm relplan.yaml --plots pictures -o html --out storm.html`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runRetryStorm(f, cmd, o, args[0]) },
	}
	fl := c.Flags()
	fl.StringVar(&o.load, "load", "", "rate of requests at the services that nothing calls, such as 280/s, in place of the plan's")
	fl.StringVar(&o.compare, "compare", "", "file of policies to compare")
	fl.StringVar(&o.plots, "plots", "", "folder for the pictures, as SVG and PNG")
	fl.BoolVar(&o.analytic, "analytic", false, "do not simulate")
	fl.BoolVar(&o.fix, "fix", false, "look for the cheapest change that survives, and simulate it")
	fl.Int64Var(&o.runs, "runs", 0, "runs of each simulation (default 40, or storm.runs of the plan)")
	fl.Int64Var(&o.seed, "seed", 0, "seed of the first run (default 1, or storm.seed of the plan)")
	fl.IntVar(&o.workers, "workers", 0, "parallel runs (default: processors); the result does not depend on it")
	_ = c.MarkFlagFilename("compare", "yaml", "yml")
	_ = c.MarkFlagDirname("plots")
	return c
}

func runRetryStorm(f *factory, cmd *cobra.Command, o *retryStormOptions, path string) error {
	load := 0.0
	if o.load != "" {
		r, err := quantity.ParseRate(o.load)
		if err != nil {
			return usagef("--load %q: %w", o.load, withHint(err))
		}
		if load = r.PerSecond(); load <= 0 {
			return usagef("--load %q is not a positive rate", o.load)
		}
	}
	if o.runs < 0 || o.runs == 1 || o.runs > 1e6 || o.seed < 0 || o.workers < 0 {
		return usagef("--runs is 2 to 1000000, --seed and --workers are not negative")
	}
	p, err := f.loadPlan(path)
	if err != nil {
		return err
	}
	sp, err := p.StormSystem(load)
	if err != nil {
		return err
	}
	run := plan.StormRun{Simulate: !o.analytic, Fix: o.fix, Figures: o.plots != "" || f.format == "html", Seed: o.seed, Runs: o.runs, Workers: o.workers}
	if o.compare != "" {
		name, src, err := f.ReadInput(o.compare)
		if err != nil {
			return err
		}
		if run.Variants, err = sp.StormVariants(name, src); err != nil {
			return err
		}
	}
	ctx, stop := f.limited(cmd)
	defer stop()
	res, err := sp.Run(ctx, run)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
			return f.stormStopped(cmd, sp, run, p.Name)
		}
		return err
	}
	if err := writePlots(o.plots, res); err != nil {
		return err
	}
	failed := p.Policies.Storm.V == "survives" && !res.Survives
	if err := f.Emit(stormReport(p.Name, res, failed)); err != nil {
		return err
	}
	if failed {
		return exit(exitFinding)
	}
	return nil
}

func stormReport(name string, res *plan.StormResult, failed bool) *reports.Report {
	r := &reports.Report{Command: "retry storm", Title: "Retry storms of " + name, Blocks: res.Blocks, Findings: res.Findings, Cases: res.Cases,
		Data: retryStormDocument{"relplan.dev/retry-storm/v1", name, res.Doc, !failed}}
	if failed {
		r.Blocks = append([]reports.Block{reports.Paragraph{Text: "policy storm: survives is broken", Mark: reports.Bad}}, r.Blocks...)
	}
	return r
}

// stormStopped gives the answers that need no simulation when a limit or an
// interrupt ended it.
func (f *factory) stormStopped(cmd *cobra.Command, sp *plan.StormPlan, run plan.StormRun, name string) error {
	fmt.Fprintln(f.Err, "relplan: stopped before the simulation was done: only the analytic answers are shown")
	run.Simulate, run.Fix, run.Figures, run.Variants = false, false, false, nil
	res, err := sp.Run(context.WithoutCancel(cmd.Context()), run)
	if err != nil {
		return err
	}
	if err := f.Emit(stormReport(name, res, false)); err != nil {
		return err
	}
	return exit(exitInconclusive)
}

// writePlots writes every picture as SVG and PNG.
func writePlots(dir string, res *plan.StormResult) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return usageError{fmt.Errorf("cannot write %s: %w", dir, err)}
	}
	for _, pic := range res.Pictures {
		for _, format := range []string{"svg", "png"} {
			b, err := pic.File(format)
			if err != nil {
				return err
			}
			if err := writeAtomically(filepath.Join(dir, pic.Name+"."+format), b); err != nil {
				return err
			}
		}
	}
	return nil
}
