package lint

import (
	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/retrytree/retryconfig"
)

// hedgeDelayZero is rule 40.
var hedgeDelayZero = &Rule{
	Number: 40,
	Code:   "hedge-delay-zero",
	Title:  "Every call is sent several times",
	Text:   `With no delay all copies leave at once: the load is multiplied on every call, also when nothing fails. Set the delay near the 95th percentile of the latency.`,
	Before: []Source{
		{Name: "service-config.json", Text: `{"methodConfig": [{"name": [{"service": "shop.Search", "method": "Query"}], "timeout": "3s", 
  "hedgingPolicy": {"maxAttempts": 3}}]}
`},
	},
	After: []Source{
		{Name: "service-config.json", Text: `{"methodConfig": [{"name": [{"service": "shop.Search", "method": "Query"}], "timeout": "3s", 
  "hedgingPolicy": {"maxAttempts": 3, "hedgingDelay": "0.2s"}}]}
`},
	},
	Severity: diag.Error,
	Run: func(p *Pass) {
		p.hops(func(h *retryconfig.Hop) {
			if h.Hedge != nil && h.Hedge.Delay == 0 {
				p.report(h, "no delay between copies: every call is made %s times", h.AttemptsText()).values(h.AttemptsText(), "1")
			}
		})
	},
}
