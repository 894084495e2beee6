package des

import (
	"context"
	"math"
	"os"
	"testing"
	"time"

	"github.com/relplan/relplan/retrytree/storm/budget"
)

const second = time.Second

// long says that the heavier variants of the statistical tests are wanted.
func long() bool { return os.Getenv("RELPLAN_LONG") != "" }

func run(t *testing.T, cfg Config, seed uint64) *Result {
	t.Helper()
	r, err := Run(cfg, seed)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func runs(t *testing.T, cfg Config, n int) []*Result {
	t.Helper()
	rs, err := Replicate(context.Background(), cfg, Options{Seed: 1, Runs: n})
	if err != nil {
		t.Fatal(err)
	}
	return rs
}

// bronson is the system of HotOS'21 2.1 with all rates times scale.
func bronson(lam, scale float64, outage time.Duration) Config {
	cfg := single(lam*scale, 300*scale, second, 2)
	cfg.Horizon = 300 * second
	cfg.Bucket = second
	cfg.Triggers = []Trigger{{Kind: Outage, At: 20 * second, For: outage}}
	return cfg
}

func lastRates(r *Result, k int) (offered, good, attempts float64) {
	for _, p := range r.Series[len(r.Series)-k:] {
		offered += float64(p.Offered)
		good += float64(p.Good)
		attempts += float64(p.Attempts)
	}
	n := float64(k)
	return offered / n, good / n, attempts / n
}

func TestT1Bronson(t *testing.T) {
	for _, row := range []struct {
		lam  float64
		want Fate
	}{{148, Recovered}, {152, Collapsed}, {280, Collapsed}} {
		cfg := bronson(row.lam, 1, 10*second)
		cfg.Horizon = 4000 * second
		cfg.Classify.Stop = true
		for seed := uint64(1); seed <= 3; seed++ {
			if r := run(t, cfg, seed); r.Fate != row.want {
				t.Errorf("T1 lam %g seed %d: %v at %v, want %v", row.lam, seed, r.Fate, r.Ended, row.want)
			}
		}
	}
	r := run(t, bronson(280, 1, 10*second), 1)
	off, good, att := lastRates(r, 100)
	if math.Abs(att-560) > 3*math.Sqrt(560*2/100.) || good > 0.5 || math.Abs(att/off-2) > .001 {
		t.Errorf("T1 at 280: %.1f attempts/s (want 560), goodput %.2f, amplification %.4f", att, good, att/off)
	}
	// Load drops below 150: it recovers. Load drops to 160: it does not.
	for _, row := range []struct {
		to   float64
		want Fate
	}{{140, Recovered}, {165, Collapsed}} {
		cfg := bronson(280, 1, 10*second)
		cfg.Horizon = 6000 * second
		cfg.Triggers = append(cfg.Triggers, Trigger{Kind: Spike, At: 60 * second, Size: row.to / 280})
		cfg.Classify.Stop = true
		if r := run(t, cfg, 1); r.Fate != row.want {
			t.Errorf("T1 280 then %g: %v, want %v", row.to, r.Fate, row.want)
		}
	}
	// Fewer than 20 attempts a second beyond the first: recovers.
	for _, row := range []struct {
		rate float64
		want Fate
	}{{12, Recovered}, {28, Collapsed}} {
		cfg := bronson(280, 1, 10*second)
		cfg.Horizon = 3000 * second
		cfg.Edges[0].Budget = budget.Policy{Kind: budget.Rate, Floor: row.rate, Max: 1}
		cfg.Classify.Stop = true
		if r := run(t, cfg, 1); r.Fate != row.want {
			t.Errorf("T1 with %g/s granted: %v, want %v", row.rate, r.Fate, row.want)
		}
	}
}

func TestT2Budget(t *testing.T) {
	for _, row := range []struct {
		r    float64
		want Fate
		ampl float64
	}{{.07, Recovered, 0}, {.08, Collapsed, 1.08}, {.10, Collapsed, 1.10}, {.20, Collapsed, 1.20}} {
		cfg := bronson(280, 4, 10*second)
		cfg.Edges[0].Budget = budget.Policy{Kind: budget.FirstTry, Ratio: row.r, Max: 10}
		cfg.Horizon = 600 * second
		if row.want == Recovered { // 28000/(3000-2996) s: slow near the limit
			cfg.Horizon = 20000 * second
			cfg.Classify.Stop = true
		}
		r := run(t, cfg, 1)
		if r.Fate != row.want {
			t.Errorf("T2 r %g: %v, want %v (ended %v)", row.r, r.Fate, row.want, r.Ended)
		}
		if row.ampl == 0 {
			continue
		}
		off, good, att := lastRates(r, 200)
		if math.Abs(att/off-row.ampl) > .002 || good > .01*off {
			t.Errorf("T2 r %g: amplification %.4f (want %.2f), goodput %.2f", row.r, att/off, row.ampl, good)
		}
	}
}

func TestT3RecoveryTime(t *testing.T) {
	for _, row := range []struct {
		lam, r      float64
		paper, want float64 // closed form, published simulation; seconds
	}{{1000, -1, 16, 17}, {1200, -1, 33, 35}, {1400, -1, 118, 119}, {2800, 0, 125, 126}, {2800, .02, 177, 177}, {2800, .05, 438, 424}} {
		cfg := bronson(row.lam/10, 10, 10*second)
		cfg.Horizon = 1200 * second
		cfg.Classify = Classify{Stop: true, Window: 5 * second}
		if row.r >= 0 {
			cfg.Edges[0].Budget = budget.Policy{Kind: budget.FirstTry, Ratio: row.r, Max: 1, Initial: -1}
		}
		rs := runs(t, cfg, 6)
		var x []float64
		for _, r := range rs {
			if r.Fate != Recovered {
				t.Fatalf("T3 %v: %v", row, r.Fate)
			}
			x = append(x, r.Recovery.Seconds())
		}
		mean, lo, hi := MeanInterval(x, .997)
		tol := math.Max(.12*row.want, 3)
		if math.Abs(mean-row.want) > tol && (row.want < lo || row.want > hi) {
			t.Errorf("T3 lam %g r %g: recovery %.1f s [%.1f, %.1f], published %g (closed form %g)", row.lam, row.r, mean, lo, hi, row.want, row.paper)
		}
	}
}

func TestT4StochasticThreshold(t *testing.T) {
	// mu 300, deterministic service: chance smears the threshold of 1.005 s.
	for _, row := range []struct{ d, want float64 }{{.90, .05}, {.95, .25}, {1.00, .80}, {1.05, 1}} {
		cfg := bronson(280, 1, time.Duration(row.d*1e9))
		cfg.Nodes[0].Service.Kind = Constant
		cfg.Classify.Stop = true
		rs := runs(t, cfg, 100)
		k, und := Tipped(rs)
		lo, hi := Wilson(k, len(rs), .997)
		// The published values come from few runs; allow for theirs too.
		if row.want < lo-.1 || row.want > hi+.1 || und > 0 {
			t.Errorf("T4 outage %g s: %d of %d tip [%.2f, %.2f], %d undecided; published %.2f", row.d, k, len(rs), lo, hi, und, row.want)
		}
	}
}

func TestT7TwoSidedStarts(t *testing.T) {
	for _, row := range []struct {
		n    int
		rho  float64
		want Fate
	}{{2, .49, Recovered}, {2, .51, Collapsed}, {3, .32, Recovered}, {3, .34, Collapsed}, {4, .24, Recovered}, {4, .26, Collapsed}} {
		cfg := single(100*row.rho*10, 1000, second, row.n)
		cfg.Preload = []int{10000}
		cfg.Bucket = second
		cfg.Horizon = 8000 * second
		cfg.Classify.Stop = true
		if r := run(t, cfg, 1); r.Fate != row.want {
			t.Errorf("T7 n %d rho %g from backlog: %v at %v, want %v", row.n, row.rho, r.Fate, r.Ended, row.want)
		}
	}
	for _, n := range []int{2, 3, 4} { // from empty
		for _, row := range []struct {
			rho  float64
			want Fate
		}{{.90, Recovered}, {.95, Collapsed}} {
			cfg := single(100*row.rho, 100, second, n)
			cfg.Bucket = second
			cfg.Horizon = 4000 * second
			r := run(t, cfg, 1)
			if row.want == Recovered {
				cfg.Horizon = 1000 * second
				r = run(t, cfg, 1)
			}
			if r.Fate != row.want {
				t.Errorf("T7 n %d rho %g from empty: %v, want %v", n, row.rho, r.Fate, row.want)
			}
		}
	}
}

// brooker is simple_collapse_sim: latency 1 s + 10 ms for each request in
// service, exponential network delay of 100 ms each way, 3 attempts of 3 s,
// nothing cancelled, 40/s with a spike to 80/s.
func brooker(width time.Duration, backoff bool) Config {
	cfg := Config{
		Nodes:    []Node{{Name: "server", Service: Dist{Kind: Constant, Mean: second}, Slope: 10 * time.Millisecond}},
		Edges:    []Edge{{Name: "client->server", From: -1, To: 0, Attempts: 3, Timeout: 3 * second, Network: Dist{Kind: Exponential, Mean: 100 * time.Millisecond}}},
		Sources:  []Source{{Edge: 0, Rate: 40}},
		Triggers: []Trigger{{Kind: Spike, At: 20 * second, For: width, Size: 2}},
		Horizon:  100 * second, Bucket: second,
	}
	if backoff {
		cfg.Edges[0].Backoff = Backoff{Base: 20 * second, Factor: 2, Jitter: FullJitter}
	}
	return cfg
}

func TestT5Brooker(t *testing.T) {
	n := 120
	if long() {
		n = 400
	}
	for _, row := range []struct {
		width   int
		plain   float64
		backoff float64
	}{{2, 0, 0}, {3, .008, 0}, {4, .255, 0}, {5, .748, 0}, {6, .958, .02}, {7, .998, .23}, {10, 1, .99}} {
		for _, b := range []bool{false, true} {
			rs := runs(t, brooker(time.Duration(row.width)*second, b), n)
			k, und := Tipped(rs)
			want := row.plain
			if b {
				want = row.backoff
			}
			// Both are estimates from 400 runs: 3.3 standard errors of a difference.
			se := 3.3 * math.Sqrt((want*(1-want)+.003)/400+(want*(1-want)+.003)/float64(n))
			if got := float64(k) / float64(n); math.Abs(got-want) > se {
				t.Errorf("T5 width %d backoff %v: %.3f tipped (%d undecided), published %.3f +- %.3f", row.width, b, got, und, want, se)
			} else {
				t.Logf("T5 width %d backoff %v: %.3f tipped (%d undecided), published %.3f", row.width, b, got, und, want)
			}
		}
	}
}

func TestT11SustainedOverload(t *testing.T) {
	for _, row := range []struct {
		name     string
		n        int
		change   func(*Config)
		want     float64
		absolute float64
	}{
		{"FIFO unbounded", 1, func(*Config) {}, 0, 1},
		{"FIFO room 150", 1, func(c *Config) { c.Nodes[0].Queue = 150 }, 300, 3},
		{"LIFO", 1, func(c *Config) { c.Nodes[0].Order = LIFO }, 300, 3},
		{"FIFO drops expired, n 1", 1, func(c *Config) { c.Nodes[0].DropExpired = true }, 203, 10},
		{"FIFO drops expired, n 3", 3, func(c *Config) { c.Nodes[0].DropExpired = true }, 74, 10},
		{"FIFO with admission, n 1", 1, func(c *Config) { c.Nodes[0].Admit = true }, 285, 16},
	} {
		cfg := single(450, 300, second, row.n)
		cfg.Horizon, cfg.Warmup = 620*second, 20*second
		cfg.Bucket = second
		row.change(&cfg)
		r := run(t, cfg, 1)
		got := float64(r.Edges[0].OK) / 600
		if math.Abs(got-row.want) > row.absolute {
			t.Errorf("T11 %s: goodput %.1f/s, want %g", row.name, got, row.want)
		}
	}
}

func TestT15DesCartes(t *testing.T) {
	cfg := single(9.3, 10, 4*second, 4)
	cfg.Nodes[0].Queue = 100
	cfg.Edges[0].NoRetryRejected = true // a full queue drops the attempt silently
	cfg.Triggers = []Trigger{{Kind: Spike, At: 120 * second, For: 5 * second, Size: 30 / 9.3}}
	cfg.Horizon, cfg.Bucket = 400*second, second
	rs := runs(t, cfg, 40)
	k, _ := Tipped(rs)
	if k < 38 {
		t.Errorf("T15: %d of 40 runs are collapsed at 400 s, want all", k)
	}
}

func TestT9SpontaneousTipping(t *testing.T) {
	for _, row := range []struct {
		lam, mu, tau float64
		n            int
		form, paper  float64
	}{{85, 100, .5, 3, 1499, 1394}, {88, 100, .5, 3, 410, 427}, {8, 10, 3, 5, 2002, 2376}, {95, 100, 1, 3, 652, 696}, {50, 100, .1, 3, 41, 44}, {9.3, 10, 4, 4, 294, 413}} {
		cfg := single(row.lam, row.mu, time.Duration(row.tau*1e9), row.n)
		cfg.Bucket = time.Duration(row.tau * 1e9)
		cfg.Horizon = time.Duration(20*row.form) * second
		cfg.MaxBacklog = int(10 * row.mu * row.tau)
		rs := runs(t, cfg, 60)
		var x []float64
		for _, r := range rs {
			x = append(x, r.Ended.Seconds())
		}
		mean, lo, hi := MeanInterval(x, .997)
		if mean < .80*row.form || mean > 1.75*row.form || row.paper < .7*lo || row.paper > 1.3*hi {
			t.Errorf("T9 %v: mean time to collapse %.0f s [%.0f, %.0f]; closed form %g, published simulation %g", row, mean, lo, hi, row.form, row.paper)
		}
		t.Logf("T9 %g/%g: %.0f s [%.0f, %.0f], form %g, published %g", row.lam, row.mu, mean, lo, hi, row.form, row.paper)
	}
}
