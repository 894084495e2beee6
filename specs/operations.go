package specs

import (
	"fmt"
	"sort"

	"github.com/relplan/relplan/internal/yamlx"
	"github.com/relplan/relplan/specs/ast"
)

func (d *decoder) decodeOperations() {
	k, n := d.root.Lookup("operations")
	if k == nil {
		d.noOps = true
		d.missing("operations", "say what is counted: operations: {payment: 1}")
		return
	}
	entries := d.mapping(n, k.Pos(), "a mapping from operation to count, such as {payment: 1}")
	if n.Kind() == yamlx.Mapping && len(entries) == 0 {
		d.errorf(k.Pos(), "RP003", "no operation is named: promises are counted per operation")
	}
	for _, e := range entries {
		if !d.name(e.Key, "operation") {
			continue
		}
		op := &ast.Operation{Pos: e.Key.Pos(), Name: e.Key.Value(), Count: 1}
		v := d.sub(e.Value)
		if v.Kind() == yamlx.Mapping {
			d.opFields(op, v)
		} else if c, ok := d.number(v, e.Key.Pos(), 1, maxOperations); ok {
			op.Count = c
		}
		d.ops[op.Name] = op
		d.spec.Operations = append(d.spec.Operations, op)
	}
}

func (d *decoder) opFields(op *ast.Operation, n *yamlx.Node) {
	if d.trap(n) {
		return
	}
	if k, c := n.Lookup("count"); k != nil {
		if v, ok := d.number(c, k.Pos(), 1, maxOperations); ok {
			op.Count = v
		}
	}
	for _, e := range n.Entries() {
		name := e.Key.Value()
		if name == "count" {
			continue
		}
		if name == "op" || name == "id" {
			d.errorf(e.Key.Pos(), "RP006", "field %q: every operation has it already, it is the operation itself", name)
			continue
		}
		if !d.name(e.Key, "field") {
			continue
		}
		f := &ast.OpField{Pos: e.Key.Pos(), Name: name, Operation: op}
		v := d.sub(e.Value)
		switch {
		case v.Kind() == yamlx.Sequence && v.Tag() == anyTag:
			f.Kind = ast.FieldAny
			f.Values = d.values(v.Items())
		case v.Kind() == yamlx.Sequence:
			f.Kind = ast.FieldList
			f.Values = d.values(v.Items())
			if len(f.Values) != op.Count {
				d.errorf(v.Pos(), "RP004", "%d values for %d operations: the list gives one per operation", len(v.Items()), op.Count)
			}
		case v.Value() == "same":
		case v.Value() == "distinct":
			f.Kind = ast.FieldDistinct
		case v.Kind() == yamlx.Mapping && v.Get("any").Kind() == yamlx.Sequence:
			d.keys(v, "any")
			f.Kind = ast.FieldAny
			f.Values = d.values(v.Get("any").Items())
		default:
			d.wanted(v, e.Key.Pos(), "RP004", "same, distinct, a list with one value per operation, or any [a, b]", "")
			continue
		}
		op.Fields = append(op.Fields, f)
	}
}

func (d *decoder) values(ns []*yamlx.Node) []ast.Value {
	var out []ast.Value
	for _, n := range ns {
		n = d.sub(n)
		v, ok := constant(n.Value(), n.Quoted())
		if !ok || n.Kind() != yamlx.Scalar {
			d.wanted(n, n.Pos(), "RP004", "a constant: true, 3, ALL_CAPS or 'text'", "")
			continue
		}
		out = append(out, v)
	}
	return out
}

// constant reads a literal.
func constant(s string, quoted bool) (ast.Value, bool) {
	switch {
	case quoted:
		return ast.Value{Kind: ast.TextValue, Text: s}, true
	case s == "none":
		return ast.Value{}, true
	case s == "true", s == "false":
		return ast.Value{Kind: ast.BoolValue, Bool: s == "true"}, true
	case symbolForm.MatchString(s):
		return ast.Value{Kind: ast.SymbolValue, Text: s}, true
	case len(s) > 2 && s[0] == '\'' && s[len(s)-1] == '\'':
		return ast.Value{Kind: ast.TextValue, Text: s[1 : len(s)-1]}, true
	}
	var i int
	if n, err := fmt.Sscanf(s, "%d", &i); err == nil && n == 1 && fmt.Sprint(i) == s && i > -1e9 && i < 1e9 {
		return ast.Value{Kind: ast.IntValue, Int: i}, true
	}
	return ast.Value{}, false
}

func sortStrings(s []string) []string { sort.Strings(s); return s }
