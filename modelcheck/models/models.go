// Package models holds the benchmark protocols of the checking engine, written
// by hand for modelcheck.Model: an inbox, a SETNX guard and an outbox. Their
// state counts are known from other checkers and are tests of the engine.
package models

import (
	"fmt"
	"math/bits"

	"github.com/relplan/relplan/modelcheck"
)

// shaper lays out fields of one-word states.
type shaper struct {
	shape modelcheck.Shape
	shift int
	group int
}

// block lays out one record of fields for every element of set: the fields of
// an element lie side by side.
func (l *shaper) block(set, size int, fields ...modelcheck.Field) (first int) {
	first = l.shift
	for e := range size {
		for i, f := range fields {
			f.Name = fmt.Sprintf("%s[%d]", f.Name, e)
			f.Group = l.group + i
			f.Index = []modelcheck.Element{{Set: set, Index: e}}
			l.add(f)
		}
	}
	l.group += len(fields)
	return first
}

// global lays out one field.
func (l *shaper) global(f modelcheck.Field) (shift int) {
	shift = l.shift
	if f.Bits == 0 {
		return shift
	}
	f.Group = l.group
	l.group++
	l.add(f)
	return shift
}

func (l *shaper) add(f modelcheck.Field) {
	f.Shift = l.shift
	l.shift += f.Bits
	l.shape.Fields = append(l.shape.Fields, f)
	if l.shift > 64 {
		panic(fmt.Sprintf("models: state needs %d bits, more than one word", l.shift))
	}
}

// width is the number of bits for values 0..most.
func width(most int) int { return bits.Len(uint(most)) }

// ref makes a field that names an element of set.
func ref(name string, set, size int) modelcheck.Field {
	return modelcheck.Field{Name: name, Bits: width(size), RefTo: &set}
}

func num(name string, most int) modelcheck.Field {
	return modelcheck.Field{Name: name, Bits: width(most)}
}

// The sets of all three protocols.
const (
	setMessages = 0
	setWorkers  = 1
)

// sat counts the two-bit field at shift up to most.
func sat(s uint64, shift int, most uint64) uint64 {
	if s>>shift&3 < most {
		s += 1 << shift
	}
	return s
}

// actionTable names the action instances (kind, worker, message) densely.
type actionTable struct {
	workers, messages int
	kinds             []actionKind
}

// actionKind describes the instances of one kind of action.
type actionKind struct {
	text   string
	actor  string // "" environment, else the process name
	proc   int
	kind   modelcheck.Kind
	fault  string
	rank   int
	single bool // the process has one instance
}

func (t *actionTable) count() int { return len(t.kinds) * t.workers * t.messages }

// id is the first ActionID of a kind and worker; add the message.
func (t *actionTable) id(kind, w, m int) modelcheck.ActionID {
	return modelcheck.ActionID((kind*t.workers+w)*t.messages + m)
}

func (t *actionTable) steps() []string {
	var s []string
	for _, k := range t.kinds {
		if k.text != "" {
			s = append(s, k.text)
		}
	}
	return s
}

// step numbers the kinds that the protocol has; -1 for one it has not.
func (t *actionTable) step(kind int) int {
	if t.kinds[kind].text == "" {
		return -1
	}
	n := 0
	for _, k := range t.kinds[:kind] {
		if k.text != "" {
			n++
		}
	}
	return n
}

// describe decodes an ActionID.
func (t *actionTable) describe(a modelcheck.ActionID) modelcheck.Action {
	m := int(a) % t.messages
	w := int(a) / t.messages % t.workers
	k := int(a) / t.messages / t.workers
	d := t.kinds[k]
	act := modelcheck.Action{
		Text: d.text, Kind: d.kind, FaultUnit: d.fault, FaultRank: d.rank, StepID: t.step(k),
		Process: -1, Order: ((d.proc*t.workers+w)*len(t.kinds)+k)*t.messages + m,
	}
	if d.actor != "" {
		act.Process, act.Instance, act.Actor = d.proc, w, d.actor
		if !d.single {
			act.Actor = fmt.Sprintf("%s %d", d.actor, w+1)
			act.Who = []modelcheck.Element{{Set: setWorkers, Index: w}}
		}
	}
	if d.kind == modelcheck.Delivery || d.actor == "" {
		act.Text = fmt.Sprintf("%s message %d", d.text, m+1)
	}
	return act
}
