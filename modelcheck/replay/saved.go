package replay

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

// Saved is a history of a document that `relplan check -o json` has written.
type Saved struct {
	File    string // of the spec
	Variant string
	Promise string
	Lines   []lower.Line
}

// ReadSaved reads the histories of a document of `relplan check -o json`.
func ReadSaved(doc []byte) ([]Saved, error) {
	var d struct {
		Schema string `json:"schema"`
		Specs  []struct {
			File     string  `json:"file"`
			Variant  *string `json:"variant"`
			Promises []struct {
				Name    string `json:"name"`
				History []struct {
					Actor string `json:"actor"`
					Text  string `json:"text"`
				} `json:"history"`
			} `json:"promises"`
		} `json:"specs"`
	}
	if err := json.Unmarshal(doc, &d); err != nil {
		return nil, fmt.Errorf("no JSON document: %w", err)
	}
	if d.Schema != "relplan.dev/check/v1" {
		return nil, fmt.Errorf("schema %q, expected relplan.dev/check/v1: a document of `relplan check -o json`", d.Schema)
	}
	var out []Saved
	for _, s := range d.Specs {
		for _, p := range s.Promises {
			if len(p.History) == 0 {
				continue
			}
			h := Saved{File: s.File, Promise: p.Name}
			if s.Variant != nil {
				h.Variant = *s.Variant
			}
			for _, l := range p.History {
				h.Lines = append(h.Lines, lower.Line{Actor: l.Actor, Text: l.Text})
			}
			out = append(out, h)
		}
	}
	if len(out) == 0 {
		return nil, errors.New("it has no history: every promise holds or is unknown")
	}
	return out, nil
}

// savedSchedules finds the saved histories of the variant in the model.
func savedSchedules(o *lower.Outcome, spec *ast.Spec, saved []Saved) ([]Schedule, error) {
	var out []Schedule
	for _, s := range saved {
		if s.Variant != spec.Variant {
			continue
		}
		h := o.Find(s.Lines)
		if h == nil {
			return nil, &NotAHistoryError{Promise: s.Promise, Variant: s.Variant}
		}
		out = append(out, Schedule{Name: s.Promise, History: h, End: o.End(h)})
	}
	return out, nil
}

// NotAHistoryError: a saved history is none of this spec.
type NotAHistoryError struct{ Promise, Variant string }

func (e *NotAHistoryError) Error() string {
	of := e.Promise
	if e.Variant != "" {
		of = e.Variant + ", " + of
	}
	return fmt.Sprintf("the saved history (%s) is no history of this spec: check it again and save it anew", of)
}
