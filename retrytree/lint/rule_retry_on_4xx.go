package lint

import (
	"github.com/relplan/relplan/internal/diag"
)

// retryOn4xx is rule 17.
var retryOn4xx = &Rule{
	Number: 17,
	Code:   "retry-on-4xx",
	Title:  "A client error is retried",
	Text:   `A 4xx says that the request is wrong: the next attempt gets the same answer and adds load. 408, 425 and 429 are about time and are not meant here. A warning where the product has the code in a list that cannot be changed.`,
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
    retries: {attempts: 2, perTryTimeout: 1s, retryOn: "reset,404"}
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
	Severity: diag.Error,
	Run:      fromFacts,
}
