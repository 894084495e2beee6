package lint

import (
	"github.com/relplan/relplan/internal/diag"
)

// stickyRetry is rule 48.
var stickyRetry = &Rule{
	Number: 48,
	Code:   "sticky-retry",
	Title:  "The next attempt may go to the same host",
	Text:   `An attempt that goes to the host that has just failed is rarely worth its load. Let the balancer choose another host.`,
	Before: []Source{
		{Name: "haproxy.cfg", Text: `defaults
  mode http
  timeout connect 2s
  timeout server 10s
  retries 2
backend a
  server s1 10.0.0.1:80
  server s2 10.0.0.2:80
`},
	},
	After: []Source{
		{Name: "haproxy.cfg", Text: `defaults
  mode http
  timeout connect 2s
  timeout server 10s
  retries 2
  option redispatch
backend a
  server s1 10.0.0.1:80
  server s2 10.0.0.2:80
`},
	},
	Severity: diag.Info,
	Run:      fromFacts,
}
