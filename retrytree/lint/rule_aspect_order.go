package lint

import (
	"github.com/relplan/relplan/internal/diag"
)

// aspectOrder is rule 42.
var aspectOrder = &Rule{
	Number: 42,
	Code:   "aspect-order",
	Title:  "The order of the layers differs from the usual one",
	Text:   `Whether the timeout holds one attempt or the whole call, and whether the breaker counts attempts or calls, depends on which layer is outside. The finding says what the written order does.`,
	Before: []Source{
		{Name: "application.yml", Text: `resilience4j:
  retry:
    instances:
      pay:
        maxAttempts: 2
        waitDuration: 200ms
  timelimiter:
    timeLimiterAspectOrder: 1
    instances:
      pay: {timeoutDuration: 1s}
`},
	},
	After: []Source{
		{Name: "application.yml", Text: `resilience4j:
  retry:
    instances:
      pay:
        maxAttempts: 2
        waitDuration: 200ms
  timelimiter:
    instances:
      pay: {timeoutDuration: 1s}
`},
	},
	Severity: diag.Warning,
	Run:      fromFacts,
}
