// Package queue holds the closed forms of queueing theory that the storm
// solvers are built on and checked against: M/M/1, M/M/c, M/M/c/K, M/D/1,
// Erlang B and C, queues with a deadline, with impatient clients and with an
// orbit of retrying clients.
//
// Units: rates are per second, times are seconds, probabilities lie in [0, 1].
// Every function states its source. Recursions are used where the textbook
// form overflows (factorials) or cancels (1-rho near saturation).
package queue

import (
	"errors"
	"fmt"
	"math"
)

// ErrUnstable is returned when the arrival rate is not below the capacity of
// an unbounded queue, so that no steady state exists.
var ErrUnstable = errors.New("arrival rate is not below capacity: no steady state")

// Result holds the steady state of one station.
type Result struct {
	// Utilization is the mean fraction of busy servers, 0 to 1.
	Utilization float64
	// Response is the mean time in the system of an admitted job, seconds.
	Response float64
	// InSystem is the mean number of jobs in the system.
	InSystem float64
	// Throughput is the rate of admitted jobs, per second.
	Throughput float64
	// Blocked is the probability that an arrival finds the system full.
	Blocked float64
	// Wait is the probability that an admitted arrival has to wait.
	Wait float64
}

// ErlangB returns the probability that all c servers are busy when blocked
// calls are cleared; a is the offered load lam/mu in erlangs. The recursion
// B(k) = a B(k-1) / (k + a B(k-1)) has no overflow (Jagerman 1974).
func ErlangB(a float64, c int) float64 {
	if a <= 0 {
		if c == 0 {
			return 1
		}
		return 0
	}
	b := 1.0
	for k := 1; k <= c; k++ {
		b = a * b / (float64(k) + a*b)
	}
	return b
}

// ErlangC returns the probability that an arrival has to wait in M/M/c with
// offered load a = lam/mu erlangs; 1 when a >= c.
func ErlangC(a float64, c int) float64 {
	if a <= 0 {
		return 0
	}
	if a >= float64(c) {
		return 1
	}
	b := ErlangB(a, c)
	n := float64(c)
	return n * b / (n - a*(1-b))
}

// MMc returns the steady state of an unbounded M/M/c queue with arrival rate
// lam and service rate mu of one server.
func MMc(lam, mu float64, c int) (Result, error) {
	if err := positive(lam, mu, c); err != nil {
		return Result{}, err
	}
	spare := float64(c)*mu - lam
	if spare <= 0 {
		return Result{}, ErrUnstable
	}
	w := ErlangC(lam/mu, c)
	r := 1/mu + w/spare
	return Result{Utilization: lam / (float64(c) * mu), Response: r, InSystem: lam * r,
		Throughput: lam, Wait: w}, nil
}

// MMcK returns the steady state of M/M/c with room for k jobs in the system
// (waiting and in service); k >= c.
func MMcK(lam, mu float64, c, k int) (Result, error) {
	if err := positive(lam, mu, c); err != nil {
		return Result{}, err
	}
	if k < c {
		return Result{}, fmt.Errorf("room for %d jobs is less than %d servers", k, c)
	}
	pi := BirthDeath(lam, mu, c, k)
	var n, busy, wait float64
	for q, p := range pi {
		n += float64(q) * p
		busy += math.Min(float64(q), float64(c)) * p
		if q >= c && q < k {
			wait += p
		}
	}
	x := busy * mu
	res := Result{Utilization: busy / float64(c), InSystem: n, Throughput: x, Blocked: pi[k]}
	if x > 0 {
		res.Response = n / x
		res.Wait = wait / (1 - pi[k])
	}
	return res, nil
}

// BirthDeath returns the stationary distribution over 0..k jobs of M/M/c/k.
// Weights are scaled so that the largest is 1: no overflow for any load.
func BirthDeath(lam, mu float64, c, k int) []float64 {
	pi := make([]float64, k+1)
	BirthDeathInto(pi, lam, mu, c)
	return pi
}

// BirthDeathInto is BirthDeath without allocation; the room is len(pi)-1.
func BirthDeathInto(pi []float64, lam, mu float64, c int) {
	k := len(pi) - 1
	// The mode is where the ratio lam/(min(q,c) mu) falls through 1.
	mode := 0
	for mode < k && lam > math.Min(float64(mode+1), float64(c))*mu {
		mode++
		if mode >= c && lam > float64(c)*mu {
			mode = k
		}
	}
	pi[mode] = 1
	sum := 1.0
	for q := mode + 1; q <= k; q++ {
		pi[q] = pi[q-1] * lam / (math.Min(float64(q), float64(c)) * mu)
		sum += pi[q]
	}
	for q := mode - 1; q >= 0; q-- {
		pi[q] = pi[q+1] * math.Min(float64(q+1), float64(c)) * mu / lam
		sum += pi[q]
	}
	for q := range pi {
		pi[q] /= sum
	}
}

// MD1 returns the steady state of M/D/1 (Pollaczek-Khinchine with zero
// service variance).
func MD1(lam, mu float64) (Result, error) { return MG1(lam, mu, 0) }

// MG1 returns the steady state of M/G/1 with squared coefficient of variation
// scv of the service time (0 deterministic, 1 exponential).
func MG1(lam, mu, scv float64) (Result, error) {
	if err := positive(lam, mu, 1); err != nil {
		return Result{}, err
	}
	if lam >= mu {
		return Result{}, ErrUnstable
	}
	rho := lam / mu
	r := 1/mu + rho*(1+scv)/(2*(mu-lam))
	return Result{Utilization: rho, Response: r, InSystem: lam * r, Throughput: lam, Wait: rho}, nil
}

// DropLate returns the loss probability of an M/M/1 FIFO queue that discards
// a job at the head when it has waited longer than tau seconds (M/M/1+D,
// Barrer 1957): rho (1-rho) e / (1 - rho^2 e), e = exp(-(mu-lam) tau). The
// limit 1/(2 + mu tau) is used at lam = mu.
func DropLate(lam, mu, tau float64) float64 {
	rho := lam / mu
	d := 1 - rho
	x := (mu - lam) * tau
	if math.Abs(d) < 1e-9 {
		return 1 / (2 + mu*tau)
	}
	if x > 0 {
		e := math.Exp(-x)
		return rho * d * e / (1 - rho*rho*e)
	}
	// Divide by e: exp overflows for long overloads.
	return rho * d / (math.Exp(x) - rho*rho)
}

// Orbit returns the mean number of clients in orbit of the M/M/1 retrial
// queue in which a blocked client retries at rate theta until it is served:
// rho^2/(1-rho) + lam rho / (theta (1-rho)) (Falin and Templeton 1997, 1.2).
func Orbit(lam, mu, theta float64) (float64, error) {
	if err := positive(lam, mu, 1); err != nil {
		return 0, err
	}
	if lam >= mu {
		return 0, ErrUnstable
	}
	rho := lam / mu
	return (rho*rho + lam*rho/theta) / (1 - rho), nil
}

// ErlangA returns the probability that a client abandons, and the mean number
// in the system, of M/M/c with impatience rate theta for each waiting client
// (Palm 1957). With lam = mu = theta and c = 1 the number in the system is
// Poisson(1).
func ErlangA(lam, mu, theta float64, c int) (abandon, inSystem float64, err error) {
	if err := positive(lam, mu, c); err != nil {
		return 0, 0, err
	}
	if theta <= 0 {
		return 0, 0, fmt.Errorf("impatience rate %g is not positive", theta)
	}
	// Start at the mode and walk both ways until the terms vanish.
	death := func(q int) float64 {
		if q <= c {
			return float64(q) * mu
		}
		return float64(c)*mu + float64(q-c)*theta
	}
	mode := 0
	for death(mode+1) < lam {
		mode++
	}
	sum, n, left := 1.0, float64(mode), theta*math.Max(0, float64(mode-c))
	for q, w := mode+1, 1.0; ; q++ {
		w *= lam / death(q)
		sum += w
		n += float64(q) * w
		left += theta * math.Max(0, float64(q-c)) * w
		if w < 1e-18 {
			break
		}
	}
	for q, w := mode-1, 1.0; q >= 0 && w > 1e-18; q-- {
		w *= death(q+1) / lam
		sum += w
		n += float64(q) * w
		left += theta * math.Max(0, float64(q-c)) * w
	}
	return left / sum / lam, n / sum, nil
}

// AnySlow returns the probability that at least one of n parallel calls is
// slow when each is slow with probability p: 1-(1-p)^n without cancellation.
func AnySlow(p float64, n int) float64 { return -math.Expm1(float64(n) * math.Log1p(-p)) }

// AnySlowHedged returns the same when each call is hedged once to an
// independent replica, so that it is slow only if both are (Dean and Barroso,
// The Tail at Scale, 2013).
func AnySlowHedged(p float64, n int) float64 { return AnySlow(p*p, n) }

func positive(lam, mu float64, c int) error {
	switch {
	case !(lam > 0) || math.IsInf(lam, 0):
		return fmt.Errorf("arrival rate %g is not a positive number", lam)
	case !(mu > 0) || math.IsInf(mu, 0):
		return fmt.Errorf("service rate %g is not a positive number", mu)
	case c < 1:
		return fmt.Errorf("%d servers: at least one is needed", c)
	}
	return nil
}
