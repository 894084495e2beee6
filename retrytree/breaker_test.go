package retrytree

import (
	"math"
	"testing"
	"time"
)

func TestBreaker(t *testing.T) {
	b := Breaker{Threshold: 0.5, Window: 10, OpenFor: 5 * time.Second, Probes: 2}
	if err := b.Check(); err != nil {
		t.Fatal(err)
	}
	// The dumb way: add up the binomial terms.
	for _, p := range []float64{0, 0.01, 0.3, 0.5, 0.9, 1} {
		want := 0.0
		for k := 5; k <= 10; k++ {
			want += binomial(10, k) * math.Pow(p, float64(k)) * math.Pow(1-p, float64(10-k))
		}
		if got := b.TripProbability(p); math.Abs(got-want) > 1e-12 {
			t.Errorf("TripProbability(%v) = %v, want %v", p, got, want)
		}
	}
	o := b.Outage(100)
	if o.BeforeOpen != 5 || o.OpenAfter != 50*time.Millisecond {
		t.Errorf("%+v: want 5 attempts, 50 ms", o)
	}
	if want := 2 / (5 + 0.02); math.Abs(o.PerSecond-want) > 1e-12 {
		t.Errorf("probes %v/s, want %v", o.PerSecond, want)
	}
	if z := b.Outage(0); z.PerSecond != 0 || z.OpenAfter != 0 {
		t.Errorf("no load: %+v", z)
	}
	if got := b.InsideRetry(3, 0); got != 3 {
		t.Errorf("a call of 3 attempts before it opens: %d", got)
	}
	if got := b.InsideRetry(3, 4); got != 1 {
		t.Errorf("one failure before it opens: %d attempts reach the callee, want 1", got)
	}
	if got := b.InsideRetry(3, 10); got != 0 {
		t.Errorf("open: %d attempts reach the callee, want 0", got)
	}
	if got := (Breaker{Threshold: 0.3, Window: 10, OpenFor: 1}).need(); got != 3 {
		t.Errorf("30%% of 10 needs %d failures, want 3", got)
	}
	for _, bad := range []Breaker{{Threshold: 0, Window: 1, OpenFor: 1}, {Threshold: 2, Window: 1, OpenFor: 1},
		{Threshold: 1, OpenFor: 1}, {Threshold: 1, Window: 1}, {Threshold: 1, Window: 1, OpenFor: 1, Probes: -1}} {
		if bad.Check() == nil {
			t.Errorf("%+v: no error", bad)
		}
	}
}

func binomial(n, k int) float64 {
	b := 1.0
	for i := 1; i <= k; i++ {
		b *= float64(n-k+i) / float64(i)
	}
	return b
}

// TestBreakerOutagePlayed counts attempts of a breaker state machine in a
// total outage, attempt by attempt.
func TestBreakerOutagePlayed(t *testing.T) {
	b := Breaker{Threshold: 0.4, Window: 20, OpenFor: 3 * time.Second, Probes: 3}
	const rate = 50.0
	window := make([]bool, b.Window) // true = failed; starts with successes
	var at, reopen time.Duration
	open, probes := false, int64(0)
	reached, before := int64(0), int64(0)
	const horizon = 3000 * time.Second
	for i := int64(0); at < horizon; i++ {
		at = time.Duration(i) * time.Second / rate
		if open && at < reopen {
			continue
		}
		reached++
		if open {
			if probes++; probes == b.Probes {
				probes, reopen = 0, at+b.OpenFor
			}
			continue
		}
		window[i%b.Window] = true
		failed := int64(0)
		for _, f := range window {
			if f {
				failed++
			}
		}
		if failed >= b.need() {
			open, reopen, before = true, at+b.OpenFor, reached
		}
	}
	o := b.Outage(rate)
	if before != o.BeforeOpen {
		t.Errorf("opened after %d attempts, want %d", before, o.BeforeOpen)
	}
	if got := float64(reached-before) / horizon.Seconds(); math.Abs(got-o.PerSecond) > 0.02*o.PerSecond {
		t.Errorf("%v probes a second, want %v", got, o.PerSecond)
	}
}
