package lint

import (
	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/retrytree/retryconfig"
)

// missingPerTryTimeout is rule 6.
var missingPerTryTimeout = &Rule{
	Number: 6,
	Code:   "missing-per-try-timeout",
	Title:  "One slow attempt may use up the whole deadline",
	Text:   `With an overall limit only, a first attempt that hangs takes all of the time: the retries that the file promises never run. Give one attempt a limit of its own, small enough that the wanted number of attempts fits.`,
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
    retries: {attempts: 3, retryOn: "gateway-error,reset"}
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
	Severity: diag.Warning,
	Run: func(p *Pass) {
		p.hops(func(h *retryconfig.Hop) {
			if h.Class == retryconfig.Request && h.PerTry == nil && h.PerTryWritten == nil && h.Overall != nil && h.Hedge == nil && h.Undecided == "" {
				p.report(h, "no limit of one attempt: the first one may take all of %v, then %s attempts are 1", *h.Overall, h.AttemptsText()).values("none", h.Overall.String())
			}
		})
	},
}
