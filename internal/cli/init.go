package cli

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/reports"
)

//go:embed starter
var starter embed.FS

var starterFiles = []string{"relplan.yaml", "inbox.yaml"}

func newInit(f *factory) *cobra.Command {
	from := ""
	c := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write a commented starter plan that runs",
		Long: `Write a commented starter plan, and the spec it names, into DIR (this folder by
default). With --from the plan is made of the retry configurations and CREATE TABLE
files in a folder, and what they do not say is marked "# check". Existing files are
never overwritten.`,
		Example: `  relplan init
  relplan init plans/payments && relplan plan plans/payments/relplan.yaml
  relplan init plans --from deploy/`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			if from != "" {
				return runInitFrom(cmd.Context(), f, dir, from)
			}
			return runInit(f, dir)
		},
	}
	c.Flags().StringVar(&from, "from", "", "make the plan from the retry configurations and CREATE TABLE files of this folder")
	return lacks(c, noReport...)
}

func runInit(f *factory, dir string) error {
	var l diag.List
	for _, name := range starterFiles {
		path := filepath.Join(dir, name)
		l.AddErr(diag.Pos{File: path}, "FILE", refuseExisting(path))
	}
	if err := l.Err(); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return usageError{err}
	}
	for _, name := range starterFiles {
		src, err := starter.ReadFile("starter/" + name)
		if err != nil {
			return err
		}
		if err := writeAtomically(filepath.Join(dir, name), src); err != nil {
			return err
		}
	}
	files := []string{filepath.Join(dir, starterFiles[0]), filepath.Join(dir, starterFiles[1])}
	next := "relplan plan " + files[0]
	return f.written(initDocument{Schema: initSchema, Files: files, LeftOut: []string{}, Next: next},
		fmt.Sprintf("wrote %s and %s\nnext: %s\n", files[0], files[1], next))
}

const initSchema = "relplan.dev/init/v1"

// initDocument is the JSON answer of `relplan init`: what was written, and what
// of --from is not part of it.
type initDocument struct {
	Schema  string   `json:"schema"`
	Files   []string `json:"files"`
	LeftOut []string `json:"left_out"`
	Next    string   `json:"next"`
}

// written answers a verb whose result is a file: words on standard error, or
// with -o json a document on standard output.
func (f *factory) written(doc any, words string) error {
	if f.format == "json" {
		return reports.Write(f.Out, "json", &reports.Report{Data: doc}, reports.Options{})
	}
	if !f.quiet {
		fmt.Fprint(f.Err, words)
	}
	return nil
}
