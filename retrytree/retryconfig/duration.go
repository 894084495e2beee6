package retryconfig

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

// grammar reads one product's spelling of a duration. quoted tells a string from a
// bare number where the syntax of the file makes a difference.
type grammar struct {
	name  string // for messages: "Go duration such as 1m30s"
	parse func(text string, quoted bool) (time.Duration, error)
}

var errSpelling = errors.New("not a duration in this product's spelling")

// The spellings, one value a product family. "Go" is time.ParseDuration.
var (
	goGrammar      = grammar{"a Go duration such as 250ms, 2s or 1m30s", goDuration}
	protoGrammar   = grammar{"seconds with the unit s, such as 0.25s", protoDuration}
	gepGrammar     = grammar{"a GEP-2257 duration: whole numbers with h, m, s or ms, such as 1m30s", gepDuration}
	linkerdGrammar = grammar{"one whole number with one unit ms, s, m, h or d", linkerdDuration}
	springGrammar  = grammar{"a number with ms, s, m, h or d, an ISO-8601 duration, or milliseconds", springDuration}
	timeSpan       = grammar{"a TimeSpan such as 00:00:30", timeSpanDuration}
	isoGrammar     = grammar{"an ISO-8601 duration such as PT1.5S", isoDuration}
	nginxGrammar   = grammar{"an nginx time such as 5s, 500ms or 1m 30s; a bare number is seconds", nginxDuration}
	haproxyGrammar = grammar{"a whole number with us, ms, s, m, h or d; a bare number is milliseconds", haproxyDuration}
	goOrSeconds    = grammar{"a Go duration such as 100ms, or whole seconds", goOrSecondsDuration}
	caddyGrammar   = grammar{"a Go duration such as 5s, days with d", caddyDuration}
	millisGrammar  = grammar{"a whole number of milliseconds", wholeOf(time.Millisecond)}
	secondsGrammar = grammar{"a whole number of seconds", wholeOf(time.Second)}
	minutesGrammar = grammar{"a number of minutes", fractionOf(time.Minute)}
	fracSeconds    = grammar{"a number of seconds", fractionOf(time.Second)}
)

func goDuration(s string, _ bool) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		return 0, errSpelling
	case d < 0:
		return 0, errors.New("negative")
	}
	return d, nil
}

// decimal reads a number with at most nine decimals as a multiple of unit, exactly.
func decimal(s string, unit time.Duration) (time.Duration, error) {
	if len(s) > 40 || strings.ContainsAny(s, "/eEpPxX_") { // an exponent could ask for a number of a million digits
		return 0, errSpelling
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return 0, errSpelling
	}
	r.Mul(r, new(big.Rat).SetInt64(int64(unit)))
	f := new(big.Int).Quo(r.Num(), r.Denom())
	if !f.IsInt64() {
		return 0, errors.New("out of range")
	}
	return time.Duration(f.Int64()), nil
}

var protoForm = regexp.MustCompile(`^-?([0-9]+(\.[0-9]{0,9})?|\.[0-9]{1,9})s$`)

func protoDuration(s string, _ bool) (time.Duration, error) {
	if !protoForm.MatchString(s) {
		return 0, errSpelling
	}
	d, err := decimal(strings.TrimSuffix(s, "s"), time.Second)
	if err == nil && d < 0 {
		return 0, errors.New("negative")
	}
	return d, err
}

var gepForm = regexp.MustCompile(`^([0-9]{1,5}(h|m|s|ms)){1,4}$`)

func gepDuration(s string, _ bool) (time.Duration, error) {
	if !gepForm.MatchString(s) {
		return 0, errSpelling
	}
	return goDuration(s, true)
}

var oneUnit = regexp.MustCompile(`^([0-9]+)(us|ms|s|m|h|d)$`)

var units = map[string]time.Duration{"": 1, "ns": 1, "us": time.Microsecond, "ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour,
	"d": 24 * time.Hour, "w": 7 * 24 * time.Hour, "M": 30 * 24 * time.Hour, "y": 365 * 24 * time.Hour}

func linkerdDuration(s string, _ bool) (time.Duration, error) {
	if s == "0" {
		return 0, nil
	}
	m := oneUnit.FindStringSubmatch(s)
	if m == nil || m[2] == "us" {
		return 0, errSpelling
	}
	return whole(m[1], units[m[2]])
}

// whole reads a whole number of units, refusing what does not fit.
func whole(s string, unit time.Duration) (time.Duration, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	switch {
	case err != nil && strings.Contains(err.Error(), "range"):
		return 0, errors.New("out of range")
	case err != nil:
		return 0, errSpelling
	case n < 0:
		return 0, errors.New("negative")
	}
	if d := mulDur(unit, n); d < maxDuration {
		return d, nil
	}
	return 0, errors.New("out of range")
}

func wholeOf(unit time.Duration) func(string, bool) (time.Duration, error) {
	return func(s string, _ bool) (time.Duration, error) { return whole(s, unit) }
}

func fractionOf(unit time.Duration) func(string, bool) (time.Duration, error) {
	return func(s string, _ bool) (time.Duration, error) {
		d, err := decimal(s, unit)
		if err == nil && d < 0 {
			return 0, errors.New("negative")
		}
		return d, err
	}
}

var springForm = regexp.MustCompile(`^\+?([0-9]+)(ns|us|ms|s|m|h|d)?$`)

func springDuration(s string, _ bool) (time.Duration, error) {
	s = strings.TrimSpace(s)
	if m := springForm.FindStringSubmatch(strings.ToLower(s)); m != nil {
		unit := time.Millisecond
		if m[2] != "" {
			unit = units[m[2]]
		}
		return whole(m[1], unit)
	}
	return isoDuration(s, true)
}

var isoForm = regexp.MustCompile(`(?i)^P(?:([0-9]+)D)?(?:T(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+(?:[.,][0-9]{1,9})?)S)?)?$`)

func isoDuration(s string, _ bool) (time.Duration, error) {
	m := isoForm.FindStringSubmatch(s)
	if m == nil || strings.HasSuffix(strings.ToUpper(s), "T") || len(s) < 3 {
		return 0, errSpelling
	}
	var sum time.Duration
	for i, unit := range []time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second} {
		if m[i+1] == "" {
			continue
		}
		d, err := decimal(strings.Replace(m[i+1], ",", ".", 1), unit)
		if err != nil {
			return 0, err
		}
		sum = addDur(sum, d)
	}
	return sum, nil
}

var timeSpanForm = regexp.MustCompile(`^(-)?(?:([0-9]{1,8})\.)?([0-9]{1,2}):([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]{1,7}))?)?$`)

func timeSpanDuration(s string, _ bool) (time.Duration, error) {
	s = strings.TrimSpace(s)
	if d, err := whole(s, 24*time.Hour); err == nil {
		return d, nil // a bare number is days
	}
	m := timeSpanForm.FindStringSubmatch(s)
	if m == nil {
		return 0, errSpelling
	}
	if m[1] != "" {
		return 0, errors.New("negative")
	}
	n := func(i int) time.Duration { v, _ := strconv.Atoi(m[i]); return time.Duration(v) }
	if n(3) > 23 || n(4) > 59 || n(5) > 59 {
		return 0, errors.New("hours up to 23, minutes and seconds up to 59")
	}
	frac, _ := strconv.Atoi((m[6] + "0000000")[:7])
	if n(2) > 100_000 {
		return 0, errors.New("out of range")
	}
	return n(2)*24*time.Hour + n(3)*time.Hour + n(4)*time.Minute + n(5)*time.Second + time.Duration(frac)*100, nil
}

var nginxPart = regexp.MustCompile(`^([0-9]+)(ms|s|m|h|d|w|M|y)?`)

func nginxDuration(s string, _ bool) (time.Duration, error) {
	var sum time.Duration
	rest := strings.TrimSpace(s)
	if rest == "" {
		return 0, errSpelling
	}
	for rest != "" {
		m := nginxPart.FindStringSubmatch(rest)
		if m == nil {
			return 0, errSpelling
		}
		unit := time.Second
		if m[2] != "" {
			unit = units[m[2]]
		}
		d, err := whole(m[1], unit)
		if err != nil {
			return 0, err
		}
		sum = addDur(sum, d)
		rest = strings.TrimLeft(rest[len(m[0]):], " ")
	}
	return sum, nil
}

func haproxyDuration(s string, _ bool) (time.Duration, error) {
	if m := oneUnit.FindStringSubmatch(s); m != nil {
		return whole(m[1], units[m[2]])
	}
	return whole(s, time.Millisecond)
}

func goOrSecondsDuration(s string, _ bool) (time.Duration, error) {
	if d, err := whole(s, time.Second); err == nil {
		return d, nil
	}
	return goDuration(s, true)
}

var dayPart = regexp.MustCompile(`([0-9]+(?:\.[0-9]+)?)d`)

func caddyDuration(s string, _ bool) (time.Duration, error) {
	if s == "0" {
		return 0, nil
	}
	bad := false
	s = dayPart.ReplaceAllStringFunc(s, func(p string) string {
		d, err := decimal(strings.TrimSuffix(p, "d"), 24*time.Hour)
		bad = bad || err != nil
		return strconv.FormatInt(int64(d), 10) + "ns"
	})
	if bad {
		return 0, errSpelling
	}
	return goDuration(s, true)
}

// read takes the duration of a node. The second result is false for an absent node;
// the error says what is wrong with a present one.
func (g grammar) read(n *tree.Node) (d time.Duration, present bool, err error) {
	if n.Missing() {
		return 0, false, nil
	}
	if n.Kind != tree.Scalar {
		return 0, true, fmt.Errorf("found a collection, expected %s", g.name)
	}
	d, err = g.parse(n.Text, n.Quoted)
	if err != nil {
		return 0, true, fmt.Errorf("%q is refused (%w): expected %s", n.Text, err, g.name)
	}
	return d, true, nil
}
