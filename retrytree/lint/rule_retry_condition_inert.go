package lint

import (
	"github.com/relplan/relplan/internal/diag"
)

// retryConditionInert is rule 14.
var retryConditionInert = &Rule{
	Number: 14,
	Code:   "retry-condition-inert",
	Title:  "A list of codes without the condition that activates it",
	Text:   `Status codes or headers are listed, but the condition that makes the product look at them is missing, so they do nothing.`,
	Before: []Source{
		{Name: "rds.yaml", Text: `virtual_hosts:
- name: svc
  domains: ["*"]
  routes:
  - match: {prefix: "/"}
    route:
      cluster: svc
      timeout: 5s
      retry_policy: {num_retries: 2, retry_on: "reset", retriable_status_codes: [503]}
`},
	},
	After: []Source{
		{Name: "rds.yaml", Text: `virtual_hosts:
- name: svc
  domains: ["*"]
  routes:
  - match: {prefix: "/"}
    route:
      cluster: svc
      timeout: 5s
      retry_policy: {num_retries: 2, retry_on: "reset,retriable-status-codes", retriable_status_codes: [503]}
`},
	},
	Severity: diag.Error,
	Run:      fromFacts,
}
