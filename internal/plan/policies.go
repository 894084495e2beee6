package plan

import (
	"fmt"
	"math"
	"math/big"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/quantity"
	"github.com/relplan/relplan/reports"
)

// PolicyDoc is one limit with the value it is held against. Limit and Value are
// numbers, or words for policies that are words.
type PolicyDoc struct {
	Policy string        `json:"policy"`
	Limit  any           `json:"limit"`
	Value  any           `json:"value"`
	Pass   bool          `json:"pass"`
	Text   string        `json:"text"`
	Basis  reports.Basis `json:"basis"`
}

// judge holds the answers against the policies. Windows, deadlines and
// protocols count unless the plan says report.
func (a *answers) judge() []PolicyDoc {
	p := a.file.Policies
	out := []PolicyDoc{}
	add := func(policy string, limit, value any, pass bool, text string) {
		out = append(out, PolicyDoc{policy, limit, value, pass, text, reports.Arithmetic("count of what does not hold")})
	}
	if p.MaxAttempts.Set && len(a.file.Nodes) > 0 {
		d := a.file.attemptsPolicy(a.retries)
		add(d.Policy, d.Limit, d.Value, d.Pass, d.Text)
	}
	if p.Windows.V != "report" && len(a.capacity.windows) > 0 {
		n := countIf(a.capacity.windows, func(i int) bool { return !a.capacity.windows[i].Covered })
		add("windows", "covered", n, n == 0, fmt.Sprintf("%d of %d windows are not covered", n, len(a.capacity.windows)))
	}
	if p.Deadlines.V != "report" && len(a.deadlines) > 0 {
		n := countIf(a.deadlines, func(i int) bool { return !a.deadlines[i].Admit })
		add("deadlines", "admitted", n, n == 0, fmt.Sprintf("%d of %d attempts are refused", n, len(a.deadlines)))
	}
	if p.Protocols.V != "report" && len(a.protocols) > 0 {
		n := countIf(a.protocols, func(i int) bool { return !a.protocols[i].asExpected() && !a.protocols[i].unknown() })
		text := fmt.Sprintf("%d of %d protocols are not as expected", n, len(a.protocols))
		if open := countIf(a.protocols, func(i int) bool { return a.protocols[i].unknown() }); open > 0 {
			text += fmt.Sprintf(", %d undecided", open)
		}
		add("protocols", "as_expected", n, n == 0, text)
	}
	if p.Storm.V == "survives" && a.storm != nil {
		n := countIf(a.storm.Doc.Edges, func(i int) bool { return a.storm.tips(i) })
		add("storm", "survives", n, n == 0, fmt.Sprintf("%d of %d calls can be tipped for good at this load", n, len(a.storm.Doc.Edges)))
	}
	return append(out, a.file.sizePolicies(a.capacity)...)
}

// sizePolicies are the policies that concern sizes alone.
func (f *File) sizePolicies(res *capacityResult) []PolicyDoc {
	out := []PolicyDoc{}
	p := f.Policies
	if p.MaxTotalBytes.Set {
		total := res.totalBytes()
		out = append(out, PolicyDoc{"max_total_bytes", p.MaxTotalBytes.V, total, total.Cmp(big.NewInt(p.MaxTotalBytes.V)) <= 0,
			fmt.Sprintf("%s with all copies, at most %s allowed", f.Units.big(total), f.Units.text(p.MaxTotalBytes.V)),
			reports.Arithmetic("sum over stores of bytes x copies")})
	}
	if p.MaxUnknown.Set {
		worst := 0.0
		for _, e := range res.unknown {
			worst = max(worst, e.CountHigh)
		}
		out = append(out, PolicyDoc{"max_unknown", p.MaxUnknown.V, worst, worst <= p.MaxUnknown.V,
			fmt.Sprintf("%s operations UNKNOWN at once with 99%% confidence, at most %s allowed", wholeText(worst), wholeText(p.MaxUnknown.V)),
			reports.Arithmetic("Poisson quantile of the operations outstanding")})
	}
	return out
}

// wholeText prints a whole number that is held as a float, grouped.
func wholeText(v float64) string {
	n, _ := big.NewFloat(math.Round(v)).Int(nil)
	return quantity.FormatInt(n)
}

func countIf[T any](s []T, is func(i int) bool) int {
	n := 0
	for i := range s {
		if is(i) {
			n++
		}
	}
	return n
}

func policyBlocks(ps []PolicyDoc) []reports.Block {
	if len(ps) == 0 {
		return nil
	}
	t := reports.Table{Columns: []reports.Column{{Name: "policy"}, {Name: "verdict"}, {Name: "because"}}}
	for _, p := range ps {
		verdict := "holds"
		if !p.Pass {
			verdict = "BROKEN"
		}
		t.Rows = append(t.Rows, []string{p.Policy, verdict, p.Text})
	}
	return []reports.Block{reports.Heading{Level: 2, Text: "Policies"}, t}
}

// policyPos is the place of a policy in the file; for one that counts without
// being named it is the file.
func (f *File) policyPos(name string) diag.Pos {
	p := f.Policies
	pos := map[string]diag.Pos{
		"max_attempts": p.MaxAttempts.Pos, "windows": p.Windows.Pos, "deadlines": p.Deadlines.Pos, "protocols": p.Protocols.Pos,
		"max_total_bytes": p.MaxTotalBytes.Pos, "max_unknown": p.MaxUnknown.Pos,
	}[name]
	if pos.Line == 0 {
		pos = diag.Pos{File: f.Path, Line: 1, Column: 1}
	}
	return pos
}
