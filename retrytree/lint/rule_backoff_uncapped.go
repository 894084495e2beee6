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
        exponentialBackoffMultiplier: 2
        exponentialMaxWaitDuration: 10s
        enableRandomizedWait: true
        randomizedWaitFactor: 0.5
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
				p.uncapped(h, n, ok)
			}
		})
	},
}

// uncapped reports the largest wait of a schedule without a cap: the last one before n
// attempts, or the twentieth where the attempts have no limit.
func (p *Pass) uncapped(h *retryconfig.Hop, n int64, limited bool) {
	wait, words := int64(20), "wait 20 is up to %v, and it grows on without a cap"
	if limited {
		wait, words = n-1, "the last wait is up to %v, and no cap holds if attempts are added"
	}
	_, last := h.Waits.Wait(wait)
	p.report(h, words, last).values(last.String(), "")
}
