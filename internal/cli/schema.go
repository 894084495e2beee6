package cli

import (
	"encoding/json"
	"slices"

	"github.com/spf13/cobra"

	"github.com/relplan/relplan/internal/plan"
	"github.com/relplan/relplan/reports"
	"github.com/relplan/relplan/specs"
)

// schemas are the JSON Schemas of the file kinds, by name.
var schemas = map[string]func() []byte{
	"plan": plan.Schema,
	"spec": specs.Schema,
}

func newSchema(f *factory) *cobra.Command {
	names := sortedNames(schemas)
	return &cobra.Command{
		Use:   "schema KIND",
		Short: "Print the JSON Schema of a kind of file, for editors",
		Long: `Print the JSON Schema of a kind of file. Point an editor at it, for example
with the first line of the file:

  # yaml-language-server: $schema=relplan-spec.json`,
		Example:   "  relplan schema spec --out relplan-spec.json",
		Args:      cobra.ExactArgs(1),
		ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf("kind", args[0], names...); err != nil {
				return usagef("no schema of %q, known: %v", args[0], names)
			}
			text := schemas[args[0]]()
			r := &reports.Report{Command: "schema", Data: json.RawMessage(text)}
			if f.format == "text" {
				f.format = "json" // a schema is JSON whatever the reader
			}
			return f.Emit(r)
		},
	}
}

func sortedNames[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
