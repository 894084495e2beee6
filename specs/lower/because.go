package lower

import (
	"fmt"
	"slices"
	"strings"

	"github.com/relplan/relplan/modelcheck"
	"github.com/relplan/relplan/specs/ast"
)

// because gives the reasons of a broken promise in words: who read too early,
// which fault came between which steps, which lock ended while its holder
// worked, and what nobody can repair any more.
func (o *Outcome) because(h *History, raw *modelcheck.History, property int) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	p, _ := o.promiseOf(property)
	out = append(out, o.effectReasons(h, p)...)
	out = append(out, numberReasons(h)...)
	if where := o.placeOf(p); where != "" {
		if words := oneAfterTheOther(h, func(name string) bool { return name == where }); words != "" {
			out = append(out, words)
		}
	}
	for i := range h.Steps {
		s := &h.Steps[i]
		switch {
		case s.note.What == Crash:
			o.crashReason(h, i, add)
		case s.Fault == "stall" && s.Kind == "fault":
			add("%s at step %d", s.Text, s.N)
		case s.Fault != "" && s.note.World.Lost():
			add("%s did not hear the answer of step %d (%s)", s.Actor, s.N, s.note.World)
		case s.note.What != Nothing && s.Fault != "":
			add("%s at step %d", s.Text, s.N)
		case s.note.What == LateRequest:
			add("%s at step %d, after its caller had given up on it", s.Text, s.N)
		}
		o.stepReasons(h, i, add)
		o.readReason(h, i, add)
		o.skipReason(h, i, add)
		o.staleReason(h, i, add)
		if s.Waited != "" {
			add("%s %s before step %d", s.Actor, s.Waited, s.N)
		}
	}
	out = append(out, choiceReasons(h)...)
	if len(out) == 0 {
		out = o.plainReasons(h, p)
	}
	if h.Sealed > 0 && p != nil && p.Class() == ast.Liveness {
		add("from step %d on nothing that can still happen changes that", h.Sealed)
	}
	if len(out) == 0 && h.LoopFrom >= 0 {
		add("after step %d the same steps go round for ever, and it has not come", h.LoopFrom)
	} else if len(out) == 0 {
		add("after step %d nothing can happen any more that brings it", len(h.Steps))
	}
	return out
}

// promiseOf is the promise (or possibility) that a property stands for.
func (o *Outcome) promiseOf(property int) (*ast.Promise, bool) {
	if property < 0 {
		return nil, false
	}
	p, ok := o.Model.Origin(property).Property.Note.(*ast.Promise)
	return p, ok
}

// effectReasons lists the steps at which a counted effect happened.
func (o *Outcome) effectReasons(h *History, p *ast.Promise) []string {
	if p == nil {
		return nil
	}
	switch b := p.Body.(type) {
	case ast.AtMostOnce:
		return effectHappened(h, b.Effect, false)
	case ast.ExactlyOnce:
		return effectHappened(h, b.Effect, false)
	case ast.Check:
		var out []string
		seen := map[*ast.Effect]bool{}
		ast.Walk(b.Expr, func(c ast.Expr) bool {
			if x, ok := c.(*ast.CountEffect); ok && !seen[x.Effect] {
				seen[x.Effect] = true
				out = append(out, effectHappened(h, x.Effect, x.Operation == nil)...)
			}
			return true
		})
		return out
	}
	return nil
}

// effectHappened says where an effect happened more than once: for one
// operation or, with all, for any.
func effectHappened(h *History, e *ast.Effect, all bool) []string {
	at := map[string][]string{}
	var ops []string
	for i := range h.Steps {
		s := &h.Steps[i]
		for _, c := range s.Changed {
			if c.Where != e.Name {
				continue
			}
			op, of := operationIn(c.What), ""
			if all {
				of, op = " for "+op, ""
			}
			if at[op] == nil {
				ops = append(ops, op)
			}
			who := s.Actor
			if who == "" {
				who = "a late request"
			}
			at[op] = append(at[op], fmt.Sprintf("at step %d by %s%s", s.N, who, of))
		}
	}
	var out []string
	for _, op := range ops {
		if len(at[op]) > 1 {
			whose := ""
			if op != "" {
				whose = " for " + op
			}
			out = append(out, fmt.Sprintf("%s happened %d times%s: %s", e.Name, len(at[op]), whose, joinAnd(at[op])))
		}
	}
	return out
}

// operationIn reads the operation of a change such as "+transfer 1: 1".
func operationIn(what string) string {
	for i := len(what) - 1; i >= 0; i-- {
		if what[i] == ':' {
			what = what[:i]
			break
		}
	}
	for i := len(what) - 1; i >= 0; i-- {
		if what[i] == '>' || what[i] == '+' {
			what = what[i+1:]
			break
		}
	}
	for len(what) > 0 && what[0] == ' ' {
		what = what[1:]
	}
	return what
}

func joinAnd(parts []string) string {
	switch len(parts) {
	case 0:
		return ""
	case 1:
		return parts[0]
	}
	out := parts[0]
	for _, p := range parts[1 : len(parts)-1] {
		out += ", " + p
	}
	return out + " and " + parts[len(parts)-1]
}

// crashReason says between which two things the crash came.
func (o *Outcome) crashReason(h *History, i int, add func(string, ...any)) {
	s := &h.Steps[i]
	loc := o.Model.Value(s.before, s.note.proc.pc, s.self)
	next := ""
	for _, n := range s.note.proc.nodes {
		if n.loc == loc && loc != 0 {
			next = o.glance(s.before).with(s.note.proc.self, s.self).phrase(s.note.proc, n)
		}
	}
	for j := i - 1; j >= 0; j-- {
		if h.Steps[j].Actor == s.Actor {
			add("%s crashed at step %d: after step %d, before it %s", s.Actor, s.N, h.Steps[j].N, next)
			return
		}
	}
	add("%s crashed at step %d", s.Actor, s.N)
}

// readReason: a worker found nothing, or nothing to work on, because another one
// had not yet written what it would have found.
func (o *Outcome) readReason(h *History, i int, add func(string, ...any)) {
	s := &h.Steps[i]
	if s.note.Outcome == nil || s.note.Outcome.why != NoneMatches || s.note.World.Lost() {
		return
	}
	what := "read nothing"
	if v := s.note.Step.Verb; v != ast.VerbSelect && v != ast.VerbGet {
		what = "found nothing to " + v.String()
	}
	for j := i + 1; j < len(h.Steps); j++ {
		w := &h.Steps[j]
		if !slices.ContainsFunc(w.Changed, func(c Change) bool { return c.Where == s.note.Step.Subject }) || o.findsNothing(s, w.after) {
			continue
		}
		if w.Actor != s.Actor && w.Actor != "" {
			add("%s %s at step %d because %s had not yet written (step %d)", s.Actor, what, s.N, w.Actor, w.N)
		}
		return
	}
}

// findsNothing tells whether the read of that step would find nothing in another
// state, with what its run knew at the step.
func (o *Outcome) findsNothing(s *Step, state []uint64) bool {
	g := o.glance(state).with(s.note.proc.self, s.self)
	g.past, g.remembers = s.before, s.note.proc.set
	return g.holds(s.note.Outcome.guard)
}

// staleReason: a worker went by what it had read, which another one changed
// before it acted.
func (o *Outcome) staleReason(h *History, i int, add func(string, ...any)) {
	s := &h.Steps[i]
	if s.shown == "" || s.note.Step == nil {
		return
	}
	for j := i + 1; j < len(h.Steps); j++ {
		w := &h.Steps[j]
		if w.Actor == s.Actor && (w.note.Start || w.Then == "the run ends" || w.note.What != Nothing) {
			return
		}
		for _, c := range w.Changed {
			if w.Actor == s.Actor || c.Where != s.note.Step.Subject || !strings.HasPrefix(c.What, s.shown+" -> ") && c.What != "-"+s.shown {
				continue
			}
			for k := j + 1; k < len(h.Steps); k++ {
				if a := &h.Steps[k]; a.Actor == s.Actor && len(a.Changed) > 0 {
					who := w.Actor
					if who == "" {
						who = "meanwhile it"
					}
					add("%s acted at step %d on what it had read at step %d, which %s changed at step %d", s.Actor, a.N, s.N, who, w.N)
					return
				}
			}
			return
		}
	}
}

// skipReason: a worker found the key there and did not do the work.
func (o *Outcome) skipReason(h *History, i int, add func(string, ...any)) {
	s := &h.Steps[i]
	if s.note.Outcome == nil || s.note.Outcome.done || s.note.Outcome.branch != ast.IfExists {
		return
	}
	for j := i - 1; j >= 0; j-- {
		w := &h.Steps[j]
		for _, c := range w.Changed {
			if c.Where == s.note.Step.Subject && w.note.Step != nil {
				add("%s found it there at step %d because %s had put it at step %d", s.Actor, s.N, w.Actor, w.N)
				return
			}
		}
	}
}
