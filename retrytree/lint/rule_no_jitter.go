package lint

import (
	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/retrytree/retryconfig"
)

// noJitter is rule 22.
var noJitter = &Rule{
	Number: 22,
	Code:   "no-jitter",
	Title:  "All clients wait equally long",
	Text:   `Clients that failed together come back together: the second wave is as high as the first. Spread the waits.`,
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
`},
	},
	After: []Source{
		{Name: "application.yml", Text: `resilience4j:
  retry:
    instances:
      pay:
        maxAttempts: 2
        waitDuration: 200ms
        enableRandomizedWait: true
  timelimiter:
    instances:
      pay: {timeoutDuration: 1s}
`},
	},
	Severity: diag.Warning,
	Run: func(p *Pass) {
		p.facts()
		p.hops(func(h *retryconfig.Hop) {
			if !h.Waits.Jitter && !h.Waits.Open && !h.Waits.Elsewhere && !h.Waits.None() && h.Hedge == nil && h.Kind != "aws.step-functions" {
				p.report(h, "the waits are the same for every client (%s)", waitText(h))
			}
		})
	},
}

func waitText(h *retryconfig.Hop) string {
	_, first := h.Waits.Wait(1)
	if _, second := h.Waits.Wait(2); second != first {
		return first.String() + ", " + second.String() + ", ..."
	}
	return first.String()
}
