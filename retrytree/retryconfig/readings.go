package retryconfig

import (
	"fmt"
	"strings"
)

// ReadingRow is one row of the table "what does 3 mean here?": the attempts that a
// product makes when the setting is 3, absent, 0 and -1.
type ReadingRow struct {
	Reader, Setting, Counts    string
	Three, Absent, Zero, Minus string
}

// Readings reads every sample four times and gives the table.
func Readings() []ReadingRow {
	var out []ReadingRow
	for _, r := range readers {
		for _, s := range r.Samples {
			out = append(out, ReadingRow{Reader: r.Name, Setting: s.Setting, Counts: s.Counts,
				Three: s.Read("3"), Absent: s.Read(""), Zero: s.Read("0"), Minus: s.Read("-1")})
		}
	}
	return out
}

// With gives the sample with the number filled in; "" takes its line out.
func (s Reading) With(n string) string {
	var out []string
	for _, l := range strings.SplitAfter(s.Text, "\n") {
		if !strings.Contains(l, "@N@") {
			out = append(out, l)
			continue
		}
		if n != "" {
			out = append(out, strings.ReplaceAll(l, "@N@", n))
		}
	}
	return strings.Join(out, "")
}

// Read reads the sample with the number and words the attempts of its first hop.
func (s Reading) Read(n string) string {
	f := Parse(s.Name, []byte(s.With(n)))
	if len(f.Hops) == 0 {
		if f.Status == Unread {
			return "unread"
		}
		return "not retried"
	}
	return f.Hops[0].AttemptsText()
}

// AttemptsText words the attempts of a hop: a number, a range, "no limit", "refused" or
// "open".
func (h *Hop) AttemptsText() string {
	switch {
	case h.Refused != "":
		return "refused"
	case h.Unbounded:
		return "no limit"
	case h.Attempts != nil:
		return fmt.Sprint(*h.Attempts)
	case h.AttemptsLow != nil && h.AttemptsHigh != nil:
		return fmt.Sprintf("%d to %d", *h.AttemptsLow, *h.AttemptsHigh)
	}
	return "open"
}
