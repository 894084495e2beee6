package specs

import (
	"fmt"

	"github.com/relplan/relplan/specs/ast"
)

func intType(lo, hi int) *ast.Type { return one(ast.Alt{Kind: ast.KindInt, Lo: lo, Hi: hi}) }

var boolean = one(ast.Alt{Kind: ast.KindBool})

// typeOf gives the type of e with what is known so far.
func (f *inferer) typeOf(e ast.Expr) *ast.Type {
	switch x := e.(type) {
	case *ast.Lit:
		return valueType(x.Value)
	case *ast.OpConst:
		return one(ast.Alt{Kind: ast.KindOperation, Operation: x.Operation})
	case *ast.OpVar:
		return one(ast.Alt{Kind: ast.KindOperation, Operation: x.Operation})
	case *ast.OpWhere:
		return optional(one(ast.Alt{Kind: ast.KindOperation, Operation: x.Bound.Operation}))
	case *ast.VarRef:
		return x.Var.Type
	case *ast.InstanceVar:
		return optional(x.Var.Type)
	case *ast.FieldOf:
		t, _ := f.fieldOf(f.typeOf(x.X), x.Name)
		return t
	case *ast.ColumnRef:
		return f.columnType(x)
	case *ast.Me:
		return one(ast.Alt{Kind: ast.KindInstance, Process: x.Process})
	case *ast.MyRun:
		return one(ast.Alt{Kind: ast.KindRun, Process: x.Process})
	case *ast.Fresh:
		return one(ast.Alt{Kind: ast.KindFresh})
	case *ast.Hash:
		a := ast.Alt{Kind: ast.KindHash}
		for _, y := range x.Args {
			a.Elems = append(a.Elems, f.typeOf(y))
		}
		return one(a).Clone()
	case *ast.Record:
		return f.recordType(x.Cells)
	case *ast.Unary:
		if x.Op == ast.OpNot {
			return boolean
		}
		return f.negated(x)
	case *ast.Binary:
		if x.Op == ast.OpAdd || x.Op == ast.OpSub {
			return f.sum(x)
		}
		return boolean
	case *ast.Cond:
		t := f.typeOf(x.X).Clone()
		t.Join(f.typeOf(x.Y))
		return t
	case *ast.CountRows:
		return countType(x.Exists, inferredHi)
	case *ast.CountOps:
		return countType(x.Exists, x.Bound.Operation.Count)
	case *ast.CountEffect:
		return intType(0, inferredHi)
	case *ast.Spent:
		n := 0
		for _, fl := range x.Faults {
			n += fl.Max
		}
		return intType(0, n)
	}
	return boolean
}

func countType(exists bool, hi int) *ast.Type {
	if exists {
		return boolean
	}
	return intType(0, hi)
}

func (f *inferer) columnType(x *ast.ColumnRef) *ast.Type {
	switch {
	case x.Column != nil:
		return x.Column.Type
	case x.Store == nil:
		return none
	case x.Store.Queue != nil:
		return x.Store.Queue.Field(x.Name).Type
	case x.Name == "key":
		return x.Store.KV.Key
	case x.Name == "value":
		return x.Store.KV.Value
	}
	t, _ := f.fieldOf(x.Store.KV.Value, x.Name)
	return t
}

func (f *inferer) recordType(cells []ast.Cell) *ast.Type {
	a := ast.Alt{Kind: ast.KindRecord}
	t := &ast.Type{}
	for _, c := range cells {
		a.Fields = append(a.Fields, &ast.Field{Pos: c.Pos, Name: c.Name, Type: f.typeOf(c.Value)})
	}
	t.Join(one(a))
	// sorts the fields
	alt := t.Find(ast.KindRecord)
	for i := 1; i < len(alt.Fields); i++ {
		for j := i; j > 0 && alt.Fields[j].Name < alt.Fields[j-1].Name; j-- {
			alt.Fields[j], alt.Fields[j-1] = alt.Fields[j-1], alt.Fields[j]
		}
	}
	return t
}

func (f *inferer) negated(x *ast.Unary) *ast.Type {
	if a := f.typeOf(x.X).Find(ast.KindInt); a != nil {
		return intType(-a.Hi, -a.Lo)
	}
	return intType(inferredLo, inferredHi)
}

// sum: constants are exact, anything else has the range of its parts, widened
// to the inferred one, so that counters settle.
func (f *inferer) sum(x *ast.Binary) *ast.Type {
	a, b := f.typeOf(x.X).Find(ast.KindInt), f.typeOf(x.Y).Find(ast.KindInt)
	lo, hi := inferredLo, inferredHi
	for _, p := range []*ast.Alt{a, b} {
		if p != nil {
			lo, hi = min(lo, p.Lo), max(hi, p.Hi)
		}
	}
	return intType(lo, hi)
}

// fieldOf gives the type of a field, and whether some alternative has it.
func (f *inferer) fieldOf(t *ast.Type, name string) (*ast.Type, bool) {
	out, found := &ast.Type{}, false
	add := func(x *ast.Type) {
		found = true
		out.Join(x)
	}
	for i := range t.Alts {
		a := &t.Alts[i]
		switch a.Kind {
		case ast.KindNone:
			out.Join(none)
		case ast.KindOperation:
			if name == "op" || name == "id" {
				add(one(*a))
			} else if fd := a.Operation.Field(name); fd != nil {
				add(opFieldType(fd))
			}
		case ast.KindRow:
			if c := a.Table.Column(name); c != nil {
				add(c.Type)
			}
		case ast.KindEntry:
			f.entryField(a, name, add)
		case ast.KindRecord:
			for _, fd := range a.Fields {
				if fd.Name == name {
					add(fd.Type)
				}
			}
		case ast.KindReceipt:
			f.receiptField(a, name, add)
		case ast.KindMessage:
			f.messageField(a, name, add)
		}
	}
	return out, found
}

func (f *inferer) entryField(a *ast.Alt, name string, add func(*ast.Type)) {
	switch name {
	case "key":
		add(a.Resource.KV.Key)
	case "value":
		add(a.Resource.KV.Value)
	default:
		if t, ok := f.fieldOf(a.Resource.KV.Value, name); ok {
			add(t)
		}
	}
}

func (f *inferer) receiptField(a *ast.Alt, name string, add func(*ast.Type)) {
	if name == "id" || name == "receipt_id" {
		add(one(*a))
		return
	}
	for _, m := range a.Resource.Provider.Methods {
		if m.Kind == ast.Find {
			continue
		}
		for _, fd := range m.Args {
			if fd.Name == name {
				add(fd.Type)
			}
		}
	}
}

func (f *inferer) messageField(a *ast.Alt, name string, add func(*ast.Type)) {
	q := a.Resource.Queue
	if fd := q.Field(name); fd != nil {
		if name == "id" {
			q.IDs = true
		}
		add(fd.Type)
		return
	}
	switch {
	case name == "deliveries" && a.Resource.Kind == ast.QueueKind && q.MaxDeliveries > 0:
		add(intType(1, q.MaxDeliveries))
	case name == "last":
		add(boolean)
	case name == "offset" && a.Resource.Kind == ast.LogKind:
		add(one(ast.Alt{Kind: ast.KindPosition, Resource: a.Resource}))
	default:
		if op := q.Field("op").Type.Find(ast.KindOperation); op != nil {
			if fd := op.Operation.Field(name); fd != nil {
				add(opFieldType(fd))
			}
		}
	}
}

// fieldNames lists what X. could be followed by.
func (f *inferer) fieldsOf(t *ast.Type) []string {
	var out []string
	add := func(s string) {
		if !contains(out, s) {
			out = append(out, s)
		}
	}
	for i := range t.Alts {
		a := &t.Alts[i]
		switch a.Kind {
		case ast.KindOperation:
			add("op")
			for _, fd := range a.Operation.Fields {
				add(fd.Name)
			}
		case ast.KindRow:
			for _, c := range a.Table.Columns {
				add(c.Name)
			}
		case ast.KindEntry:
			add("key")
			add("value")
		case ast.KindRecord:
			for _, fd := range a.Fields {
				add(fd.Name)
			}
		case ast.KindReceipt:
			add("id")
			for _, m := range a.Resource.Provider.Methods {
				for _, fd := range m.Args {
					add(fd.Name)
				}
			}
		case ast.KindMessage:
			for _, fd := range a.Resource.Queue.Fields {
				add(fd.Name)
			}
		}
	}
	return out
}

func (f *inferer) describe(t *ast.Type) string { return fmt.Sprint(t) }
