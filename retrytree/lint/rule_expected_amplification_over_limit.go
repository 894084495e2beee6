package lint

import (
	"math"
	"strconv"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/retrytree/retryconfig"
)

// expectedAmplificationOverLimit is rule 55.
var expectedAmplificationOverLimit = &Rule{
	Number: 55,
	Code:   "expected-amplification-over-limit",
	Title:  "At the stated failure rate a call is made more often than accepted",
	Text:   `With each attempt failing independently with probability p, a call makes (1 - p^A) / (1 - p) attempts in the mean. Stated with ` + "`" + `--failure-rate` + "`" + `; along a path of a plan the means multiply.`,
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
		{Name: "vs.yaml", Text: `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: a, namespace: shop}
spec:
  hosts: [a]
  http:
  - match: [{uri: {prefix: /}, method: {exact: GET}}]
    route: [{destination: {host: a}}]
    timeout: 10s
    retries: {attempts: 0}
`},
	},
	Severity: diag.Warning,
	Options:  Options{FailureRate: 0.5},
	Run: func(p *Pass) {
		rate := p.Options.FailureRate
		if rate <= 0 || rate > 1 {
			return
		}
		p.hops(func(h *retryconfig.Hop) {
			n, ok := h.AttemptCount()
			if !ok {
				return
			}
			mean := (1 - math.Pow(rate, float64(n))) / (1 - rate)
			if rate == 1 {
				mean = float64(n)
			}
			if limit := p.Options.expected(); mean > limit {
				p.report(h, "with %g%% of the attempts failing, a call makes %.4g attempts in the mean (independent failures), accepted are %g", rate*100, mean, limit).
					values(strconv.FormatFloat(mean, 'g', 6, 64), strconv.FormatFloat(limit, 'g', 6, 64))
			}
		})
	},
}
