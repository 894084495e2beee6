package deadline

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// refuse in the tables below stands for "no bound".
const noBound = time.Duration(-1)

func bound(d time.Duration, ok bool) time.Duration {
	if !ok {
		return noBound
	}
	return d
}

func TestPolicy(t *testing.T) {
	s := time.Second
	tests := []struct {
		reason         string
		p              Policy
		fast, slow     int64
		worst, horizon time.Duration
	}{
		{"C11: 4 attempts of 1 s, gRPC backoff", Policy{Attempts: 4, PerTry: s, Waits: GRPC(100*ms, s, 2)}, 4, 4, 4840 * ms, 3840 * ms},
		{"one attempt", Policy{Attempts: 1, PerTry: s}, 1, 1, s, 0},
		{"zero means one", Policy{PerTry: s}, 1, 1, s, 0},
		{".NET standard handler: 4 x 10 s + 14 s do not fit into 30 s", Policy{Attempts: 4, PerTry: 10 * s, Overall: 30 * s, Waits: Backoff{Base: 2 * s, Factor: 2}}, 4, 3, 30 * s, 30 * s},
		{"the smallest wait is 0 with full jitter", Policy{Attempts: 4, PerTry: 10 * s, Overall: 30 * s, Waits: Backoff{Base: 2 * s, Factor: 2, Jitter: FullJitter}}, 4, 3, 30 * s, 30 * s},
		{"waits alone exceed the overall limit: even fast failures are pruned", Policy{Attempts: 5, PerTry: s, Overall: 3 * s, Waits: Backoff{Base: s}}, 3, 2, 3 * s, 3 * s},
		{"starts exactly at the limit: does not start", Policy{Attempts: 3, PerTry: s, Overall: 2 * s}, 3, 2, 2 * s, 2 * s},
		{"no per-try limit: a hanging attempt never ends", Policy{Attempts: 3}, 3, 1, noBound, noBound},
		{"no per-try limit below an overall one", Policy{Attempts: 3, Overall: s}, 3, 1, s, s},
		{"the timeout is not retried", Policy{Attempts: 4, PerTry: 500 * ms, TimeoutEnds: true}, 4, 1, 2 * s, 1500 * ms},
		{"no limit on the count", Policy{Attempts: Unlimited, PerTry: s, Waits: Backoff{Base: s}}, Unlimited, Unlimited, noBound, noBound},
		{"no limit on the count within 10 s", Policy{Attempts: Unlimited, PerTry: s, Overall: 10 * s, Waits: Backoff{Base: s}}, 10, 5, 10 * s, 10 * s},
		{"no limit, no waits, at once", Policy{Attempts: Unlimited, PerTry: s, Overall: 10 * s}, Unlimited, 10, 10 * s, 10 * s},
		{"the limit only stops new attempts", Policy{Attempts: 5, PerTry: s, Overall: 2500 * ms, StopsOnly: true}, 5, 3, 3500 * ms, 2500 * ms},
		{"the limit only stops, but the attempts end before", Policy{Attempts: 2, PerTry: s, Overall: 10 * s, StopsOnly: true}, 2, 2, 2 * s, s},
		{"the limit only stops and an attempt may hang", Policy{Attempts: 2, Overall: s, StopsOnly: true}, 2, 1, noBound, s},
	}
	tests = append(tests, []struct {
		reason         string
		p              Policy
		fast, slow     int64
		worst, horizon time.Duration
	}{
		{"a hedge: copies every 50 ms, each of 1 s", Policy{Attempts: 3, PerTry: s, Hedged: true, Hedge: 50 * ms}, 3, 3, 1100 * ms, 100 * ms},
		{"a hedge has a horizon without a per-try limit", Policy{Attempts: 3, Hedged: true, Hedge: 50 * ms}, 3, 3, noBound, 100 * ms},
		{"an overall limit stops copies", Policy{Attempts: 5, PerTry: s, Overall: 120 * ms, Hedged: true, Hedge: 50 * ms}, 3, 3, 120 * ms, 120 * ms},
		{"all copies at once", Policy{Attempts: 3, PerTry: s, Hedged: true}, 3, 3, s, 0},
	}...)
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			if got := tt.p.Fast(); got != tt.fast {
				t.Errorf("Fast() = %d, want %d", got, tt.fast)
			}
			if got := tt.p.Slow(); got != tt.slow {
				t.Errorf("Slow() = %d, want %d", got, tt.slow)
			}
			if got := bound(tt.p.Worst()); got != tt.worst {
				t.Errorf("Worst() = %v, want %v", got, tt.worst)
			}
			if got := bound(tt.p.Horizon()); got != tt.horizon {
				t.Errorf("Horizon() = %v, want %v", got, tt.horizon)
			}
		})
	}
}

func TestFit(t *testing.T) {
	s := time.Second
	type answer struct {
		Limit                     time.Duration
		Starts, FitsLow, FitsHigh int64
		Margin                    time.Duration
		Bounded                   bool
	}
	tests := []struct {
		reason    string
		p         Policy
		remaining time.Duration
		want      answer
	}{
		{"C1 as a schedule: the second attempt starts but does not fit", Policy{Attempts: 2, PerTry: 150 * ms, Waits: Backoff{Base: 80 * ms}}, 300 * ms,
			answer{300 * ms, 2, 1, 1, -80 * ms, true}},
		{"ends exactly at the deadline", Policy{Attempts: 2, PerTry: 150 * ms, Waits: Backoff{Base: 80 * ms}}, 380 * ms, answer{380 * ms, 2, 2, 2, 0, true}},
		{"one nanosecond too late", Policy{Attempts: 2, PerTry: 150 * ms, Waits: Backoff{Base: 80 * ms}}, 380*ms - 1, answer{380*ms - 1, 2, 1, 1, -1, true}},
		{"fits only with small jitter", Policy{Attempts: 3, PerTry: s, Waits: Backoff{Base: s, Jitter: FullJitter}}, 3500 * ms, answer{3500 * ms, 3, 3, 2, -1500 * ms, true}},
		{"the own overall limit is tighter", Policy{Attempts: 3, PerTry: s, Overall: 2 * s}, 10 * s, answer{2 * s, 2, 2, 2, -s, true}},
		{"no deadline", Policy{Attempts: 3, PerTry: s}, Max, answer{Max, 3, 3, 3, 0, true}},
		{"no per-try limit: the first attempt takes everything", Policy{Attempts: 3}, s, answer{s, 1, 1, 1, 0, false}},
		{"nothing limits anything", Policy{Attempts: 3}, Max, answer{Max, 1, 1, 1, 0, false}},
		{"what only stops new attempts lets the running one end", Policy{Attempts: 5, PerTry: s, Overall: 1500 * ms, StopsOnly: true}, 3 * s, answer{1500 * ms, 2, 2, 2, -2 * s, true}},
		{"but not beyond what remains", Policy{Attempts: 5, PerTry: s, Overall: 1500 * ms, StopsOnly: true}, 1800 * ms, answer{1500 * ms, 2, 1, 1, -3200 * ms, true}},
		{"copies of a hedge overlap", Policy{Attempts: 3, PerTry: s, Hedged: true, Hedge: 400 * ms}, 1500 * ms, answer{1500 * ms, 3, 2, 2, -300 * ms, true}},
		{"copies without a limit take what is left", Policy{Attempts: 3, Hedged: true, Hedge: 400 * ms}, s, answer{s, 3, 3, 3, 0, false}},
		{"nothing remains", Policy{Attempts: 3, PerTry: s}, 0, answer{0, 0, 0, 0, -3 * s, true}},
		{"overdrawn", Policy{Attempts: 1, PerTry: s}, -s, answer{-s, 0, 0, 0, -2 * s, true}},
		{"nothing remains and no per-try limit", Policy{Attempts: 2}, 0, answer{0, 0, 0, 0, 0, false}},
		{"checkout-3x2x2: 2 x 1 s + 0.2 s against 2 s", Policy{Attempts: 2, PerTry: s, Waits: Backoff{Base: 200 * ms}}, 2 * s, answer{2 * s, 2, 1, 1, -200 * ms, true}},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			f := tt.p.Fit(tt.remaining)
			if d := cmp.Diff(tt.want, answer{f.Limit, f.Starts, f.FitsLow, f.FitsHigh, f.Margin, f.Bounded}); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
	f := Policy{Attempts: 2, PerTry: 150 * ms, Waits: Backoff{Base: 80 * ms, Jitter: FullJitter}}.Fit(300 * ms)
	want := []Slot{{K: 1, EndsLow: 150 * ms, EndsHigh: 150 * ms, Starts: true, FitsLow: true, Admit: true},
		{K: 2, StartsLow: 150 * ms, StartsHigh: 230 * ms, EndsLow: 300 * ms, EndsHigh: 380 * ms, Starts: true, FitsLow: true}}
	if d := cmp.Diff(want, f.Slots); d != "" {
		t.Errorf("slots (-want +got):\n%s", d)
	}
	if n := len(Policy{Attempts: 1e9, PerTry: 1}.Fit(Max).Slots); n != maxSlots {
		t.Errorf("%d slots listed, want %d", n, maxSlots)
	}
}

func TestPerTryFor(t *testing.T) {
	p := Policy{Attempts: 3, PerTry: time.Second, Waits: Backoff{Base: 100 * ms, Jitter: FullJitter}}
	if d, ok := p.PerTryFor(2 * time.Second); !ok || d != 600*ms {
		t.Errorf("%v, %v; want 600ms", d, ok)
	}
	if _, ok := p.PerTryFor(200 * ms); ok {
		t.Error("the waits alone take everything")
	}
	p.Overall = 800 * ms
	if d, ok := p.PerTryFor(2 * time.Second); !ok || d != 200*ms {
		t.Errorf("within the overall limit: %v, %v; want 200ms", d, ok)
	}
	if _, ok := (Policy{Attempts: Unlimited}).PerTryFor(time.Hour); ok {
		t.Error("no limit on the attempts")
	}
	rapid.Check(t, func(t *rapid.T) {
		p := genPolicy().Draw(t, "policy")
		remaining := time.Duration(rapid.Int64Range(1, 100).Draw(t, "remaining"))
		d, ok := p.PerTryFor(remaining)
		if !ok {
			return
		}
		p.PerTry = d
		if f := p.Fit(remaining); f.FitsHigh != f.Configured {
			t.Fatalf("%+v: %d attempts fit %v", p, f.FitsHigh, remaining)
		}
		p.PerTry++
		if f := p.Fit(remaining); f.FitsHigh == f.Configured {
			t.Fatalf("%+v: a longer limit fits too", p)
		}
	})
}

// genPolicy draws policies with small numbers, so that boundaries are hit.
func genPolicy() *rapid.Generator[Policy] {
	return rapid.Custom(func(t *rapid.T) Policy {
		d := func(name string, max int64) time.Duration {
			return time.Duration(rapid.Int64Range(0, max).Draw(t, name))
		}
		p := Policy{Attempts: rapid.Int64Range(0, 8).Draw(t, "attempts"), PerTry: d("pertry", 10), Overall: d("overall", 40),
			StopsOnly: rapid.Bool().Draw(t, "stops"), TimeoutEnds: rapid.Bool().Draw(t, "ends")}
		if rapid.Bool().Draw(t, "waits") {
			p.Waits = Backoff{Base: d("base", 6), Factor: rapid.SampledFrom([]float64{1, 2}).Draw(t, "factor"), Max: d("max", 12),
				Jitter: rapid.SampledFrom([]Jitter{NoJitter, FullJitter, EqualJitter}).Draw(t, "jitter")}
		}
		return p
	})
}

// TestPolicyAgainstWalk plays the loop attempt by attempt.
func TestPolicyAgainstWalk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := genPolicy().Draw(t, "policy")
		wait := func(k int64) (l, h time.Duration) {
			if p.Waits != nil {
				l, h = p.Waits.Wait(k)
			}
			return l, h
		}
		// walk counts the attempts that start when each takes the given time.
		walk := func(each, limit time.Duration) int64 {
			var at time.Duration
			for k := int64(1); ; k++ {
				l, _ := wait(k)
				at += each + l
				if k == p.count() || limit > 0 && at >= limit {
					return k
				}
			}
		}
		if got, want := p.Fast(), walk(0, p.Overall); got != want {
			t.Fatalf("%+v: Fast() = %d, want %d", p, got, want)
		}
		if p.PerTry > 0 && !p.TimeoutEnds {
			if got, want := p.Slow(), walk(p.PerTry, p.Overall); got != want {
				t.Fatalf("%+v: Slow() = %d, want %d", p, got, want)
			}
		}
		remaining := time.Duration(rapid.Int64Range(1, 60).Draw(t, "remaining"))
		f := p.Fit(remaining)
		limit, each, endBy := remaining, p.PerTry, remaining
		if p.Overall > 0 {
			limit = min(limit, p.Overall)
		}
		if !p.StopsOnly {
			endBy = limit
		}
		if each == 0 {
			each = limit
		}
		var low, high time.Duration
		var starts, fitsLow, fitsHigh int64
		for k := int64(1); k <= p.count(); k++ {
			if low < limit {
				starts++
			}
			if low < limit && low+each <= endBy {
				fitsLow++
			}
			if high < limit && high+each <= endBy {
				fitsHigh++
			}
			l, h := wait(k)
			low, high = low+each+l, high+each+h
		}
		if f.Starts != starts || f.FitsLow != fitsLow || f.FitsHigh != fitsHigh {
			t.Fatalf("%+v in %v: %d, %d, %d; want %d, %d, %d", p, remaining, f.Starts, f.FitsLow, f.FitsHigh, starts, fitsLow, fitsHigh)
		}
		for _, s := range f.Slots {
			if s.Starts != (s.K <= f.Starts) || s.FitsLow != (s.K <= f.FitsLow) || s.Admit != (s.K <= f.FitsHigh) {
				t.Fatalf("slot %+v disagrees with %+v", s, f)
			}
		}
		if w, ok := p.Worst(); ok && p.PerTry > 0 {
			h, _ := p.Horizon()
			if h > w {
				t.Fatalf("%+v: horizon %v after the worst time %v", p, h, w)
			}
		}
	})
}
