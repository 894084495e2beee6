package pages

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/relplan/relplan/internal/quantity"
	"github.com/relplan/relplan/reports"
	"github.com/relplan/relplan/specs"
	"github.com/relplan/relplan/specs/ast"
)

// broken tells of each variant that breaks how, why and what repairs it.
func (p *page) broken(ctx context.Context) error {
	first := true
	for i, x := range p.variants {
		if x.Verdict != ast.Broken {
			continue
		}
		if first {
			p.line("## What breaks, and why\n")
			first = false
		}
		p.line("### `%s`\n", x.names())
		p.line("%s\n", wrap(x.tree.VariantAbout))
		p.history(x, p.variants[:i])
		if err := p.singleFaults(ctx, x); err != nil {
			return err
		}
		if err := p.repairs(x); err != nil {
			return err
		}
	}
	return nil
}

// history shows the shortest one, once.
func (p *page) history(x *variant, before []*variant) {
	s := x.Shortest()
	p.line("%s\n", wrap(fmt.Sprintf("It breaks `%s` (%s) in %s with %s.%s", s.Name, promiseText(s), steps(len(s.History)), faults(s.Faults), others(x, s))))
	for _, b := range before {
		if b.Verdict == ast.Broken && b.Shortest().SameHistory(s) {
			p.line("The history is the one of [`%s`](#%s).\n", b.names(), anchor(b.names()))
			return
		}
	}
	p.line("```text\n%s\n```\n", strings.TrimRight(s.Brief(x.tree, width), "\n"))
	if len(s.Because) > 0 {
		p.line("**Because**\n")
		p.blocks(reports.List{Items: s.Because})
	}
}

// promiseText is a promise in words; an expression stands as code.
func promiseText(s *specs.PromiseVerdict) string {
	text, ok := strings.CutPrefix(s.Text, "check: ")
	if !ok {
		return s.Text
	}
	expr, when, _ := cutLast(text, " (")
	when = strings.TrimSuffix(when, ")")
	if when == "finally" {
		return "at rest `" + expr + "`"
	}
	return when + " `" + expr + "`"
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// others names the promises that break beside the one shown.
func others(x *variant, shown *specs.PromiseVerdict) string {
	out := ""
	for _, q := range x.Promises {
		if q == shown || q.Verdict != ast.Broken {
			continue
		}
		by := "the same history"
		if !q.SameHistory(shown) {
			by = fmt.Sprintf("%s with %s", steps(len(q.History)), faults(q.Faults))
		}
		out += fmt.Sprintf(" It breaks `%s` (%s) too, by %s.", q.Name, promiseText(q), by)
	}
	return out
}

// repairs names the variants that hold and differ least.
func (p *page) repairs(x *variant) error {
	best, least := []*variant(nil), 0
	for _, y := range p.variants {
		if y.Verdict != ast.Holds || !y.covers(x.Shortest().Faults) {
			continue
		}
		d := len(differences(x, y))
		if best == nil || d < least {
			best, least = nil, d
		}
		if d == least {
			best = append(best, y)
		}
	}
	if len(best) == 0 {
		return fmt.Errorf("no variant repairs %s", x.Name())
	}
	var ways []string
	for _, y := range best {
		var ds []string
		for _, d := range differences(x, y) {
			ds = append(ds, fmt.Sprintf("`%s: %s` instead of `%s`", d.name, d.to, d.from))
		}
		ways = append(ways, fmt.Sprintf("`%s`, with %s", y.names(), strings.Join(ds, " and ")))
	}
	p.line("**Repair:** %s.\n", strings.Join(ways, "; or "))
	return nil
}

// covers says whether the variant was checked against these faults too.
func (x *variant) covers(faults map[string]int) bool {
	for name, n := range faults {
		if x.Bounds[name] < n {
			return false
		}
	}
	return true
}

// difference is a parameter or duration with two values.
type difference struct{ name, from, to string }

func differences(x, y *variant) []difference {
	var out []difference
	for _, q := range x.tree.Parameters {
		if to := y.Parameters[q.Name]; to != q.Value {
			out = append(out, difference{q.Name, q.Value, to})
		}
	}
	for _, d := range x.tree.Durations {
		i := slices.IndexFunc(y.tree.Durations, func(e *ast.Duration) bool { return e.Name == d.Name })
		if i >= 0 && y.tree.Durations[i].Length != d.Length {
			out = append(out, difference{d.Name, quantity.FormatDuration(d.Length), quantity.FormatDuration(y.tree.Durations[i].Length)})
		}
	}
	return out
}
