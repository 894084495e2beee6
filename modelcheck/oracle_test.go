package modelcheck_test

import (
	"slices"

	"github.com/relplan/relplan/modelcheck"
)

// oracle explores a model with a map, one state at a time and without any
// reduction, and judges properties by their definitions over all subsets of
// states. It shares no code with the engine and is for small models only.
type oracle struct {
	states   []string
	words    [][]uint64
	number   map[string]int
	edges    [][]oracleEdge
	terminal []bool
	trans    int
}

type oracleEdge struct {
	to     int // -1: cut
	action modelcheck.Action
}

func key(st []uint64) string {
	b := make([]byte, 0, 8*len(st))
	for _, w := range st {
		for i := range 8 {
			b = append(b, byte(w>>(8*i)))
		}
	}
	return string(b)
}

// explore gives nil when there are more than limit states.
func explore(m modelcheck.Model, limit int) *oracle {
	o := &oracle{number: map[string]int{}}
	add := func(st []uint64) int {
		k := key(st)
		n, ok := o.number[k]
		if !ok {
			n = len(o.states)
			o.number[k] = n
			o.states = append(o.states, k)
			o.words = append(o.words, slices.Clone(st))
		}
		return n
	}
	m.Initial(func(st []uint64) { add(st) })
	x := modelcheck.NewSink(m.Shape().Words)
	for v := 0; v < len(o.states); v++ {
		if len(o.states) > limit {
			return nil
		}
		x.Reset()
		m.Expand(o.words[v], x)
		var es []oracleEdge
		for i := range x.Len() {
			st, a := x.At(i)
			es = append(es, oracleEdge{add(st), m.Describe(a)})
		}
		for range x.Cuts() {
			es = append(es, oracleEdge{-1, modelcheck.Action{}}) // fair
		}
		o.trans += len(es)
		o.edges = append(o.edges, es)
		o.terminal = append(o.terminal, len(es) == 0)
	}
	return o
}

// reach gives the states reachable from v over edges that keep, v included.
func (o *oracle) reach(v int, keep func(oracleEdge) bool, through func(int) bool) []bool {
	seen := make([]bool, len(o.states))
	var visit func(v int)
	visit = func(v int) {
		if v < 0 || seen[v] || through != nil && !through(v) {
			return
		}
		seen[v] = true
		for _, e := range o.edges[v] {
			if keep(e) {
				visit(e.to)
			}
		}
	}
	visit(v)
	return seen
}

func (o *oracle) cuts(v int) bool {
	return slices.ContainsFunc(o.edges[v], func(e oracleEdge) bool { return e.to < 0 })
}

// trap tells whether a fair history can stay in the set for ever and visit all
// of it.
func (o *oracle) trap(set []int) bool {
	in := func(v int) bool { return slices.Contains(set, v) }
	lively := func(e oracleEdge) bool { return e.to >= 0 && (e.action.IsFair() || isBranch(e.action)) }
	for _, v := range set {
		if o.cuts(v) {
			return false
		}
		branches := map[int]bool{}
		for _, e := range o.edges[v] {
			if e.action.IsFair() && !in(e.to) {
				return false
			}
			if isBranch(e.action) {
				branches[e.action.Choice] = branches[e.action.Choice] || in(e.to)
			}
		}
		for _, ok := range branches {
			if !ok {
				return false
			}
		}
		r := o.reach(v, lively, in)
		for _, u := range set {
			if !r[u] {
				return false
			}
		}
	}
	return true
}

func isBranch(a modelcheck.Action) bool { return !a.IsFault() && !a.Unfair && a.Choice != 0 }

// traps lists all traps; for at most 12 states.
func (o *oracle) traps() [][]int {
	var r [][]int
	for bits := 1; bits < 1<<len(o.states); bits++ {
		var set []int
		for v := range o.states {
			if bits>>v&1 != 0 {
				set = append(set, v)
			}
		}
		if o.trap(set) {
			r = append(r, set)
		}
	}
	return r
}

// verdict judges a property by its definition.
func (o *oracle) verdict(p modelcheck.Property, traps [][]int) modelcheck.Verdict {
	incomplete := false
	for v := range o.states {
		incomplete = incomplete || o.cuts(v)
	}
	some, broken := false, false
	goal := func(v int) bool { return p.Goal(o.words[v]) }
	nowhere := func(set []int) bool { return !slices.ContainsFunc(set, goal) }
	for v := range o.states {
		switch p.Kind {
		case modelcheck.Invariant:
			broken = broken || !goal(v)
		case modelcheck.Reach:
			some = some || goal(v)
		case modelcheck.NoDeadlock:
			broken = broken || o.terminal[v] && !goal(v)
		case modelcheck.CanAlways:
			r := o.reach(v, func(e oracleEdge) bool { return !e.action.IsFault() }, nil)
			can := false
			for u, ok := range r {
				can = can || ok && (goal(u) || o.cuts(u))
			}
			broken = broken || !can
		case modelcheck.LeadsTo:
			if !p.From(o.words[v]) {
				continue
			}
			some = true
			if goal(v) {
				continue
			}
			r := o.reach(v, func(oracleEdge) bool { return true }, func(u int) bool { return !goal(u) })
			for _, t := range traps {
				broken = broken || nowhere(t) && r[t[0]]
			}
		}
	}
	for _, t := range traps {
		switch p.Kind {
		case modelcheck.Eventually:
			broken = broken || nowhere(t)
		case modelcheck.Finally:
			broken = broken || slices.ContainsFunc(t, func(v int) bool { return !goal(v) })
		}
	}
	switch {
	case broken:
		return modelcheck.Broken
	case p.Kind == modelcheck.Reach && some:
		return modelcheck.Holds
	case incomplete:
		return modelcheck.Unknown
	case (p.Kind == modelcheck.Reach || p.Kind == modelcheck.LeadsTo) && !some:
		return modelcheck.Vacuous
	}
	return modelcheck.Holds
}
