package queue

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// ResponseTail returns P(time in system > t) of an unbounded FIFO M/M/c with
// arrival rate lam: 1 when lam reaches the capacity. Two exponentials in
// closed form; the degenerate case c mu - lam = mu is the limit of the same
// expression, (1 + mu t) exp(-mu t).
func ResponseTail(lam, mu float64, c int, t float64) float64 {
	eta := float64(c)*mu - lam
	if eta <= 0 {
		return 1
	}
	if t <= 0 {
		return 1
	}
	if c == 1 {
		return math.Exp(-eta * t)
	}
	w := ErlangC(lam/mu, c)
	return math.Exp(-mu*t) + w*mu*between(mu, eta, t)
}

// between returns the integral of exp(-a u - b (t-u)) over u from 0 to t,
// (exp(-a t) - exp(-b t))/(b - a), with its limit at a = b; the larger
// exponential is taken out, so that neither overflows.
func between(a, b, t float64) float64 {
	d := math.Abs(b-a) * t
	f := t
	if d > 1e-12 {
		f = t * -math.Expm1(-d) / d
	}
	return math.Exp(-math.Min(a, b)*t) * f
}

// WaitTail returns P(time in queue > t) of an unbounded FIFO M/M/c.
func WaitTail(lam, mu float64, c int, t float64) float64 {
	eta := float64(c)*mu - lam
	if eta <= 0 {
		return 1
	}
	return ErlangC(lam/mu, c) * math.Exp(-eta*math.Max(t, 0))
}

// ErlangTail returns P(sum of k exponentials of rate mu > t).
func ErlangTail(k int, mu, t float64) float64 {
	if k <= 0 {
		return 0
	}
	if t <= 0 {
		return 1
	}
	return mathext.GammaIncRegComp(float64(k), mu*t)
}

// SojournTails returns, for every number q = 0..k-1 of jobs that an arrival
// may find in a FIFO M/M/c, the probability that its own time in the system
// exceeds t: an exponential when a server is free, else an Erlang of q-c+1
// departures at rate c mu followed by the own service.
//
// The convolution is evaluated by a backward recursion of positive terms; the
// forward one loses a factor c/(c-1) of precision in each step.
func SojournTails(mu float64, c, k int, t float64) []float64 {
	tails := make([]float64, k)
	if t <= 0 {
		for q := range tails {
			tails[q] = 1
		}
		return tails
	}
	if c == 1 {
		for q := range tails {
			tails[q] = ErlangTail(q+1, mu, t)
		}
		return tails
	}
	a := float64(c) * mu
	last := k - c + 1 // most departures to wait for
	if last < 1 {
		last = 1
	}
	// g[j] = integral of the Erlang(j, a) density against exp(-mu (t-u)).
	far := int(a*t+12*math.Sqrt(a*t)) + 60
	if far < last {
		far = last
	}
	g := 0.0
	conv := make([]float64, last+1)
	for j := far; j >= 1; j-- {
		// density of Erlang(j+1, a) at t
		f := math.Exp(math.Log(a) + float64(j)*math.Log(a*t) - a*t - lgamma(float64(j+1)))
		g = (g*(a-mu) + f) / a
		if j <= last {
			conv[j] = g
		}
	}
	for q := range tails {
		if q < c {
			tails[q] = math.Exp(-mu * t)
			continue
		}
		j := q - c + 1
		tails[q] = math.Min(1, ErlangTail(j, a, t)+conv[j])
	}
	return tails
}

func lgamma(x float64) float64 {
	v, _ := math.Lgamma(x)
	return v
}

// LogFirstPassage returns the natural logarithm of the mean time, in seconds,
// in which the number of jobs of an M/M/c queue that starts empty first
// reaches k. It is the sum of the mean times of one step up,
// h(i) = 1/lam + (min(i,c) mu/lam) h(i-1), kept in log space: for rho = 1/2
// and k = 300 the time is 1e90 seconds.
func LogFirstPassage(lam, mu float64, c, k int) float64 {
	if k <= 0 {
		return math.Inf(-1)
	}
	base := -math.Log(lam)
	h := base
	total := h
	for i := 1; i < k; i++ {
		h = logAdd(base, h+math.Log(math.Min(float64(i), float64(c))*mu/lam))
		total = logAdd(total, h)
	}
	return total
}

// FirstPassage is the closed form of exp(LogFirstPassage) for one server and
// a level k that need not be an integer:
// (r (r^k - 1)/(r - 1) - k) / (lam (r - 1)), r = mu/lam; its limit
// k(k+1)/(2 lam) at lam = mu.
func FirstPassage(lam, mu, k float64) float64 {
	r := mu / lam
	d := (mu - lam) / lam
	if math.Abs(d) < 1e-6 {
		return k * (k + 1) / (2 * lam)
	}
	pow := math.Expm1(k * math.Log1p(d)) // r^k - 1
	return (r*pow/d - k) / (lam * d)
}

func logAdd(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	return a + math.Log1p(math.Exp(b-a))
}
