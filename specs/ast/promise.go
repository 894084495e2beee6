package ast

import "github.com/relplan/relplan/internal/diag"

// Class of a promise.
type Class uint8

// Classes of promises.
const (
	Safety Class = iota
	Liveness
)

// Promise is one promise of the spec.
type Promise struct {
	Pos    diag.Pos // of the sentence (or of the map form)
	Name   string   // the key, or p1, p2 in a list
	Number int      // from 1, counted over the promises of the file, whatever `only:` removed
	Text   string   // the sentence, also for map forms
	Body   Sentence
}

// Class of the promise.
func (p *Promise) Class() Class { return p.Body.Class() }

// Sentence is the typed content of a promise: one of the structs below, as a
// value, not a pointer.
type Sentence interface{ Class() Class }

// Mode of a check.
type Mode uint8

// Modes of a check.
const (
	Always Mode = iota
	Eventually
	Finally // in every state of every bottom component
	LeadsTo
)

type (
	// AtMostOnce: effect E happens at most N times per OP [plus one per FAULT].
	AtMostOnce struct {
		Effect    *Effect
		Operation *Operation
		N         int    // 1 for "once"
		PlusPer   string // "" or the name of a fault: plus spent(fault)
		Plus      []*Fault
	}
	// ExactlyOnce: effect E happens exactly once per OP.
	ExactlyOnce struct {
		Effect    *Effect
		Operation *Operation
	}
	// EventuallyEffect: every OP eventually has effect E [or is handed to a human].
	EventuallyEffect struct {
		Operation *Operation
		Effect    *Effect
		OrHuman   bool
	}
	// RowEventuallyEffect (M1): every row of T eventually has effect E [or is handed to a human].
	RowEventuallyEffect struct {
		Table   *Table
		Effect  *Effect
		OrHuman bool
	}
	// AckedAfter: no message of Q is acked before effect E. Acked means acked at
	// least once (for a log: below the committed offset).
	AckedAfter struct {
		Queue  *Resource
		Effect *Effect
	}
	// RowDecided: every row of T in state S is eventually decided or handed to a human.
	RowDecided struct {
		Table  *Table
		Column *Column // the column `state`, or the one named: `every row of T with COL S ..`
		State  Value
		// OrHuman is true for the full sentence, false for "is eventually decided".
		OrHuman bool
	}
	// NoEffectWithoutRow: no effect E without a row in T (row.op is the operation).
	NoEffectWithoutRow struct {
		Effect *Effect
		Table  *Table
	}
	// NoMessageWithoutRow: no message of Q without a row in T.
	NoMessageWithoutRow struct {
		Queue *Resource
		Table *Table
	}
	// RowEventuallySent: every row of T is eventually sent to Q.
	RowEventuallySent struct {
		Table *Table
		Queue *Resource
	}
	// OpEventuallySent: every OP is eventually sent to Q.
	OpEventuallySent struct {
		Operation *Operation
		Queue     *Resource
	}
	// SameAnswer: a repeated request gets the same answer. Operation nil: every
	// operation of an `on: {request: ..}`.
	SameAnswer struct{ Operation *Operation }
	// PayloadConflict: a request with the same key and another payload is
	// refused, and the first result stays.
	PayloadConflict struct {
		Operation    *Operation
		Key, Payload *OpField
	}
	// Fencing: only the holder of the newest token writes T (T.Token).
	Fencing struct{ Table *Table }
	// RowsOutlive: rows of T outlive every redelivery of their message. Queues
	// are those whose consumers write T.
	RowsOutlive struct {
		Table  *Table
		Queues []*Resource
	}
	// Watermark: reads of K are never older than W. A get of K never returns an
	// entry whose version is smaller than the watermark was when the get ran.
	Watermark struct {
		Store      *Resource // K, kv
		StoreField string    // field of the value that is the version; "" if the value is
		Column     *Column   // W is a column of a table, or
		Floor      *Resource // a kv, with
		FloorField string
	}
	// EffectsInOrder: effects of T happen in order of F [per K] [without gaps].
	EffectsInOrder struct {
		Table       *Table
		Column, Per *Column
		WithoutGaps bool
	}
	// MessagesInOrder (M5): messages of Q are in order of F [per K] [without gaps].
	MessagesInOrder struct {
		Queue       *Resource
		Field, Per  *Field
		WithoutGaps bool
	}
	// AtMostInState: at most N OP are STATE at once: operations with a row in that state.
	AtMostInState struct {
		N         int
		Operation *Operation // nil: of any kind
		State     Value
		Columns   []*Column // every column that can hold State (or the one of `row(s) of T`)
	}
	// CanComplete: from every state OP can still be completed: it can still have
	// every effect counted for it, or be handed to a human; without an effect,
	// be answered ok.
	CanComplete struct {
		Operation *Operation
		Effects   []*Effect
	}
	// NotAnsweredBefore (M2): no OP is answered CLASS before (effect E | it is
	// sent to Q | a row of T exists); exactly one of the three is set.
	NotAnsweredBefore struct {
		Operation *Operation
		Reply     Reply
		Effect    *Effect
		Queue     *Resource
		Table     *Table
	}
	// EventuallyAnswered (M2): every OP is eventually answered CLASS.
	EventuallyAnswered struct {
		Operation *Operation
		Reply     Reply
	}
	// OwnPayload (M3): every answer CLASS to OP is for its own payload.
	OwnPayload struct {
		Operation *Operation
		Reply     Reply
		Payload   *OpField // nil: the operation itself
	}
	// NoEffectWhile (M4): no OP has effect E while its row of T is in state S.
	NoEffectWhile struct {
		Operation *Operation
		Effect    *Effect
		Table     *Table
		Column    *Column
		State     Value
	}
	// AtMostBetween (M6): at most N P are between L1 and L2 [per EXPR] at once.
	AtMostBetween struct {
		N        int
		Process  *Process
		From, To *Step
		Per      Expr // over the bound names of P; nil: one group
	}
	// AtMostOnMessage (M6): at most N P work on a message of Q at once.
	AtMostOnMessage struct {
		N       int
		Process *Process
		Queue   *Resource
	}
	// AtMostWaiting (M6): at most N messages of Q are waiting [per F]: stored, and
	// no run has received them yet.
	AtMostWaiting struct {
		N     int
		Queue *Resource
		Per   *Field
	}
	// EventuallyEnds (M8): every OP eventually ends: a run of it reaches the end.
	EventuallyEnds struct{ Operation *Operation }
	// ReadsOwnWrites (M9): P reads its own writes of T.
	ReadsOwnWrites struct {
		Process *Process
		Table   *Table
	}
	// NeverDecreases (M10): T.COL never decreases [per K].
	NeverDecreases struct {
		Column, Per *Column
	}
	// NothingStays (M11): nothing of T stays in state S once OP is over.
	NothingStays struct {
		Table     *Table
		Column    *Column
		State     Value
		Operation *Operation
	}
	// Check is the escape hatch: check: EXPR with always, eventually, finally,
	// or leads_to. Operation or Process is set when EXPR speaks of one operation
	// (OpVar with Outer) or one instance (InstanceVar, AtStep): the check then
	// stands for every one of them.
	Check struct {
		Expr      Expr
		Mode      Mode
		To        Expr // LeadsTo
		Operation *Operation
		Bound     *OpVar
		Process   *Process
	}
)

// Class of each sentence.
func (AtMostOnce) Class() Class          { return Safety }
func (ExactlyOnce) Class() Class         { return Liveness } // and safety: lower it as two
func (EventuallyEffect) Class() Class    { return Liveness }
func (RowEventuallyEffect) Class() Class { return Liveness }
func (AckedAfter) Class() Class          { return Safety }
func (RowDecided) Class() Class          { return Liveness }
func (NoEffectWithoutRow) Class() Class  { return Safety }
func (NoMessageWithoutRow) Class() Class { return Safety }
func (RowEventuallySent) Class() Class   { return Liveness }
func (OpEventuallySent) Class() Class    { return Liveness }
func (SameAnswer) Class() Class          { return Safety }
func (PayloadConflict) Class() Class     { return Safety }
func (Fencing) Class() Class             { return Safety }
func (RowsOutlive) Class() Class         { return Safety }
func (Watermark) Class() Class           { return Safety }
func (EffectsInOrder) Class() Class      { return Safety }
func (MessagesInOrder) Class() Class     { return Safety }
func (AtMostInState) Class() Class       { return Safety }
func (CanComplete) Class() Class         { return Liveness }
func (NotAnsweredBefore) Class() Class   { return Safety }
func (EventuallyAnswered) Class() Class  { return Liveness }
func (OwnPayload) Class() Class          { return Safety }
func (NoEffectWhile) Class() Class       { return Safety }
func (AtMostBetween) Class() Class       { return Safety }
func (AtMostOnMessage) Class() Class     { return Safety }
func (AtMostWaiting) Class() Class       { return Safety }
func (EventuallyEnds) Class() Class      { return Liveness }
func (ReadsOwnWrites) Class() Class      { return Safety }
func (NeverDecreases) Class() Class      { return Safety }
func (NothingStays) Class() Class        { return Liveness }

// Class of a check follows its mode.
func (c Check) Class() Class {
	if c.Mode == Always {
		return Safety
	}
	return Liveness
}

// Possibility is one line of must_be_possible.
type Possibility struct {
	Pos  diag.Pos
	Text string
	Body Reachable
}

// Reachable is the typed content of a possibility: one of the structs below, as
// a value.
type Reachable interface{ reachable() }

type (
	// DeliveredTimes: a message of Q is delivered N times (at least).
	DeliveredTimes struct {
		Queue *Resource
		N     int
	}
	// CarriesMessages: Q carries N messages for one OP: N messages for one
	// operation have been stored in the course of the history (deliveries of one
	// message count once).
	CarriesMessages struct {
		Queue     *Resource
		N         int
		Operation *Operation
	}
	// RowInState: a row of T is in state S.
	RowInState struct {
		Table  *Table
		Column *Column
		State  Value
	}
	// EffectForEvery: effect E happens for every OP.
	EffectForEvery struct {
		Effect    *Effect
		Operation *Operation
	}
	// StepTaken: step LABEL of P is taken.
	StepTaken struct {
		Process *Process
		Step    *Step
	}
	// BranchTaken: branch OUTCOME of LABEL [of P] is taken.
	BranchTaken struct {
		Process *Process
		Step    *Step
		Outcome Outcome
	}
	// Reach: {reach: EXPR}, or the bare EXPR. Bound and Process as in Check, but
	// for some operation or instance.
	Reach struct {
		Expr      Expr
		Operation *Operation
		Bound     *OpVar
		Process   *Process
	}
)

func (DeliveredTimes) reachable()  {}
func (CarriesMessages) reachable() {}
func (RowInState) reachable()      {}
func (EffectForEvery) reachable()  {}
func (StepTaken) reachable()       {}
func (BranchTaken) reachable()     {}
func (Reach) reachable()           {}
