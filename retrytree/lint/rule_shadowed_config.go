package lint

import (
	"github.com/relplan/relplan/internal/diag"
)

// shadowedConfig is rule 28.
var shadowedConfig = &Rule{
	Number: 28,
	Code:   "shadowed-config",
	Title:  "A setting has no effect because another one wins",
	Text:   `Both stand in the file, one of them is dead. Whoever changes the dead one sees nothing happen.`,
	Before: []Source{
		{Name: "dr.yaml", Text: `apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: a, namespace: shop}
spec:
  host: a
  trafficPolicy:
    connectionPool: {http: {maxRetries: 10}}
    retryBudget: {percent: 20}
`},
	},
	After: []Source{
		{Name: "dr.yaml", Text: `apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: a, namespace: shop}
spec:
  host: a
  trafficPolicy:
    retryBudget: {percent: 20}
`},
	},
	Severity: diag.Warning,
	Run:      fromFacts,
}
