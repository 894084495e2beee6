package lint

import (
	"github.com/relplan/relplan/internal/diag"
)

// faultInjectionDisables is rule 51.
var faultInjectionDisables = &Rule{
	Number: 51,
	Code:   "fault-injection-disables",
	Title:  "Retries are off while the route injects faults",
	Text:   `A route with ` + "`" + `fault` + "`" + ` neither retries nor times out: a test with injected faults says nothing about the policy beside it.`,
	Before: []Source{
		{Name: "vs.yaml", Text: `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: a, namespace: shop}
spec:
  hosts: [a]
  http:
  - route: [{destination: {host: a}}]
    timeout: 10s
    fault: {abort: {httpStatus: 503, percentage: {value: 10}}}
    retries: {attempts: 2, perTryTimeout: 2s, retryOn: "gateway-error,reset"}
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
	Severity: diag.Info,
	Run:      fromFacts,
}
