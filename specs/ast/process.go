package ast

import "github.com/relplan/relplan/internal/diag"

// Process is a program run by one or more instances.
type Process struct {
	Pos       diag.Pos
	Name      string
	Instances int // 1 or more
	Trigger   *Trigger
	Steps     []*Step // the top level list
	All       []*Step // every step, in file order, blocks before their contents; Step.ID indexes it
	Vars      []*Var  // every bound name, in order of first binding; Trigger.As first
	HasReply  bool    // some reply: step or reply branch exists (R20)
}

// Var returns the bound name, or nil.
func (p *Process) Var(name string) *Var {
	for _, v := range p.Vars {
		if v.Name == name {
			return v
		}
	}
	return nil
}

// Var is a name bound by a trigger, `as:`, `let:` or `position:`. One name is
// one Var per process, whose type joins everything ever bound to it. A name
// that is read before it is bound on some path is none there.
type Var struct {
	Pos     diag.Pos // first binding
	Name    string
	Process *Process
	Type    *Type
	// Declared is set by `let: {n: 0 .. 3}`: an integer with that range, which
	// is a run-time verdict "unknown" to leave.
	Declared bool
	Lo, Hi   int
}

// TriggerKind says what starts a run.
type TriggerKind uint8

// Kinds of triggers.
const (
	OnMessage TriggerKind = iota
	OnRow
	OnRequest
	OnStart
	OnPoll
	OnFault
	OnEvery
)

// Trigger starts a run of a process.
type Trigger struct {
	Pos  diag.Pos
	Kind TriggerKind
	As   *Var // nil if not bound

	// OnMessage: a queue or log.
	Queue   *Resource
	Batch   int // messages taken at once, 1 or more; the steps run once per message, in order
	Workers int // log: runs that share one group member, 1 or more

	// OnRow: a row of Table, or an entry of the kv Store.
	Table   *Table
	Store   *Resource
	Where   Expr // over the row; nil: all
	OrderBy *ColumnRef
	Desc    bool

	// OnRequest, OnStart.
	Operation *Operation
	Copies    int      // runs of one operation that may be in flight, 1 or more
	Tries     int      // 0: the client never gives up
	Durable   bool     // start: started again after a crash
	InOrder   *OpField // start: in the order of this field

	Fault *Fault // OnFault; nil if its budget is 0 (the process then never runs)
	Name  string // OnFault, OnEvery: the name given
}

// Verb of a step.
type Verb uint8

// The verbs, a closed list.
const (
	VerbTransaction Verb = iota
	VerbScript
	VerbInsert
	VerbUpsert
	VerbUpdate
	VerbSelect
	VerbDelete
	VerbPut
	VerbPutNew
	VerbGet
	VerbRemove
	VerbExpire
	VerbSend
	VerbAck
	VerbNack
	VerbCommitOffset
	VerbCall
	VerbReply
	VerbAskHuman
	VerbLock
	VerbUnlock
	VerbGo
	VerbStop
	VerbLet
	VerbChoose
	VerbFail
)

var verbNames = [...]string{
	"transaction", "script", "insert", "upsert", "update", "select", "delete", "put", "put_new", "get", "remove", "expire",
	"send", "ack", "nack", "commit_offset", "call", "reply", "ask_human", "lock", "unlock", "go", "stop", "let", "choose", "fail",
}

// String gives the verb as it is written.
func (v Verb) String() string { return verbNames[v] }

// Local says whether the verb is a local decision, no round trip and no state
// of its own (verbs of `per: instance` memory are local too, see Step.Local).
func (v Verb) Local() bool { return v >= VerbGo }

// Step is one line of a process: the unit of interleaving, crashing and replay.
type Step struct {
	Pos   diag.Pos // of the verb
	ID    int      // index in Process.All
	Label string   // `at:`, "" without
	Verb  Verb
	// Subject is what the verb is applied to, as written ("inbox", "bank.charge", "m").
	Subject string

	Process *Process
	Block   *Step // the enclosing transaction or script, nil at the top level
	Index   int   // in its list (Process.Steps or Block.Do)

	// What the verb works on.
	Resource *Resource // every remote verb; the sql resource of a Table
	Table    *Table
	Method   *Method
	Do       []*Step // transaction, script

	Row     []Cell // insert, upsert: row; update: set; send: message; call: with; put, put_new with a record: see Value
	Where   Expr   // update, select, delete: Bool over the candidate row (ColumnRef); nil: all rows
	OrderBy *ColumnRef
	Desc    bool
	Count   bool // select: the number of rows instead of a row
	Lock    bool // select: for update
	Skip    bool // skip_locked
	NoWait  bool
	Replica bool // select: from: replica
	AtLeast Expr // select: at_least: a KindPosition value; waits

	Key         Expr // kv verbs, lock, unlock
	Value       Expr // put, put_new; nil: present
	TTL         *Duration
	KeepTTL     bool
	IfAbsent    bool // put if_absent: true, put_new
	OnlyIfValue Expr // remove: compare and delete

	MessageID Expr // send: id: (also `message: {id: ..}`); nil: none given
	Epoch     Expr // send to a fenced log: producer epoch
	UpTo      UpTo // commit_offset
	UpToExpr  Expr // commit_offset up_to: a message or position
	Lower     bool // commit_offset lower: refused (a commit below the current offset is an error); default accepted

	Message *Var // ack, nack
	Reply   Reply
	Body    Expr // reply body, nil: none
	Human   Expr // ask_human: an operation; nil: every operation (`ask_human: none`)

	SessionLock bool // lock: scope: session (default transaction)
	Try         bool // lock: try: true

	Target *Target  // go
	When   Expr     // go, stop, fail: Bool; nil: always. A step with `when: ` false is skipped
	Lets   []Let    // let
	Choose []Target // choose
	Fair   bool     // choose: fair: true

	As         *Var // what the answer is bound to
	PositionAs *Var // `position: t`

	Effects []Mark // effect:
	Undoes  []Mark // undo:
	Slow    bool

	// Branches by Outcome; nil means that the outcome cannot happen here, or,
	// for IfExists of an insert, upsert or update without one, that it is the
	// outcome OnError. Implicit ones are filled in by R22.
	Branches [NumOutcomes]*Branch
}

// Branch returns the branch taken at an outcome, nil as documented at Branches.
func (s *Step) Branch(o Outcome) *Branch { return s.Branches[o] }

// Local says whether the step touches nothing shared: it is executed in the
// same transition as the step before it (R6).
func (s *Step) Local() bool {
	if s.Verb.Local() {
		return true
	}
	return s.Resource != nil && s.Resource.Kind == MemoryKind && s.Resource.KV.Scope == PerInstance
}

// Mark says that a step is (or takes back) a business effect for an operation.
type Mark struct {
	Pos       diag.Pos
	Effect    *Effect
	Operation Expr // of an operation type
}

// Let binds a local name, or declares it.
type Let struct {
	Pos     diag.Pos
	Var     *Var
	Declare bool // `n: 0 .. 3`: set to Var.Lo
	Value   Expr // else
}

// UpTo of commit_offset.
type UpTo uint8

// Forms of up_to.
const (
	UpToMessage    UpTo = iota // the message of this run (default), or UpToExpr
	UpToContiguous             // the highest position below which every run of this member has finished
)

// Reply is the class of an answer: "ok", "refused", "try_later" or a word of
// the author. try_later does not close the request.
type Reply string

// The replies with a meaning.
const (
	ReplyOK       Reply = "ok"
	ReplyRefused  Reply = "refused"
	ReplyTryLater Reply = "try_later"
)

// TargetKind of a jump.
type TargetKind uint8

// Kinds of targets.
const (
	ToStep     TargetKind = iota
	ToEnd                 // the end of the process (`end`, or a label of which nothing remains)
	ToBlockEnd            // the end of the block the jump stands in: commit, or the end of the script
)

// Target of a jump.
type Target struct {
	Pos   diag.Pos
	Kind  TargetKind
	Label string
	Step  *Step // ToStep
	// Leaves says that the jump leaves the block it stands in: a transaction is
	// rolled back (unless the branch is `commit LABEL`), a script is not undone.
	Leaves bool
}

// Outcome of a step other than done.
type Outcome uint8

// Outcomes.
const (
	IfExists Outcome = iota
	IfNone
	IfHeld
	OnRefused
	OnError
	OnUnknown
	NumOutcomes
)

// String gives the key used for the branch.
func (o Outcome) String() string {
	return [...]string{"if_exists", "if_none", "if_held", "on_refused", "on_error", "on_unknown"}[o]
}

// BranchKind of a branch value.
type BranchKind uint8

// Branch values.
const (
	BranchStop BranchKind = iota
	BranchGo
	BranchContinue
	BranchRetry
	BranchAskHuman // hand over the operation of the trigger, then stop
	BranchReply    // reply, then end
	BranchCommit   // commit the block here, then jump
)

// Branch is what happens at an outcome.
type Branch struct {
	Pos      diag.Pos // zero if Implicit
	Implicit bool
	// Inherited is set on steps inside a block when the branch is the block's.
	Inherited bool
	Kind      BranchKind
	Target    *Target // BranchGo, BranchCommit
	Times     int     // BranchRetry: at most this many more times per run; -1: unbounded
	Then      *Branch // BranchRetry: after the last (nil: stop)
	Reply     Reply   // BranchReply
}
