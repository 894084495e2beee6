package lint

import (
	"github.com/relplan/relplan/internal/diag"
)

// retryOn429WithoutRetryAfter is rule 18.
var retryOn429WithoutRetryAfter = &Rule{
	Number: 18,
	Code:   "retry-on-429-without-retry-after",
	Title:  "429 is retried without minding Retry-After",
	Text:   `The server says that it limits the rate. An attempt after the usual short wait meets the same limit and counts against it. Wait as long as ` + "`" + `Retry-After` + "`" + ` says, or do not retry 429.`,
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
    retries: {attempts: 2, perTryTimeout: 1s, retryOn: "reset,429"}
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
    retries: {attempts: 2, perTryTimeout: 1s, retryOn: "reset,503"}
`},
	},
	Severity: diag.Warning,
	Run:      fromFacts,
}
