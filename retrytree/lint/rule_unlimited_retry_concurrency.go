package lint

import (
	"github.com/relplan/relplan/internal/diag"
)

// unlimitedRetryConcurrency is rule 50.
var unlimitedRetryConcurrency = &Rule{
	Number: 50,
	Code:   "unlimited-retry-concurrency",
	Title:  "No limit on concurrent retries",
	Text:   `Istio raises Envoy's limit of 3 concurrent retries per cluster to 4294967295. Set ` + "`" + `retryBudget` + "`" + `, or ` + "`" + `maxRetries` + "`" + `.`,
	Before: []Source{
		{Name: "dr.yaml", Text: `apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: a, namespace: shop}
spec:
  host: a
  trafficPolicy:
    connectionPool: {http: {http1MaxPendingRequests: 10}}
`},
	},
	After: []Source{
		{Name: "dr.yaml", Text: `apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: a, namespace: shop}
spec:
  host: a
  trafficPolicy:
    connectionPool: {http: {maxRetries: 10}}
`},
	},
	Severity: diag.Info,
	Run:      fromFacts,
}
