package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/relplan/relplan/reports"
	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/library"
)

type patternsDocument struct {
	Schema   string       `json:"schema"`
	Patterns []patternDoc `json:"patterns"`
}

type patternDoc struct {
	Name     string       `json:"name"`
	Title    string       `json:"title"`
	Question string       `json:"question"` // of the reader whom it answers
	Variants []variantDoc `json:"variants"`
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
	p := patternDoc{Name: name, Title: s.About, Question: question, Variants: []variantDoc{}}
	for _, v := range s.Variants() {
		p.Variants = append(p.Variants, variantDoc{v.Variant, v.VariantAbout, v.Expect.Text})
	}
	return p, nil
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

func newPatterns(f *factory) *cobra.Command {
	return &cobra.Command{
		Use:   "patterns",
		Short: "List the library of verified patterns and anti-patterns",
		Example: `  relplan patterns
  relplan patterns -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			doc := patternsDocument{Schema: "relplan.dev/patterns/v1", Patterns: []patternDoc{}}
			r := &reports.Report{Command: "patterns"}
			for _, g := range library.Groups {
				t := reports.Table{Columns: []reports.Column{{Name: "pattern"}, {Name: "what it is"}, {Name: "variants"}}}
				for _, name := range g.Patterns {
					p, err := describePattern(name, g.Question)
					if err != nil {
						return err
					}
					doc.Patterns = append(doc.Patterns, p)
					t.Rows = append(t.Rows, []string{name, p.Title, p.counts()})
				}
				r.Add(reports.Heading{Level: 3, Text: g.Question}, t)
			}
			r.Add(reports.Paragraph{Text: "each with its histories and repairs: docs/patterns/PATTERN.md; as a spec of your own: `relplan new PATTERN`"})
			r.Data = doc
			return f.Emit(r)
		},
	}
}

func newNew(f *factory) *cobra.Command {
	return &cobra.Command{
		Use:   "new PATTERN [FILE]",
		Short: "Start a spec of your own from a pattern of the library",
		Long: `Write the spec of a pattern, comments and variants included, to FILE (PATTERN.yaml
by default, - for standard output). An existing file is never overwritten.`,
		Example: `  relplan new setnx-before-write
  relplan new inbox-same-transaction protocols/inbox.yaml && relplan check protocols/inbox.yaml`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: cobra.FixedCompletions(library.Names(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			src, err := library.Source(args[0])
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
