package modelcheck

import (
	"context"
	"slices"
)

// leastFaultNodes bounds the search for the smallest budgets.
const leastFaultNodes = 5_000_000

// leastFaults finds the smallest budgets under which the request has a history:
// all combinations of fault units of which no part is enough. An empty map means
// that no fault is needed. nil: none found, or the space is too large.
func (s *search) leastFaults(ctx context.Context, q request) []map[string]int {
	t := newTracked(s.model, s.props, s.opt)
	t.follow = false
	if q.prop.Kind == LeadsTo {
		t.from, t.goal = q.prop.From, q.prop.Goal
	}
	l := &leastSearch{t: t, states: interned{width: t.shape.Words}, width: t.shape.Words, q: q}
	for _, a := range t.actions {
		if a.fault && !slices.Contains(l.units, a.unit) {
			l.units = append(l.units, a.unit)
		}
	}
	slices.Sort(l.units)
	if !l.run(ctx) {
		return nil
	}
	var r []map[string]int
	for _, v := range l.found {
		m := map[string]int{}
		for i, n := range v {
			if n > 0 {
				m[l.units[i]] = int(n)
			}
		}
		r = append(r, m)
	}
	return r
}

// leastSearch explores pairs of a state and the units spent to get there, in
// order of the number of units.
type leastSearch struct {
	t      *tracked
	q      request
	units  []string
	width  int
	states interned
	nodes  []leastNode
	first  []int32   // by state: its newest node
	queues [][]int32 // nodes by number of units
	found  []spending
}

// leastNode is a state with the units spent to get there.
type leastNode struct {
	state, next int32 // next: an older node of the same state, -1
	spent       spending
}

// spending counts units by position in leastSearch.units.
type spending []uint8

// within tells whether a spends no more than b of any unit.
func (a spending) within(b spending) bool {
	for i, n := range a {
		if n > b[i] {
			return false
		}
	}
	return true
}

func (a spending) total() int {
	n := 0
	for _, v := range a {
		n += int(v)
	}
	return n
}

func (l *leastSearch) run(ctx context.Context) bool {
	buf := make([]uint64, l.width)
	l.t.model.Initial(func(st []uint64) {
		copy(buf, l.t.start(st))
		l.offer(buf, make(spending, len(l.units)))
	})
	x := l.t.x
	for total := 0; total < len(l.queues); total++ {
		for at := 0; at < len(l.queues[total]); at++ {
			if at%1024 == 0 && ctx.Err() != nil || len(l.nodes) > leastFaultNodes {
				return false
			}
			v := l.queues[total][at]
			spent := l.nodes[v].spent
			st := l.states.at(l.nodes[v].state)
			if l.enough(spent) {
				continue
			}
			w := l.width - 1
			if (l.t.from == nil || st[w]&owedBit != 0) && l.q.target(st[:w:w]) {
				l.found = append(l.found, spent)
				continue
			}
			last := st[w]
			x.Reset()
			l.t.model.Expand(st[:w:w], x)
			for i := range x.Len() {
				a, _ := l.t.next(buf, i, last)
				l.offer(buf, l.after(spent, a))
			}
		}
		l.queues[total] = nil
	}
	return true
}

// enough tells whether a budget already found is part of this one.
func (l *leastSearch) enough(spent spending) bool {
	return slices.ContainsFunc(l.found, func(f spending) bool { return f.within(spent) })
}

func (l *leastSearch) after(spent spending, a ActionID) spending {
	d := &l.t.actions[a]
	if !d.fault {
		return spent
	}
	n := slices.Clone(spent)
	if i, _ := slices.BinarySearch(l.units, d.unit); n[i] < 255 {
		n[i]++
	}
	return n
}

// offer adds a node unless the state was reached with a part of its units.
func (l *leastSearch) offer(st []uint64, spent spending) {
	if l.t.sym != nil {
		l.t.sym.canonical(st)
	}
	state, fresh := l.states.add(st)
	if fresh {
		l.first = append(l.first, -1)
	}
	for v := l.first[state]; v >= 0; v = l.nodes[v].next {
		if l.nodes[v].spent.within(spent) {
			return
		}
	}
	v := int32(len(l.nodes))
	l.nodes = append(l.nodes, leastNode{state, l.first[state], spent})
	l.first[state] = v
	n := spent.total()
	for len(l.queues) <= n {
		l.queues = append(l.queues, nil)
	}
	l.queues[n] = append(l.queues[n], v)
}
