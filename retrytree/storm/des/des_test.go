package des

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/relplan/relplan/retrytree/storm/budget"
	"github.com/relplan/relplan/retrytree/storm/queue"
	"pgregory.net/rapid"
)

const ms = time.Millisecond

// within checks a simulated mean against a closed form by the interval of
// independent replications, three standard errors and a little.
func within(t *testing.T, name string, x []float64, want float64) {
	t.Helper()
	mean, lo, hi := MeanInterval(x, .9973)
	if want < lo-.002*want || want > hi+.002*want {
		t.Errorf("%s: simulated %.5g [%.5g, %.5g], closed form %.5g", name, mean, lo, hi, want)
	}
}

// Section D by simulation: response times and blocking of M/M/c, M/M/c/K,
// M/D/1, M/G/1, dropping of late jobs, and hedging of fan-outs.
func TestSectionD(t *testing.T) {
	for _, row := range []struct {
		name             string
		lam, mu          float64
		c, room          int
		kind             DistKind
		response, reject float64
	}{
		{"D1 M/M/1", 80, 100, 1, 0, Exponential, must(queue.MMc(80, 100, 1)).Response, 0},
		{"D2 M/M/10", 80, 10, 10, 0, Exponential, must(queue.MMc(80, 10, 10)).Response, 0},
		{"D5 M/M/1/10", 90, 100, 1, 9, Exponential, .0464660067, .05081373},
		{"D6 M/M/1/5", 200, 100, 1, 4, Exponential, must(queue.MMcK(200, 100, 1, 5)).Response, .50793651},
		{"D10 M/D/1", 80, 100, 1, 0, Constant, .03, 0},
		{"M/U/1", 80, 100, 1, 0, Uniform, must(queue.MG1(80, 100, 1./3)).Response, 0},
	} {
		cfg := single(row.lam, row.mu, 0, 1)
		cfg.Nodes[0].Servers, cfg.Nodes[0].Queue = row.c, row.room
		cfg.Nodes[0].Service.Kind = row.kind
		cfg.Horizon, cfg.Warmup = 420*second, 20*second
		var resp, rej []float64
		for _, r := range runs(t, cfg, 12) {
			n := r.Nodes[0]
			resp = append(resp, float64(n.Sojourn)/float64(n.Served)/1e9)
			rej = append(rej, float64(n.Rejected)/float64(n.Arrivals))
		}
		within(t, row.name+" response", resp, row.response)
		if row.reject > 0 {
			within(t, row.name+" blocking", rej, row.reject)
		}
	}
	// D11: the job at the head is dropped when it has waited longer than tau.
	for _, row := range []struct{ rho, tau, loss float64 }{{.9, 10, .047163}, {2, 5, .500844}, {1.2, 10, .183955}} {
		cfg := single(100*row.rho, 100, time.Duration(row.tau*1e7), 1)
		cfg.Nodes[0].DropExpired = true
		cfg.Horizon, cfg.Warmup = 420*second, 20*second
		var x []float64
		for _, r := range runs(t, cfg, 12) {
			x = append(x, float64(r.Nodes[0].Dropped)/float64(r.Nodes[0].Arrivals))
		}
		within(t, fmt.Sprintf("D11 rho %g", row.rho), x, row.loss)
	}
}

func must(r queue.Result, err error) queue.Result {
	if err != nil {
		panic(err)
	}
	return r
}

// B1 and B2 by simulation of a server that fails by itself.
func TestBudgetsOfFailingServer(t *testing.T) {
	for _, row := range []struct {
		kind       budget.Kind
		fail, want float64
	}{{budget.FirstTry, .5, 1.1}, {budget.FirstTry, .9, 1.1}, {budget.Success, .2, 1.087}, {budget.Success, .5, 1.053}, {budget.Success, .9, 1.010}} {
		cfg := single(500, 10000, 0, 50)
		cfg.Nodes[0].FailProb = row.fail
		cfg.Edges[0].Budget = budget.Policy{Kind: row.kind, Ratio: .1}
		cfg.Horizon, cfg.Warmup = 220*second, 20*second
		r := run(t, cfg, 1)
		got := float64(r.Edges[0].Attempts) / float64(r.Edges[0].Calls)
		if math.Abs(got-row.want) > .01*row.want {
			t.Errorf("%v at p %g: %.4f attempts, want %.4f", row.kind, row.fail, got, row.want)
		}
	}
	// Brooker: 100 clients with a bucket each have 100 buckets.
	cfg := single(20000, 1e6, 0, 4)
	cfg.Nodes[0].FailProb = .5
	cfg.Edges[0].Budget, cfg.Edges[0].Clients = budget.Policy{Kind: budget.FirstTry, Ratio: .1, Max: 4}, 100
	cfg.Horizon = second
	r := run(t, cfg, 1)
	if got := float64(r.Edges[0].Attempts) / float64(r.Edges[0].Calls); math.Abs(got-1.121) > .01*1.121 {
		t.Errorf("B1 100 clients: %.4f, want 1.121", got)
	}
}

// Two layers of attempts around a leaf that fails by itself (A6): one loop of
// n1 n2 attempts.
func TestNestedAttempts(t *testing.T) {
	cfg := Config{
		Nodes:   []Node{{Name: "mid"}, {Name: "leaf", Service: Dist{Kind: Exponential, Mean: ms}, FailProb: .3}},
		Edges:   []Edge{{Name: "a", From: -1, To: 0, Attempts: 3}, {Name: "b", From: 0, To: 1, Attempts: 3}},
		Sources: []Source{{Edge: 0, Rate: 5000}}, Horizon: 100 * second,
	}
	r := run(t, cfg, 1)
	calls := float64(r.Edges[0].Calls)
	for _, row := range []struct {
		name      string
		got, want float64
		tol       float64
	}{{"leaf attempts", float64(r.Edges[1].Attempts) / calls, 1.42854331, .01}, {"mid calls", float64(r.Edges[0].Attempts) / calls, 1.027729, .01},
		{"success", float64(r.Edges[0].OK) / calls, .999980317, 1e-4}} {
		if math.Abs(row.got-row.want) > row.tol*row.want {
			t.Errorf("A6 %s: %.6f, want %.6f", row.name, row.got, row.want)
		}
	}
}

// A11: a service that sheds half at random serves a request that needs M calls
// with 0.5^M (the network spreads the calls out, so that they are independent); shedding by priority keeps about half of the requests.
func TestPriorityShedding(t *testing.T) {
	for _, prio := range []bool{false, true} {
		cfg := Config{
			Nodes:   []Node{{Name: "front", Parallel: true}, {Name: "back", Servers: 1, Service: Dist{Kind: Exponential, Mean: ms}, Queue: 10}},
			Edges:   []Edge{{From: -1, To: 0, Attempts: 1}, {From: 0, To: 1, Attempts: 1, Calls: 4, Network: Dist{Kind: Exponential, Mean: 50 * ms}}},
			Sources: []Source{{Edge: 0, Rate: 500}}, Horizon: 320 * second, Warmup: 120 * second,
		}
		if prio {
			cfg.Nodes[1].Queue = 0
			cfg.Nodes[1].Shed = Shed{Wait: 5 * ms, Period: 500 * ms}
		}
		r := run(t, cfg, 1)
		good := float64(r.Edges[0].OK) / float64(r.Edges[0].Calls)
		if prio && good < .35 {
			t.Errorf("priority shedding: %.3f of requests succeed, want most of 0.5", good)
		}
		if !prio && math.Abs(good-.0625) > .02 {
			t.Errorf("random shedding: %.3f of requests succeed", good)
		}
	}
}

// D17 and D16: a hedge to independent capacity hides slow answers; at a loaded
// queue it adds load.
func TestHedging(t *testing.T) {
	base := Config{
		Nodes: []Node{{Name: "leaf", Service: Dist{Kind: Empirical, Samples: samples(99, 10*ms, 1, second)}}},
		Edges: []Edge{{From: -1, To: 0, Attempts: 1}}, Sources: []Source{{Edge: 0, Rate: 1000}}, Horizon: 100 * second, Latency: true,
	}
	plain := run(t, base, 1)
	hedged := base
	hedged.Edges = []Edge{{From: -1, To: 0, Attempts: 2, Hedge: 20 * ms}}
	h := run(t, hedged, 1)
	if q := plain.Latency.Quantile(.995); q < 900*ms {
		t.Errorf("plain p99.5 %v", q)
	}
	if q := h.Latency.Quantile(.995); q > 40*ms {
		t.Errorf("hedged p99.5 %v", q)
	}
	extra := float64(h.Edges[0].Attempts)/float64(h.Edges[0].Calls) - 1
	if math.Abs(extra-.01) > .003 || h.Edges[0].Hedges == 0 {
		t.Errorf("hedging costs %.4f more attempts, want 0.01", extra)
	}
}

func samples(n int, a time.Duration, m int, b time.Duration) []time.Duration {
	var out []time.Duration
	for range n {
		out = append(out, a)
	}
	for range m {
		out = append(out, b)
	}
	return out
}

// Cancellation: in the queue it takes the work away, in service only preempt.
func TestCancellation(t *testing.T) {
	wasted := map[Cancel]float64{}
	for _, c := range []Cancel{CancelNone, CancelDequeue, CancelPreempt} {
		cfg := single(150, 100, 200*ms, 2)
		cfg.Edges[0].Cancel = c
		cfg.Horizon = 100 * second
		r := run(t, cfg, 1)
		wasted[c] = float64(r.Nodes[0].Wasted) / float64(r.Nodes[0].Served+1)
		if c == CancelPreempt && r.Nodes[0].Wasted != 0 {
			t.Errorf("preempt: %d executions ended for nobody", r.Nodes[0].Wasted)
		}
	}
	// What leaves the queue just before its timeout still expires in service.
	if wasted[CancelNone] < .9 || wasted[CancelDequeue] > .75 {
		t.Errorf("wasted shares %v", wasted)
	}
	// Preempting stops the calls below, too.
	cfg := Config{
		Nodes:   []Node{{Name: "a", Servers: 1, Service: Dist{Mean: ms}, Hold: true}, {Name: "b", Servers: 1, Service: Dist{Mean: 50 * ms}}},
		Edges:   []Edge{{From: -1, To: 0, Attempts: 1, Timeout: 20 * ms, Cancel: CancelPreempt}, {From: 0, To: 1, Attempts: 3, Timeout: 30 * ms, Cancel: CancelPreempt}},
		Sources: []Source{{Edge: 0, Rate: 10}}, Horizon: 20 * second,
	}
	r := run(t, cfg, 1)
	if r.Nodes[1].Served != 0 || r.Edges[1].Attempts > r.Edges[0].Attempts {
		t.Errorf("below a preempted call %d were served, %d attempts for %d", r.Nodes[1].Served, r.Edges[1].Attempts, r.Edges[0].Attempts)
	}
}

// The deadline travels: no attempt starts after it, and a child's is earlier.
func TestDeadlinePropagation(t *testing.T) {
	for _, propagate := range []bool{false, true} {
		cfg := Config{
			Nodes:   []Node{{Name: "a", Service: Dist{Mean: 10 * ms}}, {Name: "b", Service: Dist{Mean: second}}},
			Edges:   []Edge{{From: -1, To: 0, Attempts: 1, Deadline: 300 * ms, Propagate: true}, {From: 0, To: 1, Attempts: 9, Timeout: 100 * ms, Propagate: propagate}},
			Sources: []Source{{Edge: 0, Rate: 10}}, Horizon: 100 * second, Warmup: 10 * second,
		}
		r := run(t, cfg, 1)
		per := float64(r.Edges[1].Attempts) / float64(r.Edges[1].Calls)
		want := 9.0
		if propagate { // at 10, 110 and 210 ms
			want = 3
		}
		if math.Abs(per-want) > .05 {
			t.Errorf("propagate %v: %.2f attempts, want %g", propagate, per, want)
		}
	}
}

// A breaker stops the attempts of a dead service; they come back when it does.
func TestBreaker(t *testing.T) {
	cfg := single(100, 1000, 100*ms, 1)
	cfg.Edges[0].Breaker = Breaker{Window: 20, Ratio: .5, Open: second}
	cfg.Triggers = []Trigger{{Kind: Refuse, At: 10 * second, For: 20 * second}}
	cfg.Horizon, cfg.Bucket = 60*second, second
	r := run(t, cfg, 1)
	if r.Edges[0].BreakerOpen < 1500 || r.Nodes[0].Rejected > 100 {
		t.Errorf("breaker let %d through to a dead service, stopped %d", r.Nodes[0].Rejected, r.Edges[0].BreakerOpen)
	}
	if _, good, _ := lastRates(r, 10); math.Abs(good-100) > 15 {
		t.Errorf("after the outage goodput is %.1f/s", good)
	}
}

// SRE throttling: what reaches an overloaded service settles near k times what
// it accepts (B12).
func TestThrottle(t *testing.T) {
	cfg := single(1000, 100, 0, 1)
	cfg.Nodes[0].Queue = 1
	cfg.Edges[0].Throttle = 2
	cfg.Horizon, cfg.Warmup = 500*second, 200*second
	r := run(t, cfg, 1)
	sent := float64(r.Nodes[0].Arrivals) / 300
	served := float64(r.Nodes[0].Served) / 300
	if math.Abs(sent-2*served) > .05*2*served {
		t.Errorf("%.1f/s reach the service, %.1f/s are accepted", sent, served)
	}
}

// Closed clients: N = X (R + Z), the law of response times.
func TestClosedClients(t *testing.T) {
	cfg := single(0, 100, 0, 1)
	cfg.Latency = true
	cfg.Sources = []Source{{Edge: 0, Clients: 50, Think: Dist{Kind: Exponential, Mean: second}}}
	cfg.Horizon, cfg.Warmup = 500*second, 20*second
	r := run(t, cfg, 1)
	x := float64(r.Edges[0].OK) / 480
	if got := x * (r.Latency.Mean().Seconds() + 1); math.Abs(got-50) > .5 {
		t.Errorf("throughput times response and think time: %.2f, want 50", got)
	}
}

// Adaptive limits keep an overloaded queue short and the server busy.
func TestLimits(t *testing.T) {
	for _, k := range []LimitKind{AIMD, Vegas, Gradient} {
		cfg := single(300, 100, 0, 1)
		cfg.Nodes[0].Limit = Limit{Kind: k, Slow: 100 * ms}
		cfg.Horizon, cfg.Warmup = 220*second, 20*second
		r := run(t, cfg, 1)
		busy := float64(r.Nodes[0].Served) / 200 / 100
		mean := time.Duration(r.Nodes[0].Sojourn / r.Nodes[0].Served)
		if busy < .9 || mean > 400*ms {
			t.Errorf("limit %d: utilization %.2f, mean response %v", k, busy, mean)
		}
	}
	cfg := single(150, 100, 0, 1)
	cfg.Nodes[0].CoDel = CoDel{Target: 20 * ms, Interval: 100 * ms}
	cfg.Horizon, cfg.Warmup = 400*second, 200*second
	r := run(t, cfg, 1)
	if mean := time.Duration(r.Nodes[0].Sojourn / r.Nodes[0].Served); mean > second || r.Nodes[0].Dropped == 0 {
		t.Errorf("controlled delay: mean response %v, %d dropped", mean, r.Nodes[0].Dropped)
	}
}

// A server held during downstream calls has the capacity of both times.
func TestHold(t *testing.T) {
	cfg := Config{
		Nodes:   []Node{{Name: "a", Servers: 2, Service: Dist{Mean: 10 * ms}, Hold: true}, {Name: "b", Service: Dist{Mean: 30 * ms}}},
		Edges:   []Edge{{From: -1, To: 0, Attempts: 1}, {From: 0, To: 1, Attempts: 1}},
		Sources: []Source{{Edge: 0, Rate: 200}}, Horizon: 100 * second,
	}
	r := run(t, cfg, 1)
	if got := float64(r.Nodes[0].Served) / 100; math.Abs(got-50) > 1 {
		t.Errorf("two servers of 10 + 30 ms serve %.1f/s, want 50", got)
	}
}

// Parallel calls: the slowest decides, all are made.
func TestParallel(t *testing.T) {
	cfg := Config{
		Nodes:   []Node{{Name: "a", Parallel: true}, {Name: "b", Service: Dist{Mean: 10 * ms}}, {Name: "c", Service: Dist{Mean: 30 * ms}, FailProb: .2}},
		Edges:   []Edge{{From: -1, To: 0, Attempts: 1}, {From: 0, To: 2, Attempts: 1, Calls: 2}, {From: 0, To: 1, Attempts: 1, Calls: 3}},
		Sources: []Source{{Edge: 0, Rate: 1000}}, Horizon: 100 * second, Latency: true,
	}
	r := run(t, cfg, 1)
	if ok := float64(r.Edges[0].OK) / float64(r.Edges[0].Calls); math.Abs(ok-.64) > .01 {
		t.Errorf("success %.3f, want .64", ok)
	}
	if r.Latency.Mean() != 30*ms || float64(r.Edges[2].Calls) < 2.99*float64(r.Edges[0].Calls) {
		t.Errorf("latency %v, %d calls for %d", r.Latency.Mean(), r.Edges[2].Calls, r.Edges[0].Calls)
	}
}

// A cold cache multiplies the calls behind it by ten (T16).
func TestColdCache(t *testing.T) {
	cfg := Config{
		Nodes:   []Node{{Name: "a"}, {Name: "db", Service: Dist{Mean: ms}}},
		Edges:   []Edge{{From: -1, To: 0, Attempts: 1}, {From: 0, To: 1, Attempts: 1, Prob: .1}},
		Sources: []Source{{Edge: 0, Rate: 1000}}, Horizon: 300 * second, Bucket: 10 * second,
		Triggers: []Trigger{{Kind: ColdCache, Target: 1, At: 100 * second, For: 100 * second, Size: 1}},
	}
	r := run(t, cfg, 1)
	if got := float64(r.Nodes[1].Arrivals) / 1000; math.Abs(got-(20+100)) > 2 {
		t.Errorf("%.1f thousand calls, want 120", got)
	}
}

// Cutting the capacity stretches the work under way exactly: a constant
// service of 10 s with half the speed from second 4 to 8 takes 12 s.
func TestSpeedChange(t *testing.T) {
	cfg := Config{
		Nodes: []Node{{Name: "a", Servers: 1, Service: Dist{Mean: 10 * second}}}, Edges: []Edge{{From: -1, To: 0, Attempts: 1}},
		Sources: []Source{{Edge: 0, Rate: 1, Regular: true}}, Horizon: 13500 * ms, Latency: true,
		Triggers: []Trigger{{Kind: Capacity, At: 5 * second, For: 4 * second, Size: .5}},
	}
	for _, row := range []struct {
		kind TriggerKind
		want time.Duration
	}{{Capacity, 12 * second}, {Outage, 14 * second}} {
		cfg.Triggers[0].Kind = row.kind
		cfg.Horizon = second + row.want + 100*ms
		r := run(t, cfg, 1)
		if r.Latency.N != 1 || time.Duration(r.Latency.Sum) != row.want {
			t.Errorf("%v: %d served in %v, want one in %v", row.kind, r.Latency.N, time.Duration(r.Latency.Sum), row.want)
		}
	}
}

// Results do not depend on the number of workers or on what ran before.
func TestReproducible(t *testing.T) {
	cfg := dag(500)
	cfg.Horizon, cfg.Bucket = 4*second, second
	one, err := Replicate(context.Background(), cfg, Options{Seed: 3, Runs: 6, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	four, err := Replicate(context.Background(), cfg, Options{Seed: 3, Runs: 6, Workers: 4})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(one, four) {
		t.Error("one worker and four differ")
	}
	if reflect.DeepEqual(one[0].Series, one[1].Series) {
		t.Error("two seeds give the same run")
	}
	if r := run(t, cfg, 4); !reflect.DeepEqual(r, one[1]) {
		t.Error("a fresh simulator gives another run")
	}
}

// The loop allocates nothing once its pools have grown.
func TestNoAllocations(t *testing.T) {
	for name, cfg := range map[string]Config{"one service": single(8000, 10000, 100*ms, 3), "dag": dag(2000)} {
		cfg.Horizon = 1 << 50
		s, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		s.reset(1)
		until := int64(20e9)
		s.loop(until)
		before := s.events
		allocs := testing.AllocsPerRun(10, func() { until += 200e6; s.loop(until) })
		if allocs > 0 || s.events == before {
			t.Errorf("%s: %.1f allocations in %d events", name, allocs, (s.events-before)/11)
		}
	}
}

// Conservation on random systems: nothing is lost or counted twice.
func TestConservation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := randomSystem(t)
		s, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		r := s.Run(rapid.Uint64().Draw(t, "seed"))
		live := 0
		for i := range s.calls {
			live += int(s.calls[i].nlive)
		}
		for i, e := range r.Edges {
			if e.OK+e.Failed > e.Calls || e.Attempts > e.Calls*int64(cfg.Edges[i].Attempts) {
				t.Fatalf("edge %d: %+v", i, e)
			}
		}
		for i, n := range r.Nodes {
			held := int64(s.nodes[i].n - s.nodes[i].gone)
			if n.Started > n.Arrivals || n.Served > n.Started || n.Wasted > n.Served {
				t.Fatalf("node %d: %+v", i, n)
			}
			if s.nodes[i].cfg.Servers > 0 && s.nodes[i].busy > s.nodes[i].cfg.Servers {
				t.Fatalf("node %d: %d busy", i, s.nodes[i].busy)
			}
			if n.Arrivals < n.Started+n.Rejected+n.Dropped-int64(s.nodes[i].stats.Dropped) && held >= 0 {
				t.Fatalf("node %d: more left than came: %+v", i, n)
			}
			if s.nodes[i].n < 0 || s.nodes[i].inside < 0 || s.nodes[i].gone < 0 {
				t.Fatalf("node %d: n %d inside %d gone %d", i, s.nodes[i].n, s.nodes[i].inside, s.nodes[i].gone)
			}
		}
		used := len(s.atts) - len(s.freeAtt)
		inside := 0
		for i := range s.nodes {
			inside += s.nodes[i].n + s.nodes[i].busy
		}
		if used < inside-heldTwice(s) {
			t.Fatalf("%d attempts in use, %d at the nodes", used, inside)
		}
	})
}

// heldTwice counts attempts that wait for calls while they hold a server.
func heldTwice(s *Sim) (n int) {
	for i := range s.atts {
		if s.atts[i].state == stWaiting {
			n++
		}
	}
	return n
}

// randomSystem draws a tree of up to five services with all rules mixed.
func randomSystem(t *rapid.T) Config {
	n := rapid.IntRange(1, 5).Draw(t, "nodes")
	cfg := Config{Horizon: 3 * second}
	for i := range n {
		node := Node{Name: fmt.Sprint(i), Servers: rapid.IntRange(0, 3).Draw(t, "servers"), Service: Dist{Kind: Exponential, Mean: 5 * ms},
			Queue: rapid.SampledFrom([]int{-1, 0, 5, 50}).Draw(t, "queue"), Order: rapid.SampledFrom([]Order{FIFO, LIFO, AdaptiveLIFO}).Draw(t, "order"),
			Hold: rapid.Bool().Draw(t, "hold"), Parallel: rapid.Bool().Draw(t, "parallel"), FailProb: rapid.SampledFrom([]float64{0, .2}).Draw(t, "fail"),
			DropExpired: rapid.Bool().Draw(t, "drop"), Admit: rapid.Bool().Draw(t, "admit")}
		if rapid.Bool().Draw(t, "codel") {
			node.CoDel = CoDel{Target: 10 * ms}
		}
		if rapid.Bool().Draw(t, "shed") {
			node.Shed = Shed{Wait: 10 * ms}
		}
		if rapid.Bool().Draw(t, "reject") {
			node.RejectWork = ms
		}
		node.Limit.Kind = rapid.SampledFrom([]LimitKind{NoLimit, AIMD, Vegas, Gradient}).Draw(t, "limit")
		cfg.Nodes = append(cfg.Nodes, node)
		e := Edge{Name: fmt.Sprint("e", i), From: i - 1, To: i, Attempts: rapid.IntRange(1, 4).Draw(t, "attempts"),
			Timeout: rapid.SampledFrom([]time.Duration{0, 20 * ms, 80 * ms}).Draw(t, "timeout"), Deadline: rapid.SampledFrom([]time.Duration{0, 100 * ms}).Draw(t, "deadline"),
			Propagate: rapid.Bool().Draw(t, "propagate"), Cancel: rapid.SampledFrom([]Cancel{CancelNone, CancelDequeue, CancelPreempt}).Draw(t, "cancel"),
			CancelDelay: rapid.SampledFrom([]time.Duration{0, 3 * ms}).Draw(t, "cancel delay"), Calls: rapid.IntRange(1, 2).Draw(t, "calls"),
			Hedge: rapid.SampledFrom([]time.Duration{0, 10 * ms}).Draw(t, "hedge"), Clients: rapid.IntRange(1, 3).Draw(t, "clients"),
			Budget: budget.Policy{Kind: budget.Kind(rapid.IntRange(0, 7).Draw(t, "budget")), Ratio: .2, Floor: 1}}
		if i > 0 {
			e.From = rapid.IntRange(0, i-1).Draw(t, "from")
		}
		if rapid.Bool().Draw(t, "network") {
			e.Network = Dist{Kind: rapid.SampledFrom([]DistKind{Constant, Exponential}).Draw(t, "kind"), Mean: 2 * ms}
		}
		if rapid.Bool().Draw(t, "backoff") {
			e.Backoff = Backoff{Base: 5 * ms, Factor: 2, Jitter: rapid.SampledFrom([]Jitter{NoJitter, FullJitter, EqualJitter}).Draw(t, "jitter")}
		}
		if rapid.Bool().Draw(t, "breaker") {
			e.Breaker = Breaker{Window: 10, Ratio: .5, Open: 50 * ms}
		}
		if rapid.Bool().Draw(t, "throttle") {
			e.Throttle = 2
		}
		cfg.Edges = append(cfg.Edges, e)
	}
	cfg.Sources = []Source{{Edge: 0, Rate: 200}}
	cfg.Triggers = []Trigger{{Kind: rapid.SampledFrom([]TriggerKind{Outage, Capacity, Latency, Refuse, Spike, ColdCache}).Draw(t, "trigger"), Target: n - 1, At: second, For: 200 * ms, Size: .5, Delay: 10 * ms}}
	return cfg
}

func TestValidateConfig(t *testing.T) {
	good := single(1, 1, second, 1)
	for name, change := range map[string]func(*Config){
		"horizon":     func(c *Config) { c.Horizon = 0 },
		"no nodes":    func(c *Config) { c.Nodes = nil },
		"no source":   func(c *Config) { c.Sources = nil },
		"rate":        func(c *Config) { c.Sources = []Source{{Edge: 0}} },
		"source edge": func(c *Config) { c.Sources = []Source{{Edge: 3, Rate: 1}} },
		"attempts":    func(c *Config) { c.Edges = []Edge{{From: -1, To: 0}} },
		"target":      func(c *Config) { c.Edges = []Edge{{From: -1, To: 7, Attempts: 1}} },
		"trigger":     func(c *Config) { c.Triggers = []Trigger{{Kind: Outage, Target: 4}} },
		"cut":         func(c *Config) { c.Triggers = []Trigger{{Kind: Capacity, Size: 2}} },
		"hyper":       func(c *Config) { c.Nodes = []Node{{Servers: 1, Service: Dist{Kind: Hyper, Mean: 1, CV: .5}}} },
		"cycle": func(c *Config) {
			c.Nodes = append(append([]Node{}, c.Nodes...), c.Nodes[0])
			c.Edges = append(append([]Edge{}, c.Edges...), Edge{From: 0, To: 1, Attempts: 1}, Edge{From: 1, To: 0, Attempts: 1})
		},
		"wait": func(c *Config) {
			c.Edges = []Edge{{From: -1, To: 0, Attempts: 1, Backoff: Backoff{Table: [][2]time.Duration{{2, 1}}}}}
		},
	} {
		c := good
		change(&c)
		if _, err := New(c); err == nil {
			t.Errorf("%s accepted", name)
		}
	}
}

func TestStatistics(t *testing.T) {
	lo, hi := Wilson(0, 100, .95)
	if lo != 0 || math.Abs(hi-.0370) > .0005 {
		t.Errorf("Wilson(0, 100): [%g, %g]", lo, hi)
	}
	if lo, hi = Wilson(50, 100, .95); math.Abs(lo-.4038) > .0005 || math.Abs(hi-.5962) > .0005 {
		t.Errorf("Wilson(50, 100): [%g, %g]", lo, hi)
	}
	mean, lo, hi := MeanInterval([]float64{1, 2, 3, 4}, .95)
	if mean != 2.5 || math.Abs(hi-4.5543) > 1e-3 || math.Abs(lo-.4457) > 1e-3 {
		t.Errorf("mean %g [%g, %g]", mean, lo, hi)
	}
	x := make([]float64, 400)
	for i := range x {
		x[i] = 1 + 50*math.Exp(-float64(i)/10) + .1*math.Sin(float64(i))
	}
	if cut := WarmupMSER(x); cut < 20 || cut > 150 {
		t.Errorf("MSER cuts %d of 400", cut)
	}
	if m, lo, hi := BatchMeans(x[100:], 10, .95); math.Abs(m-1) > .1 || lo > m || hi < m {
		t.Errorf("batch means %g [%g, %g]", m, lo, hi)
	}
}

// A stopped context ends a run with its error.
func TestContext(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := Replicate(ctx, single(1, 1, second, 1), Options{Runs: 2}); err == nil {
		t.Error("a stopped context runs on")
	}
}
