package lint

import (
	"github.com/relplan/relplan/internal/diag"
)

// valueOverridden is rule 52.
var valueOverridden = &Rule{
	Number: 52,
	Code:   "value-overridden",
	Title:  "The product replaces the number",
	Text:   `The number in the file is raised or lowered by the product. The finding says to what.`,
	Before: []Source{
		{Name: "resiliency.yaml", Text: `apiVersion: dapr.io/v1alpha1
kind: Resiliency
metadata: {name: a}
spec:
  policies:
    retries:
      DaprBuiltInServiceRetries: {policy: constant, duration: 100ms, maxRetries: 1}
`},
	},
	After: []Source{
		{Name: "resiliency.yaml", Text: `apiVersion: dapr.io/v1alpha1
kind: Resiliency
metadata: {name: a}
spec:
  policies:
    retries:
      DaprBuiltInServiceRetries: {policy: constant, duration: 100ms, maxRetries: 4}
`},
	},
	Severity: diag.Warning,
	Run:      fromFacts,
}
