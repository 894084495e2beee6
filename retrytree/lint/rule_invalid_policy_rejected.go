package lint

import (
	"github.com/relplan/relplan/internal/diag"
)

// invalidPolicyRejected is rule 36.
var invalidPolicyRejected = &Rule{
	Number: 36,
	Code:   "invalid-policy-rejected",
	Title:  "The product refuses the policy",
	Text:   `One bad field drops the whole policy, the whole config or the start of the program. None of the numbers in it is in force.`,
	Before: []Source{
		{Name: "service-config.json", Text: `{"methodConfig": [{"name": [{"service": "shop.Stock"}], "timeout": "3s", 
  "retryPolicy": {"maxAttempts": 1, "initialBackoff": "0.1s", "maxBackoff": "1s",
    "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"]}}]}
`},
	},
	After: []Source{
		{Name: "service-config.json", Text: `{"methodConfig": [{"name": [{"service": "shop.Stock"}], "timeout": "3s", 
  "retryPolicy": {"maxAttempts": 3, "initialBackoff": "0.1s", "maxBackoff": "1s",
    "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"]}}]}
`},
	},
	Severity: diag.Error,
	Run:      fromFacts,
}
