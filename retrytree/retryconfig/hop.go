package retryconfig

import (
	"math"
	"slices"
	"time"
)

// Answer is the answer to a question that a file may leave open. Its zero value
// claims nothing.
type Answer uint8

// The three answers.
const (
	Unknown Answer = iota
	Yes
	No
)

// Class says what kind of call a hop retries; rules differ by class.
type Class uint8

// Request is a call that somebody waits for; Queue is a message that is delivered
// again; Job is a task or a batch run.
const (
	Request Class = iota
	Queue
	Job
)

// Hop is the normal form: one call (or message, or job run) with its attempts.
// Nil pointers mean "none", "unbounded" or "not decided by the file"; Unbounded,
// Refused and Undecided tell them apart. Attempts always count the first call.
type Hop struct {
	File   string // path as given
	Line   int    // 1-based line of the setting, or of the object without one
	Column int    // 1-based, in characters
	Kind   string // reader and object, such as "istio.VirtualService"
	Name   string // "namespace/name#route" and the like; see the package README of each reader

	From []string // callers that the file names (an application name); may be empty
	To   []string // hosts, clusters or services that are called; may be empty

	Class   Class
	Written string // the number as the file writes it, such as "attempts: 3 (counts retries)"

	Attempts     *int64 // total calls; nil with Unbounded: no limit on the count
	Unbounded    bool   // nothing in the file limits the count
	AttemptsLow  *int64 // range left open by product, version or data plane
	AttemptsHigh *int64

	Slow     *int64 // attempts that start when each hangs until its own limit ends it
	SlowLow  *int64
	SlowHigh *int64

	PerTry         *time.Duration // limit of one attempt that is in force
	PerTryWritten  *time.Duration // limit of one attempt as written, even where it is ignored
	PerTrySend     time.Duration  // part of PerTry that a send phase takes (0: not a phase product)
	PerTryIgnored  string         // why PerTryWritten is not in force, or ""
	LastTryFree    bool           // the limit of one attempt is lifted for the last one
	PerTryCopies   bool           // the limit of one attempt starts a copy and does not end the attempt
	TimeoutRetried Answer         // whether what ends a slow attempt is retried
	EndedOutside   bool           // a hanging attempt is ended by something outside the file
	Undecided      string         // why limits are not decided by the file, or ""

	Overall      *time.Duration // limit of the call with its attempts and waits
	StopsOnly    bool           // Overall stops new attempts and does not cut a running one
	OverallKnown bool           // true when "no overall limit" is certain for the product
	Worst        *time.Duration // longest time of the call; nil: unbounded or not computable
	WorstLow     *time.Duration
	WorstHigh    *time.Duration

	Waits       Backoff
	Conditions  []string         // what is retried, in the product's words
	Methods     []string         // methods that are retried; empty: all, or not applicable
	MayHaveRun  Answer           // whether a call may have run before it is sent again
	Budget      *Budget          // what bounds the load of retries; nil: nothing in the file
	Hedge       *Hedge           // copies without a failure
	DeadLetter  Answer           // where a message goes when its deliveries are used up
	Refused     string           // why the product refuses the policy, or ""
	Default     bool             // nobody wrote it: the product retries by default
	Hidden      []string         // defaults that nobody wrote and that matter
	exposure    string           // who is not affected by the object, repeated when the hop is read again
	meshDefault bool             // the mesh configuration decides
	countText   string           // a count that is refused, as written
	timesOpen   bool             // a value is filled in outside the file
	given       []*time.Duration // times that the file gives
	countOpen   bool             // the count is filled in outside the file
	Notes       []string         // how the numbers came about, for people
}

// Budget bounds the load that retries may add. Ratio is a share of the first tries
// (0.2 = 20%). Floors are per client, not global.
type Budget struct {
	Kind           string  // ratio, concurrency, tokens or quota
	Ratio          float64 // extra attempts per first try, 0 when not a ratio
	MinPerSecond   float64 // floor in attempts per second and client
	MinConcurrency int64   // floor in concurrent retries and client
	Concurrency    int64   // limit of concurrent retries and client, 0 when none
	MaxTokens      float64 // size of a token bucket, 0 when none
	Line           int     // where it stands
}

// Hedge describes copies of a call that are sent without a failure.
type Hedge struct {
	Delay time.Duration // between copies; 0: all at once
	Line  int
}

// Retries reports whether the hop makes more than one attempt.
func (h *Hop) Retries() bool {
	return h.Unbounded || h.Attempts != nil && *h.Attempts > 1
}

// AttemptCount gives the attempts of one call and true, or false when the file
// leaves the count open, unbounded or refused.
func (h *Hop) AttemptCount() (int64, bool) {
	if h.Attempts == nil {
		return 0, false
	}
	return *h.Attempts, true
}

// WaitSum gives the smallest and the largest sum of the waits before the first n
// attempts after the first one.
func (h *Hop) WaitSum(n int64) (low, high time.Duration) {
	return h.Waits.Sum(n)
}

// maxDuration is what sums of durations saturate at: 292 years.
const maxDuration = time.Duration(math.MaxInt64)

// mulDur multiplies and saturates. Negative factors do not occur.
func mulDur(d time.Duration, n int64) time.Duration {
	if d <= 0 || n <= 0 {
		return 0
	}
	if int64(d) > math.MaxInt64/n {
		return maxDuration
	}
	return d * time.Duration(n)
}

// addDur adds and saturates.
func addDur(a, b time.Duration) time.Duration {
	if a > maxDuration-b {
		return maxDuration
	}
	return a + b
}

// finish fills Slow, Worst and their ranges from the limits and the waits, by rules
// 2 to 4 of the normal form. A value that a reader has set stays.
func (h *Hop) finish() {
	if h.Refused != "" {
		if h.countText != "" {
			h.Written = h.countText
		}
		h.Attempts, h.Unbounded, h.Slow, h.Worst = nil, false, nil, nil
		h.PerTry, h.Overall, h.WorstLow, h.WorstHigh = nil, nil, nil, nil
		h.SlowLow, h.SlowHigh, h.AttemptsLow, h.AttemptsHigh = nil, nil, nil, nil
		h.Hidden, h.Default = nil, false // no default is in force either
		return
	}
	if h.countOpen {
		h.Attempts, h.Unbounded, h.Written, h.Default, h.Hidden = nil, false, h.Undecided, false, nil
		h.Slow, h.SlowLow, h.SlowHigh, h.Worst, h.WorstLow, h.WorstHigh = nil, nil, nil, nil, nil, nil
	}
	if h.timesOpen {
		h.leaveOpen()
		return
	}
	if h.Undecided != "" && h.PerTry == nil {
		return
	}
	if h.Attempts == nil && !h.Unbounded {
		return
	}
	if h.Slow == nil && h.SlowLow == nil {
		h.Slow = h.slowAttempts()
	}
	if h.Worst == nil && h.WorstLow == nil {
		h.Worst = h.worst(0)
		if h.PerTrySend > 0 && h.Worst != nil {
			h.WorstLow, h.WorstHigh = h.worst(h.PerTrySend), h.Worst
		}
	}
}

// leaveOpen keeps of the times those that the file gives: a default does not hold where the
// file has a value that is filled in later.
func (h *Hop) leaveOpen() {
	for _, p := range []**time.Duration{&h.PerTry, &h.PerTryWritten, &h.Overall} {
		if !slices.Contains(h.given, *p) {
			*p = nil
		}
	}
	h.Slow, h.SlowLow, h.SlowHigh, h.Worst, h.WorstLow, h.WorstHigh = nil, nil, nil, nil, nil, nil
	h.Waits.Open, h.Hidden = true, nil
}

// slowAttempts is rule 3: attempts that start when each one hangs until its limit.
func (h *Hop) slowAttempts() *int64 {
	one := int64(1)
	switch {
	case h.Attempts != nil && *h.Attempts <= 1:
		return h.Attempts
	case h.EndedOutside && h.PerTry == nil && h.Overall == nil:
		return h.Attempts
	case h.TimeoutRetried == No, h.PerTry == nil:
		return &one
	case h.Overall == nil:
		return h.Attempts
	}
	n := h.startsBefore(*h.PerTry, *h.Overall)
	return &n
}

// startsBefore gives the largest k, not above the attempts, whose start at
// (k-1)*service + smallest waits lies before the limit.
func (h *Hop) startsBefore(service, limit time.Duration) int64 {
	lo, hi := int64(1), int64(1)<<40
	if h.Attempts != nil {
		hi = *h.Attempts
	}
	for lo < hi {
		mid := lo + (hi-lo+1)/2
		low, _ := h.Waits.Sum(mid - 1)
		if addDur(mulDur(service, mid-1), low) < limit {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	return lo
}

// Starts gives how many attempts start before the limit when each takes service and the
// waits are the smallest: at most the attempts of the hop.
func (h *Hop) Starts(service, limit time.Duration) int64 { return h.startsBefore(service, limit) }

// FastAttempts gives the attempts that can start when each fails at once: the count
// of rule 2. It is nil for an unbounded or undecided count.
func (h *Hop) FastAttempts() *int64 {
	if h.Attempts == nil || h.Overall == nil {
		return h.Attempts
	}
	n := h.startsBefore(0, *h.Overall)
	return &n
}

// worst is rule 4. less is taken off every attempt: the phase that may not block.
func (h *Hop) worst(less time.Duration) *time.Duration {
	if h.PerTryCopies || h.LastTryFree && h.Retries() {
		if h.Overall == nil || h.StopsOnly {
			return nil
		}
		return h.Overall
	}
	var all *time.Duration
	if h.PerTry != nil && h.Attempts != nil {
		_, high := h.Waits.Sum(*h.Attempts - 1)
		if !h.Waits.Open || *h.Attempts == 1 {
			w := addDur(mulDur(*h.PerTry-less, *h.Attempts), high)
			all = &w
		}
	}
	if h.Overall == nil {
		return all
	}
	limit := *h.Overall
	if h.StopsOnly {
		if h.PerTry == nil {
			return nil
		}
		limit = addDur(limit, *h.PerTry-less)
	}
	if all != nil && *all < limit {
		return all
	}
	return &limit
}
