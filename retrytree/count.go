package retrytree

import (
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
// a big.Int beyond 2^63, a lower bound beyond 2^4096, or unbounded when a
// configuration sets no limit. The zero value is 0. Counts are values; methods
// never change their receiver.
type Count struct {
	n    int64    // the value while b is nil and kind is finite
	b    *big.Int // the value, or the bound; never changed after it is set
	log2 float64  // of the value, for kind huge
	kind countKind
}

type countKind uint8

const (
	finite    countKind = iota
	huge                // at least 2^4096; only log2 is kept
	unbounded           // no limit
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
func UnboundedCount() Count { return Count{kind: unbounded} }

// Unbounded reports whether there is no limit.
func (c Count) Unbounded() bool { return c.kind == unbounded }

// IsExact reports whether the value is known to the last digit.
func (c Count) IsExact() bool { return c.kind == finite }

// Int64 returns the value, or math.MaxInt64 and false when it does not fit.
func (c Count) Int64() (int64, bool) {
	if c.kind != finite || c.b != nil {
		return math.MaxInt64, false
	}
	return c.n, true
}

// Big returns a copy of the exact value, or nil when it is not exact.
func (c Count) Big() *big.Int {
	switch {
	case c.kind != finite:
		return nil
	case c.b != nil:
		return new(big.Int).Set(c.b)
	}
	return big.NewInt(c.n)
}

// Float64 returns the nearest float64; +Inf when unbounded or too large.
func (c Count) Float64() float64 {
	switch {
	case c.kind != finite:
		return math.Inf(1)
	case c.b != nil:
		f, _ := new(big.Float).SetInt(c.b).Float64()
		return f
	}
	return float64(c.n)
}

// Log2 returns the logarithm to base 2; -Inf for 0, +Inf when unbounded.
func (c Count) Log2() float64 {
	switch {
	case c.kind == unbounded:
		return math.Inf(1)
	case c.kind == huge:
		return c.log2
	case c.b != nil:
		return bigLog2(c.b)
	}
	return math.Log2(float64(c.n))
}

func bigLog2(b *big.Int) float64 {
	shift := max(b.BitLen()-62, 0)
	top := new(big.Int).Rsh(b, uint(shift))
	return math.Log2(float64(top.Int64())) + float64(shift)
}

// String returns the decimal digits, "unbounded", or a lower bound with its
// order of magnitude.
func (c Count) String() string {
	switch {
	case c.kind == unbounded:
		return "unbounded"
	case c.kind == huge:
		return fmt.Sprintf("about 10^%.0f", c.log2*math.Log10(2))
	case c.b != nil:
		return c.b.String()
	}
	return strconv.FormatInt(c.n, 10)
}

// Cmp returns -1, 0 or +1. Two counts beyond 2^4096 compare by their logarithm.
func (c Count) Cmp(d Count) int {
	if c.kind != d.kind {
		return sign(int(c.kind) - int(d.kind))
	}
	switch c.kind {
	case unbounded:
		return 0
	case huge:
		switch {
		case c.log2 < d.log2:
			return -1
		case c.log2 > d.log2:
			return 1
		}
		return 0
	}
	if c.b == nil && d.b == nil {
		switch {
		case c.n < d.n:
			return -1
		case c.n > d.n:
			return 1
		}
		return 0
	}
	return c.bigRef().Cmp(d.bigRef())
}

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}

// IsZero reports whether the value is 0.
func (c Count) IsZero() bool { return c.kind == finite && c.b == nil && c.n == 0 }

// Mul returns c*d. Zero times unbounded is zero: what is never called is never
// repeated.
func (c Count) Mul(d Count) Count {
	if c.kind == finite && d.kind == finite && c.b == nil && d.b == nil {
		if hi, lo := bits.Mul64(uint64(c.n), uint64(d.n)); hi == 0 && lo <= math.MaxInt64 {
			return Count{n: int64(lo)}
		}
	}
	switch {
	case c.IsZero() || d.IsZero():
		return Count{}
	case c.kind == unbounded || d.kind == unbounded:
		return UnboundedCount()
	case c.kind == huge || d.kind == huge:
		return Count{kind: huge, log2: c.Log2() + d.Log2()}
	}
	return fromBig(new(big.Int).Mul(c.bigRef(), d.bigRef()))
}

// Add returns c+d.
func (c Count) Add(d Count) Count {
	if c.kind == finite && d.kind == finite && c.b == nil && d.b == nil {
		if s := c.n + d.n; s >= 0 {
			return Count{n: s}
		}
	}
	switch {
	case c.kind == unbounded || d.kind == unbounded:
		return UnboundedCount()
	case c.kind == huge || d.kind == huge:
		hi, lo := c.Log2(), d.Log2()
		if hi < lo {
			hi, lo = lo, hi
		}
		return Count{kind: huge, log2: hi + math.Log2(1+math.Exp2(lo-hi))}
	}
	return fromBig(new(big.Int).Add(c.bigRef(), d.bigRef()))
}

// bigRef returns the value for reading only.
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
		return Count{kind: huge, log2: bigLog2(b)}
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
