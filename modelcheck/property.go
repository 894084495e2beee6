package modelcheck

// PropertyKind is the machine form of a promise.
type PropertyKind uint8

// The kinds of properties. "Fair" and "final" are meant as in docs/checker.md:
// a final set is a set of states that fair continuation without further faults
// never leaves and visits all of (a bottom strongly connected component of the
// fault-free graph, all of whose states are expanded).
const (
	// Invariant: Goal holds in every reachable state.
	Invariant PropertyKind = iota
	// Reach: Goal holds in some reachable state (must_be_possible).
	Reach
	// Eventually: Goal is reached under fair, fault-free continuation of every
	// history; broken by a final set in which Goal never holds.
	Eventually
	// LeadsTo: whenever From holds, Goal holds then or later; broken by a state
	// with From and not Goal, and a history from there without Goal into a
	// final set in which Goal never holds.
	LeadsTo
	// Finally: Goal holds in every state of every final set (at rest, Goal).
	Finally
	// CanAlways: from every reachable state a state with Goal can be reached
	// without a further fault (AG EF Goal); no fairness is used.
	CanAlways
	// NoDeadlock: every state without enabled actions satisfies Goal (rest by
	// design); one that does not is a deadlock by mistake.
	NoDeadlock
)

// Property is a promise about all histories of a model.
type Property struct {
	Name string
	Kind PropertyKind
	Goal func(state []uint64) bool // pure and safe for concurrent use
	From func(state []uint64) bool // LeadsTo only
	// Latched vouches that Goal, once true, stays true. A history of a latched
	// goal gets a sealing step.
	Latched bool
	// Breaks lists the sets (positions in Shape.Sets) some of whose elements
	// Goal or From treats differently from others. Symmetry over these sets is
	// switched off.
	Breaks []int
}

// Liveness tells whether the property is judged on the whole graph.
func (p *Property) Liveness() bool {
	return p.Kind == Eventually || p.Kind == LeadsTo || p.Kind == Finally || p.Kind == CanAlways
}
