package cli

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/reports"
)

// version of the program; a release build sets it with -ldflags "-X".
var version = "0.1.0-dev"

type versionDocument struct {
	Schema  string      `json:"schema"`
	Version string      `json:"version"`
	Commit  string      `json:"commit"`
	Go      string      `json:"go"`
	Engines []engineDoc `json:"engines"`
}

type engineDoc struct {
	Name      string `json:"name"`
	Version   string `json:"version"`
	Available bool   `json:"available"`
	Reason    string `json:"reason"`
}

func newVersion(f *factory) *cobra.Command {
	withEngines := false
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version, and which engines are there",
		Example: `  relplan version -o json
  relplan version --engines`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			doc := versionDocument{Schema: "relplan.dev/version/v1", Version: version, Commit: commit(), Go: runtime.Version(), Engines: []engineDoc{}}
			r := &reports.Report{Command: "version", Data: doc}
			line := "relplan " + doc.Version
			if doc.Commit != "" {
				line += " (" + doc.Commit + ")"
			}
			r.Add(reports.Paragraph{Text: line + ", " + doc.Go})
			if withEngines {
				doc.Engines = installedEngines()
				r.Data = doc
				r.Add(enginesTable(doc.Engines))
			}
			return f.Emit(r)
		},
	}
	c.Flags().BoolVar(&withEngines, "engines", false, "list the engines that can be started here")
	return lacks(c, "sarif", "junit")
}

func installedEngines() []engineDoc {
	var out []engineDoc
	for _, kind := range engines.Kinds {
		d := engineDoc{Name: string(kind), Available: true}
		v, err := engines.Installed(kind)
		if d.Version = v; err != nil {
			d.Available, d.Reason = false, err.Error()
		}
		out = append(out, d)
	}
	return out
}

func enginesTable(list []engineDoc) reports.Table {
	t := reports.Table{Columns: []reports.Column{{Name: "engine"}, {Name: "version"}, {Name: "available"}}}
	for _, e := range list {
		available := "yes"
		if !e.Available {
			available = "no: " + e.Reason
		}
		t.Rows = append(t.Rows, []string{e.Name, e.Version, available})
	}
	return t
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
