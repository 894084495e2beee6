package lint

import (
	"github.com/relplan/relplan/internal/diag"
)

// timeoutNotInRetryList is rule 58.
var timeoutNotInRetryList = &Rule{
	Number: 58,
	Code:   "timeout-not-in-retry-list",
	Title:  "A slow attempt is not retried: its exception is not in the list",
	Text:   `The list of exceptions is a whitelist, and the timeout of the library itself is not on it. The limit of one attempt ends the call.`,
	Before: []Source{
		{Name: "application.yml", Text: `resilience4j:
  retry:
    instances:
      pay:
        maxAttempts: 3
        waitDuration: 200ms
        retryExceptions: [java.io.IOException]
  timelimiter:
    instances:
      pay: {timeoutDuration: 1s}
`},
	},
	After: []Source{
		{Name: "application.yml", Text: `resilience4j:
  retry:
    instances:
      pay:
        maxAttempts: 3
        waitDuration: 200ms
        retryExceptions: [java.io.IOException, java.util.concurrent.TimeoutException]
  timelimiter:
    instances:
      pay: {timeoutDuration: 1s}
`},
	},
	Severity: diag.Warning,
	Run:      fromFacts,
}
