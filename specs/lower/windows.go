package lower

import (
	"context"
	"errors"
	"slices"
	"sort"
	"strings"

	"github.com/relplan/relplan/modelcheck"
	"github.com/relplan/relplan/specs/ast"
)

// Window is one row of the crash table: one event at one place, alone, with no
// other fault in the whole history.
type Window struct {
	Process string
	// After is the step before which the run stands when it crashes, or the step
	// whose answer is lost, in words; Line is where it stands in the file.
	After string
	Line  int
	Event string // crash, answer_lost, request_lost, late
	// Durable lists what the stores hold right after the event.
	Durable []string
	// Next says what happens then: what the redelivery does, or the branch that
	// the run takes.
	Next string
	// Promises has one answer per promise of the spec.
	Promises []PromiseAnswer
}

// Broken says whether some promise is broken by the event alone.
func (w *Window) Broken() bool {
	for _, p := range w.Promises {
		if p.Verdict == modelcheck.Broken {
			return true
		}
	}
	return false
}

// window restricts a lowering to one event.
type window struct {
	process *ast.Process
	step    *ast.Step
	commit  bool
	event   string
}

// Windows computes the crash table of a spec: a crash at each boundary between
// steps, and for each request a lost answer, each alone. The budgets of the spec
// do not matter. A promise that the spec breaks with no fault at all is broken
// in every row. A limit or a cancelled context gives the rows found so far; the
// limits then say in words why rows, or verdicts in them, are missing.
func Windows(ctx context.Context, spec *ast.Spec, opt modelcheck.Options) (rows []Window, limits []string, err error) {
	lo, err := Lower(spec, Options{})
	if err != nil {
		return nil, nil, err
	}
	var out []Window
	for _, p := range lo.lw.order {
		if p.ast.Trigger.Kind == ast.OnFault {
			continue
		}
		for _, n := range p.inFileOrder() {
			if !n.located() || n.kind == pauseNode {
				continue
			}
			for _, event := range eventsAt(p, n) {
				if ctx.Err() != nil {
					return out, union(limits, []string{stopped(ctx)}), nil
				}
				w, cut, err := windowAt(ctx, spec, &window{p.ast, n.step, n.kind == commitNode, event}, opt)
				if err != nil {
					return nil, nil, err
				}
				limits = union(limits, cut)
				if w != nil {
					out = append(out, *w)
				}
			}
		}
	}
	return out, limits, nil
}

// stopped names the reason of a done context as the search does.
func stopped(ctx context.Context) string {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return "time limit"
	}
	return "interrupted"
}

// union adds to a list what it does not have yet.
func union(list, more []string) []string {
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// eventsAt lists what can go wrong at a place.
func eventsAt(p *process, n *node) []string {
	out := []string{"crash"}
	if n.step.Verb == ast.VerbReply || p.emitter(n).planOf(n).lossy {
		out = append(out, "answer_lost")
	}
	if n.kind != commitNode && n.step.Verb == ast.VerbCall && n.step.Method.Kind != ast.Find {
		out = append(out, "request_lost")
		if n.step.Resource.Provider.CanArriveLate {
			out = append(out, "late")
		}
	}
	return out
}

// windowAt checks the spec with that event only; nil if it cannot happen, or if
// the limits cut the search before it did.
func windowAt(ctx context.Context, spec *ast.Spec, w *window, opt modelcheck.Options) (*Window, []string, error) {
	only := *spec
	kind := map[string]ast.FaultKind{"crash": ast.FaultCrash, "answer_lost": ast.FaultResponseLost, "request_lost": ast.FaultRequestLost, "late": ast.FaultLateRequest}[w.event]
	only.Faults = []*ast.Fault{{Kind: kind, Name: w.event, Max: 1, Pos: w.step.Pos}}
	only.MustBePossible = nil
	o, err := explore(ctx, &only, opt, Options{window: w})
	if err != nil {
		return nil, nil, err
	}
	var limits []string
	if !o.Result.Complete {
		limits = o.Result.Limits
		if len(o.Unbounded) > 0 {
			limits = o.Unbounded
		}
	}
	out := &Window{Process: w.process.Name, Event: w.event, Line: w.step.Pos.Line}
	reach := len(o.Program.Props) - 1 // added last, by promises()
	var path *modelcheck.History
	for k, r := range o.Result.Properties {
		if o.stands([]int{reach}, k) {
			path = r.History
			if path == nil && r.Verdict == modelcheck.Holds { // it can happen, and there was no time to show how
				limits = union(limits, []string{stopped(ctx)})
			}
		}
	}
	if path == nil {
		return nil, limits, nil
	}
	h := o.History(path, -1)
	if len(h.Steps) == 0 {
		return nil, limits, nil
	}
	out.After = o.placeText(h, w)
	last := lastState(path)
	out.Durable = o.durable(last)
	out.Next = o.nextText(last, w, h)
	out.Promises = o.Answers()
	for i := range out.Promises {
		// A promise that has nothing to say in this row is not broken by it.
		if a := &out.Promises[i]; a.Verdict == modelcheck.Vacuous {
			a.Verdict = modelcheck.Holds
		}
	}
	return out, limits, nil
}

// placeText says where: after which step of the run, or at which.
func (o *Outcome) placeText(h *History, w *window) string {
	event := h.Steps[len(h.Steps)-1]
	if w.event != "crash" {
		return event.Text
	}
	for i := len(h.Steps) - 2; i >= 0; i-- {
		if h.Steps[i].Actor == event.Actor {
			return h.Steps[i].Text
		}
	}
	return "start"
}

// durable prints the contents of all stores.
func (o *Outcome) durable(state []uint64) []string {
	var out []string
	all := o.contents(state)
	for _, name := range o.stores() {
		rows := append([]string{}, all[name]...)
		sort.Strings(rows)
		for _, r := range rows {
			out = append(out, name+" "+r)
		}
	}
	return out
}

// nextText follows the process from the state until one run has ended, always
// taking the first step in the order of the file.
func (o *Outcome) nextText(state []uint64, w *window, h *History) string {
	var parts []string
	p := o.lw.process(w.process)
	actor := h.Steps[len(h.Steps)-1].self
	started := w.event != "crash" && o.Model.Value(state, p.pc, actor) != 0
	for range 40 {
		st, ok := o.first(state, p, actor, started)
		if !ok {
			break
		}
		s := o.step(state, st)
		state = st.State
		if s == nil {
			continue
		}
		if s.note.Start {
			started = true
			actor = s.self
		}
		text := s.Text
		if s.Then != "" && s.Then != "the run ends" {
			text += ", " + s.Then
		}
		parts = append(parts, text)
		if started && o.Model.Value(state, p.pc, actor) == 0 {
			break
		}
	}
	if len(parts) == 0 {
		return "nothing: the run is over and is not started again"
	}
	return strings.Join(parts, "; ")
}

// first is the first enabled step of the instance (or, before a run has started,
// a start of the process; failing both, an expiry), without faults.
func (o *Outcome) first(state []uint64, p *process, actor int, started bool) (*modelcheck.HistoryStep, bool) {
	sink := modelcheck.NewSink(o.Model.Shape().Words)
	o.Model.Expand(state, sink)
	best, at := -1, -1
	for i := 0; i < sink.Len(); i++ {
		_, id := sink.At(i)
		a, self, _ := o.Model.Instance(id)
		note, ok := a.Note.(*Note)
		if !ok || a.Fault != "" || a.Unfair {
			continue
		}
		score := -1
		switch {
		case note.Process == p.ast && started && self == actor && !note.Start:
			score = 1 << 28
		case note.Process == p.ast && !started && note.Start:
			score = 2 << 28
		case note.Process != nil && note.Process != p.ast && !note.Start:
			score = 3 << 28 // it may wait for another run
		case note.Process == nil:
			score = 4 << 28
		}
		if score < 0 {
			continue
		}
		score += a.Order
		if best < 0 || score < best {
			best, at = score, i
		}
	}
	if at < 0 {
		return nil, false
	}
	s, id := sink.At(at)
	next := append([]uint64{}, s...)
	return &modelcheck.HistoryStep{ID: id, Action: o.Model.Describe(id), State: next}, true
}

// allows says whether a fault may hit the process at the node.
func (lw *lowering) allows(p *process, n *node) bool {
	w := lw.opts.window
	return w == nil || w.process == p.ast && n != nil && w.step == n.step && w.commit == (n.kind == commitNode)
}
