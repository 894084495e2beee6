package lower

import (
	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// Event is a step of a history as data: what a program that acts the history
// out on real engines has to make happen. Step.Text says the same in words.
//
// Exactly one of these holds: Start is set (a run starts), Step is set (a run
// takes a step of the spec), or What is set (something happens to a process or
// a store).
type Event struct {
	// Process and Instance (from 0) say who acts, or which instance a crash
	// hits; nil and -1 where the environment acts on a store.
	Process  *ast.Process
	Instance int

	// Start: a run starts, by Process.Trigger, for Of: the operation, message,
	// row or entry it was chosen for (the zero Subject for a poll or a custom
	// fault).
	Start bool

	// Step is the step taken; Commit says that it is the commit of that
	// transaction block.
	Step   *ast.Step
	Commit bool
	// Done: the step has done what it says, whether or not its caller hears of
	// it. Otherwise, and whenever World is not Heard, the run takes Branch.
	Done   bool
	Branch ast.Outcome
	Why    Reason
	World  World
	// Waited says that the step had to wait since the instance's last one, for
	// the transaction of Blocker, if it is known.
	Waited  bool
	Blocker *InstanceID
	// Released is the number of the history's step that ended the wait, Sent that
	// of the one before which the statement is sent at the latest: the same, or an
	// earlier one, because the statement took its transaction's snapshot then.
	Released, Sent int
	// Next is where the run stands afterwards, NextCommit before the commit of
	// that block; nil: the run has ended, or nobody runs.
	Next       *ast.Step
	NextCommit bool
	// Passed are lengths of time of age(x) > D that have passed when a local step
	// behind this one asks, and not before.
	Passed []*ast.Duration
	// Reads: the step is a select, get or call, and its caller hears the answer.
	// Read is that: a row as the statement sees it, what stands under the key, a
	// number (count), a receipt (with the fields that are read later), Unread, or
	// nil if nothing was found.
	Reads bool
	Read  Value

	// What happens without a process, to Of.
	What What
	Of   Subject

	// Fault is the budget that the event spends one unit of, nil if it is free.
	Fault *ast.Fault
}

// World is what became of a request whose answer its caller does not hear, in
// the words of a history.
type World string

// The worlds. Heard is the normal case: also where the caller hears an error.
const (
	Heard         World = ""
	DoneLost      World = "done, answer lost"
	AnswerLost    World = "answer lost" // of a step that changed nothing
	NotCommitted  World = "not committed, answer lost"
	RequestLost   World = "request lost"
	NeverArrives  World = "never arrives"            // a call whose requests can arrive late
	ArrivesLate   World = "no answer, arrives later" // ends with LateRequest, or never
	Fails         World = "fails"                    // fault `error`: nothing done, and the caller knows
	LockTimesOut  World = "lock wait times out"
	ReplyNotHeard World = "the answer is lost" // a reply: the run goes on, the request stays open
)

// Lost says whether the caller is left without an answer.
func (w World) Lost() bool {
	return w != Heard && w != Fails && w != LockTimesOut && w != ReplyNotHeard
}

// Reason is why a step ended as it did, where its outcome alone does not say.
type Reason uint8

// Reasons. NoReason: done, or the branch says it all.
const (
	NoReason          Reason = iota
	Duplicate                // a unique key is taken (if_exists, or on_error without it)
	KeyThere                 // put if absent: the key is there
	NoneMatches              // no row, entry or lock to work on
	HeldByOther              // lock with try
	RowLocked                // nowait: the row is locked
	Deadlock                 // the transaction is the victim
	Serialization            // definite error `serialization`, at a write or at the commit
	ConnectionGone           // the database was restarted under the run
	InjectedError            // fault `error`
	LockTimeout              // fault `lock_timeout`
	Refused                  // by a provider
	StaleAck                 // the message was acked by somebody else
	Fenced                   // log: a newer epoch or owner, or a lower offset
	OtherSession             // unlock on another session of a pool
	LookedUp                 // call of a method that is not atomic: the key was looked up, the execution follows
	Overwritten              // upsert: the row was there
	FoundAtProvider          // find, or a repeated key: the provider knows it
	UnknownToProvider        // find: the provider does not know it
)

var reasonNames = [...]string{"", "duplicate", "key there", "none matches", "held by another", "row locked", "deadlock", "serialization", "connection gone",
	"injected error", "lock timeout", "refused", "stale ack", "fenced", "other session", "looked up", "overwritten", "found", "not found"}

func (r Reason) String() string { return reasonNames[r] }

// What happens to a process or a store, in the words of the model.
type What string

// What can happen. Those with an asterisk are free or spend a fault, as
// Event.Fault says.
const (
	Nothing         What = ""
	Crash           What = "crash"             // of Process and Instance; Of: the request it leaves under way, if any
	Redelivery      What = "redelivery"        // Of: the message
	VisibilityEnds  What = "visibility ends"   // * Of: the message, and the instance that holds it
	LeaseEnds       What = "lease ends"        // * Of: the row, and the instance that holds it
	TTLEnds         What = "ttl ends"          // * Of: the entry, and the instance that holds it
	AgePasses       What = "age"               // * a run is older than Of.Duration: Of is its instance
	RetentionEnds   What = "retention ends"    // * Of: the row that is removed
	LogRetention    What = "log retention"     // Of: the message that is removed
	DedupWindowEnds What = "dedup window ends" // Of: the queue, Fields["id"]
	ReplayWindow    What = "replay window"     // Of: the queue and the operation
	OperatorReplay  What = "operator replay"   // Of: the message of the dead letter queue, To: where it goes
	LateRequest     What = "late request"      // Of: the method and its arguments
	BecomesVisible  What = "visible"           // Of: the method, and the record that a find can see now
	KeyForgotten    What = "key forgotten"     // Of: the method and the record
	ReplicaApplies  What = "replica applies"   // one more commit
	Restart         What = "restart"           // Of: the resource
	Failover        What = "failover"          // Of: the kv; Of.Number acknowledged writes are lost
	SessionLost     What = "session lost"      // Of: the database, Fields["key"] of the lock
	Rebalance       What = "rebalance"         // Of: log and partition; Of.Process and Instance: the new owner
	OffsetReset     What = "offset reset"      // Of: log, partition, group (Process), Number: the new offset
	TimePasses      What = "time passes"       // Of.Duration: the breakpoint of the clock
)

// Subject is what an event is about.
type Subject struct {
	Resource *ast.Resource // nil for an operation
	Table    *ast.Table    // of a row
	Method   *ast.Method   // of a provider's record or request
	// Operation of a request or start.
	Operation *OperationID
	// Fields say which message, row, entry (key, value) or record, as it stood
	// before the event: those that the model keeps, because something reads them.
	Fields Record
	// Process and Instance: who holds it, or gets it; nil and -1 without.
	Process  *ast.Process
	Instance int
	// Partition and Number (a position) of a log, from 0; -1 without. Of a send,
	// the partition it goes to.
	Partition, Number int
	// Rest are the further messages of a batch, in the order of their turns.
	Rest     []Record
	Duration *ast.Duration // what has run out
	To       *ast.Resource // where a message goes
}

// about is a Subject before it is read in a state.
type about struct {
	resource  *ast.Resource
	table     *table
	at        ir.Expr
	queue     *queue
	message   message
	rest      []message
	method    *ast.Method
	fields    map[string]value
	operation *ast.Operation
	op        ir.Expr
	process   *process
	me        ir.Expr // of process
	log       *logStore
	partition ir.Expr
	number    ir.Expr
	duration  *ast.Duration
	to        *ast.Resource
}

// subject reads what an event is about.
func (g *glance) subject(a *about) Subject {
	s := Subject{Instance: -1, Partition: -1, Number: -1}
	if a == nil {
		return s
	}
	s.Resource, s.Method, s.Duration, s.To = a.resource, a.method, a.duration, a.to
	for name, v := range a.fields {
		s.put(name, g.plain(v))
	}
	if t := a.table; t != nil {
		s.Table = t.ast
		s.Fields = g.record(t, a.at)
		switch {
		case t.ast != nil:
			s.Resource = t.ast.Resource
		case t.kv != nil:
			s.Resource = t.kv
		}
	}
	if q := a.queue; q != nil {
		s.Resource = q.r
		s.Fields = g.identity(q, a.message)
		for _, m := range a.rest {
			s.Rest = append(s.Rest, g.identity(q, m))
		}
	}
	if a.operation != nil {
		s.Operation = &OperationID{a.operation, g.eval(a.op)}
	}
	if a.process != nil {
		s.Process = a.process.ast
		if a.me != nil {
			s.Instance = g.eval(a.me)
		}
	}
	if l := a.log; l != nil {
		s.Resource = l.r
		s.Partition = g.eval(a.partition)
	}
	if a.number != nil {
		s.Number = g.eval(a.number)
	}
	if l := a.log; l != nil && len(a.fields) == 0 && a.process == nil {
		s.Fields, _ = g.plain(l.value(a.partition, a.number)).(Record)
	}
	return s
}

// identity is what says which message it is: not how often it was delivered.
func (g *glance) identity(q *queue, m message) Record {
	r, _ := g.plain(q.value(m)).(Record)
	delete(r, "deliveries")
	return r
}

func (s *Subject) put(name string, v Value) {
	if s.Fields == nil {
		s.Fields = Record{}
	}
	s.Fields[name] = v
}

// event is the step as data.
func (o *Outcome) event(g *glance, s *Step, blocker *InstanceID) Event {
	n := s.note
	e := Event{Instance: -1, Start: n.Start, Step: n.Step, Commit: n.Commit, World: n.World, What: n.What, Fault: n.Fault, Of: g.subject(n.of)}
	if n.proc != nil && (n.Process != nil || n.Instance != nil) {
		e.Process, e.Instance = n.proc.ast, s.self
	}
	e.Waited, e.Blocker = s.Waited != "", blocker
	if e.Process != nil {
		e.Next, e.NextCommit = o.standing(n.proc, s)
		e.Passed = g.passed(n, s.self)
	}
	if n.Outcome == nil {
		return e
	}
	e.Done, e.Why, e.Branch = n.Outcome.done, n.Outcome.why, n.Outcome.branch
	if n.Outcome.partition != nil {
		e.Of.Partition = g.eval(n.Outcome.partition)
	}
	switch {
	case n.World == Fails:
		e.Done, e.Why = false, InjectedError
	case n.World == LockTimesOut:
		e.Done, e.Why = false, LockTimeout
	case n.World.Lost():
		e.Branch = ast.OnUnknown
	case !e.Done && e.Branch == ast.IfExists && n.Step.Branches[ast.IfExists] == nil:
		e.Branch = ast.OnError
	case n.Outcome.fault != nil && n.Step.Verb == ast.VerbReply:
		e.World = ReplyNotHeard
	}
	if !e.World.Lost() && e.Done {
		o.readBy(g, s, &e)
	}
	return e
}

// passed are the lengths of time that pass where the step's action asks: those of
// timers that run and may fire, or that the action itself starts.
func (g *glance) passed(n *Note, self int) []*ast.Duration {
	var out []*ast.Duration
	me := num(self)
	for _, a := range n.passes {
		if g.eval(load(a.state, me)) != ageRuns || g.eval(a.class.mayFire(n.proc.lw, me)) != 0 {
			out = append(out, a.d)
		}
	}
	return out
}

// standing is the step before which the run stands after s.
func (o *Outcome) standing(p *process, s *Step) (*ast.Step, bool) {
	pc := o.Model.Value(s.after, p.pc, s.self)
	for _, m := range p.nodes {
		if pc != 0 && m.loc == pc {
			return m.step, m.kind == commitNode
		}
	}
	return nil, false
}

// readBy fills in what a read has found: as the statement sees it, or, where
// only the caller knows (a receipt, a count), what its name holds afterwards.
func (o *Outcome) readBy(g *glance, s *Step, e *Event) {
	n := s.note
	e.Reads = (n.Step.Verb == ast.VerbSelect || n.Step.Verb == ast.VerbGet || n.Step.Verb == ast.VerbCall) && e.Why != LookedUp
	switch {
	case !e.Reads || e.Why == NoneMatches || e.Why == UnknownToProvider:
	case n.Outcome.reads != nil && len(n.Outcome.reads.leaves) == 0:
		e.Read = Unread{}
	case n.Outcome.reads != nil:
		e.Read = g.plain(*n.Outcome.reads)
	default:
		e.Read = Record{} // a receipt of which nothing is read later
		if as := n.Step.As; as != nil {
			if v := o.glance(s.after).plain(n.proc.stored(as, num(s.self))); v != nil {
				e.Read = v
			}
		}
	}
}
