package lint

import (
	"github.com/relplan/relplan/internal/diag"
)

// backoffBaseOverMax is rule 25.
var backoffBaseOverMax = &Rule{
	Number: 25,
	Code:   "backoff-base-over-max",
	Title:  "The first wait is above the largest one",
	Text:   `Some products refuse the policy, others make every wait the maximum. In neither case the written growth happens.`,
	Before: []Source{
		{Name: "rds.yaml", Text: `virtual_hosts:
- name: svc
  domains: ["*"]
  routes:
  - match: {prefix: "/"}
    route:
      cluster: svc
      timeout: 5s
      retry_policy: {num_retries: 2, retry_on: reset, retry_back_off: {base_interval: 1s, max_interval: 0.5s}}
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
      retry_policy: {num_retries: 2, retry_on: reset, retry_back_off: {base_interval: 0.1s, max_interval: 0.5s}}
`},
	},
	Severity: diag.Error,
	Run:      fromFacts,
}
