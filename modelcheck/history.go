package modelcheck

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// historyNodes bounds the search for the most readable history. Beyond it the
// first shortest history is given and marked as not minimal.
const historyNodes = 500_000

// errReplay would mean that a history cannot be executed on concrete states: a
// defect of the engine or a model whose sets are not interchangeable.
var errReplay = errors.New("modelcheck: history does not replay: a set of the model is not interchangeable, or Expand is not a function of the state")

// request says which history is wanted.
type request struct {
	prop   *Property
	target func(st []uint64) bool // of a representative
	loop   func(st []uint64) bool // states of the traps, nil for safety
	sealed func(st []uint64) bool
}

// history finds and replays the history of a request.
func (s *search) history(ctx context.Context, q request) (*History, error) {
	t := newTracked(s.model, s.props, s.opt)
	if q.prop.Kind == LeadsTo {
		t.from, t.goal = q.prop.From, q.prop.Goal
	}
	w := s.shape.Words
	target := func(st []uint64) bool {
		return (t.from == nil || st[w]&owedBit != 0) && q.target(st[:w:w])
	}
	p := &pathSearch{t: t, target: target, shortest: s.opt.Shortest, limit: historyNodes}
	path, exact := p.find(ctx)
	if !exact && ctx.Err() == nil {
		path = s.anyShortest(ctx, t, target, q)
	}
	if path == nil {
		return nil, nil // interrupted: the verdict stands without its history
	}
	h, err := t.replay(path, p.shortest)
	if err != nil {
		return nil, err
	}
	h.Minimal = exact
	h.LoopFrom = -1
	if q.loop != nil {
		t.addLoop(h, q.loop)
	}
	s.seal(h, q)
	return h, nil
}

// anyShortest is for spaces too large for the order of histories: the shortest
// history by the layers of the search, or without following actors.
func (s *search) anyShortest(ctx context.Context, t *tracked, target func([]uint64) bool, q request) []pathStep {
	t.follow = false
	if t.from == nil && !s.set.compact {
		return s.byLayers(t, q.target)
	}
	p := &pathSearch{t: t, target: target, shortest: true}
	path, _ := p.find(ctx)
	return path
}

// byLayers goes back from the least target of the first layer that has one: the
// least state of each layer that has the next one as a successor.
func (s *search) byLayers(t *tracked, target func([]uint64) bool) (path []pathStep) {
	sym := newSymmetry(s.shape, s.props, s.opt.NoReduction)
	x := NewSink(s.shape.Words)
	n := s.shape.Words
	var goal []uint64
	least := func(layer []span, match func(st []uint64) bool) (best []uint64) {
		for _, sp := range layer {
			for i := sp.from; i < sp.to; i++ {
				st := sp.c.words[i*n:][:n:n]
				if (best == nil || slices.Compare(st, best) < 0) && match(st) {
					best = st
				}
			}
		}
		return best
	}
	d := 0
	for ; d < len(s.layers) && goal == nil; d++ {
		goal = least(s.layers[d], target)
	}
	if goal == nil {
		return nil
	}
	leads := func(st []uint64) bool {
		x.Reset()
		t.model.Expand(st, x)
		for i := range x.n {
			succ, _ := x.At(i)
			if sym != nil {
				sym.canonical(succ)
			}
			if equalWords(succ, goal) {
				return true
			}
		}
		return false
	}
	steps := [][]uint64{goal}
	for d -= 2; d >= 0; d-- {
		goal = least(s.layers[d], leads)
		steps = append(steps, goal)
	}
	for _, st := range slices.Backward(steps) {
		ext := t.start(st)
		if t.sym != nil {
			t.sym.canonical(ext)
		}
		path = append(path, pathStep{state: ext})
	}
	return path
}

// replay executes a path of representatives on concrete states: at each step the
// first action, in source order, whose successor has the next representative.
func (t *tracked) replay(path []pathStep, shortest bool) (*History, error) {
	w := t.shape.Words - 1
	rep := func(ext []uint64) []uint64 {
		c := slices.Clone(ext)
		if t.sym != nil {
			t.sym.canonical(c)
		}
		return c
	}
	var cur []uint64
	t.model.Initial(func(st []uint64) {
		if ext := t.start(st); cur == nil && equalWords(rep(ext), path[0].state) {
			cur = ext
		}
	})
	if cur == nil {
		return nil, errReplay
	}
	h := &History{Initial: slices.Clone(cur[:w])}
	next := make([]uint64, w+1)
	for _, want := range path[1:] {
		t.x.Reset()
		t.model.Expand(cur[:w:w], t.x)
		best := -1
		var bestAction ActionID
		var state []uint64
		for i := range t.x.Len() {
			a, changed := t.next(next, i, cur[w])
			if best >= 0 && t.actions[a].order >= t.actions[bestAction].order ||
				want.cost != 0 && t.cost(a, changed, shortest) != want.cost || !equalWords(rep(next), want.state) {
				continue
			}
			best, bestAction, state = i, a, slices.Clone(next)
		}
		if best < 0 {
			return nil, errReplay
		}
		t.append(h, bestAction, state)
		cur = state
	}
	return h, nil
}

// append adds a step to a history; state is extended.
func (t *tracked) append(h *History, a ActionID, state []uint64) {
	w := t.shape.Words - 1
	d := t.model.Describe(a)
	if d.Process >= 0 {
		for i := len(h.Steps) - 1; i >= 0; i-- {
			if b := &h.Steps[i].Action; b.Process >= 0 {
				if b.Process != d.Process || b.Instance != d.Instance {
					h.ActorChanges++
				}
				break
			}
		}
	}
	if ta := &t.actions[a]; ta.fault {
		if h.Faults == nil {
			h.Faults = map[string]int{}
		}
		h.Faults[ta.unit]++
	}
	h.Steps = append(h.Steps, HistoryStep{ID: a, Action: d, State: slices.Clone(state[:w])})
}

// String lists the steps, one a line, with faults, the sealing step and the loop
// marked.
func (h *History) String() string {
	var b strings.Builder
	if h.LoopFrom == 0 {
		b.WriteString("for ever:\n")
	}
	for i, st := range h.Steps {
		fmt.Fprintf(&b, "%d ", i+1)
		if st.Action.Actor != "" {
			fmt.Fprintf(&b, "%s: ", st.Action.Actor)
		}
		b.WriteString(st.Action.Text)
		if st.Action.IsFault() {
			b.WriteString(" (fault)")
		}
		if h.Sealed == i+1 {
			b.WriteString(" (from here on the goal cannot happen any more)")
		}
		b.WriteString("\n")
		if h.LoopFrom == i+1 {
			b.WriteString("for ever:\n")
		}
	}
	return b.String()
}

// last gives the state a history ends in.
func (h *History) last() []uint64 {
	if n := len(h.Steps); n > 0 {
		return h.Steps[n-1].State
	}
	return h.Initial
}

// addLoop appends the shortest way from the last state through the trap back to
// it; nothing when the last state is at rest.
func (t *tracked) addLoop(h *History, loop func([]uint64) bool) {
	w := t.shape.Words - 1
	identity := func(st []uint64) string {
		ext := append(slices.Clone(st), t.start(st)[w])
		if t.plain != nil {
			t.plain.canonical(ext)
		}
		return wordString(ext[:w])
	}
	inTrap := func(st []uint64) bool {
		ext := t.start(st)
		if t.sym != nil {
			t.sym.canonical(ext)
		}
		return loop(ext[:w:w])
	}
	type node struct {
		state  []uint64
		parent int
		action ActionID
	}
	home := identity(h.last())
	nodes := []node{{slices.Clone(h.last()), -1, 0}}
	seen := map[string]bool{}
	for at := 0; at < len(nodes); at++ {
		t.x.Reset()
		t.model.Expand(nodes[at].state, t.x)
		for _, i := range t.inOrder() {
			st, a := t.x.At(i)
			if !fairOrChoice(&t.actions[a].class) || !inTrap(st) {
				continue
			}
			id := identity(st)
			if !seen[id] {
				seen[id] = true
				nodes = append(nodes, node{slices.Clone(st), at, a})
			}
			if id != home {
				continue
			}
			var steps []node
			for v := len(nodes) - 1; v > 0; v = nodes[v].parent {
				steps = append(steps, nodes[v])
			}
			h.LoopFrom = len(h.Steps)
			for _, s := range slices.Backward(steps) {
				t.append(h, s.action, append(slices.Clone(s.state), 0))
			}
			return
		}
	}
}

// inOrder lists the successors in the sink by source order.
func (t *tracked) inOrder() []int {
	idx := make([]int, t.x.Len())
	for i := range idx {
		idx[i] = i
	}
	slices.SortStableFunc(idx, func(i, j int) int {
		return t.actions[t.x.acts[i]].order - t.actions[t.x.acts[j]].order
	})
	return idx
}

// seal finds the step after which the goal cannot happen any more.
func (s *search) seal(h *History, q request) {
	if q.sealed == nil {
		return
	}
	for i, st := range h.Steps {
		if q.sealed(st.State) {
			h.Sealed = i + 1
			return
		}
	}
}

// wordString makes a map key of words.
func wordString(st []uint64) string {
	b := make([]byte, 0, 8*len(st))
	for _, w := range st {
		for i := range 8 {
			b = append(b, byte(w>>(8*i)))
		}
	}
	return string(b)
}
