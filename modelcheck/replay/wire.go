package replay

import (
	"errors"
	"fmt"
	"slices"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

// What the runner and a worker's process say to each other: one JSON document a
// line. Steps go by their number in the process, values in the form in which
// engines store them.

// hello is the first line to a worker's process.
type hello struct {
	File     string    `json:"file"`
	Source   []byte    `json:"source"`
	Variant  string    `json:"variant"`
	Process  string    `json:"process"`
	Instance int       `json:"instance"`
	Bindings []binding `json:"bindings"`
}

// order is what the runner wants of the worker.
type order struct {
	Verb  string    `json:"verb"` // start, step or age
	Event wireEvent `json:"event"`
	Fault fault     `json:"fault"`
	Age   string    `json:"age,omitempty"` // name of the duration
}

// wirePlace is a place; Step -1 is the end.
type wirePlace struct {
	Step   int  `json:"step"`
	Commit bool `json:"commit"`
}

// wireEvent is what a worker needs of an event: where the model goes and what it
// has chosen where the engine leaves a choice.
type wireEvent struct {
	Step      int          `json:"step"`
	Commit    bool         `json:"commit"`
	Next      wirePlace    `json:"next"`
	Why       lower.Reason `json:"why"`
	World     lower.World  `json:"world"`
	Read      string       `json:"read"`   // the record that the model reads
	Fields    string       `json:"fields"` // of what a run starts for
	Operation string       `json:"operation,omitempty"`
	Index     int          `json:"index"`
	Partition int          `json:"partition"`
	Number    int          `json:"number"`
	Passed    []string     `json:"passed,omitempty"` // names of durations
}

// report is what the worker says.
type report struct {
	Done        bool             `json:"done"`
	Branch      ast.Outcome      `json:"branch"`
	Failure     engines.Failure  `json:"failure"`
	Text        string           `json:"text,omitempty"` // of the engine's error
	Kind        string           `json:"kind,omitempty"` // of that error, if the runner tells it apart
	Left        bool             `json:"left,omitempty"`
	Value       string           `json:"value"`
	Taken       string           `json:"taken"`
	At          wirePlace        `json:"at"`
	Idle        bool             `json:"idle"`
	Broken      string           `json:"broken,omitempty"` // the machinery failed
	Connections map[string]int64 `json:"connections"`
}

// kinds of errors that keep their meaning on the way.
var wireErrors = map[string]error{"unsupported": errUnsupported, "busy": errBusy, "nothing": errNothingTaken}

func wireError(err error) (kind, text string) {
	if err == nil {
		return "", ""
	}
	for k, e := range wireErrors {
		if errors.Is(err, e) {
			return k, err.Error()
		}
	}
	return "", err.Error()
}

func unwireError(kind, text string) error {
	switch e := wireErrors[kind]; {
	case text == "":
		return nil
	case e != nil:
		return fmt.Errorf("%w (%s)", e, text)
	}
	return errors.New(text)
}

func toWire(e *lower.Event) wireEvent {
	w := wireEvent{Step: -1, Commit: e.Commit, Next: wirePlace{-1, e.NextCommit}, Why: e.Why, World: e.World,
		Read: encode(known(e.Read)), Fields: encode(known(e.Of.Fields)), Partition: e.Of.Partition, Number: e.Of.Number}
	for _, d := range e.Passed {
		w.Passed = append(w.Passed, d.Name)
	}
	if e.Step != nil {
		w.Step = e.Step.ID
	}
	if e.Next != nil {
		w.Next.Step = e.Next.ID
	}
	if o := e.Of.Operation; o != nil {
		w.Operation, w.Index = o.Of.Name, o.Index
	}
	return w
}

// known is the part of a record that has the same name on every engine; nil for
// other values, which are no hints.
func known(v lower.Value) Value {
	rec, ok := v.(lower.Record)
	if !ok {
		return nil
	}
	c, _ := concrete(rec)
	return c
}

// fromWire is the event in the worker's own copy of the spec.
func fromWire(w wireEvent, p *ast.Process, spec *ast.Spec) (*lower.Event, error) {
	e := &lower.Event{Process: p, Commit: w.Commit, Why: w.Why, World: w.World, NextCommit: w.Next.Commit}
	e.Of.Partition, e.Of.Number = w.Partition, w.Number
	for at, id := range map[**ast.Step]int{&e.Step: w.Step, &e.Next: w.Next.Step} {
		if id >= len(p.All) {
			return nil, fmt.Errorf("process %s has no step %d", p.Name, id)
		}
		if id >= 0 {
			*at = p.All[id]
		}
	}
	read, err := hint(w.Read)
	if err != nil {
		return nil, err
	}
	if read != nil {
		e.Read = read
	}
	if e.Of.Fields, err = hint(w.Fields); err != nil {
		return nil, err
	}
	for _, d := range spec.Durations {
		if slices.Contains(w.Passed, d.Name) {
			e.Passed = append(e.Passed, d)
		}
	}
	for _, o := range spec.Operations {
		if o.Name == w.Operation {
			e.Of.Operation = &lower.OperationID{Of: o, Index: w.Index}
		}
	}
	return e, nil
}

// hint turns a stored record into one of the model; its values are texts,
// numbers and truths, which agree with themselves.
func hint(text string) (lower.Record, error) {
	v, err := decode(text)
	if err != nil || v == nil {
		return nil, err
	}
	return asHint(v.(Record)), nil
}

func asHint(rec Record) lower.Record {
	out := lower.Record{}
	for name, v := range rec {
		switch v := v.(type) {
		case int64:
			out[name] = int(v)
		case Record:
			out[name] = asHint(v)
		default:
			out[name] = v
		}
	}
	return out
}

func (p place) wire() wirePlace {
	if p.step == nil {
		return wirePlace{-1, false}
	}
	return wirePlace{p.step.ID, p.commit}
}

func (w wirePlace) in(p *ast.Process) place {
	if w.Step < 0 || w.Step >= len(p.All) {
		return place{}
	}
	return place{p.All[w.Step], w.Commit}
}

// plainTaken is what a run has taken as a value that can be sent: a message as
// the record of its fields.
func plainTaken(v Value) Value {
	m, ok := v.(*Message)
	if !ok {
		return v
	}
	rec := Record{}
	for name, x := range m.Fields {
		rec[name] = x
	}
	rec["id"], rec["op"] = m.ID, m.Op
	return rec
}
