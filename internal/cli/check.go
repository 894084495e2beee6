package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/modelcheck"
	"github.com/relplan/relplan/reports"
	"github.com/relplan/relplan/specs"
)

type checkOptions struct {
	specs.CheckOptions
	budgets map[string]*int // by fault name, nil value: not given
	with    map[string]string
	promise string
	stats   bool
}

func newCheck(f *factory) *cobra.Command {
	o := &checkOptions{budgets: map[string]*int{}}
	c := &cobra.Command{
		Use:   "check SPEC...",
		Short: "Check protocols: every history within the budgets, or the one that breaks a promise",
		Long: `Explore every history of each protocol within its fault budgets and answer each
promise: holds, broken (with the shortest history of the fewest faults and the
reason in words), vacuous or unknown. Each variant of a file is checked by
itself and compared with its expect:.

Exit 0 if all hold, or all are as expected; 1 if a promise is broken, vacuous or
not as expected; 4 if a limit stopped the search.`,
		Example: `  relplan check inbox.yaml
  relplan check payment.yaml --crash 2 --redelivery 1
  relplan check payment.yaml --variant fixed --shortest -o markdown
  relplan check big.yaml --random 10000 --seed 7`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runCheck(f, o, cmd, args) },
	}
	fl := c.Flags()
	fl.StringArrayVar(&o.Variants, "variant", nil, "check only this variant (may be repeated)")
	fl.StringVar(&o.promise, "promise", "", "show only the history of this promise")
	fl.StringToStringVar(&o.with, "with", nil, "values of parameters instead of the variants (with one --variant: on top of its values), such as --with workers=3")
	fl.IntVar(&o.Random, "random", 0, "draw this many random histories instead of exploring all; nothing holds by it")
	fl.Uint64Var(&o.Seed, "seed", 1, "seed of --random; the same seed draws the same histories")
	fl.IntVar(&o.Workers, "workers", 0, "threads of the search (default: all processors)")
	fl.BoolVar(&o.NoReduction, "no-reduction", false, "explore without symmetry")
	fl.BoolVar(&o.Compact, "compact", false, "keep fingerprints of large states instead of the states; the verdict says how likely one was missed")
	fl.BoolVar(&o.LeastFaults, "least-faults", false, "find the smallest budgets that break each broken promise")
	fl.BoolVar(&o.Shortest, "shortest", false, "prefer few steps to few changes of actor")
	fl.BoolVar(&o.Estimate, "estimate", false, "predict the number of states instead of exploring")
	fl.BoolVar(&o.AllowVacuous, "allow-vacuous", false, "accept steps that are never taken and must_be_possible that is not reached")
	fl.BoolVar(&o.stats, "stats", false, "print reductions and what the model leaves out")
	for _, name := range specs.FaultNames() {
		o.budgets[name] = fl.Int(flagOf(name), -1, "budget of the fault "+name+" instead of that of the spec")
		fl.Lookup(flagOf(name)).DefValue = "0" // the help shows no default then
	}
	return c
}

// flagOf is the flag of a fault: response_lost has --response-lost.
func flagOf(fault string) string {
	out := []rune(fault)
	for i, r := range out {
		if r == '_' {
			out[i] = '-'
		}
	}
	return string(out)
}

func runCheck(f *factory, o *checkOptions, cmd *cobra.Command, args []string) error {
	if err := o.validate(cmd.Flags().Changed); err != nil {
		return err
	}
	load := specs.Options{With: o.with, Faults: o.faults()}
	if len(o.Variants) == 1 {
		load.Base = o.Variants[0]
	}
	list, err := f.loadSpecs(args, load)
	if err != nil {
		return err
	}
	if err := o.names(list); err != nil {
		return err
	}
	o.Timing = f.timing
	o.MemoryLimit = int64(f.limitMemory)
	ctx, cancel := f.limited(cmd)
	defer cancel()
	r := &reports.Report{Command: "check"}
	var verdicts []*specs.Verdict
	var codes []int
	for _, s := range list {
		v, err := f.checkOne(ctx, s, o)
		if err != nil {
			return err
		}
		verdicts = append(verdicts, v)
		codes = append(codes, v.Exit())
		r.Add(v.Blocks(specs.RenderOptions{Format: f.format, Width: f.Width, Promise: o.promise, Stats: o.stats})...)
		r.Findings = append(r.Findings, v.Findings()...)
		r.Cases = append(r.Cases, v.Cases()...)
	}
	r.Data = specs.NewDocument(verdicts)
	if err := f.Emit(r); err != nil {
		return err
	}
	return exit(worst(codes...))
}

// validate checks the values of flags; given says whether one was on the command
// line.
func (o *checkOptions) validate(given func(flag string) bool) error {
	if o.Workers < 0 || o.Workers > 256 {
		return usagef("--workers %d: a number of threads up to 256, 0 for all processors", o.Workers)
	}
	if o.Random < 0 {
		return usagef("--random %d: a number of histories above zero", o.Random)
	}
	if o.Random > 0 && o.Estimate {
		return usagef("--random and --estimate exclude each other")
	}
	for _, name := range specs.FaultNames() {
		if n := *o.budgets[name]; given(flagOf(name)) && (n < 0 || n > 100) {
			return usagef("--%s %d: a budget from 0 to 100", flagOf(name), n)
		}
	}
	return nil
}

func (o *checkOptions) faults() map[string]int {
	out := map[string]int{}
	for name, n := range o.budgets {
		if *n >= 0 {
			out[name] = *n
		}
	}
	return out
}

// names checks that --variant and --promise name something.
func (o *checkOptions) names(list []*specs.Spec) error {
	variants, promises := map[string]bool{}, map[string]bool{}
	for _, s := range list {
		for _, v := range s.Variants() {
			variants[v.Variant] = true
			for _, p := range v.Promises {
				promises[p.Name] = true
			}
		}
	}
	for _, name := range o.Variants {
		if err := known("variant", name, variants); err != nil {
			return err
		}
	}
	if o.promise == "" {
		return nil
	}
	return known("promise", o.promise, promises)
}

func known(flag, value string, names map[string]bool) error {
	var list []string
	for n := range names {
		if n != "" {
			list = append(list, n)
		}
	}
	if names[value] && value != "" {
		return nil
	}
	if len(list) == 0 {
		return usagef("--%s %q: the spec declares none", flag, value)
	}
	slices.Sort(list)
	return oneOf(flag, value, list...)
}

// loadSpecs reads specs; the errors of all files come together.
func (f *factory) loadSpecs(paths []string, o specs.Options) ([]*specs.Spec, error) {
	var out []*specs.Spec
	l := &diag.List{}
	for _, path := range paths {
		name, src, err := f.ReadInput(path)
		if err != nil {
			l.AddErr(diag.Pos{File: path}, "FILE", err)
			continue
		}
		s, ds := specs.LoadWith(name, src, o)
		if s != nil {
			f.Warn(ds)
			out = append(out, s)
			continue
		}
		for _, d := range ds {
			l.Add(d)
		}
	}
	return out, l.Err()
}

// checkOne checks one spec, with progress on a terminal.
func (f *factory) checkOne(ctx context.Context, s *specs.Spec, o *checkOptions) (*specs.Verdict, error) {
	opt := o.CheckOptions
	if len(opt.Variants) > 0 {
		opt.Variants = opt.Variants[:0:0]
		for _, n := range o.Variants {
			if s.Variant(n) != nil {
				opt.Variants = append(opt.Variants, n)
			}
		}
		if len(opt.Variants) == 0 {
			return &specs.Verdict{File: s.File, System: s.System}, nil
		}
	}
	opt.Command = o.command(s)
	if f.showProgress() {
		opt.Progress = func(variant string, p modelcheck.Progress) {
			fmt.Fprintf(f.Err, "\r\x1b[K%s %s: %d states, depth %d, frontier %d, %.0f states/s, %d MiB", s.System, variant, p.States, p.Depth, p.Frontier,
				float64(p.States)/max(p.Elapsed.Seconds(), 0.001), p.Bytes>>20)
		}
		defer fmt.Fprint(f.Err, "\r\x1b[K")
	}
	v, err := s.Check(ctx, opt)
	var bad *diag.Err
	if err != nil && !errors.As(err, &bad) && ctx.Err() != nil {
		return nil, usagef("the search was stopped before it began: %w", err)
	}
	return v, err
}

// command is the command line that repeats the check of one file, without the
// variant and the promise.
func (o *checkOptions) command(s *specs.Spec) string {
	c := "relplan check " + s.File
	for _, name := range specs.FaultNames() {
		if n := *o.budgets[name]; n >= 0 {
			c += fmt.Sprintf(" --%s %d", flagOf(name), n)
		}
	}
	keys := make([]string, 0, len(o.with))
	for k := range o.with {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		c += fmt.Sprintf(" --with %s=%s", k, o.with[k])
	}
	if o.Random > 0 {
		c += fmt.Sprintf(" --random %d --seed %d", o.Random, o.Seed)
	}
	if o.Shortest {
		c += " --shortest"
	}
	return c
}
