package lower

import (
	"fmt"
	"sort"
	"strings"

	"github.com/relplan/relplan/modelcheck"
	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// Note is what an action says about itself; a History turns it into words.
type Note struct {
	Process  *ast.Process
	Step     *ast.Step
	Commit   bool
	Outcome  *outcome
	World    World   // what went wrong
	Blocked  ir.Expr // the step waits while this holds
	Start    bool    // a run starts
	Silent   bool    // no step of the history: a place that a promise looks at
	What     What    // what happens to a store or a process
	Fault    *ast.Fault
	Text     []any // words and values, read in the state before the action
	Instance ir.Expr

	of   *about
	node *node
	proc *process
	// passes are the timers that fire where the action asks, if they may.
	passes []*ageTimer
}

// Pieces of a text that are read in a state.
type (
	rowText struct {
		t  *table
		at ir.Expr
	}
	messageText struct {
		q *queue
		m message
	}
	opText struct {
		o *ast.Operation
		e ir.Expr
	}
	workerText struct {
		p *process
		e ir.Expr
	}
	keyText struct {
		t  *table
		at ir.Expr
	}
	valueText struct{ v value }
)

// History is a history in words.
type History struct {
	Steps []Step
	// LoopFrom is the number of the step after which the history goes round for
	// ever, -1 without a loop; Sealed the number of the step after which the
	// goal cannot happen any more, 0 if none.
	LoopFrom int
	Sealed   int
	Faults   map[string]int
	Because  []string // why, in words

	end []uint64 // the last state
}

// Step is one counted step of a history: what language.md calls a step.
type Step struct {
	N       int    // from 1
	Actor   string // "consumer 2", "" for the environment
	Kind    string // step, fault, expiry, delivery
	Text    string
	File    string
	Line    int    // of the step in the spec, 0 for an event
	Waited  string // "waits for consumer 1 (op: order 1)", before the step
	Fault   string // the fault that a unit was spent of
	Changed []Change
	// Then says where the run went: a label, or "the run ends".
	Then string
	// Event is the step as data.
	Event Event

	note   *Note
	self   int
	shown  string // the row that a read has found
	before []uint64
	after  []uint64
}

// Change is what a step changed in a store: {"inbox", "+(msg_id: transfer 1)"}.
type Change struct{ Where, What string }

// History prints a history of the check.
func (o *Outcome) History(h *modelcheck.History, property int) *History {
	if h == nil {
		return nil
	}
	out := o.tell(h)
	out.Because = o.because(out, h, property)
	return out
}

func (o *Outcome) tell(h *modelcheck.History) *History {
	out := &History{LoopFrom: -1, Faults: h.Faults}
	number := map[int]int{} // engine step -> printed step
	before := h.Initial
	for i, st := range h.Steps {
		s := o.step(before, &st)
		number[i+1] = len(out.Steps)
		if s != nil {
			s.N = len(out.Steps) + 1
			w := o.waited(h, i, s)
			s.Waited = w.words
			s.Event = o.event(o.before(before, &st), s, w.blocker)
			if s.Event.Waited {
				s.Event.Released = number[w.released]
				s.Event.Sent = s.Event.Released
			}
			if s.Event.Waited && w.looked > 0 {
				s.Event.Sent = number[w.looked] + 1
			}
			out.Steps = append(out.Steps, *s)
			number[i+1] = s.N
		}
		before = st.State
	}
	if h.LoopFrom >= 0 {
		out.LoopFrom = number[h.LoopFrom]
	}
	if h.Sealed > 0 {
		out.Sealed = number[h.Sealed]
	}
	out.end = before
	return out
}

func (o *Outcome) glance(state []uint64) *glance {
	return &glance{lw: o.lw, m: o.Model, state: state, locals: map[*ir.Local]int{}}
}

// before reads the state before a transition, with what the transition is of.
func (o *Outcome) before(state []uint64, st *modelcheck.HistoryStep) *glance {
	a, self, params := o.Model.Instance(st.ID)
	g := o.glance(state)
	for i, p := range a.Params {
		g = g.with(p.Local, params[i])
	}
	if a.Self != nil {
		g = g.with(a.Self, self)
	}
	return g
}

// step prints one transition; nil if it is none of its own.
func (o *Outcome) step(before []uint64, st *modelcheck.HistoryStep) *Step {
	a, self, _ := o.Model.Instance(st.ID)
	note, ok := a.Note.(*Note)
	if !ok || note.Silent {
		return nil
	}
	g := o.before(before, st)
	s := &Step{Kind: kindOf(a), Fault: a.Fault, note: note, self: self, before: before, after: st.State}
	if note.Instance != nil {
		s.self = g.eval(note.Instance)
		s.Actor = note.proc.worker(s.self)
	} else if note.Process != nil {
		s.Actor = note.proc.worker(self)
	}
	if note.Process != nil && note.Process.Trigger.Kind == ast.OnFault {
		s.Kind = "fault" // a run that the environment started (S)
	}
	s.Text = g.text(note.Text)
	if note.Step != nil {
		s.File, s.Line = note.Step.Pos.File, note.Step.Pos.Line
		s.Text = g.phrase(note.proc, note.node)
		if t := note.Outcome.text; t != "" {
			s.Text += ": " + t
			s.shown = g.text(note.Outcome.shows)
			if s.shown != "" {
				s.Text += " " + s.shown
			}
		}
		if note.World != "" {
			s.Text += " (" + string(note.World) + ")"
		}
	}
	if note.Process != nil && note.Process.Trigger != nil && note.Start {
		s.File, s.Line = note.Process.Trigger.Pos.File, note.Process.Trigger.Pos.Line
	}
	s.Changed = o.changes(before, st.State)
	s.Then = o.then(s, st.State)
	return s
}

func kindOf(a *ir.Action) string {
	switch {
	case a.Kind == ir.Fault:
		return "fault"
	case a.Kind == ir.Expiry && a.Fault != "":
		return "fault"
	case a.Kind == ir.Expiry:
		return "expiry"
	case a.Kind == ir.Delivery:
		return "delivery"
	}
	return "step"
}

// then says where the run stands afterwards, if that is not the next line.
func (o *Outcome) then(s *Step, after []uint64) string {
	n := s.note
	if n.proc == nil || n.Process == nil {
		return ""
	}
	pc := o.Model.Value(after, n.proc.pc, s.self)
	if pc == 0 {
		return "the run ends"
	}
	if text := o.nextInBatch(s, after); text != "" {
		return text
	}
	if v := n.proc.driver[n.node]; v != nil && o.Model.Value(after, v, s.self) > o.Model.Value(s.before, v, s.self) {
		return "the layer below sends it again"
	}
	next := n.proc.first
	if n.node != nil {
		next = n.node.next
	}
	for next != end {
		m := n.proc.nodes[next]
		if m.loc == pc {
			return ""
		}
		if m.kind == localNode && m.step.Verb != ast.VerbLet || m.located() || m.kind == inlineNode {
			break
		}
		next = m.next
	}
	for _, m := range n.proc.nodes {
		if m.loc == pc {
			if m.step.Label != "" {
				return "goes to " + m.step.Label
			}
			return fmt.Sprintf("goes to line %d", m.step.Pos.Line)
		}
	}
	return ""
}

// nextInBatch names the message that a run goes on with, "" if it has none.
func (o *Outcome) nextInBatch(s *Step, after []uint64) string {
	t, ok := s.note.proc.trigger.(*messageTrigger)
	if !ok || t.batch == nil || s.note.Start {
		return ""
	}
	turn := o.Model.Value(after, t.batch.turn, s.self)
	if turn <= o.Model.Value(s.before, t.batch.turn, s.self) {
		return ""
	}
	g := o.glance(s.before)
	out := ""
	g.eachMessage(t.q, func(m message) {
		if g.eval(load(t.batch.place, m.with(num(s.self))...)) == turn {
			out = "goes on with " + g.message(t.q, m)
		}
	})
	return out
}

// wait is what a step waited for.
type wait struct {
	words    string
	blocker  *InstanceID // nil: not known
	released int         // transition, from 1, that ended it
	looked   int         // transition at which its snapshot was taken, while it waited; 0: none
}

// waited says what the step waited for since the instance's last step. A
// statement that takes its transaction's snapshot before it waits has not waited
// if its snapshot is from after: it came later.
func (o *Outcome) waited(h *modelcheck.History, i int, s *Step) wait {
	p := s.note.proc
	if s.note.Blocked == nil {
		return wait{}
	}
	var found wait
	for j := i - 1; j >= 0; j-- {
		a, self, _ := o.Model.Instance(h.Steps[j].ID)
		n, _ := a.Note.(*Note)
		if n != nil && n.proc == p && (self == s.self && n.Process != nil) {
			if n.Silent && n.node == s.note.node {
				found.looked = j + 1
			}
			break
		}
		before := stateBefore(h, j)
		g := o.glance(before).with(p.self, s.self)
		if found.words == "" && o.Model.Value(before, p.pc, s.self) == s.note.node.loc && g.holds(s.note.Blocked) {
			words, who := o.blocker(g, s)
			found = wait{words: "waits for " + words, blocker: who, released: j + 1}
		}
	}
	if found.looked == 0 && p.looksBeforeItWaits(s.note.node) && o.Model.Value(stateBefore(h, i), p.snapOpen, s.self) == 0 {
		return wait{}
	}
	return found
}

func stateBefore(h *modelcheck.History, i int) []uint64 {
	if i == 0 {
		return h.Initial
	}
	return h.Steps[i-1].State
}

// blocker names the worker whose transaction holds what the step needs.
func (o *Outcome) blocker(g *glance, s *Step) (string, *InstanceID) {
	t := o.lw.tables[s.note.Step.Table]
	if t == nil {
		return "a lock", nil
	}
	for i := 0; i < g.size(t.over); i++ {
		if !g.inUse(t.over, i) {
			continue
		}
		for _, ow := range t.owners {
			w := g.eval(load(ow.v, num(i)))
			if w != ir.None && !(ow.p == s.note.proc && w == s.self) {
				return ow.p.worker(w) + " " + strings.Replace(g.row(t, num(i)), "(", "(row ", 1), &InstanceID{ow.p.ast, w}
			}
		}
	}
	return "a lock", nil
}

// changes compares what the stores hold.
func (o *Outcome) changes(before, after []uint64) []Change {
	var out []Change
	a, b := o.contents(before), o.contents(after)
	for _, name := range o.stores() {
		gone, came := difference(a[name], b[name])
		switch {
		case len(gone) == 1 && len(came) == 1:
			out = append(out, Change{name, gone[0] + " -> " + came[0]})
		default:
			for _, x := range gone {
				out = append(out, Change{name, "-" + x})
			}
			for _, x := range came {
				out = append(out, Change{name, "+" + x})
			}
		}
	}
	return out
}

func difference(a, b []string) (gone, came []string) {
	n := map[string]int{}
	for _, x := range a {
		n[x]++
	}
	for _, x := range b {
		n[x]--
	}
	var keys []string
	for k := range n {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		for i := 0; i < n[k]; i++ {
			gone = append(gone, k)
		}
		for i := 0; i < -n[k]; i++ {
			came = append(came, k)
		}
	}
	return gone, came
}

// stores lists the names of everything that contents shows, in file order.
func (o *Outcome) stores() []string {
	var out []string
	for _, r := range o.lw.spec.Resources {
		if r.SQL != nil {
			for _, t := range r.SQL.Tables {
				out = append(out, t.Name)
			}
			continue
		}
		out = append(out, r.Name)
	}
	for _, e := range o.lw.spec.Effects {
		out = append(out, e.Name)
	}
	return append(out, "human")
}

// contents lists what every store holds, printed.
func (o *Outcome) contents(state []uint64) map[string][]string {
	g := o.glance(state)
	out := map[string][]string{}
	rows := func(t *table) {
		for i := 0; i < g.size(t.over); i++ {
			if !g.inUse(t.over, i) || g.eval(load(t.used, num(i))) != 1 || !g.holds(t.visible(num(i), reader{})) {
				continue
			}
			out[t.name] = append(out[t.name], g.row(t, num(i)))
		}
	}
	for _, t := range o.lw.tables {
		rows(t)
	}
	for _, t := range o.lw.kvs {
		rows(t)
	}
	for _, q := range o.lw.queues {
		out[q.name] = g.messages(q)
	}
	for e, vs := range o.lw.effects {
		for op, v := range vs {
			for i := 0; i < op.Count; i++ {
				if n := g.eval(load(v, num(i))); n != 0 {
					out[e.Name] = append(out[e.Name], fmt.Sprintf("%s: %d", element(o.lw.opSet(op), i), n))
				}
			}
		}
	}
	for op, v := range o.lw.human {
		for i := 0; i < op.Count; i++ {
			if g.eval(load(v, num(i))) == 1 {
				out["human"] = append(out["human"], element(o.lw.opSet(op), i))
			}
		}
	}
	return out
}

// messages lists the waiting and acked messages of a queue.
func (g *glance) messages(q *queue) []string {
	var out []string
	g.eachMessage(q, func(m message) {
		state := "waiting"
		if !g.holds(q.waiting(m)) {
			state = "held"
			if q.moved != nil && g.holds(load(q.moved, m...)) {
				return // a run still has it, the queue has not
			}
			if q.acked != nil && g.holds(load(q.acked, m...)) {
				state = "acked"
			}
		}
		out = append(out, g.message(q, m)+" "+state)
	})
	return out
}

// eachMessage visits the stored messages of a queue.
func (g *glance) eachMessage(q *queue, visit func(m message)) {
	var walk func(m message, d int)
	walk = func(m message, d int) {
		if d == len(q.over) {
			visit(m)
			return
		}
		for i := 0; i < g.size(q.over[d]); i++ {
			if g.inUse(q.over[d], i) {
				walk(append(m[:len(m):len(m)], num(i)), d+1)
			}
		}
	}
	walk(nil, 0)
}
