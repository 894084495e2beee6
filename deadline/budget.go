package deadline

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// ErrDoesNotFit is returned by [Budget.Admit] for an attempt that cannot end
// before the deadline.
var ErrDoesNotFit = errors.New("attempt does not fit the deadline")

// Clock tells the time. time.Now has this shape; tests inject their own.
type Clock func() time.Time

// Budget is the time one request has, for use in a running service: make it
// when the request arrives, ask [Budget.Admit] before every attempt, hand
// [Budget.Child] to what you call. It is a value of a few words, immutable, safe
// for concurrent use, and its methods do not allocate (except Context).
//
// The zero value has no deadline and admits everything.
type Budget struct {
	clock Clock
	end   time.Time // zero: no deadline
}

// NewBudget starts a budget of the given length now. A nil clock is time.Now.
func NewBudget(clock Clock, total time.Duration) Budget {
	b := Budget{clock: clock}
	b.end = b.now().Add(total)
	return b
}

// BudgetUntil is a budget that ends at a point in time; the zero time means no
// deadline. A nil clock is time.Now.
func BudgetUntil(clock Clock, end time.Time) Budget { return Budget{clock: clock, end: end} }

// FromContext takes over the deadline of a context; without one the budget has
// no deadline. A nil clock is time.Now; context deadlines are wall-clock times,
// so any other clock must tell the same time.
func FromContext(ctx context.Context, clock Clock) Budget {
	b := Budget{clock: clock}
	if end, ok := ctx.Deadline(); ok {
		b.end = end
	}
	return b
}

func (b Budget) now() time.Time {
	if b.clock == nil {
		return time.Now()
	}
	return b.clock()
}

// Remaining is the time that is left; negative after the deadline, [Max]
// without one.
func (b Budget) Remaining() time.Duration {
	if b.end.IsZero() {
		return Max
	}
	return b.end.Sub(b.now())
}

// Deadline returns the end of the budget; false without one.
func (b Budget) Deadline() (time.Time, bool) { return b.end, !b.end.IsZero() }

// Admit decides whether an attempt may start after a wait: it must end before
// the deadline of the budget and that of the context, whichever is earlier
// (<=). It returns nil, [ErrDoesNotFit], or the error of a context that is
// done. Negative durations count as 0.
//
// Ask before the wait, not after it: an attempt that will not fit is not worth
// waiting for.
func (b Budget) Admit(ctx context.Context, backoff, attempt time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !b.Check(ctx, backoff, attempt).Admit {
		return ErrDoesNotFit
	}
	return nil
}

// Check is [Budget.Admit] with the numbers: what remains, what is needed and by
// how much it falls short. It does not look at whether the context is done.
func (b Budget) Check(ctx context.Context, backoff, attempt time.Duration) Admission {
	remaining := b.Remaining()
	if end, ok := ctx.Deadline(); ok && (b.end.IsZero() || end.Before(b.end)) {
		remaining = end.Sub(b.now())
	}
	return admit(remaining, SatAdd(max(backoff, 0), max(attempt, 0)))
}

// Child is the budget for a call: the earlier of the own limit of the call
// counted from now (0: none) and the deadline less a margin for the answer to
// come back.
func (b Budget) Child(own, margin time.Duration) Budget {
	c := b
	if !c.end.IsZero() && margin > 0 {
		c.end = c.end.Add(-margin)
	}
	if own > 0 {
		if end := b.now().Add(own); c.end.IsZero() || end.Before(c.end) {
			c.end = end
		}
	}
	return c
}

// Context returns a context that ends with the budget. Cancel it to free its
// timer. It runs on the wall clock, whatever the clock of the budget.
func (b Budget) Context(parent context.Context) (context.Context, context.CancelFunc) {
	if b.end.IsZero() {
		return context.WithCancel(parent)
	}
	if b.clock == nil {
		return context.WithDeadline(parent, b.end)
	}
	return context.WithTimeout(parent, b.Remaining())
}

// Do runs one call with its retries: it asks for admission before every wait
// (with the largest wait that jitter allows), waits a random time within the
// jitter, and gives every attempt a context that ends with its own limit. retry
// decides whether an error is worth another attempt. It returns nil on success,
// the last error joined with [ErrDoesNotFit] when the next attempt does not
// fit, or the last error.
func (b Budget) Do(ctx context.Context, p Policy, call func(context.Context) error, retry func(error) bool) error {
	var last error
	for k := int64(1); ; k++ {
		var low, high time.Duration
		if k > 1 && p.Waits != nil {
			low, high = p.Waits.Wait(k - 1)
		}
		if err := b.Admit(ctx, high, p.PerTry); err != nil {
			return errors.Join(err, last)
		}
		if err := pause(ctx, low+time.Duration(rand.Int64N(int64(high-low)+1))); err != nil {
			return errors.Join(err, last)
		}
		last = b.attempt(ctx, p.PerTry, call)
		if last == nil || k >= p.count() || !retry(last) {
			return last
		}
	}
}

func (b Budget) attempt(ctx context.Context, perTry time.Duration, call func(context.Context) error) error {
	c, cancel := b.Child(perTry, 0).Context(ctx)
	defer cancel()
	return call(c)
}

// pause waits unless the context ends first.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
