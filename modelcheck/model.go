package modelcheck

// ActionID names one action instance of a Model (the step, the acting
// instance and every parameter). Numbers are dense: 0 .. Shape.Actions-1.
type ActionID uint32

// Model is a finite transition system over packed states. It knows nothing of
// the search. All methods must be pure and safe for concurrent use; a model
// that needs scratch memory implements Forker as well.
type Model interface {
	// Shape describes the words of a state. The result does not change.
	Shape() *Shape
	// Initial calls emit for every initial state (Shape.Words words). The
	// slice may be reused by the model after emit returns.
	Initial(emit func(state []uint64))
	// Expand writes the successors of state: for every enabled action it fills
	// all of x.Next and calls x.Emit, or calls x.Cut when the successor cannot
	// be represented. It keeps neither state nor x.Next.
	Expand(state []uint64, x *Sink)
	// Describe tells what an action is. It is called for every action once
	// before the search and for the steps of histories, never per state.
	Describe(a ActionID) Action
}

// Forker is implemented by models with scratch memory: each worker of a search
// calls Fork once and uses only its own copy.
type Forker interface {
	Fork() Model
}

// Kind says how an action is listed in a history.
type Kind uint8

// The kinds of actions.
const (
	Step     Kind = iota // a round trip of a process
	Delivery             // a message, row or request is taken
	Expiry               // a timer fires, or a late request executes
	Fault                // an event of its own that costs a unit of a budget
)

// String gives the kind's name in JSON documents.
func (k Kind) String() string {
	return [...]string{"step", "delivery", "expiry", "fault"}[k&3]
}

// Action describes an action instance.
//
// Fairness: an action is strongly fair unless Kind is Fault, FaultUnit is not
// empty or Unfair is set. Actions with the same non-zero Choice are the
// branches of one decision: together they are fair (the decision is taken),
// each alone is not (always deciding one way is a legal history).
type Action struct {
	Text    string // what the history prints, without the actor
	Actor   string // printed actor, "" for the environment
	Process int    // with Instance the identity of the actor; -1: the environment, which never counts as a change of actor
	// Instance is the acting instance of Process, from 0.
	Instance int
	// Who is nil, or the one scalarset element that Instance is.
	Who  []Element
	Kind Kind
	// FaultUnit is the name of the fault that one unit is spent of, "" for
	// none. A Step may cost one (a lost answer).
	FaultUnit string
	// FaultRank orders faults of equal number: histories with the smaller sum
	// are preferred (a crash before a redelivery).
	FaultRank int
	Unfair    bool
	Choice    int
	// Order breaks ties between histories: position in the source by process,
	// instance, step, branch, parameters. Smaller comes first.
	Order int
	// StepID groups instances of one step of the source; a step none of whose
	// actions was ever taken is reported. Steps are numbered 0 .. Shape.Steps-1,
	// -1 is not reported.
	StepID int
	Note   any // for the front end that prints histories; not interpreted here
}

// IsFault tells whether the action is outside the fault-free graph: it costs a
// unit or is an event of kind Fault.
func (a *Action) IsFault() bool { return a.Kind == Fault || a.FaultUnit != "" }

// IsFair tells whether the action alone is strongly fair.
func (a *Action) IsFair() bool { return !a.IsFault() && !a.Unfair && a.Choice == 0 }

// Element is an element of an interchangeable set: Sets[Set], position Index.
type Element struct{ Set, Index int }

// Set is a set of interchangeable indices (a scalarset). The model may compare
// elements by == and !=, store them, index fields by them and range over all of
// them in an order that makes no difference; it never names one by a constant.
// Anything ordered is not a Set. Three things are sets:
//
//   - instances, messages, operations: fields are indexed by the set, and other
//     fields may refer to its elements;
//   - a bounded bag of records: the slots are the elements, no field refers to
//     them;
//   - symbols compared only by == (fresh tokens): fields refer to the elements,
//     no field is indexed by them. Symbols nobody refers to are forgotten.
type Set struct {
	Name string
	Size int
	// Value is true for bags and symbols: sorting them is part of what a state
	// is, so it is done with NoReduction as well.
	Value bool
}

// Field is a group of bits of a state that lie in one word.
type Field struct {
	Name  string
	Word  int
	Shift int
	Bits  int
	// Index lists the elements that the field belongs to: none for a global,
	// one for pc[w], two for a table over two sets.
	Index []Element
	// RefTo is nil, or the set (position in Shape.Sets) whose element the value
	// names: 0 .. Size-1 are elements, larger values are "none" and stay as
	// they are.
	RefTo *int
	// Group is the same for the fields of one array (pc[0], pc[1], ..): the
	// permutation of a state moves values between fields of equal Group. Each
	// group has exactly one field for each combination of index elements.
	Group int
}

// Shape describes packed states. Bits that belong to no field must be zero.
// Fields of one element that lie side by side, in the same order for every
// element of the set, are permuted fastest.
type Shape struct {
	Words   int
	Fields  []Field
	Sets    []Set
	Actions int      // number of ActionIDs
	Steps   []string // names of the steps that StepID counts
}

// Sink receives the successors of a state. Its zero value is not usable; the
// engine makes it.
type Sink struct {
	Next []uint64 // the successor being written, Shape.Words words, contents undefined

	words int
	n     int // successors so far
	buf   []uint64
	acts  []ActionID
	cuts  []cutEdge
}

// cutEdge is a transition whose successor could not be represented.
type cutEdge struct {
	at     int // successors emitted before it
	action ActionID
	reason string
}

// NewSink makes a Sink for states of the given number of words, for tools and
// tests that expand states themselves.
func NewSink(words int) *Sink {
	x := &Sink{words: words}
	x.grow()
	return x
}

// Emit adds the successor in Next, reached by action a.
func (x *Sink) Emit(a ActionID) {
	x.acts[x.n] = a
	x.n++
	if x.n == len(x.acts) {
		x.grow()
	}
	x.Next = x.buf[x.n*x.words:][:x.words:x.words]
}

// Room renews Next after EmitWord and returns it.
func (x *Sink) Room() []uint64 {
	x.Next = x.buf[x.n*x.words:][:x.words:x.words]
	return x.Next
}

// EmitWord adds a successor of one word; for models with Shape.Words == 1. It
// leaves Next behind: call Room before Next is used again.
func (x *Sink) EmitWord(a ActionID, word uint64) {
	x.buf[x.n] = word
	x.acts[x.n] = a
	x.n++
	if x.n == len(x.acts) {
		x.grow()
	}
}

// Cut says that action a is enabled but its successor is outside what the model
// can represent (a full pool, an integer that left its range). The verdict of
// everything that depends on what follows becomes Unknown, with the reason.
func (x *Sink) Cut(a ActionID, reason string) {
	x.cuts = append(x.cuts, cutEdge{at: x.n, action: a, reason: reason})
}

// Len is the number of successors emitted since Reset.
func (x *Sink) Len() int { return x.n }

// At gives successor i: its words (valid until Reset) and its action.
func (x *Sink) At(i int) (state []uint64, a ActionID) {
	return x.buf[i*x.words:][:x.words:x.words], x.acts[i]
}

// Cuts lists the reasons of cut transitions since Reset.
func (x *Sink) Cuts() []string {
	var r []string
	for _, c := range x.cuts {
		r = append(r, c.reason)
	}
	return r
}

// Reset forgets all successors.
func (x *Sink) Reset() {
	x.n = 0
	x.cuts = x.cuts[:0]
	x.Next = x.buf[:x.words:x.words]
}

func (x *Sink) grow() {
	n := max(64, 2*len(x.acts))
	acts := make([]ActionID, n)
	copy(acts, x.acts)
	buf := make([]uint64, n*x.words)
	copy(buf, x.buf)
	x.acts, x.buf = acts, buf
	x.Next = x.buf[x.n*x.words:][:x.words:x.words]
}
