package lint

import (
	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/retrytree/retryconfig"
)

// perTryExceedsOverall is rule 7.
var perTryExceedsOverall = &Rule{
	Number: 7,
	Code:   "per-try-exceeds-overall",
	Title:  "The limit of one attempt is not below the limit of the call",
	Text:   `Depending on the product such a limit is ignored, or the whole policy is refused. In either case the second attempt cannot start. The limit of one attempt times the attempts, with the waits, must fit the limit of the call.`,
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
    retries: {attempts: 3, perTryTimeout: 3s, retryOn: "gateway-error,reset"}
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
		p.facts()
		p.hops(func(h *retryconfig.Hop) {
			switch {
			case h.PerTryIgnored != "":
				p.report(h, "the limit of one attempt %v is %s (%v)", *h.PerTryWritten, h.PerTryIgnored, *h.Overall).values(h.PerTryWritten.String(), h.Overall.String())
			case h.PerTry != nil && h.Overall != nil && *h.PerTry > *h.Overall && !h.StopsOnly:
				p.report(h, "one attempt may take %v, the whole call only %v", *h.PerTry, *h.Overall).values(h.PerTry.String(), h.Overall.String())
			}
		})
	},
}
