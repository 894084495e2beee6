package cli

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/relplan/relplan/reports"
)

// version of the program; a release build sets it with -ldflags "-X".
var version = "0.1.0-dev"

type versionDocument struct {
	Schema  string `json:"schema"`
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
}

func newVersion(f *factory) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  relplan version -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			doc := versionDocument{Schema: "relplan.dev/version/v1", Version: version, Commit: commit(), Go: runtime.Version()}
			r := &reports.Report{Command: "version", Data: doc}
			line := "relplan " + doc.Version
			if doc.Commit != "" {
				line += " (" + doc.Commit + ")"
			}
			r.Add(reports.Paragraph{Text: line + ", " + doc.Go})
			return f.Emit(r)
		},
	}
}

// commit is the revision the binary was built from, "" when the build did not
// record it.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}
