package lint

import (
	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/retrytree/retryconfig"
)

// timeoutDoesNotCancel is rule 11.
var timeoutDoesNotCancel = &Rule{
	Number: 11,
	Code:   "timeout-does-not-cancel",
	Title:  "The limit stops new attempts and does not cut a running one",
	Text:   `In nginx, APISIX, Traefik, Caddy, Dapr and the Retry filter of Spring Cloud Gateway the overall limit is looked at between attempts. The call may take the limit and one whole attempt more. Callers must wait that long.`,
	Before: []Source{
		{Name: "application.yml", Text: `spring:
  cloud:
    gateway:
      httpclient: {response-timeout: 2s}
      routes:
      - id: cart
        uri: lb://cart
        filters:
        - name: Retry
          args: {retries: 2, methods: GET, timeout: 1s, "backoff.firstBackoff": 10ms, "backoff.maxBackoff": 20ms}
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
	Severity: diag.Info,
	Run: func(p *Pass) {
		p.hops(func(h *retryconfig.Hop) {
			if h.StopsOnly {
				p.report(h, "%v stops new attempts only: the call may take that and one attempt more%s", *h.Overall, longest(h)).values(worstText(h), h.Overall.String())
			}
		})
	},
}

func longest(h *retryconfig.Hop) string {
	if h.Worst == nil {
		return ", which has no limit"
	}
	return ", " + h.Worst.String()
}

func worstText(h *retryconfig.Hop) string {
	if h.Worst == nil {
		return "unbounded"
	}
	return h.Worst.String()
}
