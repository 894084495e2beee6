package lint

import (
	"github.com/relplan/relplan/internal/diag"
)

// unknownCondition is rule 57.
var unknownCondition = &Rule{
	Number: 57,
	Code:   "unknown-condition",
	Title:  "A retry condition that the product does not know",
	Text:   `The word is refused, or it never matches anything: what it was meant to retry is not retried. The finding names the place; compare with the list of conditions of the product.`,
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
    retries: {attempts: 2, perTryTimeout: 1s, retryOn: "gateway-eror,reset"}
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
	Run:      fromFacts,
}
