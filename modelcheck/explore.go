package modelcheck

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// RandomOptions bound a random exploration.
type RandomOptions struct {
	Runs      int           // histories to draw
	Seed      uint64        // the same seed draws the same histories, for any number of workers
	MaxSteps  int           // of one history; 0 = 10,000
	Workers   int           // goroutines; 0 = GOMAXPROCS
	TimeLimit time.Duration // 0 = none
}

// RandomResult is what random histories showed. It never claims that a promise
// holds.
type RandomResult struct {
	Verdict    Verdict // Broken or Unknown
	Properties []PropertyResult
	Runs       int // histories drawn to their end or to MaxSteps
	Steps      uint64
	Longest    int // steps of the longest history
	Complete   int // histories that came to rest
	NeverTaken []int
	Seed       uint64
	Limits     []string
	Elapsed    time.Duration
}

// Chooser makes one choice of n > 0 alternatives: 0 .. n-1. All randomness of a
// Walk goes through it, so that a recorded list of choices is the history.
type Chooser func(n int) int

// WalkStep is a step of a Walk: an action and which of its successors.
type WalkStep struct {
	Action ActionID
	Nth    int // among the successors that Action has in this state, from 0
}

// Walk is one random history, drawn by a Walker.
type Walk struct {
	Start  int // which initial state
	Steps  []WalkStep
	AtRest bool // it ended because nothing but faults could happen
	Cut    bool // it ended in a state whose successor could not be represented
	// Decides gives, for each property, the number of steps after which the
	// history decides it (breaks it, or shows that a Reach is possible); -1.
	Decides []int
}

// Walker draws and replays random histories of a model. It has scratch memory:
// one per goroutine.
type Walker struct {
	model   Model
	props   []Property
	actions []trackedAction
	x       *Sink
	starts  [][]uint64
	state   []uint64
	owed    []bool
	taken   []bool
}

// NewWalker makes a Walker that judges the given properties on the way.
func NewWalker(m Model, props []Property) (*Walker, error) {
	sh := m.Shape()
	if err := checkShape(sh); err != nil {
		return nil, err
	}
	w := &Walker{model: m, props: props, x: NewSink(sh.Words), owed: make([]bool, len(props)), taken: make([]bool, sh.Actions)}
	if f, ok := m.(Forker); ok {
		w.model = f.Fork()
	}
	for a := range sh.Actions {
		d := m.Describe(ActionID(a))
		t := trackedAction{fault: d.IsFault(), unit: d.FaultUnit, order: d.Order}
		if t.unit == "" {
			t.unit = d.Text
		}
		w.actions = append(w.actions, t)
	}
	m.Initial(func(st []uint64) { w.starts = append(w.starts, slices.Clone(st)) })
	if len(w.starts) == 0 {
		return nil, fmt.Errorf("%w: no initial state", errModel)
	}
	return w, nil
}

// Walk draws one history of at most maxSteps steps. How likely faults are is
// itself drawn once.
func (w *Walker) Walk(maxSteps int, choose Chooser) *Walk {
	k := &Walk{Decides: make([]int, len(w.props))}
	for i := range k.Decides {
		k.Decides[i] = -1
	}
	if len(w.starts) > 1 {
		k.Start = choose(len(w.starts))
	}
	w.begin(k.Start)
	calm := choose(8) // of 8 steps this many avoid faults where possible
	for {
		w.expand()
		rest := w.atRest()
		w.judge(k, rest)
		k.AtRest, k.Cut = rest, len(w.x.cuts) > 0
		if w.x.Len() == 0 || k.Cut || len(k.Steps) == maxSteps {
			return k
		}
		i := w.pick(calm, choose)
		if i < 0 {
			return k
		}
		k.Steps = append(k.Steps, w.step(i))
	}
}

// pick chooses a successor; -1 ends a history that is at rest.
func (w *Walker) pick(calm int, choose Chooser) int {
	var steps, faults []int
	for i, a := range w.x.acts[:w.x.n] {
		if w.actions[a].fault {
			faults = append(faults, i)
		} else {
			steps = append(steps, i)
		}
	}
	from := steps
	switch {
	case len(steps) == 0:
		if choose(2) == 0 {
			return -1
		}
		from = faults
	case len(faults) > 0 && choose(8) >= calm:
		from = faults
	}
	if len(from) == 1 {
		return from[0]
	}
	return from[choose(len(from))]
}

// begin goes to an initial state.
func (w *Walker) begin(start int) {
	w.state = append(w.state[:0], w.starts[start]...)
	clear(w.owed)
}

func (w *Walker) expand() {
	w.x.Reset()
	w.model.Expand(w.state, w.x)
	for i := range w.props {
		p := &w.props[i]
		if p.Kind == LeadsTo {
			w.owed[i] = !p.Goal(w.state) && (w.owed[i] || p.From(w.state))
		}
	}
}

// atRest tells whether nothing but faults can happen, all known.
func (w *Walker) atRest() bool {
	for _, a := range w.x.acts[:w.x.n] {
		if !w.actions[a].fault {
			return false
		}
	}
	return len(w.x.cuts) == 0
}

// decides tells whether the current, expanded state decides a property.
func (w *Walker) decides(i int, rest bool) bool {
	switch p := &w.props[i]; p.Kind {
	case Invariant:
		return !p.Goal(w.state)
	case Reach:
		return p.Goal(w.state)
	case NoDeadlock:
		return w.x.n+len(w.x.cuts) == 0 && !p.Goal(w.state)
	case LeadsTo:
		return rest && w.owed[i]
	default:
		return rest && !p.Goal(w.state)
	}
}

func (w *Walker) judge(k *Walk, rest bool) {
	for i := range w.props {
		if k.Decides[i] < 0 && w.decides(i, rest) {
			k.Decides[i] = len(k.Steps)
		}
	}
}

// step takes successor i of the sink.
func (w *Walker) step(i int) WalkStep {
	a := w.x.acts[i]
	s := WalkStep{Action: a}
	for _, b := range w.x.acts[:i] {
		if b == a {
			s.Nth++
		}
	}
	st, _ := w.x.At(i)
	copy(w.state, st)
	w.taken[a] = true
	return s
}

// find gives the successor that a step takes in the expanded state; -1.
func (w *Walker) find(s WalkStep) int {
	n := s.Nth
	for i, a := range w.x.acts[:w.x.n] {
		if a == s.Action {
			if n == 0 {
				return i
			}
			n--
		}
	}
	return -1
}

// Explore draws random histories and judges the properties on them; for spaces
// too large to exhaust. A history that breaks a property is shortened: no
// history that decides the property can be cut from it by leaving out steps
// (unless Minimal is false).
func Explore(ctx context.Context, m Model, props []Property, opt RandomOptions) (*RandomResult, error) {
	if opt.Runs <= 0 {
		return nil, errors.New("modelcheck: random exploration needs a number of runs")
	}
	if opt.MaxSteps <= 0 {
		opt.MaxSteps = 10_000
	}
	if opt.Workers <= 0 {
		opt.Workers = runtime.GOMAXPROCS(0)
	}
	if opt.TimeLimit > 0 {
		c, cancel := context.WithTimeout(ctx, opt.TimeLimit)
		defer cancel()
		ctx = c
	}
	e := &exploration{opt: opt, began: time.Now(), first: make([]drawn, len(props))}
	for i := range e.first {
		e.first[i].run = opt.Runs
	}
	var ws []*Walker
	for range opt.Workers {
		w, err := NewWalker(m, props)
		if err != nil {
			return nil, err
		}
		ws = append(ws, w)
	}
	var wg sync.WaitGroup
	for _, w := range ws {
		wg.Go(func() { e.draw(ctx, w) })
	}
	wg.Wait()
	return e.result(m, props, ws)
}

// exploration is the state shared by the workers of Explore.
type exploration struct {
	opt   RandomOptions
	began time.Time
	next  atomic.Int64
	mu    sync.Mutex
	first []drawn // by property: the deciding walk of the smallest run
	res   RandomResult
}

type drawn struct {
	run  int
	walk *Walk
}

func (e *exploration) draw(ctx context.Context, w *Walker) {
	for ctx.Err() == nil {
		run := int(e.next.Add(1)) - 1
		if run >= e.opt.Runs {
			return
		}
		rng := rand.New(rand.NewPCG(e.opt.Seed, uint64(run)))
		k := w.Walk(e.opt.MaxSteps, rng.IntN)
		e.mu.Lock()
		e.res.Runs++
		e.res.Steps += uint64(len(k.Steps))
		e.res.Longest = max(e.res.Longest, len(k.Steps))
		if k.AtRest {
			e.res.Complete++
		}
		for i, d := range k.Decides {
			if d >= 0 && run < e.first[i].run {
				e.first[i] = drawn{run, k}
			}
		}
		e.mu.Unlock()
	}
}

func (e *exploration) result(m Model, props []Property, ws []*Walker) (*RandomResult, error) {
	r := &e.res
	r.Seed = e.opt.Seed
	if r.Runs < e.opt.Runs {
		r.Limits = append(r.Limits, fmt.Sprintf("stopped after %d of %d histories", r.Runs, e.opt.Runs))
	}
	for i := range props {
		p := PropertyResult{Name: props[i].Name, Kind: props[i].Kind, Reason: fmt.Sprintf("%d random histories", r.Runs)}
		if d := e.first[i]; d.walk != nil {
			p.Verdict, p.Reason = Broken, ""
			if p.Kind == Reach {
				p.Verdict = Holds
			} else {
				r.Verdict = Broken
			}
			p.History = ws[0].Shrink(i, d.walk)
		}
		r.Properties = append(r.Properties, p)
	}
	steps := make([]bool, len(m.Shape().Steps))
	for a := range m.Shape().Actions {
		for _, w := range ws {
			if id := m.Describe(ActionID(a)).StepID; w.taken[a] && id >= 0 && id < len(steps) {
				steps[id] = true
			}
		}
	}
	for i, t := range steps {
		if !t {
			r.NeverTaken = append(r.NeverTaken, i)
		}
	}
	r.Elapsed = time.Since(e.began)
	return r, nil
}
