package lint

import (
	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/retrytree/retryconfig"
)

// hedgeUnsafe is rule 39.
var hedgeUnsafe = &Rule{
	Number: 39,
	Code:   "hedge-unsafe",
	Title:  "Copies of a write are sent",
	Text:   `Hedging sends the same call again while the first still runs. Copies of a write run side by side, and both may succeed.`,
	Before: []Source{
		{Name: "service-config.json", Text: `{"methodConfig": [{"name": [{"service": "shop.Orders", "method": "Create"}], "timeout": "3s", 
  "hedgingPolicy": {"maxAttempts": 3, "hedgingDelay": "0.2s"}}]}
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
			if w := writes(h); h.Hedge != nil && w != "" {
				p.report(h, "up to %s copies of %s run at the same time", h.AttemptsText(), w).values(w, "")
			}
		})
	},
}
