package capacity

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"
)

// Year is the length of a year used for every per-year figure of this package:
// 365 days.
const Year = 365 * 24 * time.Hour

// ErrNegative is returned (wrapped) when an input that counts something is
// below zero.
var ErrNegative = errors.New("value is negative")

// ErrTooLong is returned (wrapped) when a sum of durations does not fit in a
// time.Duration (about 292 years).
var ErrTooLong = errors.New("duration does not fit in 292 years")

// Rate is an exact number of events per second. The zero value is no events.
type Rate struct {
	// PerSecond is events per second; nil means zero. It is never modified.
	PerSecond *big.Rat
}

// PerUnit returns the rate of n events in each period of length per, for
// example PerUnit(20_000_000, 24*time.Hour). It panics if per is not positive,
// since a rate without a period has no meaning.
func PerUnit(n int64, per time.Duration) Rate {
	if per <= 0 {
		panic("capacity: PerUnit needs a positive period")
	}
	r := new(big.Rat).SetInt64(n)
	r.Mul(r, big.NewRat(int64(time.Second), int64(per)))
	return Rate{PerSecond: r}
}

// Rat returns the rate in events per second as a fresh rational number.
func (r Rate) Rat() *big.Rat {
	if r.PerSecond == nil {
		return new(big.Rat)
	}
	return new(big.Rat).Set(r.PerSecond)
}

// Float returns the rate in events per second, rounded to a float64.
func (r Rate) Float() float64 {
	f, _ := r.Rat().Float64()
	return f
}

// Scale returns the rate multiplied by the exact factor f.
func (r Rate) Scale(f *big.Rat) Rate {
	x := r.Rat()
	return Rate{PerSecond: x.Mul(x, f)}
}

// String returns the rate as "100,000/s", with at most 6 decimals.
func (r Rate) String() string {
	x := r.Rat()
	if x.IsInt() {
		return group(x.Num().String()) + "/s"
	}
	return trimZeros(x.FloatString(6)) + "/s"
}

// Amount is an exact whole number with the formula that gave it.
type Amount struct {
	// Value is the number; its unit is stated by the function that returns it.
	Value *big.Int
	// Formula is the computation with the numbers put in, for people.
	Formula string
	// Source names the rule, stable across versions, for machines.
	Source string
}

// Records returns how many records arrive at rate r during retain, rounded up
// to a whole record: ceil(r x retain). Source: definition of a rate.
func Records(r Rate, retain time.Duration) (Amount, error) {
	if r.Rat().Sign() < 0 {
		return Amount{}, fmt.Errorf("rate %s: %w", r, ErrNegative)
	}
	if retain < 0 {
		return Amount{}, fmt.Errorf("retention %s: %w", retain, ErrNegative)
	}
	secs := big.NewRat(int64(retain), int64(time.Second))
	n := ceil(new(big.Rat).Mul(r.Rat(), secs))
	return Amount{
		Value:   n,
		Formula: fmt.Sprintf("%s x %s s = %s records", r, ratText(secs), groupInt(n)),
		Source:  "records = ceil(rate x retention)",
	}, nil
}

// RawBytes returns the bytes of records records of recordBytes bytes each,
// without any storage overhead.
func RawBytes(records *big.Int, recordBytes int64) (Amount, error) {
	if records.Sign() < 0 {
		return Amount{}, fmt.Errorf("records %s: %w", records, ErrNegative)
	}
	if recordBytes < 0 {
		return Amount{}, fmt.Errorf("record of %d bytes: %w", recordBytes, ErrNegative)
	}
	b := new(big.Int).Mul(records, big.NewInt(recordBytes))
	return Amount{
		Value:   b,
		Formula: fmt.Sprintf("%s records x %s B = %s B", groupInt(records), group(fmt.Sprint(recordBytes)), groupInt(b)),
		Source:  "raw bytes = records x record size",
	}, nil
}

// ceil rounds a rational number up to an integer.
func ceil(x *big.Rat) *big.Int {
	q, m := new(big.Int).DivMod(x.Num(), x.Denom(), new(big.Int))
	if m.Sign() != 0 {
		q.Add(q, big.NewInt(1))
	}
	return q
}

// groupInt prints an integer with thousands separators.
func groupInt(n *big.Int) string { return group(n.String()) }

// group puts thousands separators into a decimal integer.
func group(s string) string {
	neg := ""
	if len(s) > 0 && s[0] == '-' {
		neg, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return neg + s
}

// ratText prints a rational number exactly when it is an integer, else with 6
// decimals.
func ratText(x *big.Rat) string {
	if x.IsInt() {
		return groupInt(x.Num())
	}
	return trimZeros(x.FloatString(6))
}

// trimZeros drops the zeros after the last digit of a decimal fraction.
func trimZeros(s string) string {
	for len(s) > 0 && s[len(s)-1] == '0' {
		s = s[:len(s)-1]
	}
	if len(s) > 0 && s[len(s)-1] == '.' {
		s = s[:len(s)-1]
	}
	return s
}

// span prints a duration as people write it, "7d", "90m", "7d10m6s": all of it,
// in days, hours, minutes and seconds.
func span(d time.Duration) string {
	units := []struct {
		d time.Duration
		s string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}, {time.Millisecond, "ms"}}
	for _, u := range units {
		if d != 0 && d%u.d == 0 && d/u.d <= 99 {
			return fmt.Sprintf("%d%s", d/u.d, u.s)
		}
	}
	if d <= 0 || d%time.Millisecond != 0 {
		if d == 0 {
			return "0s"
		}
		return d.String()
	}
	var out strings.Builder
	for _, u := range units {
		if n := d / u.d; n > 0 {
			fmt.Fprintf(&out, "%d%s", n, u.s)
			d -= n * u.d
		}
	}
	return out.String()
}
