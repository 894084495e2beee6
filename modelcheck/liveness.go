package modelcheck

// A trap is a set of states that a fair history can stay in for ever: every
// fair action leads back into it, every decision has a branch that does, and
// each of its states can be reached from each other. Without decisions the
// traps are the bottom strongly connected components of the fault-free graph.
// A state that was not expanded, or has a fair cut transition, is in no trap.

// judgement is what the graph says about one property.
type judgement struct {
	verdict Verdict
	from    []bool // LeadsTo: states in which the obligation starts
	goal    []bool
	target  []bool // states that a breaking history ends in
	sealed  []bool // states from which the goal cannot be reached without a fault
	loop    []bool // states of the traps
}

func fairOrChoice(c *edgeClass) bool { return c.fair || c.choice != 0 }
func notFault(c *edgeClass) bool     { return !c.fault }
func anyEdge(*edgeClass) bool        { return true }

// lively judges the properties of whole histories on one graph.
type lively struct {
	s       *search
	g       *graph
	fairRev *reverse
}

func newLively(s *search) *lively {
	l := &lively{s: s, g: s.buildGraph()}
	l.fairRev = l.g.reversed(fairOrChoice)
	return l
}

// forced gives the states from which every fair history reaches goal, as far
// as is known: what was not explored counts as reaching it.
func (l *lively) forced(goal []bool) []bool {
	g := l.g
	in := make([]bool, g.n)
	var todo []uint32
	left := map[uint64]int{} // (state, decision): branches that stay outside
	add := func(v uint32) {
		if !in[v] {
			in[v] = true
			todo = append(todo, v)
		}
	}
	lose := func(v uint32, choice int) {
		k := uint64(v)<<32 | uint64(uint32(choice))
		if left[k]--; left[k] == 0 {
			add(v)
		}
	}
	if g.hasChoice {
		for v := range uint32(g.n) {
			_, class := g.edges(v)
			for _, c := range class {
				if ch := g.classes[c].choice; ch != 0 {
					left[uint64(v)<<32|uint64(uint32(ch))]++
				}
			}
		}
	}
	for v := range uint32(g.n) {
		if goal[v] || !g.expanded[v] {
			add(v)
			continue
		}
		to, class := g.edges(v)
		for i, t := range to {
			if t != cutState {
				continue
			}
			if c := &g.classes[class[i]]; c.fair {
				add(v)
			} else if c.choice != 0 {
				lose(v, c.choice)
			}
		}
	}
	for len(todo) > 0 {
		t := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for i := l.fairRev.begin[t]; i < l.fairRev.begin[t+1]; i++ {
			v, c := l.fairRev.from[i], &l.g.classes[l.fairRev.class[i]]
			if c.fair {
				add(v)
			} else {
				lose(v, c.choice)
			}
		}
	}
	return in
}

// possible gives the states from which goal can be reached over the edges that
// keep, through states that through allows (nil: any). unknown says whether
// what was not explored counts as goal.
func (l *lively) possible(goal, through []bool, keep func(*edgeClass) bool, unknown bool) []bool {
	g := l.g
	rev := l.fairRev
	if g.hasUnfair || keep(&edgeClass{fault: true}) {
		rev = g.reversed(keep)
	}
	in := make([]bool, g.n)
	var todo []uint32
	add := func(v uint32) {
		if !in[v] && (through == nil || through[v]) {
			in[v] = true
			todo = append(todo, v)
		}
	}
	for v := range uint32(g.n) {
		if goal[v] || unknown && l.unsure(v, keep) {
			add(v)
		}
	}
	for len(todo) > 0 {
		t := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for i := rev.begin[t]; i < rev.begin[t+1]; i++ {
			add(rev.from[i])
		}
	}
	return in
}

// unsure tells whether something that follows v was not explored.
func (l *lively) unsure(v uint32, keep func(*edgeClass) bool) bool {
	if !l.g.expanded[v] {
		return true
	}
	to, class := l.g.edges(v)
	for i, t := range to {
		if t == cutState && keep(&l.g.classes[class[i]]) {
			return true
		}
	}
	return false
}

// traps marks the states of the traps inside the closed set in, for graphs
// without decisions.
func (l *lively) traps(in []bool) []bool {
	g := l.g
	comp, n := g.components(in, fairOrChoice)
	leaves := make([]bool, n)
	for v := range uint32(g.n) {
		if !in[v] {
			continue
		}
		to, class := g.edges(v)
		for i, t := range to {
			if t != cutState && in[t] && comp[t] != comp[v] && fairOrChoice(&g.classes[class[i]]) {
				leaves[comp[v]] = true
			}
		}
	}
	r := make([]bool, g.n)
	for v := range r {
		r[v] = in[v] && !leaves[comp[v]]
	}
	return r
}

// recurrent marks all states that lie in some trap within the given states.
func (l *lively) recurrent(within []bool) []bool {
	g := l.g
	dead := l.forced(negate(within))
	if !g.hasChoice {
		return l.traps(negate(dead))
	}
	for {
		in := make([]bool, g.n)
		for v := range in {
			in[v] = !dead[v]
		}
		comp, _ := g.components(in, fairOrChoice)
		bad := make([]bool, g.n)
		changed := false
		for v := range uint32(g.n) {
			bad[v] = dead[v] || !staysIn(g, v, comp)
			changed = changed || bad[v] != dead[v]
		}
		if !changed {
			return in
		}
		dead = l.forced(bad)
	}
}

// staysIn tells whether a fair history can stay in the component of v at v.
func staysIn(g *graph, v uint32, comp []int32) bool {
	to, class := g.edges(v)
	branch := map[int]bool{}
	for i, t := range to {
		c := &g.classes[class[i]]
		inside := t != cutState && comp[t] == comp[v]
		if c.fair && !inside {
			return false
		}
		if c.choice != 0 {
			branch[c.choice] = branch[c.choice] || inside
		}
	}
	for _, ok := range branch {
		if !ok {
			return false
		}
	}
	return true
}

// judge gives the verdict on a liveness property and what its history needs.
func (l *lively) judge(p *Property) *judgement {
	goal := l.s.holds(l.g, p.Goal)
	j := &judgement{goal: goal}
	switch p.Kind {
	case CanAlways:
		can := l.possible(goal, nil, notFault, true)
		j.target = negate(can)
		j.sealed = j.target
	case Finally:
		all := make([]bool, l.g.n)
		for v := range all {
			all[v] = true
		}
		j.loop = l.recurrent(all)
		j.target = both(j.loop, negate(goal))
	default:
		stay := negate(l.forced(goal))
		j.loop = l.recurrent(stay)
		j.target = j.loop
		if p.Kind == LeadsTo {
			l.leadsTo(p, j, stay)
		}
	}
	if some(j.target) {
		j.verdict = Broken
		if j.sealed == nil && p.Kind != Finally {
			j.sealed = negate(l.possible(goal, nil, notFault, true))
		}
	} else {
		j.verdict = l.otherwise(p, j)
	}
	return j
}

// leadsTo narrows the target to traps that an obligation can run into.
func (l *lively) leadsTo(p *Property, j *judgement, stay []bool) {
	j.from = l.s.holds(l.g, p.From)
	owed := both(j.from, negate(j.goal))
	bad := l.possible(stay, negate(j.goal), anyEdge, false)
	if !some(both(owed, bad)) {
		j.target = make([]bool, l.g.n)
	}
}

// otherwise gives the verdict of a property that nothing known breaks.
func (l *lively) otherwise(p *Property, j *judgement) Verdict {
	if p.Kind == LeadsTo && !some(j.from) && l.complete() {
		return Vacuous
	}
	if !l.complete() {
		return Unknown
	}
	return Holds
}

// complete tells whether the graph is the whole graph.
func (l *lively) complete() bool {
	return !l.s.halted() && len(l.s.layers[l.s.expanded]) == 0 && len(l.s.cuts) == 0
}

func negate(a []bool) []bool {
	r := make([]bool, len(a))
	for i, v := range a {
		r[i] = !v
	}
	return r
}

func both(a, b []bool) []bool {
	r := make([]bool, len(a))
	for i, v := range a {
		r[i] = v && b[i]
	}
	return r
}

func some(a []bool) bool {
	for _, v := range a {
		if v {
			return true
		}
	}
	return false
}
