package retrytree

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// chain builds a -> b -> c ... with the given attempts.
func chain(attempts ...int64) []Node {
	nodes := make([]Node, len(attempts))
	for i, n := range attempts {
		nodes[i] = Node{Name: fmt.Sprintf("s%d", i), Calls: []Call{To(fmt.Sprintf("s%d", i+1), n)}}
	}
	return nodes
}

func repeat(n int64, times int) []int64 {
	out := make([]int64, times)
	for i := range out {
		out[i] = n
	}
	return out
}

func mustBuild(t testing.TB, nodes []Node) *Graph {
	t.Helper()
	g, err := Build(nodes)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestWorst(t *testing.T) {
	tests := []struct {
		reason string
		nodes  []Node
		want   map[string]string
		path   string
		alone  string // product along the path
	}{
		{"A1: 2 x 3 x 2", chain(2, 3, 2), map[string]string{"s0": "1", "s1": "2", "s2": "6", "s3": "12"}, "s0 s1 s2 s3", "12"},
		{"A2: three layers of 3 retries = 4 attempts", chain(4, 4, 4), map[string]string{"s3": "64"}, "s0 s1 s2 s3", "64"},
		{"A3: a stack of five, 3 tries each", chain(repeat(3, 5)...), map[string]string{"s5": "243"}, "s0 s1 s2 s3 s4 s5", "243"},
		{"no retries at all: the leaf is named, not the root", chain(1, 1), map[string]string{"s2": "1"}, "s0 s1 s2", "1"},
		{"attempts 0 means 1", chain(0, 3), map[string]string{"s2": "3"}, "s0 s1 s2", "3"},
		{"20 layers of 10 exceed 2^63", chain(repeat(10, 20)...), map[string]string{"s18": "1000000000000000000", "s19": "10000000000000000000", "s20": "1" + strings.Repeat("0", 20)}, "", "1" + strings.Repeat("0", 20)},
		{"63 layers of 2 are exactly 2^63, the first value beyond int64", chain(repeat(2, 63)...), map[string]string{"s62": "4611686018427387904", "s63": "9223372036854775808"}, "", "9223372036854775808"},
		{"a diamond sums at the shared node", []Node{
			{Name: "a", Calls: []Call{To("b", 2), To("c", 3)}},
			{Name: "b", Calls: []Call{To("d", 2)}}, {Name: "c", Calls: []Call{To("d", 2)}}},
			map[string]string{"b": "2", "c": "3", "d": "10"}, "a c d", "6"},
		{"two calls of the same service", []Node{{Name: "a", Calls: []Call{To("b", 2), To("b", 3)}}},
			map[string]string{"b": "5"}, "a b", "3"},
		{"fan-out multiplies", []Node{{Name: "a", Calls: []Call{{To: "b", FanOut: 100, Layers: []Layer{{Attempts: 2}}}}}},
			map[string]string{"b": "200"}, "a b", "200"},
		{"several layers on one edge multiply", []Node{{Name: "a", Calls: []Call{{To: "b", Layers: []Layer{{Name: "client", Attempts: 3}, {Name: "mesh", Attempts: 3}}}}}},
			map[string]string{"b": "9"}, "a b", "9"},
		{"a call without a policy is one attempt", []Node{{Name: "a", Calls: []Call{{To: "b"}}}}, map[string]string{"b": "1"}, "a b", "1"},
		{"two entries: the larger one, not the sum", []Node{
			{Name: "web", Calls: []Call{To("orders", 2)}}, {Name: "mobile", Calls: []Call{To("orders", 3)}},
			{Name: "orders", Calls: []Call{To("bank", 2)}}},
			map[string]string{"web": "1", "mobile": "1", "orders": "3", "bank": "6"}, "mobile orders bank", "6"},
		{"an unbounded policy has no worst case", []Node{
			{Name: "a", Calls: []Call{{To: "b", Layers: []Layer{{Unbounded: true}}}, To("c", 2)}}, {Name: "b", Calls: []Call{To("d", 2)}}},
			map[string]string{"b": "unbounded", "c": "2", "d": "unbounded"}, "a b d", "unbounded"},
		{"A9: gateway -(1 retry)-> api -(2 retries)-> db", []Node{{Name: "gateway", Calls: []Call{To("api", 2)}}, {Name: "api", Calls: []Call{To("db", 3)}}},
			map[string]string{"gateway": "1", "api": "2", "db": "6"}, "gateway api db", "6"},
		{"one lonely service", []Node{{Name: "a"}}, map[string]string{"a": "1"}, "a", "1"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			w := mustBuild(t, tt.nodes).Worst()
			for name, want := range tt.want {
				n, ok := w.Find(name)
				if !ok || n.Attempts.String() != want {
					t.Errorf("%s: %v, want %s", name, n.Attempts, want)
				}
			}
			if got := strings.Join(w.Path(w.Top), " "); tt.path != "" && got != tt.path {
				t.Errorf("path %q, want %q", got, tt.path)
			}
			if got := w.Nodes[w.Top].PathAttempts.String(); got != tt.alone {
				t.Errorf("attempts along the path %s, want %s", got, tt.alone)
			}
		})
	}
	if _, ok := mustBuild(t, nil).Worst().Find("x"); ok {
		t.Error("found a service in an empty graph")
	}
}

func TestWorstWork(t *testing.T) {
	w := mustBuild(t, []Node{{Name: "a", Cost: 1, Calls: []Call{To("b", 2)}}, {Name: "b", Cost: 3, Calls: []Call{To("c", 2)}}, {Name: "c", Cost: 0.5}}).Worst()
	if got := w.Work(); got != 1+2*3+4*0.5 {
		t.Errorf("work at worst %v, want 9", got)
	}
}

// TestA9Spans: worst-case spans 1 + 2*(1+3) = 9, largest fan-out 3.
func TestA9Spans(t *testing.T) {
	w := mustBuild(t, []Node{{Name: "gateway", Calls: []Call{To("api", 2)}}, {Name: "api", Calls: []Call{To("db", 3)}}}).Worst()
	total := Count{}
	for _, n := range w.Nodes {
		total = total.Add(n.Attempts)
	}
	if total.String() != "9" {
		t.Errorf("spans %v, want 9", total)
	}
}

func TestBuildErrors(t *testing.T) {
	tests := []struct {
		reason string
		nodes  []Node
		want   []string
	}{
		{"everything at once", []Node{{Name: ""}, {Name: "a", Calls: []Call{{To: ""}, {To: "b", FanOut: -1}, To("c", -2)}}, {Name: "a"}},
			[]string{`node "": has no name`, `node "a": is described twice`, `node "a", call 0: does not say which service it calls`,
				`node "a", call 1: fan-out is -1, expected at least 1`, `node "a", call 2, layer 0: attempts is -2, expected at least 1`}},
		{"a cycle is refused with its path", []Node{{Name: "x", Calls: []Call{To("a", 1)}}, {Name: "a", Calls: []Call{To("b", 1)}}, {Name: "b", Calls: []Call{To("c", 1)}}, {Name: "c", Calls: []Call{To("a", 1)}}},
			[]string{"calls form a cycle: a -> b -> c -> a"}},
		{"a service that calls itself", []Node{{Name: "a", Calls: []Call{To("a", 2)}}}, []string{"calls form a cycle: a -> a"}},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			_, err := Build(tt.nodes)
			if err == nil {
				t.Fatal("no error")
			}
			if d := cmp.Diff(tt.want, strings.Split(err.Error(), "\n")); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
	var ce *CycleError
	_, err := Build([]Node{{Name: "a", Calls: []Call{To("a", 2)}}})
	if !errors.As(err, &ce) || len(ce.Path) != 2 {
		t.Errorf("%v is not a CycleError with a path", err)
	}
}

// genGraph draws a DAG: calls go to later services only, in shuffled input order.
func genGraph(maxNodes int) *rapid.Generator[[]Node] {
	return rapid.Custom(func(t *rapid.T) []Node {
		n := rapid.IntRange(1, maxNodes).Draw(t, "nodes")
		nodes := make([]Node, n)
		for i := range nodes {
			nodes[i].Name = fmt.Sprintf("n%d", i)
			nodes[i].Parallel = rapid.Bool().Draw(t, "parallel")
			for k := rapid.IntRange(0, min(3, n-1-i)).Draw(t, "calls"); k > 0; k-- {
				c := Call{To: fmt.Sprintf("n%d", rapid.IntRange(i+1, n-1).Draw(t, "to")), FanOut: rapid.Int64Range(0, 3).Draw(t, "fanout")}
				for l := rapid.IntRange(0, 2).Draw(t, "layers"); l > 0; l-- {
					c.Layers = append(c.Layers, Layer{Attempts: rapid.SampledFrom([]int64{0, 1, 2, 3, 1 << 20}).Draw(t, "attempts")})
				}
				nodes[i].Calls = append(nodes[i].Calls, c)
			}
		}
		return rapid.Permutation(nodes).Draw(t, "order")
	})
}

// TestWorstAgainstPathEnumeration: the dumb way walks every path from every
// root with big integers.
func TestWorstAgainstPathEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := genGraph(8).Draw(t, "graph")
		g, err := Build(nodes)
		if err != nil {
			t.Fatal(err)
		}
		byName := map[string]Node{}
		called := map[string]bool{}
		for _, n := range nodes {
			byName[n.Name] = n
			for _, c := range n.Calls {
				called[c.To] = true
			}
		}
		sum := map[string]*big.Int{}
		best := map[string]*big.Int{}
		for _, n := range nodes {
			if called[n.Name] {
				continue
			}
			perRoot := map[string]*big.Int{}
			var walk func(name string, product *big.Int)
			walk = func(name string, product *big.Int) {
				if perRoot[name] == nil {
					perRoot[name] = new(big.Int)
				}
				perRoot[name].Add(perRoot[name], product)
				if best[name] == nil || best[name].Cmp(product) < 0 {
					best[name] = product
				}
				for _, c := range byName[name].Calls {
					p := new(big.Int).Mul(product, big.NewInt(max(1, c.FanOut)))
					for _, l := range c.Layers {
						p.Mul(p, big.NewInt(max(1, l.Attempts)))
					}
					walk(c.To, p)
				}
			}
			walk(n.Name, big.NewInt(1))
			for name, v := range perRoot {
				if sum[name] == nil || sum[name].Cmp(v) < 0 {
					sum[name] = v
				}
			}
		}
		w := g.Worst()
		for i, n := range w.Nodes {
			if n.Attempts.Big().Cmp(sum[n.Name]) != 0 {
				t.Fatalf("%s: %v, want %v", n.Name, n.Attempts, sum[n.Name])
			}
			if len(g.Roots()) == 1 && n.PathAttempts.Big().Cmp(best[n.Name]) != 0 {
				t.Fatalf("%s: worst path %v, want %v", n.Name, n.PathAttempts, best[n.Name])
			}
			path := w.Path(i)
			if path[0] != n.Root || path[len(path)-1] != n.Name {
				t.Fatalf("%s from %s: path %v", n.Name, n.Root, path)
			}
			product := NewCount(1)
			for _, e := range w.pathEdges(i) {
				product = product.Mul(g.edges[e].factor)
			}
			if product.Cmp(n.PathAttempts) != 0 {
				t.Fatalf("%s: product along %v is %v, not %v", n.Name, path, product, n.PathAttempts)
			}
			if w.Nodes[w.Top].Attempts.Cmp(n.Attempts) < 0 {
				t.Fatalf("top %v is below %v", w.Nodes[w.Top], n)
			}
		}
	})
}

// TestCycleFound: adding one edge backwards along a path always gives a cycle
// whose every step is a call of the graph.
func TestCycleFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := genGraph(8).Draw(t, "graph")
		g, err := Build(nodes)
		if err != nil {
			t.Fatal(err)
		}
		w := g.Worst()
		path := w.Path(rapid.IntRange(0, len(nodes)-1).Draw(t, "end"))
		calls := map[[2]string]bool{}
		for i := range nodes {
			if nodes[i].Name == path[len(path)-1] {
				nodes[i].Calls = append(nodes[i].Calls, To(path[0], 2))
			}
			for _, c := range nodes[i].Calls {
				calls[[2]string{nodes[i].Name, c.To}] = true
			}
		}
		_, err = Build(nodes)
		var ce *CycleError
		if !errors.As(err, &ce) {
			t.Fatalf("no cycle found: %v", err)
		}
		if ce.Path[0] != ce.Path[len(ce.Path)-1] {
			t.Fatalf("not closed: %v", ce.Path)
		}
		for i := 1; i < len(ce.Path); i++ {
			if !calls[[2]string{ce.Path[i-1], ce.Path[i]}] {
				t.Fatalf("%v: no call %s -> %s", ce.Path, ce.Path[i-1], ce.Path[i])
			}
		}
	})
}

// wide returns a layered graph with the given number of edges and one root.
func wide(edges int) []Node {
	const width, out = 1000, 10
	nodes := []Node{{Name: "root"}}
	for i := 0; i < width; i++ {
		nodes[0].Calls = append(nodes[0].Calls, To(fmt.Sprintf("l0-%d", i), 2))
	}
	edges -= width
	for layer := 0; edges > 0; layer++ {
		for i := 0; i < width && edges > 0; i++ {
			n := Node{Name: fmt.Sprintf("l%d-%d", layer, i)}
			for k := 0; k < out && edges > 0; k++ {
				n.Calls = append(n.Calls, To(fmt.Sprintf("l%d-%d", layer+1, (i*7+k*131)%width), int64(1+k%3)))
				edges--
			}
			nodes = append(nodes, n)
		}
	}
	return nodes
}

func BenchmarkWorst(b *testing.B) {
	for _, bb := range []struct {
		name  string
		nodes []Node
		edges int
	}{
		{"layers", wide(100_000), 100_000},
		{"chain of 1", chain(repeat(1, 100_000)...), 100_000},
		{"chain of 3", chain(repeat(3, 100_000)...), 100_000},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			var building time.Duration
			for b.Loop() {
				start := time.Now()
				g, err := Build(bb.nodes)
				if err != nil {
					b.Fatal(err)
				}
				building += time.Since(start)
				g.Worst()
			}
			b.ReportMetric(building.Seconds()*1e3/float64(b.N), "ms/build")
			b.ReportMetric(float64(bb.edges)*float64(b.N)/b.Elapsed().Seconds(), "edges/s")
			b.ReportMetric(b.Elapsed().Seconds()*1e3/float64(b.N), "ms/graph")
		})
	}
}
