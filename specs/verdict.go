package specs

import (
	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/reports"
)

// Verdict is the answer for one file: one part per variant. Its parts are the
// objects of the JSON document of `relplan check`.
type Verdict struct {
	File     string
	System   string
	Variants []*VariantVerdict
}

// VariantVerdict is the answer for one variant. Counts are of distinct states.
type VariantVerdict struct {
	File       string  `json:"file"`
	System     string  `json:"system"`
	Variant    *string `json:"variant"`     // null for the one unnamed variant
	Verdict    string  `json:"verdict"`     // holds, broken, vacuous or unknown
	AsExpected *bool   `json:"as_expected"` // null without an expectation, or where a limit left it open
	Expect     *string `json:"expect"`
	// Complete: every history within the bounds was covered.
	Complete    bool           `json:"complete"`
	Limits      []string       `json:"limits"`
	Reductions  []string       `json:"reductions"`
	Missed      *float64       `json:"missed_state_probability"` // null when exact
	Random      *RandomInfo    `json:"random"`
	States      uint64         `json:"states"`
	Transitions uint64         `json:"transitions"`
	Depth       int            `json:"depth"`
	Bounds      map[string]int `json:"bounds"`
	Assumptions []string       `json:"assumptions"`
	// RestsOn are the orders of named durations that decide the verdict ("holds
	// iff keep > horizon") and what each assumption was worth.
	RestsOn    []string          `json:"rests_on"`
	Parameters map[string]string `json:"parameters"`
	Promises   []*PromiseVerdict `json:"promises"`
	Possible   []*PossibleResult `json:"must_be_possible"`
	NeverTaken []string          `json:"never_taken"`
	// NeverTakenBranches are branches of steps that are taken; only a warning.
	NeverTakenBranches []string      `json:"never_taken_branches"`
	Notes              []string      `json:"notes"`
	Estimate           *EstimateInfo `json:"estimate,omitempty"`
	Timing             *Timing       `json:"timing,omitempty"`
	Basis              reports.Basis `json:"basis"`

	// VacuousSteps counts the steps among NeverTaken that make the verdict vacuous.
	vacuousSteps int
}

// Name of the variant, "" for the unnamed one.
func (v *VariantVerdict) Name() string {
	if v.Variant == nil {
		return ""
	}
	return *v.Variant
}

// RandomInfo says how many random histories were drawn.
type RandomInfo struct {
	N    int    `json:"n"`
	Seed uint64 `json:"seed"`
}

// EstimateInfo predicts what a full check would take.
type EstimateInfo struct {
	States  uint64 `json:"states"`
	Low     uint64 `json:"states_low"`
	High    uint64 `json:"states_high"`
	Depth   int    `json:"depth"`
	Bytes   int64  `json:"bytes"`
	TimeNS  int64  `json:"time_ns,omitempty"`
	Exact   bool   `json:"exact"`
	Sampled uint64 `json:"sampled_states"`
	Reason  string `json:"reason,omitempty"`
}

// Timing differs from run to run.
type Timing struct {
	ElapsedNS int64 `json:"elapsed_ns"`
	Bytes     int64 `json:"bytes"`
	Workers   int   `json:"workers"`
}

// PromiseVerdict is the answer to one promise.
type PromiseVerdict struct {
	Name     string         `json:"name"`
	Text     string         `json:"text"`
	Kind     string         `json:"kind"` // safety, liveness or possibility
	Verdict  string         `json:"verdict"`
	Expected *string        `json:"expected"` // null without an expectation
	Line     int            `json:"line"`
	Faults   map[string]int `json:"faults"` // units that the history spends
	// LeastFaults are the smallest budgets that break it; null unless asked for.
	LeastFaults []map[string]int `json:"least_faults"`
	History     []*Step          `json:"history"`
	LoopFrom    *int             `json:"loop_from"` // step from which the history repeats for ever
	SealedAt    *int             `json:"sealed_at"` // step after which nothing can save the promise
	For         []string         `json:"broken_for"`
	Because     []string         `json:"because"`
	Reason      *string          `json:"reason"` // why it is unknown
	Replay      *string          `json:"replay"` // the command that shows the history again
}

// Step of a history, counted as the manual counts steps.
type Step struct {
	N       int               `json:"n"`
	Actor   string            `json:"actor"` // "" for the environment
	Kind    string            `json:"kind"`  // step, fault, expiry or delivery
	Text    string            `json:"text"`
	Line    int               `json:"line"` // 0 for an event of the environment
	Fault   string            `json:"fault,omitempty"`
	Waited  string            `json:"waited,omitempty"`
	Then    string            `json:"then,omitempty"`
	Changed map[string]string `json:"changed"`

	order    []string // of Changed
	resource string   // the store or service it touches
	pos      diag.Pos // of the step in the file
}

// PossibleResult says whether something was reached.
type PossibleResult struct {
	Text  string `json:"text"`
	Seen  bool   `json:"seen"`
	Steps *int   `json:"steps"` // of the shortest history; null if judged by a step or not seen
	Line  int    `json:"line"`

	unknown bool
}
