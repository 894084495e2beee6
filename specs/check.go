package specs

import (
	"context"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/modelcheck"
	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/reports"
	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

// CheckOptions bound and tune a check. The zero value explores every history
// of every variant.
type CheckOptions struct {
	Variants    []string // names; empty: all
	Workers     int
	MemoryLimit int64 // bytes, 0 = none
	TimeLimit   time.Duration
	NoReduction bool
	// Compact keeps fingerprints of large states; the verdict then says how
	// likely a state was missed.
	Compact      bool
	Shortest     bool
	LeastFaults  bool
	NoHistories  bool
	AllowVacuous bool
	Timing       bool
	// Random draws that many histories instead of exploring all; 0: explore.
	Random int
	Seed   uint64
	// Estimate predicts the size of the search instead of running it.
	Estimate bool
	// Command is the command line that repeats the check, for the report.
	Command string
	// Progress is called about five times a second.
	Progress func(variant string, p modelcheck.Progress)
}

// Check explores the variants, one after the other. A cancelled context or a
// limit gives Unknown for what is not decided. The error is a *diag.Err for
// what the language allows to write and cannot give a meaning.
func (s *Spec) Check(ctx context.Context, o CheckOptions) (*Verdict, error) {
	out := &Verdict{File: s.File, System: s.System}
	for _, tree := range s.variants {
		if len(o.Variants) > 0 && !contains(o.Variants, tree.Variant) {
			continue
		}
		v, err := checkVariant(ctx, tree, o)
		if err != nil {
			return nil, err
		}
		out.Variants = append(out.Variants, v)
	}
	return out, nil
}

func (o CheckOptions) engine(variant string) modelcheck.Options {
	m := modelcheck.Options{Workers: o.Workers, MemoryLimit: o.MemoryLimit, TimeLimit: o.TimeLimit, NoReduction: o.NoReduction, Compact: o.Compact,
		Shortest: o.Shortest, LeastFaults: o.LeastFaults, NoHistories: o.NoHistories}
	if o.Progress != nil {
		m.Progress = func(p modelcheck.Progress) { o.Progress(variant, p) }
	}
	return m
}

func checkVariant(ctx context.Context, tree *ast.Spec, o CheckOptions) (*VariantVerdict, error) {
	v := newVerdict(tree)
	switch {
	case o.Estimate:
		return v, estimate(ctx, tree, o, v)
	case o.Random > 0:
		out, err := randomOutcome(ctx, tree, o, v)
		if err != nil {
			return nil, err
		}
		fillVerdict(v, tree, out, o)
	default:
		out, err := lower.Check(ctx, tree, o.engine(tree.Variant))
		if err != nil {
			return nil, err
		}
		v.Basis = reports.Basis{Kind: "exhaustive", Bounds: v.Bounds}
		if !out.Result.Complete {
			v.Basis.Kind = "sampled"
		}
		fillVerdict(v, tree, out, o)
	}
	return v, nil
}

func newVerdict(tree *ast.Spec) *VariantVerdict {
	v := &VariantVerdict{File: tree.File, System: tree.System, Verdict: ast.Unknown, Bounds: map[string]int{}, Parameters: map[string]string{},
		Limits: []string{}, Reductions: []string{}, Assumptions: []string{}, RestsOn: []string{}, Promises: []*PromiseVerdict{}, Possible: []*PossibleResult{},
		NeverTaken: []string{}, NeverTakenBranches: []string{}, Notes: []string{}}
	if tree.Variant != "" {
		name := tree.Variant
		v.Variant = &name
	}
	for _, f := range tree.Faults {
		v.Bounds[f.Name] += f.Max
	}
	for _, p := range tree.Parameters {
		v.Parameters[p.Name] = p.Value
	}
	for _, a := range tree.Assume {
		v.Assumptions = append(v.Assumptions, a.Text)
	}
	if tree.Expect != nil {
		text := tree.Expect.Text
		v.Expect = &text
	}
	return v
}

// randomOutcome draws random histories; nothing holds by it.
func randomOutcome(ctx context.Context, tree *ast.Spec, o CheckOptions, v *VariantVerdict) (*lower.Outcome, error) {
	out, r, err := lower.Random(ctx, tree, modelcheck.RandomOptions{Runs: o.Random, Seed: o.Seed, Workers: o.Workers, TimeLimit: o.TimeLimit})
	if err != nil {
		return nil, err
	}
	v.Random = &RandomInfo{N: r.Runs, Seed: r.Seed}
	seed := r.Seed
	v.Basis = reports.Basis{Kind: "sampled", Bounds: v.Bounds, Runs: r.Runs, Seed: &seed}
	return out, nil
}

func estimate(ctx context.Context, tree *ast.Spec, o CheckOptions, v *VariantVerdict) error {
	lo, err := lower.Lower(tree, lower.Options{})
	if err != nil {
		return err
	}
	m, err := ir.Compile(lo.Program, ir.Options{})
	if err != nil {
		return fmt.Errorf("%s: internal: %w", tree.File, err)
	}
	e, err := modelcheck.Predict(ctx, m, o.engine(tree.Variant))
	if err != nil {
		return err
	}
	if e.Exact { // small: run it, so that pools that overflow are grown and counted too
		opt := o.engine(tree.Variant)
		opt.NoHistories = true
		out, err := lower.Check(ctx, tree, opt)
		if err != nil {
			return err
		}
		e.States, e.Low, e.High, e.Depth = out.Result.States, out.Result.States, out.Result.States, out.Result.Depth
		e.Bytes, e.Time, e.Exact = out.Result.Bytes, out.Result.Elapsed, out.Result.Complete
	}
	v.Estimate = &EstimateInfo{States: e.States, Low: e.Low, High: e.High, Depth: e.Depth, Bytes: e.Bytes, Exact: e.Exact, Sampled: e.SampleStates, Reason: e.Reason}
	if o.Timing {
		v.Estimate.TimeNS = int64(e.Time)
	}
	v.Basis = reports.Basis{Kind: "sampled", Bounds: v.Bounds, N: int64(e.SampleStates)}
	if e.Exact {
		v.Basis.Kind = "exhaustive"
	}
	return nil
}

// fillVerdict puts what a check found into the verdict.
func fillVerdict(v *VariantVerdict, tree *ast.Spec, out *lower.Outcome, o CheckOptions) {
	res := out.Result
	v.Complete = res.Complete
	v.States, v.Transitions, v.Depth = res.States, res.Transitions, res.Depth
	v.Reductions = append(v.Reductions, res.Reductions...)
	v.Limits = append(v.Limits, limitsOf(out)...)
	v.restsOn(out)
	for _, w := range out.Warnings {
		v.Notes = append(v.Notes, w.String())
	}
	if res.MissedState > 0 {
		p := res.MissedState
		v.Missed = &p
	}
	if o.Timing {
		v.Timing = &Timing{ElapsedNS: int64(res.Elapsed), Bytes: res.Bytes, Workers: res.Workers}
	}
	for _, a := range out.Answers() {
		v.Promises = append(v.Promises, promiseVerdict(tree, out, a, o))
	}
	for _, a := range out.Possibilities() {
		v.Possible = append(v.Possible, possibleResult(a))
	}
	v.addNeverTaken(out.NeverTaken())
	v.conclude(tree, o)
}

// restsOn splits what the search noted: orders of durations and the worth of
// assumptions belong to the verdict, the rest to --stats.
func (v *VariantVerdict) restsOn(out *lower.Outcome) {
	for _, n := range out.Notes {
		switch {
		case strings.HasPrefix(n, "holds iff "):
			v.RestsOn = append(v.RestsOn, n)
		case strings.HasPrefix(n, "assumption "): // said once, beside the assumption
		default:
			v.Notes = append(v.Notes, n)
		}
	}
	for _, a := range out.Assumed {
		worth := "not needed"
		if a.Used {
			worth = "used"
		}
		v.RestsOn = append(v.RestsOn, fmt.Sprintf("%s: %s", a.Assumption.Text, worth))
	}
}

// limitsOf says what cut the search: what grew without bound in words, else
// the engine's reasons.
func limitsOf(out *lower.Outcome) []string {
	if len(out.Unbounded) > 0 {
		return out.Unbounded
	}
	return out.Result.Limits
}

func (v *VariantVerdict) addNeverTaken(list []lower.NotTaken) {
	for _, n := range list {
		text := fmt.Sprintf("%s: %s (line %d)", n.Process, n.Text, n.Pos.Line)
		if n.Branch != "" {
			v.NeverTakenBranches = append(v.NeverTakenBranches, fmt.Sprintf("%s: %s of %s (line %d)", n.Process, n.Branch, n.Text, n.Pos.Line))
			continue
		}
		v.NeverTaken = append(v.NeverTaken, text)
		v.vacuousSteps++
	}
}

func promiseVerdict(tree *ast.Spec, out *lower.Outcome, a lower.PromiseAnswer, o CheckOptions) *PromiseVerdict {
	p := &PromiseVerdict{Name: a.Promise.Name, Text: a.Promise.Text, Kind: "safety", Verdict: a.Verdict.String(), Line: a.Promise.Pos.Line,
		Faults: map[string]int{}, History: []*Step{}, Because: []string{}, For: []string{}}
	if a.Promise.Class() == ast.Liveness {
		p.Kind = "liveness"
	}
	if _, ok := a.Promise.Body.(ast.CanComplete); ok {
		p.Kind = "possibility"
	}
	if tree.Expect != nil {
		want := tree.Expect.Promises[p.Name]
		if tree.Expect.Whole == "" && want != "" {
			p.Expected = &want
		}
	}
	if a.Reason != "" {
		reason := a.Reason
		p.Reason = &reason
	}
	p.For = append(p.For, a.Elements...)
	p.LeastFaults = leastFaults(out, a)
	if a.History == nil {
		return p
	}
	p.takeHistory(a.History, placesByLine(tree))
	cmd := replayCommand(tree, p.Name, o)
	p.Replay = &cmd
	return p
}

func leastFaults(out *lower.Outcome, a lower.PromiseAnswer) []map[string]int {
	var best []map[string]int
	for k, r := range out.Result.Properties {
		if p, ok := out.Model.Origin(k).Property.Note.(*ast.Promise); ok && p == a.Promise && r.Verdict == modelcheck.Broken && r.LeastFaults != nil {
			best = append(best, r.LeastFaults...)
		}
	}
	return best
}

// place is where the step of a line stands, and what it touches.
type place struct {
	resource string
	pos      diag.Pos
}

// placesByLine finds the step of each line.
func placesByLine(tree *ast.Spec) map[int]place {
	out := map[int]place{}
	for _, p := range tree.Processes {
		if t := p.Trigger; t != nil {
			on := ""
			switch {
			case t.Queue != nil:
				on = t.Queue.Name
			case t.Table != nil:
				on = t.Table.Resource.Name
			case t.Store != nil:
				on = t.Store.Name
			case t.Operation != nil:
				on = "client"
			}
			out[t.Pos.Line] = place{on, t.Pos}
		}
		for _, s := range p.All {
			on := ""
			if s.Resource != nil {
				on = s.Resource.Name
			} else if s.Verb == ast.VerbReply {
				on = "client"
			}
			out[s.Pos.Line] = place{on, s.Pos}
		}
	}
	return out
}

func (p *PromiseVerdict) takeHistory(h *lower.History, on map[int]place) {
	for name, n := range h.Faults {
		p.Faults[name] = n
	}
	for i := range h.Steps {
		p.History = append(p.History, newStep(&h.Steps[i], on))
	}
	p.Because = append(p.Because, h.Because...)
	if h.LoopFrom >= 0 {
		n := h.LoopFrom
		p.LoopFrom = &n
	}
	if h.Sealed > 0 {
		n := h.Sealed
		p.SealedAt = &n
	}
}

func newStep(s *lower.Step, on map[int]place) *Step {
	out := &Step{N: s.N, Actor: s.Actor, Kind: s.Kind, Text: s.Text, Line: s.Line, Fault: s.Fault, Waited: s.Waited, Then: s.Then, Changed: map[string]string{}, resource: on[s.Line].resource, pos: on[s.Line].pos}
	for _, c := range s.Changed {
		if old, ok := out.Changed[c.Where]; ok {
			out.Changed[c.Where] = old + " " + c.What
			continue
		}
		out.Changed[c.Where] = c.What
		out.order = append(out.order, c.Where)
	}
	return out
}

// replayCommand is the command that shows the history again.
func replayCommand(tree *ast.Spec, promise string, o CheckOptions) string {
	cmd := o.Command
	if cmd == "" {
		cmd = "relplan check " + shellWord(tree.File)
	}
	if tree.Variant != "" {
		cmd += " --variant " + shellWord(tree.Variant)
	}
	return cmd + " --promise " + promise
}

func shellWord(s string) string {
	for _, r := range s {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=:,@+", r)) {
			return strconv.Quote(s)
		}
	}
	return s
}

func possibleResult(a lower.PossibleAnswer) *PossibleResult {
	r := &PossibleResult{Text: a.Possibility.Text, Line: a.Possibility.Pos.Line, Seen: a.Verdict == modelcheck.Holds, unknown: a.Verdict == modelcheck.Unknown}
	if a.History != nil {
		n := len(a.History.Steps)
		r.Steps = &n
	}
	return r
}

// conclude gives the verdict of the whole and compares it with the expectation.
func (v *VariantVerdict) conclude(tree *ast.Spec, o CheckOptions) {
	count := map[string]int{}
	for _, p := range v.Promises {
		count[p.Verdict]++
	}
	// An expectation has been read by its author, so steps that are never taken
	// are then listed and no more; must_be_possible fails in any case.
	vacuous, undecided := v.vacuousSteps > 0 && tree.Expect == nil, false
	for _, p := range v.Possible {
		vacuous = vacuous || !p.Seen && !p.unknown
		undecided = undecided || p.unknown
	}
	vacuous = vacuous || count[ast.Vacuous] > 0
	switch {
	case count[ast.Broken] > 0:
		v.Verdict = ast.Broken
	case count[ast.Unknown] > 0 || undecided || !v.Complete:
		v.Verdict = ast.Unknown
	case vacuous && !o.AllowVacuous:
		v.Verdict = ast.Vacuous
	default:
		v.Verdict = ast.Holds
	}
	if tree.Expect == nil {
		return
	}
	v.AsExpected = v.compare(tree.Expect, undecided)
}

// compare says whether the verdict is the expected one; nil where that is not
// decided and nothing decided contradicts it. undecided: some must_be_possible
// is.
func (v *VariantVerdict) compare(e *ast.Expect, undecided bool) *bool {
	ok, open := true, false
	if e.Whole != "" {
		ok = v.Verdict == e.Whole
		open = !ok && v.Verdict == ast.Unknown
	} else {
		ok = v.Verdict != ast.Vacuous
		open = v.Verdict == ast.Unknown && undecided
		for _, p := range v.Promises {
			switch {
			case p.Expected != nil && p.Verdict == *p.Expected:
			case p.Expected != nil && p.Verdict == ast.Unknown:
				open = true
			default:
				ok = false
			}
		}
	}
	if open && (ok || e.Whole != "") {
		return nil
	}
	return &ok
}

// Forget drops the expectation: what the author expected of the variant does not
// count, only what holds.
func (v *VariantVerdict) Forget() {
	v.Expect, v.AsExpected = nil, nil
	for _, p := range v.Promises {
		p.Expected = nil
	}
}

// Exit is the exit code of the verdict: 0, 1 (broken, vacuous or not as
// expected) or 4 (unknown).
func (v *Verdict) Exit() int {
	code := 0
	for _, x := range v.Variants {
		switch c := x.exit(); {
		case c == 1:
			return 1
		case c == 4:
			code = 4
		}
	}
	return code
}

func (v *VariantVerdict) exit() int {
	switch {
	case v.Estimate != nil:
		return 0
	case v.AsExpected != nil && *v.AsExpected:
		return 0
	case v.AsExpected != nil:
		return 1
	case v.Undecided():
		return 4
	case v.Verdict == ast.Holds:
		return 0
	}
	return 1
}

// Undecided says that the verdict is unknown, or that it is not known whether it
// is the expected one.
func (v *VariantVerdict) Undecided() bool {
	return v.Verdict == ast.Unknown || v.Expect != nil && v.AsExpected == nil
}

func faultNames(m map[string]int) []string {
	out := make([]string, 0, len(m))
	for k, n := range m {
		if n > 0 {
			out = append(out, k)
		}
	}
	sort.Strings(out)
	return out
}
