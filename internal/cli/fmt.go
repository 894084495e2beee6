package cli

import (
	"bytes"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/reports"
	"github.com/relplan/relplan/specs"
)

type fmtOptions struct {
	check    bool
	promises string
}

type fmtDocument struct {
	Schema string    `json:"schema"`
	Files  []fmtFile `json:"files"`
}

type fmtFile struct {
	File    string `json:"file"`
	Changed bool   `json:"changed"`
}

func newFmt(f *factory) *cobra.Command {
	o := &fmtOptions{}
	c := &cobra.Command{
		Use:   "fmt SPEC...",
		Short: "Bring specs into the standard layout, comments kept",
		Long: `Bring specs into the standard layout: two spaces per level, dashes indented
below their key, no trailing spaces, at most one blank line, current names of
keys. Comments and what stands inside a line are kept, and the result is read
again and compared before it replaces the file, whole or not at all. "-" reads
standard input and writes standard output.`,
		Example: `  relplan fmt inbox.yaml
  relplan fmt --check specs/*.yaml
  relplan fmt --promises maps inbox.yaml`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runFmt(f, o, args) },
	}
	c.Flags().BoolVar(&o.check, "check", false, "change nothing; exit 1 if a file is not in the standard layout")
	c.Flags().StringVar(&o.promises, "promises", "", "write promises as sentences or as maps (default: as they are)")
	_ = c.RegisterFlagCompletionFunc("promises", cobra.FixedCompletions([]string{specs.AsSentences, specs.AsMaps}, cobra.ShellCompDirectiveNoFileComp))
	return lacks(c, "sarif")
}

func runFmt(f *factory, o *fmtOptions, paths []string) error {
	if o.promises != "" {
		if err := oneOf("promises", o.promises, specs.AsSentences, specs.AsMaps); err != nil {
			return err
		}
	}
	type result struct {
		path     string
		src, out []byte
	}
	var results []result
	l := &diag.List{}
	for _, path := range paths {
		name, src, err := f.ReadInput(path)
		if err != nil {
			l.AddErr(diag.Pos{File: path}, "FILE", err)
			continue
		}
		out, ds := specs.Format(name, src, specs.FormatOptions{Promises: o.promises})
		for _, d := range ds {
			l.Add(d)
		}
		results = append(results, result{path, src, out})
	}
	if err := l.Err(); err != nil {
		return err // nothing is written unless all of them can be read
	}
	r := &reports.Report{Command: "fmt"}
	doc := fmtDocument{Schema: "relplan.dev/fmt/v1", Files: []fmtFile{}}
	changed := 0
	for _, x := range results {
		differs := !bytes.Equal(x.src, x.out)
		doc.Files = append(doc.Files, fmtFile{x.path, differs})
		if x.path == "-" && !o.check {
			_, err := f.Out.Write(x.out)
			return err
		}
		if !differs {
			continue
		}
		changed++
		if o.check {
			r.Add(reports.Paragraph{Text: x.path + ": not in the standard layout", Mark: reports.Bad})
			continue
		}
		if err := writeAtomically(x.path, x.out); err != nil {
			return err
		}
		r.Add(reports.Paragraph{Text: x.path + ": changed"})
	}
	r.Data = doc
	r.Cases = fmtCases(doc.Files)
	if len(r.Blocks) == 0 {
		r.Add(reports.Paragraph{Text: fmt.Sprintf("%d in the standard layout", len(results)), Mark: reports.Good})
	}
	if err := f.Emit(r); err != nil {
		return err
	}
	if o.check && changed > 0 {
		return exit(exitFinding)
	}
	return nil
}

func fmtCases(files []fmtFile) []reports.Case {
	var out []reports.Case
	for _, x := range files {
		c := reports.Case{Suite: "fmt", Name: x.File, Status: reports.Passed}
		if x.Changed {
			c.Status, c.Message = reports.Failed, "not in the standard layout"
		}
		out = append(out, c)
	}
	return out
}
