// Package schematest validates documents against the JSON Schemas of this
// project, for tests.
package schematest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/yamlx"
)

// Value reads a YAML document into plain values, as a JSON Schema sees them.
func Value(t *testing.T, src string) any {
	t.Helper()
	l := &diag.List{}
	docs := yamlx.Parse("x", []byte(src), yamlx.Limits{}, l)
	if len(docs) != 1 {
		t.Fatal(l.Sorted())
	}
	var conv func(n *yamlx.Node) any
	conv = func(n *yamlx.Node) any {
		switch n.Kind() {
		case yamlx.Mapping:
			m := map[string]any{}
			for _, e := range n.Entries() {
				m[e.Key.Value()] = conv(e.Value)
			}
			return m
		case yamlx.Sequence:
			out := []any{}
			for _, i := range n.Items() {
				out = append(out, conv(i))
			}
			return out
		case yamlx.Null:
			return nil
		}
		if b, ok := n.Bool(); ok {
			return b
		}
		if i, ok := n.Int(); ok {
			return float64(i)
		}
		return n.Value()
	}
	return conv(docs[0])
}

// Validator is the part of JSON Schema that the document uses; a keyword that
// it does not know fails the test.
type Validator struct{ root map[string]any }

// New reads a schema; a keyword that it does not know fails the test.
func New(t *testing.T, schema []byte) *Validator {
	t.Helper()
	v := &Validator{}
	if err := json.Unmarshal(schema, &v.root); err != nil {
		t.Fatal(err)
	}
	v.check(t, v.root)
	return v
}

var knownKeywords = []string{"$schema", "$id", "$defs", "$ref", "title", "description", "type", "required", "properties", "additionalProperties", "items", "anyOf",
	"enum", "const", "pattern", "minimum", "maximum", "minProperties"}

func (v *Validator) check(t *testing.T, s any) {
	m, ok := s.(map[string]any)
	if !ok {
		return
	}
	for k, x := range m {
		if !slices.Contains(knownKeywords, k) {
			t.Errorf("keyword %s", k)
		}
		switch k {
		case "properties", "$defs":
			for _, y := range x.(map[string]any) {
				v.check(t, y)
			}
		case "anyOf":
			for _, y := range x.([]any) {
				v.check(t, y)
			}
		case "items", "additionalProperties":
			v.check(t, x)
		case "$ref":
			if v.find(x.(string)) == nil {
				t.Errorf("%s leads nowhere", x)
			}
		}
	}
}

func (v *Validator) find(ref string) map[string]any {
	m, _ := v.root["$defs"].(map[string]any)[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
	return m
}

// Validate lists what is wrong with a value.
func (v *Validator) Validate(x any) []string { return v.at("", v.root, x) }

func (v *Validator) at(path string, s map[string]any, x any) (errs []string) {
	fail := func(format string, a ...any) { errs = append(errs, path+": "+fmt.Sprintf(format, a...)) }
	if r, ok := s["$ref"].(string); ok {
		return v.at(path, v.find(r), x)
	}
	if list, ok := s["anyOf"].([]any); ok {
		var all []string
		for _, alt := range list {
			e := v.at(path, alt.(map[string]any), x)
			if len(e) == 0 {
				return nil
			}
			all = append(all, e...)
		}
		return all
	}
	if c, ok := s["const"]; ok && c != x {
		fail("is not %v", c)
	}
	if e, ok := s["enum"].([]any); ok && !slices.Contains(e, x) {
		fail("%v is not in %v", x, e)
	}
	if tp, ok := s["type"]; ok && !typeFits(tp, x) {
		fail("%T is not %v", x, tp)
		return errs
	}
	if p, ok := s["pattern"].(string); ok {
		if str, is := x.(string); is && !regexp.MustCompile(p).MatchString(str) {
			fail("%q does not match %s", str, p)
		}
	}
	if n, ok := x.(float64); ok {
		if lo, has := s["minimum"].(float64); has && n < lo {
			fail("%v is below %v", n, lo)
		}
		if hi, has := s["maximum"].(float64); has && n > hi {
			fail("%v is above %v", n, hi)
		}
	}
	switch y := x.(type) {
	case map[string]any:
		errs = append(errs, v.object(path, s, y)...)
	case []any:
		if item, ok := s["items"].(map[string]any); ok {
			for i, z := range y {
				errs = append(errs, v.at(fmt.Sprintf("%s[%d]", path, i), item, z)...)
			}
		}
	}
	return errs
}

func (v *Validator) object(path string, s, x map[string]any) (errs []string) {
	props, _ := s["properties"].(map[string]any)
	if req, ok := s["required"].([]any); ok {
		for _, r := range req {
			if _, has := x[r.(string)]; !has {
				errs = append(errs, path+": no "+r.(string))
			}
		}
	}
	if n, ok := s["minProperties"].(float64); ok && float64(len(x)) < n {
		errs = append(errs, path+": too few keys")
	}
	for k, y := range x {
		if p, ok := props[k].(map[string]any); ok {
			errs = append(errs, v.at(path+"."+k, p, y)...)
			continue
		}
		switch a := s["additionalProperties"].(type) {
		case bool:
			if !a {
				errs = append(errs, path+": key "+k)
			}
		case map[string]any:
			errs = append(errs, v.at(path+"."+k, a, y)...)
		}
	}
	return errs
}

func typeFits(tp, x any) bool {
	if list, ok := tp.([]any); ok {
		for _, y := range list {
			if typeFits(y, x) {
				return true
			}
		}
		return false
	}
	switch x := x.(type) {
	case nil:
		return tp == "null"
	case bool:
		return tp == "boolean"
	case string:
		return tp == "string"
	case float64:
		return tp == "number" || tp == "integer" && x == float64(int(x))
	case []any:
		return tp == "array"
	case map[string]any:
		return tp == "object"
	}
	return false
}
