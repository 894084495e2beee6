// Package ast is the resolved syntax tree of the protocol language: one Spec
// per variant, with every parameter substituted, every `only:` evaluated and
// removed, every name resolved to the thing it names, and every expression
// typed with a finite type. It holds types only; package specs fills it from
// YAML or from the Go builder, package specs/lower turns it into a program.
//
// Pointers are identities: the *Operation, *Resource, *Table, *Column,
// *Process, *Step, *Var and *Effect of one Spec are shared by everything that
// names them, and slices are in file order.
package ast

import (
	"time"

	"github.com/relplan/relplan/internal/diag"
)

// Spec is one protocol, specialised to one variant.
type Spec struct {
	File   string // as given to the loader
	Pos    diag.Pos
	System string
	About  string

	Variant      string // "" for the one unnamed variant
	VariantPos   diag.Pos
	VariantAbout string      // what this alternative does, "" if its author does not say
	Parameters   []Parameter // the chosen values, in order of declaration

	Operations []*Operation
	Resources  []*Resource
	Effects    []*Effect // in order of first mention
	Processes  []*Process
	Faults     []*Fault // budgets with the variant's overrides; entries with Max 0 are left out
	Durations  []*Duration
	Assume     []*Assumption
	Initially  []*InitialRow

	Promises       []*Promise
	MustBePossible []*Possibility
	Expect         *Expect // nil without an expectation
	Run            *Run    // nil without a run section
}

// Parameter is a declared parameter with the value this variant chose.
type Parameter struct {
	Pos   diag.Pos
	Name  string
	Value string // as written, `[uid]` for a list
}

// Operation is a kind of thing that promises count by: `{payment: 2}`. Its
// elements are numbered from 0 to Count-1 (printed from 1).
type Operation struct {
	Pos    diag.Pos
	Name   string
	Count  int
	Fields []*OpField
}

// Field returns the field of that name, or nil.
func (o *Operation) Field(name string) *OpField {
	for _, f := range o.Fields {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// OpFieldKind says how an operation's constant is given.
type OpFieldKind uint8

// The kinds of operation fields.
const (
	FieldSame     OpFieldKind = iota // one symbol shared by all operations
	FieldDistinct                    // one symbol each: equal iff the operations are
	FieldList                        // Values[i] for operation i
	FieldAny                         // one initial state per choice of one of Values per operation
)

// OpField is a constant of each operation, `key: same`, `n: [1, 2]`.
type OpField struct {
	Pos       diag.Pos
	Name      string
	Operation *Operation
	Kind      OpFieldKind
	Values    []Value // FieldList: one per operation; FieldAny: the choices
	Type      *Type
}

// Symmetric says whether the operations stay interchangeable with this field.
func (f *OpField) Symmetric() bool { return f.Kind == FieldSame || f.Kind == FieldDistinct }

// Effect is a business effect named by `effect: {name: op}` on a step or by a
// provider method.
type Effect struct {
	Pos  diag.Pos // first mention
	Name string
	// Operations are the kinds of operation it is counted for, usually one.
	Operations []*Operation
	// Compared is the largest count that a promise or check compares with; a
	// counter may saturate at Compared+1. 0: no promise reads it.
	Compared int
	// Undone says that some `undo:` lowers it.
	Undone bool
}

// Duration is a named length of time, or an inline one (`ttl: 30s`), whose
// name then says what it is of ("ttl of locks"). Only their order matters
// without a clock.
type Duration struct {
	Pos    diag.Pos
	Name   string
	Inline bool
	Length time.Duration // 0 if an assumption names it without giving a length
	None   bool          // `ttl: none`: never fires
}

// InitialRow is one row, key or message that exists before the first step.
// `each OP` has been expanded into one InitialRow per operation.
type InitialRow struct {
	Pos      diag.Pos
	Table    *Table    // a row of a table, or
	Resource *Resource // an entry of a kv or memory (Cells "key", "value"), or a message of a queue or log
	Cells    []Cell    // values are constant expressions (Lit, OpConst, OpFieldOf)
}

// Cell is one named value of a row, message, record or argument list.
type Cell struct {
	Pos    diag.Pos // of the name
	Name   string
	Column *Column // for table rows, else nil
	Value  Expr
}

// FaultKind is the kind of a fault.
type FaultKind uint8

// The faults of the language.
const (
	FaultCrash FaultKind = iota
	FaultRedelivery
	FaultResponseLost
	FaultRequestLost
	FaultLateRequest
	FaultStall
	FaultRestart
	FaultFailover
	FaultClockJump
	FaultRetentionExpires
	FaultError
	FaultLockTimeout
	FaultSessionLost
	FaultOperatorReplay
	FaultRebalance
	FaultOffsetReset
	FaultCustom // named by the author, started by `on: {fault: NAME}`
)

// Fault is a budget. Several entries of one name (`restart: [{of: a}, {of: b}]`)
// are several Faults; the entries of one `of:` list share one counter.
type Fault struct {
	Pos  diag.Pos
	Kind FaultKind
	Name string // as in the file: "crash", or the author's name for FaultCustom
	Max  int    // > 0

	// Of restricts it; empty slices mean "anything it can happen to".
	Resources []*Resource
	Tables    []*Table // retention_expires
	Processes []*Process

	LosesMemory bool          // restart: loses: memory
	LosesLast   int           // failover: number of last acknowledged writes lost (default 1)
	By          time.Duration // clock_jump
}

// AssumeKind is the kind of an assumption.
type AssumeKind uint8

// The closed list of assumptions that remove transitions, and free text.
const (
	AssumeText         AssumeKind = iota // printed, prunes nothing
	AssumeTTL                            // ttl of K outlives its holder
	AssumeVisibility                     // visibility of Q outlives its holder
	AssumeLease                          // lease of T outlives its holder
	AssumeDowntime                       // downtime of P < D
	AssumeKeyNotReused                   // key of P.m is never reused
	AssumeOrder                          // A < B between durations
)

// Assumption is what the design trusts without enforcing it.
type Assumption struct {
	Pos      diag.Pos
	Text     string
	Kind     AssumeKind
	Resource *Resource // AssumeTTL, AssumeVisibility, AssumeKeyNotReused
	Table    *Table    // AssumeLease
	Process  *Process  // AssumeDowntime
	Method   *Method   // AssumeKeyNotReused
	Less     *Duration // AssumeOrder: Less < More
	More     *Duration // AssumeOrder, AssumeDowntime
}

// Verdict names as they are written in `expect`.
const (
	Holds   = "holds"
	Broken  = "broken"
	Unknown = "unknown"
	Vacuous = "vacuous"
)

// Expect is the verdict the author expects: per promise, or of the whole.
type Expect struct {
	Pos  diag.Pos
	Text string // as written on one line
	// Promises has one entry per promise of the variant, by Promise.Name:
	// Holds, Broken, Unknown or Vacuous. Promises not named are expected to hold.
	Promises map[string]string
	// Whole is set for `expect: vacuous` and the like (any of the four names).
	Whole string
}

// Run is the `run:` section: how the spec meets real engines.
type Run struct {
	Pos     diag.Pos
	Engines []*Engine
	Counts  []*CountQuery
}

// Engine binds a resource to an engine.
type Engine struct {
	Pos      diag.Pos
	Resource *Resource
	Engine   string // postgres mysql mariadb sqlite redis nats stub memory
	DSN      string // dsn: or url:, as written; `$NAME` is an environment variable, expanded by the runner
	AckWait  time.Duration
	Options  map[string]string // other scalars, for the driver to judge
	Extra    []Option          // the same with positions, in file order
}

// Option is a key of an engine entry that the language does not know.
type Option struct {
	Pos  diag.Pos
	Name string
	Text string
}

// CountQuery counts an effect on the engine: a query that returns (op, n).
type CountQuery struct {
	Pos    diag.Pos
	Effect *Effect
	Query  string
}
