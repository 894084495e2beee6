package modelcheck

import "slices"

// shrinkNodes bounds the exact search for the shortest history within a walk.
const shrinkNodes = 200_000

// Shrink finds the shortest history that decides property prop (its position;
// the walk must decide it) and is cut from the walk by leaving out whole steps. It is exact up to shrinkNodes pairs of
// position and state; beyond that, steps are left out one and two at a time
// until nothing more can go, and the history is not Minimal.
func (w *Walker) Shrink(prop int, k *Walk) *History {
	steps := k.Steps[:k.Decides[prop]]
	short, exact := w.shortest(prop, k.Start, steps)
	if !exact {
		short = w.leaveOut(prop, k.Start, steps)
	}
	h := w.execute(k.Start, short)
	h.Minimal = exact
	return h
}

// cutNode is a state reached by some of the first steps of a walk.
type cutNode struct {
	state  []uint64
	owed   bool
	length int
	parent *cutNode
	step   WalkStep
}

// shortest walks along the steps, keeping for every state that some of them lead
// to the fewest steps to get there.
func (w *Walker) shortest(prop, start int, steps []WalkStep) (best []WalkStep, exact bool) {
	w.begin(start)
	reached := map[string]*cutNode{}
	var found *cutNode
	visit := func(n *cutNode) {
		copy(w.state, n.state)
		w.owed[prop] = n.owed
		w.expand()
		n.owed = w.owed[prop]
		key := wordString(n.state)
		if n.owed {
			key += "!"
		}
		if old := reached[key]; old != nil && old.length <= n.length {
			return
		}
		reached[key] = n
		if (found == nil || n.length < found.length) && w.decides(prop, w.atRest()) {
			found = n
		}
	}
	visit(&cutNode{state: slices.Clone(w.state)})
	for _, s := range steps {
		var from []*cutNode
		for _, key := range sortedKeys(reached) {
			from = append(from, reached[key])
		}
		for _, n := range from {
			copy(w.state, n.state)
			w.x.Reset()
			w.model.Expand(w.state, w.x)
			i := w.find(s)
			if i < 0 || found != nil && n.length+1 >= found.length {
				continue
			}
			st, _ := w.x.At(i)
			visit(&cutNode{slices.Clone(st), n.owed, n.length + 1, n, s})
		}
		if len(reached) > shrinkNodes {
			return nil, false
		}
	}
	for n := found; n.parent != nil; n = n.parent {
		best = append(best, n.step)
	}
	slices.Reverse(best)
	return best, true
}

// decidesAfter tells whether the steps can be executed and decide the property
// at their end.
func (w *Walker) decidesAfter(prop, start int, steps []WalkStep) bool {
	w.begin(start)
	w.expand()
	for _, s := range steps {
		i := w.find(s)
		if i < 0 {
			return false
		}
		w.step(i)
		w.expand()
	}
	return w.decides(prop, w.atRest())
}

// leaveOut removes runs of steps, long runs first, then pairs.
func (w *Walker) leaveOut(prop, start int, steps []WalkStep) []WalkStep {
	steps = slices.Clone(steps)
	for size := max(1, len(steps)/2); ; {
		removed := false
		for i := 0; i+size <= len(steps); {
			if c := slices.Delete(slices.Clone(steps), i, i+size); w.decidesAfter(prop, start, c) {
				steps, removed = c, true
			} else {
				i++
			}
		}
		if size > 1 {
			size /= 2
		} else if !removed && !w.leavePair(prop, start, &steps) {
			return steps
		}
	}
}

// leavePair removes two steps that can only go together.
func (w *Walker) leavePair(prop, start int, steps *[]WalkStep) bool {
	for i := range *steps {
		for j := i + 1; j < len(*steps); j++ {
			c := slices.Delete(slices.Clone(*steps), j, j+1)
			c = slices.Delete(c, i, i+1)
			if w.decidesAfter(prop, start, c) {
				*steps = c
				return true
			}
		}
	}
	return false
}

// Replay executes steps from an initial state (its position); nil when one of
// them is not possible. It tells which properties the history decides at its end.
func (w *Walker) Replay(start int, steps []WalkStep) (h *History, decides []bool) {
	decides = make([]bool, len(w.props))
	for i := range w.props {
		decides[i] = w.decidesAfter(i, start, steps)
	}
	w.begin(start)
	for _, s := range steps {
		w.expand()
		i := w.find(s)
		if i < 0 {
			return nil, nil
		}
		w.step(i)
	}
	return w.execute(start, steps), decides
}

// execute turns steps into a history.
func (w *Walker) execute(start int, steps []WalkStep) *History {
	w.begin(start)
	t := &tracked{model: w.model, actions: w.actions}
	t.shape.Words = len(w.state) + 1
	h := &History{Initial: slices.Clone(w.state), LoopFrom: -1}
	for _, s := range steps {
		w.expand()
		w.step(w.find(s))
		t.append(h, s.Action, append(slices.Clone(w.state), 0))
	}
	return h
}
