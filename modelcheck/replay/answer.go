package replay

import (
	"github.com/relplan/relplan/specs/ast"
)

// Answer is what a replay says of the model.
type Answer string

// Answers, the worse one later. See docs/replay.md.
const (
	// Confirmed: the same branches, the same values, the same effects.
	Confirmed Answer = "CONFIRMED"
	// Stricter: the engine refused or blocked a step that the model allows.
	Stricter Answer = "STRICTER"
	// NotRun: an engine is missing, or has no form for a step or an event.
	NotRun Answer = "NOT_RUN"
	// Flaky: the answer differs between repetitions.
	Flaky Answer = "FLAKY"
	// Weaker: the engine allowed more than the model, or answered otherwise: the
	// model is wrong.
	Weaker Answer = "WEAKER"
)

// Verdict is the answer of one schedule on one set of engines.
type Verdict struct {
	Answer Answer
	// Reason says why it is not CONFIRMED, and at which step.
	Reason string
	// Step is the number of that step in the history, 0 for the end.
	Step    int
	Steps   []StepReport
	Effects []EffectCount
	// Attempts are the runs of processes, in the order in which they started;
	// none of workers in processes of their own.
	Attempts []*Attempt
}

// StepReport is what one step of the schedule came to.
type StepReport struct {
	N      int    `json:"n"`
	Actor  string `json:"actor"`
	Text   string `json:"text"`   // the model's words
	Engine string `json:"engine"` // what the engine answered
	Agrees bool   `json:"agrees"`
}

// EffectCount compares a business effect as the model counts it with what a
// query finds.
type EffectCount struct {
	Effect    string `json:"effect"`
	Operation string `json:"operation"`
	Model     int    `json:"model"`
	Engine    int    `json:"engine"`
	// AtLeast: the model stops counting here.
	AtLeast bool `json:"at_least,omitempty"`
}

func (c EffectCount) agrees() bool { return c.Model == c.Engine || c.AtLeast && c.Engine > c.Model }

// stops says whether the model's count is the largest it can tell.
func stops(e *ast.Effect, n int) bool { return n == e.Compared+1 }
