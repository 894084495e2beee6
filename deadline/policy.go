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

// Slow returns the attempts that start when every one hangs until its own limit
// ends it. Without a per-try limit the first attempt never ends, or takes all
// of Overall, so it is 1.
func (p Policy) Slow() int64 {
	switch {
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
	starts := func(k int64) bool {
		low, _ := p.waitSum(k - 1)
		return SatAdd(SatMul(each, k-1), low) < limit
	}
	return largest(p.count(), starts)
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
	_, high := p.waitSum(p.count() - 1)
	return SatAdd(SatMul(p.PerTry, p.count()), high), true
}

// Horizon returns the time from the first attempt until the last one may still
// start, and false when there is no bound:
//
//	H = sum over i < attempts of (PerTry + the largest wait i)
//
// It bounds from below how long the receiver must remember a key. Overall caps
// it, because it stops new attempts.
func (p Policy) Horizon() (time.Duration, bool) {
	if p.count() == 1 {
		return 0, true
	}
	if p.PerTry == 0 || p.Attempts == Unlimited {
		return p.Overall, p.Overall > 0
	}
	_, high := p.waitSum(p.count() - 1)
	h := SatAdd(SatMul(p.PerTry, p.count()-1), high)
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
// false when the waits alone leave nothing, or the attempts have no limit.
func (p Policy) PerTryFor(remaining time.Duration) (time.Duration, bool) {
	if p.Overall > 0 {
		remaining = min(remaining, p.Overall)
	}
	_, waits := p.waitSum(p.count() - 1)
	if p.Attempts == Unlimited || waits >= remaining {
		return 0, false
	}
	each := (remaining - waits) / time.Duration(p.count())
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
	// Margin is Limit minus the end of the last configured attempt with the
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
	slot := func(k int64) Slot {
		low, high := p.waitSum(k - 1)
		before := SatMul(each, k-1)
		s := Slot{K: k, StartsLow: SatAdd(before, low), StartsHigh: SatAdd(before, high)}
		s.EndsLow, s.EndsHigh = SatAdd(s.StartsLow, each), SatAdd(s.StartsHigh, each)
		s.Starts = s.StartsLow < f.Limit
		s.FitsLow = s.Starts && s.EndsLow <= f.Limit
		s.Admit = s.StartsHigh < f.Limit && s.EndsHigh <= f.Limit
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
	if f.Bounded = p.PerTry > 0 && f.Configured != Unlimited; f.Bounded && f.Limit != Max {
		f.Margin = SatSub(f.Limit, slot(f.Configured).EndsHigh)
	}
	return f
}
