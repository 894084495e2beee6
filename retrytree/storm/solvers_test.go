package storm

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/relplan/relplan/retrytree/storm/budget"
	"github.com/relplan/relplan/retrytree/storm/des"
	"github.com/relplan/relplan/retrytree/storm/fluid"
	"github.com/relplan/relplan/retrytree/storm/fold"
	"github.com/relplan/relplan/retrytree/storm/markov"
)

// Solver against solver on random systems. The systems are drawn from fixed
// seeds, so that the tests are the same each time; RELPLAN_LONG=1 draws more.

func draws(short, long int) int {
	if os.Getenv("RELPLAN_LONG") != "" {
		return long
	}
	return short
}

// random draws one service with work of at least 100 services in a timeout.
func random(rng *rand.Rand) *System {
	servers := 1 + rng.IntN(6)
	mean := time.Duration((1 + 9*rng.Float64()) * 1e6)
	timeout := time.Duration(float64(mean) / float64(servers) * (100 + 300*rng.Float64()))
	s := &System{
		Nodes: []Node{{Name: "db", Servers: servers, Service: des.Dist{Kind: des.Exponential, Mean: mean}}},
		Edges: []Edge{{Name: "web->db", From: -1, To: 0, Attempts: 2 + rng.IntN(4), Timeout: timeout}},
	}
	if rng.IntN(3) == 0 {
		s.Edges[0].Budget = budget.Policy{Kind: budget.FirstTry, Ratio: .1 + .6*rng.Float64(), Max: 100}
	}
	if rng.IntN(3) == 0 {
		s.Edges[0].Backoff = des.Backoff{Base: timeout / 4, Jitter: des.FullJitter}
	}
	s.Sources = []Source{{Edge: 0, Rate: 1}}
	return s
}

func curveOf(t *testing.T, s *System) (view, *fold.Curve) {
	t.Helper()
	v, ok := s.look(0, s.flow())
	if !ok {
		t.Fatal("no capacity")
	}
	c, err := fold.Solve(v.station, v.layers...)
	if err != nil {
		t.Fatal(err)
	}
	return v, c
}

// Fixed point against simulation: 12 % below the stable load the loaded start
// recovers, 12 % above it stays down, and the empty start is healthy at 80 %
// of the fold with the predicted rate of attempts within 2 %.
func TestFixedPointAgainstSimulation(t *testing.T) {
	ctx := context.Background()
	for i := range draws(10, 60) {
		rng := rand.New(rand.NewPCG(uint64(i), 1))
		s := random(rng)
		_, c := curveOf(t, s)
		if c.Monostable || c.Stable > .8*c.Fold {
			continue
		}
		for _, row := range []struct {
			load float64
			want des.Fate
		}{{.88 * c.Stable, des.Recovered}, {1.12 * c.Stable, des.Collapsed}} {
			s.Sources[0].Rate = row.load
			_, loaded, err := s.TwoSided(ctx, 0, SimOptions{Seed: uint64(i), Tail: 600 * s.Edges[0].Timeout})
			if err != nil {
				t.Fatal(err)
			}
			if loaded != row.want {
				t.Errorf("system %d (n %d, budget %v): loaded start at %.2f of stable load: %v, want %v", i, s.Edges[0].Attempts, s.Edges[0].Budget.Ratio, row.load/c.Stable, loaded, row.want)
			}
		}
		s.Sources[0].Rate = .8 * c.Fold
		cfg := s.Experiment(SimOptions{})
		cfg.Warmup, cfg.Horizon, cfg.Classify.Stop = s.settle(), 60*s.Edges[0].Timeout, false
		r, err := des.Run(cfg, uint64(i))
		if err != nil {
			t.Fatal(err)
		}
		got := float64(r.Edges[0].Attempts) / float64(r.Edges[0].Calls)
		want := c.At(s.Sources[0].Rate)[0]
		if math.Abs(got-want.Attempts/want.Load) > .02 {
			t.Errorf("system %d: %.4f attempts per first try at 0.8 of the fold, fixed point %.4f", i, got, want.Attempts/want.Load)
		}
	}
}

// Fluid against simulation: the shortest outage that tips, within 20 % of the
// median over seeds; time to recover within 30 % or one timeout.
func TestFluidAgainstSimulation(t *testing.T) {
	ctx := context.Background()
	for i := range draws(6, 30) {
		rng := rand.New(rand.NewPCG(uint64(i), 2))
		s := random(rng)
		_, c := curveOf(t, s)
		if c.Monostable {
			continue
		}
		s.Sources[0].Rate = c.Stable + (.2+.5*rng.Float64())*(c.Fold-c.Stable)
		v, _ := s.look(0, s.flow())
		m := v.fluid(s)
		th, err := m.MinDuration(fluid.Outage, 0, 30*v.timeout)
		if err != nil || math.IsInf(th.At, 1) {
			t.Fatalf("system %d: %+v %v", i, th, err)
		}
		sim, err := s.TippingDuration(ctx, Trigger{Kind: des.Outage}, th.At/3, 3*th.At, SimOptions{Seed: 1, Runs: 11, Steps: 7, Tail: 200 * s.Edges[0].Timeout})
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(sim.P50-th.At) > .2*th.At {
			t.Errorf("system %d: fluid %.4g s, simulated median %.4g s [%.4g, %.4g]", i, th.At, sim.P50, sim.Low, sim.High)
		}
		// Below the stable load every outage ends: compare the time it takes.
		s.Sources[0].Rate = .7 * c.Stable
		v, _ = s.look(0, s.flow())
		m = v.fluid(s)
		d := 6 * v.timeout
		out, err := m.Run(fluid.Trigger{Kind: fluid.Outage, Duration: d})
		if err != nil || out.Tipped {
			t.Fatalf("system %d: %+v %v", i, out, err)
		}
		verdict, err := s.Simulate(ctx, Trigger{Kind: des.Outage, For: duration(d)}, SimOptions{Seed: 1, Runs: 8})
		if err != nil {
			t.Fatal(err)
		}
		if verdict.Tipped > 0 || math.Abs(verdict.Recovery-out.Recovery) > math.Max(.3*out.Recovery, v.timeout) {
			t.Errorf("system %d: back in %.4g s by the fluid model, %.4g s simulated (%d tipped)", i, out.Recovery, verdict.Recovery, verdict.Tipped)
		}
	}
}

// Markov chain against simulation on small systems: mean number in the server
// of the healthy state within 15 %, time until a backlog of one timeout within
// a factor of 3; and against the first passage of M/M/c within a factor of 3.
func TestMarkovAgainstSimulation(t *testing.T) {
	for i := range draws(5, 25) {
		rng := rand.New(rand.NewPCG(uint64(i), 3))
		mu, tau, n := 10.0, 1.5+rng.Float64(), 2+rng.IntN(3)
		s := &System{
			Nodes:   []Node{{Name: "db", Servers: 1, Service: des.Dist{Kind: des.Exponential, Mean: time.Duration(1e9 / mu)}, Queue: 60}},
			Edges:   []Edge{{Name: "web->db", From: -1, To: 0, Attempts: n, Timeout: duration(tau)}},
			Sources: []Source{{Edge: 0, Rate: (.62 + .12*rng.Float64()) * mu}},
		}
		v, c := curveOf(t, s)
		p, ok := v.markov(s)
		if !ok {
			t.Fatal("chain too large")
		}
		level := int(math.Round(mu * tau))
		et, err := markov.Escape(p, level)
		if err != nil {
			t.Fatal(err)
		}
		if l, ok := c.Escape(s.Sources[0].Rate); ok && math.Abs(l-math.Log(et)) > math.Log(3) {
			t.Errorf("system %d: first passage %.4g s, chain %.4g s", i, math.Exp(l), et)
		}
		// Simulated: stop when the backlog reaches the level.
		cfg := des.Config{Nodes: s.Nodes, Edges: s.Edges, Sources: s.Sources, Horizon: duration(60 * et), Bucket: duration(tau), MaxBacklog: level - 1}
		cfg.Nodes = append([]Node(nil), cfg.Nodes...)
		rs, err := des.Replicate(context.Background(), cfg, des.Options{Seed: 1, Runs: 60})
		if err != nil {
			t.Fatal(err)
		}
		var x []float64
		for _, r := range rs {
			x = append(x, r.Ended.Seconds())
		}
		mean, lo, hi := des.MeanInterval(x, .95)
		if math.Abs(math.Log(mean/et)) > math.Log(3) {
			t.Errorf("system %d: %.4g s until a backlog of %d simulated [%.4g, %.4g], chain %.4g s", i, mean, level, lo, hi, et)
		}
	}
	// Without further attempts the chain is exact: M/M/1/K.
	p := markov.Params{Load: 8, Rate: 10, Threads: 1, Timeout: 1e6, Attempts: 1, Queue: 41, Orbit: 1, DropWhenFull: true}
	r, err := markov.Solve(p)
	if err != nil {
		t.Fatal(err)
	}
	cfg := des.Config{Nodes: []Node{{Servers: 1, Service: des.Dist{Kind: des.Exponential, Mean: 100 * time.Millisecond}, Queue: 39}},
		Edges: []Edge{{From: -1, To: 0, Attempts: 1}}, Sources: []Source{{Edge: 0, Rate: 8}}, Horizon: 5000 * time.Second, Warmup: 100 * time.Second}
	rs, err := des.Replicate(context.Background(), cfg, des.Options{Seed: 1, Runs: 8})
	if err != nil {
		t.Fatal(err)
	}
	var x []float64
	for _, q := range rs { // Little: N = X R
		x = append(x, float64(q.Nodes[0].Sojourn)/1e9/4900)
	}
	if mean, lo, hi := des.MeanInterval(x, .9973); r.Queue < lo || r.Queue > hi {
		t.Errorf("mean number in the server: chain %.4g, simulated %.4g [%.4g, %.4g]", r.Queue, mean, lo, hi)
	}
}

// Chain solver against simulation: random chains of three to five services
// below their fold, attempts per call within 3 %; and the collapsed start
// stays down 20 % above the stable load, comes back 20 % below.
func TestChainAgainstSimulation(t *testing.T) {
	ctx := context.Background()
	for i := range draws(5, 30) {
		rng := rand.New(rand.NewPCG(uint64(i), 4))
		n := 3 + rng.IntN(3)
		s := &System{Sources: []Source{{Edge: 0, Rate: 1}}}
		var links []fold.Link
		slowest := rng.IntN(n)
		for k := range n {
			mean := 1e6
			if k == slowest {
				mean = 5e6
			}
			// The timeouts grow towards the client, as they should.
			timeout := time.Duration(float64(n-k) * 600e6)
			attempts := 1 + rng.IntN(2)
			if k == slowest {
				attempts = 2
			}
			s.Nodes = append(s.Nodes, Node{Name: string(rune('a' + k)), Servers: 1, Service: des.Dist{Kind: des.Exponential, Mean: time.Duration(mean)}})
			s.Edges = append(s.Edges, Edge{Name: string(rune('a' + k)), From: k - 1, To: k, Attempts: attempts, Timeout: timeout})
			links = append(links, fold.Link{Station: fold.Station{Servers: 1, Rate: 1e9 / mean, Timeout: timeout.Seconds()}, Layer: fold.Layer{Attempts: attempts}})
		}
		c, err := fold.NewChain(links...)
		if err != nil {
			t.Fatal(err)
		}
		stable, knee := c.Folds()
		// The backlog belongs where the worst case is nearest to capacity.
		weakest, worst, least := 0, 1.0, math.Inf(1)
		for k, l := range links {
			worst *= float64(l.Layer.Attempts)
			if r := l.Station.Rate / worst; r < least {
				weakest, least = k, r
			}
		}
		s.Sources[0].Rate = .9 * knee
		st, _ := c.Solve(.9*knee, false)
		cfg := s.Experiment(SimOptions{})
		cfg.Warmup, cfg.Horizon, cfg.Classify.Stop = 10*time.Second, 100*time.Second, false
		r, err := des.Run(cfg, 1)
		if err != nil {
			t.Fatal(err)
		}
		for k := range n {
			got, want := float64(r.Edges[k].Attempts)/90, st[k].Attempts
			if math.Abs(got-want) > .03*want {
				t.Errorf("chain %d link %d: %.4g attempts/s simulated, %.4g by the chain", i, k, got, want)
			}
		}
		for _, row := range []struct {
			load float64
			want des.Fate
		}{{.8 * stable, des.Recovered}, {1.25 * stable, des.Collapsed}} {
			s.Sources[0].Rate = row.load
			_, loaded, err := s.TwoSided(ctx, weakest, SimOptions{Seed: 1, Tail: 1500 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			if loaded != row.want {
				t.Errorf("chain %d (backlog at %d, attempts %v): loaded start at %.2f of the stable load %.4g: %v, want %v", i, weakest, attemptsOf(s), row.load/stable, stable, loaded, row.want)
			}
		}
	}
}

func attemptsOf(s *System) (n []int) {
	for _, e := range s.Edges {
		n = append(n, e.Attempts)
	}
	return n
}

// Shrinking keeps the fluid answers and the stable load in proportion.
func TestShrink(t *testing.T) {
	for i := range 20 {
		rng := rand.New(rand.NewPCG(uint64(i), 5))
		s := random(rng)
		_, a := curveOf(t, s)
		_, b := curveOf(t, s.Shrink(4))
		if math.Abs(b.Stable*4-a.Stable) > .01*a.Stable {
			t.Errorf("system %d: stable load %.4g at a quarter, %.4g whole", i, b.Stable*4, a.Stable)
		}
	}
}

// A tipping bisection of 10 steps for 100 seeds with runs of up to 400 s at
// 1,000 rps.
func BenchmarkTippingBisection(b *testing.B) {
	s := &System{
		Nodes:   []Node{{Name: "db", Servers: 1, Service: des.Dist{Kind: des.Exponential, Mean: 935 * time.Microsecond}}},
		Edges:   []Edge{{Name: "web->db", From: -1, To: 0, Attempts: 2, Timeout: time.Second}},
		Sources: []Source{{Edge: 0, Rate: 1000}},
	}
	for b.Loop() {
		th, err := s.TippingDuration(context.Background(), Trigger{Kind: des.Outage}, .25, 4, SimOptions{Seed: 1, Runs: 100, Steps: 10, Tail: 390 * time.Second, MaxEvents: 1e12})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(th.P50, "p50_s")
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/bisection")
}

// The analytic answers of one edge.
func BenchmarkAnalyticEdge(b *testing.B) {
	s := random(rand.New(rand.NewPCG(1, 1)))
	s.Sources[0].Rate = 10
	f := s.flow()
	for b.Loop() {
		v, _ := s.look(0, f)
		if _, err := fold.Solve(v.station, v.layers...); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/1e3/float64(b.N), "ms/edge")
}
