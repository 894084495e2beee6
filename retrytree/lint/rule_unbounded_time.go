package lint

import (
	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/retrytree/retryconfig"
)

// unboundedTime is rule 5.
var unboundedTime = &Rule{
	Number: 5,
	Code:   "unbounded-time",
	Title:  "Nothing limits the time of a call that is retried",
	Text:   `Without a limit of one attempt and without a limit of the whole call, an attempt that hangs holds its caller for ever, and the retries never come into play. Set a per-try limit and an overall limit that holds all attempts and waits.`,
	Before: []Source{
		{Name: "vs.yaml", Text: `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: a, namespace: shop}
spec:
  hosts: [a]
  http:
  - match: [{uri: {prefix: /}, method: {exact: GET}}]
    route: [{destination: {host: a}}]
    retries: {attempts: 2, retryOn: "connect-failure"}
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
			if h.Undecided == "" && h.OverallKnown && h.Overall == nil && (h.PerTry == nil || h.Unbounded) && h.Worst == nil && !projectTimeout(h) {
				p.report(h, "%s, and no limit of their time", attempts(h))
			}
		})
	},
}

// projectTimeout: the time of a CI job is limited by a setting outside the file.
func projectTimeout(h *retryconfig.Hop) bool {
	return h.Kind == "gitlab-ci" || h.Kind == "github-actions"
}
