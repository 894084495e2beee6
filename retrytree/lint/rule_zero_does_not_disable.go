package lint

import (
	"github.com/relplan/relplan/internal/diag"
)

// zeroDoesNotDisable is rule 31.
var zeroDoesNotDisable = &Rule{
	Number: 31,
	Code:   "zero-does-not-disable",
	Title:  "0 does not switch retries off here",
	Text:   `0 counts as unset or as no limit in this product. What was meant to switch retries off leaves the default, or worse, in place.`,
	Before: []Source{
		{Name: "proxy.yaml", Text: `apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: a}
spec:
  routes:
  - services: [{name: a, port: 80}]
    retryPolicy: {count: 0, perTryTimeout: 1s}
`},
	},
	After: []Source{
		{Name: "proxy.yaml", Text: `apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: a}
spec:
  routes:
  - services: [{name: a, port: 80}]
    retryPolicy: {count: -1}
`},
	},
	Severity: diag.Error,
	Run:      fromFacts,
}
