package modelcheck_test

import (
	"slices"

	"github.com/relplan/relplan/modelcheck"
)

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkHistory executes a history on the oracle's graph and compares its cost
// with the best one found by trying all costs (Bellman and Ford).
func checkHistory(t fataler, m modelcheck.Model, p *modelcheck.Property, o *oracle, traps [][]int, h *modelcheck.History, shortest bool) {
	t.Helper()
	v, ok := o.number[key(h.Initial)]
	if !ok {
		t.Fatalf("initial state %v is not reachable", h.Initial)
	}
	prefix := len(h.Steps)
	if h.LoopFrom >= 0 {
		prefix = h.LoopFrom
	}
	at := []int{v}
	for i, st := range h.Steps {
		to, ok := o.number[key(st.State)]
		if !ok || !slices.ContainsFunc(o.edges[v], func(e oracleEdge) bool {
			return e.to == to && e.action.Text == st.Action.Text && e.action.Instance == st.Action.Instance
		}) {
			t.Fatalf("step %d (%s) is not a transition", i+1, st.Action.Text)
		}
		if i >= prefix && st.Action.IsFault() {
			t.Fatalf("a fault in the loop")
		}
		v = to
		at = append(at, v)
	}
	if h.LoopFrom >= 0 && at[prefix] != v {
		t.Fatalf("the loop does not close")
	}
	goals := o.targets(p, traps)
	end := at[prefix]
	if !goals[o.withObligation(p, at[:prefix+1])] {
		t.Fatalf("kind %d: the history ends in state %d, which does not decide it", p.Kind, end)
	}
	got := cost{}
	last := -1
	for _, st := range h.Steps[:prefix] {
		got, last = got.after(st.Action, last)
	}
	if want := o.best(m, p, goals, shortest); !got.equal(want, shortest) {
		t.Fatalf("kind %d: history costs %v, the best one %v", p.Kind, got, want)
	}
}

// cost of a history: faults, ranks, changes of actor, length.
type cost struct{ faults, rank, changes, length int }

func (c cost) after(a modelcheck.Action, last int) (cost, int) {
	c.length++
	if a.IsFault() {
		c.faults++
		c.rank += a.FaultRank
	}
	if a.Process < 0 {
		return c, last
	}
	me := a.Process*100 + a.Instance
	if last >= 0 && last != me {
		c.changes++
	}
	return c, me
}

func (c cost) list(shortest bool) []int {
	if shortest {
		return []int{c.faults, c.rank, c.length, c.changes}
	}
	return []int{c.faults, c.rank, c.changes, c.length}
}

func (c cost) equal(d cost, shortest bool) bool {
	return slices.Equal(c.list(shortest), d.list(shortest))
}

// node is a state with the obligation of a LeadsTo.
type node struct {
	v    int
	owed bool
}

func (o *oracle) owed(p *modelcheck.Property, v int, before bool) bool {
	if p.Kind != modelcheck.LeadsTo || p.Goal(o.words[v]) {
		return false
	}
	return before || p.From(o.words[v])
}

func (o *oracle) withObligation(p *modelcheck.Property, run []int) node {
	owed := false
	for _, v := range run {
		owed = o.owed(p, v, owed)
	}
	return node{run[len(run)-1], owed}
}

// targets gives the nodes in which a history that decides p may end.
func (o *oracle) targets(p *modelcheck.Property, traps [][]int) map[node]bool {
	r := map[node]bool{}
	for v := range o.states {
		goal := p.Goal(o.words[v])
		switch p.Kind {
		case modelcheck.Invariant:
			r[node{v, false}] = !goal
		case modelcheck.Reach:
			r[node{v, false}] = goal
		case modelcheck.NoDeadlock:
			r[node{v, false}] = !goal && o.terminal[v]
		case modelcheck.CanAlways:
			can := false
			for u, ok := range o.reach(v, func(e oracleEdge) bool { return !e.action.IsFault() }, nil) {
				can = can || ok && (p.Goal(o.words[u]) || o.cuts(u))
			}
			r[node{v, false}] = !can
		}
	}
	goal := func(v int) bool { return p.Goal(o.words[v]) }
	for _, t := range traps {
		for _, v := range t {
			switch {
			case p.Kind == modelcheck.Finally && !goal(v):
				r[node{v, false}] = true
			case p.Kind == modelcheck.Eventually && !slices.ContainsFunc(t, goal):
				r[node{v, false}] = true
			case p.Kind == modelcheck.LeadsTo && !slices.ContainsFunc(t, goal):
				r[node{v, true}] = true
			}
		}
	}
	return r
}

// best gives the least cost of a run into the targets.
func (o *oracle) best(m modelcheck.Model, p *modelcheck.Property, goals map[node]bool, shortest bool) cost {
	type place struct {
		node
		last int
	}
	least := map[place]cost{}
	m.Initial(func(st []uint64) {
		v := o.number[key(st)]
		least[place{node{v, o.owed(p, v, false)}, -1}] = cost{}
	})
	for changed := true; changed; {
		changed = false
		for pl, c := range least {
			for _, e := range o.edges[pl.v] {
				if e.to < 0 {
					continue
				}
				d, last := c.after(e.action, pl.last)
				to := place{node{e.to, o.owed(p, e.to, pl.owed)}, last}
				old, ok := least[to]
				if !ok || slices.Compare(d.list(shortest), old.list(shortest)) < 0 {
					least[to] = d
					changed = true
				}
			}
		}
	}
	var best *cost
	for pl, c := range least {
		if goals[pl.node] && (best == nil || slices.Compare(c.list(shortest), best.list(shortest)) < 0) {
			best = &c
		}
	}
	return *best
}
