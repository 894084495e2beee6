package lint

import (
	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/retrytree/retryconfig"
)

// amplificationOverLimit is rule 1.
var amplificationOverLimit = &Rule{
	Number: 1,
	Code:   "amplification-over-limit",
	Title:  "The attempts along a path are above the limit",
	Text: `Attempts of layers that call one another multiply: 3 x 3 x 3 is 27 calls at the leaf for one request at the top. The rule compares the attempts of one call, and the product along a path where the files decide it (a plan file, or the name an application gives itself), with the limit, 10 unless ` + "`" + `--limit` + "`" + ` says otherwise.

Retry in one layer only, or lower the counts, or bound the load with a budget.`,
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
    retries: {attempts: 50, perTryTimeout: 100ms, retryOn: "gateway-error,reset"}
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
			if n, ok := h.AttemptCount(); ok && n > p.Options.limit() {
				p.report(h, "one call makes up to %d attempts, the limit is %d", n, p.Options.limit()).number(n, p.Options.limit())
			}
		})
		for _, path := range worstPaths(paths(p.Edges)) {
			own, _ := path.last().Hop.AttemptCount()
			if len(path.edges) > 1 && path.attempts > max(p.Options.limit(), own) && path.last().Hop.Refused == "" {
				p.report(path.last().Hop, "%s: %s = %d attempts for one request, the limit is %d", path.names(), path.factors(), path.attempts, p.Options.limit()).number(path.attempts, p.Options.limit()).unlessStated(path.edges...)
			}
		}
	},
}

// worstPaths keeps of the paths through the same services to the same hop the one with
// the most attempts: routes beside each other are alternatives.
func worstPaths(all []callPath) []callPath {
	type key struct {
		names string
		hop   *retryconfig.Hop
	}
	at := map[key]int{}
	var out []callPath
	for _, p := range all {
		k := key{p.names(), p.last().Hop}
		i, seen := at[k]
		switch {
		case !seen:
			at[k] = len(out)
			out = append(out, p)
		case p.attempts > out[i].attempts:
			out[i] = p
		}
	}
	return out
}
