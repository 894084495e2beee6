package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/retrytree/retryconfig"
)

// number gives the finding the number it is about and its limit.
func (f *Finding) number(value, limit int64) *Finding {
	f.Value, f.Limit = fmt.Sprint(value), fmt.Sprint(limit)
	return f
}

// values gives the finding the value it is about and its limit, as text.
func (f *Finding) values(value, limit string) *Finding {
	f.Value, f.Limit = value, limit
	return f
}

// warn lowers the finding to a warning.
func (f *Finding) warn() *Finding {
	f.Severity = diag.Warning
	return f
}

// unlessStated lowers the finding to a warning when a call is not stated by a plan but
// told from names that two files share.
func (f *Finding) unlessStated(edges ...Edge) *Finding {
	for _, e := range edges {
		if e.Why != "plan" {
			f.Message += " (that they call each other is told from their names)"
			return f.warn()
		}
	}
	return f
}

// callPath is a chain of calls with the product of its attempts.
type callPath struct {
	edges    []Edge
	attempts int64
}

func (p callPath) last() Edge { return p.edges[len(p.edges)-1] }

func (p callPath) names() string {
	out := []string{p.edges[0].From}
	for _, e := range p.edges {
		out = append(out, e.To)
	}
	return strings.Join(out, " -> ")
}

func (p callPath) factors() string {
	var out []string
	for _, e := range p.edges {
		out = append(out, e.Hop.AttemptsText())
	}
	return strings.Join(out, " x ")
}

// Bounds of the search for paths: a plan of services has few edges; what is beyond is
// computed by the call graph, not by a rule.
const (
	maxPathLength = 12
	maxPaths      = 10_000
)

// paths lists the paths from every service that nobody calls down to each callee. A
// call whose count is open counts as 1.
func paths(edges []Edge) []callPath {
	var out []callPath
	called, byCaller := map[string]bool{}, map[string][]Edge{}
	for _, e := range edges {
		called[e.To] = true
		byCaller[e.From] = append(byCaller[e.From], e)
	}
	var walk func(p callPath)
	walk = func(p callPath) {
		if len(out) >= maxPaths || len(p.edges) > maxPathLength {
			return
		}
		out = append(out, p)
		for _, e := range byCaller[p.last().To] {
			if !slices.ContainsFunc(p.edges, func(x Edge) bool { return x.From == e.To || x.Hop == e.Hop }) {
				walk(p.with(e))
			}
		}
	}
	for _, e := range edges {
		if !called[e.From] {
			walk(callPath{attempts: 1}.with(e))
		}
	}
	return out
}

func (p callPath) with(e Edge) callPath {
	n := int64(1)
	if a, ok := e.Hop.AttemptCount(); ok {
		n = a
	}
	total := p.attempts
	if n > 0 && total > (1<<62)/n {
		total = 1 << 62
	} else {
		total *= n
	}
	return callPath{append(p.edges[:len(p.edges):len(p.edges)], e), total}
}

// attempts words the attempts of a hop: "3 attempts", "attempts without a limit".
func attempts(h *retryconfig.Hop) string {
	if h.Unbounded {
		return "attempts without a limit"
	}
	return h.AttemptsText() + " attempts"
}
