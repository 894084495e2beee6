package lint

import (
	"github.com/relplan/relplan/internal/diag"
)

// unmodelledMechanism is rule 54.
var unmodelledMechanism = &Rule{
	Number: 54,
	Code:   "unmodelled-mechanism",
	Title:  "A retry setting that no reader knows",
	Text:   `A word of the file speaks of retries, and no reader understands it. That is not the same as no finding. State the values in a statements file.`,
	Before: []Source{
		{Name: "config.yaml", Text: `server:
  port: 80
client:
  retryCount: 7
`},
	},
	After: []Source{
		{Name: "config.yaml", Text: `server:
  port: 80
client:
  kind: x
`},
	},
	Severity: diag.Warning,
	Run:      fromFacts,
}
