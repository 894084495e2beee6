package budget

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func near(t *testing.T, id string, got, want, rel float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > rel*math.Abs(want) {
		t.Errorf("%s: got %.10g, want %.10g (relative %g)", id, got, want, rel)
	}
}

// outage makes calls that always fail and returns the attempts of each.
func outage(p Policy, calls, attempts int, late bool) (per []int, left int64) {
	c := p.Compile()
	var s State
	s.Init(&c)
	for range calls {
		s.Start(&c, 0)
		n := 1
		for {
			s.Fail(&c)
			if n > 1 {
				s.RetryEnded(&c, false, late)
			}
			if n == attempts || !s.Allow(&c, 0, late) {
				break
			}
			n++
		}
		s.End(&c, false)
		per = append(per, n)
	}
	return per, s.Tokens()
}

func sum(v []int) (n int) {
	for _, x := range v {
		n += x
	}
	return n
}

func TestB1RatioPerFirstTry(t *testing.T) {
	for _, row := range []struct {
		r      float64
		layers int
		want   float64
	}{{.1, 1, 1.1}, {.2, 1, 1.2}, {.1, 3, 1.331}, {.2, 3, 1.728}} {
		got := math.Pow(Policy{Kind: FirstTry, Ratio: row.r}.Cap(3, 100), float64(row.layers))
		near(t, "B1", got, row.want, 1e-9)
	}
	if Attempts(1, 3)*Attempts(1, 3)*Attempts(1, 3) != 27 {
		t.Error("three layers of three attempts are 27")
	}
	// The bucket itself comes on top once: exact in integers.
	per, _ := outage(Policy{Kind: FirstTry, Ratio: .1, Max: 10}, 1000, 3, true)
	if got := sum(per); got != 1000+100+10-1 && got != 1000+100+10 {
		t.Errorf("1000 failing calls made %d attempts, want 1.1 x 1000 + bucket of 10", got)
	}
}

// monte runs calls with independent failures over clients and returns the
// attempts per call.
func monte(p Policy, clients, calls, attempts int, fail float64) float64 {
	rng := rand.New(rand.NewPCG(7, 7))
	c := p.Compile()
	states := make([]State, clients)
	for i := range states {
		states[i].Init(&c)
	}
	total := 0
	for i := range calls {
		s := &states[i%clients]
		s.Start(&c, 0)
		for n := 1; ; n++ {
			total++
			ok := rng.Float64() >= fail
			if !ok {
				s.Fail(&c)
			}
			if n > 1 {
				s.RetryEnded(&c, ok, true)
			}
			if ok || n == attempts || !s.Allow(&c, 0, true) {
				s.End(&c, ok)
				break
			}
		}
	}
	return float64(total) / float64(calls)
}

// The published simulation has 100 clients with a bucket of 5 tokens of which
// one stays unused, so four are spent once.
func TestB1ManyClients(t *testing.T) {
	got := monte(Policy{Kind: FirstTry, Ratio: .1, Max: 4}, 100, 20001, 4, .5)
	near(t, "B1 simulation", got, 1.1210, .01)
}

func TestB2DepositOnSuccess(t *testing.T) {
	for _, row := range []struct{ p, want float64 }{{.2, 1.087}, {.5, 1.053}, {.9, 1.010}, {1, 1}} {
		pol := Policy{Kind: Success, Ratio: .1}
		near(t, "B2", pol.Steady(row.p, 1000, 1), row.want, 5e-4)
		near(t, "B2 exact", pol.Steady(row.p, 1000, 1), 1/(1-.1*(1-row.p)), 1e-9)
		near(t, "B2 per first try", Policy{Kind: FirstTry, Ratio: .1}.Steady(row.p, 1000, 1), 1.1, 1e-9)
		if row.p < 1 {
			near(t, "B2 simulation", monte(pol, 1, 400000, 1000, row.p), row.want, .002)
		}
	}
	near(t, "B2 few attempts", Policy{Kind: Success, Ratio: .5}.Steady(.1, 2, 1), 1.1, 1e-9)
}

func TestB3(t *testing.T) {
	near(t, "B3 attempts", Policy{}.Cap(3, 1), 3, 1e-12)
	near(t, "B3 budget", Policy{Kind: FirstTry, Ratio: .1}.Cap(3, 1), 1.1, 1e-12)
}

func TestB4B5GRPC(t *testing.T) {
	p := Policy{Kind: GRPC, Ratio: .1, Max: 10}
	per, left := outage(p, 20, 4, false)
	if per[0] != 4 || per[1] != 1 || sum(per) != 23 || left != 0 {
		t.Errorf("B4: attempts %v, sum %d, tokens left %d; want 4, 1, ..., sum 23, 0", per, sum(per), left)
	}
	one, left := outage(p, 1, 4, false)
	if one[0] != 4 || left != 6*Unit {
		t.Errorf("B4 call 1: %d attempts, %d tokens", one[0], left)
	}
	if _, left = outage(p, 2, 4, false); left != 5*Unit {
		t.Errorf("B4 call 2: %d thousandths left, want 5000", left)
	}
	p.Initial = -1
	c := p.Compile()
	var s State
	s.Init(&c)
	n := 0
	for !s.Allow(&c, 0, false) {
		s.End(&c, true)
		n++
	}
	if n != 51 {
		t.Errorf("B5: %d successes before another attempt is allowed, want 51", n)
	}
}

func TestB7B8CostBucket(t *testing.T) {
	spent := func(per []int) (calls, attempts int) {
		for i, n := range per {
			attempts += n
			if n > 1 {
				calls = i + 1
			}
		}
		return calls, attempts - (len(per) - calls)
	}
	for _, row := range []struct {
		p              Policy
		late           bool
		calls, att     int
		left, retriesN int
	}{
		{Policy{Kind: Cost}, false, 50, 150, 0, 100},
		{Policy{Kind: Cost}, true, 25, 75, 0, 50},
		{Policy{Kind: Cost, Cost: 14, TimeoutCost: 14}, true, 18, 53, 10, 35},
	} {
		per, left := outage(row.p, 200, 3, row.late)
		calls, att := spent(per)
		if calls != row.calls || att != row.att || left != int64(row.left)*Unit || att-calls != row.retriesN {
			t.Errorf("%+v late=%v: %d calls, %d attempts, %d tokens left; want %d, %d, %d", row.p, row.late, calls, att, left/Unit, row.calls, row.att, row.left)
		}
	}
}

func TestB10Window(t *testing.T) {
	p := Policy{Kind: Window, Ratio: .2, Floor: 10, TTL: 10e9}
	for _, row := range []struct{ rate, want float64 }{{1000, 1.21}, {50, 1.4}, {10, 2.2}, {5, 3.2}} {
		near(t, "B10", p.Cap(100, row.rate), row.want, 1e-9)
		// The same by running the window through ten minutes of total failure.
		c := p.Compile()
		var s State
		s.Init(&c)
		total, calls := 0, 0
		for now := int64(0); now < 600e9; now += int64(1e9 / row.rate) {
			s.Start(&c, now)
			calls++
			total++
			for n := 1; n < 100 && s.Allow(&c, now, true); n++ {
				total++
			}
		}
		near(t, "B10 run", float64(total)/float64(calls), row.want, .03)
	}
}

func TestB12Throttle(t *testing.T) {
	for _, row := range []struct{ acc, k, want float64 }{{10, 2, .79208}, {10, 1.1, .88119}, {50, 2, 0}, {0, 2, .9901}} {
		if got := Throttle(100, row.acc, row.k); math.Abs(got-row.want) > 5.1e-6 {
			t.Errorf("B12 accepts %g k %g: %.6f, want %.5f", row.acc, row.k, got, row.want)
		}
	}
	// Steady state: what is sent approaches k times what is accepted.
	const capacity, offered, k = 100.0, 1000.0, 2.0
	req, acc := offered, capacity
	sent := offered
	for range 200 {
		sent = offered * (1 - Throttle(req, acc, k))
		req, acc = offered, math.Min(capacity, sent)
	}
	near(t, "B12 steady", sent, k*capacity, .01)
}

func TestB13Naive(t *testing.T) {
	sent, failed := NaiveRetry(10000, 10100, 3)
	if !slices.Equal(sent, []int{10100, 10200, 10300}) || !slices.Equal(failed, []int{100, 200, 300}) {
		t.Errorf("B13: sent %v failed %v", sent, failed)
	}
}

func TestB14ServerWide(t *testing.T) {
	p := Policy{Kind: Rate, Floor: 1, Max: 1}
	near(t, "B14", p.Cap(3, 1000), 1.001, 1e-9)
	c := p.Compile()
	var s State
	s.Init(&c)
	total := 0
	for i := range 60000 { // one minute at 1000 rps, all failing
		now := int64(i) * 1e6
		s.Start(&c, now)
		total++
		for n := 1; n < 3 && s.Allow(&c, now, false); n++ {
			total++
		}
	}
	near(t, "B14 run", float64(total)/60000, 1.001, 1e-4)
}

func TestConcurrent(t *testing.T) {
	c := Policy{Kind: Concurrent, Ratio: .2}.Compile()
	var s State
	s.Init(&c)
	for range 100 {
		s.Start(&c, 0)
	}
	n := 0
	for s.Allow(&c, 0, true) {
		n++
	}
	if n != 20 {
		t.Errorf("20 %% of 100 active calls: %d allowed", n)
	}
	for range 95 {
		s.End(&c, true)
	}
	for range 20 {
		s.RetryEnded(&c, true, true)
	}
	for n = 0; s.Allow(&c, 0, true); n++ {
	}
	if n != 3 {
		t.Errorf("with 5 active calls the floor of 3 counts: %d allowed", n)
	}
}

// The balance never leaves [0, Max], and the attempts granted never exceed
// what was deposited plus one bucket.
func TestBalanceProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]Kind{FirstTry, Success, GRPC, Cost, Rate}).Draw(t, "kind")
		p := Policy{Kind: kind, Ratio: rapid.Float64Range(0, 1).Draw(t, "ratio"), Max: float64(rapid.IntRange(1, 20).Draw(t, "max")), Floor: rapid.Float64Range(0, 5).Draw(t, "floor")}
		c := p.Compile()
		var s State
		s.Init(&c)
		now, granted, first := int64(0), 0, 0
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			now += int64(rapid.IntRange(0, 2e8).Draw(t, "dt"))
			first++
			s.Start(&c, now)
			ok := rapid.Bool().Draw(t, "ok")
			if !ok {
				s.Fail(&c)
				if s.Allow(&c, now, false) {
					granted++
					s.RetryEnded(&c, false, false)
				}
			}
			s.End(&c, ok)
			if s.Tokens() < 0 || s.Tokens() > c.max {
				t.Fatalf("balance %d outside [0, %d]", s.Tokens(), c.max)
			}
		}
		if kind == FirstTry && float64(granted)*Unit > float64(first)*float64(c.deposit)+float64(c.max) {
			t.Fatalf("%d granted of %d first tries at ratio %g, bucket %g", granted, first, p.Ratio, p.Max)
		}
	})
}

func TestAttempts(t *testing.T) {
	for _, row := range []struct {
		p    float64
		n    int
		want float64
	}{{.5, 4, 1.875}, {.1, 3, 1.11}, {.3, 3, 1.39}, {.9, 3, 2.71}, {1, 3, 3}, {1, 1000, 1000}, {.3, 0, 0}} {
		near(t, "A", Attempts(row.p, row.n)+1, row.want+1, 1e-12)
	}
	near(t, "near one", Attempts(1-1e-12, 1000), 1000, 1e-9)
}

func TestValidate(t *testing.T) {
	for _, p := range []Policy{{Ratio: -1}, {Kind: 99}, {Kind: FirstTry, Ratio: 101}, {TTL: -1}, {Min: -1}, {Max: math.NaN()}} {
		if p.Validate() == nil {
			t.Errorf("%+v accepted", p)
		}
	}
	if err := (Policy{Kind: Window, Ratio: .2, Floor: 10}).Validate(); err != nil {
		t.Error(err)
	}
}

func BenchmarkAllow(b *testing.B) {
	c := Policy{Kind: FirstTry, Ratio: .2}.Compile()
	var s State
	s.Init(&c)
	for i := range b.N {
		s.Start(&c, int64(i))
		s.Allow(&c, int64(i), true)
	}
}
