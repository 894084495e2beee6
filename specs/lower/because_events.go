package lower

import (
	"fmt"
	"slices"
	"strings"

	"github.com/relplan/relplan/specs/ast"
)

// stepReasons gives what a step tells of the cause beside faults and reads.
func (o *Outcome) stepReasons(h *History, i int, add func(string, ...any)) {
	s := &h.Steps[i]
	e := &s.Event
	switch e.What {
	case VisibilityEnds, TTLEnds, LeaseEnds, RetentionEnds, LogRetention, KeyForgotten, DedupWindowEnds:
		if s.Fault == "" {
			add("%s at step %d", s.Text, s.N)
		}
	}
	if e.Step == nil {
		return
	}
	o.heldReason(h, i, add)
	o.replicaReason(s, add)
	switch {
	case e.Branch == ast.OnError && !e.Done && e.Why != NoReason:
		add("%s failed at step %d: %s", s.Actor, s.N, failure(s))
	case e.Step.Verb == ast.VerbUpdate && !e.Done && e.Why == Duplicate:
		add("%s changed nothing at step %d: %s", s.Actor, s.N, failure(s))
	case e.Step.Verb == ast.VerbSend && e.Done && !changes(s, e.Step.Subject) && e.Step.Resource.Queue.DedupBy != nil:
		add("%s stored nothing at step %d: it had accepted a message with that id before", e.Step.Subject, s.N)
	case outsideItsBlock(e):
		add("step %d takes effect at once, although the transaction on %s around it is still open", s.N, e.Step.Block.Subject)
	}
}

// failure is how a definite error is told, in the words of the outcome.
func failure(s *Step) string {
	if t := s.note.Outcome.text; t != "" {
		return t
	}
	return s.Event.Why.String()
}

// outsideItsBlock says whether a step inside a transaction is no part of it: a
// send, a call or a write to another store (R40).
func outsideItsBlock(e *Event) bool {
	s := e.Step
	return !e.Commit && e.Done && s.Block != nil && s.Block.Verb == ast.VerbTransaction && s.Resource != nil && s.Resource != s.Block.Resource &&
		s.Verb != ast.VerbGet && s.Verb != ast.VerbSelect
}

func changes(s *Step, where string) bool {
	for _, c := range s.Changed {
		if c.Where == where {
			return true
		}
	}
	return false
}

// heldReason: a worker did not get the lock because another one has it.
func (o *Outcome) heldReason(h *History, i int, add func(string, ...any)) {
	s := &h.Steps[i]
	if s.Event.Why != HeldByOther {
		return
	}
	for j := i - 1; j >= 0; j-- {
		w := &h.Steps[j]
		if w.Actor != s.Actor && w.Event.Done && w.Event.Step.Verb == ast.VerbLock && w.Event.Step.Subject == s.Event.Step.Subject {
			add("%s went on without the lock at step %d because %s has had it since step %d and is not done", s.Actor, s.N, w.Actor, w.N)
			return
		}
	}
}

// replicaReason: a read from a replica that is behind.
func (o *Outcome) replicaReason(s *Step, add func(string, ...any)) {
	if !s.Event.Step.Replica {
		return
	}
	rp := o.lw.replicas[s.Event.Step.Resource]
	if rp == nil {
		return
	}
	if n := o.Model.Value(s.before, rp.behind); n > 0 {
		add("%s read a replica at step %d that was %d commit(s) behind", s.Actor, s.N, n)
	}
}

// plainReasons explain a history in which nothing went wrong but the order of
// the steps: what was overwritten, what came in the wrong order, what was there
// at once. The last one holds for every history.
func (o *Outcome) plainReasons(h *History, p *ast.Promise) []string {
	if len(h.Steps) == 0 {
		return nil
	}
	switch {
	case p != nil && eventual(p) && h.Sealed == 0 && h.LoopFrom >= 0:
		return []string{goesRound(h)}
	case p != nil && eventual(p):
		return nil // the step that seals it is named anyway
	}
	if out := o.overwritten(h); out != "" {
		return []string{out}
	}
	if words := oneAfterTheOther(h, func(name string) bool { return !o.isQueue(name) }); words != "" {
		return []string{words}
	}
	last := &h.Steps[len(h.Steps)-1]
	return []string{fmt.Sprintf("until step %d everything is as it should be: %s %s", last.N, actorOf(last), last.Text)}
}

// goesRound is the reason of a history that comes back to where it was.
func goesRound(h *History) string {
	was := "in the beginning"
	if h.LoopFrom > 0 {
		was = fmt.Sprintf("after step %d", h.LoopFrom)
	}
	return fmt.Sprintf("after step %d everything is as it was %s, and nothing forces another way", len(h.Steps), was)
}

// choiceReasons: in what goes round for ever a run may choose the same side each
// time, unless the choice is fair.
func choiceReasons(h *History) []string {
	if h.LoopFrom < 0 {
		return nil
	}
	var out []string
	for i := range h.Steps {
		s := &h.Steps[i]
		label, goes := strings.CutPrefix(s.Then, "goes to ")
		if s.N <= h.LoopFrom || !goes || s.note.Process == nil {
			continue
		}
		for _, c := range s.note.Process.All {
			if c.Verb == ast.VerbChoose && !c.Fair && slices.ContainsFunc(c.Choose, func(t ast.Target) bool { return t.Label == label }) {
				out = append(out, fmt.Sprintf("%s goes to %s at step %d each time: nothing forces it to choose otherwise", s.Actor, label, s.N))
			}
		}
	}
	return out
}

// oneAfterTheOther names the last two writes to a store.
func oneAfterTheOther(h *History, store func(name string) bool) string {
	last, where := latestWrite(h, len(h.Steps), store)
	if last == nil {
		return ""
	}
	before, _ := latestWrite(h, last.N-1, func(name string) bool { return name == where })
	if before == nil {
		return ""
	}
	return fmt.Sprintf("%s wrote to %s at step %d, after %s at step %d", actorOf(last), where, last.N, actorOf(before), before.N)
}

// numberReasons: ids of a sequence are given before the commit, so a smaller one
// can be seen after a larger one.
func numberReasons(h *History) []string {
	type given struct{ insert, commit *Step }
	var all []given
	for i := range h.Steps {
		s := &h.Steps[i]
		if e := s.Event; e.Step == nil || e.Step.Verb != ast.VerbInsert || !e.Done || e.Step.Block == nil || e.Step.Table.Sequence == nil {
			continue
		}
		g := given{insert: s}
		for j := i + 1; j < len(h.Steps) && g.commit == nil; j++ {
			if c := &h.Steps[j]; c.Actor == s.Actor && c.Event.Commit {
				g.commit = c
			}
		}
		all = append(all, g)
	}
	for i, a := range all {
		for _, b := range all[i+1:] {
			if b.commit != nil && a.insert.Event.Step.Table == b.insert.Event.Step.Table && (a.commit == nil || a.commit.N > b.commit.N) {
				late := "has not committed"
				if a.commit != nil {
					late = fmt.Sprintf("committed at step %d", a.commit.N)
				}
				return []string{fmt.Sprintf("%s took its number at step %d, before %s (step %d), and %s, while %s committed at step %d",
					a.insert.Actor, a.insert.N, b.insert.Actor, b.insert.N, late, b.insert.Actor, b.commit.N)}
			}
		}
	}
	return nil
}

// eventual says whether a promise is about what happens in the end: no single
// step breaks it.
func eventual(p *ast.Promise) bool {
	c, ok := p.Body.(ast.Check)
	return p.Class() == ast.Liveness && !(ok && c.Mode == ast.Finally)
}

// placeOf is the store whose order or size a promise speaks of, "" if none.
func (o *Outcome) placeOf(p *ast.Promise) string {
	if p == nil {
		return ""
	}
	switch b := p.Body.(type) {
	case ast.MessagesInOrder:
		return b.Queue.Name
	case ast.AtMostWaiting:
		return b.Queue.Name
	case ast.EffectsInOrder:
		return b.Table.Name
	}
	return ""
}

// latestWrite finds the last of the first n steps that writes to such a store.
func latestWrite(h *History, n int, store func(name string) bool) (s *Step, where string) {
	for i := n - 1; i >= 0; i-- {
		s := &h.Steps[i]
		if s.Event.Step == nil {
			continue
		}
		if name := s.Event.Step.Subject; s.Event.Step.Verb == ast.VerbSend && s.Event.Done && store(name) {
			return s, name // what nobody reads is not stored
		}
		for _, c := range s.Changed {
			if store(c.Where) {
				return s, c.Where
			}
		}
	}
	return nil, ""
}

func actorOf(s *Step) string {
	if s.Actor == "" {
		return "the environment"
	}
	return s.Actor
}

// overwritten finds the last write that replaced what another run had written.
func (o *Outcome) overwritten(h *History) string {
	for j := len(h.Steps) - 1; j >= 0; j-- {
		w := &h.Steps[j]
		for _, c := range w.Changed {
			old, _, ok := strings.Cut(c.What, " -> ")
			if !ok || o.isQueue(c.Where) {
				continue
			}
			for i := j - 1; i >= 0; i-- {
				s := &h.Steps[i]
				if !wrote(s, c.Where, old) {
					continue
				}
				if sameRun(h, i, j) {
					break
				}
				return fmt.Sprintf("%s overwrote at step %d what %s had written to %s at step %d", actorOf(w), w.N, actorOf(s), c.Where, s.N)
			}
		}
	}
	return ""
}

func (o *Outcome) isQueue(name string) bool {
	for _, r := range o.lw.spec.Resources {
		if r.Name == name {
			return r.Queue != nil
		}
	}
	return false
}

func wrote(s *Step, where, what string) bool {
	for _, c := range s.Changed {
		if c.Where == where && (c.What == "+"+what || strings.HasSuffix(c.What, " -> "+what)) {
			return true
		}
	}
	return false
}

// sameRun says whether two steps belong to one run.
func sameRun(h *History, i, j int) bool {
	if h.Steps[i].Actor != h.Steps[j].Actor {
		return false
	}
	for k := i + 1; k <= j; k++ {
		if s := &h.Steps[k]; s.Actor == h.Steps[i].Actor && s.note.Start {
			return false
		}
	}
	return true
}
