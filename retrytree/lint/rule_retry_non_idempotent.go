package lint

import (
	"regexp"
	"strings"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/retrytree/retryconfig"
)

// retryNonIdempotent is rule 16.
var retryNonIdempotent = &Rule{
	Number: 16,
	Code:   "retry-non-idempotent",
	Title:  "A write may be done twice",
	Text:   `POST, PATCH, LOCK or a write over RPC is sent again after the first attempt may have run. Retry only what was certainly not handed over (` + "`" + `connect-failure` + "`" + `, ` + "`" + `refused-stream` + "`" + `), or send an idempotency key that the callee checks.`,
	Before: []Source{
		{Name: "vs.yaml", Text: `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: a, namespace: shop}
spec:
  hosts: [a]
  http:
  - match: [{uri: {prefix: /}, method: {exact: POST}}]
    route: [{destination: {host: a}}]
    timeout: 10s
    retries: {attempts: 2, perTryTimeout: 1s, retryOn: "5xx"}
`},
	},
	After: []Source{
		{Name: "vs.yaml", Text: `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: a, namespace: shop}
spec:
  hosts: [a]
  http:
  - match: [{uri: {prefix: /}, method: {exact: POST}}]
    route: [{destination: {host: a}}]
    timeout: 10s
    retries: {attempts: 2, perTryTimeout: 1s, retryOn: "connect-failure,refused-stream,reset-before-request"}
`},
	},
	Severity: diag.Error,
	Run: func(p *Pass) {
		p.hops(func(h *retryconfig.Hop) {
			if w := writes(h); h.MayHaveRun == retryconfig.Yes && h.Hedge == nil && w != "" && h.Class == retryconfig.Request {
				on := ""
				if len(h.Conditions) > 0 {
					on = " (retried on " + strings.Join(h.Conditions, ", ") + ")"
				}
				p.report(h, "%s is sent up to %s times, also after it may have run%s", w, h.AttemptsText(), on).values(w, "")
			}
		})
	},
}

// writes gives the method of a hop that repeats an effect, or "".
func writes(h *retryconfig.Hop) string {
	for _, m := range h.Methods {
		switch strings.ToUpper(m) {
		case "POST", "PATCH", "LOCK":
			return strings.ToUpper(m)
		}
		if strings.HasPrefix(h.Kind, "grpc.") && writeVerb.MatchString(m) {
			return m
		}
	}
	return ""
}

var writeVerb = regexp.MustCompile(`^(Create|Add|Insert|Append|Update|Patch|Charge|Pay|Send|Submit|Place|Book|Reserve|Transfer|Post|Publish|Enqueue|Increment|Debit|Credit|Capture|Refund|Issue|Register|Start|Trigger|Execute|Write)([A-Z]|$)`)
