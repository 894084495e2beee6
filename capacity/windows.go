package capacity

import (
	"fmt"
	"math"
	"time"
)

// SourceKind says what makes an operation come back.
type SourceKind uint8

const (
	// Replay is a log, broker, archive or person that can deliver the operation
	// again for as long as it keeps it.
	Replay SourceKind = iota
	// Retry is a caller that keeps trying for a horizon.
	Retry
	// Provider is an external service that remembers idempotency keys, called by
	// us again and again for RetriedFor.
	Provider
	// RestorePoint is a backup: restoring it rewinds a neighbour, which then
	// sends again what it had already sent since.
	RestorePoint
)

// String returns "replay", "retry", "provider" or "restore point".
func (k SourceKind) String() string {
	switch k {
	case Retry:
		return "retry"
	case Provider:
		return "provider"
	case RestorePoint:
		return "restore point"
	default:
		return "replay"
	}
}

// Source is one thing that can deliver an operation again.
type Source struct {
	Name string
	Kind SourceKind
	// Keeps is how long after the first delivery the source can still repeat it.
	Keeps time.Duration
	// Unlimited says that the source never forgets; Keeps is then ignored.
	Unlimited bool
	// RetriedFor is, for a Provider, how long we call it with the same key;
	// 0 = unknown. A provider counts in the window with the longer of the two.
	RetriedFor time.Duration
}

// reach returns how long after the first delivery the source can still bring an
// operation back.
func (s Source) reach() time.Duration {
	if s.Kind == Provider {
		return max(s.Keeps, s.RetriedFor)
	}
	return s.Keeps
}

// Slack is what the window needs beyond the longest source. All are upper
// bounds and add up.
type Slack struct {
	// Residence is how long a delivered operation may sit in queues and servers
	// before it reaches the store.
	Residence time.Duration
	// Delay is the network delay of a delivery.
	Delay time.Duration
	// Skew is the largest difference between the clock of the source and the
	// clock that deletes from the store.
	Skew time.Duration
}

// Store is a dedupe store as far as windows go.
type Store struct {
	Name string
	// Retain is how long it remembers; ignored if Forever.
	Retain  time.Duration
	Forever bool
	Slack   Slack
}

// Window is the comparison of what a store holds with what it needs.
type Window struct {
	Store string
	// Retain is what the store holds; meaningless if Forever.
	Retain  time.Duration
	Forever bool
	// Required is the longest source plus slack; 0 and Unlimited if no finite
	// window is safe.
	Required time.Duration
	// Longest names the source that decides; "" if there is none.
	Longest string
	// Unlimited says that a source never forgets: no finite window is safe.
	Unlimited bool
	// Covered: the store remembers at least as long as required.
	Covered bool
	// Gap is Required - Retain if not covered and finite, else 0.
	Gap time.Duration
	// Formula is the comparison with the numbers put in.
	Formula string
	// Source names the rule.
	Source string
}

// windowRule is the rule id of CheckWindow.
const windowRule = "window >= max(sources) + residence + delay + skew"

// CheckWindow returns the window that store needs for the given sources and
// whether it has it. Ties are decided by the order of sources. Errors: a
// negative duration (ErrNegative), a sum beyond 292 years (ErrTooLong).
func CheckWindow(store Store, sources []Source) (Window, error) {
	w := Window{Store: store.Name, Retain: store.Retain, Forever: store.Forever, Source: windowRule}
	if store.Retain < 0 {
		return w, fmt.Errorf("store %q: retention %s: %w", store.Name, store.Retain, ErrNegative)
	}
	var longest time.Duration
	for _, s := range sources {
		if s.Keeps < 0 || s.RetriedFor < 0 {
			return w, fmt.Errorf("source %q: %w", s.Name, ErrNegative)
		}
		if s.Unlimited {
			if !w.Unlimited {
				w.Unlimited, w.Longest = true, s.Name
			}
			continue
		}
		if r := s.reach(); !w.Unlimited && (w.Longest == "" || r > longest) {
			longest, w.Longest = r, s.Name
		}
	}
	slack, err := store.Slack.sum()
	if err != nil {
		return w, fmt.Errorf("store %q: %w", store.Name, err)
	}
	if w.Unlimited {
		w.Covered = store.Forever
		w.Formula = fmt.Sprintf("%s never forgets: no finite safe window", w.Longest)
		return w, nil
	}
	if longest > math.MaxInt64-slack {
		return w, fmt.Errorf("store %q: required window: %w", store.Name, ErrTooLong)
	}
	w.Required = longest + slack
	w.Covered = store.Forever || store.Retain >= w.Required
	if !w.Covered {
		w.Gap = w.Required - store.Retain
	}
	w.Formula = windowText(w, longest, store.Slack)
	return w, nil
}

// sum adds the slack terms and refuses negative ones.
func (s Slack) sum() (time.Duration, error) {
	var t time.Duration
	for _, d := range []time.Duration{s.Residence, s.Delay, s.Skew} {
		if d < 0 {
			return 0, fmt.Errorf("slack %s: %w", d, ErrNegative)
		}
		if t > math.MaxInt64-d {
			return 0, fmt.Errorf("slack: %w", ErrTooLong)
		}
		t += d
	}
	return t, nil
}

// windowText prints the comparison behind a finite window.
func windowText(w Window, longest time.Duration, s Slack) string {
	if w.Longest == "" {
		return "nothing can deliver an operation again: no window needed"
	}
	need := fmt.Sprintf("%s %s", w.Longest, span(longest))
	for _, t := range []struct {
		name string
		d    time.Duration
	}{{"residence", s.Residence}, {"delay", s.Delay}, {"skew", s.Skew}} {
		if t.d > 0 {
			need += fmt.Sprintf(" + %s %s", t.name, span(t.d))
		}
	}
	if need += " needed"; w.Required != longest {
		need = fmt.Sprintf("%s = %s", need, span(w.Required))
	}
	switch {
	case w.Forever:
		return "kept for ever >= " + need
	case w.Covered:
		return fmt.Sprintf("%s held >= %s", span(w.Retain), need)
	default:
		return fmt.Sprintf("%s held < %s: %s short", span(w.Retain), need, span(w.Gap))
	}
}

// KeyCheck is the inequality between how long a provider keeps idempotency keys
// and how long we call it with the same key.
type KeyCheck struct {
	Name       string
	Keeps      time.Duration
	RetriedFor time.Duration
	// Holds: Keeps >= RetriedFor + slack, so no call with a forgotten key.
	Holds bool
	// Needed is RetriedFor plus slack.
	Needed time.Duration
	// ShortBy is Needed - Keeps if it does not hold, else 0.
	ShortBy time.Duration
	// Formula is the inequality with the numbers put in.
	Formula string
	Source  string
}

// keyRule is the rule id of CheckKeys.
const keyRule = "provider keys kept >= retried for + residence + delay + skew"

// CheckKeys compares, for a source of kind Provider, the retention of keys with
// the time we retry. A call after the provider forgot the key is a new operation
// to it. Errors as for CheckWindow.
func CheckKeys(s Source, slack Slack) (KeyCheck, error) {
	c := KeyCheck{Name: s.Name, Keeps: s.Keeps, RetriedFor: s.RetriedFor, Source: keyRule}
	if s.Keeps < 0 || s.RetriedFor < 0 {
		return c, fmt.Errorf("source %q: %w", s.Name, ErrNegative)
	}
	sum, err := slack.sum()
	if err != nil {
		return c, fmt.Errorf("source %q: %w", s.Name, err)
	}
	if s.RetriedFor > math.MaxInt64-sum {
		return c, fmt.Errorf("source %q: %w", s.Name, ErrTooLong)
	}
	c.Needed = s.RetriedFor + sum
	c.Holds = s.Unlimited || s.Keeps >= c.Needed
	switch {
	case s.Unlimited:
		c.Formula = fmt.Sprintf("keys kept for ever >= retried for %s", span(c.Needed))
	case c.Holds:
		c.Formula = fmt.Sprintf("keys kept %s >= retried for %s", span(s.Keeps), span(c.Needed))
	default:
		c.ShortBy = c.Needed - s.Keeps
		c.Formula = fmt.Sprintf("keys kept %s < retried for %s: %s short", span(s.Keeps), span(c.Needed), span(c.ShortBy))
	}
	return c, nil
}
