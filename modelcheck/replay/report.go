package replay

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/relplan/relplan/reports"
)

// Document is the JSON document of `relplan replay`.
type Document struct {
	Schema string      `json:"schema"`
	Runs   []RunObject `json:"runs"`
}

// RunObject is one run in the document.
type RunObject struct {
	Spec          string            `json:"spec"`
	Variant       *string           `json:"variant"`
	History       string            `json:"history"`
	Engines       map[string]string `json:"engines"`
	Answer        Answer            `json:"answer"`
	Reason        string            `json:"reason"`
	Step          int               `json:"step"` // of the deviation, 0 for none
	ModelEffects  map[string]int    `json:"model_effects"`
	EngineEffects map[string]int    `json:"engine_effects"`
	Steps         []StepReport      `json:"steps"`
	Boundary      Boundary          `json:"boundary"`
	Basis         reports.Basis     `json:"basis"`
}

const schema = "relplan.dev/replay/v1"

// NewDocument makes the document of some runs.
func NewDocument(runs []*Run) Document {
	d := Document{Schema: schema, Runs: []RunObject{}}
	for _, r := range runs {
		o := RunObject{Spec: r.Spec.File, History: r.History, Engines: r.Engines, Answer: r.Answer, Reason: r.Reason, Step: r.Step,
			ModelEffects: map[string]int{}, EngineEffects: map[string]int{}, Steps: r.Steps, Boundary: r.Boundary.lists(),
			Basis: reports.Basis{Kind: "measured", Engine: engineList(r.Engines)}}
		if r.Spec.Variant != "" {
			o.Variant = &r.Spec.Variant
		}
		if o.Steps == nil {
			o.Steps = []StepReport{}
		}
		for _, c := range r.Effects {
			name := c.Effect + " " + c.Operation
			o.ModelEffects[name], o.EngineEffects[name] = c.Model, c.Engine
		}
		d.Runs = append(d.Runs, o)
	}
	return d
}

// lists makes every list of a boundary an array, also without entries.
func (b Boundary) lists() Boundary {
	for _, l := range []*[]string{&b.Ran, &b.Injected, &b.Modelled, &b.NotRun} {
		if *l == nil {
			*l = []string{}
		}
	}
	return b
}

func engineList(engines map[string]string) string {
	seen := map[string]bool{}
	for _, e := range engines {
		seen[e] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(seen)), ", ")
}

// Exit is the exit code: WEAKER 1, STRICTER 1 if strict, FLAKY and NOT_RUN 4.
func Exit(runs []*Run, strict bool) int {
	code := 0
	for _, r := range runs {
		switch {
		case r.Answer == Weaker, r.Answer == Stricter && strict:
			return 1
		case r.Answer == Flaky, r.Answer == NotRun:
			code = 4
		}
	}
	return code
}

var marks = map[Answer]reports.Mark{Confirmed: reports.Good, Stricter: reports.Plain, Weaker: reports.Bad, NotRun: reports.Unsure, Flaky: reports.Bad}

// Blocks gives the runs of one spec for people: a table of answers, and step by
// step what did not go as the model says, or everything with all.
func Blocks(runs []*Run, all bool) []reports.Block {
	if len(runs) == 0 {
		return nil
	}
	first := runs[0].Spec
	out := []reports.Block{reports.Heading{Level: 2, Text: fmt.Sprintf("%s (%s)", first.System, first.File)}}
	if len(runs) > 8 && !all && onlyRandom(runs) {
		out = append(out, summary(runs)...)
	} else {
		out = append(out, answers(runs))
	}
	for _, r := range runs {
		if r.Answer != Confirmed || all {
			out = append(out, details(r, all)...)
		}
	}
	return append(out, boundary(runs)...)
}

func onlyRandom(runs []*Run) bool {
	return !slices.ContainsFunc(runs, func(r *Run) bool { return !strings.HasPrefix(r.History, "random ") })
}

func answers(runs []*Run) reports.Block {
	t := reports.Table{Columns: []reports.Column{{Name: "variant"}, {Name: "history"}, {Name: "steps", Right: true}, {Name: "answer"}, {Name: "effects: model = engine"}}}
	for _, r := range runs {
		t.Rows = append(t.Rows, []string{r.Spec.Variant, r.History, fmt.Sprint(len(r.Steps)), string(r.Answer), effectsText(r.Effects)})
	}
	return t
}

// summary counts the answers of random schedules.
func summary(runs []*Run) []reports.Block {
	n, steps := map[Answer]int{}, 0
	for _, r := range runs {
		n[r.Answer]++
		steps += len(r.Steps)
	}
	text := fmt.Sprintf("%d random schedules, %d steps:", len(runs), steps)
	for _, a := range []Answer{Confirmed, Stricter, NotRun, Flaky, Weaker} {
		if n[a] > 0 {
			text += fmt.Sprintf(" %d %s", n[a], a)
		}
	}
	return []reports.Block{reports.Paragraph{Text: text}}
}

func effectsText(list []EffectCount) string {
	var parts []string
	for _, c := range list {
		sign := "="
		if !c.agrees() {
			sign = "≠"
		}
		model := fmt.Sprint(c.Model)
		if c.AtLeast {
			model = "≥" + model
		}
		parts = append(parts, fmt.Sprintf("%s %s: %s %s %d", c.Effect, c.Operation, model, sign, c.Engine))
	}
	return strings.Join(parts, "; ")
}

func details(r *Run, all bool) []reports.Block {
	title := r.History
	if r.Spec.Variant != "" {
		title = r.Spec.Variant + ": " + title
	}
	line := string(r.Answer)
	if r.Reason != "" {
		line += ": " + r.Reason
	}
	if r.Step > 0 {
		line += fmt.Sprintf(" (step %d)", r.Step)
	}
	out := []reports.Block{reports.Heading{Level: 3, Text: title, Mark: marks[r.Answer]}, reports.Paragraph{Text: line, Mark: marks[r.Answer]}}
	if len(r.Steps) == 0 || r.Answer == Stricter && !all {
		return out
	}
	t := reports.Table{Columns: []reports.Column{{Name: "#", Right: true}, {Name: "who"}, {Name: "the model"}, {Name: "the engine"}}}
	for _, s := range r.Steps {
		engine := s.Engine
		if !s.Agrees {
			engine = "! " + engine
		}
		who := s.Actor
		if who == "" {
			who = "·"
		}
		t.Rows = append(t.Rows, []string{fmt.Sprint(s.N), who, s.Text, engine})
	}
	return append(out, t)
}

// Items are the lines of a boundary for people.
func (b Boundary) Items() []string {
	var items []string
	for _, part := range []struct {
		name string
		list []string
	}{{"ran on", b.Ran}, {"injected", b.Injected}, {"only modelled", b.Modelled}, {"not run", b.NotRun}} {
		for _, s := range part.list {
			items = append(items, part.name+": "+s)
		}
	}
	return items
}

// boundary says once for all runs what they show and what they do not.
func boundary(runs []*Run) []reports.Block {
	var b Boundary
	add := func(to *[]string, from []string) {
		for _, s := range from {
			if !slices.Contains(*to, s) {
				*to = append(*to, s)
			}
		}
	}
	for _, r := range runs {
		add(&b.Ran, r.Boundary.Ran)
		add(&b.Injected, r.Boundary.Injected)
		add(&b.Modelled, r.Boundary.Modelled)
		add(&b.NotRun, r.Boundary.NotRun)
	}
	items := append(b.Items(), "a replay shows that the engine takes these steps as the model does; the verdict over all histories is the model's")
	return []reports.Block{reports.Paragraph{Text: "what this shows, and what it does not"}, reports.List{Items: items}}
}

// Cases gives one JUnit case per run; a run that is NOT_RUN is skipped with its
// reason.
func Cases(runs []*Run, strict bool) []reports.Case {
	var out []reports.Case
	for _, r := range runs {
		c := reports.Case{Suite: r.Spec.System + " replay", Name: strings.TrimSpace(r.Spec.Variant + " " + r.History + " on " + engineList(r.Engines)), Status: reports.Passed}
		switch {
		case r.Answer == NotRun:
			c.Status, c.Message = reports.Skipped, "NOT_RUN: "+r.Reason
		case r.Answer == Weaker, r.Answer == Flaky, r.Answer == Stricter && strict:
			c.Status, c.Message = reports.Failed, string(r.Answer)+": "+r.Reason
		}
		out = append(out, c)
	}
	return out
}
