package ast

import "github.com/relplan/relplan/internal/diag"

// ResourceKind is the kind of a store or service.
type ResourceKind uint8

// The kinds of resources.
const (
	SQLKind ResourceKind = iota
	KVKind
	MemoryKind // process-local memory with the verbs of kv
	QueueKind
	LogKind
	ProviderKind
	ClockKind
)

// String gives the word used in `kind:`.
func (k ResourceKind) String() string {
	return [...]string{"sql", "kv", "memory", "queue", "log", "provider", "clock"}[k]
}

// Resource is a store or service; exactly the part of its kind is set (KV also
// for MemoryKind, Queue also for LogKind).
type Resource struct {
	Pos         diag.Pos
	Name        string
	Kind        ResourceKind
	HiddenRetry int // requests the layer below repeats by itself after a lost answer

	SQL      *SQL
	KV       *KV
	Queue    *Queue
	Provider *Provider
	Clock    *Clock
}

// Isolation of a sql resource.
type Isolation uint8

// Isolation levels.
const (
	ReadCommitted Isolation = iota
	RepeatableRead
	Serializable
)

// String gives the word used in `isolation:`.
func (i Isolation) String() string {
	return [...]string{"read_committed", "repeatable_read", "serializable"}[i]
}

// SQL is the part of a Resource of SQLKind.
type SQL struct {
	Isolation     Isolation
	Engine        string // "postgres" (default) or "mysql": profile of repeatable_read (R4)
	Tables        []*Table
	Replica       bool
	ReplicaLag    int  // commits a replica may be behind, 1 or more with Replica
	SessionPooled bool // session: pooled (K)
}

// Table of a sql resource.
type Table struct {
	Pos         diag.Pos
	Name        string
	Resource    *Resource
	Columns     []*Column
	Unique      []*Unique
	Sequence    *Column   // column whose ids are given at the insert, before commit; nil without
	Token       *Column   // token: COL, the fencing token
	Lease       *Lease    // nil without
	Keeps       *Duration // retention; nil: for ever
	PartitionBy *Column
	ShardBy     *Column
	// MaxRows is `rows: N`, an upper bound named by the author; 0: to be derived.
	MaxRows int
}

// Column returns the column of that name, or nil.
func (t *Table) Column(name string) *Column {
	for _, c := range t.Columns {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Column of a table: declared under `columns:` or inferred from its uses.
type Column struct {
	Pos      diag.Pos // of the declaration, or of the first use that writes it
	Name     string
	Table    *Table
	Type     *Type
	Declared bool
}

// Unique is one uniqueness constraint. `none` never conflicts with `none`.
type Unique struct {
	Pos     diag.Pos
	Columns []*Column
	// Scope are further columns that must be equal for a conflict: the
	// partition and shard columns that Columns does not contain.
	Scope []*Column
	Where Expr // partial index: Bool over the row (ColumnRef), nil for all rows
}

// LeaseEnd says who ends a lease; only prose and replay differ.
type LeaseEnd uint8

// Ends of a lease.
const (
	EndsBySweep LeaseEnd = iota
	EndsAtClaim
)

// Lease: rows matching While whose timer fires are updated by Then.
type Lease struct {
	Pos    diag.Pos
	While  []Cell  // column == value, all of them
	Holder *Column // nil: nobody's
	Lasts  *Duration
	Then   []Cell
	Ends   LeaseEnd
}

// MemoryScope is the owner of process-local memory.
type MemoryScope uint8

// Scopes of memory.
const (
	PerInstance MemoryScope = iota // lost at a crash of the instance; local steps
	PerProcess                     // one multi-threaded program: a crash ends all its runs
)

// KV is the part of a Resource of KVKind or MemoryKind.
type KV struct {
	Key   *Type // of all keys ever named
	Value *Type // of all values ever put; KindPresent for a put without value
	// SameServer is the resource a script may touch together with this one; the
	// relation is symmetric and transitive and lists every other member.
	SameServer []*Resource
	Scope      MemoryScope // MemoryKind only
	Process    *Process    // MemoryKind: the only process that uses it; nil if several do
	HasTTL     bool        // some put or expire names a ttl
}

// DedupScope of a queue.
type DedupScope uint8

// Dedup scopes.
const (
	DedupQueue DedupScope = iota
	DedupField            // per value of a message field
)

// Queue is the part of a Resource of QueueKind or LogKind.
type Queue struct {
	Delivery   string // at_least_once, at_most_once
	StartsWith *StartsWith
	Fields     []*Field // what messages carry; `id` and `op` first
	// IDs says whether message ids are part of the state: somebody reads m.id,
	// a dedupe window by id or a promise. Sends without `id:` then get a fresh one.
	IDs bool

	// Queue only.
	Visibility    *Duration // nil: no visibility timeout
	Renewed       bool      // the holder renews: no expiry by `slow`
	MaxDeliveries int       // 0: no limit
	DeadLetter    *Resource
	ReplayTo      *Resource // operator replay from this (dead letter) queue
	ReplayWithin  *Duration
	DedupBy       *Field // nil: no deduplication window
	DedupWindow   *Duration
	DedupScope    DedupScope
	DedupField    *Field
	OrderBy       *Field // order per value of this field; nil: none
	Ordered       bool   // order: queue (first in, first out as a whole)
	RefuseStale   bool   // stale_ack: refused
	SameServer    []*Resource

	// Log only.
	Partitions  int
	PartitionBy *Field // nil: any
	Fenced      bool   // commits of old owners and sends of old epochs are refused
	ResetLatest bool   // reset: latest (default earliest), for the fault offset_reset
	Keeps       *Duration
}

// Field returns the field of that name, or nil.
func (q *Queue) Field(name string) *Field {
	for _, f := range q.Fields {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// StartsWith puts messages into a queue before the first step: Per has Count
// messages with distinct ids each, and Copies copies of each of them.
type StartsWith struct {
	Pos    diag.Pos
	Per    *Operation
	Count  int // `one per OP`: 1, id = the operation's own symbol; `two per OP`: 2
	Copies int // 1 unless `copies: N`
}

// Field of a message, record or provider request.
type Field struct {
	Pos  diag.Pos
	Name string
	Type *Type
}

// MethodKind of a provider method.
type MethodKind uint8

// Kinds of methods.
const (
	Execute MethodKind = iota // does something: effect or not
	Find                      // `by:`, reads the ledger of the provider
	Cancel                    // `undo:`, a refund or cancellation
)

// Provider is the part of a Resource of ProviderKind.
type Provider struct {
	Methods       []*Method
	CanArriveLate bool // can_arrive_late (late_requests): R24
}

// Method of a provider.
type Method struct {
	Pos      diag.Pos
	Name     string
	Resource *Resource
	Kind     MethodKind
	Args     []*Field // every `with:` field of any call of it

	// Execute and Cancel.
	Effect       *Effect // nil: none. A call's field `op` says for which operation
	Undo         *Effect // Cancel: lowers it
	DedupBy      *Field  // nil: does not deduplicate
	Compares     []*Field
	Keeps        *Duration // of keys; nil: for ever
	Atomic       bool      // look-up and execution are one step (default)
	RefusesAfter *Method   // Cancel: after it, Execute with the same By is refused

	// Find: by a request field of the Execute method Of, or by its receipt.
	Of            *Method
	By            *Field
	ByReceipt     bool
	Lag           bool // may answer none until the record is visible
	NotFoundFinal bool // not_found: final, the key is dead after that answer
}

// Clock is the part of a Resource of ClockKind: discrete breakpoints.
type Clock struct {
	Breakpoints []*Duration // ascending; time 0 is before the first
}
