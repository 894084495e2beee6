package retrytree

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strconv"
)

// maxExactBits bounds the size of an exact Count. A chain of 10^5 edges would
// otherwise need gigabytes for digits that nobody reads.
const maxExactBits = 4096

// Count is a number of attempts or executions, exact: an int64 while it fits,
// a big.Int beyond 2^63, only its logarithm beyond 2^4096, or unbounded when a
// configuration sets no limit. The zero value is 0. Counts are values; methods
// never change their receiver.
type Count struct {
	n int64    // the value while b is nil; for hugeMark the bits of its log2
	b *big.Int // the value beyond int64, hugeMark or unboundedMark; never changed
}

// Marks, compared by address: a Count is two words, because a large graph holds
// several for every node.
var (
	hugeMark      = big.NewInt(-1)
	unboundedMark = big.NewInt(-2)
)

// NewCount returns n as a Count. A negative n is a mistake of the caller and
// panics.
func NewCount(n int64) Count {
	if n < 0 {
		panic("retrytree: negative count")
	}
	return Count{n: n}
}

// UnboundedCount returns the count of a policy without a limit.
func UnboundedCount() Count { return Count{b: unboundedMark} }

// hugeCount returns a count beyond 2^4096, known by its logarithm.
func hugeCount(log2 float64) Count {
	return Count{n: int64(math.Float64bits(log2)), b: hugeMark}
}

// Unbounded reports whether there is no limit.
func (c Count) Unbounded() bool { return c.b == unboundedMark }

// IsExact reports whether the value is known to the last digit.
func (c Count) IsExact() bool { return c.b != unboundedMark && c.b != hugeMark }

// Int64 returns the value, or math.MaxInt64 and false when it does not fit.
func (c Count) Int64() (int64, bool) {
	if c.b != nil {
		return math.MaxInt64, false
	}
	return c.n, true
}

// Big returns a copy of the exact value, or nil when it is not exact.
func (c Count) Big() *big.Int {
	switch {
	case !c.IsExact():
		return nil
	case c.b != nil:
		return new(big.Int).Set(c.b)
	}
	return big.NewInt(c.n)
}

// Float64 returns the nearest float64; +Inf when unbounded or too large.
func (c Count) Float64() float64 {
	switch {
	case !c.IsExact():
		return math.Inf(1)
	case c.b != nil:
		f, _ := new(big.Float).SetInt(c.b).Float64()
		return f
	}
	return float64(c.n)
}

// Log2 returns the logarithm to base 2; -Inf for 0, +Inf when unbounded.
func (c Count) Log2() float64 {
	switch c.b {
	case nil:
		return math.Log2(float64(c.n))
	case unboundedMark:
		return math.Inf(1)
	case hugeMark:
		return math.Float64frombits(uint64(c.n))
	}
	return bigLog2(c.b)
}

func bigLog2(b *big.Int) float64 {
	shift := max(b.BitLen()-62, 0)
	top := new(big.Int).Rsh(b, uint(shift))
	return math.Log2(float64(top.Int64())) + float64(shift)
}

// String returns the decimal digits, "unbounded", or the order of magnitude.
func (c Count) String() string {
	switch c.b {
	case nil:
		return strconv.FormatInt(c.n, 10)
	case unboundedMark:
		return "unbounded"
	case hugeMark:
		return fmt.Sprintf("about 10^%.0f", c.Log2()*math.Log10(2))
	}
	return c.b.String()
}

// Cmp returns -1, 0 or +1. Two counts beyond 2^4096 compare by their logarithm.
func (c Count) Cmp(d Count) int {
	switch {
	case c.b == nil && d.b == nil:
		return cmp.Compare(c.n, d.n)
	case c.IsExact() && d.IsExact():
		return c.bigRef().Cmp(d.bigRef())
	}
	return cmp.Compare(c.Log2(), d.Log2())
}

// IsZero reports whether the value is 0.
func (c Count) IsZero() bool { return c.b == nil && c.n == 0 }

// Mul returns c*d. Zero times unbounded is zero: what is never called is never
// repeated.
func (c Count) Mul(d Count) Count {
	if c.b == nil && d.b == nil {
		if hi, lo := bits.Mul64(uint64(c.n), uint64(d.n)); hi == 0 && lo <= math.MaxInt64 {
			return Count{n: int64(lo)}
		}
	}
	switch {
	case c.IsZero() || d.IsZero():
		return Count{}
	case c.Unbounded() || d.Unbounded():
		return UnboundedCount()
	case !c.IsExact() || !d.IsExact():
		return hugeCount(c.Log2() + d.Log2())
	}
	return fromBig(new(big.Int).Mul(c.bigRef(), d.bigRef()))
}

// Add returns c+d.
func (c Count) Add(d Count) Count {
	if c.b == nil && d.b == nil {
		if s := c.n + d.n; s >= 0 {
			return Count{n: s}
		}
	}
	switch {
	case c.Unbounded() || d.Unbounded():
		return UnboundedCount()
	case !c.IsExact() || !d.IsExact():
		hi, lo := c.Log2(), d.Log2()
		if hi < lo {
			hi, lo = lo, hi
		}
		return hugeCount(hi + math.Log2(1+math.Exp2(lo-hi)))
	}
	return fromBig(new(big.Int).Add(c.bigRef(), d.bigRef()))
}

// bigRef returns the exact value for reading only.
func (c Count) bigRef() *big.Int {
	if c.b != nil {
		return c.b
	}
	return big.NewInt(c.n)
}

// fromBig takes ownership of b.
func fromBig(b *big.Int) Count {
	switch {
	case b.IsInt64():
		return Count{n: b.Int64()}
	case b.BitLen() > maxExactBits:
		return hugeCount(bigLog2(b))
	}
	return Count{b: b}
}

// MaxCount returns the larger of two counts.
func MaxCount(a, b Count) Count {
	if a.Cmp(b) < 0 {
		return b
	}
	return a
}
