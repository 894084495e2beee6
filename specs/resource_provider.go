package specs

import (
	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/yamlx"
	"github.com/relplan/relplan/specs/ast"
)

func (d *decoder) decodeProvider(r *ast.Resource, v *yamlx.Node) {
	for _, key := range []string{"late_requests", "can_arrive_late"} {
		if k, n := v.Lookup(key); k != nil {
			r.Provider.CanArriveLate = d.flag(n, k.Pos())
		}
	}
	var exec *ast.Method
	for _, m := range r.Provider.Methods {
		if m.Kind == ast.Execute && exec == nil {
			exec = m
		}
	}
	for _, m := range r.Provider.Methods {
		d.decodeMethod(m, v.Get(m.Name), exec)
	}
}

var methodKeys = map[ast.MethodKind][]string{
	ast.Execute: {"about", "effect", "dedup_by", "compares", "keeps", "atomic"},
	ast.Find:    {"about", "by", "of", "lag", "not_found"},
	ast.Cancel:  {"about", "undo", "of", "dedup_by", "compares", "keeps", "atomic", "refuses_after"},
}

func (d *decoder) decodeMethod(m *ast.Method, v *yamlx.Node, exec *ast.Method) {
	d.keys(v, methodKeys[m.Kind]...)
	m.Of = exec
	if k, n := v.Lookup("of"); k != nil {
		if w, ok := d.word(n, k.Pos(), "a method"); ok {
			if m.Of = d.method(m.Resource, w, d.sub(n).Pos()); m.Of == m {
				m.Of = exec
			}
		}
	}
	if k, n := v.Lookup("dedup_by"); k != nil {
		if w, ok := d.word(n, k.Pos(), "a field of the request, or none"); ok && w != "none" {
			m.DedupBy = d.methodField(m, w, d.sub(n).Pos())
		}
	}
	if k, n := v.Lookup("compares"); k != nil {
		for _, i := range d.list(n) {
			if f := d.methodField(m, i.Value(), i.Pos()); f != nil {
				m.Compares = append(m.Compares, f)
			}
		}
	}
	if k, n := v.Lookup("keeps"); k != nil {
		m.Keeps = d.duration(n, k.Pos(), "keys of "+m.Resource.Name+"."+m.Name)
		if m.Keeps != nil && m.Keeps.None {
			m.Keeps = nil
		}
	}
	if k, n := v.Lookup("atomic"); k != nil {
		m.Atomic = d.flag(n, k.Pos())
	}
	if k, n := v.Lookup("refuses_after"); k != nil && d.flag(n, k.Pos()) {
		m.RefusesAfter = m.Of
	}
	if m.Kind == ast.Find {
		d.decodeFind(m, v)
	} else {
		m.Of = map[bool]*ast.Method{true: m.Of}[m.Kind == ast.Cancel]
	}
}

func (d *decoder) decodeFind(m *ast.Method, v *yamlx.Node) {
	if m.Of == nil {
		d.errorf(m.Pos, "RP003", "'%s' looks up what another method did, but %s has no method with an effect", m.Name, m.Resource.Name)
		return
	}
	k, n := v.Lookup("by")
	if w, ok := d.word(n, k.Pos(), "a field of the request, or receipt_id"); ok {
		carried := false
		for _, f := range m.Of.Args {
			carried = carried || f.Name == w
		}
		if !carried && (w == "receipt_id" || w == "receipt") {
			m.ByReceipt = true
		}
		m.By = d.methodField(m, w, d.sub(n).Pos())
	}
	if k, n := v.Lookup("lag"); k != nil {
		m.Lag = d.flag(n, k.Pos())
	}
	if k, n := v.Lookup("not_found"); k != nil {
		w, _ := d.oneOf(n, k.Pos(), "open", "final")
		m.NotFoundFinal = w == "final"
	}
}

// methodField gives the field of the request; fields exist by being sent in
// some call, and a field that no call sends is created with an empty type.
func (d *decoder) methodField(m *ast.Method, name string, pos diag.Pos) *ast.Field {
	for _, f := range m.Args {
		if f.Name == name {
			return f
		}
	}
	f := &ast.Field{Pos: pos, Name: name, Type: &ast.Type{}}
	m.Args = append(m.Args, f)
	return f
}

func (d *decoder) method(r *ast.Resource, name string, pos diag.Pos) *ast.Method {
	var known []string
	for _, m := range r.Provider.Methods {
		if m.Name == name {
			return m
		}
		known = append(known, m.Name)
	}
	d.unknown(pos, "RP010", "method of "+r.Name, name, known)
	return nil
}
