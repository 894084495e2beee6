package des

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"time"
)

// DistKind selects a distribution of times.
type DistKind uint8

// The distributions. The zero value is a constant.
const (
	Constant DistKind = iota
	Exponential
	LogNormal // Mean and CV
	Erlang    // Mean and Phases
	Hyper     // two exponentials with Mean and CV > 1, balanced means
	Uniform   // between 0 and 2 Mean
	Empirical // Samples, each equally likely
)

var distNames = [...]string{"constant", "exponential", "lognormal", "erlang", "hyperexponential", "uniform", "empirical"}

// String returns the spelling used in plan files.
func (k DistKind) String() string {
	if int(k) < len(distNames) {
		return distNames[k]
	}
	return fmt.Sprintf("DistKind(%d)", uint8(k))
}

// DistKinds returns the spellings in the order of the constants.
func DistKinds() []string { return distNames[:] }

// Dist is a distribution of a duration.
type Dist struct {
	Kind    DistKind
	Mean    time.Duration
	CV      float64 // standard deviation over mean
	Phases  int
	Samples []time.Duration
}

// SCV returns the squared coefficient of variation.
func (d Dist) SCV() float64 {
	switch d.Kind {
	case Exponential:
		return 1
	case LogNormal, Hyper:
		return d.CV * d.CV
	case Erlang:
		return 1 / float64(max(1, d.Phases))
	case Uniform:
		return 1.0 / 3
	case Empirical:
		m, v := d.MeanNS(), 0.0
		for _, s := range d.Samples {
			v += (float64(s) - m) * (float64(s) - m)
		}
		return v / float64(len(d.Samples)) / (m * m)
	}
	return 0
}

// MeanNS returns the mean in nanoseconds.
func (d Dist) MeanNS() float64 {
	if d.Kind == Empirical {
		sum := 0.0
		for _, s := range d.Samples {
			sum += float64(s)
		}
		return sum / float64(len(d.Samples))
	}
	return float64(d.Mean)
}

func (d Dist) validate() error {
	switch {
	case int(d.Kind) >= len(distNames):
		return fmt.Errorf("unknown distribution %d", d.Kind)
	case d.Mean < 0:
		return fmt.Errorf("mean time %v is negative", d.Mean)
	case math.IsNaN(d.CV) || d.CV < 0 || d.CV > 100:
		return fmt.Errorf("coefficient of variation %g is not between 0 and 100", d.CV)
	case d.Kind == Hyper && d.CV < 1:
		return fmt.Errorf("coefficient of variation %g of a hyperexponential is below 1", d.CV)
	case d.Kind == Erlang && (d.Phases < 1 || d.Phases > 1000):
		return fmt.Errorf("%d phases of an Erlang distribution", d.Phases)
	case d.Kind == Empirical && len(d.Samples) == 0:
		return fmt.Errorf("an empirical distribution needs samples")
	}
	for _, s := range d.Samples {
		if s < 0 {
			return fmt.Errorf("sample %v is negative", s)
		}
	}
	return nil
}

// sampler draws from a Dist with a stream of its own.
type sampler struct {
	kind       DistKind
	mean       float64
	mu, sigma  float64 // LogNormal
	p, m1, m2  float64 // Hyper
	phases     int
	samples    []time.Duration
	pcg        rand.PCG
	rng        *rand.Rand
	seedA, idx uint64
}

// The stream belongs to sampler; reseed before use.
func newSampler(d Dist, idx uint64) *sampler {
	s := &sampler{kind: d.Kind, mean: float64(d.Mean), phases: d.Phases, samples: d.Samples, idx: idx}
	switch d.Kind {
	case LogNormal:
		v := math.Log1p(d.CV * d.CV)
		s.sigma = math.Sqrt(v)
		s.mu = math.Log(float64(d.Mean)) - v/2
		if d.Mean == 0 {
			s.kind = Constant
		}
	case Hyper:
		c2 := d.CV * d.CV
		s.p = (1 + math.Sqrt((c2-1)/(c2+1))) / 2
		s.m1 = float64(d.Mean) / (2 * s.p)
		s.m2 = float64(d.Mean) / (2 * (1 - s.p))
		if s.p >= 1 {
			s.kind = Exponential
		}
	}
	s.rng = rand.New(&s.pcg)
	return s
}

// reseed starts the stream for one replication.
func (s *sampler) reseed(seed uint64) {
	s.pcg.Seed(mix(seed), mix(seed^mix(s.idx+0x9e3779b97f4a7c15)))
}

// mix is the finaliser of splitmix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// draw returns a time in nanoseconds.
func (s *sampler) draw() int64 {
	switch s.kind {
	case Constant:
		return int64(s.mean)
	case Exponential:
		return int64(s.exp() * s.mean)
	}
	return s.drawSlow()
}

// exp returns an exponential variate of mean 1.
func (s *sampler) exp() float64 {
	u := s.pcg.Uint64()
	i, j := u&255, u>>11
	x := float64(j) * expW[i]
	if j < expK[i] {
		return x
	}
	return s.expEdge(i, x)
}

func (s *sampler) expEdge(i uint64, x float64) float64 {
	for {
		if i == 0 {
			return 7.69711747013104972 - math.Log(1-s.rng.Float64())
		}
		if d := expF[i-1] - expF[i]; expF[i]+float64(d*s.rng.Float64()) < math.Exp(-x) {
			return x
		}
		u := s.pcg.Uint64()
		i = u & 255
		j := u >> 11
		x = float64(j) * expW[i]
		if j < expK[i] {
			return x
		}
	}
}

func (s *sampler) drawSlow() int64 {
	switch s.kind {
	case LogNormal:
		return int64(math.Exp(s.mu + float64(s.sigma*s.rng.NormFloat64())))
	case Erlang:
		sum := 0.0
		for range s.phases {
			sum += s.exp()
		}
		return int64(sum * s.mean / float64(s.phases))
	case Hyper:
		if s.rng.Float64() < s.p {
			return int64(s.exp() * s.m1)
		}
		return int64(s.exp() * s.m2)
	case Uniform:
		return int64(2 * s.mean * s.rng.Float64())
	case Empirical:
		hi, _ := bits.Mul64(s.rng.Uint64(), uint64(len(s.samples)))
		return int64(s.samples[hi])
	}
	return int64(s.mean)
}

// uniform returns an integer in [0, n), 0 for n <= 0.
func (s *sampler) uniform(n int64) int64 {
	if n <= 0 {
		return 0
	}
	hi, _ := bits.Mul64(s.rng.Uint64(), uint64(n))
	return int64(hi)
}

// chance returns true with probability p.
func (s *sampler) chance(p float64) bool {
	return p >= 1 || p > 0 && s.rng.Float64() < p
}
