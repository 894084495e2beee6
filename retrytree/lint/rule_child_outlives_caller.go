package lint

import (
	"github.com/relplan/relplan/internal/diag"
)

// childOutlivesCaller is rule 10.
var childOutlivesCaller = &Rule{
	Number: 10,
	Code:   "child-outlives-caller",
	Title:  "The callee works longer than its caller waits for one attempt",
	Text:   `When the worst time of a call is longer than the limit that its caller gives one attempt, the callee goes on working for an answer that nobody takes, while the caller has already sent the next attempt. Compare with the limit of one attempt of the caller, not with its overall limit.`,
	Before: []Source{
		{Name: "relplan.yaml", Text: `relplan: v1
plan: p
calls:
  gateway: {calls: [{to: orders, attempts: 2, per_try: 1s, overall: 3s, backoff: {base: 25ms, jitter: full}}]}
  orders: {calls: [{to: bank, attempts: 3, per_try: 500ms, overall: 2s, backoff: {base: 25ms, jitter: full}}]}
`},
	},
	After: []Source{
		{Name: "relplan.yaml", Text: `relplan: v1
plan: p
calls:
  gateway: {calls: [{to: orders, attempts: 2, per_try: 2s, overall: 5s, backoff: {base: 25ms, jitter: full}}]}
  orders: {calls: [{to: bank, attempts: 3, per_try: 500ms, overall: 2s, backoff: {base: 25ms, jitter: full}}]}
`},
	},
	Severity: diag.Error,
	Run: func(p *Pass) {
		byCaller := map[string][]Edge{}
		for _, e := range p.Edges {
			byCaller[e.From] = append(byCaller[e.From], e)
		}
		for _, up := range tightest(p.Edges) {
			for _, down := range byCaller[up.To] {
				if up.Hop == down.Hop || down.Hop.Refused != "" {
					continue
				}
				switch {
				case down.Hop.Worst != nil && *down.Hop.Worst > *up.Hop.PerTry:
					p.report(down.Hop, "%s -> %s takes up to %v, but %s waits %v for one attempt: the rest is work for nobody", down.From, down.To, *down.Hop.Worst, up.From, *up.Hop.PerTry).
						values(down.Hop.Worst.String(), up.Hop.PerTry.String()).unlessStated(up, down)
				case down.Hop.Worst == nil && down.Hop.Undecided == "" && down.Hop.OverallKnown && down.Hop.Retries():
					p.report(down.Hop, "%s -> %s has no limit of its time, but %s waits %v for one attempt", down.From, down.To, up.From, *up.Hop.PerTry).values("unbounded", up.Hop.PerTry.String()).unlessStated(up, down)
				}
			}
		}
	},
}

// tightest keeps of the calls between the same two services the one that waits the
// shortest for an attempt: routes beside each other are alternatives. Calls without a
// limit of one attempt are left out.
func tightest(edges []Edge) []Edge {
	type key struct{ from, to, why string }
	at := map[key]int{}
	var out []Edge
	for _, e := range edges {
		if e.Hop.PerTry == nil {
			continue
		}
		k := key{e.From, e.To, e.Why}
		i, seen := at[k]
		switch {
		case !seen:
			at[k] = len(out)
			out = append(out, e)
		case *e.Hop.PerTry < *out[i].Hop.PerTry:
			out[i] = e
		}
	}
	return out
}
