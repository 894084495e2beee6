package lint

import (
	"github.com/relplan/relplan/internal/diag"
)

// deadRetryPolicy is rule 12.
var deadRetryPolicy = &Rule{
	Number: 12,
	Code:   "dead-retry-policy",
	Title:  "A retry policy that never does anything",
	Text:   `Settings stand in the file, and the product makes one attempt: no condition is listed, the count is 0, or the count includes the first attempt. Whoever reads the file believes the opposite.`,
	Before: []Source{
		{Name: "rds.yaml", Text: `virtual_hosts:
- name: svc
  domains: ["*"]
  routes:
  - match: {prefix: "/"}
    route:
      cluster: svc
      timeout: 5s
      retry_policy: {num_retries: 3, per_try_timeout: 1s}
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
      retry_policy: {num_retries: 3, per_try_timeout: 1s, retry_on: "reset,connect-failure"}
`},
	},
	Severity: diag.Error,
	Run:      fromFacts,
}
