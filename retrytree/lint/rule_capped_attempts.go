package lint

import (
	"github.com/relplan/relplan/internal/diag"
)

// cappedAttempts is rule 30.
var cappedAttempts = &Rule{
	Number: 30,
	Code:   "capped-attempts",
	Title:  "The number is lowered without a word",
	Text:   `The product takes the number and makes fewer attempts. Write the number that runs, so that nobody counts on more.`,
	Before: []Source{
		{Name: "service-config.json", Text: `{"methodConfig": [{"name": [{"service": "shop.Stock"}], "timeout": "3s", 
  "retryPolicy": {"maxAttempts": 10, "initialBackoff": "0.1s", "maxBackoff": "1s",
    "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"]}}]}
`},
	},
	After: []Source{
		{Name: "service-config.json", Text: `{"methodConfig": [{"name": [{"service": "shop.Stock"}], "timeout": "3s", 
  "retryPolicy": {"maxAttempts": 4, "initialBackoff": "0.1s", "maxBackoff": "1s",
    "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"]}}]}
`},
	},
	Severity: diag.Error,
	Run:      fromFacts,
}
