package specs

import (
	"slices"
	"strconv"
	"strings"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/expr"
	"github.com/relplan/relplan/internal/yamlx"
)

// only evaluates the `only:` of a mapping; true without one, or after an error.
func (d *decoder) only(n *yamlx.Node) bool {
	k, v := n.Lookup("only")
	if k == nil {
		return true
	}
	v = d.sub(v)
	if v.Kind() != yamlx.Scalar {
		d.wanted(v, k.Pos(), "RP053", "a condition over parameters", "")
		return true
	}
	tree, err := expr.Parse(v.Value())
	if err != nil {
		d.syntax(v, err)
		return true
	}
	o := &onlyEval{d: d, src: v}
	r := o.eval(tree)
	if o.bad {
		return true
	}
	if r != "true" && r != "false" {
		d.errorf(v.Pos(), "RP053", "only: takes a condition, '%s' is %s", v.Value(), r)
		return true
	}
	return r == "true"
}

// onlyEval computes a condition over parameters; values are their texts.
type onlyEval struct {
	d   *decoder
	src *yamlx.Node
	bad bool
}

func (o *onlyEval) fail(n expr.Node, format string, a ...any) string {
	if !o.bad {
		x, y := n.Span()
		o.d.errorf(span(o.src, x, y), "RP053", format, a...)
	}
	o.bad = true
	return ""
}

func truth(b bool) string { return strconv.FormatBool(b) }

func (o *onlyEval) eval(n expr.Node) string {
	switch x := n.(type) {
	case *expr.Word:
		return o.word(x)
	case *expr.Int:
		return strconv.Itoa(x.Value)
	case *expr.Text:
		return x.Value
	case *expr.List:
		parts := make([]string, len(x.Items))
		for i, y := range x.Items {
			parts[i] = o.item(y)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case *expr.Unary:
		if x.Op == "not" {
			return truth(o.cond(x.X) == "false")
		}
	case *expr.Binary:
		return o.binary(x)
	case *expr.In:
		v, found := o.eval(x.X), false
		for _, y := range x.List.Items {
			found = found || o.item(y) == v
		}
		return truth(found != x.Not)
	}
	return o.fail(n, "only: knows parameters, constants, ==, !=, <, and, or, not, in")
}

// item is a list item: any word is a constant there.
func (o *onlyEval) item(n expr.Node) string {
	if w, ok := n.(*expr.Word); ok {
		return w.Name
	}
	return o.eval(n)
}

func (o *onlyEval) cond(n expr.Node) string {
	v := o.eval(n)
	if !o.bad && v != "true" && v != "false" {
		return o.fail(n, "expected true or false, found %s", v)
	}
	return v
}

func (o *onlyEval) word(w *expr.Word) string {
	name := strings.TrimPrefix(w.Name, "$")
	if p, ok := o.d.params[name]; ok {
		return text(p.value)
	}
	switch {
	case name == "true", name == "false", name == "none", symbolForm.MatchString(name), o.d.paramWord(name):
		return name
	case o.d.declared[name]:
		o.bad = true
		return ""
	}
	if !o.bad {
		x, y := w.Span()
		dg := diag.Diagnostic{Code: "RP053", Pos: span(o.src, x, y), Message: "unknown parameter '" + name + "'", Found: "'" + name + "'"}
		known := o.d.paramNames("")
		for _, p := range o.d.order {
			for _, a := range p.allowed {
				known = append(known, text(a))
			}
		}
		if c, ok := suggest(name, known); ok {
			dg.Hint = "did you mean: " + c
		} else {
			dg.Hint = "only: is decided when the file is read, from parameters; a condition on data is `go: LABEL when: ..`"
		}
		o.d.l.Add(dg)
	}
	o.bad = true
	return ""
}

// ambiguous: a word that is a parameter and also a value of the parameter it is
// compared with could mean either.
func (o *onlyEval) ambiguous(param, other expr.Node) {
	p, ok1 := param.(*expr.Word)
	w, ok2 := other.(*expr.Word)
	if !ok1 || !ok2 || o.d.params[w.Name] == nil || w.Name == p.Name {
		return
	}
	of := o.d.params[strings.TrimPrefix(p.Name, "$")]
	if of != nil && slices.ContainsFunc(of.allowed, func(n *yamlx.Node) bool { return text(n) == w.Name }) {
		o.fail(w, "'%s' is a parameter and also a value of '%s': write $%s or '%s', or rename one", w.Name, p.Name, w.Name, w.Name)
	}
}

func (o *onlyEval) binary(x *expr.Binary) string {
	switch x.Op {
	case "and":
		return truth(o.cond(x.X) == "true" && o.cond(x.Y) == "true")
	case "or":
		a, b := o.cond(x.X), o.cond(x.Y)
		return truth(a == "true" || b == "true")
	case "implies":
		a, b := o.cond(x.X), o.cond(x.Y)
		return truth(a != "true" || b == "true")
	}
	a, b := o.eval(x.X), o.eval(x.Y)
	o.ambiguous(x.X, x.Y)
	o.ambiguous(x.Y, x.X)
	switch x.Op {
	case "==":
		return truth(a == b)
	case "!=":
		return truth(a != b)
	}
	i, err1 := strconv.Atoi(a)
	j, err2 := strconv.Atoi(b)
	if o.bad {
		return ""
	}
	if err1 != nil || err2 != nil {
		return o.fail(x, "'%s' compares numbers, found %s and %s", x.Op, a, b)
	}
	switch x.Op {
	case "<":
		return truth(i < j)
	case "<=":
		return truth(i <= j)
	case ">":
		return truth(i > j)
	case ">=":
		return truth(i >= j)
	case "+":
		return strconv.Itoa(i + j)
	}
	return strconv.Itoa(i - j)
}
