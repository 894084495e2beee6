package deadline

import (
	"context"
	"errors"
	"math"
	"math/big"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// hand is a clock that moves only when told; safe for concurrent use.
type hand struct{ ns atomic.Int64 }

func (h *hand) now() time.Time          { return time.Unix(1_000_000, 0).Add(time.Duration(h.ns.Load())) }
func (h *hand) advance(d time.Duration) { h.ns.Add(int64(d)) }

func TestBudgetAdmit(t *testing.T) {
	ctx := context.Background()
	var h hand
	b := NewBudget(h.now, 300*ms)
	h.advance(150 * ms)
	if got := b.Check(ctx, 80*ms, 150*ms); got.Admit || got.ShortBy != 80*ms || got.Remaining != 150*ms {
		t.Errorf("C1: %+v", got)
	}
	if err := b.Admit(ctx, 80*ms, 150*ms); !errors.Is(err, ErrDoesNotFit) {
		t.Errorf("C1: %v", err)
	}
	if err := b.Admit(ctx, 0, 150*ms); err != nil {
		t.Errorf("ends exactly at the deadline: %v", err)
	}
	if err := b.Admit(ctx, 0, 150*ms+1); !errors.Is(err, ErrDoesNotFit) {
		t.Errorf("one nanosecond too long: %v", err)
	}
	h.advance(200 * ms)
	if got := b.Remaining(); got != -50*ms {
		t.Errorf("after the deadline %v remain", got)
	}
	var none Budget
	if err := none.Admit(ctx, Max, Max); err != nil || none.Remaining() != Max {
		t.Errorf("the zero value has no deadline: %v, %v", err, none.Remaining())
	}
	if _, ok := none.Deadline(); ok {
		t.Error("the zero value has an end")
	}
}

func TestBudgetContext(t *testing.T) {
	var h hand
	b := NewBudget(h.now, time.Second)
	ctx, cancel := context.WithDeadline(context.Background(), h.now().Add(200*ms))
	if got := b.Check(ctx, 0, 300*ms); got.Admit || got.Remaining != 200*ms {
		t.Errorf("the context ends first: %+v", got)
	}
	far, cancelFar := context.WithDeadline(context.Background(), h.now().Add(time.Hour))
	defer cancelFar()
	if got := b.Check(far, 0, time.Second); !got.Admit || got.Remaining != time.Second {
		t.Errorf("the budget ends first: %+v", got)
	}
	var none Budget
	none.clock = h.now
	if got := none.Check(far, 0, 2*time.Hour); got.Admit {
		t.Errorf("only the context has an end: %+v", got)
	}
	cancel()
	if err := b.Admit(ctx, 0, 0); !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a done context: %v", err)
	}
	if got := FromContext(far, h.now).Remaining(); got != time.Hour {
		t.Errorf("FromContext: %v", got)
	}
	if got := FromContext(context.Background(), nil).Remaining(); got != Max {
		t.Errorf("FromContext without a deadline: %v", got)
	}
}

func TestBudgetChild(t *testing.T) {
	var h hand
	b := NewBudget(h.now, 10*time.Second)
	h.advance(8 * time.Second)
	if got := b.Child(20*time.Second, 0).Remaining(); got != 2*time.Second {
		t.Errorf("C3: a child never gets more than the parent has: %v", got)
	}
	if got := b.Child(time.Second, 0).Remaining(); got != time.Second {
		t.Errorf("the own limit is earlier: %v", got)
	}
	if got := b.Child(0, 500*ms).Remaining(); got != 1500*ms {
		t.Errorf("the margin comes off: %v", got)
	}
	var none Budget
	none.clock = h.now
	if got := none.Child(time.Second, 500*ms).Remaining(); got != time.Second {
		t.Errorf("a child of no deadline: %v", got)
	}
	// C2: 30 s, 7 s spent, B spends 4 s.
	a := NewBudget(h.now, 30*time.Second)
	h.advance(7 * time.Second)
	atB := a.Child(0, 0)
	if got := atB.Remaining(); got != 23*time.Second {
		t.Errorf("C2: B gets %v", got)
	}
	h.advance(4 * time.Second)
	if got := atB.Child(0, 0).Remaining(); got != 19*time.Second {
		t.Errorf("C2: C gets %v", got)
	}
}

func TestBudgetDo(t *testing.T) {
	boom := errors.New("boom")
	again := func(error) bool { return true }
	synctest.Test(t, func(t *testing.T) {
		p := Policy{Attempts: 5, PerTry: 100 * ms, Waits: Backoff{Base: 50 * ms}}
		b := NewBudget(nil, 300*ms)
		calls := 0
		start := time.Now()
		err := b.Do(t.Context(), p, func(ctx context.Context) error {
			calls++
			<-ctx.Done() // hangs until its own limit
			return boom
		}, again)
		// 100, +50+100 = 250; the third would end at 400.
		if calls != 2 || !errors.Is(err, ErrDoesNotFit) || !errors.Is(err, boom) || time.Since(start) != 250*ms {
			t.Errorf("%d calls in %v: %v; want 2 in 250ms and both errors", calls, time.Since(start), err)
		}
		calls = 0
		b = NewBudget(nil, time.Hour)
		err = b.Do(t.Context(), p, func(context.Context) error {
			if calls++; calls == 3 {
				return nil
			}
			return boom
		}, again)
		if err != nil || calls != 3 {
			t.Errorf("the third attempt works: %d calls, %v", calls, err)
		}
		calls = 0
		if err = b.Do(t.Context(), p, func(context.Context) error { calls++; return boom }, again); !errors.Is(err, boom) || calls != 5 {
			t.Errorf("%d calls, %v; want all 5 attempts", calls, err)
		}
		calls = 0
		if err = b.Do(t.Context(), p, func(context.Context) error { calls++; return boom }, func(error) bool { return false }); !errors.Is(err, boom) || calls != 1 {
			t.Errorf("not worth a retry: %d calls, %v", calls, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 120*ms)
		defer cancel()
		p.Waits = Backoff{Base: time.Minute, Jitter: FullJitter}
		p.PerTry = ms
		if err = b.Do(ctx, p, func(context.Context) error { return boom }, again); !errors.Is(err, ErrDoesNotFit) {
			t.Errorf("the largest wait does not fit the context: %v", err)
		}
		quick, stop := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Second, stop)
		p.Waits = Backoff{Base: time.Minute}
		start = time.Now()
		if err = b.Do(quick, p, func(context.Context) error { return boom }, again); !errors.Is(err, context.Canceled) || time.Since(start) != 10*time.Second {
			t.Errorf("cancelled while waiting: %v after %v", err, time.Since(start))
		}
	})
}

func TestBudgetContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := NewBudget(nil, time.Second).Context(t.Context())
		defer cancel()
		start := time.Now()
		<-ctx.Done()
		if time.Since(start) != time.Second {
			t.Errorf("ended after %v", time.Since(start))
		}
		var h hand
		b := NewBudget(h.now, time.Second)
		h.advance(400 * ms)
		ctx, cancel = b.Context(t.Context())
		defer cancel()
		start = time.Now()
		<-ctx.Done()
		if time.Since(start) != 600*ms {
			t.Errorf("with an injected clock: ended after %v", time.Since(start))
		}
		ctx, cancel = Budget{}.Context(t.Context())
		if _, ok := ctx.Deadline(); ok {
			t.Error("no deadline became one")
		}
		cancel()
	})
}

// TestBudgetDoesNotAllocate: it stands in front of every attempt.
func TestBudgetDoesNotAllocate(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	var h hand
	injected := NewBudget(h.now, time.Second)
	real := NewBudget(nil, time.Second)
	var sink error
	var child Budget
	n := testing.AllocsPerRun(1000, func() {
		sink = injected.Admit(ctx, 1, 1)
		sink = real.Admit(ctx, time.Hour, 1)
		child = real.Child(time.Millisecond, 1)
	})
	_, _ = sink, child
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestBudgetConcurrently is for the race detector: one budget, many callers, a
// moving clock.
func TestBudgetConcurrently(t *testing.T) {
	var h hand
	b := NewBudget(h.now, time.Second)
	ctx := context.Background()
	var wg sync.WaitGroup
	var admitted, refused atomic.Int64
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				h.advance(time.Millisecond / 4)
				if b.Child(0, 0).Admit(ctx, 0, 100*ms) == nil {
					admitted.Add(1)
				} else {
					refused.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if admitted.Load()+refused.Load() != 8000 || admitted.Load() == 0 || refused.Load() == 0 {
		t.Errorf("%d admitted, %d refused", admitted.Load(), refused.Load())
	}
	if b.Admit(ctx, 0, 0) == nil {
		t.Error("admitted after the deadline")
	}
}

// FuzzBudget compares with arithmetic that cannot overflow.
func FuzzBudget(f *testing.F) {
	f.Add(int64(300e6), int64(150e6), int64(80e6), int64(150e6))
	f.Add(int64(math.MaxInt64/4), int64(0), int64(math.MaxInt64), int64(math.MaxInt64))
	f.Add(int64(0), int64(0), int64(-5), int64(0))
	f.Add(int64(-1), int64(1), int64(0), int64(0))
	f.Fuzz(func(t *testing.T, total, spent, backoff, attempt int64) {
		const far = math.MaxInt64 / 4
		if total > far || total < -far || spent < 0 || spent > far {
			t.Skip("more than 70 years")
		}
		var h hand
		b := NewBudget(h.now, time.Duration(total))
		h.advance(time.Duration(spent))
		got := b.Check(context.Background(), time.Duration(backoff), time.Duration(attempt))
		need := new(big.Int).Add(big.NewInt(max(backoff, 0)), big.NewInt(max(attempt, 0)))
		left := new(big.Int).Sub(big.NewInt(total), big.NewInt(spent))
		if want := need.Cmp(left) <= 0; got.Admit != want {
			t.Fatalf("admit %v, want %v: needs %v, %v left", got.Admit, want, need, left)
		}
		if err := b.Admit(context.Background(), time.Duration(backoff), time.Duration(attempt)); (err == nil) != got.Admit {
			t.Fatalf("Admit and Check disagree: %v, %+v", err, got)
		}
		if got.Admit && got.ShortBy != 0 || !got.Admit && got.ShortBy <= 0 {
			t.Fatalf("%+v", got)
		}
	})
}

func BenchmarkAdmit(b *testing.B) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	budget := NewBudget(nil, time.Hour)
	b.ReportAllocs()
	for b.Loop() {
		if budget.Admit(ctx, ms, ms) != nil {
			b.Fatal("refused")
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
}
