package specs

import (
	"fmt"
	"strings"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/yamlx"
	"github.com/relplan/relplan/specs/ast"
)

// Integers that nobody named a range for (R33).
const inferredLo, inferredHi = 0, 7

// inferer finds the finite type of everything by joining what is ever assigned,
// to a fixpoint.
type inferer struct {
	d       *decoder
	slots   []slot
	assigns []assignment
	marks   []markAt
	steps   []stateAt
	fieldAt map[*ast.FieldOf]diag.Pos
	written map[*ast.Column]bool
	noID    map[*ast.Resource]bool // some send has no id
}

type slot struct {
	e  *ast.Expr
	sc scope
}

type assignment struct {
	to   *ast.Type
	from *ast.Expr
	what string
}

type markAt struct {
	effect *ast.Effect
	value  *ast.Expr
	pos    diag.Pos
}

type stateAt struct {
	col *ast.Column
	val ast.Value
	pos diag.Pos
}

func newInferer(d *decoder) *inferer {
	return &inferer{d: d, fieldAt: map[*ast.FieldOf]diag.Pos{}, written: map[*ast.Column]bool{}, noID: map[*ast.Resource]bool{}}
}

func (f *inferer) slot(e *ast.Expr, sc scope) { f.slots = append(f.slots, slot{e, sc}) }

func (f *inferer) assign(to *ast.Type, from *ast.Expr, what string) {
	f.assigns = append(f.assigns, assignment{to, from, what})
}

func (f *inferer) mark(m *ast.Mark, pos diag.Pos) {
	f.marks = append(f.marks, markAt{m.Effect, &m.Operation, pos})
}

func (f *inferer) callMark(e *ast.Effect, v *ast.Expr, pos diag.Pos) {
	f.marks = append(f.marks, markAt{e, v, pos})
}

func (f *inferer) stateName(c *ast.Column, v ast.Value, pos diag.Pos) {
	f.steps = append(f.steps, stateAt{c, v, pos})
}

func one(a ast.Alt) *ast.Type { return &ast.Type{Alts: []ast.Alt{a}} }

func (f *inferer) present(t *ast.Type) { t.Join(one(ast.Alt{Kind: ast.KindPresent})) }

func (f *inferer) ranged(t *ast.Type, lo, hi int) {
	t.Join(one(ast.Alt{Kind: ast.KindInt, Lo: lo, Hi: hi, Named: true}))
}

func (f *inferer) sequence(c *ast.Column) {
	c.Type.Join(one(ast.Alt{Kind: ast.KindInt, Lo: inferredLo, Hi: inferredHi}))
	f.written[c] = true
}

func (f *inferer) position(v *ast.Var, r *ast.Resource) {
	v.Type.Join(one(ast.Alt{Kind: ast.KindPosition, Resource: r}))
}

func (f *inferer) column(c *ast.ColumnRef) {}

func (f *inferer) trigger(t *ast.Trigger) {
	a := ast.Alt{}
	switch t.Kind {
	case ast.OnMessage:
		if t.Queue == nil {
			return
		}
		a = ast.Alt{Kind: ast.KindMessage, Resource: t.Queue}
	case ast.OnRow:
		switch {
		case t.Table != nil:
			a = ast.Alt{Kind: ast.KindRow, Table: t.Table}
		case t.Store != nil:
			a = ast.Alt{Kind: ast.KindEntry, Resource: t.Store}
		default:
			return
		}
	case ast.OnRequest, ast.OnStart:
		if t.Operation == nil {
			return
		}
		a = ast.Alt{Kind: ast.KindOperation, Operation: t.Operation}
	default:
		return
	}
	t.As.Type.Join(one(a))
}

// declare reads the type of a column: 0 .. 4, [NEW, SENT], bool, an operation
// or a process.
func (f *inferer) declare(c *ast.Column, n *yamlx.Node, at diag.Pos) {
	d := f.d
	if n.Kind() == yamlx.Sequence {
		for _, v := range d.values(n.Items()) {
			c.Type.Join(valueType(v))
		}
		return
	}
	w := strings.TrimSpace(n.Value())
	if strings.Contains(w, "..") {
		if r, ok := d.rangeOf(n); ok {
			f.ranged(c.Type, r.Lo, r.Hi)
		}
		return
	}
	op, isOp := d.ops[w]
	switch {
	case w == "bool":
		c.Type.Join(one(ast.Alt{Kind: ast.KindBool}))
	case isOp:
		c.Type.Join(one(ast.Alt{Kind: ast.KindOperation, Operation: op}))
	case w == "any" || w == "{}" || n.Kind() == yamlx.Null:
	default:
		d.wanted(n, at, "RP004", "a type: 0 .. 7, [NEW, SENT], bool, any or the name of an operation", "")
	}
}

func valueType(v ast.Value) *ast.Type {
	switch v.Kind {
	case ast.BoolValue:
		return one(ast.Alt{Kind: ast.KindBool})
	case ast.IntValue:
		return one(ast.Alt{Kind: ast.KindInt, Lo: v.Int, Hi: v.Int})
	case ast.SymbolValue:
		return one(ast.Alt{Kind: ast.KindSymbol, Symbols: []string{v.Text}})
	case ast.TextValue:
		return one(ast.Alt{Kind: ast.KindText, Symbols: []string{v.Text}})
	}
	return one(ast.Alt{Kind: ast.KindNone})
}

var none = one(ast.Alt{Kind: ast.KindNone})

func optional(t *ast.Type) *ast.Type {
	c := t.Clone()
	c.Join(none)
	return c
}

// solve runs to the fixpoint.
func (f *inferer) solve() {
	f.base()
	for round := 0; ; round++ {
		grown := false
		for _, a := range f.assigns {
			if *a.from == nil {
				continue
			}
			if a.to.Join(f.typeOf(*a.from)) {
				grown = true
				if a.to.TooDeep() {
					f.d.errorf((*a.from).Position(), "RP026", "%s would hold values inside values without end", a.what)
					return
				}
			}
		}
		grown = f.derived() || grown
		if !grown {
			return
		}
		if round > 1000 {
			f.d.errorf(f.d.spec.Pos, "RP026", "the types of this spec do not settle")
			return
		}
	}
}

// base joins what does not depend on expressions.
func (f *inferer) base() {
	for _, r := range f.d.spec.Resources {
		if r.Queue == nil || r.Queue.StartsWith == nil {
			continue
		}
		sw := r.Queue.StartsWith
		op := one(ast.Alt{Kind: ast.KindOperation, Operation: sw.Per})
		r.Queue.Field("op").Type.Join(op)
		if sw.Count == 1 {
			r.Queue.Field("id").Type.Join(op)
		} else {
			r.Queue.Field("id").Type.Join(one(ast.Alt{Kind: ast.KindMessageID, Resource: r}))
		}
	}
	for _, row := range f.d.spec.Initially {
		f.missingColumns(row.Table, row.Cells)
	}
	f.eachStep(func(s *ast.Step) {
		switch s.Verb {
		case ast.VerbInsert, ast.VerbUpsert:
			f.missingColumns(s.Table, s.Row)
		case ast.VerbSend:
			if s.MessageID == nil && s.Resource != nil {
				f.noID[s.Resource] = true
			}
			f.missingFields(s)
		case ast.VerbCall:
			f.missingArgs(s)
		}
	})
	for _, o := range f.d.spec.Operations {
		for _, fd := range o.Fields {
			fd.Type = opFieldType(fd)
		}
	}
	for _, r := range f.d.spec.Resources {
		if r.Queue != nil && r.Queue.DedupBy != nil && r.Queue.DedupBy.Name == "id" {
			r.Queue.IDs = true
		}
	}
}

func opFieldType(fd *ast.OpField) *ast.Type {
	t := &ast.Type{}
	switch fd.Kind {
	case ast.FieldSame, ast.FieldDistinct:
		t.Join(one(ast.Alt{Kind: ast.KindOpField, Operation: fd.Operation, OpField: fd}))
	default:
		for _, v := range fd.Values {
			t.Join(valueType(v))
		}
	}
	return t
}

func (f *inferer) eachStep(do func(*ast.Step)) {
	for _, p := range f.d.spec.Processes {
		for _, s := range p.All {
			do(s)
		}
	}
}

// missingColumns: a row that does not name a column has none there.
func (f *inferer) missingColumns(t *ast.Table, cells []ast.Cell) {
	if t == nil {
		return
	}
	for _, c := range t.Columns {
		if c != t.Sequence && !hasCell(cells, c.Name) {
			c.Type.Join(none)
		}
	}
}

func hasCell(cells []ast.Cell, name string) bool {
	for _, c := range cells {
		if c.Name == name {
			return true
		}
	}
	return false
}

func (f *inferer) missingFields(s *ast.Step) {
	if s.Resource == nil {
		return
	}
	for _, fd := range s.Resource.Queue.Fields {
		if fd.Name != "id" && !hasCell(s.Row, fd.Name) {
			fd.Type.Join(none)
		}
	}
}

func (f *inferer) missingArgs(s *ast.Step) {
	if s.Method == nil {
		return
	}
	for _, fd := range s.Method.Args {
		if !hasCell(s.Row, fd.Name) {
			fd.Type.Join(none)
		}
	}
}

// derived joins what steps bind.
func (f *inferer) derived() bool {
	grown := false
	f.eachStep(func(s *ast.Step) {
		if s.As == nil {
			return
		}
		var t *ast.Type
		switch s.Verb {
		case ast.VerbSelect:
			switch {
			case s.Count:
				t = one(ast.Alt{Kind: ast.KindInt, Lo: inferredLo, Hi: inferredHi})
			case s.Table != nil:
				t = optional(one(ast.Alt{Kind: ast.KindRow, Table: s.Table}))
			case s.Resource != nil:
				t = optional(one(ast.Alt{Kind: ast.KindEntry, Resource: s.Resource}))
			}
		case ast.VerbGet:
			if s.Resource != nil {
				t = optional(s.Resource.KV.Value)
			}
		case ast.VerbCall:
			if s.Resource != nil {
				t = one(ast.Alt{Kind: ast.KindReceipt, Resource: s.Resource})
				if s.Method != nil && s.Method.Kind == ast.Find {
					t = optional(t)
				}
			}
		}
		if t != nil && s.As.Type.Join(t) {
			grown = true
		}
	})
	for _, r := range f.d.spec.Resources {
		if r.Queue != nil && r.Queue.IDs && f.noID[r] {
			grown = r.Queue.Field("id").Type.Join(one(ast.Alt{Kind: ast.KindFresh})) || grown
		}
		if r.Queue != nil && r.Queue.DeadLetter != nil {
			for _, fd := range r.Queue.Fields {
				grown = f.carry(r.Queue.DeadLetter, fd) || grown
			}
		}
		if r.Queue != nil && r.Queue.ReplayTo != nil {
			for _, fd := range r.Queue.Fields {
				grown = f.carry(r.Queue.ReplayTo, fd) || grown
			}
		}
	}
	return grown
}

// carry lets a dead letter queue have what the queue behind it carries.
func (f *inferer) carry(to *ast.Resource, fd *ast.Field) bool {
	o := to.Queue.Field(fd.Name)
	if o == nil {
		o = &ast.Field{Pos: fd.Pos, Name: fd.Name, Type: &ast.Type{}}
		to.Queue.Fields = append(to.Queue.Fields, o)
	}
	return o.Type.Join(fd.Type)
}

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
