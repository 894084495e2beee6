package retrytree

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func always(o Outcome) func(int64, int64) Outcome {
	return func(int64, int64) Outcome { return o }
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// TestGRPCThrottling is B4 and B5.
func TestGRPCThrottling(t *testing.T) {
	g := must[*GRPCTokens](t)(NewGRPCTokens(10, 0.1))
	if p := Play(g, 1, 4, 0, always(Failed)); p.Attempts != 4 || g.Tokens() != 6000 {
		t.Errorf("B4, call 1: %d attempts, %d tokens; want 4, 6000", p.Attempts, g.Tokens())
	}
	if p := Play(g, 1, 4, 0, always(Failed)); p.Attempts != 1 || g.Tokens() != 5000 {
		t.Errorf("B4, call 2: %d attempts, %d tokens; want 1, 5000", p.Attempts, g.Tokens())
	}
	g = must[*GRPCTokens](t)(NewGRPCTokens(10, 0.1))
	if p := Play(g, 20, 4, 0, always(Failed)); p.Attempts != 23 || g.Tokens() != 0 {
		t.Errorf("B4, 20 calls: %d attempts, %d tokens; want 23, 0", p.Attempts, g.Tokens())
	}
	successes := 0
	for !g.Retry(0, Failed) {
		g.Result(0, Succeeded, false)
		successes++
	}
	if successes != 51 {
		t.Errorf("B5: %d successes, want 51", successes)
	}
	for _, bad := range []struct {
		max   int64
		ratio float64
	}{{0, 0.1}, {1001, 0.1}, {10, 0}, {10, -1}, {10, math.NaN()}} {
		if _, err := NewGRPCTokens(bad.max, bad.ratio); err == nil {
			t.Errorf("%+v: no error", bad)
		}
	}
}

// TestAWSQuota is B7 and B8.
func TestAWSQuota(t *testing.T) {
	tests := []struct {
		reason                             string
		tokens                             *AWSTokens
		o                                  Outcome
		retries, lastFull, attempts, after int64
	}{
		{"B7: total outage, 100 retries, 50 calls, 150 attempts", AWSStandard(), Failed, 100, 50, 150, 0},
		{"B7: timeouts, 50 retries, 25 calls, 75 attempts", AWSStandard(), TimedOut, 50, 25, 75, 0},
		{"B8: 2026, 35 retries, 18 calls, 53 attempts, 10 tokens left", AWS2026(), Failed, 35, 18, 53, 10},
		{"B8: 2026, throttled: 5 a retry as before", AWS2026(), Throttled, 100, 50, 150, 0},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			copied := *tt.tokens
			p := Play(&copied, 1000, 3, 0, always(tt.o))
			if p.Retries != tt.retries || p.LastFull != tt.lastFull || copied.Tokens != tt.after {
				t.Errorf("%d retries, last in call %d, %d tokens left; want %d, %d, %d", p.Retries, p.LastFull, copied.Tokens, tt.retries, tt.lastFull, tt.after)
			}
			copied = *tt.tokens
			if p := Play(&copied, tt.lastFull, 3, 0, always(tt.o)); p.Attempts != tt.attempts {
				t.Errorf("%d attempts in the first %d calls, want %d", p.Attempts, tt.lastFull, tt.attempts)
			}
			if p := Play(&copied, 10, 3, 0, always(tt.o)); p.Attempts != 10 {
				t.Errorf("then %d attempts in 10 calls, want 1 a call", p.Attempts)
			}
			Play(&copied, 10_000, 3, 0, always(Succeeded))
			if copied.Tokens != 500 {
				t.Errorf("after 10000 successes %d tokens, want the full 500", copied.Tokens)
			}
		})
	}
	a := AWSStandard()
	Play(a, 1, 3, 0, func(_, attempt int64) Outcome {
		if attempt == 2 {
			return Succeeded
		}
		return Failed
	})
	if a.Tokens != 500 {
		t.Errorf("a retry that succeeds gives its cost back: %d tokens", a.Tokens)
	}
}

// TestRatioBudget is B1 and B2 on the integer bucket.
func TestRatioBudget(t *testing.T) {
	const calls, n = 400_000, 50
	for _, tt := range []struct {
		reason string
		kind   BudgetKind
		p      float64
		want   float64
	}{
		{"B2 per success p=.2", PerSuccess, .2, 1.087}, {"B2 per success p=.5", PerSuccess, .5, 1.053},
		{"B2 per success p=.9", PerSuccess, .9, 1.010}, {"B2 per success p=1", PerSuccess, 1, 1},
		{"B2 per first try p=.2", PerFirstTry, .2, 1.1}, {"B2 per first try p=.5", PerFirstTry, .5, 1.1},
		{"B2 per first try p=1", PerFirstTry, 1, 1.1},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			b := Budget{Kind: tt.kind, Ratio: 0.1}
			if got := b.Cap(tt.p); math.Abs(got-tt.want) > 5e-4 {
				t.Errorf("closed form %v, want %v", got, tt.want)
			}
			tokens := must[*RatioTokens](t)(NewRatioTokens(tt.kind, 0.1, 10))
			r := rand.New(rand.NewPCG(1, 2))
			p := Play(tokens, calls, n, 0, func(int64, int64) Outcome {
				if r.Float64() < tt.p {
					return Failed
				}
				return Succeeded
			})
			want, failure := LongRun(tt.p, NewCount(n), &b)
			if got := float64(p.Attempts) / calls; math.Abs(got-want) > 2e-3*want {
				t.Errorf("%v attempts a call, closed form %v", got, want)
			}
			if got := 1 - float64(p.Succeeded)/calls; math.Abs(got-failure) > 3e-3 {
				t.Errorf("%v of the calls fail, closed form %v", got, failure)
			}
		})
	}
	// B1: total load is at most (1+r) first tries and the bucket.
	tokens := must[*RatioTokens](t)(NewRatioTokens(PerFirstTry, 0.1, 5))
	if p := Play(tokens, 1000, 4, 0, always(Failed)); p.Attempts > 1000+100+5 || p.Attempts < 1100 {
		t.Errorf("B1: %d attempts for 1000 calls, want 1100 and up to 5 for the bucket", p.Attempts)
	}
	// B1, played: 100 clients, each with its own bucket of 5, f = .5, 200 calls each;
	// 1 + .1 + the buckets. Brooker's simulation: 22422/20001 = 1.1210.
	r := rand.New(rand.NewPCG(3, 4))
	var attempts, total int64
	for range 100 {
		client := must[*RatioTokens](t)(NewRatioTokens(PerFirstTry, 0.1, 5))
		p := Play(client, 200, 4, 0, func(int64, int64) Outcome { return Outcome(r.IntN(2)) })
		attempts, total = attempts+p.Attempts, total+p.Calls
	}
	if got := float64(attempts) / float64(total); math.Abs(got-1.121) > 0.01*1.121 {
		t.Errorf("B1, 100 clients: %v, want 1.121", got)
	}
	if got := math.Pow(capOf(.1), 3); math.Abs(got-1.331) > 1e-9 {
		t.Errorf("B1: three layers at 10%%: %v, want 1.331", got)
	}
	if got := math.Pow(capOf(.2), 3); math.Abs(got-1.728) > 1e-9 {
		t.Errorf("B1: three layers at 20%%: %v, want 1.728", got)
	}
	// B3: 3 attempts a call against a 10% client budget under full outage.
	if a, _ := LongRun(1, NewCount(3), nil); a != 3 {
		t.Errorf("B3: %v without a budget, want 3", a)
	}
	if a, _ := LongRun(1, NewCount(3), &Budget{Ratio: 0.1}); math.Abs(a-1.1) > 1e-12 {
		t.Errorf("B3: %v with 10%%, want 1.1", a)
	}
}

// capOf is the cap of a per-first-try budget.
func capOf(r float64) float64 { return (&Budget{Ratio: r}).Cap(1) }

// TestWindowFloor is B10: the cap is 1.2 + 10/R for each client.
func TestWindowFloor(t *testing.T) {
	for _, tt := range []struct{ rate, want float64 }{{1000, 1.21}, {50, 1.4}, {10, 2.2}, {5, 3.2}} {
		b := Budget{Ratio: 0.2, Floor: 10, Rate: tt.rate}
		if got := b.Cap(1); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("R=%v: %v, want %v", tt.rate, got, tt.want)
		}
		w := must[*WindowTokens](t)(NewWindowTokens(0.2, 10, 10*time.Second))
		calls := int64(tt.rate * 1000) // a thousand seconds: the first window hardly weighs
		p := Play(w, calls, 100, time.Duration(float64(time.Second)/tt.rate), always(Failed))
		if got := float64(p.Attempts) / float64(calls); math.Abs(got-tt.want) > 0.03*tt.want {
			t.Errorf("R=%v: %v attempts a call over 1000 s, want %v", tt.rate, got, tt.want)
		}
	}
	w := must[*WindowTokens](t)(NewWindowTokens(1, 0, time.Second))
	w.FirstTry(0)
	if w.Retry(3*time.Second, Failed) {
		t.Error("a deposit outlives its ttl")
	}
	for _, f := range []func() (*WindowTokens, error){
		func() (*WindowTokens, error) { return NewWindowTokens(-1, 0, time.Second) },
		func() (*WindowTokens, error) { return NewWindowTokens(1, -1, time.Second) },
		func() (*WindowTokens, error) { return NewWindowTokens(1, 1, time.Hour) },
	} {
		if _, err := f(); err == nil {
			t.Error("no error for a value out of range")
		}
	}
}

// TestActiveTokens plays concurrent requests against Envoy's budget.
func TestActiveTokens(t *testing.T) {
	a := must[*ActiveTokens](t)(NewActiveTokens(0.2, 3))
	granted := 0
	for range 100 {
		a.FirstTry(0)
	}
	for a.Retry(0, Failed) { // failed requests that stay active beside their retries
		granted++
	}
	// R <= 0.2*(100+R) gives 25, or 1/(1-r) = 1.25; whole requests cut 24.8 to 24.
	if granted != 24 {
		t.Errorf("%d concurrent retries beside 100 requests, want 24", granted)
	}
	if got := (&Budget{Kind: OfActive, Ratio: 0.2}).Cap(1); got != 1.25 {
		t.Errorf("Cap = %v, want 1.25", got)
	}
	small := must[*ActiveTokens](t)(NewActiveTokens(0.2, 3))
	small.FirstTry(0)
	for n := 0; n < 3; n++ {
		if !small.Retry(0, Failed) {
			t.Errorf("retry %d refused below the floor of 3", n+1)
		}
	}
	if small.Retry(0, Failed) {
		t.Error("a fourth concurrent retry beside one request")
	}
	small.Result(0, Failed, true)
	if !small.Retry(0, Failed) {
		t.Error("the place of a finished retry is not free again")
	}
	if _, err := NewActiveTokens(1.5, 0); err == nil {
		t.Error("no error for a share above 1")
	}
}

// TestSRE is B12, B13 and B14.
func TestSRE(t *testing.T) {
	for _, tt := range []struct{ req, acc, k, want float64 }{
		{100, 10, 2, 0.792079207920792}, {100, 10, 1.1, 0.881188118811881}, {100, 50, 2, 0}, {100, 0, 2, 0.990099009900990},
	} {
		if got := AdaptiveThrottle(tt.req, tt.acc, tt.k); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("B12 %+v: %v", tt, got)
		}
	}
	if AdaptiveLoad(10_000, 1000, 2) != 2000 || AdaptiveLoad(500, 1000, 2) != 500 {
		t.Error("B12: the steady state sends K times the capacity, or what is offered")
	}
	sent, refused := NaiveRetry(10_100, 10_000, 3)
	if !slices.Equal(sent, []int64{10_100, 10_200, 10_300}) || !slices.Equal(refused, []int64{100, 200, 300}) {
		t.Errorf("B13: sent %v, refused %v", sent, refused)
	}
	if got := RateCapped(1000, 1, NewCount(3)); math.Abs(got-1.001) > 1e-12 {
		t.Errorf("B14: %v, want 1.001", got)
	}
	if got := RateCapped(0, 1, NewCount(3)); got != 1 {
		t.Errorf("no load, no amplification: %v", got)
	}
}

// TestAdaptiveSteadyState plays the throttle of B12 until it settles: the rate
// that is sent approaches K times the capacity.
func TestAdaptiveSteadyState(t *testing.T) {
	const offered, capacity, k = 10_000.0, 1000.0, 2.0
	requests, accepts := 0.0, 0.0 // a window that forgets 1% a step
	sent := 0.0
	for range 5000 {
		drop := AdaptiveThrottle(requests, accepts, k)
		sent = offered * (1 - drop)
		requests = 0.99*requests + offered
		accepts = 0.99*accepts + min(sent, capacity)
	}
	if math.Abs(sent-k*capacity) > 0.01*k*capacity {
		t.Errorf("sends %v, want %v", sent, k*capacity)
	}
}

// TestTokensNeverExceed: whatever happens, attempts stay within the limits that
// the budget promises.
func TestTokensNeverExceed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ratio := float64(rapid.IntRange(0, 1000).Draw(t, "ratio")) / 1000
		bucket := float64(rapid.IntRange(0, 20).Draw(t, "bucket"))
		tok, err := NewRatioTokens(rapid.SampledFrom([]BudgetKind{PerFirstTry, PerSuccess}).Draw(t, "kind"), ratio, bucket)
		if err != nil {
			t.Fatal(err)
		}
		outcomes := rapid.SliceOfN(rapid.SampledFrom([]Outcome{Succeeded, Failed, TimedOut}), 1, 200).Draw(t, "outcomes")
		i := 0
		p := Play(tok, 100, 5, 0, func(int64, int64) Outcome { i++; return outcomes[i%len(outcomes)] })
		if float64(p.Retries) > ratio*100+bucket+1e-9 {
			t.Fatalf("%d retries for 100 calls at %v with a bucket of %v", p.Retries, ratio, bucket)
		}
		if p.Attempts != p.Calls+p.Retries {
			t.Fatalf("%+v does not add up", p)
		}
	})
}
