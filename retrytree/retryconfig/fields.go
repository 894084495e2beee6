package retryconfig

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

// number says how a product reads a whole number.
type number struct {
	Min, Max int64
	Strings  bool // "3" in quotes is read as 3
	Floats   bool // 3.0 is read as 3
}

// int32s is what a Kubernetes API takes for an int32: whole numbers, 3.0 too.
var int32s = number{Min: math.MinInt32, Max: math.MaxInt32, Floats: true}

// counts is int32s without negative numbers.
var counts = number{Min: 0, Max: math.MaxInt32, Floats: true}

// loose is what a binder that converts strings takes (Spring, .NET, flat files).
var loose = number{Min: math.MinInt64, Max: math.MaxInt64, Strings: true}

func (c number) parse(n *tree.Node) (int64, error) {
	if n.Kind != tree.Scalar {
		return 0, errors.New("found a collection, expected a whole number")
	}
	s := n.Text
	if n.Quoted && !c.Strings {
		return 0, fmt.Errorf("found the text %q, expected a whole number without quotes", s)
	}
	s = strings.TrimPrefix(strings.TrimSpace(s), "+")
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil && c.Floats && !n.Quoted {
		if f, e := strconv.ParseFloat(s, 64); e == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			v, err = int64(f), nil
		}
	}
	switch {
	case err != nil && strings.Contains(err.Error(), "range"):
		return 0, fmt.Errorf("%s is out of range", s)
	case err != nil:
		return 0, fmt.Errorf("found %q, expected a whole number", n.Text)
	case v < c.Min || v > c.Max:
		return 0, fmt.Errorf("%d is outside %d..%d", v, c.Min, c.Max)
	}
	return v, nil
}

// count reads a whole number of a hop; a bad one refuses the hop. nil when absent.
func (in *input) count(h *Hop, key string, n *tree.Node, c number) *int64 {
	if n.Missing() {
		return nil
	}
	times := h.timesOpen
	if in.outside(h, key, n) {
		h.countOpen, h.timesOpen = true, times
		return nil
	}
	v, err := c.parse(n)
	if err != nil {
		in.refuse(h, n.At(), "%s: %v", key, err)
		h.countText = fmt.Sprintf("%s: %s", key, n.Str())
		return nil
	}
	return &v
}

// retries sets the attempts of a hop from a number that counts retries; def is used
// when it is absent (nil: stays open).
func (h *Hop) retries(key string, n *int64, def int64) {
	v := def
	if n != nil {
		v = *n
		h.Written = fmt.Sprintf("%s: %d (counts the attempts after the first)", key, v)
	} else {
		h.Written = fmt.Sprintf("%s absent: %d after the first", key, v)
	}
	h.attempts(v + 1)
}

// total sets the attempts of a hop from a number that counts all attempts.
func (h *Hop) total(key string, n *int64, def int64) {
	v := def
	if n != nil {
		v = *n
		h.Written = fmt.Sprintf("%s: %d (counts all attempts)", key, v)
	} else {
		h.Written = fmt.Sprintf("%s absent: %d in all", key, v)
	}
	h.attempts(v)
}

func (h *Hop) attempts(n int64) {
	n = max(n, 1)
	h.Attempts = &n
}

func (h *Hop) note(format string, args ...any) {
	h.Notes = append(h.Notes, fmt.Sprintf(format, args...))
}

func (h *Hop) hidden(format string, args ...any) {
	h.Hidden = append(h.Hidden, fmt.Sprintf(format, args...))
}

// perTry sets the limit of one attempt that is in force.
func (h *Hop) perTry(d *time.Duration) {
	h.PerTry, h.PerTryWritten = d, d
}

// phases sets the limit of one attempt as the sum of what the product limits apart.
func (h *Hop) phases(connect, send, read time.Duration) {
	d := addDur(addDur(connect, send), read)
	h.perTry(&d)
	h.PerTrySend = send
	h.note("one attempt: %v to connect, %v to send, %v to read; the last two count between two operations", connect, send, read)
}

// unknownKeys records keys of a mapping that the product does not have: most decoders
// drop them without a word.
func (in *input) unknownKeys(n *tree.Node, h *Hop, what string, known ...string) {
	for _, e := range n.Map() {
		if slices.Contains(known, e.Key) || strings.HasPrefix(e.Key, "x-") || e.Key == "<<" {
			continue
		}
		msg := fmt.Sprintf("%s has no key %q: it is ignored", what, e.Key)
		if near, ok := diag.Closest(e.Key, known); ok {
			msg += fmt.Sprintf(" (did you mean %q?)", near)
		}
		in.fact("renamed-or-unknown-field", e.KeyPos, h, "%s", msg)
	}
}

// words splits a list that stands in one string or in a sequence, trimmed.
func words(n *tree.Node, seps string) []string {
	var out []string
	add := func(s string) {
		for _, w := range strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(seps, r) }) {
			if w = strings.TrimSpace(w); w != "" {
				out = append(out, w)
			}
		}
	}
	if n.Is(tree.Seq) {
		for _, it := range n.Items {
			if it.Kind == tree.Scalar {
				out = append(out, strings.TrimSpace(it.Text))
			}
		}
		return out
	}
	add(n.Str())
	return out
}

func dp(d time.Duration) *time.Duration { return &d }

func ip(n int64) *int64 { return &n }

// or gives *p, or the default when p is nil.
func or[T any](p *T, def T) T {
	if p == nil {
		return def
	}
	return *p
}

// unsafeMethod reports a method whose repetition may repeat its effect.
func unsafeMethod(m string) bool {
	switch strings.ToUpper(m) {
	case "POST", "PATCH", "LOCK", "CONNECT":
		return true
	}
	return false
}

// hostOf gives host:port of a URL, or the text itself.
func hostOf(u string) string {
	if _, rest, ok := strings.Cut(u, "://"); ok {
		u = rest
	}
	u, _, _ = strings.Cut(u, "/")
	return u
}
