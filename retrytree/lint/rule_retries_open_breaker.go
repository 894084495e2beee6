package lint

import (
	"github.com/relplan/relplan/internal/diag"
)

// retriesOpenBreaker is rule 41.
var retriesOpenBreaker = &Rule{
	Number: 41,
	Code:   "retries-open-breaker",
	Title:  "The error of an open breaker is retried",
	Text:   `An open breaker refuses at once. Retrying its refusal spends the attempts on a door that is known to be shut. Ignore the exception of the breaker.`,
	Before: []Source{
		{Name: "application.yml", Text: `resilience4j:
  retry:
    instances:
      pay:
        maxAttempts: 2
        waitDuration: 200ms
  timelimiter:
    instances:
      pay: {timeoutDuration: 1s}
  circuitbreaker:
    instances:
      pay: {slidingWindowSize: 50}
`},
	},
	After: []Source{
		{Name: "application.yml", Text: `resilience4j:
  retry:
    instances:
      pay:
        maxAttempts: 2
        waitDuration: 200ms
        ignoreExceptions: [io.github.resilience4j.circuitbreaker.CallNotPermittedException]
  timelimiter:
    instances:
      pay: {timeoutDuration: 1s}
  circuitbreaker:
    instances:
      pay: {slidingWindowSize: 50}
`},
	},
	Severity: diag.Warning,
	Run:      fromFacts,
}
