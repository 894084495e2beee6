package quantity

import (
	"math/big"
	"strings"
	"time"
)

// durationUnits from the longest to the shortest. A year has 365 days.
var durationUnits = []struct {
	name string
	d    time.Duration
}{
	{"w", 7 * 24 * time.Hour}, {"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute},
	{"s", time.Second}, {"ms", time.Millisecond}, {"us", time.Microsecond}, {"ns", time.Nanosecond},
}

func durationUnit(name string) (time.Duration, bool) {
	switch name {
	case "µs", "μs":
		name = "us"
	case "min":
		name = "m"
	case "y":
		return 365 * 24 * time.Hour, true
	}
	for _, u := range durationUnits {
		if u.name == name {
			return u.d, true
		}
	}
	return 0, false
}

// ParseDuration reads "300ms", "1.5s", "1h30m", "7d", "2w" or "1y" (365 days)
// as whole nanoseconds. A number without a unit is refused, 0 excepted; so is
// what does not fit 292 years.
func ParseDuration(text string) (time.Duration, error) {
	s := strings.TrimSpace(text)
	e := &SyntaxError{Text: text, Expected: "a duration such as 300ms, 1h30m or 7d"}
	if s == "0" {
		return 0, nil
	}
	if s == "" || len(s) > maxText {
		return 0, e
	}
	total := new(big.Rat)
	for s != "" {
		i := strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
		if i < 0 {
			e.Hint = "add a unit: " + strings.TrimSpace(text) + "s or " + strings.TrimSpace(text) + "ms"
			return 0, e
		}
		j := i + strings.IndexFunc(s[i:]+"0", func(r rune) bool { return r >= '0' && r <= '9' || r == '.' })
		num, rest, ok := split(s[:i])
		unit, known := durationUnit(strings.TrimSpace(s[i:j]))
		if !ok || rest != "" || !known {
			return 0, e
		}
		total.Add(total, num.Mul(num, new(big.Rat).SetInt64(int64(unit))))
		s = s[j:]
	}
	if !total.IsInt() {
		e.Hint = "durations are whole nanoseconds"
		return 0, e
	}
	if !total.Num().IsInt64() {
		e.Hint = "the longest duration is 292 years"
		return 0, e
	}
	return time.Duration(total.Num().Int64()), nil
}

// FormatDuration prints d in the units of ParseDuration, exactly: "7d",
// "1h30m", "150ms", "1.5s", "0s". Weeks are printed as days.
func FormatDuration(d time.Duration) string {
	if d == 0 {
		return "0s"
	}
	var b strings.Builder
	left := uint64(d)
	if d < 0 {
		b.WriteByte('-')
		left = uint64(-d)
	}
	for _, u := range durationUnits[1:4] {
		if n := left / uint64(u.d); n > 0 {
			b.WriteString(big.NewInt(int64(n)).String() + u.name)
			left -= n * uint64(u.d)
		}
	}
	if left == 0 {
		return b.String()
	}
	for _, u := range durationUnits[4:] {
		if left >= uint64(u.d) {
			b.WriteString(trimZeros(big.NewRat(int64(left), int64(u.d)).FloatString(9)) + u.name)
			break
		}
	}
	return b.String()
}

// Rate is an exact number of events per duration.
type Rate struct {
	events *big.Rat
	per    time.Duration
	text   string
}

// ParseRate reads "100k/s", "5/min", "20M/day", "1.5k/h".
func ParseRate(text string) (Rate, error) {
	e := &SyntaxError{Text: text, Expected: "a rate such as 100k/s or 20M/day"}
	head, per, ok := strings.Cut(text, "/")
	if !ok {
		if _, _, isNumber := split(text); isNumber {
			e.Hint = "say per what: " + strings.TrimSpace(text) + "/s"
		}
		return Rate{}, e
	}
	num, prefix, numOK := split(head)
	f, prefixOK := countPrefix[prefix]
	unit, unitOK := rateUnit(strings.TrimSpace(per))
	if !numOK || !prefixOK || !unitOK {
		return Rate{}, e
	}
	return Rate{events: num.Mul(num, f), per: unit, text: strings.TrimSpace(text)}, nil
}

func rateUnit(name string) (time.Duration, bool) {
	switch name {
	case "second", "sec":
		name = "s"
	case "minute":
		name = "m"
	case "hour":
		name = "h"
	case "day":
		name = "d"
	case "week":
		name = "w"
	case "year":
		name = "y"
	}
	return durationUnit(name)
}

// PerSecond is the rate in events per second.
func (r Rate) PerSecond() float64 {
	if r.events == nil {
		return 0
	}
	f, _ := r.Exact().Float64()
	return f
}

// Exact is the rate in events per second; nil stands for none.
func (r Rate) Exact() *big.Rat {
	if r.events == nil {
		return nil
	}
	return new(big.Rat).Mul(r.events, big.NewRat(int64(time.Second), int64(r.per)))
}

// Over is the exact number of events in d, rounded down to a whole event.
func (r Rate) Over(d time.Duration) *big.Int {
	if r.events == nil {
		return new(big.Int)
	}
	v := new(big.Rat).Mul(r.events, big.NewRat(int64(d), int64(r.per)))
	return new(big.Int).Quo(v.Num(), v.Denom())
}

// IsZero tells whether no rate was given or it is 0.
func (r Rate) IsZero() bool { return r.events == nil || r.events.Sign() == 0 }

// String is the rate as it was written.
func (r Rate) String() string {
	if r.events == nil {
		return "0/s"
	}
	return r.text
}
