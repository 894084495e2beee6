package specs

import (
	"reflect"

	"github.com/relplan/relplan/internal/yamlx"
	"github.com/relplan/relplan/specs/ast"
)

// rewriteAll replaces what types decide.
func (d *decoder) rewriteAll() {
	for _, s := range d.inf.slots {
		if *s.e != nil {
			*s.e = d.rewrite(*s.e)
		}
	}
}

// finish gives every expression its type and fills what depends on types.
func (d *decoder) finish() {
	for _, s := range d.inf.slots {
		if *s.e != nil {
			d.setTypes(*s.e)
		}
	}
	d.inf.eachStep(func(s *ast.Step) {
		if s.Verb == ast.VerbSend {
			for i := range s.Row {
				if s.Row[i].Name == "id" {
					s.MessageID = s.Row[i].Value
				}
			}
		}
		if s.OrderBy != nil {
			s.OrderBy.SetType(d.inf.columnType(s.OrderBy))
		}
	})
	for _, p := range d.spec.Processes {
		if p.Trigger != nil && p.Trigger.OrderBy != nil {
			p.Trigger.OrderBy.SetType(d.inf.columnType(p.Trigger.OrderBy))
		}
	}
	d.counters()
	d.memoryOwners()
}

func (d *decoder) setTypes(e ast.Expr) {
	ast.Walk(e, func(x ast.Expr) bool {
		t := d.inf.typeOf(x)
		if set, ok := x.(interface{ SetType(*ast.Type) }); ok {
			set.SetType(t)
		}
		switch y := x.(type) {
		case *ast.OpWhere:
			y.Bound.SetType(d.inf.typeOf(y.Bound))
		case *ast.CountOps:
			y.Bound.SetType(d.inf.typeOf(y.Bound))
		}
		return true
	})
}

// rewrite removes `.op` of operations, and reads the fields of an operation
// through the message that carries it.
func (d *decoder) rewrite(e ast.Expr) ast.Expr {
	each := func(x *ast.Expr) {
		if *x != nil {
			*x = d.rewrite(*x)
		}
	}
	switch x := e.(type) {
	case *ast.FieldOf:
		each(&x.X)
		t := d.inf.typeOf(x.X)
		if t.Only(ast.KindOperation) && (x.Name == "op" || x.Name == "id") {
			return x.X
		}
		if a := t.Find(ast.KindMessage); a != nil && a.Resource.Queue.Field(x.Name) == nil {
			if op := a.Resource.Queue.Field("op").Type.Find(ast.KindOperation); op != nil && op.Operation.Field(x.Name) != nil {
				return &ast.FieldOf{Base: x.Base, X: &ast.FieldOf{Base: x.Base, X: x.X, Name: "op"}, Name: x.Name}
			}
		}
	case *ast.OpWhere:
		each(&x.Where)
	case *ast.Hash:
		for i := range x.Args {
			each(&x.Args[i])
		}
	case *ast.Record:
		for i := range x.Cells {
			each(&x.Cells[i].Value)
		}
	case *ast.Unary:
		each(&x.X)
	case *ast.Binary:
		each(&x.X)
		each(&x.Y)
		d.opLiteral(&x.X, x.Y)
		d.opLiteral(&x.Y, x.X)
	case *ast.Cond:
		each(&x.If)
		each(&x.X)
		each(&x.Y)
	case *ast.CountRows:
		each(&x.Where)
	case *ast.CountEffect:
		each(&x.Operation)
	case *ast.CountOps:
		each(&x.Where)
	case *ast.AgeOver:
		each(&x.X)
	case *ast.Alive:
		each(&x.X)
	case *ast.Answered:
		each(&x.Operation)
	case *ast.Handed:
		each(&x.Operation)
	case *ast.Ended:
		each(&x.Operation)
	}
	return e
}

// opLiteral reads a number beside an operation as that operation, from 1.
func (d *decoder) opLiteral(e *ast.Expr, other ast.Expr) {
	lit, ok := (*e).(*ast.Lit)
	if !ok || lit.Value.Kind != ast.IntValue {
		return
	}
	t := d.inf.typeOf(other)
	a := t.Find(ast.KindOperation)
	if a == nil || t.Has(ast.KindInt) || lit.Value.Int < 1 || lit.Value.Int > a.Operation.Count {
		return
	}
	*e = &ast.OpConst{Base: lit.Base, Operation: a.Operation, Index: lit.Value.Int - 1}
}

// counters notes for each effect up to what it is compared.
func (d *decoder) counters() {
	for _, p := range d.spec.Promises {
		switch s := p.Body.(type) {
		case *ast.ExactlyOnce:
			counted(s.Effect, 1)
		case *ast.EventuallyEffect:
			counted(s.Effect, 1)
		case *ast.RowEventuallyEffect:
			counted(s.Effect, 1)
		case *ast.AckedAfter:
			counted(s.Effect, 1)
		case *ast.NoEffectWithoutRow:
			counted(s.Effect, 1)
		case *ast.NotAnsweredBefore:
			counted(s.Effect, 1)
		case *ast.NoEffectWhile:
			counted(s.Effect, 1)
		case *ast.CanComplete:
			for _, e := range s.Effects {
				counted(e, 1)
			}
		case *ast.Check:
			countedIn(s.Expr)
			if s.To != nil {
				countedIn(s.To)
			}
		}
	}
	for _, m := range d.spec.MustBePossible {
		switch s := m.Body.(type) {
		case *ast.EffectForEvery:
			counted(s.Effect, 1)
		case *ast.Reach:
			countedIn(s.Expr)
		}
	}
}

func countedIn(e ast.Expr) {
	most := 1
	ast.Walk(e, func(x ast.Expr) bool {
		switch y := x.(type) {
		case *ast.Lit:
			if y.Value.Kind == ast.IntValue {
				most = max(most, y.Value.Int)
			}
		case *ast.Spent:
			for _, f := range y.Faults {
				most += f.Max
			}
		}
		return true
	})
	ast.Walk(e, func(x ast.Expr) bool {
		if c, ok := x.(*ast.CountEffect); ok {
			counted(c.Effect, most)
		}
		return true
	})
}

// memoryOwners finds the one process that uses each memory.
func (d *decoder) memoryOwners() {
	users := map[*ast.Resource]map[*ast.Process]bool{}
	d.inf.eachStep(func(s *ast.Step) {
		if s.Resource != nil && s.Resource.Kind == ast.MemoryKind {
			if users[s.Resource] == nil {
				users[s.Resource] = map[*ast.Process]bool{}
			}
			users[s.Resource][s.Process] = true
		}
	})
	for r, ps := range users {
		if len(ps) > 1 {
			r.KV.Process = nil
			d.errorf(r.Pos, "RP019", "the memory '%s' is used by %d processes: it belongs to one", r.Name, len(ps))
		}
	}
}

// collectWords gathers the ALL_CAPS constants that the file ever writes: under
// row, set, value, with, message, then, initially and operations. `where` and
// the promises only read.
func collectWords(n *yamlx.Node, out map[string]bool, writing bool) {
	for _, e := range n.Entries() {
		w := writing
		switch e.Key.Value() {
		case "row", "set", "value", "with", "message", "then", "initially", "operations", "let", "columns", "parameters", "body":
			w = true
		case "where", "while", "when", "promises", "must_be_possible", "only":
			w = false
		}
		collectWords(e.Value, out, w)
	}
	for _, i := range n.Items() {
		collectWords(i, out, writing)
	}
	if writing && n.Kind() == yamlx.Scalar {
		for _, f := range wordsIn(n.Value()) {
			out[f] = true
		}
	}
}

func wordsIn(s string) []string {
	var out []string
	start := -1
	for i := 0; i <= len(s); i++ {
		letter := i < len(s) && (s[i] >= 'A' && s[i] <= 'Z' || s[i] == '_' || s[i] >= '0' && s[i] <= '9')
		if letter && start < 0 {
			start = i
		}
		if !letter && start >= 0 {
			if symbolForm.MatchString(s[start:i]) {
				out = append(out, s[start:i])
			}
			start = -1
		}
	}
	return out
}

// valueBodies replaces the pointers that decoding needs by the values that the
// tree promises: *ast.AtMostOnce becomes ast.AtMostOnce.
func (d *decoder) valueBodies() {
	for _, p := range d.spec.Promises {
		p.Body = reflect.ValueOf(p.Body).Elem().Interface().(ast.Sentence)
	}
	for _, p := range d.spec.MustBePossible {
		p.Body = reflect.ValueOf(p.Body).Elem().Interface().(ast.Reachable)
	}
}
