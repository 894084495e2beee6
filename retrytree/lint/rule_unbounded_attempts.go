package lint

import (
	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/retrytree/retryconfig"
)

// unboundedAttempts is rule 4.
var unboundedAttempts = &Rule{
	Number: 4,
	Code:   "unbounded-attempts",
	Title:  "Nothing limits the number of attempts",
	Text:   `-1, none, an empty strategy or a missing key means "for ever" in some products. A request that cannot succeed then loads its target until somebody ends it. Write a count, and say where a message goes when the count is used up.`,
	Before: []Source{
		{Name: "statements.yaml", Text: `relplan: v1
statements:
- {hop: a->b, kind: temporal, per_try: 10s, overall: 1h}
`},
	},
	After: []Source{
		{Name: "statements.yaml", Text: `relplan: v1
statements:
- {hop: a->b, kind: temporal, maximum_attempts: 5, per_try: 10s, overall: 1h}
`},
	},
	Severity: diag.Error,
	Run: func(p *Pass) {
		p.hops(func(h *retryconfig.Hop) {
			if h.Unbounded {
				p.report(h, "no limit on the number of attempts (%s)", h.Written)
			}
		})
	},
}
