package lint

import (
	"github.com/relplan/relplan/internal/diag"
)

// ambiguousCount is rule 32.
var ambiguousCount = &Rule{
	Number: 32,
	Code:   "ambiguous-count",
	Title:  "The count may be read in two ways",
	Text:   `The same name counts all attempts in one place and the attempts after the first in another. The finding says which reading was taken.`,
	Before: []Source{
		{Name: "config", Text: `[default]
retry_mode = standard
max_attempts = 5
`},
	},
	After: []Source{
		{Name: "config", Text: `[default]
retry_mode = standard
`},
	},
	Severity: diag.Info,
	Run:      fromFacts,
}
