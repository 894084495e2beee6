package lint

import (
	"strings"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/retrytree/retryconfig"
)

// bodyNotReplayable is rule 49.
var bodyNotReplayable = &Rule{
	Number: 49,
	Code:   "body-not-replayable",
	Title:  "Large bodies are not retried",
	Text:   `A proxy keeps the body of a request to send it again, up to a size: Linkerd 64 KiB, gRPC 256 KiB, Envoy 1 MiB, Traefik 2 MB, HAProxy one buffer of 16 kB. Larger requests make one attempt, whatever the policy says.`,
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
    retries: {attempts: 2, perTryTimeout: 1s, retryOn: "connect-failure,reset"}
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
    retries: {attempts: 2, perTryTimeout: 1s, retryOn: "connect-failure,reset"}
`},
	},
	Severity: diag.Info,
	Run: func(p *Pass) {
		p.hops(func(h *retryconfig.Hop) {
			limit := bodyLimit(h.Kind)
			for _, m := range h.Methods {
				switch m = strings.ToUpper(m); m {
				case "POST", "PUT", "PATCH":
					if limit != "" {
						p.report(h, "a %s with a body above %s is sent once", m, limit).values("", limit)
						return
					}
				}
			}
		})
	},
}

func bodyLimit(kind string) string {
	switch family, _, _ := strings.Cut(kind, "."); family {
	case "linkerd":
		return "64 KiB"
	case "istio", "envoy", "envoygateway", "gwapi", "contour", "kuma", "consul", "emissary", "gloo", "osm", "appmesh":
		return "1 MiB"
	case "traefik":
		return "2 MB"
	case "haproxy":
		return "16 kB"
	}
	return ""
}
