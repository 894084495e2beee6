package retryconfig

import (
	"math/rand/v2"
	"testing"
	"time"
)

func ptr[T any](v T) *T { return &v }

func deref[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

func TestFinish(t *testing.T) {
	ms, s := time.Millisecond, time.Second
	tests := []struct {
		reason      string
		hop         Hop
		slow, worst any
	}{
		{"everything fits", Hop{Attempts: ptr(int64(4)), PerTry: ptr(2 * s), Overall: ptr(10 * s), TimeoutRetried: Yes, Waits: envoyBackoff(envoyBase, 0)}, int64(4), 8175 * ms},
		{"a timeout that is not retried makes one slow attempt", Hop{Attempts: ptr(int64(6)), PerTry: ptr(250 * ms), Overall: ptr(s), TimeoutRetried: No, Waits: envoyBackoff(100*ms, 10*s)}, int64(1), s},
		{"no per-try limit: one slow attempt", Hop{Attempts: ptr(int64(3)), Overall: ptr(s), Waits: envoyBackoff(envoyBase, 0)}, int64(1), s},
		{"no limit at all", Hop{Attempts: ptr(int64(3))}, int64(1), nil},
		{"ended outside", Hop{Attempts: ptr(int64(7)), EndedOutside: true}, int64(7), nil},
		{"a limit that only stops new attempts adds one attempt", Hop{Attempts: ptr(int64(2)), PerTry: ptr(180 * s), PerTrySend: 60 * s, Overall: ptr(3 * s), StopsOnly: true}, int64(1), 183 * s},
		{"unbounded count, time bounded", Hop{Unbounded: true, PerTry: ptr(s), Overall: ptr(180 * s), StopsOnly: true}, int64(180), 181 * s},
		{"the start at the limit does not count", Hop{Attempts: ptr(int64(10)), PerTry: ptr(s), Overall: ptr(3 * s)}, int64(3), 3 * s},
		{"refused: no numbers", Hop{Attempts: ptr(int64(10)), PerTry: ptr(s), Refused: "x"}, nil, nil},
		{"overflow saturates", Hop{Attempts: ptr(int64(1) << 31), PerTry: ptr(24 * 365 * time.Hour)}, int64(1) << 31, maxDuration},
	}
	for _, tt := range tests {
		h := tt.hop
		h.finish()
		if got := deref(h.Slow); got != tt.slow {
			t.Errorf("%s: slow %v, want %v", tt.reason, got, tt.slow)
		}
		if got := deref(h.Worst); got != tt.worst {
			t.Errorf("%s: worst %v, want %v", tt.reason, got, tt.worst)
		}
	}
}

// TestSlowByCounting compares the search with a count from 1 upwards.
func TestSlowByCounting(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		h := Hop{
			Attempts: ptr(1 + r.Int64N(20)), PerTry: ptr(time.Duration(1 + r.Int64N(2000))), Overall: ptr(time.Duration(1 + r.Int64N(9000))),
			TimeoutRetried: Yes,
			Waits: Backoff{Growth: Growth(r.IntN(4)), Base: time.Duration(r.Int64N(500)), Factor: 1 + r.Float64()*2, Max: time.Duration(r.Int64N(2000)),
				Low: r.Float64(), High: 1 + r.Float64()},
		}
		h.finish()
		want, start := int64(1), time.Duration(0)
		for k := int64(2); k <= *h.Attempts; k++ {
			low, _ := h.Waits.Wait(k - 1)
			if start += *h.PerTry + low; start < *h.Overall {
				want = k
			}
		}
		if *h.Slow != want {
			t.Fatalf("%+v: slow %d, want %d", h, *h.Slow, want)
		}
	}
}

func TestBackoffTable(t *testing.T) {
	ms, s := time.Millisecond, time.Second
	tests := []struct {
		reason    string
		b         Backoff
		n         int64
		low, high time.Duration
	}{
		{"Envoy: 25, 50, 100, 200, 250", envoyBackoff(envoyBase, 0), 5, 0, 625 * ms},
		{"gRPC: 0.1 s doubling to 1 s, 20% either way, three waits", Backoff{Growth: Exponential, Base: 100 * ms, Factor: 2, Max: s, Low: 0.8, High: 1.2}, 3, 560 * ms, 840 * ms},
		{"base 0.05 s to 20 s, ten waits", Backoff{Growth: Exponential, Base: 50 * ms, Factor: 2, Max: 20 * s, Low: 0, High: 1}, 10, 0, 45550 * ms},
		{"Kubernetes Job: 10, 20, ... s to 6 min", Backoff{Growth: Exponential, Base: 10 * s, Factor: 2, Max: 6 * time.Minute}, 6, 630 * s, 630 * s},
		{"linear from 0", Backoff{Growth: Linear, Base: s, Shift: -1}, 4, 6 * s, 6 * s},
		{"a long constant tail", Backoff{Growth: Exponential, Base: s, Factor: 2, Max: 4 * s}, 1_000_002, 4_000_003 * s, 4_000_003 * s},
		{"linear, many", Backoff{Growth: Linear, Base: ms}, 100_000, 5_000_050_000 * ms, 5_000_050_000 * ms},
	}
	for _, tt := range tests {
		low, high := tt.b.Sum(tt.n)
		if low != tt.low || high != tt.high {
			t.Errorf("%s: %v..%v, want %v..%v", tt.reason, low, high, tt.low, tt.high)
		}
	}
}
