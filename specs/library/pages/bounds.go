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
	for _, t := range p.conditions() {
		p.line("- %s", t)
	}
	p.line("- Not shown: more operations, instances or faults than these; that your program does what the spec says; anything about how long it takes.")
	p.line("")
}

// conditions lists the orders of durations on which the verdicts turn, and what is
// assumed.
func (p *page) conditions() []string {
	var out []string
	add := func(text string) {
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	for _, x := range p.variants {
		for _, r := range x.RestsOn {
			if order, ok := strings.CutPrefix(r, "holds iff "); ok {
				order, _, _ = strings.Cut(order, " (here")
				add("The verdict turns on one inequality: `" + order + "`.")
			} else if assumed, _, ok := strings.Cut(r, ": "); ok {
				add("Assumed, not shown: " + assumed + ".")
			}
		}
	}
	// A variant in which both lengths are equal says whether that is enough.
	return slices.DeleteFunc(out, func(t string) bool {
		return slices.Contains(out, strings.Replace(t, " > ", " >= ", 1)) && strings.Contains(t, " > ")
	})
}

// size is how much of everything the safe variant has.
func (p *page) size() string {
	var parts []string
	for _, o := range p.safe.tree.Operations {
		parts = append(parts, plural(o.Count, o.Name))
	}
	for _, q := range p.safe.tree.Processes {
		if q.Instances > 1 {
			parts = append(parts, fmt.Sprintf("%d instances of `%s`", q.Instances, q.Name))
		}
	}
	return fmt.Sprintf("Complete for %s: every interleaving, %s states for `%s`.", and(parts), count(p.safe.States), p.safe.Name())
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func and(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}

func count(n uint64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// faults names faults with their numbers: "1 error and 1 operator replay".
func faults(m map[string]int) string { return and(strings.Split(specs.FaultText(m), ", ")) }

// bounds lists the variants that were checked against other faults than the safe
// one, whose faults stand above.
func (p *page) bounds() []string {
	safe := faults(p.safe.Bounds)
	var texts []string
	names := map[string][]string{}
	for _, x := range p.variants {
		t := faults(x.Bounds)
		if t == safe {
			continue
		}
		if names[t] == nil {
			texts = append(texts, t)
		}
		names[t] = append(names[t], "`"+x.names()+"`")
	}
	var out []string
	for _, t := range texts {
		out = append(out, fmt.Sprintf("Faults of %s: at most %s.", and(names[t]), t))
	}
	return out
}
