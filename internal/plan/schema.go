package plan

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/quantity"
	"github.com/relplan/relplan/internal/yamlx"
)

// shape is what a reader accepts, found by letting the decoder describe itself
// instead of reading: so the schema has no list of keys of its own.
type shape struct {
	text   string       // a single value, in words
	words  []string     // one of these
	fields []shapeField // a mapping with these keys
	each   *shape       // a mapping from names
	items  *shape       // a list
	open   bool         // further keys are judged by the reader
	alts   []*shape     // one of these
}

type shapeField struct {
	key      string
	required bool
	shape    *shape
}

// describe records s as one more form of what is being described; false when
// the decoder reads.
func (d *decoder) describe(s *shape) bool {
	if d.sketch == nil {
		return false
	}
	d.sketch.alts = append(d.sketch.alts, s)
	return true
}

// describeText records a single value by the words of its parser's error.
func (d *decoder) describeText(err error) {
	var se *quantity.SyntaxError
	s := &shape{text: "a value"}
	if errors.As(err, &se) {
		s.text = se.Expected
	}
	d.describe(s)
}

// inside describes what read would read.
func (d *decoder) inside(read func(*decoder)) *shape {
	s := &shape{}
	outer := d.sketch
	d.sketch = s
	read(d)
	d.sketch = outer
	return s
}

func (d *decoder) describeFields(what string, fields []field) {
	s := &shape{text: what, fields: []shapeField{}, open: what == "a rate" || what == "a latency"}
	for _, f := range fields {
		s.fields = append(s.fields, shapeField{f.key, f.required, d.inside(func(*decoder) { f.read(nil) })})
	}
	d.describe(s)
}

func (d *decoder) describeItems(what string, read func(*yamlx.Node)) {
	d.describe(&shape{text: what, items: d.inside(func(*decoder) { read(nil) })})
}

func (d *decoder) describeEach(what string, read func(string, diag.Pos, *yamlx.Node)) {
	d.describe(&shape{text: what, each: d.inside(func(*decoder) { read("", diag.Pos{}, nil) })})
}

// Schema is the JSON Schema of plan files.
func Schema() []byte {
	d := &decoder{l: &diag.List{}}
	root := d.inside(func(d *decoder) { d.file(&File{}, nil) }).json()
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["$id"] = "https://relplan.dev/schema/plan/v1"
	root["title"] = "relplan plan file"
	props := root["properties"].(map[string]any)
	props["relplan"] = map[string]any{"const": "v1"}
	out, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		panic(err) // maps of strings always encode
	}
	return append(out, '\n')
}

// json gives the JSON Schema of a shape.
func (s *shape) json() map[string]any {
	out := map[string]any{}
	switch {
	case len(s.alts) == 1:
		return s.alts[0].json()
	case len(s.alts) > 1:
		any := make([]any, len(s.alts))
		for i, a := range s.alts {
			any[i] = a.json()
		}
		out["anyOf"] = any
	case s.fields != nil:
		props := map[string]any{}
		required := []string{}
		for _, f := range s.fields {
			props[f.key] = f.shape.json()
			if f.required {
				required = append(required, f.key)
			}
		}
		out["type"], out["properties"], out["additionalProperties"] = "object", props, s.open
		if len(required) > 0 {
			out["required"] = required
		}
	case s.each != nil:
		out["type"], out["additionalProperties"] = "object", s.each.json()
	case s.items != nil:
		out["type"], out["items"] = "array", s.items.json()
	case s.words != nil:
		out["enum"] = s.words
	case strings.HasPrefix(s.text, "a list"):
		out["type"] = "array"
	case s.text == "true or false":
		out["type"] = "boolean"
	case s.text != "":
		out["type"] = []string{"string", "number"}
	}
	if s.text != "" {
		out["description"] = s.text
	}
	return out
}
