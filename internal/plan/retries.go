package plan

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/reports"
	"github.com/relplan/relplan/retrytree"
)

// RetriesDoc is the retry tree object of the JSON contract.
type RetriesDoc struct {
	Nodes []RetryNodeDoc `json:"nodes"`
	Edges []RetryEdgeDoc `json:"edges"`
	Worst RetryWorstDoc  `json:"worst"`
	Basis reports.Basis  `json:"basis"`
}

// RetryNodeDoc is the worst case of one service.
type RetryNodeDoc struct {
	Name                string   `json:"name"`
	WorstAttempts       *int64   `json:"worst_attempts"` // null: unbounded or beyond 2^63
	WorstAttemptsExact  string   `json:"worst_attempts_exact"`
	WorstPath           []string `json:"worst_path"`
	worstAttemptsExactN retrytree.Count
}

// RetryEdgeDoc is one call.
type RetryEdgeDoc struct {
	From     string `json:"from"`
	To       string `json:"to"`
	Attempts *int64 `json:"attempts"`
}

// RetryWorstDoc is the service with the most attempts.
type RetryWorstDoc struct {
	Path          []string `json:"path"`
	Attempts      *int64   `json:"attempts"`
	AttemptsExact string   `json:"attempts_exact"`
}

type retriesResult struct {
	doc   RetriesDoc
	graph *retrytree.Graph
	top   retrytree.Count
}

// graph builds the call graph; mistakes in it are reported at the calls.
func (f *File) graph() (*retrytree.Graph, error) {
	nodes := make([]retrytree.Node, len(f.Nodes))
	for i, n := range f.Nodes {
		nodes[i] = retrytree.Node{Name: n.Name, Parallel: n.Parallel}
		for _, c := range n.Calls {
			nodes[i].Calls = append(nodes[i].Calls, retrytree.Call{
				To: c.To.V, FanOut: c.FanOut.Or(1),
				Layers: []retrytree.Layer{{Attempts: c.Attempts.Or(1)}},
			})
		}
	}
	g, err := retrytree.Build(nodes)
	var cycle *retrytree.CycleError
	if errors.As(err, &cycle) {
		return nil, &diag.Err{Diagnostics: []diag.Diagnostic{{Code: "PLAN-CYCLE", Pos: f.callPos(cycle.Path), Message: cycle.Error(),
			Hint: "a call tree has no circle; model a hop limit as separate services"}}}
	}
	if err != nil {
		return nil, diag.New(diag.Pos{File: f.Path}, "%v", err)
	}
	return g, nil
}

// callPos is the place of the call that closes a circle.
func (f *File) callPos(path []string) diag.Pos {
	if len(path) >= 2 {
		from, to := path[len(path)-2], path[len(path)-1]
		for _, n := range f.Nodes {
			for _, c := range n.Calls {
				if n.Name == from && c.To.V == to {
					return c.To.Pos
				}
			}
		}
	}
	return diag.Pos{File: f.Path}
}

func (f *File) retries() (*retriesResult, error) {
	g, err := f.graph()
	if err != nil {
		return nil, err
	}
	w := g.Worst()
	res := &retriesResult{graph: g}
	res.doc = RetriesDoc{Nodes: []RetryNodeDoc{}, Edges: []RetryEdgeDoc{}, Worst: RetryWorstDoc{Path: []string{}},
		Basis: reports.Arithmetic("W(root) = 1; W(v) = sum over calls u -> v of W(u) x fan-out x attempts")}
	for i, n := range w.Nodes {
		res.doc.Nodes = append(res.doc.Nodes, RetryNodeDoc{Name: n.Name, WorstAttempts: wireCount(n.Attempts), WorstAttemptsExact: n.Attempts.String(), WorstPath: w.Path(i), worstAttemptsExactN: n.Attempts})
	}
	for _, n := range f.Nodes {
		for _, c := range n.Calls {
			a := c.Attempts.Or(1)
			res.doc.Edges = append(res.doc.Edges, RetryEdgeDoc{From: n.Name, To: c.To.V, Attempts: &a})
		}
	}
	if w.Top >= 0 {
		res.top = w.Nodes[w.Top].Attempts
		res.doc.Worst = RetryWorstDoc{Path: w.Path(w.Top), Attempts: wireCount(res.top), AttemptsExact: res.top.String()}
	}
	return res, nil
}

// wireCount is the count as a JSON integer, null if it is unbounded or too large.
func wireCount(c retrytree.Count) *int64 {
	v, ok := c.Int64()
	if !ok || c.Unbounded() || v == math.MaxInt64 {
		return nil
	}
	return &v
}

func (r *retriesResult) blocks() []reports.Block {
	t := reports.Table{Columns: []reports.Column{{Name: "service"}, {Name: "attempts at worst", Right: true}, {Name: "worst path"}}}
	for _, n := range r.doc.Nodes {
		t.Rows = append(t.Rows, []string{n.Name, n.WorstAttemptsExact, strings.Join(n.WorstPath, " -> ")})
	}
	return []reports.Block{
		reports.Heading{Level: 2, Text: "Attempts"},
		reports.Paragraph{Text: fmt.Sprintf("one request can become %s attempts at %s", r.doc.Worst.AttemptsExact, strings.Join(r.doc.Worst.Path, " -> "))},
		t,
	}
}
