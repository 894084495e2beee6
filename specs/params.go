package specs

import (
	"fmt"
	"strings"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/yamlx"
	"github.com/relplan/relplan/specs/ast"
)

// param is a declared parameter.
type param struct {
	name    string
	pos     diag.Pos
	value   *yamlx.Node
	allowed []*yamlx.Node // nil: a range, or only the default
	lo, hi  int
	ranged  bool
}

// text renders a parameter's value on one line.
func text(n *yamlx.Node) string {
	switch n.Kind() {
	case yamlx.Scalar:
		return n.Value()
	case yamlx.Sequence:
		parts := make([]string, len(n.Items()))
		for i, x := range n.Items() {
			parts[i] = text(x)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case yamlx.Mapping:
		parts := make([]string, len(n.Entries()))
		for i, e := range n.Entries() {
			parts[i] = e.Key.Value() + ": " + text(e.Value)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return "none"
}

func (d *decoder) decodeParams(v variantNode, o Options) {
	k, n := d.root.Lookup("parameters")
	if k != nil {
		for _, e := range d.mapping(n, k.Pos(), "a mapping from the name of a parameter to its values") {
			d.declareParam(e)
		}
	}
	if v.node != nil {
		if wk, with := v.node.Lookup("with"); wk != nil {
			for _, e := range d.mapping(with, wk.Pos(), "a mapping from parameter to value") {
				d.setParam(e.Key.Pos(), e.Key.Value(), e.Value)
			}
		}
	}
	for _, name := range sortedKeys(o.With) {
		l := &diag.List{}
		docs := yamlx.Parse(d.file, []byte(o.With[name]), yamlx.Limits{}, l)
		if len(docs) == 1 && !l.HasErrors() {
			d.setParam(diag.Pos{File: d.file}, name, docs[0])
		}
	}
	for _, p := range d.order {
		d.spec.Parameters = append(d.spec.Parameters, ast.Parameter{Pos: p.pos, Name: p.name, Value: text(p.value)})
	}
}

func (d *decoder) declareParam(e yamlx.Entry) {
	if !d.name(e.Key, "parameter") {
		return
	}
	p := &param{name: e.Key.Value(), pos: e.Key.Pos()}
	switch e.Value.Kind() {
	case yamlx.Scalar:
		p.value = e.Value
	case yamlx.Sequence:
		if len(e.Value.Items()) == 0 {
			d.errorf(e.Value.Pos(), "RP050", "parameter '%s' has no values", p.name)
			d.declared[p.name] = true
			return
		}
		p.allowed = e.Value.Items()
		p.value = p.allowed[0]
	case yamlx.Mapping:
		d.keys(e.Value, "default", "in", "about")
		p.value = e.Value.Get("default")
		if ik, in := e.Value.Lookup("in"); ik != nil {
			var lo, hi int
			if in.Kind() == yamlx.Sequence && len(in.Items()) > 0 {
				p.allowed = in.Items()
				if p.value == nil {
					p.value = p.allowed[0]
				}
			} else if _, err := fmt.Sscanf(strings.ReplaceAll(strings.ReplaceAll(in.Value(), " ", ""), "..", " "), "%d %d", &lo, &hi); err == nil && lo <= hi {
				p.ranged, p.lo, p.hi = true, lo, hi
			} else {
				d.wanted(in, ik.Pos(), "RP050", "a range such as 2..8, or a list of values", "")
			}
		}
		if p.value == nil {
			d.l.Add(diag.Diagnostic{Code: "RP050", Pos: e.Key.Pos(), Message: "parameter '" + p.name + "' has no default", Hint: p.name + ": {default: 2, in: 2..8}"})
			d.declared[p.name] = true
			return
		}
	default:
		d.wanted(e.Value, e.Key.Pos(), "RP050", "a value, a list of values or {default: .., in: ..}", "")
		d.declared[p.name] = true
		return
	}
	d.params[p.name] = p
	d.order = append(d.order, p)
	if !p.admits(p.value) {
		d.errorf(p.value.Pos(), "RP050", "the default %s of '%s' is not among its values", p.value.Describe(), p.name)
	}
}

// admits says whether v is a value that the parameter declares.
func (p *param) admits(v *yamlx.Node) bool {
	if p.ranged {
		i, ok := v.Int()
		return ok && int(i) >= p.lo && int(i) <= p.hi
	}
	if p.allowed == nil {
		return true
	}
	for _, a := range p.allowed {
		if text(a) == text(v) && a.Kind() == v.Kind() {
			return true
		}
	}
	return false
}

func (d *decoder) setParam(pos diag.Pos, name string, v *yamlx.Node) {
	p, ok := d.params[name]
	if !ok {
		d.unknown(pos, "RP050", "parameter", name, d.paramNames(""))
		return
	}
	if !p.admits(v) {
		var known []string
		for _, a := range p.allowed {
			known = append(known, text(a))
		}
		expected := strings.Join(known, ", ")
		if p.ranged {
			expected = fmt.Sprintf("%d..%d", p.lo, p.hi)
		}
		at := pos
		if v.Pos().Line > 0 && pos.Line > 0 {
			at = v.Pos()
		}
		dg := diag.Diagnostic{Code: "RP050", Pos: at, Message: fmt.Sprintf("'%s' is not a value of the parameter '%s'", text(v), name), Expected: expected}
		if c, ok := diag.Closest(text(v), known); ok {
			dg.Hint = "did you mean: " + c
		}
		d.l.Add(dg)
		return
	}
	p.value = v
}
