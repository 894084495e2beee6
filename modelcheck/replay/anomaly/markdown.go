package anomaly

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"github.com/relplan/relplan/internal/engines"
)

//go:embed page.md
var page string

// Between the first two lines stands what differs between machines, between the
// others what another generator writes.
const (
	measuredBegin = "<!-- measured begin -->"
	measuredEnd   = "<!-- measured end -->"
	replayBegin   = "<!-- replay table begin -->"
	replayEnd     = "<!-- replay table end -->"
	randomBegin   = "<!-- random table begin -->"
	randomEnd     = "<!-- random table end -->"
)

// Markdown renders the page docs/engines.md. What stands between the replay and
// random marks of old, the page as it was, is kept.
func (t *Table) Markdown(old string) (string, error) {
	cases, err := Catalog()
	if err != nil {
		return "", err
	}
	r := &renderer{t: t, cases: cases}
	head, rows := r.overview(link)
	parts := map[string]any{
		"Measured": r.measured(), "Overview": table(append([][]string{head}, rows...)), "Model": r.model(), "Agreement": r.agreement(),
		"Weaker": r.weaker(), "Stricter": r.stricter(), "Cases": r.details(), "Replay": between(old, replayBegin, replayEnd),
		"Random": between(old, randomBegin, randomEnd),
	}
	tpl, err := template.New("page").Parse(page)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = tpl.Execute(&out, parts)
	return out.String(), err
}

// between is what stands between two lines, with them; only them if they are
// not there.
func between(text, begin, end string) string {
	i := strings.Index(text, begin)
	j := strings.Index(text, end)
	if i < 0 || j < i {
		return begin + "\n" + end
	}
	return text[i : j+len(end)]
}

// Comparable is a page without what differs between machines.
func Comparable(text string) string {
	return strings.Replace(text, between(text, measuredBegin, measuredEnd), measuredBegin, 1)
}

type renderer struct {
	t     *Table
	cases []*Case
}

func (r *renderer) measured() string {
	var b strings.Builder
	b.WriteString(measuredBegin + "\n")
	for _, kind := range engines.Kinds {
		e, ok := r.t.Engines[kind]
		if !ok {
			continue
		}
		fmt.Fprintf(&b, "* %s %s", engineName(kind), strings.TrimSuffix(e.Version, "-MariaDB"))
		for _, f := range e.Facts {
			b.WriteString("; " + f)
		}
		b.WriteString(".\n")
	}
	return b.String() + measuredEnd
}

func engineName(kind engines.Kind) string { return ProfilesOf(kind)[0].Engine }

// columns are the profiles of the large table. Read uncommitted of PostgreSQL is
// left out where it does what read committed does.
func (r *renderer) columns() []Profile {
	var out []Profile
	for _, p := range Profiles {
		if p.ID != "postgres-ru" || !r.sameColumn("postgres-ru", "postgres-rc") {
			out = append(out, p)
		}
	}
	return out
}

func (r *renderer) sameColumn(a, b string) bool {
	return !slices.ContainsFunc(r.cases, func(c *Case) bool {
		return r.t.Cells[c.Name][a].Short() != r.t.Cells[c.Name][b].Short()
	})
}

var marks = map[Verdict]string{Stricter: " ▲", Weaker: " ▼"}

// Overview is the large table: a head and a row per case, with a row that has
// only a title before each group. Marks tell where the engine is stricter or
// weaker than the model.
func (t *Table) Overview() (head []string, rows [][]string, err error) {
	cases, err := Catalog()
	if err != nil {
		return nil, nil, err
	}
	r := &renderer{t: t, cases: cases}
	head, rows = r.overview(func(c *Case) string { return c.Title })
	return head, rows, nil
}

func (r *renderer) overview(title func(*Case) string) (head []string, rows [][]string) {
	cols := r.columns()
	head = []string{""}
	for _, p := range cols {
		head = append(head, p.Engine+" "+short(p))
	}
	group := ""
	for _, c := range r.cases {
		if c.Group != group {
			group = c.Group
			rows = append(rows, append([]string{"*" + group + "*"}, make([]string, len(cols))...))
		}
		row := []string{title(c)}
		for _, p := range cols {
			cell, ok := r.t.Cell(c, p)
			if !ok {
				row = append(row, "not run")
				continue
			}
			row = append(row, cell.Short()+marks[Judge(cell, r.t.ModelOf(c, p))])
		}
		rows = append(rows, row)
	}
	return head, rows
}

// short is the isolation as the head of a column; defaults are marked.
func short(p Profile) string {
	s := strings.NewReplacer("read uncommitted", "RU", "read committed", "RC", "repeatable read", "RR", "serializable", "SER", ", innodb_snapshot_isolation", " + snapshot").Replace(p.Isolation)
	if p.Default {
		s += " °"
	}
	return s
}

func link(c *Case) string { return fmt.Sprintf("[%s](#%s)", c.Title, anchor(c.Title)) }

// anchor is the name that a heading gets.
func anchor(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-':
			return r
		}
		return -1
	}, strings.ToLower(title))
}

func table(rows [][]string) string {
	var b strings.Builder
	for i, row := range rows {
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
		if i == 0 {
			b.WriteString("|" + strings.Repeat(" --- |", len(row)) + "\n")
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// model is the table of what the model says, one column per level; levels that
// say the same everywhere share one.
func (r *renderer) model() string {
	levels := r.levels()
	head := []string{""}
	for _, l := range levels {
		head = append(head, "`"+strings.Join(l, "`<br>`")+"`")
	}
	rows := [][]string{head}
	for _, c := range r.cases {
		row := []string{link(c)}
		for _, l := range levels {
			row = append(row, r.t.Model[c.Name][l[0]].short())
		}
		rows = append(rows, row)
	}
	return table(rows)
}

func (a ModelAnswer) short() string {
	s := "no"
	if a.Possible {
		s = "**yes**"
	}
	if len(a.Errors) > 0 {
		s += " (" + strings.Join(a.Errors, ", ") + ")"
	}
	return s
}

// levels groups the levels that give the same answers.
func (r *renderer) levels() [][]string {
	var out [][]string
	for _, p := range Profiles {
		if p.Model == nil || slices.ContainsFunc(out, func(g []string) bool { return slices.Contains(g, p.Model.String()) }) {
			continue
		}
		name := p.Model.String()
		i := slices.IndexFunc(out, func(g []string) bool { return r.sameLevel(g[0], name) })
		if i < 0 {
			out = append(out, []string{name})
		} else {
			out[i] = append(out[i], name)
		}
	}
	slices.SortStableFunc(out, func(a, b []string) int { return rank(a[0]) - rank(b[0]) })
	return out
}

func rank(level string) int {
	return slices.IndexFunc([]string{"read_committed", "repeatable_read", "serializable"}, func(l string) bool { return strings.HasPrefix(level, l) })
}

func (r *renderer) sameLevel(a, b string) bool {
	return rank(a) == rank(b) && !slices.ContainsFunc(r.cases, func(c *Case) bool {
		return r.t.Model[c.Name][a].short() != r.t.Model[c.Name][b].short()
	})
}

// each calls do for every measured cell.
func (r *renderer) each(do func(c *Case, p Profile, cell Cell, v Verdict)) {
	for _, c := range r.cases {
		for _, p := range Profiles {
			if cell, ok := r.t.Cell(c, p); ok {
				do(c, p, cell, Judge(cell, r.t.ModelOf(c, p)))
			}
		}
	}
}

func (r *renderer) agreement() string {
	n := map[Verdict]int{}
	r.each(func(_ *Case, _ Profile, _ Cell, v Verdict) { n[v]++ })
	return table([][]string{{"answer", "cells", "means"},
		{"MATCH", fmt.Sprint(n[Match]), "engine and model agree on whether it can happen and on whether a transaction can be refused"},
		{"STRICTER ▲", fmt.Sprint(n[Stricter]), "the engine refuses a step, or makes it wait, where the model goes on: a spec that holds still holds; its `on_error` may be taken where the model never takes it"},
		{"WEAKER ▼", fmt.Sprint(n[Weaker]), "the engine allows what the model calls impossible: each one is explained below"},
		{"no model", fmt.Sprint(n[NoModel]), "the language has no `read uncommitted`"},
		{"not asked", fmt.Sprint(n[NotAsked]), "the engine has no such statement"}})
}

func (r *renderer) weaker() string {
	var b strings.Builder
	for _, c := range r.cases {
		var where []string
		why := ""
		for _, p := range Profiles {
			if cell, ok := r.t.Cell(c, p); ok && Judge(cell, r.t.ModelOf(c, p)) == Weaker {
				where = append(where, p.Engine+" "+p.Isolation)
				why, _ = Excuse(c, p)
			}
		}
		if len(where) > 0 {
			fmt.Fprintf(&b, "* **%s** (%s). %s\n", c.Title, strings.Join(where, "; "), why)
		}
	}
	if b.Len() == 0 {
		return "None."
	}
	return strings.TrimRight(b.String(), "\n")
}

func (r *renderer) stricter() string {
	rows := [][]string{{"question", "engine", "the step that is refused or waits"}}
	for _, c := range r.cases {
		for _, g := range r.outcomes(c, func(v Verdict) bool { return v == Stricter }) {
			what := phrase(g.cell.Events)
			if len(g.cell.Events) == 0 {
				what = "no step: what is asked just does not come about"
			}
			rows = append(rows, []string{link(c), g.where(), what})
		}
	}
	return table(rows)
}

// outcome is a cell with the profiles that have it.
type outcome struct {
	cell Cell
	in   []Profile
}

// outcomes groups the cells of a case that are alike.
func (r *renderer) outcomes(c *Case, want func(Verdict) bool) []*outcome {
	var out []*outcome
	for _, p := range Profiles {
		cell, ok := r.t.Cell(c, p)
		if !ok || cell.Without != "" || !want(Judge(cell, r.t.ModelOf(c, p))) {
			continue
		}
		i := slices.IndexFunc(out, func(o *outcome) bool {
			return o.cell.Happened == cell.Happened && slices.Equal(o.cell.Events, cell.Events)
		})
		if i < 0 {
			i = len(out)
			out = append(out, &outcome{cell: cell})
		}
		out[i].in = append(out[i].in, p)
	}
	return out
}

// where names the profiles of an outcome, engine by engine.
func (o *outcome) where() string {
	var parts []string
	for _, kind := range engines.Kinds {
		var levels []string
		for _, p := range o.in {
			if p.Kind == kind {
				levels = append(levels, strings.TrimSuffix(short(p), " °"))
			}
		}
		switch {
		case len(levels) == 0:
		case len(levels) == len(ProfilesOf(kind)) && len(levels) > 1:
			parts = append(parts, engineName(kind))
		default:
			parts = append(parts, engineName(kind)+" ("+strings.Join(levels, "; ")+")")
		}
	}
	return strings.Join(parts, ", ")
}

// details has a section per case: the schedule and what came of it.
func (r *renderer) details() string {
	var b strings.Builder
	group := ""
	for _, c := range r.cases {
		if c.Group != group {
			group = c.Group
			fmt.Fprintf(&b, "### %s\n\n", group)
		}
		fmt.Fprintf(&b, "#### %s\n\nCan it happen that %s?\n\n```\n%s\n```\n\n", capital(c.Title), c.Asks, strings.Join(turns(c), "\n"))
		for _, o := range r.outcomes(c, func(Verdict) bool { return true }) {
			fmt.Fprintf(&b, "* %s: %s.\n", o.cell.sentence(), o.where())
		}
		for _, l := range c.without {
			o := &outcome{}
			for _, p := range Profiles {
				if l.holdsFor(p) {
					o.in = append(o.in, p)
				}
			}
			fmt.Fprintf(&b, "* not asked, %s: %s.\n", l.text, o.where())
		}
		for _, n := range c.Notes {
			fmt.Fprintf(&b, "\n%s\n", n)
		}
		b.WriteString("\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// sentence is the cell in words: "no: B waits at `update ..`, then gets 40001".
func (c Cell) sentence() string {
	s := "no"
	if c.Happened {
		s = "**yes**"
	}
	if len(c.Events) > 0 {
		s += ": " + phrase(c.Events)
	}
	return s
}

// phrase tells events in their order.
func phrase(events []Event) string {
	var parts []string
	for i, e := range events {
		again := i > 0 && e.Session == events[i-1].Session && e.At == events[i-1].At
		switch {
		case e.Session == "":
			parts = append(parts, "a deadlock, "+e.What+" for one of the two")
		case again:
			parts = append(parts, "gets "+e.What)
		case e.What == "waits":
			parts = append(parts, fmt.Sprintf("%s waits at `%s`", e.Session, e.At))
		default:
			parts = append(parts, fmt.Sprintf("%s gets %s at `%s`", e.Session, e.What, e.At))
		}
	}
	return strings.Join(parts, ", then ")
}

// turns is the schedule with what a session does in one turn on one line; the
// first engine that has every statement speaks for all.
func turns(c *Case) []string {
	var steps []string
	for _, kind := range []engines.Kind{engines.Postgres, engines.MySQL, engines.SQLite} {
		if steps = c.Schedule(kind); steps != nil {
			break
		}
	}
	var out []string
	last := ""
	for _, s := range steps {
		who, text, _ := strings.Cut(s, "  ")
		if text == "begin" {
			continue
		}
		if who == last {
			out[len(out)-1] += "; " + text
		} else {
			out = append(out, who+"  "+text)
		}
		last = who
	}
	return out
}
