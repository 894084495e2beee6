package deadline

import (
	"math"
	"time"
)

// Unlimited is the count of attempts of a policy that sets no limit.
const Unlimited int64 = math.MaxInt64

// Policy is the timing of one retry loop.
type Policy struct {
	// Attempts is the largest number of attempts, the first included; 0 means
	// 1, [Unlimited] means no limit.
	Attempts int64
	// PerTry is the limit of one attempt; 0 means none: it may hang.
	PerTry time.Duration
	// Overall is the limit of the whole call, waits included; 0 means none.
	Overall time.Duration
	// StopsOnly: Overall stops new attempts but does not cut the running one
	// (nginx, APISIX, Traefik, Caddy, Dapr).
	StopsOnly bool
	// TimeoutEnds: an attempt that hits its per-try limit is not retried
	// (Envoy without "5xx", "gateway-error" or "reset" in retry_on).
	TimeoutEnds bool
	// Waits are the pauses between attempts; nil means none.
	Waits Waits
	// Hedged: attempts are copies that start every Hedge without waiting for
	// the ones before to end; Waits do not apply.
	Hedged bool
	Hedge  time.Duration
}

// count is Attempts with its default.
func (p Policy) count() int64 { return max(p.Attempts, 1) }

func (p Policy) waitSum(n int64) (low, high time.Duration) {
	if p.Waits == nil || n < 1 {
		return 0, 0
	}
	return p.Waits.Sum(n)
}

// Fast returns the attempts that start when every one fails at once: waits of
// their smallest length alone must stay below Overall.
func (p Policy) Fast() int64 {
	if p.Overall == 0 {
		return p.count()
	}
	return p.startsBefore(0, p.Overall)
}

// Start returns the bounds of the start of attempt k, from 1, when each attempt
// before it takes the time given.
func (p Policy) Start(k int64, each time.Duration) (low, high time.Duration) {
	if p.Hedged {
		at := SatMul(p.Hedge, k-1)
		return at, at
	}
	low, high = p.waitSum(k - 1)
	before := SatMul(each, k-1)
	return SatAdd(before, low), SatAdd(before, high)
}

// Slow returns the attempts that start when every one hangs until its own limit
// ends it. Without a per-try limit the first attempt never ends, or takes all
// of Overall, so it is 1. Copies of a hedge start all the same.
func (p Policy) Slow() int64 {
	switch {
	case p.Hedged:
		return p.Fast()
	case p.count() == 1, p.TimeoutEnds, p.PerTry == 0:
		return 1
	case p.Overall == 0:
		return p.count()
	}
	return p.startsBefore(p.PerTry, p.Overall)
}

// startsBefore returns the largest k <= count with (k-1)*each + the smallest
// first k-1 waits < limit, and at least 1. When neither time nor waits pass it
// is the whole count.
func (p Policy) startsBefore(each, limit time.Duration) int64 {
	return largest(p.count(), func(k int64) bool {
		low, _ := p.Start(k, each)
		return low < limit
	})
}

// largest returns the largest k in [1, n] for which ok holds, given that ok is
// true up to some point and false after it; 1 when it never holds.
func largest(n int64, ok func(int64) bool) int64 {
	if n == Unlimited {
		const far = int64(1) << 40
		if ok(far) {
			return Unlimited
		}
		n = far
	}
	lo, hi := int64(1), n
	for lo < hi {
		if mid := lo + (hi-lo+1)/2; ok(mid) {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	return lo
}

// Worst returns the longest time from the first attempt until the caller has
// its answer, and false when there is no bound:
//
//	min(Overall, attempts*PerTry + the largest waits)
//
// or Overall + PerTry in place of Overall when Overall only stops new attempts.
func (p Policy) Worst() (time.Duration, bool) {
	all, bounded := p.unlimitedWorst()
	if p.Overall == 0 {
		return all, bounded
	}
	limit := p.Overall
	if p.StopsOnly {
		if p.PerTry == 0 {
			return 0, false
		}
		limit = SatAdd(limit, p.PerTry)
	}
	if bounded {
		limit = min(limit, all)
	}
	return limit, true
}

// unlimitedWorst ignores Overall.
func (p Policy) unlimitedWorst() (time.Duration, bool) {
	if p.PerTry == 0 || p.Attempts == Unlimited {
		return 0, false
	}
	_, high := p.Start(p.count(), p.PerTry)
	return SatAdd(high, p.PerTry), true
}

// Horizon returns the time from the first attempt until the last one may still
// start, and false when there is no bound:
//
//	H = sum over i < attempts of (PerTry + the largest wait i)
//
// or (attempts - 1) * Hedge for a hedge. It bounds from below how long the receiver must remember a key. Overall caps
// it, because it stops new attempts.
func (p Policy) Horizon() (time.Duration, bool) {
	if p.count() == 1 {
		return 0, true
	}
	if p.PerTry == 0 && !p.Hedged || p.Attempts == Unlimited {
		return p.Overall, p.Overall > 0
	}
	_, h := p.Start(p.count(), p.PerTry)
	if p.Overall > 0 {
		h = min(h, p.Overall)
	}
	return h, true
}

// PerTryFor returns the longest per-try limit with which all attempts of the
// policy end within the time that remains, whatever the jitter:
//
//	(remaining - the largest waits) / attempts
//
// or remaining - (attempts - 1) * Hedge for a hedge. It is false when the waits
// alone leave nothing, or the attempts have no limit.
func (p Policy) PerTryFor(remaining time.Duration) (time.Duration, bool) {
	_, waits := p.Start(p.count(), 0)
	starts := Max // when the last attempt must have started
	if p.Overall > 0 {
		starts = p.Overall
		if !p.StopsOnly {
			remaining = min(remaining, p.Overall)
		}
	}
	if p.Attempts == Unlimited || waits >= min(remaining, starts) {
		return 0, false
	}
	each := remaining - waits
	if n := time.Duration(p.count()); !p.Hedged {
		each /= n
		if n > 1 && starts != Max {
			each = min(each, (starts-1-waits)/(n-1))
		}
	}
	return each, each > 0
}

// Slot is one attempt of a schedule in which every attempt takes all of its
// per-try limit. Times count from the first attempt.
type Slot struct {
	K                     int64         // 1 for the first attempt
	StartsLow, StartsHigh time.Duration // with the smallest and the largest waits
	EndsLow, EndsHigh     time.Duration
	Starts                bool // the earliest start is before the limit
	FitsLow               bool // ends in time with the smallest waits
	Admit                 bool // ends in time whatever the jitter
}

// Fit is how many attempts of a policy have room in the time that is left.
type Fit struct {
	// Limit is the time they have: the smaller of what remains and Overall;
	// [Max] when there is none.
	Limit time.Duration
	// Configured is the number of attempts of the policy.
	Configured int64
	// Starts, FitsLow and FitsHigh count the attempts that start, that end in
	// time with the smallest waits, and that end in time with the largest.
	Starts, FitsLow, FitsHigh int64
	// Slots are the first attempts, at most 100.
	Slots []Slot
	// Margin is the time left after the last configured attempt with the
	// largest waits: negative when something does not fit; 0 when the end has
	// no bound. See Bounded.
	Margin time.Duration
	// Bounded is false when the end of the last attempt is not bounded (no
	// per-try limit, or no limit on the attempts).
	Bounded bool
}

// maxSlots bounds the list of attempts in a [Fit].
const maxSlots = 100

// Fit lays the attempts of the policy into the time that remains when the first
// one is about to start; [Max] means no deadline. An attempt without a per-try
// limit takes everything that is left. Fits means end <= limit; starts means
// start < limit.
func (p Policy) Fit(remaining time.Duration) Fit {
	f := Fit{Limit: remaining, Configured: p.count()}
	if p.Overall > 0 {
		f.Limit = min(f.Limit, p.Overall)
	}
	each := p.PerTry
	if each == 0 {
		each = max(f.Limit, 0)
	}
	endBy := f.Limit // what only stops new attempts does not cut the running one
	if p.StopsOnly {
		endBy = remaining
	}
	slot := func(k int64) Slot {
		s := Slot{K: k}
		s.StartsLow, s.StartsHigh = p.Start(k, each)
		s.EndsLow, s.EndsHigh = SatAdd(s.StartsLow, each), SatAdd(s.StartsHigh, each)
		if p.PerTry == 0 && p.Hedged { // a copy takes what is left
			s.EndsLow, s.EndsHigh = max(s.StartsLow, endBy), max(s.StartsHigh, endBy)
		}
		s.Starts = s.StartsLow < f.Limit
		s.FitsLow = s.Starts && s.EndsLow <= endBy
		s.Admit = s.StartsHigh < f.Limit && s.EndsHigh <= endBy
		return s
	}
	count := func(ok func(Slot) bool) int64 {
		if !ok(slot(1)) {
			return 0
		}
		return largest(f.Configured, func(k int64) bool { return ok(slot(k)) })
	}
	f.Starts = count(func(s Slot) bool { return s.Starts })
	f.FitsLow = count(func(s Slot) bool { return s.FitsLow })
	f.FitsHigh = count(func(s Slot) bool { return s.Admit })
	for k := int64(1); k <= min(f.Configured, maxSlots); k++ {
		f.Slots = append(f.Slots, slot(k))
	}
	if f.Bounded = p.PerTry > 0 && f.Configured != Unlimited; f.Bounded && endBy != Max {
		f.Margin = SatSub(endBy, slot(f.Configured).EndsHigh)
	}
	return f
}
