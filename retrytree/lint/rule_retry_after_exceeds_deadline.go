package lint

import (
	"github.com/relplan/relplan/internal/diag"
)

// retryAfterExceedsDeadline is rule 19.
var retryAfterExceedsDeadline = &Rule{
	Number: 19,
	Code:   "retry-after-exceeds-deadline",
	Title:  "The server may ask for a longer wait than is left",
	Text:   `` + "`" + `Retry-After` + "`" + ` is followed without a cap: one answer of the server decides how much of the caller's time is spent waiting.`,
	Before: []Source{
		{Name: "appsettings.json", Text: `{"Http": {"Retry": {"MaxRetryAttempts": 2}, "AttemptTimeout": {"Timeout": "00:00:02"}}}
`},
	},
	After: []Source{
		{Name: "appsettings.json", Text: `{"Http": {"Retry": {"MaxRetryAttempts": 2, "ShouldRetryAfterHeader": false}, "AttemptTimeout": {"Timeout": "00:00:02"}}}
`},
	},
	Severity: diag.Warning,
	Run:      fromFacts,
}
