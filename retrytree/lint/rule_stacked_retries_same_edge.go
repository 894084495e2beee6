package lint

import (
	"github.com/relplan/relplan/internal/diag"
)

// stackedRetriesSameEdge is rule 2.
var stackedRetriesSameEdge = &Rule{
	Number: 2,
	Code:   "stacked-retries-same-edge",
	Title:  "Two layers retry the same call",
	Text: `An SDK, an application library, a sidecar and a gateway may each retry one and the same call. Their attempts multiply, and nobody sees the product in any one file.

Leave the retries to one layer and switch the others off explicitly.`,
	Before: []Source{
		{Name: "statements.yaml", Text: `relplan: v1
statements:
- {hop: pay->bank, kind: botocore-config, max_attempts: 2, per_try: 1s, overall: 10s}
- {hop: pay->bank, kind: counts-all, attempts: 3, per_try: 1s, overall: 10s, delay: 100ms}
`},
	},
	After: []Source{
		{Name: "statements.yaml", Text: `relplan: v1
statements:
- {hop: pay->bank, kind: botocore-config, max_attempts: 2, per_try: 1s, overall: 10s}
- {hop: pay->bank, kind: counts-all, attempts: 1, per_try: 1s, overall: 10s}
`},
	},
	Severity: diag.Error,
	Run:      fromFacts,
}
