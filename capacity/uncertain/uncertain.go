// Package uncertain carries ranges and distributions of inputs through a
// calculation by Monte Carlo and says which input drives the width of the
// answer.
//
// Inputs are independent. Samples are drawn by inverting distribution functions
// at the points of a counter-based generator, so the same seed gives the same
// answer on every machine, whatever the number of inputs.
package uncertain

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Dist is a distribution of one input.
type Dist interface {
	// Quantile returns the value below which the share p of cases lies, 0 < p < 1.
	Quantile(p float64) float64
	// Fixed says that there is one value only.
	Fixed() bool
}

// point is a known value.
type point float64

func (p point) Quantile(float64) float64 { return float64(p) }
func (p point) Fixed() bool              { return true }

// Point returns a known value.
func Point(x float64) Dist { return point(x) }

// wrap adapts a gonum distribution.
type wrap struct {
	d interface{ Quantile(float64) float64 }
}

func (w wrap) Quantile(p float64) float64 { return w.d.Quantile(p) }
func (w wrap) Fixed() bool                { return false }

// Range returns the distribution whose 5 % and 95 % quantiles are low and high:
// lognormal if low is above zero, else normal. Equal bounds give a point.
func Range(low, high float64) (Dist, error) {
	if low == high && !math.IsNaN(low) && !math.IsInf(low, 0) {
		return Point(low), nil
	}
	return Quantiles(map[float64]float64{0.05: low, 0.95: high})
}

// Quantiles returns the lognormal (if all values are above zero) or normal
// distribution with the given quantiles, for example {0.5: 40e3, 0.95: 100e3}.
// With more than two it has all of them: between two neighbours, and beyond the
// outer ones, it is the (log)normal through them.
// Errors: fewer than two, not increasing, not finite, a share outside 0..1.
func Quantiles(q map[float64]float64) (Dist, error) {
	if len(q) < 2 {
		return nil, errors.New("a distribution needs two quantiles")
	}
	ps := make([]float64, 0, len(q))
	for p := range q {
		ps = append(ps, p)
	}
	slices.Sort(ps)
	positive := true
	for i, p := range ps {
		x := q[p]
		if !(p > 0 && p < 1) || math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, fmt.Errorf("quantile %v at %v is not a finite value of a share between 0 and 1", x, p)
		}
		if i > 0 && x <= q[ps[i-1]] {
			return nil, fmt.Errorf("quantiles do not grow: %v at %v after %v", x, p, q[ps[i-1]])
		}
		positive = positive && x > 0
	}
	z, y := make([]float64, len(ps)), make([]float64, len(ps))
	for i, p := range ps {
		z[i], y[i] = distuv.UnitNormal.Quantile(p), q[p]
		if positive {
			y[i] = math.Log(y[i])
		}
	}
	if len(ps) > 2 {
		return pieces{z, y, positive}, nil
	}
	sigma := (y[1] - y[0]) / (z[1] - z[0])
	mu := y[0] - sigma*z[0]
	if positive {
		return wrap{distuv.LogNormal{Mu: mu, Sigma: sigma}}, nil
	}
	return wrap{distuv.Normal{Mu: mu, Sigma: sigma}}, nil
}

// pieces is a distribution through several quantiles: values (or their
// logarithms, if log) over normal scores.
type pieces struct {
	z, y []float64
	log  bool
}

func (p pieces) Quantile(at float64) float64 {
	v := Interpolate(p.z, p.y)(distuv.UnitNormal.Quantile(at))
	if p.log {
		return math.Exp(v)
	}
	return v
}

func (p pieces) Fixed() bool { return false }

// samples is an empirical distribution.
type samples []float64

// Quantile interpolates between the order statistics at p x (n - 1) (Hyndman and
// Fan 1996, type 7).
func (s samples) Quantile(p float64) float64 {
	at := p * float64(len(s)-1)
	i := int(at)
	if i+1 >= len(s) {
		return s[len(s)-1]
	}
	return s[i] + (at-float64(i))*(s[i+1]-s[i])
}

func (s samples) Fixed() bool { return s[0] == s[len(s)-1] }

// Samples returns the distribution of observed values. Errors: none, or one that
// is not finite.
func Samples(xs []float64) (Dist, error) {
	if len(xs) == 0 {
		return nil, errors.New("no samples")
	}
	s := slices.Clone(xs)
	slices.Sort(s)
	if math.IsNaN(s[0]) || math.IsInf(s[0], 0) || math.IsInf(s[len(s)-1], 0) {
		return nil, errors.New("a sample is not a finite number")
	}
	return samples(s), nil
}

// Input is a named input.
type Input struct {
	Name string
	Dist Dist
}

// Options of a run.
type Options struct {
	// N is the number of samples; 0 = 100,000.
	N int
	// Seed of the generator.
	Seed uint64
}

// Driver says how one input moves the answer.
type Driver struct {
	Input string
	// Low and High are the answer with this input at its 5 % and 95 % quantile
	// and all others at their medians.
	Low, High float64
	// Share of the squared swings of all inputs, 0..1: what narrowing this input
	// alone could save of the variance, to first order.
	Share float64
}

// Result of a run.
type Result struct {
	Mean          float64
	P5, P50, P95  float64
	Drivers       []Driver // widest first
	N             int
	Seed          uint64
	Deterministic bool // all inputs are points
}

// Run draws samples of the inputs and applies f, which must be pure. The slice it
// gets is reused.
func Run(inputs []Input, f func(x []float64) float64, o Options) (Result, error) {
	if o.N == 0 {
		o.N = 100_000
	}
	if o.N < 1 || o.N > 100_000_000 {
		return Result{}, fmt.Errorf("%d samples is outside 1..10^8", o.N)
	}
	r := Result{N: o.N, Seed: o.Seed, Drivers: []Driver{}}
	x := make([]float64, len(inputs))
	var loose []int
	for i, in := range inputs {
		if in.Dist == nil {
			return r, fmt.Errorf("input %q has no distribution", in.Name)
		}
		x[i] = in.Dist.Quantile(0.5)
		if !in.Dist.Fixed() {
			loose = append(loose, i)
		}
	}
	if len(loose) == 0 {
		v := f(x)
		r.Mean, r.P5, r.P50, r.P95, r.Deterministic = v, v, v, v, true
		return r, nil
	}
	r.Drivers = tornado(inputs, loose, f, slices.Clone(x))
	tables := make([]table, len(inputs))
	for _, k := range loose {
		tables[k] = newTable(inputs[k].Dist, o.N)
	}
	ys := make([]float64, o.N)
	for i := range ys {
		for _, k := range loose {
			x[k] = tables[k].at(uniform(o.Seed, uint64(i), uint64(k)))
		}
		ys[i] = f(x)
		r.Mean += ys[i]
		if math.IsNaN(ys[i]) {
			return r, errors.New("the calculation gives no number for a sample")
		}
	}
	r.Mean /= float64(o.N)
	at := func(p float64) float64 { return nth(ys, max(0, int(math.Ceil(p*float64(o.N)))-1)) }
	r.P5, r.P50, r.P95 = at(0.05), at(0.5), at(0.95)
	return r, nil
}

// cells of a quantile table; the outermost ones are computed exactly.
const cells, exactCells = 1 << 13, 64

// table is an inverted distribution function, linear between the borders of its
// cells. In the middle the error is below 10^-5 of the standard deviation.
type table struct {
	d Dist
	q []float64 // nil: exact
}

func newTable(d Dist, n int) table {
	if n < 4*cells {
		return table{d: d}
	}
	q := make([]float64, cells+1)
	for i := 1; i < cells; i++ {
		q[i] = d.Quantile(float64(i) / cells)
	}
	return table{d, q}
}

func (t table) at(p float64) float64 {
	if t.q == nil {
		return t.d.Quantile(p)
	}
	c := p * cells
	i := int(c)
	if i < exactCells || i >= cells-exactCells {
		return t.d.Quantile(p)
	}
	return t.q[i] + (c-float64(i))*(t.q[i+1]-t.q[i])
}

// nth returns the value that would stand at position k if xs were sorted; it
// reorders xs (Hoare's selection, the middle of three as pivot).
func nth(xs []float64, k int) float64 {
	lo, hi := 0, len(xs)-1
	for lo < hi {
		mid := lo + (hi-lo)/2
		pivot := max(min(xs[lo], xs[hi]), min(max(xs[lo], xs[hi]), xs[mid]))
		i, j := lo, hi
		for i <= j {
			for xs[i] < pivot {
				i++
			}
			for xs[j] > pivot {
				j--
			}
			if i <= j {
				xs[i], xs[j] = xs[j], xs[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return xs[k]
		}
	}
	return xs[k]
}

// tornado moves one input at a time.
func tornado(inputs []Input, loose []int, f func([]float64) float64, x []float64) []Driver {
	var out []Driver
	total := 0.0
	for _, k := range loose {
		mid := x[k]
		x[k] = inputs[k].Dist.Quantile(0.05)
		lo := f(x)
		x[k] = inputs[k].Dist.Quantile(0.95)
		hi := f(x)
		x[k] = mid
		out = append(out, Driver{Input: inputs[k].Name, Low: lo, High: hi})
		total += (hi - lo) * (hi - lo)
	}
	for i := range out {
		if total > 0 {
			out[i].Share = (out[i].High - out[i].Low) * (out[i].High - out[i].Low) / total
		}
	}
	slices.SortStableFunc(out, func(a, b Driver) int {
		switch {
		case a.Share > b.Share:
			return -1
		case a.Share < b.Share:
			return 1
		}
		return 0
	})
	return out
}

// uniform is a number strictly between 0 and 1 from a counter.
func uniform(seed, i, k uint64) float64 {
	z := seed + 0x9e3779b97f4a7c15*(i*64+k+1)
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	z ^= z >> 31
	return (float64(z>>11) + 0.5) / (1 << 53)
}

// Interpolate returns a function through points (x ascending), linear between
// them and beyond: for a costly term that is computed at a few values of an
// input and looked up for each sample.
func Interpolate(xs, ys []float64) func(float64) float64 {
	return func(x float64) float64 {
		if len(xs) == 1 {
			return ys[0]
		}
		i := 1
		for i < len(xs)-1 && x > xs[i] {
			i++
		}
		t := (x - xs[i-1]) / (xs[i] - xs[i-1])
		return ys[i-1] + t*(ys[i]-ys[i-1])
	}
}
