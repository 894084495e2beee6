package fluid

import (
	"fmt"
	"math"
)

// Threshold is the result of a search for the smallest disturbance that tips.
type Threshold struct {
	// At is the smallest size or duration that tips, Inf if none up to the
	// bound of the search does, 0 if the system is down without any.
	At float64
	// Monotone is false when a scan of 16 points found a larger disturbance
	// that does not tip; At is then the smallest that does.
	Monotone bool
	// Undecided counts runs of the search that ended at their horizon.
	Undecided int
}

// MinDuration returns the shortest disturbance of this kind and size, up to
// most seconds, that tips the model.
func (m *Model) MinDuration(kind Kind, size, most float64) (Threshold, error) {
	return m.threshold(0, most, func(x float64) Trigger { return Trigger{kind, size, x} })
}

// MinSize returns the least cut (Capacity, up to 1) or spike (a factor, up to
// most) of the given duration that tips the model.
func (m *Model) MinSize(kind Kind, duration, most float64) (Threshold, error) {
	lo := 0.0
	if kind == Spike {
		lo = 1
	}
	if kind == Outage {
		return Threshold{}, fmt.Errorf("an outage has no size")
	}
	return m.threshold(lo, most, func(x float64) Trigger { return Trigger{kind, x, duration} })
}

func (m *Model) threshold(lo, hi float64, at func(float64) Trigger) (Threshold, error) {
	th := Threshold{At: math.Inf(1), Monotone: true}
	tips := func(x float64) (bool, error) {
		o, err := m.Run(at(x))
		if err == nil && !o.Decided {
			th.Undecided++
		}
		return o.Tipped, err
	}
	// Scan first: waves one timeout apart could make the set that tips ragged.
	const points = 16
	first := -1
	for i := range points + 1 {
		x := lo + (hi-lo)*float64(i)/points
		t, err := tips(x)
		if err != nil {
			return th, err
		}
		if t && first < 0 {
			first = i
		}
		if !t && first >= 0 {
			th.Monotone = false
		}
	}
	switch first {
	case -1:
		return th, nil
	case 0:
		th.At = lo
		return th, nil
	}
	a, b := lo+(hi-lo)*float64(first-1)/points, lo+(hi-lo)*float64(first)/points
	for range 40 {
		if b-a < 1e-5*math.Max(b, 1e-9) {
			break
		}
		mid := (a + b) / 2
		t, err := tips(mid)
		if err != nil {
			return th, err
		}
		if t {
			b = mid
		} else {
			a = mid
		}
	}
	th.At = b
	return th, nil
}

// OutageBound is the closed-form bound of the shortest outage that tips two
// attempts without backoff, from the first wave of late attempts alone:
// timeout (1 + (1-rho)^2/rho).
func OutageBound(rho, timeout float64) float64 {
	return timeout * (1 + (1-rho)*(1-rho)/rho)
}

// RecoveryTime is the closed form of the time to recover, after the end of an
// outage of d seconds, of a system whose attempts all fail meanwhile:
// (Q0 - capacity timeout)/(capacity - A load), with A attempts per first try
// and Q0 what has been sent until the end of the outage. Inf when the backlog
// does not shrink.
func RecoveryTime(load, capacity, timeout, d float64, attempts int, ratio float64) float64 {
	ampl := float64(attempts)
	sent := 0.0
	for k := range attempts { // attempt k+1 starts k timeouts later
		w := 1.0
		if ratio >= 0 && k > 0 {
			w = math.Max(0, math.Min(1, ratio-float64(k-1)))
		}
		sent += w * math.Max(0, d-float64(k)*timeout)
	}
	if ratio >= 0 {
		ampl = math.Min(ampl, 1+ratio)
	}
	spare := capacity - ampl*load
	if spare <= 0 {
		return math.Inf(1)
	}
	return math.Max(0, (load*sent-capacity*timeout)/spare)
}
