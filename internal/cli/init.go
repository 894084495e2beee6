package cli

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/relplan/relplan/internal/diag"
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
	return c
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
	if !f.quiet {
		fmt.Fprintf(f.Err, "wrote %s and %s\nnext: relplan plan %s\n", filepath.Join(dir, starterFiles[0]), filepath.Join(dir, starterFiles[1]), filepath.Join(dir, starterFiles[0]))
	}
	return nil
}
