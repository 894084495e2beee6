package lint

import (
	"github.com/relplan/relplan/internal/diag"
)

// overriddenPolicy is rule 29.
var overriddenPolicy = &Rule{
	Number: 29,
	Code:   "overridden-policy",
	Title:  "A policy replaces another one as a whole",
	Text:   `The policy of a route takes the place of the one of its virtual host: nothing is inherited, also not the fields that the route leaves out.`,
	Before: []Source{
		{Name: "rds.yaml", Text: `virtual_hosts:
- name: svc
  domains: ["*"]
  retry_policy: {retry_on: 5xx, num_retries: 3, per_try_timeout: 1s}
  routes:
  - match: {prefix: "/"}
    route:
      cluster: svc
      timeout: 5s
      retry_policy: {num_retries: 1, retry_on: reset}
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
      retry_policy: {num_retries: 1, retry_on: reset}
`},
	},
	Severity: diag.Info,
	Run:      fromFacts,
}
