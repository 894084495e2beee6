package deadline

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func caps(b Backoff, n int64) []time.Duration {
	out := make([]time.Duration, n)
	for i := range out {
		out[i] = b.Cap(int64(i + 1))
	}
	return out
}

func TestBackoffCaps(t *testing.T) {
	s := time.Second
	tests := []struct {
		reason string
		b      Backoff
		want   []time.Duration
	}{
		{"C4: gRPC .1 s x2 cap 1 s", GRPC(100*ms, s, 2), []time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms, s, s}},
		{"C5: base .05 x2 cap 20 s", Backoff{Base: 50 * ms, Factor: 2, Max: 20 * s}, []time.Duration{50 * ms, 100 * ms, 200 * ms, 400 * ms, 800 * ms, 1600 * ms, 3200 * ms, 6400 * ms, 12800 * ms, 20 * s}},
		{"C6: Envoy 25 ms, cap 250", Envoy(25*ms, 0), []time.Duration{25 * ms, 50 * ms, 100 * ms, 200 * ms, 250 * ms, 250 * ms}},
		{"C7: AWS simulator, the first cap is twice the base", AWSSimulator(5, 2000), []time.Duration{10, 20, 40, 80, 160, 320, 640, 1280, 2000, 2000}},
		{"factor 1.5 as in Resilience4j and Feign", Backoff{Base: 100 * ms, Factor: 1.5, Max: s}, []time.Duration{100 * ms, 150 * ms, 225 * ms, 337500 * time.Microsecond, 506250 * time.Microsecond}},
		{"constant", Backoff{Base: s}, []time.Duration{s, s, s}},
		{"linear", Backoff{Base: s, Step: s}, []time.Duration{s, 2 * s, 3 * s}},
		{"shrinking", Backoff{Base: 8, Factor: 0.5}, []time.Duration{8, 4, 2, 1}},
		{"doubling without a cap saturates", Backoff{Base: Max / 3, Factor: 2}, []time.Duration{Max / 3, 2 * (Max / 3), Max, Max}},
		{"zero value", Backoff{}, []time.Duration{0, 0}},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			if d := cmp.Diff(tt.want, caps(tt.b, int64(len(tt.want)))); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
	if got := (Backoff{Base: s}).Cap(0); got != 0 {
		t.Errorf("Cap(0) = %v", got)
	}
}

func TestBackoffSums(t *testing.T) {
	s := time.Second
	tests := []struct {
		reason    string
		w         Waits
		n         int64
		low, high time.Duration
		mean      time.Duration
	}{
		{"C4: worst sum 0.84 s, mean 0.70 s", GRPC(100*ms, s, 2), 3, 560 * ms, 840 * ms, 700 * ms},
		{"C4, the text of 2017: 0.7 and 0.35", GRPC2017(100*ms, s, 2), 3, 0, 700 * ms, 350 * ms},
		{"C5, full jitter: 45.55 and 22.775", Backoff{Base: 50 * ms, Factor: 2, Max: 20 * s, Jitter: FullJitter}, 10, 0, 45550 * ms, 22775 * ms},
		{"C5, equal jitter: 34.1625", Backoff{Base: 50 * ms, Factor: 2, Max: 20 * s, Jitter: EqualJitter}, 10, 22775 * ms, 45550 * ms, 34162500 * time.Microsecond},
		{"C6: 25+50+100+200+250", Envoy(25*ms, 250*ms), 5, 0, 625 * ms, 312500 * time.Microsecond},
		{"none", Backoff{}, 5, 0, 0, 0},
		{"no waits", Envoy(25*ms, 0), 0, 0, 0, 0},
		{"a thousand million constant waits", Backoff{Base: s}, 1e9, 1e9 * s, 1e9 * s, 1e9 * s},
		{"a capped schedule far beyond its cap", Backoff{Base: s, Factor: 2, Max: 4 * s}, 1e9, 7*s + (1e9-3)*4*s, 7*s + (1e9-3)*4*s, 7*s + (1e9-3)*4*s},
		{"a growing sum saturates", Backoff{Base: s, Factor: 2}, 1e9, Max, Max, Max},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			low, high := tt.w.Sum(tt.n)
			if low != tt.low || high != tt.high {
				t.Errorf("Sum(%d) = %v, %v; want %v, %v", tt.n, low, high, tt.low, tt.high)
			}
			if got := tt.w.(Backoff).MeanSum(tt.n); got != tt.mean {
				t.Errorf("MeanSum(%d) = %v, want %v", tt.n, got, tt.mean)
			}
		})
	}
}

// TestEnvoyBounds: the source draws from [0, 25), [0, 50), ...; the documentation
// says 25, 75, 175 ms, an upper bound.
func TestEnvoyBounds(t *testing.T) {
	src, docs := Envoy(25*ms, 250*ms), EnvoyDocs{Base: 25 * ms, Max: 250 * ms}
	for i, want := range [][2]time.Duration{{25 * ms, 25 * ms}, {50 * ms, 75 * ms}, {100 * ms, 175 * ms}, {200 * ms, 250 * ms}, {250 * ms, 250 * ms}} {
		_, h := src.Wait(int64(i + 1))
		l, d := docs.Wait(int64(i + 1))
		if h != want[0] || d != want[1] || l != 0 {
			t.Errorf("wait %d: %v and %v, want %v", i+1, h, d, want)
		}
	}
	if _, h := docs.Sum(3); h != 275*ms {
		t.Errorf("sum of the documented bounds %v", h)
	}
	if _, h := docs.Sum(100); h != 275*ms+97*250*ms {
		t.Errorf("sum of 100 documented bounds %v", h)
	}
	if _, h := (EnvoyDocs{Base: time.Hour, Max: Max}).Sum(200); h != Max {
		t.Errorf("the documented bound does not saturate: %v", h)
	}
	if l, h := docs.Wait(0); l != 0 || h != 0 {
		t.Error("wait 0 is not nothing")
	}
}

func TestDecorrelated(t *testing.T) {
	b := Backoff{Base: 100 * ms, Max: 2 * time.Second, Jitter: Decorrelated}
	for i, want := range []time.Duration{300 * ms, 900 * ms, 2000 * ms, 2000 * ms} {
		l, h := b.Wait(int64(i + 1))
		if l != 100*ms || h != want {
			t.Errorf("wait %d: %v..%v, want 100ms..%v", i+1, l, h, want)
		}
	}
	if m := b.MeanSum(3); m < 300*ms || m > 3200*ms {
		t.Errorf("mean %v outside the bounds", m)
	}
}

// TestSumAgainstAdding adds the waits one by one.
func TestSumAgainstAdding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := Backoff{
			Base:   time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "base")),
			Factor: rapid.SampledFrom([]float64{0, 0.5, 1, 1.5, 2, 3}).Draw(t, "factor"),
			Step:   time.Duration(rapid.SampledFrom([]int64{0, 0, 1e6, 1e9}).Draw(t, "step")),
			Max:    time.Duration(rapid.SampledFrom([]int64{0, 1e6, 1e9, 1e12}).Draw(t, "max")),
			Jitter: Jitter(rapid.IntRange(0, 4).Draw(t, "jitter")),
			Spread: 0.2,
		}
		n := rapid.Int64Range(0, 200).Draw(t, "n")
		var low, high time.Duration
		for i := int64(1); i <= n; i++ {
			l, h := b.Wait(i)
			if l > h {
				t.Fatalf("%+v: wait %d is %v..%v", b, i, l, h)
			}
			low, high = SatAdd(low, l), SatAdd(high, h)
		}
		l, h := b.Sum(n)
		if l != low || h != high {
			t.Fatalf("%+v: Sum(%d) = %v, %v; want %v, %v", b, n, l, h, low, high)
		}
		if m := b.MeanSum(n); b.Jitter != Decorrelated && h < Max/2 && (m < l-2*time.Duration(n) || m > h+2*time.Duration(n)) {
			t.Fatalf("%+v: mean %v outside %v..%v", b, m, l, h)
		}
	})
}

// TestLongSums: the closed form beyond sumSteps agrees with adding up.
func TestLongSums(t *testing.T) {
	for _, b := range []Backoff{
		{Base: time.Second, Factor: 1.0001},
		{Base: time.Second, Factor: 1.0001, Max: 2 * time.Second, Jitter: EqualJitter},
		{Base: time.Millisecond, Step: time.Microsecond, Jitter: FullJitter},
		{Base: time.Millisecond, Step: time.Microsecond, Max: 20 * time.Millisecond, Jitter: SpreadJitter, Spread: 0.25},
		{Base: time.Hour, Factor: 0.999},
	} {
		var low, high time.Duration
		for n := int64(1); n <= 30_000; n++ {
			l, h := b.Wait(n)
			low, high = low+l, high+h
			if n%4999 != 0 {
				continue
			}
			gotLow, gotHigh := b.Sum(n)
			if math.Abs(float64(gotLow-low)) > 1e-9*float64(low)+float64(n) || math.Abs(float64(gotHigh-high)) > 1e-9*float64(high)+float64(n) {
				t.Errorf("%+v: Sum(%d) = %v, %v; want %v, %v", b, n, gotLow, gotHigh, low, high)
			}
		}
	}
	b := Backoff{Base: 1, Factor: 1.0000001}
	if low, high := b.Sum(1 << 40); low != Max || high != Max {
		t.Errorf("a sum beyond all bounds: %v, %v", low, high)
	}
}
