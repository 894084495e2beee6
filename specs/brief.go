package specs

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/relplan/relplan/specs/ast"
)

// jumpToLine is a jump to a step without a label: of use beside the file only.
var jumpToLine = regexp.MustCompile(`^goes to line \d+$`)

// emptyColumn is a column that holds nothing, behind another one.
var emptyColumn = regexp.MustCompile(`, \w+: none\b`)

// Brief prints the history in text for people who do not have the file at hand:
// one column for each of at most two actors, else one line per step with the
// actor's name, and of the changes only those that the step's own words do not
// tell. The tree is the variant's.
func (p *PromiseVerdict) Brief(tree *ast.Spec, width int) string {
	effects := map[string]bool{}
	for _, e := range tree.Effects {
		effects[e.Name] = true
	}
	short := *p
	short.History = nil
	for _, s := range p.History {
		short.History = append(short.History, s.brief(effects))
	}
	if len(short.actors()) > 2 {
		return short.lines(width, len(strconv.Itoa(len(short.History))))
	}
	return short.lanes(width)
}

// brief keeps of the changes the effects, what a fault or a script does, and what
// an update computes.
func (s *Step) brief(effects map[string]bool) *Step {
	out := *s
	out.order = nil
	for _, where := range s.order {
		what := s.Changed[where]
		set, _, _ := strings.Cut(s.Text, " where ")
		computes := strings.Contains(set, " + ") || strings.Contains(set, " - ")
		switch {
		case effects[where], s.Kind == "fault" && !strings.HasPrefix(what, "-"), strings.HasPrefix(s.Text, "runs a script"):
		case s.Kind == "step" && computes && strings.Contains(what, " -> "):
		default:
			continue
		}
		out.order = append(out.order, where)
	}
	out.Changed = map[string]string{}
	for _, where := range out.order {
		out.Changed[where] = emptyColumn.ReplaceAllString(s.Changed[where], "")
	}
	if !strings.HasPrefix(s.Text, "updates ") && !strings.HasPrefix(s.Text, "inserts ") { // what is set to none is set
		out.Text = emptyColumn.ReplaceAllString(s.Text, "")
	}
	if jumpToLine.MatchString(out.Then) {
		out.Then = ""
	}
	return &out
}

// Shortest is the broken promise with the shortest history: the fewest faults,
// then the fewest steps, then the first in the file. It is nil where none has one.
func (v *VariantVerdict) Shortest() *PromiseVerdict {
	var best *PromiseVerdict
	for _, p := range v.Promises {
		if len(p.History) == 0 {
			continue
		}
		if best == nil || p.cost() < best.cost() || p.cost() == best.cost() && len(p.History) < len(best.History) {
			best = p
		}
	}
	return best
}

// cost is the number of faults that the history spends.
func (p *PromiseVerdict) cost() int {
	n := 0
	for _, k := range p.Faults {
		n += k
	}
	return n
}

// FaultText prints faults by name with their numbers: "1 crash, 2 lost answers".
func FaultText(faults map[string]int) string { return faultText(faults) }

// SameHistory says whether two promises are broken by the same steps.
func (p *PromiseVerdict) SameHistory(q *PromiseVerdict) bool {
	return slices.EqualFunc(p.History, q.History, func(a, b *Step) bool { return a.Actor == b.Actor && a.Text == b.Text })
}
