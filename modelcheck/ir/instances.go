package ir

import (
	"fmt"
	"slices"
	"strings"

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
