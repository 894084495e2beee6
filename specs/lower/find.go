package lower

import (
	"slices"

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
	f := &finder{o: o, n: len(lines), left: maxFind, fits: func(i int, s *Step) bool {
		return s.Actor == lines[i].Actor && s.Text == lines[i].Text
	}}
	return f.search()
}

// finder looks for a history of n steps that fit, each at its place.
type finder struct {
	o    *Outcome
	n    int
	fits func(i int, s *Step) bool
	left int

	deepest int      // most steps that were found
	offered []string // what the model has there
}

// from extends h, which ends in state, until the steps from number n on are
// found.
func (f *finder) from(h *modelcheck.History, state []uint64, n int) bool {
	if n == f.n {
		return true
	}
	if f.left--; f.left < 0 {
		return false
	}
	if n > f.deepest {
		f.deepest, f.offered = n, nil
	}
	x := modelcheck.NewSink(len(state))
	f.o.Model.Expand(state, x)
	for i := range x.Len() {
		next, action := x.At(i)
		st := modelcheck.HistoryStep{ID: action, Action: f.o.Model.Describe(action), State: append([]uint64(nil), next...)}
		s := f.o.step(state, &st)
		if s != nil && n == f.deepest {
			f.offer(s)
		}
		if s != nil && !f.fits(n, s) {
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

func (f *finder) offer(s *Step) {
	text := Move{Actor: s.Actor, Text: s.Text, World: s.note.world()}.String()
	if !slices.Contains(f.offered, text) {
		f.offered = append(f.offered, text)
	}
}
