package pages

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/relplan/relplan/specs"
)

// window is rows of the crash table that leave and lead to the same.
type window struct {
	process       string
	after, events []string
	durable, then string
}

var eventWords = map[string]string{"crash": "crash", "answer_lost": "answer lost", "request_lost": "request lost", "late": "executed late"}

// crashes is the crash table of the safe variant, rows with the same outcome
// together. A design that was checked without crashes has none.
func (p *page) crashes(ctx context.Context) error {
	if p.safe.Bounds["crash"] == 0 {
		return nil
	}
	rows, err := p.windows(ctx, p.safe)
	if err != nil || len(rows) == 0 {
		return err
	}
	for _, r := range rows {
		if b := r.Broken(); len(b) > 0 {
			return fmt.Errorf("variant %s holds and its crash table says that %v break", p.safe.Name(), b)
		}
	}
	p.line("### Where a crash strikes\n")
	p.line("%s\n", wrap(fmt.Sprintf("One crash, or one lost answer, at any of %d places: no promise breaks.", len(rows))))
	ws := p.merge(rows)
	several := false
	for _, w := range ws {
		several = several || w.process != ws[0].process
	}
	p.line("| after | what goes wrong | durable then | what happens next |\n| --- | --- | --- | --- |")
	for _, w := range ws {
		after := w.after[0]
		if n := len(w.after); n > 1 {
			after += " .. " + w.after[n-1]
		}
		if several {
			after = w.process + " " + after
		}
		p.line("| %s | %s | %s | %s |", cell(after), strings.Join(w.events, ", "), cell(w.durable), cell(w.then))
	}
	p.line("")
	return nil
}

func (p *page) windows(ctx context.Context, x *variant) ([]*specs.WindowRow, error) {
	t, err := p.spec.Windows(ctx, []string{x.Name()}, specs.CheckOptions{})
	if err != nil {
		return nil, err
	}
	if !t.Complete {
		return nil, fmt.Errorf("variant %s: the crash table is not complete", x.Name())
	}
	return t.Rows, nil
}

// merge puts neighbours with the same outcome into one row.
func (p *page) merge(rows []*specs.WindowRow) []*window {
	var out []*window
	for _, r := range rows {
		w := &window{process: r.Process, after: []string{brief(r.AfterStep)}, events: []string{eventWords[r.Event]}, durable: p.durable(r.Durable), then: brief(r.Redelivery)}
		if n := len(out); n > 0 {
			if l := out[n-1]; l.process == w.process && l.durable == w.durable && l.then == w.then {
				l.take(w)
				continue
			}
		}
		out = append(out, w)
	}
	return out
}

func (w *window) take(x *window) {
	for _, a := range x.after {
		if !slices.Contains(w.after, a) {
			w.after = append(w.after, a)
		}
	}
	for _, e := range x.events {
		if !slices.Contains(w.events, e) {
			w.events = append(w.events, e)
		}
	}
}

// singleFaults says where one crash or lost answer alone breaks the variant.
func (p *page) singleFaults(ctx context.Context, x *variant) error {
	if x.Bounds["crash"] == 0 {
		return nil
	}
	rows, err := p.windows(ctx, x)
	if err != nil {
		return err
	}
	var bad []*specs.WindowRow
	for _, r := range rows {
		if len(r.Broken()) > 0 {
			bad = append(bad, r)
		}
	}
	if len(bad) == 0 || len(x.Shortest().Faults) == 0 {
		return nil // without any fault it breaks anyway
	}
	where := ""
	if ps := places(bad); len(ps) <= 4 {
		where = ": " + strings.Join(ps, "; ")
	}
	p.line("%s\n", wrap(fmt.Sprintf("A single fault is enough at %d of %d places%s.", len(bad), len(rows), where)))
	return nil
}

// places lists the places of rows: "crash or answer lost after inserts into inbox".
func places(rows []*specs.WindowRow) []string {
	var out []string
	type place struct{ process, after string }
	events := map[place][]string{}
	var order []place
	for _, r := range rows {
		k := place{r.Process, brief(r.AfterStep)}
		if events[k] == nil {
			order = append(order, k)
		}
		if e := eventWords[r.Event]; !slices.Contains(events[k], e) {
			events[k] = append(events[k], e)
		}
	}
	for _, k := range order {
		out = append(out, fmt.Sprintf("%s after `%s` %s", strings.Join(events[k], " or "), k.process, k.after))
	}
	return out
}

var (
	stateIn = regexp.MustCompile(`\([^()]*\bstate: (\w+)[^()]*\)`)
	details = regexp.MustCompile(` ?(\([^()]*\)|\{[^{}]*\})`)
	clauses = regexp.MustCompile(` where [^:;]*`)
	lines   = regexp.MustCompile(`(: [a-z ]+)?, goes to line \d+`)
)

// brief leaves out of a step's words the values and conditions.
func brief(s string) string {
	s = clauses.ReplaceAllString(details.ReplaceAllString(s, ""), "")
	s = strings.ReplaceAll(lines.ReplaceAllString(s, "$1"), ": the answer is lost", "")
	if strings.HasPrefix(s, "nothing: ") {
		return "the run is over"
	}
	return s
}

// durable says what is stored: each table with the state of its row, and the
// effects that have happened.
func (p *page) durable(items []string) string {
	var out []string
	for _, i := range items {
		i = details.ReplaceAllString(stateIn.ReplaceAllString(i, "$1"), "")
		for _, e := range p.safe.tree.Effects {
			if strings.HasPrefix(i, e.Name+" ") {
				i = e.Name + " done"
			}
		}
		if i != "" && !slices.Contains(out, i) {
			out = append(out, i)
		}
	}
	if len(out) == 0 {
		return "nothing"
	}
	return strings.Join(out, "; ")
}
