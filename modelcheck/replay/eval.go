package replay

import (
	"fmt"
	"maps"

	"github.com/relplan/relplan/specs/ast"
)

// scope is what an expression can see: the names of a run, the candidate row,
// and who evaluates.
type scope struct {
	vars  map[*ast.Var]Value
	row   Record // candidate of a where or set, nil outside
	key   Value  // candidate of a kv trigger
	me    Value
	run   Value
	aged  map[*ast.Duration]bool // lengths of time that have passed since what the run asks about
	world *world
}

// newScope has no names yet.
func newScope(w *world) *scope {
	return &scope{vars: map[*ast.Var]Value{}, aged: map[*ast.Duration]bool{}, world: w}
}

// clone is a copy whose names can change apart.
func (s *scope) clone() *scope {
	c := *s
	c.vars, c.aged = maps.Clone(s.vars), maps.Clone(s.aged)
	return &c
}

// world gives one worker its fresh symbols.
type world struct {
	prefix string // the worker's name
	fresh  int
}

// freshValue is a symbol that nobody holds.
func (w *world) freshValue() Value {
	w.fresh++
	return fmt.Sprintf("%s-fresh-%d", w.prefix, w.fresh)
}

// opName is the operation as engines store it: "payment-1".
func opName(o *ast.Operation, i int) string { return fmt.Sprintf("%s-%d", o.Name, i+1) }

// eval computes an expression; it fails only where the language needs the
// state of the model (count, age, alive and the like), which no worker has.
func (s *scope) eval(e ast.Expr) (Value, error) {
	switch e := e.(type) {
	case *ast.Lit:
		return literal(e.Value), nil
	case *ast.OpConst:
		return opName(e.Operation, e.Index), nil
	case *ast.VarRef:
		return s.vars[e.Var], nil
	case *ast.FieldOf:
		return s.fieldOf(e)
	case *ast.ColumnRef:
		return s.column(e), nil
	case *ast.Me:
		return s.me, nil
	case *ast.MyRun:
		return s.run, nil
	case *ast.Fresh:
		return s.world.freshValue(), nil
	case *ast.Hash:
		args, err := s.evalAll(e.Args)
		return hash(args), err
	case *ast.Record:
		rec, err := s.cells(e.Cells)
		return rec, err
	case *ast.Unary:
		return s.unary(e)
	case *ast.Binary:
		return s.binary(e)
	case *ast.AgeOver:
		return s.aged[e.Duration], nil
	case *ast.Cond:
		c, err := s.eval(e.If)
		if err != nil {
			return nil, err
		}
		if c == true {
			return s.eval(e.X)
		}
		return s.eval(e.Y)
	}
	return nil, fmt.Errorf("%w: %s: %s cannot be evaluated by a worker", errUnsupported, e.Position(), e)
}

func literal(v ast.Value) Value {
	switch v.Kind {
	case ast.BoolValue:
		return v.Bool
	case ast.IntValue:
		return int64(v.Int)
	case ast.SymbolValue, ast.TextValue:
		return v.Text
	}
	return nil
}

func (s *scope) evalAll(es []ast.Expr) ([]Value, error) {
	out := make([]Value, len(es))
	for i, e := range es {
		v, err := s.eval(e)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// cells evaluates named values: a row, a message, arguments.
func (s *scope) cells(cells []ast.Cell) (Record, error) {
	rec := Record{}
	for _, c := range cells {
		v, err := s.eval(c.Value)
		if err != nil {
			return nil, err
		}
		rec[c.Name] = v
	}
	return rec, nil
}

func (s *scope) column(e *ast.ColumnRef) Value {
	if e.Store == nil {
		return s.row[e.Name]
	}
	switch e.Name {
	case "key":
		return s.key
	case "value":
		return s.row["value"]
	}
	return field(s.row["value"], e.Name)
}

// fieldOf reads X.name, also constants of an operation.
func (s *scope) fieldOf(e *ast.FieldOf) (Value, error) {
	x, err := s.eval(e.X)
	if err != nil || x == nil {
		return nil, err
	}
	if alt := e.X.Type().Find(ast.KindOperation); alt != nil {
		for i := range alt.Operation.Count {
			if x == opName(alt.Operation, i) {
				return opField(alt.Operation, i, e.Name), nil
			}
		}
	}
	return field(x, e.Name), nil
}

// opField is a constant of an operation. A field with a choice (any) takes its
// first value.
func opField(o *ast.Operation, i int, name string) Value {
	f := o.Field(name)
	if f == nil {
		return nil
	}
	switch f.Kind {
	case ast.FieldSame:
		return o.Name + "." + name
	case ast.FieldDistinct:
		return fmt.Sprintf("%s.%s-%d", o.Name, name, i+1)
	case ast.FieldList:
		return literal(f.Values[i])
	default:
		return literal(f.Values[0])
	}
}

func (s *scope) unary(e *ast.Unary) (Value, error) {
	x, err := s.eval(e.X)
	if err != nil {
		return nil, err
	}
	if e.Op == ast.OpNot {
		return x != true, nil
	}
	n, _ := x.(int64)
	return -n, nil
}

func (s *scope) binary(e *ast.Binary) (Value, error) {
	x, err := s.eval(e.X)
	if err != nil {
		return nil, err
	}
	switch e.Op {
	case ast.OpAnd, ast.OpOr, ast.OpImplies:
		if (x == true) == (e.Op == ast.OpOr) { // and, implies: false decides; or: true decides
			return e.Op != ast.OpAnd, nil
		}
		y, err := s.eval(e.Y)
		return y == true, err
	}
	y, err := s.eval(e.Y)
	if err != nil {
		return nil, err
	}
	switch e.Op {
	case ast.OpEq:
		return equal(x, y), nil
	case ast.OpNe:
		return !equal(x, y), nil
	}
	a, okA := x.(int64)
	b, okB := y.(int64)
	if !okA || !okB { // an order comparison with none is false, arithmetic with none is none
		if e.Op == ast.OpAdd || e.Op == ast.OpSub {
			return nil, nil
		}
		return false, nil
	}
	switch e.Op {
	case ast.OpLt:
		return a < b, nil
	case ast.OpLe:
		return a <= b, nil
	case ast.OpGt:
		return a > b, nil
	case ast.OpGe:
		return a >= b, nil
	case ast.OpAdd:
		return a + b, nil
	default:
		return a - b, nil
	}
}
