package lint

import (
	"strconv"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/retrytree/retryconfig"
)

// budgetFloorDominates is rule 27.
var budgetFloorDominates = &Rule{
	Number: 27,
	Code:   "budget-floor-dominates",
	Title:  "The floor of the budget is larger than its share at the stated traffic",
	Text:   `A ratio budget has a floor per client. At low traffic the floor is the budget: 10 retries per second on 5 requests per second triple the load, and every client has its own. Stated traffic per client (` + "`" + `--rate` + "`" + `) is needed to tell.`,
	Before: []Source{
		{Name: "sp.yaml", Text: `apiVersion: linkerd.io/v1alpha2
kind: ServiceProfile
metadata: {name: a.shop.svc.cluster.local, namespace: shop}
spec:
  routes: [{name: GET /, condition: {method: GET}, isRetryable: true, timeout: 1s}]
  retryBudget: {retryRatio: 0.2, minRetriesPerSecond: 10, ttl: 10s}
`},
	},
	After: []Source{
		{Name: "sp.yaml", Text: `apiVersion: linkerd.io/v1alpha2
kind: ServiceProfile
metadata: {name: a.shop.svc.cluster.local, namespace: shop}
spec:
  routes: [{name: GET /, condition: {method: GET}, isRetryable: true, timeout: 1s}]
  retryBudget: {retryRatio: 0.2, minRetriesPerSecond: 1, ttl: 10s}
`},
	},
	Severity: diag.Info,
	Options:  Options{Rate: 10},
	Run: func(p *Pass) {
		if p.Options.Rate <= 0 {
			return
		}
		p.hops(func(h *retryconfig.Hop) {
			if b := h.Budget; b != nil && b.MinPerSecond > b.Ratio*p.Options.Rate {
				p.report(h, "the floor of %g retries/s is more than %g%% of %g requests/s: the bound is %.3g times the first tries", b.MinPerSecond, b.Ratio*100, p.Options.Rate, 1+b.Ratio+b.MinPerSecond/p.Options.Rate).
					values(trim(b.MinPerSecond), trim(b.Ratio*p.Options.Rate))
			}
		})
	},
}

func trim(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
