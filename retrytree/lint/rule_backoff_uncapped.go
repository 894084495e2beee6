package lint

import (
	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/retrytree/retryconfig"
)

// backoffUncapped is rule 23.
var backoffUncapped = &Rule{
	Number: 23,
	Code:   "backoff-uncapped",
	Title:  "The wait grows without a cap",
	Text:   `An exponential wait doubles until it is longer than anybody waits. Set the largest wait.`,
	Before: []Source{
		{Name: "application.yml", Text: `resilience4j:
  retry:
    instances:
      pay:
        maxAttempts: 8
        waitDuration: 1s
        enableExponentialBackoff: true
        enableRandomizedWait: true
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
        maxAttempts: 8
        waitDuration: 1s
        enableExponentialBackoff: true
        enableRandomizedWait: true
        exponentialMaxWaitDuration: 10s
  timelimiter:
    instances:
      pay: {timeoutDuration: 1s}
`},
	},
	Severity: diag.Warning,
	Run: func(p *Pass) {
		p.facts()
		p.hops(func(h *retryconfig.Hop) {
			n, ok := h.AttemptCount()
			grows := h.Waits.Growth == retryconfig.Exponential && h.Waits.Factor != 1 || h.Waits.Growth == retryconfig.Decorrelated || h.Waits.Growth == retryconfig.Linear
			if grows && h.Waits.Max == 0 && !h.Waits.Open && (!ok || n > 4) {
				_, last := h.Waits.Wait(max(n-1, 20))
				p.report(h, "the wait grows up to %v", last).values(last.String(), "")
			}
		})
	},
}
