package specs

import (
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
