package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/reports"
	"github.com/relplan/relplan/specs"
	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/incidents"
	"github.com/relplan/relplan/specs/library"
)

type patternsDocument struct {
	Schema   string       `json:"schema"`
	Patterns []patternDoc `json:"patterns"`
}

// patternDoc is a pattern, or with a report an incident.
type patternDoc struct {
	Name     string       `json:"name"`
	Title    string       `json:"title"`
	Question string       `json:"question"` // of the reader whom it answers
	Variants []variantDoc `json:"variants"`
	Report   int          `json:"report,omitempty"`
	System   string       `json:"system,omitempty"`
	Outcomes []string     `json:"outcomes,omitempty"`
	Refs     []string     `json:"refs,omitempty"`
	Fix      string       `json:"fix,omitempty"`
}

type variantDoc struct {
	Name   string `json:"name"`
	About  string `json:"about"`
	Expect string `json:"expect"`
}

func describePattern(name, question string) (patternDoc, error) {
	s, err := library.Load(name)
	if err != nil {
		return patternDoc{}, err
	}
	return patternDoc{Name: name, Title: s.About, Question: question, Variants: variantDocs(s)}, nil
}

// counts is "5, 3 of them broken".
func (p patternDoc) counts() string {
	broken := 0
	for _, v := range p.Variants {
		if v.Expect != ast.Holds {
			broken++
		}
	}
	return fmt.Sprintf("%d, %d of them broken", len(p.Variants), broken)
}

// libraryReport lists the patterns by the question that a reader has.
func libraryReport() (*reports.Report, error) {
	doc := patternsDocument{Schema: patternsSchema, Patterns: []patternDoc{}}
	r := &reports.Report{Command: "patterns"}
	for _, g := range library.Groups {
		t := reports.Table{Columns: []reports.Column{{Name: "pattern"}, {Name: "what it is"}, {Name: "variants"}}}
		for _, name := range g.Patterns {
			p, err := describePattern(name, g.Question)
			if err != nil {
				return nil, err
			}
			doc.Patterns = append(doc.Patterns, p)
			t.Rows = append(t.Rows, []string{name, p.Title, p.counts()})
		}
		r.Add(reports.Heading{Level: 3, Text: g.Question}, t)
	}
	r.Add(reports.Paragraph{Text: "each with its histories and repairs: docs/patterns/PATTERN.md; as a spec of your own: `relplan new PATTERN`"})
	r.Data = doc
	return r, nil
}

// incidentsReport lists the public reports of protocols that went wrong.
func incidentsReport() (*reports.Report, error) {
	docs, err := incidentDocs()
	if err != nil {
		return nil, err
	}
	t := reports.Table{Columns: []reports.Column{{Name: "incident"}, {Name: "system and outcome"}, {Name: "variants"}}}
	for _, p := range docs {
		var variants []string
		for _, v := range p.Variants {
			variants = append(variants, v.Name)
		}
		t.Rows = append(t.Rows, []string{p.Name, p.System + ": " + strings.Join(p.Outcomes, ", "), strings.Join(variants, ", ")})
	}
	r := &reports.Report{Command: "patterns", Data: patternsDocument{Schema: patternsSchema, Patterns: docs}}
	r.Add(t)
	return r, nil
}

const patternsSchema = "relplan.dev/patterns/v1"

func newPatterns(f *factory) *cobra.Command {
	reported := false
	cmd := &cobra.Command{
		Use:   "patterns",
		Short: "List the library of verified patterns and anti-patterns, or the public incidents",
		Example: `  relplan patterns
  relplan patterns --incidents
  relplan patterns -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := libraryReport()
			if reported {
				r, err = incidentsReport()
			}
			if err != nil {
				return err
			}
			return f.Emit(r)
		},
	}
	cmd.Flags().BoolVar(&reported, "incidents", false, "list public reports of protocols that went wrong instead")
	return cmd
}

func incidentDocs() ([]patternDoc, error) {
	docs := []patternDoc{}
	for _, name := range incidents.Names() {
		in, err := incidents.Load(name)
		if err != nil {
			return nil, err
		}
		docs = append(docs, patternDoc{Name: name, Title: in.What, Variants: variantDocs(in.Spec),
			Report: in.Number, System: in.System, Outcomes: in.Outcomes, Refs: in.Refs, Fix: in.Fix})
	}
	return docs, nil
}

func variantDocs(s *specs.Spec) []variantDoc {
	docs := []variantDoc{}
	for _, v := range s.Variants() {
		d := variantDoc{Name: v.Variant, About: v.VariantAbout}
		if v.Expect != nil {
			d.Expect = v.Expect.Text
		}
		docs = append(docs, d)
	}
	return docs
}

// patternSource is the spec of a pattern, or of an incident.
func patternSource(name string) ([]byte, error) {
	src, err := library.Source(name)
	if err == nil {
		return src, nil
	}
	if _, near := diag.Closest(name, incidents.Names()); near {
		return incidents.Source(name)
	}
	return nil, err
}

func newNew(f *factory) *cobra.Command {
	return &cobra.Command{
		Use:   "new PATTERN [FILE]",
		Short: "Start a spec of your own from a pattern of the library or a public incident",
		Long: `Write the spec of a pattern or incident, comments and variants included, to FILE
(PATTERN.yaml by default, - for standard output). An existing file is never overwritten.`,
		Example: `  relplan new setnx-before-write
  relplan new p079-setnx-expire-apart -
  relplan new inbox-same-transaction protocols/inbox.yaml && relplan check protocols/inbox.yaml`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: cobra.FixedCompletions(append(library.Names(), incidents.Names()...), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			src, err := patternSource(args[0])
			if err != nil {
				return usageError{err}
			}
			path := args[0] + ".yaml"
			if len(args) == 2 {
				path = args[1]
			}
			if path == "-" {
				_, err := f.Out.Write(src)
				return err
			}
			if _, err := os.Lstat(path); err == nil {
				return usagef("%s exists already and is not overwritten", path)
			}
			if err := writeAtomically(path, src); err != nil {
				return err
			}
			if !f.quiet {
				fmt.Fprintf(f.Err, "wrote %s\nnext: relplan check %s\n", path, path)
			}
			return nil
		},
	}
}
