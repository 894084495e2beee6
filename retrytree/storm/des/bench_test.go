package des

import (
	"fmt"
	"testing"
	"time"

	"github.com/relplan/relplan/retrytree/storm/budget"
)

// single is one service with mean service time 1/mu, unbounded FIFO.
func single(lam, mu float64, timeout time.Duration, attempts int) Config {
	return Config{
		Nodes:   []Node{{Name: "db", Servers: 1, Service: Dist{Kind: Exponential, Mean: time.Duration(1e9 / mu)}}},
		Edges:   []Edge{{Name: "client->db", From: -1, To: 0, Attempts: attempts, Timeout: timeout}},
		Sources: []Source{{Edge: 0, Rate: lam}},
		Horizon: 100 * time.Second,
	}
}

// dag is ten services in four layers, calls with budgets, timeouts, attempts.
func dag(rate float64) Config {
	ms := func(f float64) time.Duration { return time.Duration(f * 1e6) }
	cfg := Config{Horizon: 100 * time.Second, Sources: []Source{{Edge: 0, Rate: rate}}}
	for i := range 10 {
		cfg.Nodes = append(cfg.Nodes, Node{Name: fmt.Sprint("s", i), Servers: 4, Service: Dist{Kind: Exponential, Mean: ms(1)}})
	}
	layer := map[int]float64{0: 400, 1: 300, 2: 300, 3: 200, 4: 200, 5: 200, 6: 200, 7: 100, 8: 100, 9: 100}
	edge := func(from, to int) {
		cfg.Edges = append(cfg.Edges, Edge{Name: fmt.Sprintf("s%d->s%d", from, to), From: from, To: to, Attempts: 3,
			Timeout: ms(layer[to]), Budget: budget.Policy{Kind: budget.FirstTry, Ratio: .2}, Clients: 4})
	}
	edge(-1, 0)
	for _, e := range [][2]int{{0, 1}, {0, 2}, {1, 3}, {1, 4}, {2, 5}, {2, 6}, {3, 7}, {5, 8}, {6, 9}} {
		edge(e[0], e[1])
	}
	return cfg
}

func benchLoop(b *testing.B, cfg Config) {
	cfg.Horizon = 1 << 50
	s, err := New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	s.reset(1)
	until := int64(10e9)
	s.loop(until) // pools grow
	b.ReportAllocs()
	b.ResetTimer()
	start, stale, cpu := s.events, s.stale, cpuSeconds()
	for s.events-start < uint64(b.N) {
		until += 100e6
		s.loop(until)
	}
	n := float64(s.events - start)
	sec := b.Elapsed().Seconds()
	b.ReportMetric(n/sec/1e6, "Mevents/s")
	if used := cpuSeconds() - cpu; used > 0 {
		b.ReportMetric(n/used/1e6, "Mevents/cpu-s")
	}
	b.ReportMetric((n-float64(s.stale-stale))/sec/1e6, "Mlive/s")
	b.ReportMetric(b.Elapsed().Seconds()*1e9/n, "ns/event")
}

func BenchmarkOneService(b *testing.B) { benchLoop(b, single(8000, 10000, time.Second, 3)) }
func BenchmarkOneServiceCollapsed(b *testing.B) {
	cfg := single(8000, 10000, time.Second, 3)
	cfg.Nodes[0].Queue = 12000
	cfg.Preload = []int{12000}
	benchLoop(b, cfg)
}
func BenchmarkManyServers(b *testing.B) {
	cfg := single(8000, 100, time.Second, 3)
	cfg.Nodes[0].Servers = 100
	benchLoop(b, cfg)
}
func BenchmarkDAG10Budgets(b *testing.B) { benchLoop(b, dag(3000)) }
