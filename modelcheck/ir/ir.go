// Package ir is the intermediate form that every protocol compiles to: finite
// typed variables, guarded actions with assignments, and properties. It knows
// no YAML, no store and no fault by name: a lock, a lease or a lost answer is
// variables and actions here.
//
// A Program has two readings that must agree: Compile turns it into closures
// over a packed state (a modelcheck.Model), and the interpreter in the tests
// walks the tree over a map. Everything is an int: a bool is 0 or 1, an enum
// the position of its name, a range its number, a reference the position of
// the element in its set, a token or rank its number, and None stands for "no
// value" in any optional type.
//
// Expressions are total. A variable read at an index that is None or outside
// the set gives None (0 for a Bool that is not optional); sums and differences
// with None are None; order comparisons with None are 0; None as a condition is
// false. A statement that assigns at such an index, or at a slot that is not in
// use, makes the successor a cut state with reason "<variable> assigned at no
// element".
package ir

// None is the value of an optional variable that holds nothing. It equals only
// itself. It is far below every number, so that -1 stays a number.
const None = -1 << 31

// Program is a finite transition system.
type Program struct {
	Name    string
	Sets    []*Set
	Pools   []*Pool
	Vars    []*Var // variables of pools included
	Procs   []*Proc
	Initial [][]Stmt // one alternative per initial state, run on the variables' initial values
	Actions []*Action
	Props   []*Property
}

// Set is a finite index set. The elements of a set that is not Ordered are
// interchangeable (a scalarset): the program may compare them with == and !=,
// store them and index by them, nothing else; it never names one by a constant.
type Set struct {
	Name     string
	Size     int
	Ordered  bool
	Elements []string // printed names, len Size; nil prints name and number from 1
}

// Pool is a bounded bag of records: its slots are interchangeable, and a state
// is stored with its slots sorted. Slots are reached by action parameters,
// quantifiers and ForEach only, all of which range over the slots in use; no
// variable may hold a slot number.
type Pool struct {
	Name string
	Cap  int  // number of slots
	Used *Var // bool per slot; slots that are not used hold initial values
}

// Kind of a leaf type.
type Kind uint8

// The leaf kinds. Record, map, bag and sequence types are built from them by
// indexing: a record is one variable per field, a map is a variable indexed by
// a set, a bag is a Pool, a sequence is a variable over an ordered set with a
// length beside it.
const (
	Bool  Kind = iota
	Enum       // Names
	Range      // Lo..Hi
	Ref        // an element of Set
	Token      // a symbol from Fresh: compared by == only; renumbered by first occurrence. Hi 0: as many as can be held at once, else 0..Hi (the largest Hi of all tokens)
	Rank       // a position in the sequence Sort: from Next, compared by == and <; renumbered by order after each step. Hi as for Token, per Sort
)

// Type is the type of one variable cell. Optional adds None.
type Type struct {
	Kind     Kind
	Names    []string
	Lo, Hi   int // Range: both; Token, Rank: Hi (Lo is 0)
	Set      *Set
	Sort     string // Rank: values of different sorts are not compared and are renumbered apart
	Optional bool
}

// Index is what a variable or a binder ranges over: exactly one of Set and Pool.
type Index struct {
	Set  *Set
	Pool *Pool
}

// Var is a variable, or an array of them when Index is not empty.
type Var struct {
	Name    string
	Index   []Index
	Type    Type
	Initial int
}

// Proc is a process with interchangeable or ordered instances and a program
// counter. Actions of a process are dispatched by it.
type Proc struct {
	Name      string
	Instances *Set
	PC        *Var // indexed by Instances; Enum over Locations; 0 is idle
	Locations []string
}

// Local is a name bound by an action parameter, a quantifier, ForEach or Let.
type Local struct{ Name string }

// ActionKind says how an action counts in histories and fairness.
type ActionKind uint8

// Steps and deliveries are strongly fair; expiries are fair unless they cost a
// fault; faults are never fair.
const (
	Step     ActionKind = iota // a round trip of a process
	Delivery                   // a message, row or request is taken
	Expiry                     // a timer fires or a late request executes
	Fault                      // an event of its own that costs a budget
)

// Param is a nondeterministic parameter: the action exists once for every
// element for which its guard holds.
type Param struct {
	Local *Local
	Over  Index
}

// Action is one atomic transition: when Guard holds, Body runs. An action of a
// process is only looked at when that instance is at location At; its instance
// is the Local Self. An action without Proc belongs to the environment.
type Action struct {
	Name   string
	Kind   ActionKind
	Proc   *Proc
	At     int
	Self   *Local
	Params []Param
	Guard  Expr // nil is true
	Body   []Stmt
	Budget *Var   // unindexed Range: the action needs Budget > 0 and takes one unit before Body runs; Guard and Body need not say so
	Fault  string // name of the fault that a unit is spent of, "" for none; a Step may cost one (a lost answer)
	Rank   int    // orders faults of equal number: smaller is preferred in histories
	Unfair bool   // exempt from fairness although not a fault
	Choice int    // actions of one instance with the same non-zero Choice are branches of one decision: fair together, not each
	Order  int    // position in the source: process, step, branch; breaks ties between histories
	Label  string // name of the source step, "" for none; a step none of whose actions is ever taken is reported
	Note   any    // for the front end that prints histories; not interpreted here
}

// Expr is an integer expression.
type Expr interface{ expr() }

// BinOp is a binary operator. Comparisons and logic give 0 or 1; And and Or do
// not evaluate their right side when the left decides.
type BinOp uint8

// Binary operators.
const (
	Add BinOp = iota
	Sub
	Eq
	Ne
	Lt
	Le
	And
	Or
)

type (
	// Const is a number; for enums the position of the name, for Optional None.
	Const struct{ Value int }
	// Load reads a variable cell.
	Load struct {
		Var *Var
		At  []Expr
	}
	// Use reads a Local.
	Use struct{ Local *Local }
	// Binary applies Op.
	Binary struct {
		Op   BinOp
		A, B Expr
	}
	// Not is logical negation.
	Not struct{ A Expr }
	// Cond is A if If holds, else B.
	Cond struct{ If, A, B Expr }
	// Exists is 1 if Where holds for some element; ForAll is Not(Exists(Not)).
	Exists struct {
		Local *Local
		Over  Index
		Where Expr
	}
	// Count is the number of elements for which Where holds.
	Count struct {
		Local *Local
		Over  Index
		Where Expr
	}
	// Best is the least (or, with Max, the largest) value of Of among the
	// elements for which Where holds, None if there is none.
	Best struct {
		Local *Local
		Over  Index
		Where Expr
		Of    Expr
		Max   bool
	}
)

func (Const) expr()  {}
func (Load) expr()   {}
func (Use) expr()    {}
func (Binary) expr() {}
func (Not) expr()    {}
func (Cond) expr()   {}
func (Exists) expr() {}
func (Count) expr()  {}
func (Best) expr()   {}

// Stmt is a statement. Statements of one Body run in order and see each
// other's assignments.
type Stmt interface{ stmt() }

type (
	// Assign stores Value. A value outside the variable's type makes the
	// successor a cut state with reason "<variable> left <type>": the verdict
	// becomes unknown, nothing wraps or saturates.
	Assign struct {
		Var   *Var
		At    []Expr
		Value Expr
	}
	// If runs Then or Else.
	If struct {
		Cond Expr
		Then []Stmt
		Else []Stmt
	}
	// ForEach runs Body for every element in order; for a set that is not
	// ordered, Body must not depend on that order. Over a pool it visits the
	// slots in use when it starts that are still in use at their turn.
	ForEach struct {
		Local *Local
		Over  Index
		Body  []Stmt
	}
	// Let binds Local for the statements after it in the same list.
	Let struct {
		Local *Local
		Value Expr
	}
	// Put takes a free slot of Pool, marks it used, binds it to Slot and runs
	// Body on it. Without a free slot the successor is a cut state with reason
	// "<pool> is full".
	Put struct {
		Pool *Pool
		Slot *Local
		Body []Stmt
	}
	// Drop frees the slot and resets its variables to their initial values.
	Drop struct {
		Pool *Pool
		Slot Expr
	}
	// Fresh stores a token that differs from every token now in the state.
	// Without a free symbol the successor is a cut state.
	Fresh struct {
		Var *Var
		At  []Expr
	}
	// Next stores a rank above every rank of the variable's sort now in the
	// state. Without room above, the successor is a cut state.
	Next struct {
		Var *Var
		At  []Expr
	}
	// Cut ends exploration at this successor with a reason; the verdict becomes
	// unknown.
	Cut struct{ Reason string }
)

func (Assign) stmt()  {}
func (If) stmt()      {}
func (ForEach) stmt() {}
func (Let) stmt()     {}
func (Put) stmt()     {}
func (Drop) stmt()    {}
func (Fresh) stmt()   {}
func (Next) stmt()    {}
func (Cut) stmt()     {}

// PropKind is the shape of a property.
type PropKind uint8

// Property kinds. Final states are those of the bottom strongly connected
// components of the graph without faults, all of whose states are expanded.
const (
	Always     PropKind = iota // Goal holds in every state
	Reachable                  // Goal holds in some state
	Eventually                 // every bottom component can satisfy Goal: latched, one state without it breaks it; else a component where it never holds
	LeadsTo                    // From holds somewhere, then a bottom component without Goal breaks it
	Finally                    // Goal holds in every state of every bottom component
	CanAlways                  // AG EF Goal: from every state a state with Goal can be reached
)

// Property is judged for every element of each ForEach binder (its Local may be
// used in Goal and From); a history names the element that breaks it.
type Property struct {
	Name    string
	Kind    PropKind
	ForEach []Param
	Goal    Expr
	From    Expr // LeadsTo only
	Latched bool // Goal, once true, stays true (the front end vouches for it)
	Note    any
}
