package lower_test

import (
	"strings"
	"testing"

	"github.com/relplan/relplan/specs/lower"
)

// historyOf gives the history that breaks the promise of that number.
func historyOf(t *testing.T, file, variant string, number int) *lower.History {
	t.Helper()
	for _, v := range load(t, file) {
		if v.Variant != variant {
			continue
		}
		a := check(t, v).Answers()[number-1]
		if a.History == nil {
			t.Fatalf("%s: %v without a history", a.Promise.Text, a.Verdict)
		}
		return a.History
	}
	t.Fatalf("no variant %q in %s", variant, file)
	return nil
}

// The history of b, word for word: who, what, where the run went, what changed.
func TestHistoryWords(t *testing.T) {
	h := historyOf(t, "../testdata/b-setnx-before-write.yaml", "", 3)
	var got []string
	for _, s := range h.Steps {
		line := s.Actor + " " + s.Kind + ": " + s.Text
		if s.Then != "" {
			line += "; " + s.Then
		}
		got = append(got, line)
	}
	want := []string{
		"consumer 1 delivery: receives a message of transfers (transfer 1)",
		"consumer 1 step: puts transfer 1 into seen",
		"consumer 1 fault: crashes",
		"consumer 1 delivery: receives a message of transfers (transfer 1)",
		"consumer 1 step: puts transfer 1 into seen: the key is there already; goes to acknowledge",
		"consumer 1 step: acks the message; the run ends",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if h.Sealed != 3 {
		t.Errorf("sealed at %d, want 3: nothing after the crash could save the effect", h.Sealed)
	}
	if c := h.Steps[1].Changed; len(c) != 1 || c[0] != (lower.Change{Where: "seen", What: "+(transfer 1)"}) {
		t.Errorf("step 2 changed %v", c)
	}
}

// Reasons in words, and whom a step waited for.
func TestBecause(t *testing.T) {
	tests := []struct {
		file, variant string
		promise       int
		want          []string
	}{
		{"b-setnx-before-write", "", 2, []string{"consumer 1 crashed at step 3: after step 2, before it inserts into ledger",
			"found it there at step 5 because consumer 1 had put it at step 2"}},
		{"d-setnx-ttl-zombie", "", 1, []string{"moves_money happened 2 times for transfer 1: at step 9 by consumer 2 and at step 10 by consumer 1",
			"consumer 1 read nothing at step 3 because consumer 2 had not yet written (step 9)", "expires while consumer 1 still works at step 4"}},
		{"f4-payment-query-no-dedup", "", 1, []string{"by a late request", "after its caller had given up on it"}},
		{"../incidents/p073-blocked-select-for-update", "as_reported", 1, []string{"waits for worker", "acted at step", "on what it had read at step"}},
		{"../incidents/p052-sequence-gap", "as_reported", 1, []string{"nothing that can still happen changes that"}},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			h := historyOf(t, "../testdata/"+tt.file+".yaml", tt.variant, tt.promise)
			all := strings.Join(h.Because, "\n")
			for _, w := range tt.want {
				if !strings.Contains(all, w) {
					t.Errorf("no reason says %q:\n%s", w, all)
				}
			}
		})
	}
}
