package ast

import "strings"

// String prints the constant.
func (e *Lit) String() string { return e.Value.String() }

// String prints the operation by name and number from 1.
func (e *OpConst) String() string {
	return "the " + e.Operation.Name + " " + Value{Kind: IntValue, Int: e.Index + 1}.String()
}

// String prints `the OP where ..`.
func (e *OpWhere) String() string {
	return "the " + e.Bound.Operation.Name + " where " + e.Where.String()
}

// String prints the name of the operation.
func (e *OpVar) String() string { return e.Operation.Name }

// String prints the bound name.
func (e *VarRef) String() string { return e.Var.Name }

// String prints `process.name`.
func (e *InstanceVar) String() string { return e.Process.Name + "." + e.Var.Name }

// String prints `x.field`.
func (e *FieldOf) String() string { return wrap(e.X, 100) + "." + e.Name }

// String prints the column.
func (e *ColumnRef) String() string {
	if e.Column != nil {
		return e.Column.Name
	}
	return e.Name
}

// String prints `me`.
func (e *Me) String() string { return "me" }

// String prints `my_run`.
func (e *MyRun) String() string { return "my_run" }

// String prints `fresh()`.
func (e *Fresh) String() string { return "fresh()" }

// String prints `hash(..)`.
func (e *Hash) String() string {
	parts := make([]string, len(e.Args))
	for i, a := range e.Args {
		parts[i] = a.String()
	}
	return "hash(" + strings.Join(parts, ", ") + ")"
}

// String prints `{a: x, b: y}`.
func (e *Record) String() string { return "{" + CellsString(e.Cells) + "}" }

// CellsString prints `a: x, b: y`.
func CellsString(cells []Cell) string {
	parts := make([]string, len(cells))
	for i, c := range cells {
		parts[i] = c.Name + ": " + c.Value.String()
	}
	return strings.Join(parts, ", ")
}

// String prints `not x` or `-x`.
func (e *Unary) String() string {
	if e.Op == OpNot {
		return "not " + wrap(e.X, 4)
	}
	return "-" + wrap(e.X, 7)
}

// Precedence of the operators, loosest first: if, implies, or, and, not, compare, add.
func precedence(e Expr) int {
	switch x := e.(type) {
	case *Cond:
		return 0
	case *Unary:
		if x.Op == OpNot {
			return 4
		}
		return 7
	case *AgeOver:
		return 5
	case *OpWhere:
		return 0
	case *Binary:
		switch x.Op {
		case OpImplies:
			return 1
		case OpOr:
			return 2
		case OpAnd:
			return 3
		case OpAdd, OpSub:
			return 6
		default:
			return 5
		}
	}
	return 100
}

func wrap(e Expr, at int) string {
	if precedence(e) < at {
		return "(" + e.String() + ")"
	}
	return e.String()
}

// String prints `x op y`.
func (e *Binary) String() string {
	p := precedence(e)
	left, right := p, p+1
	if e.Op == OpImplies || p == 5 {
		left = p + 1
	}
	if e.Op == OpImplies {
		right = p
	}
	return wrap(e.X, left) + " " + e.Op.String() + " " + wrap(e.Y, right)
}

// String prints `x if c else y`.
func (e *Cond) String() string {
	return wrap(e.X, 1) + " if " + wrap(e.If, 1) + " else " + e.Y.String()
}

func counted(exists bool, of string, where Expr) string {
	f := "count("
	if exists {
		f = "exists("
	}
	if where != nil {
		of += " where " + where.String()
	}
	return f + of + ")"
}

// String prints `count(T where ..)`.
func (e *CountRows) String() string {
	name := ""
	if e.Table != nil {
		name = e.Table.Name
	} else {
		name = e.Store.Name
	}
	return counted(e.Exists, name, e.Where)
}

// String prints `count(E)`.
func (e *CountEffect) String() string {
	if e.Operation == nil {
		return "count(" + e.Effect.Name + ")"
	}
	return "count(" + e.Effect.Name + ", " + e.Operation.String() + ")"
}

// String prints `count(OP where ..)`.
func (e *CountOps) String() string { return counted(e.Exists, e.Bound.Operation.Name, e.Where) }

// String prints `age(x) > d`.
func (e *AgeOver) String() string { return "age(" + e.X.String() + ") > " + e.Duration.Name }

// String prints `settled(col)`.
func (e *Settled) String() string { return "settled(" + e.Column.String() + ")" }

// String prints `alive(x)`.
func (e *Alive) String() string { return "alive(" + e.X.String() + ")" }

// String prints `spent(fault)`.
func (e *Spent) String() string { return "spent(" + e.Name + ")" }

// String prints `at(p, label)`.
func (e *AtStep) String() string { return "at(" + e.Process.Name + ", " + e.Step.Label + ")" }

// String prints `answered(op, class)`.
func (e *Answered) String() string {
	if e.Reply == "" {
		return "answered(" + e.Operation.String() + ")"
	}
	return "answered(" + e.Operation.String() + ", " + string(e.Reply) + ")"
}

// String prints `handed(op)`.
func (e *Handed) String() string { return "handed(" + e.Operation.String() + ")" }

// String prints `ended(op)`.
func (e *Ended) String() string { return "ended(" + e.Operation.String() + ")" }

// Walk calls f for e and, where f returns true, for everything below it.
func Walk(e Expr, f func(Expr) bool) {
	if e == nil || !f(e) {
		return
	}
	for _, c := range children(e) {
		Walk(c, f)
	}
}

func children(e Expr) []Expr {
	var out []Expr
	add := func(xs ...Expr) {
		for _, x := range xs {
			if x != nil {
				out = append(out, x)
			}
		}
	}
	switch x := e.(type) {
	case *OpWhere:
		add(x.Where)
	case *FieldOf:
		add(x.X)
	case *Hash:
		add(x.Args...)
	case *Record:
		for _, c := range x.Cells {
			add(c.Value)
		}
	case *Unary:
		add(x.X)
	case *Binary:
		add(x.X, x.Y)
	case *Cond:
		add(x.If, x.X, x.Y)
	case *CountRows:
		add(x.Where)
	case *CountEffect:
		add(x.Operation)
	case *CountOps:
		add(x.Where)
	case *AgeOver:
		add(x.X)
	case *Settled:
		if x.Column != nil {
			out = append(out, x.Column)
		}
	case *Alive:
		add(x.X)
	case *Answered:
		add(x.Operation)
	case *Handed:
		add(x.Operation)
	case *Ended:
		add(x.Operation)
	}
	return out
}
