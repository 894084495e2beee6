package retrytree

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Domain is a failure domain: services that fail together.
//
// Without MeanOutage the state is drawn once for a request and stays (common
// cause). With it the domain switches between the two states while a request
// waits between its attempts (Markov-modulated, Gilbert).
type Domain struct {
	// Name is what [Node].Domain refers to.
	Name string
	// Outage is the probability of being in the outage state.
	Outage float64
	// Out is the probability that an execution fails by its own fault in an
	// outage. Outside, [Node].Failure holds.
	Out float64
	// MeanOutage is the mean length of an outage; 0 means longer than any
	// request.
	MeanOutage time.Duration
}

// ExpectOptions are the knobs of [Graph.Expect].
type ExpectOptions struct {
	// Domains are the failure domains; every [Node].Domain must be among them.
	Domains []Domain
	// PerHop takes the failure of a service as the failure of an attempt as its
	// caller sees it, whatever happens below: every hop fails on its own and
	// amplification is the product of (1-p^n)/(1-p). It is the rule of thumb,
	// wrong where failures travel up the tree.
	PerHop bool
	// MaxStates bounds the combinations of common-cause domains that are
	// conditioned on; 0 means 4096, enough for twelve domains exactly.
	MaxStates int
}

// Method says how sure an expectation is.
type Method uint8

// The methods. The zero value claims nothing.
const (
	NotComputed Method = iota
	Exact              // exact under the stated assumptions
	Bounded            // some combinations of domains were left out; see Low and High
	Approximate        // parallel calls or budgets beside a Markov-modulated domain; see Notes
)

// String returns the word used in reports.
func (m Method) String() string {
	return [...]string{"not computed", "exact", "bounded", "approximate"}[m]
}

// Expected is the mean behaviour of one request from one root.
type Expected struct {
	// Root is where the request enters.
	Root string
	// Method says how sure the numbers are; States is the number of
	// combinations of domain states that were weighed.
	Method Method
	States int
	// Left is the probability of the combinations left out when Bounded.
	Left float64
	// Success is the probability that the request succeeds. When Bounded it is
	// at least that, and at most Success + Left.
	Success float64
	// Nodes and Edges hold the expectations, indexed like [Graph.Names] and
	// [Graph.Timings]. When Bounded the true value is at least that, and at
	// most value + Left * worst case.
	Nodes []ExpectedNode
	Edges []ExpectedEdge
	// Work is the sum of executions times [Node].Cost; FirstWork is what it
	// would be if nothing failed. Their ratio is the amplification of work.
	Work, FirstWork float64
	// Notes say what was assumed or left out, in words.
	Notes []string
}

// ExpectedNode is the expectation of one service.
type ExpectedNode struct {
	// Executions is the mean number of executions for one request.
	Executions float64
	// Failure is the share of executions that fail, in the mean over the
	// executions that take place; NaN when there are none.
	Failure float64
}

// ExpectedEdge is the expectation of one call.
type ExpectedEdge struct {
	// Calls is the mean number of calls for one request, retries not counted.
	Calls float64
	// Attempts is the mean number of attempts for one request.
	Attempts float64
	// PerCall is Attempts/Calls: the amplification of this call; NaN when it
	// is never made.
	PerCall float64
	// Failure is the share of calls that fail for good.
	Failure float64
}

// Expect computes the mean number of executions and attempts for one request
// that enters at root.
//
// Assumptions: executions fail independently with [Node].Failure (in an outage
// of its domain with [Domain].Out); a failed call fails its caller's execution;
// serial calls stop at the first failure; an execution fails by its own fault
// only after its calls; time limits cut nothing. Failure travels up, load
// travels down:
//
//	f(v) = 1 - (1-p(v)) * prod (1 - f(e))        f(e) = q(e)^n(e)
//	X(to) += X(from) * P(reached) * copies * sum_{k<n} q^k
//
// Common-cause domains are conditioned on: each combination of states is
// computed exactly and weighed. Markov-modulated ones are carried along as a
// hidden state, see [Domain].
func (g *Graph) Expect(root string, o ExpectOptions) (*Expected, error) {
	r, ok := g.index.find(root)
	if !ok {
		return nil, fmt.Errorf("service %q is not in the graph", root)
	}
	x, err := g.newExpectation(r, o)
	if err != nil {
		return nil, err
	}
	x.run()
	return x.finish(), nil
}

// expectation is one computation of [Graph.Expect].
type expectation struct {
	g       *Graph
	root    int32
	o       ExpectOptions
	reach   []int32
	fixed   []int   // domains of common cause that matter, as indexes into o.Domains
	moving  []int   // Markov-modulated domains that matter
	domain  []int32 // of each node, as index into o.Domains; -1: none
	out     *Expected
	failSum []float64 // executions that fail, by node
	edgeBad []float64 // calls that fail for good, by edge
	layers  [][]layerCount
}

type layerCount struct {
	n      Count
	budget *Budget
	hedge  *Hedge
}

func (g *Graph) newExpectation(root int32, o ExpectOptions) (*expectation, error) {
	if o.MaxStates <= 0 {
		o.MaxStates = 4096
	}
	x := &expectation{g: g, root: root, o: o, reach: g.reach(root, len(g.roots) == 1 && g.roots[0] == root),
		domain: make([]int32, len(g.nodes)), out: &Expected{Root: g.nodes[root].Name, Method: Exact},
		failSum: make([]float64, len(g.nodes)), edgeBad: make([]float64, len(g.edges)), layers: make([][]layerCount, len(g.edges))}
	x.out.Nodes, x.out.Edges = make([]ExpectedNode, len(g.nodes)), make([]ExpectedEdge, len(g.edges))
	var errs []error
	index := map[string]int32{"": -1}
	for i, d := range o.Domains {
		if !isProbability(d.Outage) || !isProbability(d.Out) || d.MeanOutage < 0 || d.Name == "" {
			errs = append(errs, fmt.Errorf("domain %q: expected a name, probabilities from 0 to 1 and a mean outage from 0", d.Name))
		}
		if _, dup := index[d.Name]; dup && d.Name != "" {
			errs = append(errs, fmt.Errorf("domain %q is described twice", d.Name))
		}
		index[d.Name] = int32(i)
	}
	used := make([]bool, len(o.Domains))
	for i := range g.nodes {
		d, ok := index[g.nodes[i].Domain]
		if !ok {
			errs = append(errs, fmt.Errorf("node %q is in the domain %q, which is not described", g.nodes[i].Name, g.nodes[i].Domain))
			continue
		}
		x.domain[i] = d
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	for _, u := range x.reach {
		if d := x.domain[u]; d >= 0 && !used[d] {
			used[d] = true
			switch {
			case o.Domains[d].Outage == 0 || o.Domains[d].Outage == 1 || o.Domains[d].MeanOutage == 0:
				x.fixed = append(x.fixed, int(d))
			default:
				x.moving = append(x.moving, int(d))
			}
		}
		for i := g.first[u]; i < g.first[u+1]; i++ {
			x.layers[i] = layerCounts(g.callOf(i))
		}
	}
	if len(x.moving) > maxMoving {
		return nil, fmt.Errorf("%d Markov-modulated domains on one request, expected at most %d", len(x.moving), maxMoving)
	}
	return x, nil
}

// maxMoving bounds the hidden state to 2^3 combinations.
const maxMoving = 3

// layerCounts returns the attempts of a call that start when each fails at
// once, one entry a layer, the innermost first; layers of one attempt and
// without a budget are left out.
func layerCounts(c *Call) []layerCount {
	ps := c.timing().policies
	var out []layerCount
	for i := len(c.Layers) - 1; i >= 0; i-- {
		l := layerCount{n: countOf(ps[i].Fast()), budget: c.Layers[i].Budget, hedge: c.Layers[i].Hedge}
		if v, ok := l.n.Int64(); !ok || v > 1 {
			out = append(out, l)
		}
	}
	return out
}

// run weighs all combinations of the common-cause domains.
func (x *expectation) run() {
	if len(x.moving) > 0 && x.o.PerHop {
		x.out.Notes = append(x.out.Notes, "per-hop failures know no hidden state: Markov-modulated domains were taken at their mean")
	}
	out := make([]bool, len(x.o.Domains))
	covered := 0.0
	forEachState(x.fixed, x.o, func(down []int, weight float64) {
		for i := range out {
			out[i] = false
		}
		for _, d := range down {
			out[d] = true
		}
		x.out.States++
		covered += weight
		if len(x.moving) > 0 && !x.o.PerHop {
			x.hidden(out, weight)
		} else {
			x.scalar(out, weight)
		}
	})
	if len(x.fixed) > 0 && x.out.States < 1<<min(len(x.fixed), 30) {
		x.out.Method, x.out.Left = Bounded, max(0, 1-covered)
		x.out.Notes = append(x.out.Notes, fmt.Sprintf("%d common-cause domains: the %d likeliest combinations were weighed, %.3g of the probability was left out", len(x.fixed), x.out.States, x.out.Left))
	}
}

// forEachState visits the combinations of down domains, fewest outages first,
// at most MaxStates of them, with their probability.
func forEachState(domains []int, o ExpectOptions, visit func(down []int, weight float64)) {
	left := o.MaxStates
	down := make([]int, 0, len(domains))
	var choose func(next, more int, weight float64)
	choose = func(next, more int, weight float64) {
		if left == 0 {
			return
		}
		if more == 0 {
			for _, d := range domains[next:] {
				weight *= 1 - o.Domains[d].Outage
			}
			left--
			visit(down, weight)
			return
		}
		for i := next; i <= len(domains)-more; i++ {
			d := domains[i]
			down = append(down, d)
			choose(i+1, more-1, weight*o.Domains[d].Outage)
			down = down[:len(down)-1]
			weight *= 1 - o.Domains[d].Outage
		}
	}
	for k := 0; k <= len(domains) && left > 0; k++ {
		choose(0, k, 1)
	}
}

// ownFailure is the probability that one execution of u fails by its own fault
// in the given states.
func (x *expectation) ownFailure(u int32, out []bool) float64 {
	d := x.domain[u]
	if d < 0 {
		return x.g.nodes[u].Failure
	}
	dom := &x.o.Domains[d]
	if dom.MeanOutage > 0 && x.o.PerHop && dom.Outage > 0 && dom.Outage < 1 {
		return dom.Outage*dom.Out + (1-dom.Outage)*x.g.nodes[u].Failure
	}
	if out[d] {
		return dom.Out
	}
	return x.g.nodes[u].Failure
}

// loop plays all layers of a call whose attempts fail with probability q:
// attempts per call and the probability that the call fails for good.
func loop(layers []layerCount, q float64) (attempts, failure float64) {
	attempts, failure = 1, q
	for _, l := range layers {
		if l.hedge != nil {
			a, f := l.hedge.Copies(l.n), FailureAfter(failure, l.n)
			if more, _ := LongRun(failure, l.n, l.budget); more > a {
				a = more // failures use the copies up even when answers are fast
			}
			attempts, failure = attempts*a, f
			continue
		}
		a, f := LongRun(failure, l.n, l.budget)
		attempts, failure = attempts*a, f
	}
	return attempts, failure
}

// scalar is one combination without hidden states.
func (x *expectation) scalar(out []bool, weight float64) {
	g := x.g
	fail := make([]float64, len(g.nodes)) // of one execution
	callFail := make([]float64, len(g.edges))
	perCall := make([]float64, len(g.edges))
	for i := len(x.reach) - 1; i >= 0; i-- {
		u := x.reach[i]
		for j := g.first[u]; j < g.first[u+1]; j++ {
			c := g.callOf(j)
			q := 1 - (1-c.Failure)*(1-fail[g.edges[j].to])
			if c.Failure == 0 {
				q = fail[g.edges[j].to]
			}
			perCall[j], callFail[j] = loop(x.layers[j], q)
		}
		own := x.ownFailure(u, out)
		if x.o.PerHop {
			fail[u] = own
			continue
		}
		_, logOK := x.visit(u, callFail, nil)
		fail[u] = -math.Expm1(math.Log1p(-own) + logOK)
	}
	load := make([]float64, len(g.nodes))
	load[x.root] = 1
	for _, u := range x.reach {
		n := &x.out.Nodes[u]
		n.Executions += weight * load[u]
		x.failSum[u] += weight * load[u] * fail[u]
		x.visit(u, callFail, func(j int32, calls float64) {
			if calls *= load[u]; calls == 0 {
				return // also keeps an unbounded amplification of nothing from being NaN
			}
			load[g.edges[j].to] += calls * perCall[j]
			e := &x.out.Edges[j]
			e.Calls += weight * calls
			e.Attempts += weight * calls * perCall[j]
			x.edgeBad[j] += weight * calls * callFail[j]
		})
	}
	x.out.Success += weight * (1 - fail[x.root])
}

// visit walks the calls of one execution of u in order. It reports the expected
// number of calls on every edge, and returns the probability that all succeed,
// also as a logarithm (precise for small failures).
func (x *expectation) visit(u int32, callFail []float64, calls func(j int32, n float64)) (ok, logOK float64) {
	g := x.g
	parallel := g.nodes[u].Parallel
	reached := 1.0
	var done map[int32]bool
	for j := g.first[u]; j < g.first[u+1]; j++ {
		if grp := g.edges[j].group; grp > 0 {
			if done[grp] {
				continue
			}
			if done == nil {
				done = map[int32]bool{}
			}
			done[grp] = true
		}
		pass := 0.0
		ms := g.members(u, j)
		for _, m := range ms {
			c := g.callOf(m.edge)
			f := callFail[m.edge]
			if calls != nil {
				n := float64(c.copies())
				if !parallel {
					n = Attempts(1-f, NewCount(c.copies())) // copies follow each other until one fails
				}
				w := m.share * n
				if !parallel {
					w *= reached
				}
				calls(m.edge, w)
			}
			log := float64(c.copies()) * math.Log1p(-f)
			pass += m.share * math.Exp(log)
			if len(ms) == 1 {
				logOK += log
			}
		}
		if len(ms) > 1 {
			logOK += math.Log(min(pass, 1))
		}
		reached *= pass
	}
	return reached, logOK
}

// member is one alternative of a choice with its share of the executions; a
// call outside a choice is alone with share 1.
type member struct {
	edge  int32
	share float64
}

// members returns the alternatives of the choice that edge j belongs to.
func (g *Graph) members(u, j int32) []member {
	grp := g.edges[j].group
	if grp == 0 {
		return []member{{j, 1}}
	}
	var ms []member
	total := 0.0
	for i := j; i < g.first[u+1]; i++ {
		if g.edges[i].group == grp {
			w := g.callOf(i).Weight
			total += w
			ms = append(ms, member{i, w})
		}
	}
	for i := range ms {
		if total > 0 {
			ms[i].share /= total
		} else {
			ms[i].share = 1 / float64(len(ms))
		}
	}
	return ms
}

// finish turns sums into means and adds up the work.
func (x *expectation) finish() *Expected {
	o := x.out
	for i := range o.Nodes {
		o.Nodes[i].Failure = x.failSum[i] / o.Nodes[i].Executions
		o.Work += x.g.nodes[i].Cost * zeroIfNone(o.Nodes[i].Executions)
	}
	for j := range o.Edges {
		e := &o.Edges[j]
		e.PerCall, e.Failure = e.Attempts/e.Calls, x.edgeBad[j]/e.Calls
	}
	o.FirstWork = x.firstWork()
	return o
}

func zeroIfNone(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return v
}

// firstWork is the work of one request if nothing ever fails.
func (x *expectation) firstWork() float64 {
	g := x.g
	load := make([]float64, len(g.nodes))
	load[x.root] = 1
	none := make([]float64, len(g.edges))
	sum := 0.0
	for _, u := range x.reach {
		sum += load[u] * g.nodes[u].Cost
		x.visit(u, none, func(j int32, calls float64) { load[g.edges[j].to] += load[u] * calls })
	}
	return sum
}
