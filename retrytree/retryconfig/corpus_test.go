package retryconfig

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// expectedHop is a hop of testdata/corpus/EXPECTED.json.
type expectedHop struct {
	Hop          string
	Attempts     *int64
	Unbounded    bool
	Slow         *int64 `json:"slow_attempts"`
	PerTry       *int64 `json:"per_try_ns"`
	Overall      *int64 `json:"overall_ns"`
	Worst        *int64 `json:"worst_ns"`
	WorstLow     *int64 `json:"worst_low_ns"`
	WorstHigh    *int64 `json:"worst_high_ns"`
	SlowLow      *int64 `json:"slow_low"`
	SlowHigh     *int64 `json:"slow_high"`
	AttemptsLow  *int64 `json:"attempts_low"`
	AttemptsHigh *int64 `json:"attempts_high"`
	Optional     bool
}

type expectedFile struct {
	File     string
	Read     string
	ReadAlso []string `json:"read_also"`
	Hops     []expectedHop
}

// TestCorpus reads every file of the corpus and compares it with what the products
// really do. Hops are paired by name, those left over by position; numbers match
// exactly, or lie in the range that the expectation leaves open.
func TestCorpus(t *testing.T) {
	raw, err := os.ReadFile("testdata/corpus/EXPECTED.json")
	if err != nil {
		t.Fatal(err)
	}
	var want []expectedFile
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	if len(want) != 60 {
		t.Fatalf("%d expectations, want 60", len(want))
	}
	for _, w := range want {
		t.Run(w.File, func(t *testing.T) {
			src, err := os.ReadFile(filepath.Join("testdata/corpus", w.File))
			if err != nil {
				t.Fatal(err)
			}
			for _, diff := range compareFile(w, Parse(w.File, src)) {
				t.Error(diff)
			}
		})
	}
}

func compareFile(w expectedFile, f *File) (diffs []string) {
	if f.Status.String() != w.Read {
		if slices.Contains(w.ReadAlso, f.Status.String()) {
			return nil
		}
		return []string{fmt.Sprintf("read %v (%s), want %s", f.Status, f.Reason, w.Read)}
	}
	if w.Read != "ok" {
		return nil
	}
	used := map[*Hop]bool{}
	pairs := map[int][]*Hop{}
	listed := map[string]bool{}
	for _, e := range w.Hops {
		listed[e.Hop] = true
	}
	for i, e := range w.Hops {
		object, all := strings.CutSuffix(e.Hop, "#*")
		for _, h := range f.Hops {
			if h.Name == e.Hop && !used[h] || all && strings.HasPrefix(h.Name, object+"#") && !listed[h.Name] {
				pairs[i], used[h] = append(pairs[i], h), true
				if !all {
					break
				}
			}
		}
	}
	for i, e := range w.Hops {
		if pairs[i] == nil {
			for _, h := range f.Hops {
				if !used[h] {
					pairs[i], used[h] = []*Hop{h}, true
					break
				}
			}
		}
		if pairs[i] == nil && !e.Optional {
			diffs = append(diffs, fmt.Sprintf("no hop for %q", e.Hop))
		}
		for _, h := range pairs[i] {
			diffs = append(diffs, compareHop(e, h)...)
		}
	}
	for _, h := range f.Hops {
		if !used[h] && (h.Attempts == nil || *h.Attempts != 1) {
			diffs = append(diffs, fmt.Sprintf("extra hop %q: %v attempts", h.Name, deref(h.Attempts)))
		}
	}
	return diffs
}

func compareHop(e expectedHop, h *Hop) (diffs []string) {
	differ := func(what string, got, want any) {
		diffs = append(diffs, fmt.Sprintf("hop %q (%s): %s %v, want %v", h.Name, e.Hop, what, got, want))
	}
	ns := func(d *time.Duration) *int64 {
		if d == nil {
			return nil
		}
		n := int64(*d)
		return &n
	}
	same := func(what string, got, want, low, high *int64) {
		switch {
		case deref(got) == deref(want):
		case low != nil && (got == nil || *got >= *low && *got <= *high):
		default:
			differ(what, deref(got), deref(want))
		}
	}
	same("attempts", h.Attempts, e.Attempts, e.AttemptsLow, e.AttemptsHigh)
	if h.Unbounded != e.Unbounded {
		differ("unbounded", h.Unbounded, e.Unbounded)
	}
	if e.Slow != nil || e.Attempts == nil || e.SlowLow != nil {
		same("slow attempts", h.Slow, e.Slow, e.SlowLow, e.SlowHigh)
	}
	same("per try", ns(h.PerTry), e.PerTry, nil, nil)
	same("overall", ns(h.Overall), e.Overall, nil, nil)
	same("worst", ns(h.Worst), e.Worst, e.WorstLow, e.WorstHigh)
	return diffs
}
