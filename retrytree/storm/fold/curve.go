package fold

import (
	"fmt"
	"math"
	"sort"

	"github.com/relplan/relplan/retrytree/storm/budget"
	"github.com/relplan/relplan/retrytree/storm/queue"
)

// Layer is one client that tries again; several of them may stand above each
// other on the way to one server.
type Layer struct {
	// Attempts is the largest number of attempts, at least 1.
	Attempts int
	Budget   budget.Policy
	// Clients is the number of instances, each with its own budget; 0 is 1.
	Clients int
	// NoRetryRejected does not try again after a refusal.
	NoRetryRejected bool
}

// Point is one steady state.
type Point struct {
	// Load is the rate of first tries, Attempts that of attempts, Good that
	// of first tries that succeed in the end.
	Load, Attempts, Good float64
	// Fail is the probability that an attempt fails.
	Fail float64
	// Stable: small disturbances die out.
	Stable bool
}

// Curve holds all steady states of one server.
type Curve struct {
	// Points in the order of rising Attempts.
	Points []Point
	// Capacity of the server, attempts per second.
	Capacity float64
	// Stable is the highest load at which the healthy state is the only one:
	// whatever happened before, the system comes back below it. It is lam_rec
	// of the design, C/(w_L w_C) of the OSDI'22 paper.
	Stable float64
	// Fold is the load at which the healthy state ends.
	Fold float64
	// FoldAttempts is the rate of attempts at the fold.
	FoldAttempts float64
	// Monostable: there is no load with two stable states.
	Monostable bool
	// Coarse: the timeout is worth fewer than 20 services, so that attempts
	// that come back together are not a Poisson stream; simulate.
	Coarse bool

	law    *law
	layers []Layer
}

const gridSize = 256

// Solve draws the curve for a station and the layers of clients above it,
// outermost first; the last layer is the edge into the station.
func Solve(s Station, layers ...Layer) (*Curve, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if len(layers) == 0 {
		layers = []Layer{{Attempts: 1}}
	}
	most := 1.0
	for _, l := range layers {
		if l.Attempts < 1 {
			return nil, fmt.Errorf("%d attempts: at least 1", l.Attempts)
		}
		if err := l.Budget.Validate(); err != nil {
			return nil, err
		}
		most *= float64(l.Attempts)
	}
	c := &Curve{law: newLaw(s), layers: layers, Capacity: s.Capacity()}
	c.Coarse = s.Timeout > 0 && s.Servers > 0 && c.Capacity*s.Timeout < 20
	for _, x := range c.grid(math.Min(most, 1e4)) {
		c.Points = append(c.Points, c.point(x))
	}
	c.findFolds()
	return c, nil
}

// grid returns rates of attempts: dense towards the capacity, where p(L)
// turns, on a scale of distance that starts at a millionth of 1/timeout.
func (c *Curve) grid(most float64) []float64 {
	capacity := c.Capacity
	near := 1e-9 * capacity
	xs := make([]float64, 0, 2*gridSize+2)
	for i := range gridSize {
		d := near * math.Pow(0.9999*capacity/near, float64(i)/(gridSize-1))
		xs = append(xs, capacity-d)
	}
	if c.law.Servers > 0 {
		xs = append(xs, capacity)
		top := 2 * capacity * most
		for i := range gridSize {
			xs = append(xs, capacity+near*math.Pow((top-capacity)/near, float64(i)/(gridSize-1)))
		}
	}
	sort.Float64s(xs)
	return xs
}

// calls returns attempts per first try and the success of a first try, for
// attempts that meet state x, at load first tries per second.
func (c *Curve) calls(x state, load float64) (attempts, success float64) {
	attempts = 1
	fail, retry := x.fail(), x.fail()
	last := len(c.layers) - 1
	if c.layers[last].NoRetryRejected {
		retry = (1 - x.reject) * x.late
	}
	ok := 1 - fail
	for i := last; i >= 0; i-- {
		l := c.layers[i]
		rate := load / float64(max(1, l.Clients))
		a := l.Budget.Steady(retry, l.Attempts, rate)
		attempts *= a
		ok = math.Min(1, a*ok) // each attempt of this layer succeeds with ok
		if i == last && c.layers[last].NoRetryRejected {
			// What a refusal ended is lost to this layer, not to the next.
			retry = 1 - ok
			continue
		}
		retry = 1 - ok
	}
	return attempts, ok
}

func (c *Curve) floors() bool {
	for _, l := range c.layers {
		if l.Budget.Floor > 0 {
			return true
		}
	}
	return false
}

// point returns the steady state with attempts arriving at rate x.
func (c *Curve) point(x float64) Point {
	st := c.law.at(x)
	load := x
	if c.floors() {
		// Attempts rise with the load: bisect on its logarithm.
		lo, hi := x*1e-9, x
		for range 80 {
			mid := math.Sqrt(lo * hi)
			if a, _ := c.calls(st, mid); mid*a > x {
				hi = mid
			} else {
				lo = mid
			}
		}
		load = lo
	} else {
		a, _ := c.calls(st, 1)
		load = x / a
	}
	_, ok := c.calls(st, load)
	return Point{Load: load, Attempts: x, Good: load * ok, Fail: st.fail()}
}

// findFolds marks stability and finds the extrema of load over attempts.
func (c *Curve) findFolds() {
	ps := c.Points
	for i := range ps {
		j := min(i+1, len(ps)-1)
		k := max(0, j-1)
		ps[i].Stable = ps[j].Load >= ps[k].Load
	}
	top, low := -1, -1 // first interior maximum, lowest later minimum
	for i := 1; i < len(ps)-1; i++ {
		if top < 0 && ps[i].Load >= ps[i-1].Load && ps[i].Load > ps[i+1].Load*(1+1e-12) {
			top = i
		}
		if top >= 0 && i > top && ps[i].Load <= ps[i-1].Load && ps[i].Load < ps[i+1].Load &&
			(low < 0 || ps[i].Load < ps[low].Load) {
			low = i
		}
	}
	degrade := c.law.Degrade
	if degrade == 0 {
		degrade = 1
	}
	if c.law.Servers == 0 && top >= 0 && low < 0 {
		low = len(ps) - 1 // the collapsed branch of a concurrency law is its end
	}
	if c.law.Sheds || top < 0 || low < 0 || c.law.Timeout == 0 {
		c.Monostable = true
		c.Fold, c.FoldAttempts = c.Capacity, c.Capacity
		c.Stable = c.Capacity
		return
	}
	// The stretch between fold and minimum may be wider than one cell.
	for i := top; i > 0 && ps[i-1].Load > ps[top].Load; i-- {
		top = i - 1
	}
	x, y := maximise(func(x float64) float64 { return c.point(x).Load }, ps[top-1].Attempts, ps[top+1].Attempts)
	c.FoldAttempts, c.Fold = x, y
	if c.law.Servers > 0 && c.law.Room == 0 {
		c.Stable = c.point(c.Capacity).Load * degrade
	} else {
		hi := min(low+1, len(ps)-1)
		_, m := maximise(func(x float64) float64 { return -c.point(x).Load }, ps[low-1].Attempts, ps[hi].Attempts)
		c.Stable = -m * degrade
	}
	if c.Stable >= c.Fold {
		c.Monostable = true
		c.Stable = c.Fold
	}
}

// maximise finds the maximum of a function with one on [a, b] by golden
// section; flat ends and kinks do not disturb it.
func maximise(f func(float64) float64, a, b float64) (x, y float64) {
	const g = 0.6180339887498949
	x1, x2 := b-g*(b-a), a+g*(b-a)
	f1, f2 := f(x1), f(x2)
	for range 60 {
		if f1 < f2 {
			a, x1, f1 = x1, x2, f2
			x2 = a + g*(b-a)
			f2 = f(x2)
		} else {
			b, x2, f2 = x2, x1, f1
			x1 = b - g*(b-a)
			f1 = f(x1)
		}
	}
	x = (a + b) / 2
	return x, math.Max(f(x), math.Max(f1, f2))
}

// At returns the steady states at a load, in the order of rising attempts:
// one, or three of which the middle one is unstable. A state that only grows
// (an unbounded queue above its capacity) is the last of them.
func (c *Curve) At(load float64) []Point {
	var out []Point
	ps := c.Points
	add := func(a, b float64, up bool) {
		for range 100 {
			mid := (a + b) / 2
			if (c.point(mid).Load < load) == up {
				a = mid
			} else {
				b = mid
			}
		}
		p := c.point((a + b) / 2)
		p.Stable = up
		out = append(out, p)
	}
	if len(ps) > 0 && ps[0].Load > load {
		add(0, ps[0].Attempts, true)
	}
	for i := 1; i < len(ps); i++ {
		switch {
		case ps[i-1].Load <= load && load < ps[i].Load:
			add(ps[i-1].Attempts, ps[i].Attempts, true)
		case ps[i-1].Load > load && load >= ps[i].Load:
			add(ps[i-1].Attempts, ps[i].Attempts, false)
		}
	}
	// Near a fold two states may hide in one cell: look at the fold itself.
	if !c.Monostable && len(out) == 1 && load < c.Fold && load > c.Stable && out[0].Attempts > c.FoldAttempts {
		lower := c.below(load)
		upper := c.above(load)
		out = []Point{lower, upper, out[0]}
	}
	return out
}

func (c *Curve) below(load float64) Point {
	a, b := 0.0, c.FoldAttempts
	for range 100 {
		if mid := (a + b) / 2; c.point(mid).Load < load {
			a = mid
		} else {
			b = mid
		}
	}
	p := c.point((a + b) / 2)
	p.Stable = true
	return p
}

func (c *Curve) above(load float64) Point {
	a, b := c.FoldAttempts, c.Capacity
	for range 100 {
		if mid := (a + b) / 2; c.point(mid).Load > load {
			a = mid
		} else {
			b = mid
		}
	}
	return c.point((a + b) / 2)
}

// Escape returns the natural logarithm of the mean time, seconds, in which
// chance alone takes the healthy state at this load to a backlog of one
// timeout, and false when there is no collapsed state to escape to. It is a
// first passage of M/M/c; the fold is only an upper bound of the loads at
// which a system lives.
func (c *Curve) Escape(load float64) (logSeconds float64, ok bool) {
	l := c.law
	if c.Monostable || l.Servers == 0 || load <= c.Stable || load >= c.Fold {
		return 0, false
	}
	k := c.Capacity * l.Timeout
	if l.Room != 0 && float64(l.Servers+max(0, l.Room)) < k {
		return 0, false
	}
	s := (1 + l.scv()) / 2
	return queue.LogFirstPassage(load, l.Rate, l.Servers, max(1, int(math.Round(k/s)))) + math.Log(s), true
}

// CacheRisk returns what a cache with the given hit rate in front of a server
// lets it advertise, what it hides (the server's own rate), and the load the
// server sees when the cache is lost, relative to before.
func CacheRisk(server, hit float64) (advertised, hidden, factor float64) {
	return server / (1 - hit), server, 1 / (1 - hit)
}
