package lower_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/relplan/relplan/modelcheck"
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
		{"../incidents/p052-sequence-gap", "as_reported", 1, []string{"nothing that can still happen changes that",
			"writer 1 took its number at step 2, before writer 2 (step 4), and committed at step 11, while writer 2 committed at step 5"}},
		{"../library/additions-and-snapshots", "last-write-wins", 1, []string{"replaces 1 overwrote at step 5 what replaces 1 had written to total at step 2"}},
		{"../incidents/p111-enqueue-inside-transaction", "as_reported", 2, []string{"step 3 takes effect at once, although the transaction on db around it is still open"}},
		{"../incidents/p037-outbox-order", "as_reported", 1, []string{"relay 1 wrote to events at step 6, after relay 2 at step 5"}},
		{"../incidents/p060-visibility-shorter-than-task", "as_reported", 2, []string{"tasks makes the message of worker 1 available again at step 2"}},
		{"../incidents/p067-unique-insert-races-rollback", "as_reported", 1, []string{"went on without the lock at step 4 because caller 1 has had it since step 2"}},
		{"../incidents/p070-poison-row-in-bulk-update", "as_reported", 1, []string{"bulk changed nothing at step 2: another row has the key"}},
		{"../incidents/p094-dedup-id-names-the-entity", "as_reported", 1, []string{"work stored nothing at step 4: it had accepted a message with that id before"}},
		{"../incidents/p096-high-water-before-append", "as_reported", 1, []string{"broker failed at step 4: injected error"}},
		{"../incidents/p109-late-try-after-cancel", "as_reported", 1, []string{"cancel found nothing to update at step 2 because try had not yet written (step 5)"}},
		{"../incidents/p119-session-token", "as_reported", 1, []string{"client read a replica at step 3 that was 1 commit(s) behind"}},
		{"../library/sharded-arbitration", "routed-by-region", 1, []string{"wins happened 2 times: at step 2 by frontend 1 for request 1 and at step 5 by frontend 1 for request 2"}},
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

// Every history of the examples says why.
func TestNoHistoryWithoutReason(t *testing.T) {
	for _, pattern := range []string{"../testdata/*.yaml", "../incidents/*.yaml", "../library/*.yaml"} {
		files, _ := filepath.Glob(pattern)
		if len(files) == 0 {
			t.Fatal(pattern)
		}
		for _, f := range files {
			for _, v := range load(t, f) {
				for _, a := range check(t, v).Answers() {
					if a.Verdict == modelcheck.Broken && len(a.History.Because) == 0 {
						t.Errorf("%s %s: no reason why %q is broken", filepath.Base(f), v.Variant, a.Promise.Text)
					}
				}
			}
		}
	}
}
