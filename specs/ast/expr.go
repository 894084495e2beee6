package ast

import "github.com/relplan/relplan/internal/diag"

// Expr is a typed expression. Position is the first character of the
// expression in the file; Type is never nil after the resolver.
type Expr interface {
	Position() diag.Pos
	Type() *Type
	// String prints the expression in its canonical form.
	String() string
}

// Base carries what every expression has; the resolver fills it.
type Base struct {
	At diag.Pos
	Ty *Type
}

// Position of the first character.
func (b *Base) Position() diag.Pos { return b.At }

// Type of the value.
func (b *Base) Type() *Type { return b.Ty }

// SetType is for the resolver.
func (b *Base) SetType(t *Type) { b.Ty = t }

// Op is an operator.
type Op uint8

// Operators.
const (
	OpEq Op = iota
	OpNe
	OpLt
	OpLe
	OpGt
	OpGe
	OpAnd
	OpOr
	OpImplies
	OpAdd
	OpSub
	OpNot
	OpNeg
)

// String gives the operator as it is written.
func (o Op) String() string {
	return [...]string{"==", "!=", "<", "<=", ">", ">=", "and", "or", "implies", "+", "-", "not", "-"}[o]
}

type (
	// Lit is a constant: none, true, 3, NEW, 'text'.
	Lit struct {
		Base
		Value Value
	}
	// OpConst is one operation, by number from 0 (initially, `the OP where ..` when it is constant).
	OpConst struct {
		Base
		Operation *Operation
		Index     int
	}
	// OpWhere is `the OP where EXPR`: the first operation for which it holds,
	// none if there is none. Bound is the operation inside Where.
	OpWhere struct {
		Base
		Bound *OpVar
		Where Expr
	}
	// OpVar is an operation bound by a quantifier: `every OP` of a check (one
	// instance of the promise per operation), or inside count(OP where ..).
	OpVar struct {
		Base
		Operation *Operation
		// Outer is true for an operation that the whole check is stated for.
		Outer bool
	}
	// VarRef reads a bound name of the process that the expression stands in.
	VarRef struct {
		Base
		Var *Var
	}
	// InstanceVar reads a bound name of an instance, in a promise:
	// `client.i` is (of one instance, for every instance of) client its i.
	InstanceVar struct {
		Base
		Process *Process
		Var     *Var
	}
	// FieldOf is X.Name: of a row, record, entry, receipt, message or operation;
	// none if X is none. `op` and `id` of an operation are the operation itself
	// and have been removed by the resolver.
	FieldOf struct {
		Base
		X    Expr
		Name string
	}
	// ColumnRef is a column of the candidate row in `where:`, `set:` (the old
	// value), order_by, lease and count(T where ..); for a kv it is the key, the
	// value or a field of the value.
	ColumnRef struct {
		Base
		Table  *Table
		Column *Column
		Store  *Resource // kv: Name is "key", "value" or a field of the value
		Name   string
	}
	// Me is this instance of Process.
	Me struct {
		Base
		Process *Process
	}
	// MyRun is this run of Process.
	MyRun struct {
		Base
		Process *Process
	}
	// Fresh is a symbol different from every value now in the state.
	Fresh struct{ Base }
	// Hash is equal iff all arguments are equal.
	Hash struct {
		Base
		Args []Expr
	}
	// Record is {a: x, b: y}.
	Record struct {
		Base
		Cells []Cell
	}
	// Unary is `not X` or `- X`.
	Unary struct {
		Base
		Op Op
		X  Expr
	}
	// Binary applies Op.
	Binary struct {
		Base
		Op   Op
		X, Y Expr
	}
	// Cond is `X if If else Y`.
	Cond struct {
		Base
		If, X, Y Expr
	}

	// CountRows is count(T where ..), or exists(..) with Exists: over committed
	// rows of Table, entries of Store (kv), or messages of Store (queue, log)
	// that are waiting or held.
	CountRows struct {
		Base
		Exists bool
		Table  *Table
		Store  *Resource
		Where  Expr // over ColumnRef; nil: all
	}
	// CountEffect is count(E) over all operations, or count(E, op).
	CountEffect struct {
		Base
		Effect    *Effect
		Operation Expr // nil: the sum over all
	}
	// CountOps is count(OP where ..), or exists(OP where ..).
	CountOps struct {
		Base
		Exists bool
		Bound  *OpVar
		Where  Expr
	}
	// AgeOver is age(X) > D: a timer of length D started when X was made has fired.
	AgeOver struct {
		Base
		X        Expr
		Duration *Duration
	}
	// Settled is settled(COL): no open transaction holds a smaller value of that sequence.
	Settled struct {
		Base
		Column *ColumnRef
	}
	// Alive is alive(X): the instance or run X has a run in progress; false for none.
	Alive struct {
		Base
		X Expr
	}
	// Spent is spent(FAULT): units used.
	Spent struct {
		Base
		Name   string
		Faults []*Fault // empty: budget 0
	}
	// AtStep is at(P, LABEL): the instance bound by a check over P stands before
	// that step. After is at(P, LABEL) for a label whose step ends the process.
	AtStep struct {
		Base
		Process *Process
		Step    *Step
	}
	// Answered is answered(OP, CLASS).
	Answered struct {
		Base
		Operation Expr
		Reply     Reply // "" : any
	}
	// Handed is handed(OP): handed over to a human.
	Handed struct {
		Base
		Operation Expr
	}
	// Ended is ended(OP): its run has reached the end.
	Ended struct {
		Base
		Operation Expr
	}
)
