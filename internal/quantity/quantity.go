// Package quantity parses and prints amounts with their unit: durations,
// rates, bytes, ratios and counts. Parsing is exact, printing round-trips, and
// a number without its unit is refused with a hint.
package quantity

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// SyntaxError says what was found instead of a quantity.
type SyntaxError struct {
	Text     string
	Expected string
	Hint     string
}

// Error gives "expected E, found "T"".
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("expected %s, found %q", e.Expected, e.Text)
}

const maxText = 64 // characters of one quantity; longer text is no number

// split cuts "1.5GB" into its exact number and its unit.
func split(text string) (num *big.Rat, unit string, ok bool) {
	s := strings.TrimSpace(text)
	if len(s) > maxText {
		return nil, "", false
	}
	i := 0
	for i < len(s) && (s[i] >= '0' && s[i] <= '9' || s[i] == '.' || s[i] == '_' || s[i] == ',' && i > 0) {
		i++
	}
	digits := s[:i]
	if strings.Contains(digits, ",") && !grouped(digits) {
		return nil, "", false
	}
	digits = strings.NewReplacer("_", "", ",", "").Replace(digits)
	if digits == "" || strings.Count(digits, ".") > 1 || strings.HasPrefix(digits, ".") || strings.HasSuffix(digits, ".") {
		return nil, "", false
	}
	num, ok = new(big.Rat).SetString(digits)
	return num, strings.TrimSpace(s[i:]), ok
}

// grouped accepts "1,000,000.5" and refuses a decimal comma such as "1,5".
func grouped(digits string) bool {
	whole, _, _ := strings.Cut(digits, ".")
	parts := strings.Split(whole, ",")
	for i, p := range parts {
		if i > 0 && len(p) != 3 || i == 0 && (len(p) == 0 || len(p) > 3) {
			return false
		}
	}
	return true
}

// pow10 is 10^n for the decimal prefixes.
func pow10(n int64) *big.Rat {
	return new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(n), nil))
}

var countPrefix = map[string]*big.Rat{
	"": pow10(0), "k": pow10(3), "K": pow10(3), "M": pow10(6), "G": pow10(9), "B": pow10(9), "T": pow10(12),
}

// ParseCount reads "500", "20k", "1.5M", "1,000,000" or "2G" (also "2B", 10^9).
// The result is an exact whole number.
func ParseCount(text string) (int64, error) {
	num, unit, ok := split(text)
	f, known := countPrefix[unit]
	e := &SyntaxError{Text: text, Expected: "a whole number such as 500, 20k or 1.5M"}
	if !ok || !known {
		return 0, e
	}
	num.Mul(num, f)
	if !num.IsInt() || !num.Num().IsInt64() {
		return 0, e
	}
	return num.Num().Int64(), nil
}

// ParseRatio reads "0.1%" or "20%" as 0.001 and 0.2, and a bare number from 0
// to 1 as itself.
func ParseRatio(text string) (float64, error) {
	num, unit, ok := split(text)
	e := &SyntaxError{Text: text, Expected: "a share such as 0.1% or 0.001"}
	switch {
	case !ok:
		return 0, e
	case unit == "%":
		num.Quo(num, pow10(2))
	case unit != "":
		return 0, e
	case num.Cmp(pow10(0)) > 0:
		e.Hint = fmt.Sprintf("write %s%% for percent", strings.TrimSpace(text))
		return 0, e
	}
	f, _ := num.Float64()
	return f, nil
}

// FormatRatio prints a share as percent with up to four significant digits.
func FormatRatio(r float64) string {
	return trimZeros(fmt.Sprintf("%.4g", r*100)) + "%"
}

// Itoa and Ftoa print plain numbers for messages.
func Itoa(n int64) string { return strconv.FormatInt(n, 10) }

// Ftoa prints the shortest decimal form.
func Ftoa(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// FormatInt groups the digits by thousands: 777,600,000,000.
func FormatInt(n *big.Int) string {
	s := n.String()
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	var b strings.Builder
	for i, c := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return sign + b.String()
}

// FormatCount prints a count in words to four significant digits
// ("777.6 billion"); below a million it is exact.
func FormatCount(n *big.Int) string {
	for _, u := range []struct {
		exp  int64
		name string
	}{{15, "quadrillion"}, {12, "trillion"}, {9, "billion"}, {6, "million"}} {
		if s, ok := scaled(n, pow10(u.exp), u.name); ok {
			return s
		}
	}
	return FormatInt(n)
}

// scaled prints n/unit with four significant digits if n is at least one unit.
func scaled(n *big.Int, unit *big.Rat, name string) (string, bool) {
	q := new(big.Rat).SetInt(n)
	q.Quo(q, unit)
	if new(big.Rat).Abs(q).Cmp(pow10(0)) < 0 {
		return "", false
	}
	digits := 3
	switch a := new(big.Rat).Abs(q); {
	case a.Cmp(pow10(3)) >= 0:
		digits = 0
	case a.Cmp(pow10(2)) >= 0:
		digits = 1
	case a.Cmp(pow10(1)) >= 0:
		digits = 2
	}
	return trimZeros(q.FloatString(digits)) + " " + name, true
}

func trimZeros(s string) string {
	if !strings.Contains(s, ".") || strings.ContainsAny(s, "eE") {
		return s
	}
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}
