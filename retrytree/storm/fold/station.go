// Package fold finds every steady state of a server whose clients try again,
// and the loads at which steady states appear and vanish.
//
// The rate of attempts L that reaches a server and the rate of first tries lam
// satisfy L = lam A(p(L)), where p(L) is the probability that an attempt fails
// at that load and A the number of attempts it causes. There may be several L
// for one lam, but only one lam for each L: lam(L) = L / A(p(L)). So the
// curve is drawn over L; its interior extrema are the folds. No iteration can
// fail to converge there.
//
// Rates are per second, times are seconds.
package fold

import (
	"fmt"
	"math"

	"github.com/relplan/relplan/retrytree/storm/queue"
)

// Station is what attempts meet.
type Station struct {
	// Servers work in parallel, each at Rate; Servers 0 means a station
	// without a queue whose response time is 1/Rate + Slope times the number
	// in service (a linear concurrency law).
	Servers int
	Rate    float64
	Slope   float64
	// SCV is the squared coefficient of variation of the service time; 0 is
	// read as 1 (exponential) unless Deterministic is set. Values other than
	// 1 use the heavy-traffic exponent and are an approximation.
	SCV           float64
	Deterministic bool
	// Room is how many may wait; 0 no bound, negative none.
	Room int
	// Timeout is the client's limit for one attempt; 0 means none.
	Timeout float64
	// Network is the mean of each of two exponential network delays, for
	// Servers 0 only.
	Network float64
	// Sheds says that work nobody waits for is not done (LIFO, admission by
	// remaining time): there is no collapsed state.
	Sheds bool
	// Degrade is the share of capacity left while collapsed (cold caches,
	// garbage collection); 0 means 1.
	Degrade float64
}

// Validate reports the first field that makes no sense.
func (s Station) Validate() error {
	bad := func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) || x < 0 }
	switch {
	case s.Servers < 0 || s.Servers > 1e6:
		return fmt.Errorf("%d servers", s.Servers)
	case !(s.Rate > 0) || math.IsInf(s.Rate, 0):
		return fmt.Errorf("service rate %g is not positive", s.Rate)
	case s.Servers == 0 && !(s.Slope > 0):
		return fmt.Errorf("a station without servers needs a slope: otherwise it never overloads")
	case bad(s.Slope), bad(s.SCV), bad(s.Timeout), bad(s.Network):
		return fmt.Errorf("negative or infinite parameter")
	case bad(s.Degrade) || s.Degrade > 1:
		return fmt.Errorf("degraded capacity %g is not between 0 and 1", s.Degrade)
	}
	return nil
}

// Capacity is the largest rate of attempts the station can work off.
func (s Station) Capacity() float64 {
	if s.Servers == 0 {
		return 1 / s.Slope
	}
	return float64(s.Servers) * s.Rate
}

func (s Station) scv() float64 {
	if s.Deterministic {
		return 0
	}
	if s.SCV == 0 {
		return 1
	}
	return s.SCV
}

// state is what an attempt meets at one rate of attempts.
type state struct {
	attempts float64 // rate
	late     float64 // P(timeout | admitted)
	reject   float64
	response float64 // mean of admitted, capped at the timeout
}

// fail is the probability that an attempt does not succeed.
func (x state) fail() float64 { return x.reject + (1-x.reject)*x.late }

// law evaluates a station; it holds tables that do not depend on the load.
type law struct {
	Station
	capacity float64
	tails    []float64 // P(late | q found), bounded queues
	limit    float64   // seconds left of the timeout for this station
}

func newLaw(s Station) *law {
	l := &law{Station: s, capacity: s.Capacity(), limit: s.Timeout}
	if s.Timeout == 0 {
		l.limit = math.Inf(1)
	}
	l.prepare()
	return l
}

// maxStates bounds the table of a bounded queue; a longer one is cut where
// every arrival is certain to be late.
const maxStates = 1 << 17

// prepare tabulates P(late | q found) up to where every arrival is late.
func (l *law) prepare() {
	l.tails = nil
	if l.Servers == 0 || l.Room == 0 {
		return
	}
	k := l.Servers + max(0, l.Room)
	if math.IsInf(l.limit, 1) {
		l.tails = make([]float64, min(k, maxStates))
		return
	}
	a := l.capacity * l.limit
	far := l.Servers + int(math.Min(a+9*math.Sqrt(a), maxStates)) + 50
	l.tails = queue.SojournTails(l.Rate, l.Servers, min(k, far), l.limit)
}

// at returns what an attempt meets when attempts arrive at rate x.
func (l *law) at(x float64) state {
	if x <= 0 {
		x = 0
	}
	switch {
	case l.Servers == 0:
		return l.concurrency(x)
	case l.Room != 0:
		return l.bounded(x)
	}
	return l.unbounded(x)
}

func (l *law) unbounded(x float64) state {
	st := state{attempts: x}
	eta := l.capacity - x
	if eta <= 0 {
		if !math.IsInf(l.limit, 1) {
			st.late = 1
		}
		st.response = l.limit
		return st
	}
	scv := l.scv()
	a := x / l.Rate
	switch {
	case math.IsInf(l.limit, 1):
		st.late = 0
	case scv == 1:
		st.late = queue.ResponseTail(x, l.Rate, l.Servers, l.limit)
	default:
		// P(W > t) ~ C exp(-2 eta t/(1+scv)); the own service is its mean.
		t := l.limit - 1/l.Rate
		st.late = 1
		if t > 0 {
			st.late = queue.ErlangC(a, l.Servers) * math.Exp(-2*eta*t/(1+scv))
		}
	}
	st.response = math.Min(l.limit, 1/l.Rate+queue.ErlangC(a, l.Servers)*(1+scv)/2/eta)
	return st
}

// bounded sums over the states of the finite queue in one pass, upwards below
// capacity and downwards above, so that the weights never overflow. States
// beyond the table are certain to be late; theirs is a geometric sum.
func (l *law) bounded(x float64) state {
	st := state{attempts: x}
	if x == 0 {
		st.late, st.response = l.tails[0], 1/l.Rate
		return st
	}
	c := l.Servers
	n, k := len(l.tails), c+max(0, l.Room) // states 0..n-1 tabled, n..k beyond
	var sum, late, jobs, wait float64
	if x <= l.capacity {
		w, a := 1.0, x/l.Rate
		for q := range min(c, n) {
			sum += w
			late += w * l.tails[q]
			jobs += w * float64(q)
			w *= a / float64(q+1)
			if w > 1e200 {
				w, sum, late, jobs = w*1e-200, sum*1e-200, late*1e-200, jobs*1e-200
			}
		}
		r := x / l.capacity
		for q := c; q < n; q++ {
			sum += w
			wait += w * l.tails[q]
			jobs += w * float64(q)
			w *= r
		}
		rest := w * geometric(r, k-n+1)
		block := w * math.Pow(r, float64(k-n))
		return st.close(l, sum+rest, late+wait+rest-block, block, jobs+rest*float64(n))
	}
	r := l.capacity / x
	rest := geometric(r, k-n+1) // in units of the weight of the full state
	w := math.Pow(r, float64(k-n+1))
	jobs = rest * float64(k)
	for q := n - 1; q >= c; q-- {
		sum += w
		late += w * l.tails[q]
		jobs += w * float64(q)
		w *= r
	}
	// The weight of state c-1 relative to c is c mu/x as well.
	for q := min(c, n) - 1; q >= 0; q-- {
		sum += w
		late += w * l.tails[q]
		jobs += w * float64(q)
		w *= float64(q) * l.Rate / x
	}
	return st.close(l, sum+rest, late+rest-1, 1, jobs)
}

// close turns weights into probabilities.
func (x state) close(l *law, sum, late, block, jobs float64) state {
	x.reject = math.Min(1, block/sum)
	admitted := sum - block
	if admitted <= 0 {
		x.late, x.response = 1, l.limit
		return x
	}
	x.late = math.Min(1, math.Max(0, late/admitted))
	x.response = math.Min(l.limit, jobs/(x.attempts*admitted))
	return x
}

// geometric returns 1 + r + ... + r^(n-1).
func geometric(r float64, n int) float64 {
	if d := 1 - r; math.Abs(d) > 1e-9 {
		return -math.Expm1(float64(n)*math.Log(r)) / d
	}
	return float64(n)
}

// concurrency: N = L (1/Rate + Slope N).
func (l *law) concurrency(x float64) state {
	st := state{attempts: x}
	if x >= l.capacity {
		st.late, st.response = 1, l.limit
		return st
	}
	n := x / l.Rate / (1 - x*l.Slope)
	return l.inService(n)
}

func (l *law) inService(n float64) state {
	r := 1/l.Rate + l.Slope*(n+1)
	st := state{attempts: n / (1/l.Rate + l.Slope*n)}
	st.response = math.Min(l.limit, r+2*l.Network)
	switch t := l.limit - r; {
	case math.IsInf(l.limit, 1):
		st.late = 0
	case t <= 0:
		st.late = 1
	case l.Network > 0:
		st.late = (1 + t/l.Network) * math.Exp(-t/l.Network)
	}
	return st
}
