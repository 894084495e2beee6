package deadline

import (
	"fmt"
	"time"
)

// Hop is one service in a chain of callers, the outermost first.
type Hop struct {
	// Name identifies the hop in results.
	Name string
	// Spent is the time that passes at this hop, queueing included, before it
	// calls the next one.
	Spent time.Duration
	// Own is the hop's own limit for what it does, counted from its arrival;
	// 0 means none. A correct hop works until the earlier of Own and the
	// deadline it was given.
	Own time.Duration
	// Margin is taken off the deadline before it is passed on: time for the
	// answer to travel back. 0 means none.
	Margin time.Duration
	// IgnoresCaller marks a hop that uses Own in place of the deadline it was
	// given: the classic mistake of a hard-coded timeout. With Own 0 the hop
	// works without any limit.
	IgnoresCaller bool
}

// View is the time one hop has on arrival.
type View struct {
	// Name is the hop's name.
	Name string
	// Arrives is the time since the start at which the hop is entered.
	Arrives time.Duration
	// Remaining is the time until the earliest deadline of everybody above the
	// hop, with the margins taken off. Negative: the caller is gone.
	Remaining time.Duration
	// Believes is the time the hop thinks it has. It differs from Remaining
	// below a hop that ignores its caller.
	Believes time.Duration
	// GiveUp is true when nothing remains: work started here is for nobody.
	GiveUp bool
	// WastedUpTo is the time the hop would still work after its caller's
	// deadline because it believes in a later one; 0 when it does not.
	WastedUpTo time.Duration
}

// Propagate carries a deadline of the given length along a chain. It returns
// one View a hop, in order; the first hop has the whole deadline.
func Propagate(deadline time.Duration, chain []Hop) ([]View, error) {
	if deadline < 0 {
		return nil, fmt.Errorf("deadline is negative: %v", deadline)
	}
	views := make([]View, 0, len(chain))
	var at time.Duration // since the start
	truth := deadline    // absolute: the earliest honest deadline so far
	belief := deadline   // absolute: what travels with the call
	for _, h := range chain {
		if h.Spent < 0 || h.Own < 0 || h.Margin < 0 {
			return nil, fmt.Errorf("hop %q has a negative duration", h.Name)
		}
		own := Max
		if h.Own > 0 {
			own = SatAdd(at, h.Own)
		}
		if h.IgnoresCaller {
			belief = own
		} else {
			belief = min(belief, own)
		}
		truth = min(truth, own)
		v := View{Name: h.Name, Arrives: at, Remaining: until(at, truth), Believes: until(at, belief)}
		v.GiveUp = v.Remaining <= 0
		if belief > truth {
			v.WastedUpTo = max(0, until(max(truth, at), belief))
		}
		views = append(views, v)
		at = SatAdd(at, h.Spent)
		truth = earlier(truth, h.Margin)
		belief = earlier(belief, h.Margin)
	}
	return views, nil
}

// until is the time from at to the point t; Max stands for "never".
func until(at, t time.Duration) time.Duration {
	if t == Max {
		return Max
	}
	return SatSub(t, at)
}

// earlier takes a margin off a point in time; "never" stays never.
func earlier(t, margin time.Duration) time.Duration {
	if t == Max {
		return Max
	}
	return SatSub(t, margin)
}
