package lint

import (
	"time"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/retrytree/retryconfig"
)

// durationSuspicious is rule 38.
var durationSuspicious = &Rule{
	Number: 38,
	Code:   "duration-suspicious",
	Title:  "A duration that is probably meant otherwise",
	Text:   `More than an hour for one call that somebody waits for: a unit may be missing or wrong (a bare number is days in .NET, seconds in nginx, milliseconds in HAProxy).`,
	Before: []Source{
		{Name: "appsettings.json", Text: `{"Http": {"Retry": {"MaxRetryAttempts": 2}, "AttemptTimeout": {"Timeout": "00:00:02"}, "TotalRequestTimeout": {"Timeout": "1"}}}
`},
	},
	After: []Source{
		{Name: "appsettings.json", Text: `{"Http": {"Retry": {"MaxRetryAttempts": 2}, "AttemptTimeout": {"Timeout": "00:00:02"}, "TotalRequestTimeout": {"Timeout": "00:00:10"}}}
`},
	},
	Severity: diag.Warning,
	Run: func(p *Pass) {
		p.hops(func(h *retryconfig.Hop) {
			if h.Class != retryconfig.Request {
				return
			}
			for what, d := range map[string]*time.Duration{"one attempt": h.PerTryWritten, "the call": h.Overall} {
				if d != nil && *d > time.Hour {
					p.report(h, "%s may take %v: is the unit right?", what, *d).values(d.String(), "1h0m0s")
				}
			}
		})
	},
}
