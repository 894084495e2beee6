package specs

import (
	"fmt"
	"strings"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/yamlx"
)

// mapForm finds the form whose key and arguments stand in n.
func (d *decoder) mapForm(n *yamlx.Node, forms []*form, code string, also ...string) (*form, map[string]match) {
	prepare()
	keys := map[string]bool{}
	for _, f := range forms {
		keys[f.key] = true
	}
	var key, val *yamlx.Node
	for _, e := range n.Entries() {
		switch {
		case e.Key.Value() == "only":
		case keys[e.Key.Value()] && key == nil:
			key, val = e.Key, d.sub(e.Value)
		default:
			d.unknownForm(e.Key, append(sortedKeys(keys), also...), code)
			return nil, nil
		}
	}
	if key == nil {
		d.errorf(n.Pos(), code, "an empty promise")
		return nil, nil
	}
	if val.Kind() != yamlx.Mapping {
		d.wanted(val, key.Pos(), code, "the arguments of "+key.Value()+", a mapping", exampleForm(forms, key.Value()))
		return nil, nil
	}
	if d.trap(val) {
		return nil, nil
	}
	return d.mapArgs(key, val, forms, code)
}

func (d *decoder) unknownForm(key *yamlx.Node, known []string, code string) {
	dg := diag.Diagnostic{Code: code, Pos: key.Pos(), Message: "unknown promise '" + key.Value() + "'", Found: key.Describe()}
	if code == "RP033" {
		dg.Message = "unknown key '" + key.Value() + "'"
	}
	if c, ok := suggest(key.Value(), known); ok {
		dg.Hint = "did you mean: " + c
	} else {
		dg.Hint = "map forms: " + strings.Join(known, ", ")
	}
	d.l.Add(dg)
}

func exampleForm(forms []*form, key string) string {
	for _, f := range forms {
		if f.key == key {
			return key + ": {" + strings.Join(f.argNames(), ": .., ") + ": ..}"
		}
	}
	return ""
}

// argNames are the arguments of the map form, in the order of the sentence.
func (f *form) argNames() []string {
	prepare()
	var out []string
	for _, p := range f.phrases {
		if p.slot != "" && fixedSlots[p.slot] == nil {
			out = append(out, p.arg)
		}
	}
	return out
}

func (d *decoder) mapArgs(key, val *yamlx.Node, forms []*form, code string) (*form, map[string]match) {
	given := map[string]*yamlx.Node{}
	flags := map[string]string{}
	known := map[string]bool{}
	for _, f := range forms {
		if f.key != key.Value() {
			continue
		}
		for _, a := range f.argNames() {
			known[a] = true
		}
		for a := range f.flags {
			known[a] = true
		}
	}
	bad := false
	for _, e := range val.Entries() {
		v := d.sub(e.Value)
		name := e.Key.Value()
		if !known[name] {
			dg := diag.Diagnostic{Code: code, Pos: e.Key.Pos(), Message: fmt.Sprintf("unknown argument '%s' of %s", name, key.Value()), Found: e.Key.Describe()}
			if c, ok := suggest(name, sortedKeys(known)); ok {
				dg.Hint = "did you mean: " + c
			} else {
				dg.Hint = exampleForm(forms, key.Value())
			}
			d.l.Add(dg)
			bad = true
			continue
		}
		if v.Kind() != yamlx.Scalar {
			d.wanted(v, e.Key.Pos(), code, "a single value", "")
			bad = true
			continue
		}
		if v.Value() == "false" && isFlag(forms, key.Value(), name) {
			continue
		}
		if isFlag(forms, key.Value(), name) {
			flags[name] = v.Value()
			continue
		}
		given[name] = v
	}
	if bad {
		return nil, nil
	}
	for _, f := range forms {
		if f.key != key.Value() || !sameArgs(f, given, flags) {
			continue
		}
		got := map[string]match{}
		for name, v := range given {
			got[name] = match{text: v.Value(), pos: v.Pos(), src: v}
		}
		return f, got
	}
	d.l.Add(diag.Diagnostic{Code: code, Pos: key.Pos(), Message: "the arguments of " + key.Value() + " do not make a sentence: " + strings.Join(sortedKeys(given), ", "),
		Hint: exampleForm(forms, key.Value())})
	return nil, nil
}

func isFlag(forms []*form, key, name string) bool {
	for _, f := range forms {
		if _, ok := f.flags[name]; ok && f.key == key {
			return true
		}
	}
	return false
}

func sameArgs(f *form, given map[string]*yamlx.Node, flags map[string]string) bool {
	names := f.argNames()
	if len(names) != len(given) || len(f.flags) != len(flags) {
		return false
	}
	for _, n := range names {
		if given[n] == nil {
			return false
		}
	}
	for k, v := range f.flags {
		if flags[k] != v {
			return false
		}
	}
	return true
}
