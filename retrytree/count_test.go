package retrytree

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestCountAgainstBig(t *testing.T) {
	gen := rapid.OneOf(rapid.Int64Range(0, 10), rapid.Int64Range(0, math.MaxInt64))
	rapid.Check(t, func(t *rapid.T) {
		c, want := NewCount(1), big.NewInt(1)
		for i := rapid.IntRange(1, 20).Draw(t, "steps"); i > 0; i-- {
			n := gen.Draw(t, "n")
			if rapid.Bool().Draw(t, "add") {
				c, want = c.Add(NewCount(n)), new(big.Int).Add(want, big.NewInt(n))
			} else {
				c, want = c.Mul(NewCount(n)), new(big.Int).Mul(want, big.NewInt(n))
			}
			if c.Big().Cmp(want) != 0 || c.String() != want.String() {
				t.Fatalf("got %v, want %v", c, want)
			}
			if v, ok := c.Int64(); ok != want.IsInt64() || ok && v != want.Int64() {
				t.Fatalf("Int64() = %d, %v for %v", v, ok, want)
			}
			if want.Sign() > 0 && math.Abs(c.Log2()-bigLog2(want)) > 1e-9*bigLog2(want)+1e-9 {
				t.Fatalf("Log2() = %v for %v", c.Log2(), want)
			}
		}
		d := NewCount(gen.Draw(t, "d"))
		if c.Cmp(d) != want.Cmp(d.Big()) || d.Cmp(c) != -c.Cmp(d) {
			t.Fatalf("%v cmp %v = %d", c, d, c.Cmp(d))
		}
	})
}

func TestCountHuge(t *testing.T) {
	c := NewCount(1)
	for range 5000 {
		c = c.Mul(NewCount(10))
	}
	if c.IsExact() || c.Big() != nil || c.Unbounded() {
		t.Fatalf("10^5000 should be beyond the exact range: %v", c)
	}
	if got := c.String(); got != "about 10^5000" {
		t.Errorf("String() = %q", got)
	}
	if got := c.Log2(); math.Abs(got-5000*math.Log2(10)) > 1e-6 {
		t.Errorf("Log2() = %v", got)
	}
	if c.Cmp(NewCount(math.MaxInt64)) != 1 || c.Cmp(UnboundedCount()) != -1 || c.Cmp(c.Mul(NewCount(2))) != -1 {
		t.Error("order of huge counts is wrong")
	}
	if got := c.Add(c).Log2() - c.Log2(); math.Abs(got-1) > 1e-9 {
		t.Errorf("doubling adds %v bits", got)
	}
	if !c.Mul(Count{}).IsZero() || !UnboundedCount().Mul(Count{}).IsZero() {
		t.Error("zero times anything is zero")
	}
	if v, ok := c.Int64(); ok || v != math.MaxInt64 {
		t.Errorf("Int64() = %d, %v: expected the saturated value and false", v, ok)
	}
	if got := UnboundedCount().Add(NewCount(1)).String(); got != "unbounded" {
		t.Errorf("unbounded + 1 = %q", got)
	}
	if MaxCount(c, UnboundedCount()).String() != "unbounded" || MaxCount(NewCount(2), NewCount(1)).String() != "2" {
		t.Error("MaxCount is wrong")
	}
}
