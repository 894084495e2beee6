package retrytree

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// InputError is a mistake in the description of a graph.
type InputError struct {
	// Node is the name of the service; empty when the name itself is missing.
	Node string
	// Index is the position of the node in the input.
	Index int
	// Call is the position of the call in the node, or -1.
	Call int
	// Layer is the position of the layer in the call, or -1.
	Layer int
	// Message says what was found and what was expected.
	Message string
}

// Error implements error.
func (e *InputError) Error() string {
	where := fmt.Sprintf("node %q", e.Node)
	if e.Call >= 0 {
		where += fmt.Sprintf(", call %d", e.Call)
	}
	if e.Layer >= 0 {
		where += fmt.Sprintf(", layer %d", e.Layer)
	}
	return where + ": " + e.Message
}

// CycleError reports services that call each other in a circle; the worst case
// of such a graph has no end.
type CycleError struct {
	// Path is the circle; its first and last name are the same.
	Path []string
}

// Error implements error.
func (e *CycleError) Error() string {
	return "calls form a cycle: " + strings.Join(e.Path, " -> ")
}

// Graph is a checked, acyclic call graph. It is immutable and safe for
// concurrent use.
type Graph struct {
	nodes []Node
	index *names
	edges []edge  // grouped by caller, in the order of its calls
	first []int32 // edges of node u are edges[first[u]:first[u+1]]
	order []int32 // topological order of the nodes, callers first
	rank  []int32 // position in order
	roots []int32 // nodes nobody calls, in input order

	groups int32 // choices are numbered 1..groups
}

type edge struct {
	from, to int32
	call     int32 // position in nodes[from].Calls
	group    int32 // alternatives of one choice share a number from 1; 0: always called
	factor   Count // fan-out times attempts that start when each fails at once
}

// Build checks the description and returns the graph. All mistakes are
// reported together (errors.Join of *InputError); a cycle is a *CycleError.
func Build(nodes []Node) (*Graph, error) {
	g := &Graph{nodes: slices.Clone(nodes), index: newNames(len(nodes) + 8)}
	var errs []error
	for i, n := range nodes {
		if n.Name == "" {
			errs = append(errs, &InputError{Index: i, Call: -1, Layer: -1, Message: "has no name"})
			continue
		}
		if _, ok := g.index.add(n.Name); !ok {
			errs = append(errs, &InputError{Node: n.Name, Index: i, Call: -1, Layer: -1, Message: "is described twice"})
		}
	}
	total := 0
	for i, n := range nodes {
		total += len(n.Calls)
		errs = checkNode(errs, &InputError{Node: n.Name, Index: i, Call: -1, Layer: -1}, &nodes[i])
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	g.link(total)
	if err := g.sort(); err != nil {
		return nil, err
	}
	return g, nil
}

// link numbers the services and lays out the edges.
func (g *Graph) link(total int) {
	n := len(g.nodes)
	g.edges = make([]edge, 0, total)
	g.first = make([]int32, 0, n+1)
	for i := 0; i < n; i++ {
		g.first = append(g.first, int32(len(g.edges)))
		for j := range g.nodes[i].Calls {
			c := &g.nodes[i].Calls[j]
			to, fresh := g.index.add(c.To)
			if fresh {
				g.nodes = append(g.nodes, Node{Name: c.To})
			}
			f := c.fast()
			if c.FanOut > 1 {
				f = f.Mul(NewCount(c.FanOut))
			}
			e := edge{from: int32(i), to: to, call: int32(j), factor: f}
			if c.Choice != "" {
				e.group = g.groupOf(i, j)
			}
			g.edges = append(g.edges, e)
		}
	}
	for len(g.first) <= len(g.nodes) {
		g.first = append(g.first, int32(len(g.edges)))
	}
}

// groupOf numbers the choices of the whole graph: calls of one service with the
// same Choice share a number.
func (g *Graph) groupOf(node, call int) int32 {
	calls := g.nodes[node].Calls
	for j := 0; j < call; j++ {
		if calls[j].Choice == calls[call].Choice {
			return g.edges[int(g.first[node])+j].group
		}
	}
	g.groups++
	return g.groups
}

// sort finds a topological order by depth-first search, or the first cycle.
func (g *Graph) sort() error {
	n := len(g.nodes)
	called := make([]bool, n)
	for i := range g.edges {
		called[g.edges[i].to] = true
	}
	const onPath, done = 1, 2
	state := make([]uint8, n)
	next := make([]int32, n) // the next edge to follow
	copy(next, g.first[:n])
	post := make([]int32, 0, n)
	path := make([]int32, 0, 64)
	visit := func(start int32) error {
		path = append(path[:0], start)
		state[start] = onPath
		for len(path) > 0 {
			u := path[len(path)-1]
			if next[u] == g.first[u+1] {
				state[u] = done
				post = append(post, u)
				path = path[:len(path)-1]
				continue
			}
			v := g.edges[next[u]].to
			next[u]++
			switch state[v] {
			case 0:
				state[v] = onPath
				path = append(path, v)
			case onPath:
				return g.cycle(path, v)
			}
		}
		return nil
	}
	// Reverse order of starts, so that the final order follows the input.
	for i := n - 1; i >= 0; i-- {
		if state[i] == 0 {
			if err := visit(int32(i)); err != nil {
				return err
			}
		}
	}
	g.order = make([]int32, n)
	g.rank = make([]int32, n)
	for i, u := range post {
		g.order[n-1-i] = u
		g.rank[u] = int32(n - 1 - i)
	}
	for i := 0; i < n; i++ {
		if !called[i] {
			g.roots = append(g.roots, int32(i))
		}
	}
	return nil
}

// cycle names the circle that the call back to v closes, starting with its
// service that stands first in the input.
func (g *Graph) cycle(path []int32, v int32) error {
	ring := path[slices.Index(path, v):]
	start := slices.Index(ring, slices.Min(ring))
	names := make([]string, 0, len(ring)+1)
	for i := range ring {
		names = append(names, g.nodes[ring[(start+i)%len(ring)]].Name)
	}
	return &CycleError{Path: append(names, names[0])}
}

// Names returns the services: those described, in input order, then those only
// called, in the order of first mention.
func (g *Graph) Names() []string {
	names := make([]string, len(g.nodes))
	for i := range g.nodes {
		names[i] = g.nodes[i].Name
	}
	return names
}

// Roots returns the services nobody calls: where requests enter.
func (g *Graph) Roots() []string {
	names := make([]string, len(g.roots))
	for i, r := range g.roots {
		names[i] = g.nodes[r].Name
	}
	return names
}

// out returns the edges of node u.
func (g *Graph) out(u int32) []edge { return g.edges[g.first[u]:g.first[u+1]] }
