// Package pages writes the pages of the pattern library, docs/patterns: one page
// for each pattern and an index. Everything on them is computed from the specs:
// what each variant does, its verdict, its shortest history and why, the variant
// that repairs it, and what a single crash leaves.
package pages

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/relplan/relplan/reports"
	"github.com/relplan/relplan/specs"
	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/library"
)

// width of text blocks, in columns.
const width = 104

// Make gives the text of every page by file name. The error names every pattern of
// which no page can be made.
func Make(ctx context.Context) (map[string]string, error) {
	out := map[string]string{}
	all := map[string]*specs.Spec{}
	var errs []error
	for _, name := range library.Names() {
		spec, err := library.Load(name)
		if err != nil {
			return nil, err
		}
		all[name] = spec
		if out[name+".md"], err = makePage(ctx, name, spec); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	out["README.md"] = index(all)
	return out, errors.Join(errs...)
}

// page is one page while it is written.
type page struct {
	strings.Builder
	name     string
	spec     *specs.Spec
	variants []*variant
	safe     *variant // the first that holds
}

// variant is one variant with its verdict.
type variant struct {
	*specs.VariantVerdict
	tree  *ast.Spec
	alike []*variant // variants that follow and differ in a number only
}

func makePage(ctx context.Context, name string, spec *specs.Spec) (string, error) {
	p := &page{name: name, spec: spec}
	v, err := spec.Check(ctx, specs.CheckOptions{Command: "relplan check " + name + ".yaml"})
	if err != nil {
		return "", err
	}
	for _, x := range v.Variants {
		p.add(&variant{VariantVerdict: x, tree: spec.Variant(x.Name())})
	}
	for _, x := range p.variants {
		if x.Verdict == ast.Holds {
			p.safe = x
			break
		}
	}
	if p.safe == nil {
		return "", fmt.Errorf("no variant holds")
	}
	p.opening()
	p.table()
	if err := p.howItWorks(ctx); err != nil {
		return "", err
	}
	if err := p.broken(ctx); err != nil {
		return "", err
	}
	p.restsOn()
	p.commands()
	return p.String(), nil
}

// add takes a variant. One without a sentence of its own, with the verdict of the
// one before it, is the same design with another number.
func (p *page) add(x *variant) {
	if n := len(p.variants); n > 0 && x.tree.VariantAbout == "" && x.Verdict == p.variants[n-1].Verdict {
		p.variants[n-1].alike = append(p.variants[n-1].alike, x)
		return
	}
	p.variants = append(p.variants, x)
}

// names is the name of the variant, or of the first and last of those alike.
func (x *variant) names() string {
	if len(x.alike) == 0 {
		return x.Name()
	}
	return x.Name() + " .. " + x.alike[len(x.alike)-1].Name()
}

func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// blocks writes report blocks as Markdown.
func (p *page) blocks(bs ...reports.Block) {
	if len(bs) == 0 {
		return
	}
	r := &reports.Report{}
	r.Add(bs...)
	if err := reports.Write(&p.Builder, "markdown", r, reports.Options{}); err != nil {
		panic(err) // a builder takes everything
	}
	p.line("")
}

var spelled = map[string]string{"setnx": "SETNX", "ok": "OK", "ids": "ids"}

// Title is the name of a pattern as a heading: "Inbox same transaction".
func Title(name string) string {
	words := strings.Split(name, "-")
	for i, w := range words {
		if s, ok := spelled[w]; ok {
			words[i] = s
		}
	}
	t := strings.Join(words, " ")
	return strings.ToUpper(t[:1]) + t[1:]
}

// opening is the title, the words that stand above the spec, and what it is about.
func (p *page) opening() {
	p.line("# %s\n", Title(p.name))
	p.line("%s\n", wrap(lead(p.spec.Source)))
	p.line("**%s**\n", wrap(p.spec.About))
}

// lead is the comment at the head of a spec.
func lead(src []byte) string {
	var out []string
	for _, l := range strings.Split(string(src), "\n") {
		text, ok := strings.CutPrefix(l, "#")
		if !ok {
			break
		}
		out = append(out, strings.TrimSpace(text))
	}
	return strings.Join(out, " ")
}

// table lists the variants with their verdicts.
func (p *page) table() {
	p.line("| variant | verdict | what it does |\n| --- | --- | --- |")
	for _, x := range p.variants {
		name := "`" + x.names() + "`"
		if x.Verdict == ast.Broken {
			name = fmt.Sprintf("[%s](#%s)", name, anchor(x.names()))
		}
		p.line("| %s | %s | %s |", name, x.verdict(), cell(x.tree.VariantAbout))
	}
	p.line("")
}

// verdict in a table: holds, or which promises break and by what.
func (x *variant) verdict() string {
	if x.Verdict != ast.Broken {
		return x.Verdict
	}
	var names []string
	for _, q := range x.Promises {
		if q.Verdict == ast.Broken {
			names = append(names, "`"+q.Name+"`")
		}
	}
	s := x.Shortest()
	return fmt.Sprintf("**breaks** %s: %s, %s", strings.Join(names, ", "), steps(len(s.History)), specs.FaultText(s.Faults))
}

func steps(n int) string {
	if n == 1 {
		return "1 step"
	}
	return fmt.Sprintf("%d steps", n)
}

// howItWorks tells the safe variant and what single crashes do to it.
func (p *page) howItWorks(ctx context.Context) error {
	p.line("## How `%s` works\n", p.safe.Name())
	p.line("Numbers are lines of [the spec](../../specs/library/%s.yaml).\n", p.name)
	prose := specs.Prose(p.safe.tree)
	for len(prose) > 0 {
		if h, ok := prose[0].(reports.Heading); ok && h.Level > 2 {
			break
		}
		prose = prose[1:] // title and sentences stand above
	}
	p.blocks(prose...)
	return p.crashes(ctx)
}

// commands are what to type.
func (p *page) commands() {
	p.line("## Try it\n")
	p.line("```sh\nrelplan new %s                 # writes %s.yaml, yours to change", p.name, p.name)
	p.line("relplan check %s.yaml          # every variant", p.name)
	for _, x := range p.variants {
		if x.Verdict == ast.Broken {
			p.line("relplan check %s.yaml --variant %s", p.name, x.Name())
			break
		}
	}
	p.line("relplan windows %s.yaml --variant %s\n```\n", p.name, p.safe.Name())
	p.line("In a plan, beside your capacity and your retries:\n")
	p.line("```yaml\nprotocols:\n  %s: {pattern: %s, variant: %s}\n```\n", strings.ReplaceAll(p.name, "-", "_"), p.name, p.safe.Name())
	p.line("The language: [manual](../language.md). More: [all patterns](README.md).")
}

// anchor is the fragment of a heading that is one piece of code.
func anchor(heading string) string {
	return strings.ReplaceAll(strings.ReplaceAll(strings.ToLower(heading), ".", ""), " ", "-")
}

// cell escapes what would end a cell or start markup.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "*", `\*`, "_", `\_`, "<", "&lt;", "[", `\[`).Replace(s)
}

// wrap breaks a paragraph into lines.
func wrap(s string) string {
	var b strings.Builder
	n := 0
	for _, w := range strings.Fields(s) {
		switch {
		case n == 0:
		case n+1+len(w) > width:
			b.WriteByte('\n')
			n = 0
		default:
			b.WriteByte(' ')
			n++
		}
		b.WriteString(w)
		n += len(w)
	}
	return b.String()
}
