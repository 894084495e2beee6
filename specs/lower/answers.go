package lower

import (
	"slices"
	"sort"
	"strings"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/modelcheck"
	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// PromiseAnswer is the answer to one promise.
type PromiseAnswer struct {
	Promise *ast.Promise
	Verdict modelcheck.Verdict
	// Reason says why it is unknown.
	Reason string
	// History breaks it; nil unless broken (or histories were switched off).
	History *History
	// Elements are the operations (or instances) it is broken for, printed.
	Elements []string
}

// PossibleAnswer is the answer to one line of must_be_possible.
type PossibleAnswer struct {
	Possibility *ast.Possibility
	// Verdict is Holds if it was reached, Vacuous if not, Unknown if the search
	// was cut before.
	Verdict modelcheck.Verdict
	// History shows it; nil for sentences about steps and branches.
	History *History
}

// NotTaken is a step or branch that no history takes.
type NotTaken struct {
	Pos     diag.Pos
	Process string
	Text    string // the step, "insert inbox"
	Branch  string // "if_exists", "" if the whole step is never taken
}

// Answers gives one answer per promise of the spec, in order.
func (o *Outcome) Answers() []PromiseAnswer {
	var out []PromiseAnswer
	for i, p := range o.lw.spec.Promises {
		a := PromiseAnswer{Promise: p, Verdict: modelcheck.Holds}
		for k, r := range o.Result.Properties {
			if !o.stands(o.Promises[i], k) {
				continue
			}
			if worse(r.Verdict, a.Verdict) {
				a.Verdict, a.Reason = r.Verdict, r.Reason
				a.History, a.Elements = nil, nil
				if r.History != nil {
					a.History = o.History(r.History, k)
					a.Elements = o.Model.Failing(k, lastState(r.History))
				}
			}
		}
		out = append(out, a)
	}
	return out
}

func lastState(h *modelcheck.History) []uint64 {
	if len(h.Steps) == 0 {
		return h.Initial
	}
	return h.Steps[len(h.Steps)-1].State
}

// stands says whether the engine's property k belongs to one of the program's.
func (o *Outcome) stands(ids []int, k int) bool {
	from := o.Model.Origin(k).Property
	return slices.ContainsFunc(ids, func(id int) bool { return o.Program.Props[id] == from })
}

// worse orders Broken above Unknown above Holds.
func worse(a, b modelcheck.Verdict) bool {
	rank := func(v modelcheck.Verdict) int {
		switch v {
		case modelcheck.Broken:
			return 3
		case modelcheck.Unknown:
			return 2
		case modelcheck.Vacuous:
			return 1
		}
		return 0
	}
	return rank(a) > rank(b)
}

// Possibilities gives one answer per line of must_be_possible, in order.
func (o *Outcome) Possibilities() []PossibleAnswer {
	var out []PossibleAnswer
	for i, p := range o.lw.spec.MustBePossible {
		a := PossibleAnswer{Possibility: p, Verdict: modelcheck.Vacuous}
		want := o.Possible[i]
		if want.Prop < 0 {
			if o.taken()[want.Label] {
				a.Verdict = modelcheck.Holds
			}
		}
		for k, r := range o.Result.Properties {
			if want.Prop >= 0 && o.stands([]int{want.Prop}, k) {
				a.Verdict = r.Verdict
				if r.Verdict == modelcheck.Holds && r.History != nil {
					a.History = o.History(r.History, k)
				}
			}
		}
		if a.Verdict == modelcheck.Vacuous && !o.Result.Complete {
			a.Verdict = modelcheck.Unknown
		}
		out = append(out, a)
	}
	return out
}

// taken is the set of labels of which some action was enabled.
func (o *Outcome) taken() map[string]bool {
	steps := o.Model.Shape().Steps
	out := map[string]bool{}
	for _, s := range steps {
		out[s] = true
	}
	for _, n := range o.Result.NeverTaken {
		delete(out, steps[n])
	}
	// A step is taken if it or one of its branches is.
	for s := range out {
		if step, _, ok := strings.Cut(s, ":"); ok {
			out[step] = true
		}
	}
	return out
}

// NeverTaken lists the steps, and the branches of other steps, that no history
// takes, in file order. It is empty unless the search was complete.
func (o *Outcome) NeverTaken() []NotTaken {
	if !o.Result.Complete {
		return nil
	}
	taken := o.taken()
	var out []NotTaken
	seen := map[string]bool{}
	for _, a := range o.Program.Actions {
		n, ok := a.Note.(*Note)
		if !ok || n.Process == nil || a.Label == "" || n.Silent || seen[a.Label] {
			continue
		}
		seen[a.Label] = true
		step, branch, _ := strings.Cut(a.Label, ":")
		if taken[a.Label] || branch != "" && (!taken[step] || a.Fault != "") {
			continue
		}
		if branch == "" && taken[step] {
			continue
		}
		if seen[step+"!"] {
			continue
		}
		out = append(out, notTaken(n, a, branch))
		if branch == "" {
			seen[step+"!"] = true
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Pos.Line < out[j].Pos.Line })
	return out
}

func notTaken(n *Note, a *ir.Action, branch string) NotTaken {
	t := NotTaken{Process: n.Process.Name, Branch: branch, Pos: n.Process.Trigger.Pos, Text: "start"}
	if n.Step != nil {
		t.Pos = n.Step.Pos
		t.Text = n.Step.Verb.String() + " " + n.Step.Subject
		if n.Commit {
			t.Text = "commit " + n.Step.Subject
		}
	}
	return t
}
