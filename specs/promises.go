package specs

import (
	"fmt"
	"sort"
	"strings"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/yamlx"
	"github.com/relplan/relplan/specs/ast"
)

func (a args) check(mode ast.Mode) ast.Sentence {
	c := &ast.Check{Mode: mode}
	cs := &checkScope{}
	a.expr(&c.Expr, "check", scope{d: a.d, promise: true, check: cs})
	a.d.finishCheck(c, cs)
	return c
}

// finishCheck notes what the check is stated for.
func (d *decoder) finishCheck(c *ast.Check, cs *checkScope) {
	c.Process = cs.proc
	if cs.bound != nil {
		c.Bound, c.Operation = cs.bound, cs.bound.Operation
	}
}

func (d *decoder) decodePromises() {
	k, n := d.root.Lookup("promises")
	if k == nil {
		d.missing("promises", "say what must hold: promises: {once: effect E happens at most once per OP}")
		return
	}
	n = d.sub(n)
	switch n.Kind() {
	case yamlx.Sequence:
		for i, item := range n.Items() {
			d.promise(fmt.Sprintf("p%d", i+1), i+1, item, item.Pos())
		}
	case yamlx.Mapping:
		for i, e := range n.Entries() {
			if !d.name(e.Key, "promise") {
				continue
			}
			if e.Key.Value() == "all" {
				d.errorf(e.Key.Pos(), "RP006", "'all' names every promise in expect:")
				continue
			}
			d.promise(e.Key.Value(), i+1, e.Value, e.Key.Pos())
		}
	default:
		d.wanted(n, k.Pos(), "RP004", "a mapping from name to sentence, or a list of sentences", "")
	}
}

func (d *decoder) promise(name string, number int, n *yamlx.Node, at diag.Pos) {
	n = d.sub(n)
	p := &ast.Promise{Pos: n.Pos(), Name: name, Number: number}
	switch n.Kind() {
	case yamlx.Scalar:
		f, got := d.parse(n, promiseForms, "RP031")
		if f == nil {
			d.declared[name] = true
			return
		}
		p.Text = strings.Join(strings.Fields(n.Value()), " ")
		p.Body = d.build(f, got)
	case yamlx.Mapping:
		if d.trap(n) || !d.only(n) {
			d.declared[name] = true
			return
		}
		d.promiseMap(p, n)
	default:
		d.wanted(n, at, "RP031", "a sentence", "")
	}
	if p.Body == nil {
		d.declared[name] = true
		return
	}
	d.spec.Promises = append(d.spec.Promises, p)
}

func (d *decoder) build(f *form, got map[string]match) ast.Sentence {
	fail := false
	s := f.build(d, args{d: d, got: got, fail: &fail})
	if fail {
		return nil
	}
	return s
}

// promiseMap reads a map form: {at_most_once: {..}}, {check: EXPR, always: true}
// or {promise: SENTENCE, only: ..}.
func (d *decoder) promiseMap(p *ast.Promise, n *yamlx.Node) {
	if k, _ := n.Lookup("check"); k != nil {
		d.checkMap(p, n)
		return
	}
	if k, s := n.Lookup("promise"); k != nil {
		d.keys(n, "promise", "only")
		if s = d.sub(s); s.Kind() != yamlx.Scalar {
			d.wanted(s, k.Pos(), "RP031", "a sentence", "")
			return
		}
		f, got := d.parse(s, promiseForms, "RP031")
		if f != nil {
			p.Pos, p.Text = s.Pos(), strings.Join(strings.Fields(s.Value()), " ")
			p.Body = d.build(f, got)
		}
		return
	}
	f, got := d.mapForm(n, promiseForms, "RP032", "check", "promise")
	if f == nil {
		return
	}
	p.Text = sentenceOf(f, func(name string) string { return got[name].text })
	p.Body = d.build(f, got)
}

var checkModes = map[string]ast.Mode{"always": ast.Always, "eventually": ast.Eventually, "finally": ast.Finally}

// checkMap reads {check: EXPR, always: true} and {check: EXPR, leads_to: EXPR}.
func (d *decoder) checkMap(p *ast.Promise, n *yamlx.Node) {
	d.keys(n, "check", "always", "eventually", "finally", "leads_to", "only")
	c := &ast.Check{}
	cs := &checkScope{}
	sc := scope{d: d, promise: true, check: cs}
	k, e := n.Lookup("check")
	if e = d.sub(e); e.Kind() != yamlx.Scalar {
		d.wanted(e, k.Pos(), "RP020", "a condition", "")
		return
	}
	d.exprText(&c.Expr, e, sc)
	var modes []string
	for name := range checkModes {
		if mk, m := n.Lookup(name); mk != nil && d.flag(m, mk.Pos()) {
			modes = append(modes, name)
			c.Mode = checkModes[name]
		}
	}
	word := strings.Join(modes, ", ")
	if lk, to := n.Lookup("leads_to"); lk != nil {
		modes = append(modes, "leads_to")
		c.Mode = ast.LeadsTo
		if to = d.sub(to); to.Kind() == yamlx.Scalar {
			d.exprText(&c.To, to, sc)
			word = "leads_to " + to.Value()
		} else {
			d.wanted(to, lk.Pos(), "RP020", "a condition", "")
		}
	}
	sort.Strings(modes)
	switch {
	case len(modes) == 0 && !(d.lacks(n, "always") && d.lacks(n, "eventually") && d.lacks(n, "finally") && d.lacks(n, "leads_to")):
		return
	case len(modes) == 0:
		d.l.Add(diag.Diagnostic{Code: "RP032", Pos: k.Pos(), Message: "check: does not say when", Hint: "add always: true, eventually: true, finally: true or leads_to: EXPR"})
		return
	case len(modes) > 1:
		d.errorf(k.Pos(), "RP032", "check: says %s: one of them", strings.Join(modes, " and "))
		return
	}
	if c.Expr == nil || c.Mode == ast.LeadsTo && c.To == nil {
		return
	}
	d.finishCheck(c, cs)
	p.Pos = e.Pos()
	p.Text = "check: " + strings.Join(strings.Fields(e.Value()), " ") + " (" + word + ")"
	p.Body = c
}
