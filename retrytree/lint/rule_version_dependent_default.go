package lint

import (
	"github.com/relplan/relplan/internal/diag"
)

// versionDependentDefault is rule 34.
var versionDependentDefault = &Rule{
	Number: 34,
	Code:   "version-dependent-default",
	Title:  "The reading depends on the version of the product",
	Text:   `The value is absent, or means different things in different versions. Write it, or say which version runs.`,
	Before: []Source{
		{Name: "route.yaml", Text: `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: a}
spec:
  rules:
  - retry: {codes: [503]}
    timeouts: {request: 3s}
    backendRefs: [{name: a, port: 80}]
`},
	},
	After: []Source{
		{Name: "route.yaml", Text: `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: a}
spec:
  rules:
  - retry: {codes: [503], attempts: 2}
    timeouts: {request: 3s}
    backendRefs: [{name: a, port: 80}]
`},
	},
	Severity: diag.Warning,
	Run:      fromFacts,
}
