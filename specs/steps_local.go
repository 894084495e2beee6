package specs

import (
	"fmt"
	"strings"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/expr"
	"github.com/relplan/relplan/internal/yamlx"
	"github.com/relplan/relplan/specs/ast"
)

func (d *decoder) letStep(r *rawStep, sc scope) {
	s := r.step
	entries := d.mapping(r.verb, s.Pos, "{name: value}")
	for _, e := range entries {
		v := s.Process.Var(e.Key.Value())
		if v == nil {
			continue
		}
		s.Lets = append(s.Lets, ast.Let{Pos: e.Key.Pos(), Var: v})
	}
	i := 0
	for _, e := range entries {
		if s.Process.Var(e.Key.Value()) == nil {
			continue
		}
		let := &s.Lets[i]
		i++
		val := d.sub(e.Value)
		if val.Kind() == yamlx.Scalar && strings.Contains(val.Value(), "..") {
			if rng, ok := d.rangeOf(val); ok {
				let.Declare = true
				d.declareVar(let.Var, rng, e.Key.Pos())
			}
			continue
		}
		d.expr(&let.Value, val, e.Key.Pos(), sc)
		d.inf.assign(let.Var.Type, &let.Value, let.Var.Name)
	}
}

func (d *decoder) declareVar(v *ast.Var, rng *expr.Range, pos diag.Pos) {
	if v.Declared && (v.Lo != rng.Lo || v.Hi != rng.Hi) {
		d.errorf(pos, "RP006", "'%s' is declared as %d .. %d already", v.Name, v.Lo, v.Hi)
		return
	}
	v.Declared, v.Lo, v.Hi = true, rng.Lo, rng.Hi
	d.inf.ranged(v.Type, rng.Lo, rng.Hi)
}

// rangeOf reads `0 .. 3`.
func (d *decoder) rangeOf(n *yamlx.Node) (*expr.Range, bool) {
	tree, err := expr.ParseOrRange(n.Value())
	if err != nil {
		d.syntax(n, err)
		return nil, false
	}
	rng, ok := tree.(*expr.Range)
	if !ok {
		d.wanted(n, n.Pos(), "RP020", "a range such as 0 .. 3", "")
		return nil, false
	}
	if rng.Hi-rng.Lo > 1000 {
		d.errorf(n.Pos(), "RP020", "a range of more than 1000 values")
		return nil, false
	}
	return rng, true
}

func (d *decoder) localStep(raw *rawProcess, r *rawStep, sc scope) {
	s := r.step
	if k, n := r.arg("when"); k != nil {
		d.expr(&s.When, n, k.Pos(), sc)
	}
	switch s.Verb {
	case ast.VerbGo:
		if w, ok := d.word(r.verb, s.Pos, "a label"); ok {
			s.Target = d.target(raw, s, w, r.verb.Pos())
		}
	case ast.VerbChoose:
		if r.verb.Kind() != yamlx.Sequence || len(r.verb.Items()) < 2 {
			d.wanted(r.verb, s.Pos, "RP004", "a list of at least two labels", "")
			return
		}
		for _, i := range d.list(r.verb) {
			if t := d.target(raw, s, i.Value(), i.Pos()); t != nil {
				s.Choose = append(s.Choose, *t)
			}
		}
		if k, n := r.arg("fair"); k != nil {
			s.Fair = d.flag(n, k.Pos())
		}
	case ast.VerbStop, ast.VerbFail:
		if !d.flag(r.verb, s.Pos) && r.verb.Value() == "false" {
			d.l.Add(diag.Diagnostic{Code: "RP004", Pos: r.verb.Pos(), Message: fmt.Sprintf("%s: false does nothing", s.Verb), Hint: "remove the step"})
		}
	}
}

func withEnd(labels map[string]labelAt) []string {
	out := sortedKeys(labels)
	if !contains(out, "end") {
		out = append(out, "end")
	}
	return out
}

// target resolves a label seen from step s.
func (d *decoder) target(raw *rawProcess, s *ast.Step, label string, pos diag.Pos) *ast.Target {
	t := &ast.Target{Pos: pos, Label: label}
	at, ok := raw.labels[label]
	switch {
	case !ok && label == "end":
		t.Kind = ast.ToEnd
		t.Leaves = s.Block != nil
		return t
	case !ok && strings.Contains(label, " when "):
		d.l.Add(diag.Diagnostic{Code: "RP011", Pos: pos, Message: "expected a label, found '" + label + "'", Hint: "write when: on a line of its own"})
		return nil
	case !ok:
		d.unknown(pos, "RP011", "label", label, withEnd(raw.labels))
		return nil
	case at.block != nil && at.block != s.Block:
		d.l.Add(diag.Diagnostic{Code: "RP016", Pos: pos, Message: fmt.Sprintf("'%s' stands inside a %s: no jump leads into a block", label, at.block.Verb),
			Hint: fmt.Sprintf("put the label on the %s itself (line %d), or on a step outside", at.block.Verb, at.block.Pos.Line)})
		return nil
	}
	t.Leaves = s.Block != nil && at.block == nil
	switch {
	case at.step != nil:
		t.Kind, t.Step = ast.ToStep, at.step
	case at.block != nil:
		t.Kind = ast.ToBlockEnd
	default:
		t.Kind = ast.ToEnd
	}
	return t
}

// inBlock checks what may stand inside transaction: and script:.
func (d *decoder) inBlock(r *rawStep) {
	s := r.step
	b := s.Block
	if b == nil {
		return
	}
	if b.Verb == ast.VerbTransaction {
		if s.Table != nil && b.Resource != nil && s.Resource != b.Resource {
			d.l.Add(diag.Diagnostic{Code: "RP016", Pos: r.verb.Pos(), Message: fmt.Sprintf("table '%s' is in '%s', the transaction is on '%s'", s.Table.Name, s.Resource.Name, b.Resource.Name),
				Hint: "one transaction covers one sql resource"})
		}
		if s.Verb == ast.VerbReply {
			d.errorf(s.Pos, "RP016", "a reply inside a transaction: answer after the commit")
		}
		return
	}
	same := func(o *ast.Resource) bool {
		if o == b.Resource || b.Resource == nil {
			return true
		}
		for _, x := range b.Resource.KV.SameServer {
			if x == o {
				return true
			}
		}
		return false
	}
	switch s.Verb {
	case ast.VerbPut, ast.VerbPutNew, ast.VerbGet, ast.VerbRemove, ast.VerbExpire, ast.VerbSend, ast.VerbSelect:
		if s.Resource != nil && !same(s.Resource) {
			d.l.Add(diag.Diagnostic{Code: "RP016", Pos: r.verb.Pos(), Message: fmt.Sprintf("a script on '%s' cannot touch '%s'", b.Resource.Name, s.Resource.Name),
				Hint: "if they are one server, say so: same_server_as: " + b.Resource.Name})
		}
	case ast.VerbGo, ast.VerbStop, ast.VerbLet, ast.VerbChoose, ast.VerbFail:
	default:
		d.errorf(s.Pos, "RP016", "'%s' inside a script: it holds kv verbs and local decisions only", s.Verb)
	}
}
