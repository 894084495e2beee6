package lint

import (
	"github.com/relplan/relplan/internal/diag"
)

// perTryTimeoutNotRetried is rule 13.
var perTryTimeoutNotRetried = &Rule{
	Number: 13,
	Code:   "per-try-timeout-not-retried",
	Title:  "An attempt that is cut by its limit is not retried",
	Text:   `In Envoy and what compiles to it, a per-try timeout counts as a reset. Without ` + "`" + `5xx` + "`" + `, ` + "`" + `gateway-error` + "`" + ` or ` + "`" + `reset` + "`" + ` in the condition list the limit turns a slow call into an error and nothing follows.`,
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
    retries: {attempts: 3, perTryTimeout: 500ms, retryOn: "connect-failure,refused-stream"}
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
    retries: {attempts: 2, perTryTimeout: 500ms, retryOn: "connect-failure,refused-stream,reset"}
`},
	},
	Severity: diag.Error,
	Run:      fromFacts,
}
