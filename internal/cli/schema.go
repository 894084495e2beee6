package cli

import (
	"encoding/json"
	"slices"

	"github.com/spf13/cobra"

	"github.com/relplan/relplan/internal/plan"
	"github.com/relplan/relplan/reports"
	"github.com/relplan/relplan/retrytree/retryconfig"
	"github.com/relplan/relplan/specs"
)

// schemas are the JSON Schemas of the file kinds, by name.
var schemas = map[string]func() []byte{
	"plan":       plan.Schema,
	"spec":       specs.Schema,
	"statements": statementsSchema,
}

func newSchema(f *factory) *cobra.Command {
	names := sortedNames(schemas)
	return lacks(&cobra.Command{
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
	}, noReport...)
}

// statementsSchema describes a statements file; the numbers of a kind are judged
// by `retry read`.
func statementsSchema() []byte {
	kinds := retryconfig.StatementKinds()
	slices.Sort(kinds)
	word := map[string]any{"type": "string"}
	text, err := json.MarshalIndent(map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"$id":     "https://relplan.dev/schema/statements/v1",
		"title":   "relplan statements file",
		"type":    "object",
		"properties": map[string]any{
			"relplan": map[string]any{"const": "v1"},
			"statements": map[string]any{"type": "array", "items": map[string]any{
				"type":                 "object",
				"properties":           map[string]any{"hop": word, "kind": map[string]any{"enum": kinds}},
				"required":             []string{"hop", "kind"},
				"additionalProperties": map[string]any{"type": []string{"string", "number", "boolean", "object", "array"}},
			}},
		},
		"required":             []string{"relplan", "statements"},
		"additionalProperties": false,
	}, "", "  ")
	if err != nil {
		panic(err) // maps of strings always encode
	}
	return append(text, '\n')
}

func sortedNames[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
