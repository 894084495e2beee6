package lint

import (
	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/retrytree/retryconfig"
)

// totalTimeoutMissing is rule 60.
var totalTimeoutMissing = &Rule{
	Number: 60,
	Code:   "total-timeout-missing",
	Title:  "Every attempt is limited, the call is not",
	Text:   `The call may take all attempts and waits, and no number in the file says so. Give the whole call a limit, so that callers know how long to wait.`,
	Before: []Source{
		{Name: "application.yml", Text: `resilience4j:
  retry:
    instances:
      pay:
        maxAttempts: 3
        waitDuration: 500ms
  timelimiter:
    instances:
      pay: {timeoutDuration: 1s}
`},
	},
	After: []Source{
		{Name: "vs.yaml", Text: `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: a, namespace: shop}
spec:
  hosts: [a]
  http:
  - match: [{uri: {prefix: /}, method: {exact: GET}}]
    route: [{destination: {host: a}}]
    timeout: 10s
    retries: {attempts: 2, perTryTimeout: 2s, retryOn: "gateway-error,reset,connect-failure"}
`},
	},
	Severity: diag.Warning,
	Run: func(p *Pass) {
		p.hops(func(h *retryconfig.Hop) {
			if h.PerTry != nil && h.Overall == nil && h.OverallKnown && !h.Unbounded && h.Class == retryconfig.Request {
				p.report(h, "%s of up to %v, and no limit of the whole: up to %s", attempts(h), *h.PerTry, worstText(h)).values(worstText(h), "none")
			}
		})
	},
}
