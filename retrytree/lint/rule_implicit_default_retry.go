package lint

import (
	"github.com/relplan/relplan/internal/diag"
)

// implicitDefaultRetry is rule 3.
var implicitDefaultRetry = &Rule{
	Number: 3,
	Code:   "implicit-default-retry",
	Title:  "A product retries although nobody wrote it",
	Text:   `Many products retry by default. A reviewer sees no number, still the call is made several times. Write the number you want, also when it is the default, and write 0 (or what the product takes for off) where a call must not be repeated.`,
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
	Run:      fromFacts,
}
