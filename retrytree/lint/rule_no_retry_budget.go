package lint

import (
	"regexp"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/retrytree/retryconfig"
)

// noRetryBudget is rule 26.
var noRetryBudget = &Rule{
	Number: 26,
	Code:   "no-retry-budget",
	Title:  "No budget bounds the load of retries",
	Text:   `A count bounds one call. When everything fails at once, the load is still multiplied by it. A budget (a share of the first tries, or a limit of concurrent retries) bounds the sum; it is per client, so multiply by their number.`,
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
    retries: {attempts: 3, perTryTimeout: 1s, retryOn: "gateway-error,reset"}
`},
	},
	After: []Source{
		{Name: "both.yaml", Text: `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: a, namespace: shop}
spec:
  hosts: [a]
  http:
  - match: [{uri: {prefix: /}, method: {exact: GET}}]
    route: [{destination: {host: a}}]
    timeout: 10s
    retries: {attempts: 3, perTryTimeout: 1s, retryOn: "gateway-error,reset"}
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: a, namespace: shop}
spec:
  host: a
  trafficPolicy:
    retryBudget: {percent: 20, minRetryConcurrency: 3}
`},
	},
	Severity: diag.Warning,
	Run: func(p *Pass) {
		p.hops(func(h *retryconfig.Hop) {
			n, ok := h.AttemptCount()
			if (!ok || n > 2) && h.Budget == nil && h.Hedge == nil && meshKind.MatchString(h.Kind) {
				p.report(h, "%s and no budget: an outage multiplies the load by that", attempts(h)).values(h.AttemptsText(), "2")
			}
		})
	},
}

var meshKind = regexp.MustCompile(`^(istio|envoy|envoygateway|gwapi|linkerd|grpc|contour|kuma|consul|emissary|gloo|osm|appmesh)\.`)
