package retrytree

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/relplan/relplan/deadline"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if got == want {
		return
	}
	if !(math.Abs(got-want) <= tolerance*math.Max(1, math.Abs(want))) {
		t.Errorf("%s: %.12g, want %.12g", what, got, want)
	}
}

// TestAttempts is A4 and A5 and the ends of the range.
func TestAttempts(t *testing.T) {
	for _, tt := range []struct {
		p           float64
		n           int64
		want, fails float64
	}{
		{0.5, 4, 1.875, 0.0625}, {0.1, 3, 1.11, 0.001}, {0.3, 3, 1.39, 0.027}, {0.9, 3, 2.71, 0.729}, {1, 3, 3, 1},
		{0, 3, 1, 0}, {0.5, 1, 1, 0.5}, {1, 1_000_000_000, 1e9, 1}, {1 - 1e-12, 1000, 1000, 1}, {0.5, 1000, 2, 0},
	} {
		near(t, fmt.Sprintf("Attempts(%v, %d)", tt.p, tt.n), Attempts(tt.p, NewCount(tt.n)), tt.want, 1e-9)
		near(t, fmt.Sprintf("FailureAfter(%v, %d)", tt.p, tt.n), FailureAfter(tt.p, NewCount(tt.n)), tt.fails, 1e-8)
	}
	if got := Attempts(1, UnboundedCount()); !math.IsInf(got, 1) {
		t.Errorf("unbounded attempts at a total outage: %v", got)
	}
	near(t, "unbounded at 0.5", Attempts(0.5, UnboundedCount()), 2, 1e-12)
	if FailureAfter(0.5, UnboundedCount()) != 0 || FailureAfter(0.5, Count{}) != 1 {
		t.Error("FailureAfter at the ends")
	}
	// The sum, term by term, over the switch from Horner to the closed form.
	for _, p := range []float64{0.001, 0.3, 0.9, 0.999999} {
		for _, n := range []int64{1, 2, 63, 64, 65, 66, 500} {
			sum, term := 0.0, 1.0
			for range n {
				sum += term
				term *= p
			}
			near(t, fmt.Sprintf("sum at %v, %d", p, n), Attempts(p, NewCount(n)), sum, 1e-12)
		}
	}
}

func leafFails(p float64, attempts ...int64) []Node {
	nodes := chain(attempts...)
	return append(nodes, Node{Name: fmt.Sprintf("s%d", len(attempts)), Failure: p})
}

func expect(t testing.TB, nodes []Node, o ExpectOptions) *Expected {
	t.Helper()
	g := mustBuild(t, nodes)
	e, err := g.Expect(g.Roots()[0], o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestExpectClosedForms(t *testing.T) {
	// A6: only the leaf fails, n2 = 3 at the leaf edge, n1 = 3 above.
	e := expect(t, leafFails(0.3, 3, 3), ExpectOptions{})
	near(t, "A6 leaf", e.Nodes[2].Executions, 1.42854331, 1e-9)
	near(t, "A6 leaf = A(p, n1*n2)", e.Nodes[2].Executions, Attempts(0.3, NewCount(9)), 1e-12)
	near(t, "A6 mid", e.Nodes[1].Executions, 1.027729, 1e-9)
	near(t, "A6 success", e.Success, 0.999980317, 1e-9)
	if e.Method != Exact || e.States != 1 {
		t.Errorf("method %v in %d states", e.Method, e.States)
	}
	// The tree checkout-3x2x2 in both models.
	for _, tt := range []struct{ p, leaf, hops float64 }{
		{0.01, 1.010101, 1.030403}, {0.1, 1.111111, 0}, {0.5, 1.999512, 3.9375}, {0.9, 7.175705, 0}, {1, 12, 12},
	} {
		e := expect(t, leafFails(tt.p, 3, 2, 2), ExpectOptions{})
		near(t, fmt.Sprintf("leaf model at %v", tt.p), e.Nodes[3].Executions, tt.leaf, 5e-7)
		if tt.hops == 0 {
			continue
		}
		nodes := chain(3, 2, 2)
		for i := range nodes {
			nodes[i].Failure = tt.p
		}
		nodes = append(nodes, Node{Name: "s3", Failure: tt.p})
		e = expect(t, nodes, ExpectOptions{PerHop: true})
		near(t, fmt.Sprintf("hop model at %v", tt.p), e.Nodes[3].Executions, tt.hops, 5e-7)
	}
	// Layers on one edge collapse to their product too.
	e = expect(t, []Node{{Name: "a", Calls: []Call{{To: "b", Layers: []Layer{{Attempts: 3}, {Attempts: 3}}}}}, {Name: "b", Failure: 0.3}}, ExpectOptions{})
	near(t, "two layers", e.Nodes[1].Executions, Attempts(0.3, NewCount(9)), 1e-12)
	// A10: a request that waits for all of its leaves.
	near(t, "A10", AnyOf(0.01, 100), 0.633967658726770, 1e-9)
	near(t, "A10", AnyOf(1e-4, 2000), 0.181277, 1e-5)
	e = expect(t, []Node{{Name: "a", Parallel: true, Calls: []Call{{To: "leaf", FanOut: 100}}}, {Name: "leaf", Failure: 0.01}}, ExpectOptions{})
	near(t, "A10 as a graph", 1-e.Success, 0.633967658726770, 1e-9)
	near(t, "A10 copies", e.Nodes[1].Executions, 100, 1e-12)
	// A11: M calls of one service that sheds half of them at random.
	for m, want := range map[int64]float64{1: 0.5, 2: 0.25, 3: 0.125, 4: 0.0625} {
		near(t, "A11", AllOf(0.5, m), want, 1e-12)
		nodes := []Node{{Name: "a", Calls: []Call{{To: "shed", FanOut: m}}}, {Name: "shed", Failure: 0.5}}
		near(t, "A11 as a graph", expect(t, nodes, ExpectOptions{}).Success, want, 1e-12)
	}
	// A11: consistent shedding is a common cause, and keeps one half.
	nodes := []Node{{Name: "a", Calls: []Call{{To: "shed", FanOut: 4}}}, {Name: "shed", Domain: "priority"}}
	e = expect(t, nodes, ExpectOptions{Domains: []Domain{{Name: "priority", Outage: 0.5, Out: 1}}})
	near(t, "A11 consistent", e.Success, 0.5, 1e-12)
	// D17: one hedge to an independent replica.
	_, late := Hedged(func(time.Duration) float64 { return 0.01 }, 0, 2, time.Second)
	near(t, "D17", AnyOf(late, 100), 0.00995033, 1e-6)
	// Work: twice the load on a service that costs 3, once on the root.
	e = expect(t, []Node{{Name: "a", Cost: 1, Calls: []Call{To("b", 2)}}, {Name: "b", Cost: 3, Failure: 1}}, ExpectOptions{})
	near(t, "work", e.Work, 7, 1e-12)
	near(t, "first work", e.FirstWork, 4, 1e-12)
}

func TestExpectBudget(t *testing.T) {
	nodes := []Node{{Name: "a", Calls: []Call{{To: "b", Layers: []Layer{{Attempts: 4, Budget: &Budget{Ratio: 0.1}}}}}}, {Name: "b", Failure: 1}}
	e := expect(t, nodes, ExpectOptions{})
	near(t, "attempts under a 10% budget", e.Nodes[1].Executions, 1.1, 1e-12)
	nodes[0].Calls[0].Layers[0].Budget = &Budget{Kind: PerSuccess, Ratio: 0.1}
	nodes[1].Failure = 0.5
	e = expect(t, nodes, ExpectOptions{})
	near(t, "B2 in a graph", e.Nodes[1].Executions, 1/(1-0.1*0.5), 1e-12)
	near(t, "success is attempts*(1-q)", e.Success, 0.5/(1-0.1*0.5), 1e-12)
	nodes[0].Calls[0].Layers[0] = Layer{Attempts: 3, Hedge: &Hedge{}}
	nodes[1].Failure = 0
	near(t, "hedging without delay sends every copy", expect(t, nodes, ExpectOptions{}).Nodes[1].Executions, 3, 1e-12)
	nodes[0].Calls[0].Layers[0].Hedge = &Hedge{Delay: 10 * time.Millisecond, Slow: 0.05}
	near(t, "hedging after the 95th percentile", expect(t, nodes, ExpectOptions{}).Nodes[1].Executions, 1.0525, 1e-12)
}

// simulate runs one request after the other, drawing every failure.
type simulation struct {
	g       *Graph
	domains map[string]*Domain
	down    map[string]bool
	r       *rand.Rand
	exec    []float64
	calls   []float64
	tries   []float64
}

func (s *simulation) execute(u int32) bool {
	s.exec[u]++
	g := s.g
	ok := true
	seen := map[int32]bool{}
	for j := g.first[u]; j < g.first[u+1]; j++ {
		take := j
		if grp := g.edges[j].group; grp > 0 {
			if seen[grp] {
				continue
			}
			seen[grp] = true
			x := s.r.Float64()
			for _, m := range g.members(u, j) {
				if take = m.edge; x < m.share {
					break
				}
				x -= m.share
			}
		}
		for range g.callOf(take).copies() {
			if !ok && !g.nodes[u].Parallel {
				break
			}
			s.calls[take]++
			ok = s.layers(take, 0) && ok
		}
	}
	n := &g.nodes[u]
	p := n.Failure
	if n.Domain != "" && s.down[n.Domain] {
		p = s.domains[n.Domain].Out
	}
	return s.r.Float64() >= p && ok
}

func (s *simulation) layers(j int32, layer int) bool {
	c := s.g.callOf(j)
	if layer == len(c.Layers) {
		s.tries[j]++
		return s.execute(s.g.edges[j].to) && s.r.Float64() >= c.Failure
	}
	l := c.Layers[layer]
	for k := int64(1); ; k++ {
		if s.layers(j, layer+1) {
			return true
		}
		if k >= l.Attempts {
			return false
		}
		if l.Waits != nil {
			low, high := l.Waits.Wait(k)
			s.pass((low + high) / 2)
		}
	}
}

// pass moves the domains with a clock.
func (s *simulation) pass(d time.Duration) {
	for name, dom := range s.domains {
		if dom.MeanOutage > 0 {
			s.down[name] = s.r.Float64() < dom.move(s.down[name], true, d.Seconds())
		}
	}
}

// TestExpectAgainstSimulation compares every edge and node with a drawn run.
func TestExpectAgainstSimulation(t *testing.T) {
	ms := time.Millisecond
	wait := deadline.Backoff{Base: 100 * ms, Factor: 2}
	tests := []struct {
		reason  string
		nodes   []Node
		domains []Domain
		approx  bool
	}{
		{"serial early abort", []Node{{Name: "a", Calls: []Call{To("b", 2), To("c", 3)}}, {Name: "b", Failure: 0.4}, {Name: "c", Failure: 0.3}}, nil, false},
		{"parallel issues all", []Node{{Name: "a", Parallel: true, Calls: []Call{To("b", 2), To("c", 3)}}, {Name: "b", Failure: 0.4}, {Name: "c", Failure: 0.3}}, nil, false},
		{"failures travel up", []Node{{Name: "a", Calls: []Call{To("b", 3)}}, {Name: "b", Failure: 0.1, Calls: []Call{To("c", 2), To("d", 2)}},
			{Name: "c", Failure: 0.3, Calls: []Call{To("d", 2)}}, {Name: "d", Failure: 0.2}}, nil, false},
		{"lost answers cost work", []Node{{Name: "a", Calls: []Call{{To: "b", Failure: 0.2, Layers: []Layer{{Attempts: 3}, {Attempts: 2}}}}}, {Name: "b", Failure: 0.3}}, nil, false},
		{"weighted alternatives", []Node{{Name: "a", Calls: []Call{{To: "new", Choice: "c", Weight: 1, Layers: []Layer{{Attempts: 3}}}, To("x", 2), {To: "old", Choice: "c", Weight: 3, Layers: []Layer{{Attempts: 2}}}}},
			{Name: "new", Failure: 0.5}, {Name: "old", Failure: 0.1}, {Name: "x", Failure: 0.2}}, nil, false},
		{"fan-out, serial and parallel", []Node{{Name: "a", Calls: []Call{{To: "b", FanOut: 3, Layers: []Layer{{Attempts: 2}}}}}, {Name: "b", Failure: 0.2, Parallel: true, Calls: []Call{{To: "c", FanOut: 2, Layers: []Layer{{Attempts: 2}}}}}, {Name: "c", Failure: 0.2}}, nil, false},
		{"a shared database of common cause", []Node{{Name: "a", Calls: []Call{To("b", 2), To("c", 2)}}, {Name: "b", Calls: []Call{To("db", 3)}}, {Name: "c", Calls: []Call{To("db", 2)}}, {Name: "db", Failure: 0.1, Domain: "db"}},
			[]Domain{{Name: "db", Outage: 0.2, Out: 0.9}}, false},
		{"two domains", []Node{{Name: "a", Calls: []Call{To("b", 2), To("c", 3)}}, {Name: "b", Failure: 0.1, Domain: "zone"}, {Name: "c", Failure: 0.2, Domain: "disk", Calls: []Call{To("d", 2)}}, {Name: "d", Domain: "zone"}},
			[]Domain{{Name: "zone", Outage: 0.3, Out: 1}, {Name: "disk", Outage: 0.1, Out: 0.7}}, false},
		{"outages shorter than the backoff", []Node{{Name: "a", Calls: []Call{{To: "b", Layers: []Layer{{Attempts: 4, Waits: wait}}}}}, {Name: "b", Failure: 0.05, Domain: "z"}},
			[]Domain{{Name: "z", Outage: 0.3, Out: 0.95, MeanOutage: 150 * ms}}, false},
		{"a hidden state through two layers of calls", []Node{{Name: "a", Calls: []Call{{To: "b", Layers: []Layer{{Attempts: 2, Waits: wait}}}, To("x", 2)}},
			{Name: "b", Failure: 0.1, Calls: []Call{{To: "c", Layers: []Layer{{Attempts: 3, Waits: deadline.Backoff{Base: 50 * ms, Jitter: deadline.FullJitter}}}}, To("x", 1)}},
			{Name: "c", Failure: 0.1, Domain: "z"}, {Name: "x", Failure: 0.1, Domain: "y"}},
			[]Domain{{Name: "z", Outage: 0.3, Out: 1, MeanOutage: 200 * ms}, {Name: "y", Outage: 0.2, Out: 0.9, MeanOutage: time.Second}}, false},
		{"hidden and fixed together, serial fan-out", []Node{{Name: "a", Calls: []Call{{To: "b", FanOut: 2, Layers: []Layer{{Attempts: 3, Waits: wait}}}}}, {Name: "b", Domain: "f", Calls: []Call{{To: "c", Layers: []Layer{{Attempts: 2, Waits: wait}}}}}, {Name: "c", Domain: "z", Failure: 0.2}},
			[]Domain{{Name: "f", Outage: 0.1, Out: 0.5}, {Name: "z", Outage: 0.4, Out: 1, MeanOutage: 300 * ms}}, false},
	}
	const runs = 200_000
	for seed, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			g := mustBuild(t, tt.nodes)
			e, err := g.Expect("a", ExpectOptions{Domains: tt.domains})
			if err != nil {
				t.Fatal(err)
			}
			s := &simulation{g: g, domains: map[string]*Domain{}, r: rand.New(rand.NewPCG(7, uint64(seed))),
				exec: make([]float64, len(g.nodes)), calls: make([]float64, len(g.edges)), tries: make([]float64, len(g.edges))}
			for i := range tt.domains {
				s.domains[tt.domains[i].Name] = &tt.domains[i]
			}
			succeeded := 0.0
			root, _ := g.index.find("a")
			for range runs {
				s.down = map[string]bool{}
				for _, d := range tt.domains {
					s.down[d.Name] = s.r.Float64() < d.Outage
				}
				if s.execute(root) {
					succeeded++
				}
			}
			const tolerance = 0.01
			near(t, "success", e.Success, succeeded/runs, tolerance)
			for i, n := range e.Nodes {
				near(t, "executions of "+g.nodes[i].Name, n.Executions, s.exec[i]/runs, tolerance)
			}
			for j, x := range e.Edges {
				near(t, "calls "+g.edgeName(int32(j)), x.Calls, s.calls[j]/runs, tolerance)
				near(t, "attempts "+g.edgeName(int32(j)), x.Attempts, s.tries[j]/runs, tolerance)
			}
			if e.Method != Exact {
				t.Errorf("method %v, want exact", e.Method)
			}
		})
	}
}

// TestMarkovLimits: an outage that outlasts the request is a common cause; one
// that is forgotten at every wait is independent at its mean.
func TestMarkovLimits(t *testing.T) {
	nodes := []Node{{Name: "a", Calls: []Call{{To: "b", Layers: []Layer{{Attempts: 4, Waits: deadline.Backoff{Base: time.Second}}}}}}, {Name: "b", Failure: 0.1, Domain: "z"}}
	at := func(mean time.Duration) *Expected {
		return expect(t, nodes, ExpectOptions{Domains: []Domain{{Name: "z", Outage: 0.2, Out: 0.9, MeanOutage: mean}}})
	}
	fixed, long, short := at(0), at(1e6*time.Hour), at(time.Microsecond)
	near(t, "long outage", long.Nodes[1].Executions, fixed.Nodes[1].Executions, 1e-6)
	near(t, "long outage, success", long.Success, fixed.Success, 1e-6)
	q := 0.2*0.9 + 0.8*0.1
	near(t, "short outage", short.Nodes[1].Executions, Attempts(q, NewCount(4)), 1e-9)
	near(t, "short outage, success", short.Success, 1-math.Pow(q, 4), 1e-9)
	if !(fixed.Success < at(time.Second).Success && at(time.Second).Success < short.Success) {
		t.Error("backoff does not help more the shorter the outage is")
	}
}

// TestMarkovBudget: with an outage that is forgotten at every wait the hidden
// state agrees with the closed form, and a played bucket with a hidden state
// agrees with the balance.
func TestMarkovBudget(t *testing.T) {
	const q = 0.2*0.9 + 0.8*0.1
	wait := deadline.Backoff{Base: time.Second}
	for _, b := range []*Budget{{Ratio: 0.1}, {Kind: PerSuccess, Ratio: 0.1}, {Kind: OfActive, Ratio: 0.1}, {Ratio: 5}} {
		nodes := []Node{{Name: "a", Calls: []Call{{To: "b", Layers: []Layer{{Attempts: 4, Waits: wait, Budget: b}}}}}, {Name: "b", Failure: 0.1, Domain: "z"}}
		e := expect(t, nodes, ExpectOptions{Domains: []Domain{{Name: "z", Outage: 0.2, Out: 0.9, MeanOutage: time.Microsecond}}})
		attempts, failure := LongRun(q, NewCount(4), b)
		near(t, fmt.Sprintf("%v: attempts", b.Kind), e.Nodes[1].Executions, attempts, 1e-9)
		near(t, fmt.Sprintf("%v: success", b.Kind), e.Success, 1-failure, 1e-9)
		if e.Method != Approximate || len(e.Notes) != 1 {
			t.Errorf("method %v, notes %q", e.Method, e.Notes)
		}
	}
	d := Domain{Name: "z", Outage: 0.3, Out: 1, MeanOutage: 2 * time.Second}
	b := &Budget{Ratio: 0.2}
	nodes := []Node{{Name: "a", Calls: []Call{{To: "b", Layers: []Layer{{Attempts: 4, Waits: wait, Budget: b}}}}}, {Name: "b", Failure: 0.05, Domain: "z"}}
	e := expect(t, nodes, ExpectOptions{Domains: []Domain{d}})
	// Clients in states of their own share one bucket, as a fleet would.
	tokens := must[*RatioTokens](t)(NewRatioTokens(PerFirstTry, 0.2, 10))
	r := rand.New(rand.NewPCG(5, 6))
	down := false
	p := Play(tokens, 400_000, 4, 0, func(_, attempt int64) Outcome {
		if attempt == 1 {
			down = r.Float64() < d.Outage
		} else {
			down = r.Float64() < d.move(down, true, 1)
		}
		if down || r.Float64() < 0.05 {
			return Failed
		}
		return Succeeded
	})
	near(t, "attempts, played", float64(p.Attempts)/float64(p.Calls), e.Nodes[1].Executions, 0.005)
	near(t, "success, played", float64(p.Succeeded)/float64(p.Calls), e.Success, 0.01)
}

// TestExpectBounded: beyond twelve domains the likeliest combinations are
// weighed and the rest is a bound that holds.
func TestExpectBounded(t *testing.T) {
	var nodes []Node
	var domains []Domain
	root := Node{Name: "a"}
	const s = 14
	for i := range s {
		name := fmt.Sprintf("d%d", i)
		root.Calls = append(root.Calls, To(name, 3))
		nodes = append(nodes, Node{Name: name, Failure: 0.1, Domain: name})
		domains = append(domains, Domain{Name: name, Outage: 0.02, Out: 1})
	}
	nodes = append([]Node{root}, nodes...)
	exact := expect(t, nodes, ExpectOptions{Domains: domains, MaxStates: 1 << s})
	if exact.Method != Exact || exact.States != 1<<s {
		t.Fatalf("method %v in %d states", exact.Method, exact.States)
	}
	few := expect(t, nodes, ExpectOptions{Domains: domains, MaxStates: 100})
	if few.Method != Bounded || few.States != 100 || few.Left <= 0 || len(few.Notes) != 1 {
		t.Fatalf("method %v in %d states, left %v, notes %q", few.Method, few.States, few.Left, few.Notes)
	}
	if few.Success > exact.Success || few.Success+few.Left < exact.Success {
		t.Errorf("success %v + %v does not bound %v", few.Success, few.Left, exact.Success)
	}
	for i := range few.Nodes {
		lo := few.Nodes[i].Executions
		if lo > exact.Nodes[i].Executions+1e-12 || lo+3*few.Left < exact.Nodes[i].Executions {
			t.Errorf("node %d: %v + 3*%v does not bound %v", i, lo, few.Left, exact.Nodes[i].Executions)
		}
	}
	if def := expect(t, nodes, ExpectOptions{Domains: domains}); def.Method != Bounded || def.States != 4096 {
		t.Errorf("default: %v in %d states", def.Method, def.States)
	}
}

func TestExpectErrors(t *testing.T) {
	g := mustBuild(t, []Node{{Name: "a", Domain: "x"}})
	for _, tt := range []struct {
		reason, root string
		domains      []Domain
		want         string
	}{
		{"unknown root", "b", nil, `service "b" is not in the graph`},
		{"unknown domain", "a", nil, `node "a" is in the domain "x", which is not described`},
		{"bad domain", "a", []Domain{{Name: "x", Outage: 2}}, `domain "x": expected`},
		{"twice", "a", []Domain{{Name: "x"}, {Name: "x"}}, `domain "x" is described twice`},
	} {
		if _, err := g.Expect(tt.root, ExpectOptions{Domains: tt.domains}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.reason, err)
		}
	}
	var ds []Domain
	nodes := []Node{{Name: "a"}}
	for i := range 4 {
		name := fmt.Sprint(i)
		ds = append(ds, Domain{Name: name, Outage: 0.1, MeanOutage: 1})
		nodes[0].Calls = append(nodes[0].Calls, To(name, 1))
		nodes = append(nodes, Node{Name: name, Domain: name})
	}
	if _, err := mustBuild(t, nodes).Expect("a", ExpectOptions{Domains: ds}); err == nil {
		t.Error("no error for four Markov-modulated domains")
	}
}

// TestExpectUnbounded: an unbounded policy has a mean while anything succeeds.
func TestExpectUnbounded(t *testing.T) {
	nodes := []Node{{Name: "a", Calls: []Call{{To: "b", Layers: []Layer{{Unbounded: true}}}}}, {Name: "b", Failure: 0.5}}
	near(t, "executions", expect(t, nodes, ExpectOptions{}).Nodes[1].Executions, 2, 1e-12)
	nodes[1].Failure = 1
	if got := expect(t, nodes, ExpectOptions{}).Nodes[1].Executions; !math.IsInf(got, 1) {
		t.Errorf("total outage: %v executions", got)
	}
	nodes[1].Domain = "z"
	e := expect(t, nodes, ExpectOptions{Domains: []Domain{{Name: "z", Outage: 0.5, Out: 1, MeanOutage: time.Hour}}})
	if !math.IsInf(e.Nodes[1].Executions, 1) {
		t.Errorf("total outage with hidden state: %v executions", e.Nodes[1].Executions)
	}
}
