package specs

import (
	"fmt"
	"strings"

	"github.com/relplan/relplan/reports"
)

// actors gives the actors of a history in order of appearance.
func (p *PromiseVerdict) actors() []string {
	var out []string
	for _, s := range p.History {
		if s.Actor != "" && !contains(out, s.Actor) {
			out = append(out, s.Actor)
		}
	}
	return out
}

// historyBlocks shows a history: lanes in text, a table and a diagram elsewhere.
func (p *PromiseVerdict) historyBlocks(o RenderOptions) []reports.Block {
	intro := fmt.Sprintf("with %s, in %s%s", faultText(p.Faults), steps(len(p.History)), p.ending())
	if len(p.For) > 0 && p.For[0] != "" {
		intro = "for " + strings.Join(p.For, ", ") + ", " + intro
	}
	out := []reports.Block{reports.Paragraph{Text: intro}}
	if o.Format == "" || o.Format == "text" {
		return append(out, reports.Code{Text: p.lanes(o.Width - 4)})
	}
	return append(out, p.table(), reports.Code{Lang: "mermaid", Text: p.mermaid()})
}

// lanes prints the history with one column per actor; what the environment
// does stands across, faults are marked by !.
func (p *PromiseVerdict) lanes(width int) string {
	actors := p.actors()
	num := len(fmt.Sprint(len(p.History)))
	left := num + 3
	if len(actors) > 3 || (width-left)/max(1, len(actors)) < 26 {
		return p.lines(width, num)
	}
	lane := (width - left) / max(1, len(actors))
	var b strings.Builder
	if len(actors) > 0 {
		b.WriteString(strings.Repeat(" ", left))
		for _, a := range actors {
			fmt.Fprintf(&b, "%-*s", lane, a)
		}
		trim(&b)
	}
	for _, s := range p.History {
		indent, room := left, width-left
		for i, a := range actors {
			if a == s.Actor {
				indent += i * lane
				room = lane - 2
				if i == len(actors)-1 {
					room = width - indent
				}
			}
		}
		head := fmt.Sprintf("%s%*d  ", faultMark(s), num, s.N)
		for k, l := range s.body(room) {
			if k == 0 {
				fmt.Fprintf(&b, "%s%s%s", head, strings.Repeat(" ", indent-left), l)
			} else {
				fmt.Fprintf(&b, "%s%s", strings.Repeat(" ", indent), l)
			}
			trim(&b)
		}
	}
	return b.String()
}

// trim ends a line.
func trim(b *strings.Builder) {
	s := strings.TrimRight(b.String(), " ")
	b.Reset()
	b.WriteString(s)
	b.WriteByte('\n')
}

func faultMark(s *Step) string {
	if s.Kind == "fault" || s.Fault != "" {
		return "!"
	}
	return " "
}

// lines prints the history with the actor's name before each step.
func (p *PromiseVerdict) lines(width, num int) string {
	name := 0
	for _, s := range p.History {
		name = max(name, len([]rune(s.Actor)))
	}
	var b strings.Builder
	indent := num + 3 + name + 2
	for _, s := range p.History {
		for k, l := range s.body(max(30, width-indent)) {
			if k == 0 {
				fmt.Fprintf(&b, "%s%*d  %-*s  %s", faultMark(s), num, s.N, name, s.Actor, l)
			} else {
				fmt.Fprintf(&b, "%s%s", strings.Repeat(" ", indent), l)
			}
			trim(&b)
		}
	}
	return b.String()
}

// words is the text of a step with what belongs to it.
func (s *Step) words() string {
	t := s.Text
	if s.Kind == "fault" {
		t = "FAULT: " + t
		if s.Fault != "" && !strings.Contains(t, strings.ReplaceAll(s.Fault, "_", " ")) {
			t = "FAULT (" + strings.ReplaceAll(s.Fault, "_", " ") + "): " + s.Text
		}
	}
	if s.Waited != "" {
		t = s.Waited + ", then " + t
	}
	if s.Then != "" {
		t += ", " + s.Then
	}
	return t
}

func (s *Step) changes() []string {
	var out []string
	for _, k := range s.order {
		out = append(out, k+" "+s.Changed[k])
	}
	return out
}

// body is the step wrapped to width, with one line per change.
func (s *Step) body(width int) []string {
	out := wrapWords(s.words(), width)
	for _, c := range s.changes() {
		for i, l := range wrapWords(c, width-2) {
			if i == 0 {
				out = append(out, "· "+l)
			} else {
				out = append(out, "  "+l)
			}
		}
	}
	return out
}

func wrapWords(s string, width int) []string {
	width = max(width, 12)
	var out []string
	line := ""
	for _, w := range strings.Fields(s) {
		switch {
		case line == "":
			line = w
		case len([]rune(line))+1+len([]rune(w)) <= width:
			line += " " + w
		default:
			out = append(out, line)
			line = w
		}
	}
	return append(out, line)
}

func (p *PromiseVerdict) table() reports.Table {
	t := reports.Table{Columns: []reports.Column{{Name: "#", Right: true}, {Name: "who"}, {Name: "what happens"}, {Name: "what changed"}, {Name: "line", Right: true}}}
	for _, s := range p.History {
		who, line := s.Actor, ""
		if s.Kind == "fault" {
			who = strings.TrimSpace(s.Actor + " (fault)")
		}
		if s.Line > 0 {
			line = fmt.Sprint(s.Line)
		}
		t.Rows = append(t.Rows, []string{fmt.Sprint(s.N), who, s.words(), strings.Join(s.changes(), "; "), line})
	}
	return t
}

// markdown is the history as Markdown, for SARIF.
func (p *PromiseVerdict) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", p.Text)
	for _, s := range p.History {
		who := s.Actor
		if who == "" {
			who = "environment"
		}
		fmt.Fprintf(&b, "%d. %s: %s\n", s.N, who, s.words())
	}
	for i, r := range p.Because {
		if i == 0 {
			b.WriteString("\nbecause\n\n")
		}
		fmt.Fprintf(&b, "- %s\n", r)
	}
	return b.String()
}

// mermaid draws the history as a sequence diagram; faults stand on red ground.
func (p *PromiseVerdict) mermaid() string {
	var b strings.Builder
	b.WriteString("sequenceDiagram\n")
	ids := map[string]string{}
	declare := func(name, kind string) {
		if name != "" && ids[name] == "" {
			ids[name] = fmt.Sprintf("p%d", len(ids)+1)
			fmt.Fprintf(&b, "  %s %s as %s\n", kind, ids[name], mermaidText(name))
		}
	}
	for _, a := range p.actors() {
		declare(a, "actor")
	}
	for _, s := range p.History {
		declare(s.on(), "participant")
	}
	if len(ids) == 0 {
		declare("environment", "participant")
	}
	for _, s := range p.History {
		p.mermaidStep(&b, s, ids)
	}
	return b.String()
}

// on is the store or service that a step touches.
func (s *Step) on() string { return s.resource }

func (p *PromiseVerdict) mermaidStep(b *strings.Builder, s *Step, ids map[string]string) {
	text := mermaidText(fmt.Sprintf("%d. %s", s.N, s.words()))
	actor, on := ids[s.Actor], ids[s.on()]
	fault := s.Kind == "fault" || s.Fault != ""
	if fault {
		b.WriteString("  rect rgb(255, 221, 221)\n")
	}
	switch {
	case s.Kind == "delivery" && actor != "" && on != "":
		fmt.Fprintf(b, "  %s->>%s: %s\n", on, actor, text)
	case s.Kind == "step" && actor != "" && on != "" && s.Fault == "":
		fmt.Fprintf(b, "  %s->>%s: %s\n", actor, on, text)
	case s.Kind == "step" && actor != "" && on != "":
		fmt.Fprintf(b, "  %s-x%s: %s\n", actor, on, text)
	case actor != "":
		fmt.Fprintf(b, "  Note over %s: %s\n", actor, text)
	case on != "":
		fmt.Fprintf(b, "  Note over %s: %s\n", on, text)
	default:
		fmt.Fprintf(b, "  Note over %s: %s\n", p.overAll(ids), text)
	}
	if fault {
		b.WriteString("  end\n")
	}
}

// overAll spans the first and the last participant.
func (p *PromiseVerdict) overAll(ids map[string]string) string {
	if len(ids) < 2 {
		return "p1"
	}
	return fmt.Sprintf("p1,p%d", len(ids))
}

// mermaidText escapes what ends a message in the diagram language.
func mermaidText(s string) string {
	return strings.NewReplacer(";", ",", "#", "no. ", "<", "less than ", ">", "more than ", "\n", " ", "-> ", "to ").Replace(s)
}
