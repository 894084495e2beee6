package pages

import (
	"fmt"
	"slices"
	"strings"

	"github.com/relplan/relplan/specs"
)

// restsOn says what the verdicts cover and what they take for granted.
func (p *page) restsOn() {
	p.line("## What this rests on\n")
	p.line("- %s", p.size())
	for _, b := range p.bounds() {
		p.line("- %s", b)
	}
	seen := map[string]bool{}
	for _, x := range p.variants {
		for _, r := range x.RestsOn {
			text, ok := strings.CutPrefix(r, "holds iff ")
			if ok {
				text, _, _ = strings.Cut(text, " (here")
				text = "The verdict turns on one inequality: `" + text + "`."
			} else if text, _, ok = strings.Cut(r, ": "); ok {
				text = "Assumed, not shown: " + text + "."
			}
			if !seen[text] {
				seen[text] = true
				p.line("- %s", text)
			}
		}
	}
	p.line("- Not shown: more operations, instances or faults than these; that your program does what the spec says; anything about how long it takes.")
	p.line("")
}

// size is how much of everything the safe variant has.
func (p *page) size() string {
	var parts []string
	for _, o := range p.safe.tree.Operations {
		parts = append(parts, plural(o.Count, o.Name))
	}
	for _, q := range p.safe.tree.Processes {
		if q.Instances > 1 {
			parts = append(parts, plural(q.Instances, q.Name))
		}
	}
	return fmt.Sprintf("Complete for %s: every interleaving, %s states for `%s`.", strings.Join(parts, ", "), count(p.safe.States), p.safe.Name())
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d x %s", n, what)
}

func count(n uint64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// bounds lists the fault budgets, variants with the same together.
func (p *page) bounds() []string {
	var texts []string
	names := map[string][]string{}
	for _, x := range p.variants {
		t := specs.FaultText(x.Bounds)
		if names[t] == nil {
			texts = append(texts, t)
		}
		names[t] = append(names[t], "`"+x.names()+"`")
	}
	if len(texts) == 1 {
		return []string{"Faults: every history with at most " + texts[0] + "."}
	}
	most := slices.MaxFunc(texts, func(a, b string) int { return len(names[a]) - len(names[b]) })
	out := []string{"Faults: every history with at most " + most + "."}
	for _, t := range texts {
		if t != most {
			out = append(out, fmt.Sprintf("%s: at most %s.", strings.Join(names[t], ", "), t))
		}
	}
	return out
}
