package ir

import (
	"strings"

	"github.com/relplan/relplan/modelcheck"
)

// Origin says which source property, for which elements of its binders, a
// property of the engine judges.
type Origin struct {
	Property *Property
	// At holds, per ForEach binder, the element judged, or -1 if the property
	// is judged for all of them together.
	At []int
}

// Properties are the program's promises for the engine. Where symmetry allows,
// one property stands for all elements of a set: all together where the kind
// lets conditions be joined, else the first element for every other.
func (m *Model) Properties() []modelcheck.Property { return m.props }

// Origin explains Properties()[i].
func (m *Model) Origin(i int) Origin { return m.origins[i] }

// Failing names, in a state, the elements of the property's binders for which
// its goal does not hold, printed; "" when the property has no binder.
func (m *Model) Failing(i int, state []uint64) []string {
	o := m.origins[i]
	var out []string
	m.elements(o.Property, 0, make([]int, len(o.Property.ForEach)), func(at []int) {
		for d, x := range o.At {
			if x >= 0 && at[d] != x {
				return
			}
		}
		r := m.binderScope(o.Property, at)
		if r.expr(o.Property.Goal).eval(state, 0) <= 0 {
			out = append(out, o.Property.names(at))
		}
	})
	return out
}

func (q *Property) names(at []int) string {
	var parts []string
	for d, x := range at {
		if x >= 0 {
			parts = append(parts, q.ForEach[d].Over.Set.element(x))
		}
	}
	return strings.Join(parts, ", ")
}

func (m *Model) binderScope(q *Property, at []int) *resolver {
	r := newResolver(m.l)
	for d, p := range q.ForEach {
		if at[d] >= 0 {
			r.scope[p.Local] = constant(at[d])
		}
	}
	return r
}

// elements calls f for every combination of binder elements.
func (m *Model) elements(q *Property, d int, at []int, f func([]int)) {
	if d == len(q.ForEach) {
		f(at)
		return
	}
	for i := range q.ForEach[d].Over.size() {
		at[d] = i
		m.elements(q, d+1, at, f)
	}
}

// joint reports whether the property may be judged for all elements of an
// interchangeable set at once: an invariant and what holds at rest as a
// conjunction, a latched goal too, reachability as a disjunction.
func (q *Property) joint() bool {
	switch q.Kind {
	case Always, Finally:
		return true
	case Reachable: // some combination stands for all, unless two binders may name one element
		for i, p := range q.ForEach {
			for _, o := range q.ForEach[:i] {
				if o.Over == p.Over {
					return false
				}
			}
		}
		return true
	case Eventually:
		return q.Latched
	}
	return false
}

// makeProperties lowers the promises to predicates.
func (m *Model) makeProperties() {
	kinds := [...]modelcheck.PropertyKind{Always: modelcheck.Invariant, Reachable: modelcheck.Reach, Eventually: modelcheck.Eventually,
		LeadsTo: modelcheck.LeadsTo, Finally: modelcheck.Finally, CanAlways: modelcheck.CanAlways}
	for _, q := range m.Program.Props {
		for _, at := range m.judged(q) {
			p := modelcheck.Property{Name: q.Name, Kind: kinds[q.Kind], Latched: q.Latched}
			if s := q.names(at); s != "" && len(m.judged(q)) > 1 {
				p.Name += " (" + s + ")"
			}
			p.Goal = m.predicate(q, at, q.Goal)
			if q.From != nil {
				p.From = m.predicate(q, at, q.From)
			}
			for d, x := range at {
				if i, ok := m.sets[q.ForEach[d].Over.Set]; ok && x >= 0 && q.ForEach[d].Over.Set.Size > 1 {
					p.Breaks = append(p.Breaks, i)
				}
			}
			m.props = append(m.props, p)
			m.origins = append(m.origins, Origin{q, at})
		}
	}
}

// judged lists the element combinations that get a property of their own. One
// element of an interchangeable set stands for all of them; with two binders
// over the same set, equal and different elements are distinguished.
func (m *Model) judged(q *Property) [][]int {
	out := [][]int{{}}
	for d, p := range q.ForEach {
		var next [][]int
		for _, at := range out {
			next = append(next, m.choices(q, d, p.Over.Set, at)...)
		}
		out = next
	}
	return out
}

func (m *Model) choices(q *Property, d int, s *Set, at []int) [][]int {
	with := func(x int) []int { return append(append([]int(nil), at...), x) }
	if _, free := m.sets[s]; !free {
		var out [][]int
		for i := range s.Size {
			out = append(out, with(i))
		}
		return out
	}
	if q.joint() {
		return [][]int{with(-1)}
	}
	fresh := 0 // elements of s already named by earlier binders are 0 .. fresh-1
	for e, p := range q.ForEach[:d] {
		if p.Over.Set == s {
			fresh = max(fresh, at[e]+1)
		}
	}
	var out [][]int
	for i := range min(fresh+1, s.Size) {
		out = append(out, with(i))
	}
	return out
}

// predicate compiles e for the binder elements; those that are -1 are
// quantified: for all, for Reachable for some.
func (m *Model) predicate(q *Property, at []int, e Expr) func([]uint64) bool {
	for d := len(at) - 1; d >= 0; d-- {
		if at[d] >= 0 {
			continue
		}
		if p := q.ForEach[d]; q.Kind == Reachable {
			e = Exists{p.Local, p.Over, e}
		} else {
			e = Every(p.Local, p.Over, e)
		}
	}
	r := m.binderScope(q, at)
	n := r.expr(e)
	if n.isConst() {
		v := n.isTrue()
		return func([]uint64) bool { return v }
	}
	ts := m.m.tests(n)
	return func(s []uint64) bool { return holdAll(ts, s, 0) }
}
