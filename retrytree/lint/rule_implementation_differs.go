package lint

import (
	"github.com/relplan/relplan/internal/diag"
)

// implementationDiffers is rule 35.
var implementationDiffers = &Rule{
	Number: 35,
	Code:   "implementation-differs",
	Title:  "Implementations read the same file differently",
	Text:   `What one implementation does, another one ignores. The finding says which does what; check the one that you run.`,
	Before: []Source{
		{Name: "service-config.json", Text: `{"methodConfig": [{"name": [{"service": "shop.Search", "method": "Query"}], "timeout": "3s", 
  "hedgingPolicy": {"maxAttempts": 3, "hedgingDelay": "0.2s"}}]}
`},
	},
	After: []Source{
		{Name: "service-config.json", Text: `{"methodConfig": [{"name": [{"service": "shop.Stock"}], "timeout": "3s", 
  "retryPolicy": {"maxAttempts": 3, "initialBackoff": "0.1s", "maxBackoff": "1s",
    "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"]}}]}
`},
	},
	Severity: diag.Warning,
	Run:      fromFacts,
}
