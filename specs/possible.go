package specs

import (
	"strings"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/yamlx"
	"github.com/relplan/relplan/specs/ast"
)

func (a args) branchTaken(named bool) ast.Reachable {
	s := &ast.BranchTaken{Outcome: ast.NumOutcomes}
	m := a.got["branch"]
	var known []string
	for o := ast.IfExists; o < ast.NumOutcomes; o++ {
		known = append(known, o.String())
		if o.String() == m.text {
			s.Outcome = o
		}
	}
	if s.Outcome == ast.NumOutcomes {
		a.d.unknown(m.pos, "RP033", "branch", m.text, known)
		a.failed()
	}
	if named {
		s.Process = a.proc("process")
		s.Step = a.step("process", "label")
		return s
	}
	l := a.got["label"]
	var all []string
	for _, p := range a.d.spec.Processes {
		raw := a.d.raw[p]
		all = append(all, sortedKeys(raw.labels)...)
		if at, ok := raw.labels[l.text]; ok && at.step != nil {
			s.Process, s.Step = p, at.step
		}
	}
	if s.Step == nil {
		a.d.unknown(l.pos, "RP011", "label", l.text, all)
		a.failed()
	}
	return s
}

func (d *decoder) decodePossible() {
	k, n := d.root.Lookup("must_be_possible")
	if k == nil {
		return
	}
	n = d.sub(n)
	if n.Kind() != yamlx.Sequence {
		d.wanted(n, k.Pos(), "RP033", "a list of sentences", "")
		return
	}
	for _, item := range n.Items() {
		item = d.sub(item)
		switch item.Kind() {
		case yamlx.Scalar:
			d.possibleText(item)
		case yamlx.Mapping:
			if !d.trap(item) && d.only(item) {
				d.possibleMap(item)
			}
		default:
			d.wanted(item, k.Pos(), "RP033", "a sentence", "")
		}
	}
}

func (d *decoder) possible(pos diag.Pos, text string, f *form, got map[string]match) {
	fail := false
	r := f.reach(d, args{d: d, got: got, fail: &fail})
	if fail {
		return
	}
	d.spec.MustBePossible = append(d.spec.MustBePossible, &ast.Possibility{Pos: pos, Text: text, Body: r})
}

// possibleText reads a sentence; what is none is taken as a bare expression
// when it looks like one.
func (d *decoder) possibleText(n *yamlx.Node) {
	if strings.ContainsAny(n.Value(), "()=<>") {
		d.reachExpr(n, n)
		return
	}
	if f, got := d.parse(n, possibleForms, "RP033"); f != nil {
		d.possible(n.Pos(), strings.Join(strings.Fields(n.Value()), " "), f, got)
	}
}

func (d *decoder) reachExpr(n, at *yamlx.Node) {
	r := &ast.Reach{}
	cs := &checkScope{}
	d.exprText(&r.Expr, n, scope{d: d, promise: true, check: cs})
	if r.Expr == nil {
		return
	}
	r.Process = cs.proc
	if cs.bound != nil {
		r.Bound, r.Operation = cs.bound, cs.bound.Operation
	}
	d.spec.MustBePossible = append(d.spec.MustBePossible, &ast.Possibility{Pos: at.Pos(), Text: strings.Join(strings.Fields(n.Value()), " "), Body: r})
}

func (d *decoder) possibleMap(n *yamlx.Node) {
	if k, e := n.Lookup("reach"); k != nil {
		d.keys(n, "reach", "only")
		if e = d.sub(e); e.Kind() != yamlx.Scalar {
			d.wanted(e, k.Pos(), "RP033", "a condition", "")
			return
		}
		d.reachExpr(e, e)
		return
	}
	if k, s := n.Lookup("possible"); k != nil {
		d.keys(n, "possible", "only")
		if s = d.sub(s); s.Kind() == yamlx.Scalar {
			d.possibleText(s)
		} else {
			d.wanted(s, k.Pos(), "RP033", "a sentence", "")
		}
		return
	}
	f, got := d.mapForm(n, possibleForms, "RP033", "reach", "possible")
	if f != nil {
		d.possible(n.Pos(), sentenceOf(f, func(name string) string { return got[name].text }), f, got)
	}
}
