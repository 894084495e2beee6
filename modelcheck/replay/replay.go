package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/modelcheck"
	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

// Options of a replay.
type Options struct {
	// Choose says which engine plays a resource; nil: DefaultKind.
	Choose  func(*ast.Resource) Choice
	Servers Servers
	// Promise replays only the history of this promise; "" all broken ones.
	Promise string
	// Repeat acts every history out that often; answers that differ are FLAKY. 0
	// means once.
	Repeat int
	// Random draws that many schedules from Seed instead of replaying histories.
	Random int
	Seed   uint64
	// Processes, if set, lets every worker be a process of its own.
	Processes *Processes
	// Saved histories are acted out instead of those that a check finds; nil: the
	// check's.
	Saved []Saved
}

// Run is the replay of one history on one choice of engines.
type Run struct {
	Spec    *ast.Spec
	History string // the promise that it breaks, "good run", "random N"
	Engines map[string]string
	*Verdict
	Boundary Boundary
	// Told is the history as the model tells it.
	Told *lower.History
}

// Replay checks one variant of a spec, takes the histories of its broken
// promises and a good run (or random schedules), and acts them out. A missing
// engine gives a Run with NOT_RUN. The error is a failure of the machinery, or
// what the language cannot give a meaning.
func Replay(ctx context.Context, spec *ast.Spec, o Options) (runs []*Run, err error) {
	if o.Choose == nil {
		o.Choose = func(r *ast.Resource) Choice { return Choice{Kind: DefaultKind(r)} }
	}
	defer profile(spec, o.Choose)()
	if reason := cannotAct(spec, o.Processes != nil); reason != "" {
		return []*Run{notRun(spec, "all", nil, reason)}, nil
	}
	st, err := setUp(ctx, spec, o.Choose, o.Servers)
	defer func() { err = errors.Join(err, st.close()) }()
	var missing *engines.Unavailable
	switch {
	case errors.As(err, &missing):
		return []*Run{notRun(spec, "all", st, missing.Error())}, nil
	case errors.Is(err, errUnsupported):
		return []*Run{notRun(spec, "all", st, err.Error())}, nil
	case err != nil:
		return nil, err
	}
	st.processes = o.Processes
	checked, err := lower.Check(ctx, spec, modelcheck.Options{})
	if err != nil {
		return nil, err
	}
	if o.Random > 0 {
		return replayRandom(ctx, st, checked, o)
	}
	schedules, err := schedulesOf(ctx, spec, checked, o)
	switch {
	case errors.Is(err, errNoGoodRun):
		runs = append(runs, notRun(spec, goodRunName, st, err.Error()))
	case err != nil:
		return nil, err
	}
	for _, s := range schedules {
		run, err := repeat(ctx, st, s, max(1, o.Repeat))
		if err != nil {
			return nil, fmt.Errorf("%s, %s: %w", describe(spec), s.Name, err)
		}
		runs = append(runs, run)
	}
	return runs, nil
}

// schedulesOf are the saved histories, or those that the check has found with a
// good run before them; they come with errNoGoodRun where there is none.
func schedulesOf(ctx context.Context, spec *ast.Spec, checked *lower.Outcome, o Options) ([]Schedule, error) {
	if o.Saved != nil {
		return savedSchedules(checked, spec, o.Saved)
	}
	found := broken(checked)
	if o.Promise != "" {
		return slices.DeleteFunc(found, func(s Schedule) bool { return s.Name != o.Promise }), nil
	}
	good, err := goodRun(ctx, spec)
	if err != nil {
		return found, err
	}
	return append([]Schedule{*good}, found...), nil
}

func describe(spec *ast.Spec) string {
	if spec.Variant == "" {
		return spec.System
	}
	return spec.System + " " + spec.Variant
}

func notRun(spec *ast.Spec, history string, st *stage, reason string) *Run {
	r := &Run{Spec: spec, History: history, Engines: map[string]string{}, Verdict: &Verdict{Answer: NotRun, Reason: reason}, Boundary: Boundary{NotRun: []string{reason}}}
	if st != nil {
		r.Engines = st.engines()
	}
	return r
}

// cannotAct says what of a spec has no form on any engine, or not with workers
// in processes of their own.
func cannotAct(spec *ast.Spec, processes bool) string {
	for _, r := range spec.Resources {
		if processes && r.Kind == ast.MemoryKind && r.KV.Scope == ast.PerProcess {
			return fmt.Sprintf("memory %s is shared by the runs of one process: it does not go with a process for every worker", r.Name)
		}
	}
	for _, p := range spec.Processes {
		if processes && p.Trigger.Kind == ast.OnMessage && p.Trigger.Workers > 1 {
			return fmt.Sprintf("the workers of %s share a group member: that does not go with a process for every worker", p.Name)
		}
	}
	for _, op := range spec.Operations {
		for _, f := range op.Fields {
			if f.Kind == ast.FieldAny && len(f.Values) > 1 {
				return fmt.Sprintf("field %s of %s is any of several values: only the model tries them all", f.Name, op.Name)
			}
		}
	}
	return ""
}

// profile gives the databases of the spec the isolation profile of the engines
// they run on, and returns what puts the author's back.
func profile(spec *ast.Spec, choose func(*ast.Resource) Choice) (restore func()) {
	was := map[*ast.SQL]string{}
	for _, r := range spec.Resources {
		if r.SQL == nil {
			continue
		}
		was[r.SQL] = r.SQL.Engine
		switch choose(r).Kind {
		case engines.MySQL:
			r.SQL.Engine = "mysql"
		default:
			r.SQL.Engine = "postgres"
		}
	}
	return func() {
		for sql, name := range was {
			sql.Engine = name
		}
	}
}

// repeat acts a history out n times; the worst answer counts, and answers that
// differ are FLAKY.
func repeat(ctx context.Context, st *stage, s Schedule, n int) (*Run, error) {
	run := &Run{Spec: st.spec, History: s.Name, Engines: st.engines(), Told: s.History}
	for i := range n {
		v, err := st.play(ctx, s)
		if err != nil {
			return nil, err
		}
		switch {
		case run.Verdict == nil:
			run.Verdict = v
		case v.Answer != run.Answer:
			was := run.Answer
			run.Verdict = v
			v.Reason = fmt.Sprintf("%s in %d runs, then %s: %s", was, i, v.Answer, v.Reason)
			v.Answer = Flaky
			return run, nil
		}
	}
	run.Boundary = st.boundary(s, run.Verdict)
	return run, nil
}

func (st *stage) play(ctx context.Context, s Schedule) (*Verdict, error) {
	r := &runner{spec: st.spec, company: &st.company, processes: st.processes, bindings: st.bindings}
	return r.play(ctx, s.History, s.End)
}

// replayRandom drives random schedules and shrinks the first that deviates.
func replayRandom(ctx context.Context, st *stage, o *lower.Outcome, opt Options) ([]*Run, error) {
	var runs []*Run
	err := randomSchedules(ctx, o, opt.Random, opt.Seed, func(i int, w *modelcheck.Walker, k *modelcheck.Walk) error {
		run, err := st.playWalk(ctx, o, w, k.Start, k.Steps)
		if err != nil || run == nil {
			return err
		}
		run.History = fmt.Sprintf("random %d (seed %d)", i+1, opt.Seed+uint64(i))
		if run.Answer == Weaker {
			short, err := st.shrink(ctx, o, w, k, run)
			if err != nil {
				return err
			}
			runs = append(runs, short)
			return errEnough
		}
		runs = append(runs, run)
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return runs, err
}

// errEnough ends a series of schedules: the first difference is what counts.
var errEnough = errors.New("enough")

// playWalk acts out the steps of a walk; nil if they cannot be executed.
func (st *stage) playWalk(ctx context.Context, o *lower.Outcome, w *modelcheck.Walker, start int, steps []modelcheck.WalkStep) (*Run, error) {
	h, _ := w.Replay(start, steps)
	if h == nil {
		return nil, nil
	}
	told := o.Tell(h)
	return repeat(ctx, st, Schedule{History: told, End: o.End(told)}, 1)
}

// shrink leaves out steps of a schedule as long as the engine still deviates.
func (st *stage) shrink(ctx context.Context, o *lower.Outcome, w *modelcheck.Walker, k *modelcheck.Walk, found *Run) (*Run, error) {
	name := found.History
	steps := k.Steps
	for size := max(1, len(steps)/2); size > 0; size /= 2 {
		for i := 0; i+size <= len(steps); {
			fewer := slices.Delete(slices.Clone(steps), i, i+size)
			run, err := st.playWalk(ctx, o, w, k.Start, fewer)
			if err != nil {
				return nil, err
			}
			if run != nil && run.Answer == Weaker {
				steps, found = fewer, run
			} else {
				i += size
			}
		}
	}
	found.History = name + ", shrunk"
	return found, nil
}

// Boundary says what a run has shown and what it has not.
type Boundary struct {
	Ran      []string `json:"ran"`      // resource: engine and version
	Injected []string `json:"injected"` // faults, and how
	Modelled []string `json:"modelled"` // what only the model knows, or the driver does in place of an engine
	NotRun   []string `json:"not_run"`  // what no engine did
}

func (st *stage) boundary(s Schedule, v *Verdict) Boundary {
	b := Boundary{Ran: []string{}, Injected: []string{}, Modelled: []string{}, NotRun: []string{}}
	for _, r := range st.spec.Resources {
		if res := st.resources[r]; res != nil {
			b.Ran = append(b.Ran, r.Name+": "+res.engine())
		}
	}
	for _, res := range st.resources {
		if d, ok := res.(bounded); ok {
			b.Modelled = append(b.Modelled, d.boundary()...)
		}
	}
	slices.Sort(b.Modelled)
	seen := map[string]bool{}
	add := func(list *[]string, text string) {
		if !seen[text] {
			seen[text] = true
			*list = append(*list, text)
		}
	}
	for i := range s.History.Steps {
		if v.Step > 0 && (i >= v.Step || v.Answer == NotRun && i+1 == v.Step) {
			break
		}
		e := &s.History.Steps[i].Event
		switch {
		case e.What == lower.Crash:
			add(&b.Injected, "crash: the worker's sockets are closed without a goodbye, its memory is dropped")
		case e.What == lower.Failover:
			add(&b.Injected, fmt.Sprintf("failover of %s: a proxy has kept the lost writes from a replica, which is made the primary; clients are cut off and connect to it", e.Of.Resource.Name))
		case e.What == lower.LeaseEnds:
			add(&b.Injected, fmt.Sprintf("lease: runs out by the engine's clock after %s, then the sweep of the spec runs", leaseLasts))
		case e.What == lower.RetentionEnds:
			add(&b.Injected, "retention: the row is deleted")
		case e.What == lower.AgePasses || e.What == lower.TimePasses:
			add(&b.Modelled, "lengths of time that a worker compares by itself: the worker is told that they have passed")
		case e.World == lower.Fails:
			add(&b.Injected, "error: the driver refuses the statement before the engine sees it; the rollback that follows is the engine's")
		case e.World == lower.ReplyNotHeard:
			add(&b.Injected, "lost reply: the caller is the schedule, which asks again")
		case e.World.Lost() && e.Step != nil && st.resources[e.Step.Resource] != nil:
			add(&b.Injected, lostAnswer(st.resources[e.Step.Resource]))
		}
	}
	if v.Answer == NotRun {
		b.NotRun = append(b.NotRun, v.Reason)
	}
	return b
}

// lostAnswer says how the answer of a store is lost.
func lostAnswer(res resource) string {
	name, _, _ := strings.Cut(res.engine(), " ")
	switch engines.Kind(name) {
	case kindStub:
		return "lost answer of a provider: the stub closes the connection without an answer"
	case engines.SQLite:
		return "lost answer on SQLite: dropped by the driver, since there is no network"
	case engines.NATS:
		return "lost answer on NATS: dropped by the driver"
	}
	return "lost answer: a proxy that reads the protocol lets the engine finish exactly this statement and cuts the connection"
}
