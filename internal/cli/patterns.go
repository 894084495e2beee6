package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/relplan/relplan/reports"
	"github.com/relplan/relplan/specs/library"
)

type patternsDocument struct {
	Schema   string       `json:"schema"`
	Patterns []patternDoc `json:"patterns"`
}

type patternDoc struct {
	Name     string       `json:"name"`
	Title    string       `json:"title"`
	Variants []variantDoc `json:"variants"`
}

type variantDoc struct {
	Name   string `json:"name"`
	Expect string `json:"expect"`
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
			t := reports.Table{Columns: []reports.Column{{Name: "pattern"}, {Name: "what it is"}, {Name: "variants"}}}
			for _, name := range library.Names() {
				s, err := library.Load(name)
				if err != nil {
					return err
				}
				p := patternDoc{Name: name, Title: s.About, Variants: []variantDoc{}}
				var variants []string
				for _, v := range s.Variants() {
					x := variantDoc{Name: v.Variant}
					if v.Expect != nil {
						x.Expect = v.Expect.Text
					}
					p.Variants = append(p.Variants, x)
					variants = append(variants, v.Variant)
				}
				doc.Patterns = append(doc.Patterns, p)
				t.Rows = append(t.Rows, []string{name, p.Title, strings.Join(variants, ", ")})
			}
			r := &reports.Report{Command: "patterns", Data: doc}
			r.Add(t)
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
