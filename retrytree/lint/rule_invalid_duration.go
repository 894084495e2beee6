package lint

import (
	"github.com/relplan/relplan/internal/diag"
)

// invalidDuration is rule 56.
var invalidDuration = &Rule{
	Number: 56,
	Code:   "invalid-duration",
	Title:  "A duration that this file format cannot take",
	Text:   `Each product has its own spelling: ` + "`" + `100ms` + "`" + ` is right in Istio and refused by gRPC, ` + "`" + `0.1s` + "`" + ` is right in gRPC and refused by the Gateway API. The finding gives the spelling that is read here.`,
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
    retries: {attempts: 2, perTryTimeout: PT1S, retryOn: "gateway-error,reset"}
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
