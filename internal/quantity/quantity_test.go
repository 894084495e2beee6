package quantity

import (
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const day = 24 * time.Hour

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"300ms": 300 * time.Millisecond, "7d": 7 * day, "1h30m": 90 * time.Minute, "1.5s": 1500 * time.Millisecond,
		"2w": 14 * day, "1d12h": 36 * time.Hour, "0": 0, "10us": 10 * time.Microsecond, "5min": 5 * time.Minute, "1y": 365 * day,
	} {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("%q = %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "300", "5 parsecs", "-1s", "1.2.3s", "s", "0.1ns", "1e9s", "999999w", "7d3", "1,5s", "１s", strings.Repeat("1s", 99)} {
		if got, err := ParseDuration(text); err == nil {
			t.Errorf("%q = %v, want an error", text, got)
		}
	}
	var se *SyntaxError
	if _, err := ParseDuration("300"); !errors.As(err, &se) || !strings.Contains(se.Hint, "300ms") {
		t.Errorf("a number without unit: %v, want a hint with one", err)
	}
}

func TestDurationRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, 1<<62).Draw(t, "ns"))
		s := FormatDuration(d)
		if back, err := ParseDuration(s); err != nil || back != d {
			t.Fatalf("%d ns printed as %q, read back as %v, %v", d, s, back, err)
		}
	})
}

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]int64{"100B": 100, "64MiB": 64 << 20, "1.5GB": 1_500_000_000, "1.5 GiB": 3 << 29, "4kB": 4000, "0": 0, "1,000B": 1000} {
		if got, err := ParseBytes(text); err != nil || got != want {
			t.Errorf("%q = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "100", "100b", "1.5B", "10Mb", "99EB99", "16EiB", "-5B", "1,5GB"} {
		if got, err := ParseBytes(text); err == nil {
			t.Errorf("%q = %d, want an error", text, got)
		}
	}
}

func TestUnitsOfTheOracleExample(t *testing.T) {
	n := new(big.Int).SetInt64(39_000 * 300 * 3 * 1941) // 39,000 msg/s x 300 s x 3 copies x 1,941 B
	if got := FormatBytes(n) + " = " + FormatBinaryBytes(n); got != "68.13 GB = 63.45 GiB" {
		t.Errorf("got %s", got)
	}
}

func TestRate(t *testing.T) {
	r, err := ParseRate("100k/s")
	if err != nil {
		t.Fatal(err)
	}
	if got := FormatInt(r.Over(90 * day)); got != "777,600,000,000" {
		t.Errorf("100k/s over 90 days = %s", got)
	}
	if m, err := ParseRate("20M/day"); err != nil || FormatInt(m.Over(time.Hour)) != "833,333" {
		t.Errorf("20M/day over an hour = %v, %v; want 833,333", m.Over(time.Hour), err)
	}
	if m, _ := ParseRate("6/min"); m.PerSecond() != 0.1 {
		t.Errorf("6/min = %v per second, want 0.1", m.PerSecond())
	}
	for _, text := range []string{"100k", "100/", "/s", "k/s", "5/parsec", "1e5/s"} {
		if _, err := ParseRate(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

func TestRatioAndCount(t *testing.T) {
	if r, err := ParseRatio("0.1%"); err != nil || r != 0.001 {
		t.Errorf("0.1%% = %v, %v", r, err)
	}
	if _, err := ParseRatio("20"); err == nil {
		t.Error("20 is accepted as a share")
	}
	if n, err := ParseCount("1.5M"); err != nil || n != 1_500_000 {
		t.Errorf("1.5M = %v, %v", n, err)
	}
	for n, want := range map[string]string{"777600000000": "777.6 billion", "12": "12", "999999": "999,999", "1000000": "1 million", "77760000000000": "77.76 trillion"} {
		v, _ := new(big.Int).SetString(n, 10)
		if got := FormatCount(v); got != want {
			t.Errorf("%s = %q, want %q", n, got, want)
		}
	}
}

func FuzzParsers(f *testing.F) {
	for _, s := range []string{"1h30m", "100k/s", "64MiB", "0.1%", "1,000", "..", "9999999999999999999999d", "1e999999999s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if d, err := ParseDuration(s); err == nil {
			if back, err := ParseDuration(FormatDuration(d)); err != nil || back != d {
				t.Fatalf("%q does not round-trip: %v, %v", s, back, err)
			}
		}
		_, _ = ParseRate(s)
		_, _ = ParseBytes(s)
		_, _ = ParseRatio(s)
		_, _ = ParseCount(s)
	})
}
