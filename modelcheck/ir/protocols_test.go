package ir_test

import (
	"testing"

	"github.com/relplan/relplan/modelcheck"
	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/modelcheck/ir/irtest"
)

func compile(t testing.TB, p *ir.Program) *ir.Model {
	t.Helper()
	m, err := ir.Compile(p, ir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// count is a breadth-first search over a built-in map, without canonical forms.
func count(m *ir.Model) (states, transitions int) {
	words := m.Shape().Words
	x := modelcheck.NewSink(words)
	seen := map[string]bool{}
	var queue [][]uint64
	add := func(s []uint64) {
		k := key(s)
		if !seen[k] {
			seen[k] = true
			queue = append(queue, append([]uint64(nil), s...))
		}
	}
	m.Initial(add)
	for i := 0; i < len(queue); i++ {
		x.Reset()
		m.Expand(queue[i], x)
		for j := range x.Len() {
			s, _ := x.At(j)
			add(s)
		}
		transitions += x.Len()
		queue[i] = nil
	}
	return len(seen), transitions
}

func key(s []uint64) string {
	b := make([]byte, 0, 8*len(s))
	for _, w := range s {
		for i := range 8 {
			b = append(b, byte(w>>(8*i)))
		}
	}
	return string(b)
}

// The counts are those of docs/checker.md, counted by three other tools.
func TestBenchmarkProtocolCounts(t *testing.T) {
	for _, c := range []struct {
		name                string
		p                   *ir.Program
		states, transitions int
		reason              string
	}{
		{"B1 tiny", irtest.B1(2, 2, 1, 1), 755, 2104, "unordered messages and workers, blocking insert"},
		{"B1 S", irtest.B1(3, 2, 2, 2), 15186, 54702, "the same, larger"},
		{"B2 tiny", irtest.B2(2, 2, 1, 1), 985, 2476, "key before effect"},
		{"B2 S", irtest.B2(3, 2, 2, 2), 32055, 104574, "the same, larger"},
		{"B3 S", irtest.B3(2, 2, 1, 1), 17302, 53054, "two processes, leases, environment actions"},
		{"B3 without crashes", irtest.B3(3, 2, 0, 1), 13014, 0, "a budget of zero"},
		{"B3 without expiries", irtest.B3(3, 2, 1, 0), 16025, 0, "a budget of zero"},
	} {
		t.Run(c.name, func(t *testing.T) {
			states, transitions := count(compile(t, c.p))
			if states != c.states || c.transitions > 0 && transitions != c.transitions {
				t.Errorf("found %d states, %d transitions, expected %d, %d: %s", states, transitions, c.states, c.transitions, c.reason)
			}
		})
	}
}
