package lower

import (
	"github.com/relplan/relplan/modelcheck"
)

// Line names a step of a printed history.
type Line struct{ Actor, Text string }

// maxFind bounds the places looked at for a history; each line leads to one or
// a few.
const maxFind = 100_000

// Find looks for the history that is printed as these lines; nil if the model
// has none, or none was found within maxFind places.
func (o *Outcome) Find(lines []Line) *History {
	f := &finder{o: o, lines: lines, left: maxFind}
	var found *modelcheck.History
	o.Model.Initial(func(st []uint64) {
		if found == nil {
			h := &modelcheck.History{Initial: append([]uint64(nil), st...), LoopFrom: -1}
			if f.from(h, h.Initial, 0) {
				found = h
			}
		}
	})
	if found == nil {
		return nil
	}
	return o.tell(found)
}

type finder struct {
	o     *Outcome
	lines []Line
	left  int
}

// from extends h, which ends in state, until the lines from n on are told.
func (f *finder) from(h *modelcheck.History, state []uint64, n int) bool {
	if n == len(f.lines) {
		return true
	}
	if f.left--; f.left < 0 {
		return false
	}
	x := modelcheck.NewSink(len(state))
	f.o.Model.Expand(state, x)
	for i := range x.Len() {
		next, action := x.At(i)
		st := modelcheck.HistoryStep{ID: action, Action: f.o.Model.Describe(action), State: append([]uint64(nil), next...)}
		s := f.o.step(state, &st)
		if s != nil && (s.Actor != f.lines[n].Actor || s.Text != f.lines[n].Text) {
			continue
		}
		told := n
		if s != nil {
			told++
		}
		h.Steps = append(h.Steps, st)
		if f.from(h, st.State, told) {
			return true
		}
		h.Steps = h.Steps[:len(h.Steps)-1]
	}
	return false
}
