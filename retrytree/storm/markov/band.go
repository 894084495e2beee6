package markov

import (
	"errors"
	"math"
)

// chain is a generator with transitions of at most w places, row by row.
type chain struct {
	n, w  int
	rates []float64 // n rows of 2w+1
	out   []float64 // rate out of i towards lower states, when i is eliminated
	done  int       // states below this one were not eliminated
}

var errReducible = errors.New("some states never lead to the target")

func newChain(n, w int) *chain {
	return &chain{n: n, w: w, rates: make([]float64, n*(2*w+1)), out: make([]float64, n)}
}

// at addresses the rate from i to j.
func (c *chain) at(i, j int) *float64 { return &c.rates[i*(2*c.w+1)+j-i+c.w] }

func (c *chain) add(i, j int, rate float64) { *c.at(i, j) += rate }

// eliminate removes states n-1 down to first: what remains is the chain
// watched only while it is below. No subtraction takes place.
func (c *chain) eliminate(first int) error {
	row := 2*c.w + 1
	for i := c.n - 1; i >= first; i-- {
		lo := max(0, i-c.w)
		mine := c.rates[i*row+lo-i+c.w : i*row+c.w]
		s := 0.0
		for _, r := range mine {
			s += r
		}
		if !(s > 0) {
			return errReducible
		}
		c.out[i] = s
		for k := lo; k < i; k++ {
			in := c.rates[k*row+i-k+c.w]
			if in == 0 {
				continue
			}
			f := in / s
			theirs := c.rates[k*row+lo-k+c.w : k*row+i-k+c.w]
			for j, r := range mine {
				theirs[j] += f * r
			}
		}
	}
	c.done = first
	return nil
}

// stationary distribution, after eliminate(1).
func (c *chain) stationary() []float64 {
	pi := make([]float64, c.n)
	pi[0] = 1
	sum := 1.0
	for j := 1; j < c.n; j++ {
		x := 0.0
		for i := max(0, j-c.w); i < j; i++ {
			x += pi[i] * *c.at(i, j)
		}
		pi[j] = x / c.out[j]
		sum += pi[j]
		if sum > 1e200 {
			for i := range j + 1 {
				pi[i] /= sum
			}
			sum = 1
		}
	}
	for i := range pi {
		pi[i] /= sum
	}
	return pi
}

// hitting returns the mean times until a state below first is reached, after
// eliminate(first).
func (c *chain) hitting(first int) []float64 {
	ones := make([]float64, c.n)
	for i := range ones {
		ones[i] = 1
	}
	return c.solve(first, ones)
}

// solve returns x with -Q x = b on the states from first on and x = 0 below.
func (c *chain) solve(first int, b []float64) []float64 {
	w := append([]float64(nil), b...)
	for i := c.n - 1; i >= first; i-- {
		f := w[i] / c.out[i]
		for k := max(0, i-c.w); k < i; k++ {
			w[k] += *c.at(k, i) * f
		}
	}
	x := make([]float64, c.n)
	for i := first; i < c.n; i++ {
		s := w[i]
		for j := max(first, i-c.w); j < i; j++ {
			s += *c.at(i, j) * x[j]
		}
		x[i] = s / c.out[i]
	}
	return x
}

// gap returns lambda_2, the smallest non-zero relaxation rate, by inverse
// iteration orthogonal to the stationary distribution, after eliminate(1).
func (c *chain) gap(pi []float64) float64 {
	x := make([]float64, c.n)
	for i := range x {
		x[i] = float64(i)
	}
	project := func(x []float64) {
		mean := 0.0
		for i, p := range pi {
			mean += p * x[i]
		}
		for i := range x {
			x[i] -= mean
		}
	}
	norm := func(x []float64) float64 {
		s := 0.0
		for i, p := range pi {
			s += p * x[i] * x[i]
		}
		return math.Sqrt(s)
	}
	project(x)
	last := 0.0
	for range 500 {
		n := norm(x)
		for i := range x {
			x[i] /= n
		}
		y := c.solve(1, x)
		project(y)
		// Rayleigh quotient of the inverse in the stationary weights.
		dot := 0.0
		for i, p := range pi {
			dot += p * x[i] * y[i]
		}
		x = y
		if math.Abs(dot-last) < 1e-11*math.Abs(dot) {
			last = dot
			break
		}
		last = dot
	}
	return math.Abs(1 / last)
}
