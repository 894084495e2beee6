package ir

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/relplan/relplan/modelcheck"
)

// instantiate numbers the action instances in the order in which histories
// prefer them: process, instance, order in the source, parameters.
func (m *Model) instantiate() error {
	total := 0
	for _, a := range m.Program.Actions {
		n := 1
		if a.Proc != nil {
			n = a.Proc.Instances.Size
		}
		for _, p := range a.Params {
			n *= p.Over.size()
			if n > maxActions {
				break
			}
		}
		if total += n; total > maxActions {
			return fmt.Errorf("program %q: more than %d action instances", m.Program.Name, maxActions)
		}
	}
	for i, a := range m.Program.Actions {
		m.unfold(instance{action: a, number: i, self: -1})
	}
	procs := map[*Proc]int{nil: len(m.Program.Procs)}
	for i, q := range m.Program.Procs {
		procs[q] = i
	}
	slices.SortStableFunc(m.insts, func(x, y instance) int {
		for _, d := range []int{procs[x.action.Proc] - procs[y.action.Proc], x.self - y.self, x.action.Order - y.action.Order, x.number - y.number} {
			if d != 0 {
				return d
			}
		}
		return slices.Compare(x.params, y.params)
	})
	m.ids = make([][]modelcheck.ActionID, len(m.Program.Actions))
	for id, in := range m.insts {
		m.ids[in.number] = append(m.ids[in.number], modelcheck.ActionID(id))
	}
	m.describe(procs)
	m.shape.Actions = len(m.insts)
	return nil
}

func (m *Model) unfold(in instance) {
	a := in.action
	if a.Proc != nil && in.self < 0 {
		for i := range a.Proc.Instances.Size {
			in.self = i
			m.unfold(in)
		}
		return
	}
	if d := len(in.params); d < len(a.Params) {
		for i := range a.Params[d].Over.size() {
			next := in
			next.params = append(slices.Clone(in.params), i)
			m.unfold(next)
		}
		return
	}
	m.insts = append(m.insts, in)
}

func (m *Model) describe(procs map[*Proc]int) {
	steps := map[string]int{}
	for _, a := range m.Program.Actions {
		if _, ok := steps[a.Label]; !ok && a.Label != "" {
			steps[a.Label] = len(m.shape.Steps)
			m.shape.Steps = append(m.shape.Steps, a.Label)
		}
	}
	type decision struct {
		proc   *Proc
		self   int
		choice int
	}
	choices := map[decision]int{}
	for id, in := range m.insts {
		a := in.action
		d := modelcheck.Action{Text: in.text(), Process: -1, Kind: modelcheck.Kind(a.Kind), FaultUnit: a.Fault, FaultRank: a.Rank,
			Unfair: a.Unfair, Order: id, StepID: -1, Note: a.Note}
		if a.Label != "" {
			d.StepID = steps[a.Label]
		}
		if q := a.Proc; q != nil {
			d.Process, d.Instance, d.Actor = procs[q], in.self, q.actor(in.self)
			if s, ok := m.sets[q.Instances]; ok {
				d.Who = []modelcheck.Element{{Set: s, Index: in.self}}
			}
		}
		if a.Choice != 0 {
			key := decision{a.Proc, in.self, a.Choice}
			if choices[key] == 0 {
				choices[key] = len(choices) + 1
			}
			d.Choice = choices[key]
		}
		m.actions = append(m.actions, d)
	}
}

// actor is the printed name of an instance.
func (q *Proc) actor(i int) string {
	if q.Instances.Size == 1 {
		return q.Name
	}
	return fmt.Sprintf("%s %d", q.Name, i+1)
}

// text is the action's name with its parameters.
func (in instance) text() string {
	var b strings.Builder
	b.WriteString(in.action.Name)
	for i, p := range in.action.Params {
		b.WriteByte(' ')
		if p.Over.Pool != nil {
			fmt.Fprintf(&b, "%s %d", p.Over.Pool.Name, in.params[i]+1)
		} else {
			b.WriteString(p.Over.Set.element(in.params[i]))
		}
	}
	return b.String()
}

// hotVars scores variables by how close to the program counter they belong.
type hotVars struct {
	score func(*Var) int
	keys  map[*Proc][]*Var // variables to specialise on, program counter first
}

// Bits of the state that select a row, program counter included.
const maxKeyBits = 10

// findHot picks, per process, the variables of the instance that its steps use
// as indices: when they are known, every address is.
func findHot(p *Program, o Options) hotVars {
	score, uses := map[*Var]int{}, map[*Proc]map[*Var]int{}
	for _, a := range p.Actions {
		if a.Proc == nil || o.NoSpecialise {
			continue
		}
		if uses[a.Proc] == nil {
			uses[a.Proc] = map[*Var]int{}
		}
		w := indexUses{self: a.Self, found: uses[a.Proc]}
		w.expr(a.Guard, false)
		w.stmts(a.Body)
	}
	h := hotVars{keys: map[*Proc][]*Var{}}
	for _, q := range p.Procs {
		h.keys[q] = []*Var{q.PC}
		for _, v := range p.Vars {
			if n := uses[q][v]; n > 0 && v != q.PC && len(v.Index) == 1 && v.Index[0].Set == q.Instances {
				score[v] += n
				h.keys[q] = append(h.keys[q], v)
			}
		}
	}
	for _, q := range p.Procs {
		score[q.PC] = 1 << 30
		sortStable(h.keys[q], func(v *Var) int { return score[v] })
	}
	h.score = func(v *Var) int { return score[v] }
	return h
}

// makeDispatch gives every process instance its key bits and its actions.
func (m *Model) makeDispatch(h hotVars) {
	for _, q := range m.Program.Procs {
		for self := range q.Instances.Size {
			m.dispatch = append(m.dispatch, m.processDispatch(q, self, h.keys[q]))
		}
	}
	env := dispatch{self: -1, rows: make([]atomic.Pointer[row], 1)}
	for id, in := range m.insts {
		if in.action.Proc == nil {
			env.ids = append(env.ids, modelcheck.ActionID(id))
		}
	}
	m.dispatch = append(m.dispatch, env)
}

func (m *Model) processDispatch(q *Proc, self int, keys []*Var) dispatch {
	pc := m.l.vars[q.PC].cells[self]
	d := dispatch{word: pc.word, shift: pc.shift, proc: q, self: self, keys: []*cell{pc}}
	end := pc.shift + pc.width
	for _, v := range keys {
		c := m.l.vars[v].cells[self]
		if v == q.PC || c.width == 0 {
			continue
		}
		if c.word != pc.word || c.shift != end || end+c.width-pc.shift > maxKeyBits {
			break
		}
		end += c.width
		d.keys = append(d.keys, c)
	}
	d.mask = 1<<(end-d.shift) - 1
	d.rows = make([]atomic.Pointer[row], d.mask+1)
	for id, in := range m.insts {
		if in.action.Proc == q && in.self == self {
			d.ids = append(d.ids, modelcheck.ActionID(id))
		}
	}
	return d
}

// indexUses counts the variables read at Self inside an index.
type indexUses struct {
	self  *Local
	found map[*Var]int
}

func (w *indexUses) at(es []Expr) {
	for _, e := range es {
		w.expr(e, true)
	}
}

func (w *indexUses) expr(e Expr, index bool) {
	switch e := e.(type) {
	case Load:
		if u, ok := oneUse(e.At); ok && index && w.self != nil && u == w.self {
			w.found[e.Var]++
		}
		w.at(e.At)
	case Binary:
		w.expr(e.A, index)
		w.expr(e.B, index)
	case Not:
		w.expr(e.A, index)
	case Cond:
		w.expr(e.If, index)
		w.expr(e.A, index)
		w.expr(e.B, index)
	case Exists:
		w.expr(e.Where, index)
	case Count:
		w.expr(e.Where, index)
	case Best:
		w.expr(e.Where, index)
		w.expr(e.Of, index)
	}
}

func oneUse(at []Expr) (*Local, bool) {
	if len(at) != 1 {
		return nil, false
	}
	u, ok := at[0].(Use)
	return u.Local, ok
}

func (w *indexUses) stmts(ss []Stmt) {
	for _, s := range ss {
		switch s := s.(type) {
		case Assign:
			w.at(s.At)
			w.expr(s.Value, false)
		case If:
			w.expr(s.Cond, false)
			w.stmts(s.Then)
			w.stmts(s.Else)
		case ForEach:
			w.stmts(s.Body)
		case Let:
			w.expr(s.Value, true) // what is bound is often an index later
		case Put:
			w.stmts(s.Body)
		case Drop:
			w.expr(s.Slot, false)
		case Fresh:
			w.at(s.At)
		case Next:
			w.at(s.At)
		}
	}
}

// grouped puts transitions that share a plain test behind it, so that one look
// excludes them all.
func grouped(ts []*transition) []group {
	key := func(t test) [5]uint64 {
		return [5]uint64{uint64(t.kind), uint64(t.word), uint64(t.shift), t.mask, t.val}
	}
	count := map[[5]uint64]int{}
	for _, t := range ts {
		for _, q := range t.tests {
			if q.kind <= tBits {
				count[key(q)]++
			}
		}
	}
	at := map[[5]uint64]int{}
	var out []group
	for _, t := range ts {
		best := -1
		for i, q := range t.tests {
			if q.kind <= tBits && count[key(q)] > 1 && (best < 0 || count[key(q)] > count[key(t.tests[best])]) {
				best = i
			}
		}
		if best < 0 {
			if len(out) == 0 || len(out[len(out)-1].pre) > 0 {
				out = append(out, group{})
			}
			g := &out[len(out)-1]
			g.ts = append(g.ts, transition{tests: t.tests, id: t.id, known: t.known})
			continue
		}
		pre := t.tests[best]
		i, ok := at[key(pre)]
		if !ok {
			i = len(out)
			at[key(pre)] = i
			out = append(out, group{pre: []test{pre}})
		}
		rest := slices.Delete(slices.Clone(t.tests), best, best+1)
		out[i].ts = append(out[i].ts, transition{tests: rest, id: t.id, known: t.known})
	}
	return out
}
