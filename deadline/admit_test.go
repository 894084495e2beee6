package deadline

import (
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const ms = time.Millisecond

func TestAdmit(t *testing.T) {
	tests := []struct {
		reason string
		in     Request
		want   Admission
	}{
		{"C1: 150+80+150 = 380 > 300; only 70 ms would be left", Request{300 * ms, 150 * ms, 80 * ms, 150 * ms},
			Admission{Admit: false, Remaining: 150 * ms, Needed: 230 * ms, ShortBy: 80 * ms}},
		{"ends exactly at the deadline: admitted", Request{300 * ms, 70 * ms, 80 * ms, 150 * ms},
			Admission{Admit: true, Remaining: 230 * ms, Needed: 230 * ms}},
		{"one nanosecond too late", Request{300 * ms, 70*ms + 1, 80 * ms, 150 * ms},
			Admission{Admit: false, Remaining: 230*ms - 1, Needed: 230 * ms, ShortBy: 1}},
		{"one nanosecond to spare", Request{300 * ms, 70*ms - 1, 80 * ms, 150 * ms},
			Admission{Admit: true, Remaining: 230*ms + 1, Needed: 230 * ms, Margin: 1}},
		{"overdrawn budget", Request{100 * ms, 150 * ms, 0, 10 * ms},
			Admission{Admit: false, Remaining: -50 * ms, Needed: 10 * ms, ShortBy: 60 * ms}},
		{"nothing needed, nothing left", Request{100 * ms, 100 * ms, 0, 0}, Admission{Admit: true}},
		{"nothing needed, overdrawn", Request{100 * ms, 101 * ms, 0, 0},
			Admission{Remaining: -1 * ms, ShortBy: 1 * ms}},
		{"the sum is longer than any budget: refused, and short by the rest", Request{Max, 0, Max, 1}, Admission{Remaining: Max, Needed: Max, ShortBy: 1, Saturated: true}},
		{"the longest sum that is exact", Request{Max, 0, Max - 1, 1}, Admission{Admit: true, Remaining: Max, Needed: Max}},
		{"the shortage saturates", Request{0, Max, Max, Max}, Admission{Remaining: -Max, Needed: Max, ShortBy: Max, Saturated: true}},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			got, err := Admit(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("Admit(%+v) (-want +got):\n%s", tt.in, d)
			}
		})
	}
	for _, bad := range []Request{{-1, 0, 0, 0}, {0, -1, 0, 0}, {0, 0, -1, 0}, {0, 0, 0, -1}} {
		if _, err := Admit(bad); err == nil {
			t.Errorf("Admit(%+v): no error for a negative duration", bad)
		}
	}
}

// TestAdmitAgainstBig compares with arithmetic that cannot overflow.
func TestAdmitAgainstBig(t *testing.T) {
	d := rapid.OneOf(rapid.Int64Range(0, 1000), rapid.Int64Range(0, int64(Max)))
	rapid.Check(t, func(t *rapid.T) {
		r := Request{time.Duration(d.Draw(t, "budget")), time.Duration(d.Draw(t, "spent")),
			time.Duration(d.Draw(t, "backoff")), time.Duration(d.Draw(t, "attempt"))}
		got, err := Admit(r)
		if err != nil {
			t.Fatal(err)
		}
		sum := new(big.Int).Add(big.NewInt(int64(r.Backoff)), big.NewInt(int64(r.Attempt)))
		sum.Add(sum, big.NewInt(int64(r.Spent)))
		short := new(big.Int).Sub(sum, big.NewInt(int64(r.Budget)))
		if !got.Admit && !(short.IsInt64() && short.Int64() == int64(got.ShortBy)) && !(got.Saturated && short.Cmp(big.NewInt(int64(got.ShortBy))) > 0) {
			t.Fatalf("%+v: short by %v, want %v", r, got.ShortBy, short)
		}
		if want := sum.Cmp(big.NewInt(int64(r.Budget))) <= 0; got.Admit != want {
			t.Fatalf("%+v: admit %v, want %v", r, got.Admit, want)
		}
		if got.Admit && (got.ShortBy != 0 || r.Spent+got.Needed+got.Margin != r.Budget) {
			t.Fatalf("%+v: %+v does not add up", r, got)
		}
		if !got.Admit && got.ShortBy <= 0 {
			t.Fatalf("%+v: refused but short by %v", r, got.ShortBy)
		}
	})
}

func TestPropagate(t *testing.T) {
	s := time.Second
	tests := []struct {
		reason   string
		deadline time.Duration
		chain    []Hop
		want     []View
	}{
		{"C2: 30 s, 7 s spent, B spends 4 s: B gets 23 s, C 19 s", 30 * s,
			[]Hop{{Name: "A", Spent: 7 * s}, {Name: "B", Spent: 4 * s}, {Name: "C"}},
			[]View{{Name: "A", Remaining: 30 * s, Believes: 30 * s},
				{Name: "B", Arrives: 7 * s, Remaining: 23 * s, Believes: 23 * s},
				{Name: "C", Arrives: 11 * s, Remaining: 19 * s, Believes: 19 * s}}},
		{"C3: 10 s, B starts at 8 s with a hard-coded 20 s, C dequeues after 5 s", 10 * s,
			[]Hop{{Name: "A", Spent: 8 * s}, {Name: "B", Own: 20 * s, IgnoresCaller: true, Spent: 5 * s}, {Name: "C"}},
			[]View{{Name: "A", Remaining: 10 * s, Believes: 10 * s},
				{Name: "B", Arrives: 8 * s, Remaining: 2 * s, Believes: 20 * s, WastedUpTo: 18 * s},
				{Name: "C", Arrives: 13 * s, Remaining: -3 * s, Believes: 15 * s, GiveUp: true, WastedUpTo: 15 * s}}},
		{"an honest own limit shortens, never lengthens", 10 * s,
			[]Hop{{Name: "A", Spent: s}, {Name: "B", Own: 4 * s, Spent: s}, {Name: "C", Own: 20 * s}},
			[]View{{Name: "A", Remaining: 10 * s, Believes: 10 * s},
				{Name: "B", Arrives: s, Remaining: 4 * s, Believes: 4 * s},
				{Name: "C", Arrives: 2 * s, Remaining: 3 * s, Believes: 3 * s}}},
		{"margins come off at every hop", 10 * s,
			[]Hop{{Name: "A", Margin: s}, {Name: "B", Margin: s}, {Name: "C"}},
			[]View{{Name: "A", Remaining: 10 * s, Believes: 10 * s},
				{Name: "B", Remaining: 9 * s, Believes: 9 * s}, {Name: "C", Remaining: 8 * s, Believes: 8 * s}}},
		{"a hop without any limit works forever", 10 * s,
			[]Hop{{Name: "A"}, {Name: "B", IgnoresCaller: true}},
			[]View{{Name: "A", Remaining: 10 * s, Believes: 10 * s},
				{Name: "B", Remaining: 10 * s, Believes: Max, WastedUpTo: Max}}},
		{"exactly nothing left: give up", s, []Hop{{Name: "A", Spent: s}, {Name: "B"}},
			[]View{{Name: "A", Remaining: s, Believes: s}, {Name: "B", Arrives: s, GiveUp: true}}},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			got, err := Propagate(tt.deadline, tt.chain)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
	if _, err := Propagate(-1, nil); err == nil {
		t.Error("no error for a negative deadline")
	}
	for _, h := range []Hop{{Spent: -1}, {Own: -1}, {Margin: -1}} {
		if _, err := Propagate(s, []Hop{h}); err == nil {
			t.Errorf("no error for %+v", h)
		}
	}
}

// TestPropagateProperties: without a hop that ignores its caller, belief is
// truth and nothing is ever gained on the way down.
func TestPropagateProperties(t *testing.T) {
	dur := rapid.Map(rapid.Int64Range(0, int64(20*time.Second)), func(n int64) time.Duration { return time.Duration(n) })
	rapid.Check(t, func(t *rapid.T) {
		total := dur.Draw(t, "deadline")
		n := rapid.IntRange(1, 8).Draw(t, "hops")
		chain := make([]Hop, n)
		for i := range chain {
			chain[i] = Hop{Name: fmt.Sprint(i), Spent: dur.Draw(t, "spent"), Margin: dur.Draw(t, "margin"), Own: dur.Draw(t, "own")}
		}
		views, err := Propagate(total, chain)
		if err != nil {
			t.Fatal(err)
		}
		left := total // the dumb second implementation: what is left, hop by hop
		for i, v := range views {
			if chain[i].Own > 0 {
				left = min(left, chain[i].Own)
			}
			if v.Remaining != left || v.Believes != left || v.WastedUpTo != 0 || v.GiveUp != (left <= 0) {
				t.Fatalf("hop %d: %+v, want %v left", i, v, left)
			}
			left -= chain[i].Spent + chain[i].Margin
		}
	})
}

func TestSaturation(t *testing.T) {
	d := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-10, 10))
	clamp := func(b *big.Int) time.Duration {
		switch {
		case b.IsInt64():
			return time.Duration(b.Int64())
		case b.Sign() > 0:
			return Max
		}
		return -Max - 1
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := d.Draw(t, "a"), d.Draw(t, "b")
		x, y := big.NewInt(a), big.NewInt(b)
		if got, want := SatAdd(time.Duration(a), time.Duration(b)), clamp(new(big.Int).Add(x, y)); got != want {
			t.Fatalf("%d + %d = %d, want %d", a, b, got, want)
		}
		if got, want := SatSub(time.Duration(a), time.Duration(b)), clamp(new(big.Int).Sub(x, y)); got != want {
			t.Fatalf("%d - %d = %d, want %d", a, b, got, want)
		}
		if a >= 0 && b >= 0 {
			if got, want := SatMul(time.Duration(a), b), clamp(new(big.Int).Mul(x, y)); got != want {
				t.Fatalf("%d * %d = %d, want %d", a, b, got, want)
			}
		}
	})
}
