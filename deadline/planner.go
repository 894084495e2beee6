package deadline

import (
	"fmt"
	"math"
	"time"

	"gonum.org/v1/gonum/optimize"
)

// Goal is what the planner looks for: a retry policy that keeps a deadline.
type Goal struct {
	// Deadline is the time for everything.
	Deadline time.Duration
	// Target is the share of calls that must succeed in time, such as 0.999.
	Target float64
	// Latency is the time of an attempt that succeeds.
	Latency *Latency
	// Failure is the probability that an attempt fails whatever its limit.
	Failure float64
	// MaxAttempts bounds the search; 0 means 5.
	MaxAttempts int64
	// MinBackoff is the shortest first wait allowed; Factor (0: 2) its growth.
	// Waits are planned without jitter or with full jitter below them: the
	// longest wait counts.
	MinBackoff time.Duration
	Factor     float64
	// Outage is the probability that the callee is down when the call starts,
	// and MeanOutage how long that lasts in the mean; retries help only when
	// they come after its end. Both 0: failures are independent.
	Outage     float64
	MeanOutage time.Duration
}

// Option is one policy that fits the deadline whatever happens.
type Option struct {
	// Attempts, PerTry and Backoff are the policy: Backoff is the first wait.
	Attempts int64
	PerTry   time.Duration
	Backoff  time.Duration
	// Success is the share of calls that succeed in time.
	Success float64
	// Amplification is the expected attempts per call; the worst case is
	// Attempts.
	Amplification float64
	// Worst is the longest time: Attempts*PerTry and all waits.
	Worst time.Duration
	// Meets tells whether Success reaches the target.
	Meets bool
}

// Suggestion is what the planner found.
type Suggestion struct {
	// Best is the option with the least amplification among those that meet
	// the target; if none does, the one with the most success.
	Best Option
	// Trade has the best option for each number of attempts, fewest first.
	Trade []Option
	// Extrapolated is true when Best rests on the tail beyond the highest
	// percentile given.
	Extrapolated bool
}

func (g *Goal) check() error {
	switch {
	case g.Deadline <= 0:
		return fmt.Errorf("deadline is %v, expected more than 0", g.Deadline)
	case !(g.Target > 0) || g.Target > 1:
		return fmt.Errorf("target is %v, expected a share above 0 and at most 1", g.Target)
	case g.Latency == nil:
		return fmt.Errorf("no latency given")
	case !(g.Failure >= 0) || g.Failure > 1:
		return fmt.Errorf("failure is %v, expected a probability", g.Failure)
	case g.MaxAttempts < 0 || g.MaxAttempts > 100:
		return fmt.Errorf("at most %d attempts, expected 1 to 100", g.MaxAttempts)
	case g.MinBackoff < 0 || g.MeanOutage < 0 || !(g.Factor >= 0):
		return fmt.Errorf("negative backoff, factor or outage")
	case !(g.Outage >= 0) || g.Outage > 1 || g.Outage > 0 && g.MeanOutage == 0:
		return fmt.Errorf("outage is %v of mean length %v, expected a probability with a length above 0", g.Outage, g.MeanOutage)
	}
	return nil
}

// Suggest searches the retry policies that always fit the deadline. For each
// number of attempts the per-try limit and the first wait are chosen for the
// most success: waits take a share of the deadline and the attempts share the
// rest equally, so that
//
//	Attempts*PerTry + waits <= Deadline
//
// holds for every schedule. A longer per-try limit only helps both success and
// amplification, so the share of the waits is the one thing to choose; it is
// searched by a scan polished with Nelder-Mead (gonum/optimize). Without an
// outage the shortest wait allowed is best.
func Suggest(g Goal) (Suggestion, error) {
	if err := g.check(); err != nil {
		return Suggestion{}, err
	}
	if g.MaxAttempts == 0 {
		g.MaxAttempts = 5
	}
	if g.Factor == 0 {
		g.Factor = 2
	}
	var s Suggestion
	for n := int64(1); n <= g.MaxAttempts; n++ {
		o, ok := g.bestOf(n)
		if !ok {
			break // not even the shortest waits leave time for attempts
		}
		s.Trade = append(s.Trade, o)
		if n == 1 || better(o, s.Best) {
			s.Best = o
		}
	}
	s.Extrapolated = g.Latency.Within(s.Best.PerTry) > g.Latency.Known()
	return s, nil
}

// better prefers meeting the target, then less amplification among those that
// do and more success among those that do not. Differences below 1e-9 do not
// count, so that fewer attempts win a tie.
func better(a, b Option) bool {
	switch {
	case a.Meets != b.Meets:
		return a.Meets
	case a.Meets:
		return a.Amplification < b.Amplification-1e-9
	}
	return a.Success > b.Success+1e-9
}

// waitSum is the sum of the first n-1 waits for a first wait of 1.
func (g *Goal) waitSum(n int64) float64 {
	sum, w := 0.0, 1.0
	for i := int64(1); i < n; i++ {
		sum += w
		w *= g.Factor
	}
	return sum
}

// option evaluates the policy of n attempts with a first wait.
func (g *Goal) option(n int64, wait time.Duration) (Option, bool) {
	b := Backoff{Base: wait, Factor: g.Factor}
	_, waits := b.Sum(n - 1)
	perTry := (g.Deadline - waits) / time.Duration(n)
	if waits >= g.Deadline || perTry <= 0 {
		return Option{}, false
	}
	o := Option{Attempts: n, PerTry: perTry, Backoff: wait, Worst: SatAdd(SatMul(perTry, n), waits)}
	if n == 1 {
		o.Backoff = 0
	}
	o.Success, o.Amplification = g.outcome(n, perTry, b)
	o.Meets = o.Success >= g.Target
	return o, true
}

// outcome is the success and the expected attempts of n attempts, carrying the
// probability of "all failed so far" apart for the callee up and down.
func (g *Goal) outcome(n int64, perTry time.Duration, b Backoff) (success, attempts float64) {
	pass := (1 - g.Failure) * g.Latency.Within(perTry)
	up, down := 1-g.Outage, g.Outage
	for k := int64(1); k <= n; k++ {
		attempts += up + down
		success += up * pass
		up *= 1 - pass
		if k == n || g.Outage == 0 {
			continue
		}
		// From the start of one attempt to the next: its limit and the wait.
		gap := (perTry + b.Cap(k)).Seconds()
		decay := math.Exp(-gap / ((1 - g.Outage) * g.MeanOutage.Seconds()))
		if g.Outage == 1 {
			decay = 1
		}
		toDown := g.Outage * (1 - decay)
		stays := g.Outage + (1-g.Outage)*decay
		up, down = up*(1-toDown)+down*(1-stays), up*toDown+down*stays
	}
	return success, attempts
}

// bestOf chooses the first wait for n attempts.
func (g *Goal) bestOf(n int64) (Option, bool) {
	best, ok := g.option(n, g.MinBackoff)
	if n == 1 || !ok || g.Outage == 0 {
		return best, ok
	}
	longest := float64(g.Deadline)/g.waitSum(n) - float64(g.MinBackoff)
	at := func(share float64) (Option, bool) {
		return g.option(n, g.MinBackoff+time.Duration(share*longest))
	}
	const steps = 64
	start := 0.0
	for i := 1; i < steps; i++ {
		if o, ok := at(float64(i) / steps); ok && o.Success > best.Success {
			best, start = o, float64(i)/steps
		}
	}
	p := optimize.Problem{Func: func(x []float64) float64 {
		if o, ok := at(x[0]); ok && x[0] >= 0 && x[0] <= 1 {
			return -o.Success
		}
		return 1
	}}
	r, err := optimize.Minimize(p, []float64{start}, &optimize.Settings{FuncEvaluations: 200}, &optimize.NelderMead{SimplexSize: 0.5 / steps})
	if r != nil && (err == nil || r.Status != optimize.Failure) {
		if o, ok := at(r.X[0]); ok && r.X[0] >= 0 && o.Success > best.Success {
			best = o
		}
	}
	return best, true
}
