package des

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/stat/distuv"
)

// Run simulates one replication. The result depends on the configuration and
// the seed only.
func (s *Sim) Run(seed uint64) *Result {
	r, _ := s.RunContext(context.Background(), seed)
	return r
}

// slices is the number of stretches between two looks at the context.
const slices = 64

// RunContext is Run that can be stopped; the error is that of the context.
func (s *Sim) RunContext(ctx context.Context, seed uint64) (*Result, error) {
	s.reset(seed)
	h := int64(s.cfg.Horizon)
	for i := int64(1); i <= slices && !s.stop; i++ {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("simulation stopped at %d %% of its horizon: %w", (i-1)*100/slices, err)
		}
		s.loop(h/slices*i + h%slices*i/slices)
	}
	if !s.stop {
		s.now = h
	}
	return s.rec.result(s, seed), nil
}

// Run simulates one replication of a configuration.
func Run(cfg Config, seed uint64) (*Result, error) {
	s, err := New(cfg)
	if err != nil {
		return nil, err
	}
	return s.Run(seed), nil
}

// Options says how replications are run.
type Options struct {
	// Seed of the first replication; replication i has seed Seed+i. Using
	// the same seeds for two configurations gives common random numbers.
	Seed uint64
	// Runs is the number of replications.
	Runs int
	// Workers run replications in parallel; 0 means one for each processor.
	// The results do not depend on it.
	Workers int
}

// Replicate runs independent replications and returns their results in the
// order of their seeds.
func Replicate(ctx context.Context, cfg Config, o Options) ([]*Result, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if o.Runs < 1 {
		return nil, fmt.Errorf("%d runs: at least one is needed", o.Runs)
	}
	out := make([]*Result, o.Runs)
	workers := o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = min(workers, o.Runs)
	var next atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, workers)
	for w := range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			s, err := New(cfg)
			for err == nil {
				i := int(next.Add(1)) - 1
				if i >= o.Runs {
					return
				}
				out[i], err = s.RunContext(ctx, o.Seed+uint64(i))
			}
			errs[w] = err
		}()
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Tipped counts the runs that collapsed, and those that neither collapsed nor
// recovered.
func Tipped(rs []*Result) (tipped, undecided int) {
	for _, r := range rs {
		switch r.Fate {
		case Collapsed:
			tipped++
		case Undecided:
			undecided++
		}
	}
	return tipped, undecided
}

// Wilson returns the interval of a probability of which k of n trials were
// successes, at confidence level (Wilson 1927). It stays inside [0, 1] and is
// useful at k = 0.
func Wilson(k, n int, level float64) (lo, hi float64) {
	if n == 0 {
		return 0, 1
	}
	z := distuv.UnitNormal.Quantile(1 - (1-level)/2)
	p, m := float64(k)/float64(n), float64(n)
	center := (p + z*z/(2*m)) / (1 + z*z/m)
	half := z / (1 + z*z/m) * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	lo, hi = math.Max(0, center-half), math.Min(1, center+half)
	if k == 0 {
		lo = 0
	}
	if k == n {
		hi = 1
	}
	return lo, hi
}

// MeanInterval returns the mean of independent replications with its Student
// interval at confidence level; an infinite one with fewer than two.
func MeanInterval(x []float64, level float64) (mean, lo, hi float64) {
	n := float64(len(x))
	if n == 0 {
		return math.NaN(), math.Inf(-1), math.Inf(1)
	}
	for _, v := range x {
		mean += v / n
	}
	if n < 2 {
		return mean, math.Inf(-1), math.Inf(1)
	}
	ss := 0.0
	for _, v := range x {
		ss += (v - mean) * (v - mean)
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(1 - (1-level)/2)
	half := t * math.Sqrt(ss/(n-1)/n)
	return mean, mean - half, mean + half
}

// BatchMeans cuts one long series into batches and returns the mean with its
// interval: the batches are nearly independent when each is much longer than
// the memory of the process.
func BatchMeans(x []float64, batches int, level float64) (mean, lo, hi float64) {
	if batches < 2 || len(x) < batches {
		return MeanInterval(x, level)
	}
	size := len(x) / batches
	means := make([]float64, batches)
	for b := range means {
		for _, v := range x[b*size : (b+1)*size] {
			means[b] += v / float64(size)
		}
	}
	return MeanInterval(means, level)
}

// WarmupMSER returns how many leading values of a series to discard: the cut
// that minimises the standard error of the rest, at most half (White 1997,
// MSER-5).
func WarmupMSER(x []float64) int {
	const batch = 5
	n := len(x) / batch
	if n < 4 {
		return 0
	}
	m := make([]float64, n)
	for i := range m {
		for _, v := range x[i*batch : (i+1)*batch] {
			m[i] += v / batch
		}
	}
	best, cut := math.Inf(1), 0
	sum, sq := 0.0, 0.0
	for i := n - 1; i >= 0; i-- {
		sum += m[i]
		sq += m[i] * m[i]
		k := float64(n - i)
		if i > n/2 {
			continue
		}
		if se := (sq - sum*sum/k) / (k * k); se < best {
			best, cut = se, i
		}
	}
	return cut * batch
}
