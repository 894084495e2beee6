package specs

import (
	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/yamlx"
	"github.com/relplan/relplan/specs/ast"
)

// where reads a condition over rows: {column: value}, or an expression.
func (d *decoder) where(into *ast.Expr, n *yamlx.Node, at diag.Pos, sc scope) {
	n = d.sub(n)
	switch n.Kind() {
	case yamlx.Mapping:
		if d.trap(n) {
			return
		}
		d.whereMap(into, n, sc)
	case yamlx.Scalar:
		sc.columns = true
		if n.Value() == "true" && !n.Quoted() {
			return
		}
		d.exprText(into, n, sc)
	default:
		d.wanted(n, at, "RP020", "{column: value} or a condition", "")
	}
}

func (d *decoder) whereMap(into *ast.Expr, n *yamlx.Node, sc scope) {
	var all ast.Expr
	for _, e := range n.Entries() {
		base := ast.Base{At: e.Key.Pos()}
		col := sc.columnNamed(e.Key.Value(), base)
		if col == nil {
			d.unknown(e.Key.Pos(), "RP013", "column of "+sc.candidate(), e.Key.Value(), sc.columnNames())
			continue
		}
		v := d.sub(e.Value)
		var cond ast.Expr
		inner := sc
		inner.columns, inner.sql = false, nil
		if v.Kind() == yamlx.Sequence {
			for _, item := range v.Items() {
				if x := d.cellValue(d.sub(item), e.Key.Pos(), inner); x != nil {
					eq := ast.Expr(&ast.Binary{Base: ast.Base{At: item.Pos()}, Op: ast.OpEq, X: col, Y: x})
					if cond == nil {
						cond = eq
					} else {
						cond = &ast.Binary{Base: ast.Base{At: item.Pos()}, Op: ast.OpOr, X: cond, Y: eq}
					}
				}
			}
		} else if x := d.cellValue(v, e.Key.Pos(), inner); x != nil {
			cond = &ast.Binary{Base: base, Op: ast.OpEq, X: col, Y: x}
		}
		if cond == nil {
			continue
		}
		if all == nil {
			all = cond
		} else {
			all = &ast.Binary{Base: ast.Base{At: n.Pos()}, Op: ast.OpAnd, X: all, Y: cond}
		}
	}
	if all != nil {
		*into = all
		d.inf.slot(into, sc)
	}
}

// cellValue reads one value without registering it: it becomes part of a
// larger expression.
func (d *decoder) cellValue(n *yamlx.Node, at diag.Pos, sc scope) ast.Expr {
	switch n.Kind() {
	case yamlx.Mapping:
		cells := d.cells(n, at, cellRecord{}, sc)
		if cells == nil {
			return nil
		}
		return &ast.Record{Base: ast.Base{At: n.Pos()}, Cells: cells}
	case yamlx.Scalar:
		if n.Quoted() && plainText(n.Value()) {
			return &ast.Lit{Base: ast.Base{At: n.Pos()}, Value: ast.Value{Kind: ast.TextValue, Text: n.Value()}}
		}
		return d.parseExpr(n, 0, n.Value(), sc)
	}
	hint := ""
	if n.Kind() == yamlx.Null {
		hint = "for no value write: none"
	}
	d.wanted(n, at, "RP020", "a value", hint)
	return nil
}

// cellTarget says what the names of cells are.
type cellTarget interface {
	cell(d *decoder, c *ast.Cell) bool
}

type (
	cellTable struct {
		t      *ast.Table
		assign bool
	}
	cellRecord  struct{}
	cellMessage struct{ r *ast.Resource }
	cellArgs    struct{ m *ast.Method }
)

func (c cellTable) cell(d *decoder, cell *ast.Cell) bool {
	cell.Column = d.column(c.t, cell.Name, cell.Pos)
	return cell.Column != nil
}
func (cellRecord) cell(d *decoder, cell *ast.Cell) bool {
	if !nameForm.MatchString(cell.Name) {
		d.errorf(cell.Pos, "RP006", "field %q: a name has letters, digits and _", cell.Name)
		return false
	}
	return true
}
func (c cellMessage) cell(d *decoder, cell *ast.Cell) bool {
	return cellRecord{}.cell(d, cell) && c.r.Queue.Field(cell.Name) != nil
}
func (c cellArgs) cell(d *decoder, cell *ast.Cell) bool { return cellRecord{}.cell(d, cell) }

// cells reads {name: value, ..}; nil after an error in the mapping itself.
func (d *decoder) cells(n *yamlx.Node, at diag.Pos, target cellTarget, sc scope) []ast.Cell {
	n = d.sub(n)
	if n.Kind() != yamlx.Mapping {
		d.wanted(n, at, "RP004", "{name: value, ..}", "")
		return nil
	}
	if d.trap(n) {
		return nil
	}
	out := []ast.Cell{}
	for _, e := range n.Entries() {
		c := ast.Cell{Pos: e.Key.Pos(), Name: e.Key.Value()}
		if !target.cell(d, &c) {
			continue
		}
		c.Value = d.cellValue(d.sub(e.Value), e.Key.Pos(), sc)
		if c.Value != nil {
			out = append(out, c)
		}
	}
	for i := range out {
		d.inf.slot(&out[i].Value, sc)
		switch t := target.(type) {
		case cellTable:
			if t.assign {
				d.inf.assign(out[i].Column.Type, &out[i].Value, "column "+t.t.Name+"."+out[i].Name)
				d.inf.written[out[i].Column] = true
			}
		case cellMessage:
			d.inf.assign(t.r.Queue.Field(out[i].Name).Type, &out[i].Value, "field "+out[i].Name+" of "+t.r.Name)
		case cellArgs:
			d.inf.assign(d.methodField(t.m, out[i].Name, out[i].Pos).Type, &out[i].Value, "field "+out[i].Name+" of "+t.m.Name)
		}
	}
	return out
}
