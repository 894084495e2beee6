package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/modelcheck/replay"
	"github.com/relplan/relplan/reports"
	"github.com/relplan/relplan/specs"
	"github.com/relplan/relplan/specs/ast"
)

type replayOptions struct {
	variants []string
	promise  string
	history  string
	engines  []string
	replicas []string
	inPlace  bool
	random   int
	seed     uint64
	repeat   int
	strict   bool
	steps    bool
	process  bool
}

func newReplay(f *factory) *cobra.Command {
	o := &replayOptions{}
	c := &cobra.Command{
		Use:   "replay SPEC...",
		Short: "Act a history out on real engines, step by step, and compare with the model",
		Long: `Act out, on real engines, the history that breaks each promise and a good run:
real statements, real crashes, really lost answers, leases that really run out.
Every step is compared with the model; the business effect is counted by a
query.

--engine says what plays a store: shop=mysql://user:pw@host (an address; the run
makes a database of its own there and drops it), shop=postgres (a private server
is started), or postgres alone (for every sql store). Without it: SQLite for sql,
a private Redis for kv, an embedded NATS JetStream for queues and logs, and a
built-in payment provider.

A failover of a kv needs a second, empty Redis: --replica seen=redis://host:6379,
or --replica seen=redis (it is started). It follows the first, is kept behind by
the writes that are to be lost, and takes over. Without it: NOT_RUN.

CONFIRMED: same branches, same effects. STRICTER: the engine refuses or blocks a
step that the model allows. WEAKER: the engine allows more than the model, which
is then wrong. NOT_RUN: an engine is missing, or has no form for a step.

Exit 0 for CONFIRMED and STRICTER (1 with --strict), 1 for WEAKER, 4 for NOT_RUN
and FLAKY.`,
		Example: `  relplan replay inbox.yaml
  relplan new setnx-before-write && relplan replay setnx-before-write.yaml --variant mark-before-write --engine mysql
  relplan replay inbox.yaml --engine shop=postgres://me:secret@db.example:5432/ --steps
  relplan replay inbox.yaml --random 200 --seed 7 --engine postgres
  relplan check inbox.yaml -o json --out found.json; relplan replay inbox.yaml --history found.json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runReplay(f, o, cmd, args) },
	}
	fl := c.Flags()
	fl.StringArrayVar(&o.variants, "variant", nil, "replay only this variant (may be repeated)")
	fl.StringVar(&o.promise, "promise", "", "replay only the history of this promise")
	fl.StringVar(&o.history, "history", "", "replay the histories of this document of `relplan check -o json`")
	fl.StringArrayVar(&o.engines, "engine", nil, "what plays a store: STORE=ADDRESS, STORE=NAME or NAME (may be repeated)")
	fl.StringArrayVar(&o.replicas, "replica", nil, "what a failover moves a kv on Redis to: STORE=ADDRESS of an empty server, or STORE=redis (may be repeated)")
	fl.BoolVar(&o.inPlace, "in-place", false, "use the database that an address names instead of making one; refused unless it is empty")
	fl.IntVar(&o.random, "random", 0, "drive this many random schedules, with faults, instead of histories")
	fl.Uint64Var(&o.seed, "seed", 1, "seed of --random; the same seed draws the same schedules")
	fl.IntVar(&o.repeat, "repeat", 1, "act every history out this many times; answers that differ are FLAKY")
	fl.BoolVar(&o.strict, "strict", false, "exit 1 for STRICTER too")
	fl.BoolVar(&o.steps, "steps", false, "show every step with the engine's answer")
	fl.BoolVar(&o.process, "process", false, "run every worker as a process of its own and crash it with SIGKILL")
	return c
}

func runReplay(f *factory, o *replayOptions, cmd *cobra.Command, args []string) error {
	if err := o.validate(); err != nil {
		return err
	}
	list, err := f.loadSpecs(args, specs.Options{})
	if err != nil {
		return err
	}
	names := checkOptions{CheckOptions: specs.CheckOptions{Variants: o.variants}, promise: o.promise}
	if err := names.names(list); err != nil {
		return err
	}
	choose, err := o.choices(list)
	if err != nil {
		return err
	}
	opt := replay.Options{Choose: choose, Promise: o.promise, Repeat: o.repeat, Random: o.random, Seed: o.seed}
	if o.history != "" {
		if opt.Saved, err = f.readHistories(o.history); err != nil {
			return err
		}
	}
	ctx, cancel := f.limited(cmd)
	defer cancel()
	servers := &privateServers{f: f, running: map[engines.Kind]*engines.Server{}}
	opt.Servers = servers.need
	r := &reports.Report{Command: "replay"}
	all, err := f.replayAll(ctx, o, list, opt, r)
	if err = errors.Join(err, servers.stop()); err != nil {
		return err
	}
	r.Data = replay.NewDocument(all)
	if err := f.Emit(r); err != nil {
		return err
	}
	return exit(replay.Exit(all, o.strict))
}

// replayAll replays the specs one after the other; a limit or Ctrl-C leaves the
// rest NOT_RUN.
func (f *factory) replayAll(ctx context.Context, o *replayOptions, list []*specs.Spec, opt replay.Options, r *reports.Report) ([]*replay.Run, error) {
	var all []*replay.Run
	for _, s := range list {
		var runs []*replay.Run
		if o.process {
			opt.Processes = &replay.Processes{Command: replayWorkerCommand, File: s.File, Source: f.sources[s.File]}
		}
		for _, v := range s.Variants() {
			if len(o.variants) > 0 && !slices.Contains(o.variants, v.Variant) {
				continue
			}
			f.progress("%s %s", s.System, v.Variant)
			some, err := replay.Replay(ctx, v, opt)
			if err != nil {
				return all, replayError(s, err)
			}
			runs = append(runs, some...)
		}
		f.progress("")
		all = append(all, runs...)
		r.Add(replay.Blocks(runs, o.steps)...)
		r.Cases = append(r.Cases, replay.Cases(runs, o.strict)...)
	}
	return all, nil
}

// replayWorkerCommand is this program as a worker's process.
func replayWorkerCommand() *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	return exec.Command(self, replayWorkerVerb)
}

const replayWorkerVerb = "replay-worker"

// newReplayWorker is what --process starts; it is not for people.
func newReplayWorker(f *factory) *cobra.Command {
	return &cobra.Command{
		Use: replayWorkerVerb, Hidden: true, Args: cobra.NoArgs,
		Short: "Be a worker of `relplan replay --process`: orders on standard input, answers on standard output",
		RunE:  func(cmd *cobra.Command, _ []string) error { return replay.WorkerMain(cmd.Context(), f.In, f.Out) },
	}
}

// progress shows what is being done, on a terminal.
func (f *factory) progress(format string, args ...any) {
	if f.showProgress() {
		fmt.Fprint(f.Err, "\r\x1b[K"+fmt.Sprintf(format, args...))
	}
}

// replayError tells what the user can mend from what he cannot.
func replayError(s *specs.Spec, err error) error {
	var notEmpty *replay.NotEmptyError
	var notFound *replay.NotAHistoryError
	if errors.As(err, &notEmpty) || errors.As(err, &notFound) {
		return diag.New(diag.Pos{File: s.File}, "%v", err)
	}
	return err
}

func (o *replayOptions) validate() error {
	switch {
	case o.random < 0 || o.random > 1_000_000:
		return usagef("--random %d: a number of schedules from 1 to 1000000", o.random)
	case o.repeat < 1 || o.repeat > 10_000:
		return usagef("--repeat %d: a number from 1 to 10000", o.repeat)
	case o.random > 0 && (o.history != "" || o.promise != ""):
		return usagef("--random excludes --history and --promise")
	case o.history != "" && o.promise != "":
		return usagef("--history and --promise exclude each other")
	}
	return nil
}

func (f *factory) readHistories(path string) ([]replay.Saved, error) {
	name, src, err := f.ReadInput(path)
	if err != nil {
		return nil, err
	}
	saved, err := replay.ReadSaved(src)
	if err != nil {
		return nil, diag.New(diag.Pos{File: name}, "cannot read histories: %v", err)
	}
	return saved, nil
}

// choices reads --engine; what it does not name is chosen by the spec's run
// section, then by kind.
func (o *replayOptions) choices(list []*specs.Spec) (func(*ast.Resource) replay.Choice, error) {
	names, kinds := map[string]bool{}, map[string]ast.ResourceKind{}
	for _, s := range list {
		for _, v := range s.Variants() {
			for _, r := range v.Resources {
				names[r.Name], kinds[r.Name] = true, r.Kind
			}
		}
	}
	byName, byKind := map[string]replay.Choice{}, map[ast.ResourceKind]replay.Choice{}
	for _, text := range o.engines {
		name, value, named := strings.Cut(text, "=")
		if strings.Contains(name, "://") || !named {
			name, value = "", text
		}
		c, err := replay.ParseChoice(value)
		if err != nil {
			return nil, usagef("--engine %s: %v", text, err)
		}
		c.InPlace = o.inPlace
		if name == "" {
			for _, k := range c.Plays() {
				byKind[k] = c
			}
			continue
		}
		if err := known("engine", name, names); err != nil {
			return nil, err
		}
		if !c.CanPlay(kinds[name]) {
			return nil, usagef("--engine %s: %s cannot play a store of kind %s", text, c.Kind, kinds[name])
		}
		byName[name] = c
	}
	replicas, err := o.replicasOf(names)
	if err != nil {
		return nil, err
	}
	ofRun, err := runSections(list)
	if err != nil {
		return nil, err
	}
	return func(r *ast.Resource) replay.Choice {
		c, ok := byName[r.Name]
		if !ok {
			c, ok = byKind[r.Kind]
		}
		if !ok {
			c, ok = ofRun[r]
		}
		if !ok {
			c = replay.Choice{Kind: replay.DefaultKind(r)}
		}
		if replica := replicas[r.Name]; replica != "" {
			c.Replica = replica
		}
		return c
	}, nil
}

// replicasOf reads --replica, by store.
func (o *replayOptions) replicasOf(names map[string]bool) (map[string]string, error) {
	out := map[string]string{}
	for _, text := range o.replicas {
		name, value, named := strings.Cut(text, "=")
		if !named {
			return nil, usagef("--replica %s: expected STORE=ADDRESS", text)
		}
		if err := known("replica", name, names); err != nil {
			return nil, err
		}
		replica, err := replay.ParseReplica(value)
		if err != nil {
			return nil, usagef("--replica %s: %v", text, err)
		}
		out[name] = replica
	}
	return out, nil
}

// runSections reads the engines that the specs name in run:.
func runSections(list []*specs.Spec) (map[*ast.Resource]replay.Choice, error) {
	out := map[*ast.Resource]replay.Choice{}
	l := &diag.List{}
	for _, s := range list {
		for _, v := range s.Variants() {
			if v.Run == nil {
				continue
			}
			for _, e := range v.Run.Engines {
				c, err := replay.ChoiceOf(e)
				if err != nil {
					l.AddErr(e.Pos, "RP100", err)
					continue
				}
				out[e.Resource] = c
			}
		}
	}
	return out, l.Err()
}

// privateServers starts the servers that a replay needs and stops them.
type privateServers struct {
	f       *factory
	running map[engines.Kind]*engines.Server
}

func (p *privateServers) need(ctx context.Context, kind engines.Kind) (string, error) {
	if s := p.running[kind]; s != nil {
		return s.DSN, nil
	}
	p.f.progress("starting a private %s", kind)
	s, err := engines.Start(ctx, kind)
	if err != nil {
		return "", err
	}
	p.running[kind] = s
	return s.DSN, nil
}

func (p *privateServers) stop() error {
	var errs []error
	for _, s := range p.running {
		errs = append(errs, s.Stop())
	}
	return errors.Join(errs...)
}
