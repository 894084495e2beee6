package storm

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/relplan/relplan/retrytree/storm/des"
)

// SimOptions bound the simulations of an analysis.
type SimOptions struct {
	// Seed of the first replication.
	Seed uint64
	// Runs is the number of replications, 0 means 40.
	Runs int
	// Steps of each bisection, 0 means 8.
	Steps int
	// Tail is how long a run may go on after the trigger; 0 means 400 of the
	// longest timeouts.
	Tail time.Duration
	// MaxEvents bounds the events of one question, roughly; 0 means 40
	// million. When a question would need more, the system is simulated at a
	// fraction of its rates, and then with fewer runs.
	MaxEvents float64
	// Workers run replications in parallel, 0 means one for each processor.
	Workers int
}

func (o SimOptions) filled() SimOptions {
	if o.Runs == 0 {
		o.Runs = 40
	}
	if o.Steps == 0 {
		o.Steps = 8
	}
	if o.MaxEvents == 0 {
		o.MaxEvents = 40e6
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	return o
}

// slowest returns the longest timeout of an edge, seconds.
func (s *System) slowest() float64 {
	t := 0.0
	for _, e := range s.Edges {
		t = math.Max(t, seconds(e.Timeout))
		if e.Timeout == 0 {
			t = math.Max(t, seconds(e.Deadline))
		}
	}
	if t == 0 {
		t = 1
	}
	return t
}

// settle is the time simulated before a trigger begins.
func (s *System) settle() time.Duration {
	return time.Duration(5 * s.slowest() * 1e9)
}

// Experiment returns the configuration that puts a system through triggers;
// times of the triggers count from the end of the settling time.
func (s *System) Experiment(o SimOptions, triggers ...Trigger) des.Config {
	slow := s.slowest()
	tail := o.Tail
	if tail == 0 {
		tail = time.Duration(400 * slow * 1e9)
	}
	cfg := des.Config{Nodes: s.Nodes, Edges: s.Edges, Sources: s.Sources, Bucket: time.Duration(slow * 1e9 / 4)}
	cfg.MaxEvents = uint64(o.filled().MaxEvents)
	cfg.Classify = des.Classify{Stop: true, Window: time.Duration(5 * slow * 1e9)}
	start := s.settle()
	last := start
	for _, t := range triggers {
		t.At += start
		last = max(last, t.At+t.For)
		cfg.Triggers = append(cfg.Triggers, t)
	}
	cfg.Horizon = last + tail
	// Fifty timeouts of work waiting is a collapse that needs no more proof.
	for i, n := range s.Nodes {
		if n.Servers == 0 || n.Service.MeanNS() == 0 {
			continue
		}
		lost := 0.0
		for _, t := range triggers {
			lost += seconds(t.For)
		}
		tau := slow
		for _, e := range s.Edges {
			if e.To == i && e.Timeout > 0 {
				tau = math.Max(tau, seconds(e.Timeout))
			}
		}
		k := (50*tau + 20*lost) * float64(n.Servers) / (n.Service.MeanNS() / 1e9)
		cfg.MaxBacklog = max(cfg.MaxBacklog, int(math.Min(k, 2e7))+1000)
	}
	return cfg
}

// cost estimates the events of one classified run.
func (s *System) cost(tr Trigger) float64 {
	f := s.flow()
	rate := 0.0
	for i := range s.Edges {
		w := 1.0
		for _, p := range s.path(i) {
			w *= s.Edges[p].Budget.Cap(s.Edges[p].Attempts, math.Max(f.calls[p], 1e-9))
		}
		rate += f.calls[i] * math.Min(w, 6) * 3
	}
	return rate * (seconds(s.settle()) + 2*seconds(tr.For) + 30*s.slowest())
}

// Shrink returns the system at 1/k of its rates: fewer servers where there are
// enough, slower ones otherwise. The means stay, chance weighs more.
func (s *System) Shrink(k float64) *System {
	c := s.Scale(1 / k)
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if n.Servers > 0 {
			fewer := max(1, int(math.Round(float64(n.Servers)/k)))
			slower := k * float64(fewer) / float64(n.Servers)
			n.Servers = fewer
			n.Service.Mean = time.Duration(float64(n.Service.Mean) * slower)
			n.Service.Samples = slices.Clone(n.Service.Samples)
			for j := range n.Service.Samples {
				n.Service.Samples[j] = time.Duration(float64(n.Service.Samples[j]) * slower)
			}
		} else {
			n.Slope = time.Duration(float64(n.Slope) * k)
		}
		if n.Queue > 0 {
			n.Queue = max(1, int(math.Round(float64(n.Queue)/k)))
		}
	}
	for i := range c.Sources {
		if c.Sources[i].Clients > 0 {
			c.Sources[i].Clients = max(1, int(math.Round(float64(c.Sources[i].Clients)/k)))
		}
	}
	for i := range c.Edges {
		e := &c.Edges[i]
		e.Clients = max(1, int(math.Round(float64(max(1, e.Clients))/k)))
		e.Budget.Floor /= k * float64(e.Clients) / float64(max(1, s.Edges[i].Clients))
	}
	return c
}

// fit shrinks a system so that the runs stay within the budget of events: each
// replication costs each times that of one classified run. It returns the
// factor, 1 when nothing was changed, and the number of runs that fit, at
// least 8 of those asked for.
func (s *System) fit(o SimOptions, tr Trigger, runs, each int) (*System, float64, int) {
	cost := s.cost(tr) * float64(each)
	k := cost * float64(runs) / o.MaxEvents
	if k <= 1 {
		return s, 1, runs
	}
	// With fewer jobs in a timeout the outcome would be all chance.
	lowest := math.Inf(1)
	f := s.flow()
	for i := range s.Edges {
		if v, ok := s.look(i, f); ok && v.timeout > 0 {
			lowest = math.Min(lowest, v.capacity*v.timeout/250)
		}
	}
	k = math.Min(math.Ceil(k), math.Max(1, math.Floor(lowest)))
	if math.IsInf(k, 0) {
		k = 1
	}
	runs = min(runs, max(8, int(o.MaxEvents*k/cost)))
	if k <= 1 {
		return s, 1, runs
	}
	return s.Shrink(k), k, runs
}

// Verdict counts how replications of one experiment ended.
type Verdict struct {
	Runs, Tipped, Undecided int
	// Low and High bound the probability of tipping (Wilson, 95 %).
	Low, High float64
	// Recovery is the mean time to recover of the runs that did, with its
	// 95 % interval, seconds; NaN if none did.
	Recovery, RecoveryLow, RecoveryHigh float64
	// Scale is the factor by which rates were reduced, 1 if they were not.
	Scale  float64
	Seed   uint64
	Events float64
}

// Simulate puts the system through a trigger and counts the outcomes.
func (s *System) Simulate(ctx context.Context, tr Trigger, o SimOptions) (Verdict, error) {
	o = o.filled()
	var sys *System
	v := Verdict{Seed: o.Seed}
	sys, v.Scale, v.Runs = s.fit(o, tr, o.Runs, 1)
	o.Runs = v.Runs
	rs, err := des.Replicate(ctx, sys.Experiment(o, tr), des.Options{Seed: o.Seed, Runs: o.Runs, Workers: o.Workers})
	if err != nil {
		return Verdict{}, err
	}
	v.Tipped, v.Undecided = des.Tipped(rs)
	v.Low, v.High = des.Wilson(v.Tipped, v.Runs, .95)
	var x []float64
	for _, r := range rs {
		v.Events += float64(r.Events)
		if r.Fate == des.Recovered {
			x = append(x, r.Recovery.Seconds())
		}
	}
	v.Recovery, v.RecoveryLow, v.RecoveryHigh = des.MeanInterval(x, .95)
	return v, nil
}

// Threshold is the distribution, over replications, of the smallest
// disturbance that tips.
type Threshold struct {
	// P10, P50 and P90 are the durations, seconds, at which 10, 50 and 90 %
	// of the replications tip; Inf where the largest one tried does not.
	P10, P50, P90 float64
	// Low and High are a 95 % interval of P50, from order statistics.
	Low, High float64
	Runs      int
	Scale     float64
	Seed      uint64
	Undecided int
}

// TippingDuration finds for each seed, by bisection between lo and hi seconds
// with the same random numbers at every step, how long a trigger must last to
// tip the system. The quantiles over the seeds are the points of the tipping
// probability.
func (s *System) TippingDuration(ctx context.Context, tr Trigger, lo, hi float64, o SimOptions) (Threshold, error) {
	o = o.filled()
	tr.For = time.Duration(hi * 1e9)
	sys, k, runs := s.fit(o, tr, o.Runs, o.Steps+1)
	o.Runs = runs
	th := Threshold{Runs: runs, Scale: k, Seed: o.Seed}
	at := make([]float64, o.Runs)
	var next, undecided atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, min(o.Workers, o.Runs))
	for w := range errs {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for errs[w] == nil {
				i := int(next.Add(1)) - 1
				if i >= o.Runs {
					return
				}
				at[i], errs[w] = sys.bisect(ctx, tr, lo, hi, o, o.Seed+uint64(i), &undecided)
			}
		}()
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return th, err
		}
	}
	slices.Sort(at)
	th.P10, th.P50, th.P90 = quantile(at, .1), quantile(at, .5), quantile(at, .9)
	b := distuv.Binomial{N: float64(o.Runs), P: .5}
	j := 0
	for j < o.Runs/2 && b.CDF(float64(j)) < .025 {
		j++
	}
	th.Low, th.High = at[max(0, j-1)], at[min(o.Runs-1, o.Runs-j)]
	th.Undecided = int(undecided.Load())
	return th, nil
}

// bisect finds the threshold of one seed; runs that neither tip nor recover
// until their horizon count as tipped, since the disturbance was not survived.
func (s *System) bisect(ctx context.Context, tr Trigger, lo, hi float64, o SimOptions, seed uint64, undecided *atomic.Int64) (float64, error) {
	tips := func(d float64) (bool, error) {
		tr.For = time.Duration(math.Max(d*1e9, 1))
		sim, err := des.New(s.Experiment(o, tr))
		if err != nil {
			return false, err
		}
		r, err := sim.RunContext(ctx, seed)
		if err != nil {
			return false, err
		}
		if r.Fate == des.Undecided {
			undecided.Add(1)
		}
		return r.Fate != des.Recovered, nil
	}
	top, err := tips(hi)
	if err != nil {
		return 0, err
	}
	if !top {
		return math.Inf(1), nil
	}
	for range o.Steps {
		mid := (lo + hi) / 2
		t, err := tips(mid)
		if err != nil {
			return 0, err
		}
		if t {
			hi = mid
		} else {
			lo = mid
		}
	}
	return (lo + hi) / 2, nil
}

// quantile of sorted values, the smallest with at least p of them at or below.
func quantile(x []float64, p float64) float64 {
	return x[min(len(x)-1, max(0, int(math.Ceil(p*float64(len(x))))-1))]
}

// TwoSided starts the system once empty and once with a backlog of ten
// timeouts at node, and reports how both end: when they differ the load is in
// the vulnerable range.
func (s *System) TwoSided(ctx context.Context, node int, o SimOptions) (empty, loaded des.Fate, err error) {
	o = o.filled()
	sys, _, _ := s.fit(o, Trigger{}, 2, 1)
	n := sys.Nodes[node]
	cfg := sys.Experiment(o)
	cfg.Horizon = sys.settle() + time.Duration(100*sys.slowest()*1e9)
	if o.Tail > 0 {
		cfg.Horizon = o.Tail
	}
	sim, err := des.New(cfg)
	if err != nil {
		return 0, 0, err
	}
	a, err := sim.RunContext(ctx, o.Seed)
	if err != nil {
		return 0, 0, err
	}
	load := 10 * sys.slowest() * float64(max(1, n.Servers)) / math.Max(n.Service.MeanNS()/1e9, 1e-9)
	if n.Queue > 0 {
		load = math.Min(load, float64(n.Queue))
	}
	cfg.Preload = make([]int, node+1)
	cfg.Preload[node] = int(load)
	cfg.MaxBacklog += int(2 * load)
	if sim, err = des.New(cfg); err != nil {
		return 0, 0, err
	}
	b, err := sim.RunContext(ctx, o.Seed)
	if err != nil {
		return 0, 0, err
	}
	return a.Fate, b.Fate, nil
}

// Path simulates one replication without stopping early, for a picture.
func (s *System) Path(ctx context.Context, tr Trigger, tail time.Duration, o SimOptions) (*des.Result, error) {
	o = o.filled()
	o.Tail = tail
	sys, k, _ := s.fit(o, tr, 4, 1)
	cfg := sys.Experiment(o, tr)
	cfg.Classify.Stop = false
	cfg.Bucket = cfg.Horizon / 300
	sim, err := des.New(cfg)
	if err != nil {
		return nil, err
	}
	r, err := sim.RunContext(ctx, o.Seed)
	if err != nil {
		return nil, fmt.Errorf("path: %w", err)
	}
	for i := range r.Series {
		p := &r.Series[i]
		for _, c := range []*int32{&p.Offered, &p.Good, &p.Attempts, &p.Busiest, &p.Backlog} {
			*c = int32(float64(*c) * k)
		}
	}
	return r, nil
}
