package lint

import (
	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/retrytree/retryconfig"
)

// wildcardRetryOn is rule 20.
var wildcardRetryOn = &Rule{
	Number: 20,
	Code:   "wildcard-retry-on",
	Title:  "Everything is retried",
	Text:   `` + "`" + `5xx` + "`" + `, ` + "`" + `States.ALL` + "`" + `, every exception: errors that come back each time are retried with the passing ones. List what is worth a second attempt.`,
	Before: []Source{
		{Name: "vs.yaml", Text: `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: a, namespace: shop}
spec:
  hosts: [a]
  http:
  - match: [{uri: {prefix: /}, method: {exact: GET}}]
    route: [{destination: {host: a}}]
    timeout: 10s
    retries: {attempts: 2, perTryTimeout: 1s, retryOn: "5xx"}
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
		p.facts()
		p.hops(func(h *retryconfig.Hop) {
			for _, c := range h.Conditions {
				switch c {
				case "5xx", "every error", "java.lang.Exception", "Always":
					p.report(h, "retried on %s: errors that come back each time too", c).values(c, "")
				}
			}
		})
	},
}
