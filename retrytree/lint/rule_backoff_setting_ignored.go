package lint

import (
	"github.com/relplan/relplan/internal/diag"
)

// backoffSettingIgnored is rule 24.
var backoffSettingIgnored = &Rule{
	Number: 24,
	Code:   "backoff-setting-ignored",
	Title:  "A backoff setting needs another one that is missing",
	Text:   `The flag is in the file and has no effect, because it works only beside another setting. The waits are not what the file says.`,
	Before: []Source{
		{Name: "application.yml", Text: `resilience4j:
  retry:
    instances:
      pay:
        maxAttempts: 3
        enableExponentialBackoff: true
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
        waitDuration: 100ms
        enableExponentialBackoff: true
  timelimiter:
    instances:
      pay: {timeoutDuration: 1s}
`},
	},
	Severity: diag.Error,
	Run:      fromFacts,
}
