package models

import (
	"fmt"
	"testing"

	"github.com/relplan/relplan/modelcheck"
)

// reference counts every state and transition with a map, one state at a time.
func reference(m modelcheck.Model) (states, transitions, depth, terminal int) {
	x := modelcheck.NewSink(m.Shape().Words)
	seen := map[uint64]bool{}
	var layer []uint64
	m.Initial(func(s []uint64) { seen[s[0]] = true; layer = append(layer, s[0]) })
	for len(layer) > 0 {
		var next []uint64
		for _, s := range layer {
			x.Reset()
			m.Expand([]uint64{s}, x)
			if x.Len() == 0 {
				terminal++
			}
			for i := range x.Len() {
				n, _ := x.At(i)
				transitions++
				if !seen[n[0]] {
					seen[n[0]] = true
					next = append(next, n[0])
				}
			}
		}
		if layer = next; len(layer) > 0 {
			depth++
		}
	}
	return len(seen), transitions, depth, terminal
}

func TestModelsHaveTheirPublishedCounts(t *testing.T) {
	cases := []struct {
		model                                modelcheck.Model
		states, transitions, depth, terminal int
	}{
		{NewInbox(2, 2, 1, 1), 755, 2104, 15, 4},
		{NewInbox(3, 2, 2, 2), 15186, 54702, 23, 9},
		{NewSetnx(2, 2, 1, 1), 985, 2476, 13, 8},
		{NewSetnx(3, 2, 2, 2), 32055, 104574, 20, 36},
		{NewOutbox(2, 2, 1, 1), 17302, 53054, 26, 19},
	}
	for _, c := range cases {
		s, tr, d, te := reference(c.model)
		got, want := fmt.Sprint(s, tr, d, te), fmt.Sprint(c.states, c.transitions, c.depth, c.terminal)
		if got != want {
			t.Errorf("%T: states, transitions, depth, terminal %s, want %s", c.model, got, want)
		}
	}
}
