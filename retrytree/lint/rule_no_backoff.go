package lint

import (
	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/retrytree/retryconfig"
)

// noBackoff is rule 21.
var noBackoff = &Rule{
	Number: 21,
	Code:   "no-backoff",
	Title:  "Attempts follow each other at once",
	Text:   `Without a wait, all attempts hit a target that has just failed within milliseconds, and every client does the same. Write a wait that grows, with jitter.`,
	Before: []Source{
		{Name: "application.yml", Text: `spring:
  cloud:
    gateway:
      httpclient: {response-timeout: 2s}
      routes:
      - id: cart
        uri: lb://cart
        filters:
        - name: Retry
          args: {retries: 2, methods: GET}
`},
	},
	After: []Source{
		{Name: "application.yml", Text: `spring:
  cloud:
    gateway:
      httpclient: {response-timeout: 2s}
      routes:
      - id: cart
        uri: lb://cart
        filters:
        - name: Retry
          args: {retries: 2, methods: GET, "backoff.firstBackoff": 50ms, "backoff.maxBackoff": 500ms}
`},
	},
	Severity: diag.Error,
	Run: func(p *Pass) {
		p.hops(func(h *retryconfig.Hop) {
			if h.Waits.None() && !h.Waits.Elsewhere && h.Hedge == nil {
				p.report(h, "%s with no wait between them", attempts(h)).values("0s", "")
			}
		})
	},
}
