package modelcheck

import "time"

// Verdict is the answer to a promise. The zero value claims nothing.
type Verdict uint8

// The verdicts.
const (
	Unknown Verdict = iota // a limit or a cut state stopped the search before an answer
	Holds                  // for every history within the model's bounds
	Broken                 // a history breaks it
	Vacuous                // Reach only: the goal is never reached
)

// String gives the verdict's name in JSON documents.
func (v Verdict) String() string {
	return [...]string{"unknown", "holds", "broken", "vacuous"}[v&3]
}

// Options bound and tune a check. The zero value explores everything exactly
// with all reductions, on all cores.
type Options struct {
	Workers     int           // goroutines; 0 = GOMAXPROCS
	MemoryLimit int64         // bytes for states, 0 = none
	TimeLimit   time.Duration // 0 = none
	MaxStates   uint64        // 0 = none
	NoReduction bool          // no symmetry (bags and symbols stay sorted)
	// Compact keeps 64-bit fingerprints instead of states once a state has more
	// than one word; the chance of a missed state is in the result.
	Compact bool
	// Shortest prefers length to few changes of actor among the histories with
	// the fewest faults.
	Shortest bool
	// NoHistories skips the search for readable histories: the verdicts only.
	NoHistories bool
	// StopEarly ends the search with the layer that decides the last property
	// (all broken, or possible). Steps that were never taken are then unknown.
	StopEarly bool
	// LeastFaults also finds the smallest budgets that break each broken promise.
	LeastFaults bool
	// Progress is called about five times a second from one goroutine.
	Progress func(Progress)
}

// Progress is a moment of a running search.
type Progress struct {
	States      uint64 // distinct states so far
	Transitions uint64
	Depth       int    // layers finished
	Frontier    uint64 // states of the layer being expanded
	Bytes       int64  // memory of the state set and the queue
	Elapsed     time.Duration
}

// Result is what a check found.
type Result struct {
	Verdict    Verdict // Broken, else Unknown, else Vacuous, else Holds
	Properties []PropertyResult
	// Complete: every reachable state was expanded and no transition was cut.
	Complete bool
	// Limits says in words what stopped or cut the search, sorted.
	Limits []string
	// Reductions names the reductions that were on, for the report.
	Reductions  []string
	States      uint64 // distinct states, initial states included
	Transitions uint64 // enabled action instances over all expanded states
	Depth       int    // largest distance from an initial state
	Terminal    uint64 // expanded states without enabled actions
	// NeverTaken lists the steps (positions in Shape.Steps) none of whose
	// actions was enabled in any expanded state.
	NeverTaken []int
	// MissedState is an upper bound of the chance that at least one reachable
	// state was taken for another; 0 in exact mode.
	MissedState float64
	Workers     int
	Bytes       int64 // memory of the state set and the queue at the end
	Elapsed     time.Duration
}

// PropertyResult is the answer to one property.
type PropertyResult struct {
	Name    string
	Kind    PropertyKind
	Verdict Verdict
	// History breaks the property (or, for a Reach that holds, shows it).
	History *History
	// LeastFaults lists, with Options.LeastFaults, the smallest budgets that
	// suffice for such a history: no part of one is enough. An empty map means
	// that no fault is needed; nil that the space was too large to tell.
	LeastFaults []map[string]int
	// Reason says why the verdict is Unknown.
	Reason string
}

// History is a run from an initial state, re-executed on concrete states.
type History struct {
	Initial []uint64
	Steps   []HistoryStep
	// LoopFrom is the number of steps before the loop that the final set of a
	// liveness property is; -1 when there is none (a safety property, or a
	// final state without enabled actions).
	LoopFrom int
	// Sealed is the number of the first step (from 1) after which the goal of a
	// liveness property cannot happen any more without a fault; 0 if none.
	Sealed int
	Faults map[string]int // units spent, by name
	// ActorChanges counts changes of actor between consecutive steps; steps of
	// the environment do not count.
	ActorChanges int
	// Minimal: no history of the property comes before this one in the order
	// (faults, preference among faults, changes of actor, length). False when
	// the space was too large for that search: then it is a shortest one.
	Minimal bool
}

// HistoryStep is one transition of a history.
type HistoryStep struct {
	ID     ActionID
	Action Action
	State  []uint64 // after the step
}
