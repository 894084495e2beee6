package lint

import (
	"math"
	"time"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/retrytree/retryconfig"
)

// attemptsDoNotFitDeadline is rule 8.
var attemptsDoNotFitDeadline = &Rule{
	Number: 8,
	Code:   "attempts-do-not-fit-deadline",
	Title:  "Not all attempts fit the limit of the call",
	Text: `Attempt k starts after k-1 attempts and their waits. An attempt that starts after the limit never runs; one that starts before it and would end after it is cut, and its work is lost. An error when a slow backend leaves a single attempt, a warning when some fit.

Lower the count, the limit of one attempt or the waits, or raise the limit of the call.`,
	Before: []Source{
		{Name: "vs.yaml", Text: `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: a, namespace: shop}
spec:
  hosts: [a]
  http:
  - match: [{uri: {prefix: /}, method: {exact: GET}}]
    route: [{destination: {host: a}}]
    timeout: 2s
    retries: {attempts: 3, perTryTimeout: 3s, retryOn: "gateway-error,reset"}
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
	Run: func(p *Pass) {
		p.hops(func(h *retryconfig.Hop) {
			n, ok := h.AttemptCount()
			if !ok || h.Overall == nil || h.PerTryWritten == nil || h.Waits.Open || h.Hedge != nil {
				return
			}
			each := *h.PerTryWritten
			starts := h.Starts(each, *h.Overall)
			_, waits := h.WaitSum(n - 1)
			end := saturated(each, n, waits)
			switch {
			case starts == 1 && !h.StopsOnly && h.Worst != nil:
				p.report(h, "only 1 of %d attempts starts within %v when each takes %v", n, *h.Overall, each).number(starts, n)
			case starts < n:
				p.report(h, "only %d of %d attempts start within %v when each takes %v", starts, n, *h.Overall, each).warn().number(starts, n)
			case end > *h.Overall && !h.StopsOnly && !h.LastTryFree:
				p.report(h, "all %d attempts start, the last one would end at up to %v, after the limit of %v", n, end, *h.Overall).warn().values(end.String(), h.Overall.String())
			}
		})
	},
}

// saturated is n attempts of the same length and the waits between them.
func saturated(each time.Duration, n int64, waits time.Duration) time.Duration {
	if each > 0 && n > (math.MaxInt64-int64(waits))/int64(each) {
		return math.MaxInt64
	}
	return each*time.Duration(n) + waits
}
