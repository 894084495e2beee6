package lint

import (
	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/retrytree/retryconfig"
)

// backoffAloneExceedsDeadline is rule 9.
var backoffAloneExceedsDeadline = &Rule{
	Number: 9,
	Code:   "backoff-alone-exceeds-deadline",
	Title:  "The waits alone are longer than the limit of the call",
	Text:   `The sum of the largest waits is above the limit: the last attempts never start, however fast the backend answers.`,
	Before: []Source{
		{Name: "vs.yaml", Text: `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: a, namespace: shop}
spec:
  hosts: [a]
  http:
  - match: [{uri: {prefix: /}, method: {exact: GET}}]
    route: [{destination: {host: a}}]
    timeout: 2s
    retries: {attempts: 3, perTryTimeout: 100ms, retryOn: "gateway-error,reset", backoff: 1s}
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
	Severity: diag.Error,
	Run: func(p *Pass) {
		p.hops(func(h *retryconfig.Hop) {
			n, ok := h.AttemptCount()
			if !ok || h.Overall == nil || h.Waits.Open || h.Hedge != nil {
				return
			}
			if _, waits := h.WaitSum(n - 1); waits > *h.Overall {
				p.report(h, "the %d waits take up to %v, the whole call may take %v", n-1, waits, *h.Overall).values(waits.String(), h.Overall.String())
			}
		})
	},
}
