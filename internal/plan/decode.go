package plan

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/quantity"
	"github.com/relplan/relplan/internal/yamlx"
)

// Codes of the diagnostics of this package.
const (
	codeKey   = "PLAN-KEY"   // unknown or missing key
	codeValue = "PLAN-VALUE" // a value of the wrong form
	codeRef   = "PLAN-REF"   // a name that is not defined
)

// decoder turns nodes into values and collects every mistake. With a sketch it
// reads nothing and describes what it would read, see schema.go.
type decoder struct {
	l      *diag.List
	sketch *shape
}

// field is one key of a mapping with its reader.
type field struct {
	key      string
	required bool
	read     func(*yamlx.Node)
}

func optional(key string, read func(*yamlx.Node)) field { return field{key, false, read} }
func required(key string, read func(*yamlx.Node)) field { return field{key, true, read} }

// mapping reads the fields of n; what is the thing in messages, such as "a
// workload".
func (d *decoder) mapping(n *yamlx.Node, what string, fields ...field) {
	if d.sketch != nil {
		d.describeFields(what, fields)
		return
	}
	if n.Kind() != yamlx.Mapping {
		d.want(n, what+" as a mapping")
		return
	}
	known := make([]string, len(fields))
	for i, f := range fields {
		known[i] = f.key
		_, v := n.Lookup(f.key)
		switch {
		case v != nil:
			f.read(v)
		case f.required:
			d.l.Add(diag.Diagnostic{Code: codeKey, Pos: n.Pos(), Message: what + " needs the key '" + f.key + "'", Expected: f.key})
		}
	}
	yamlx.UnknownKeys(n, d.l, codeKey, known...)
}

// items reads a list; expected describes it in messages.
func (d *decoder) items(n *yamlx.Node, expected string, read func(item *yamlx.Node)) {
	if d.sketch != nil {
		d.describeItems(expected, read)
		return
	}
	if n.Kind() != yamlx.Sequence {
		d.want(n, expected)
		return
	}
	for _, item := range n.Items() {
		read(item)
	}
}

// short reads the form of one value of what may also be a mapping; false when
// the mapping is to be read.
func (d *decoder) short(n *yamlx.Node, read func(*yamlx.Node)) bool {
	if d.sketch == nil && n.Kind() != yamlx.Scalar {
		return false
	}
	read(n)
	return d.sketch == nil
}

// want adds "expected E, found F".
func (d *decoder) want(n *yamlx.Node, expected string) {
	if d.describe(&shape{text: expected}) {
		return
	}
	d.l.Add(diag.Diagnostic{Code: codeValue, Pos: n.Pos(), Message: "expected " + expected + ", found " + n.Describe(), Expected: expected, Found: n.Describe()})
}

// each reads a mapping from names to things, in file order.
func (d *decoder) each(n *yamlx.Node, what string, read func(name string, pos diag.Pos, v *yamlx.Node)) {
	if d.sketch != nil {
		d.describeEach(what, read)
		return
	}
	if n.Kind() == yamlx.Null {
		return
	}
	if n.Kind() != yamlx.Mapping {
		d.want(n, "a mapping from names to "+what)
		return
	}
	for _, e := range n.Entries() {
		read(e.Key.Value(), e.Key.Pos(), e.Value)
	}
}

// parsed makes a field reader out of a parser of text.
func parsed[T any](d *decoder, out *Value[T], parse func(string) (T, error)) func(*yamlx.Node) {
	return func(n *yamlx.Node) {
		if n.Kind() != yamlx.Scalar {
			_, err := parse("")
			d.bad(n, err)
			return
		}
		v, err := parse(n.Value())
		if err != nil {
			d.bad(n, err)
			return
		}
		*out = Value[T]{V: v, Set: true, Pos: n.Pos()}
	}
}

// bad turns a parser's error into a diagnostic at n.
func (d *decoder) bad(n *yamlx.Node, err error) {
	if d.sketch != nil {
		d.describeText(err)
		return
	}
	g := diag.Diagnostic{Code: codeValue, Pos: n.Pos(), Message: "unexpected value", Found: n.Describe()}
	var se *quantity.SyntaxError
	if errors.As(err, &se) {
		g.Expected, g.Hint = se.Expected, se.Hint
		g.Message = "expected " + se.Expected + ", found " + n.Describe()
	} else if err != nil {
		g.Message = err.Error()
	}
	d.l.Add(g)
}

func (d *decoder) duration(out *Value[time.Duration]) func(*yamlx.Node) {
	return parsed(d, out, quantity.ParseDuration)
}
func (d *decoder) bytes(out *Value[int64]) func(*yamlx.Node) {
	return parsed(d, out, quantity.ParseBytes)
}
func (d *decoder) ratio(out *Value[float64]) func(*yamlx.Node) {
	return parsed(d, out, quantity.ParseRatio)
}
func (d *decoder) rate(out *Value[quantity.Rate]) func(*yamlx.Node) {
	return parsed(d, out, quantity.ParseRate)
}

// text reads any single value.
func (d *decoder) text(out *Value[string]) func(*yamlx.Node) {
	return parsed(d, out, func(s string) (string, error) {
		if s == "" {
			return "", &quantity.SyntaxError{Expected: "a name"}
		}
		return s, nil
	})
}

// oneOf reads one of the words.
func (d *decoder) oneOf(out *Value[string], words ...string) func(*yamlx.Node) {
	read := parsed(d, out, func(s string) (string, error) {
		if slices.Contains(words, s) {
			return s, nil
		}
		e := &quantity.SyntaxError{Text: s, Expected: "one of " + strings.Join(words, ", ")}
		if near, ok := diag.Closest(s, words); ok {
			e.Hint = "did you mean: " + near
		}
		return "", e
	})
	return func(n *yamlx.Node) {
		if !d.describe(&shape{words: words}) {
			read(n)
		}
	}
}

// count reads a whole number of at least low.
func (d *decoder) count(out *Value[int64], low int64) func(*yamlx.Node) {
	return parsed(d, out, func(s string) (int64, error) {
		v, err := quantity.ParseCount(s)
		if err == nil && v < low {
			err = &quantity.SyntaxError{Text: s, Expected: "a whole number of at least " + quantity.Itoa(low)}
		}
		return v, err
	})
}

// number reads a decimal number of at least low.
func (d *decoder) number(out *Value[float64], low float64) func(*yamlx.Node) {
	return func(n *yamlx.Node) {
		v, ok := n.Float()
		if !ok || v < low {
			d.want(n, "a number of at least "+quantity.Ftoa(low))
			return
		}
		*out = Value[float64]{V: v, Set: true, Pos: n.Pos()}
	}
}

// flag reads true or false.
func (d *decoder) flag(out *bool) func(*yamlx.Node) {
	return func(n *yamlx.Node) {
		v, ok := n.Bool()
		if !ok {
			d.want(n, "true or false")
			return
		}
		*out = v
	}
}

// texts reads a list of single values.
func (d *decoder) texts(out *[]Value[string]) func(*yamlx.Node) {
	return func(n *yamlx.Node) {
		d.items(n, "a list of names", func(item *yamlx.Node) {
			var v Value[string]
			d.text(&v)(item)
			*out = append(*out, v)
		})
	}
}
