package lower_test

import (
	"fmt"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/relplan/relplan/specs/lower"
)

// show prints an event as its fields say, and nothing from the words.
func show(e *lower.Event) string {
	var b strings.Builder
	if e.Process != nil {
		fmt.Fprintf(&b, "%s/%d ", e.Process.Name, e.Instance)
	}
	switch {
	case e.Start:
		b.WriteString("start" + showSubject(e.Of))
	case e.Step != nil:
		verb := e.Step.Verb.String()
		if e.Commit {
			verb = "commit"
		}
		b.WriteString(verb + " " + e.Step.Subject + " ")
		if e.Done {
			b.WriteString("done")
		} else {
			b.WriteString(e.Branch.String())
		}
		if e.Why != lower.NoReason {
			fmt.Fprintf(&b, " (%s)", e.Why)
		}
		if e.World != lower.Heard {
			fmt.Fprintf(&b, " [%s]", e.World)
		}
		if e.Reads {
			b.WriteString(" reads " + showValue(e.Read))
		}
		if e.Waited {
			b.WriteString(" waited")
			if e.Blocker != nil {
				fmt.Fprintf(&b, " for %s/%d", e.Blocker.Of.Name, e.Blocker.Index)
			}
		}
	default:
		b.WriteString(string(e.What) + showSubject(e.Of))
	}
	if e.Fault != nil {
		b.WriteString(" spends " + e.Fault.Name)
	}
	return b.String()
}

func showSubject(s lower.Subject) string {
	out := ""
	if s.Operation != nil {
		out += " " + s.Operation.String()
	}
	if s.Table != nil {
		out += " " + s.Table.Name
	} else if s.Resource != nil {
		out += " " + s.Resource.Name
	}
	if s.Method != nil {
		out += "." + s.Method.Name
	}
	if s.Fields != nil {
		out += " " + showValue(s.Fields)
	}
	if s.Process != nil {
		out += fmt.Sprintf(" of %s/%d", s.Process.Name, s.Instance)
	}
	if s.Partition >= 0 {
		out += fmt.Sprintf(" partition %d", s.Partition)
	}
	if s.Number >= 0 {
		out += fmt.Sprintf(" number %d", s.Number)
	}
	if s.Duration != nil {
		out += " after " + s.Duration.Name
	}
	if s.To != nil {
		out += " to " + s.To.Name
	}
	return out
}

func showValue(v lower.Value) string {
	switch x := v.(type) {
	case nil:
		return "none"
	case string:
		return "'" + x + "'"
	case lower.Record:
		var names []string
		for n := range x {
			names = append(names, n)
		}
		sort.Strings(names)
		var parts []string
		for _, n := range names {
			parts = append(parts, n+": "+showValue(x[n]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case lower.Hash:
		var parts []string
		for _, p := range x {
			parts = append(parts, showValue(p))
		}
		return "hash(" + strings.Join(parts, ", ") + ")"
	case lower.InstanceID:
		return fmt.Sprintf("%s/%d", x.Of.Name, x.Index)
	case lower.MessageID:
		return fmt.Sprintf("%s %d.%d", x.Of.Name, x.Operation, x.Number)
	case lower.FieldID:
		return fmt.Sprintf("%s#%d", x.Of.Name, x.Index)
	case lower.FreshID:
		return fmt.Sprintf("fresh %d", x)
	case lower.Position:
		return fmt.Sprintf("%s@%d", x.Of.Name, x.N)
	}
	return fmt.Sprint(v)
}

// Every field of the events, on histories of the library and of the worked
// examples. The words of the step play no part.
func TestEvents(t *testing.T) {
	tests := []struct {
		file, variant string
		promise       int
		want          string
	}{
		{"../library/inbox-retention", "kept-7-days-replayed-30", 1, `
consumer/0 start payments {op: payment 1}
consumer/0 insert inbox done
consumer/0 insert ledger done
consumer/0 commit shop done
consumer/0 ack m on_error (injected error) [fails] spends error
retention ends inbox {op: payment 1} after keep
operator replay parked {op: payment 1} to payments spends operator_replay
consumer/0 start payments {op: payment 1}
consumer/0 insert inbox done
consumer/0 insert ledger done
consumer/0 commit shop done`},
		{"../library/outbox-sequence-gap", "remember-the-largest-id", 2, `
writer/0 start event 1
writer/0 insert outbox done
writer/1 start event 2
writer/1 insert outbox done
writer/1 commit shop done
by_number/0 start
by_number/0 select cursor done reads {k: CUR, pos: 0}
by_number/0 select outbox done reads {id: 2, op: event 2}
by_number/0 update cursor done
writer/0 commit shop done
by_number/0 start
by_number/0 select cursor done reads {k: CUR, pos: 2}
by_number/0 select outbox done (none matches) reads none`},
		{"../library/provider-forgets-the-key", "kept-a-day-retried-three", 1, `
payer/0 start jobs {op: payment 1}
payer/0 call bank.charge done [done, answer lost] spends response_lost
key forgotten bank.charge {client_key: payment 1} after keep
operator replay parked {op: payment 1} to jobs spends operator_replay
payer/0 start jobs {op: payment 1}
payer/0 call bank.charge done reads {}`},
		{"../library/two-event-ids", "inbox-alone", 1, `
consumer/0 start events {id: events 0.0, op: payment 1}
consumer/0 insert inbox done
consumer/0 insert ledger done
consumer/0 commit shop done
consumer/0 ack m done
consumer/0 start events {id: events 0.1, op: payment 1}
consumer/0 insert inbox done
consumer/0 insert ledger done
consumer/0 commit shop done`},
		{"../library/offset-and-business-commit", "offset-before", 2, `
consumer/0 start events {id: payment 1, op: payment 1} partition 0 number 0
consumer/0 commit_offset events done
consumer/0 crash spends crash`},
		{"../library/cache-fill", "delete-after-write", 2, `
eviction/0 start spends eviction
eviction/0 remove cache done
reader/0 start read 1
reader/0 get cache done (none matches) reads none
reader/0 select items done reads {k: X, v: 1}
writer/0 start write 1
writer/0 update items done
writer/0 remove cache if_none (none matches)
reader/0 put cache done`},
		{"../testdata/d-setnx-ttl-zombie", "", 1, `
consumer/0 start transfers {id: transfer 1, op: transfer 1}
consumer/0 put locks done
consumer/0 select ledger done (none matches) reads none
ttl ends locks {key: transfer 1, value: consumer/0} of consumer/0 after ttl of locks spends stall
visibility ends transfers {id: transfer 1, op: transfer 1} of consumer/0
consumer/1 start transfers {id: transfer 1, op: transfer 1}
consumer/1 put locks done
consumer/1 select ledger done (none matches) reads none
consumer/1 insert ledger done
consumer/0 insert ledger done`},
		{"../testdata/f4-payment-query-no-dedup", "", 1, `
payer/0 start jobs {id: payment 1, op: payment 1}
payer/0 insert payments done
payer/0 call bank.charge on_unknown [no answer, arrives later] spends response_lost
payer/0 select payments done reads {op: payment 1, state: STARTED}
payer/0 update payments done
payer/0 call bank.find done (not found) reads none
payer/0 call bank.charge done reads {}
late request bank.charge {client_key: payment 1, op: payment 1}`},
	}
	for _, tt := range tests {
		t.Run(tt.file+" "+tt.variant, func(t *testing.T) {
			if got := events(historyOf(t, tt.file+".yaml", tt.variant, tt.promise)); got != strings.TrimSpace(tt.want) {
				t.Errorf("got\n%s\nwant%s", got, tt.want)
			}
		})
	}
}

func events(h *lower.History) string {
	var lines []string
	for _, s := range h.Steps {
		lines = append(lines, show(&s.Event))
	}
	return strings.Join(lines, "\n")
}

// A step that waited names the instance whose transaction it waited for.
func TestEventBlocker(t *testing.T) {
	h := historyOf(t, "../incidents/p073-blocked-select-for-update.yaml", "as_reported", 1)
	for _, s := range h.Steps {
		if e := s.Event; e.Waited {
			if e.Blocker == nil || *e.Blocker != (lower.InstanceID{Of: e.Process, Index: 1 - e.Instance}) {
				t.Errorf("step %d waited for %v", s.N, e.Blocker)
			}
			return
		}
	}
	t.Errorf("no step waited:\n%s", events(h))
}

// Whatever can happen in the examples, the reports and the library says what it
// is: a step, a start, or a What.
func TestEventsSayWhatTheyAre(t *testing.T) {
	seen := map[lower.What]bool{}
	for _, pattern := range []string{"../testdata/*.yaml", "../incidents/*.yaml", "../library/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, f := range files {
			for _, v := range load(t, f) {
				lo, err := lower.Lower(v, lower.Options{})
				if err != nil {
					t.Fatal(err)
				}
				for _, a := range lo.Program.Actions {
					n := a.Note.(*lower.Note)
					if n.Process == nil && n.What == lower.Nothing {
						t.Errorf("%s: action %q does not say what it is", f, a.Name)
					}
					seen[n.What] = true
					if a.Fault != "" && n.Fault == nil {
						t.Errorf("%s: action %q spends %s and does not say of what", f, a.Name, a.Fault)
					}
				}
			}
		}
	}
	for _, w := range []lower.What{lower.Crash, lower.Redelivery, lower.VisibilityEnds, lower.LeaseEnds, lower.TTLEnds, lower.RetentionEnds,
		lower.LateRequest, lower.KeyForgotten, lower.ReplicaApplies, lower.Restart} {
		if !seen[w] {
			t.Errorf("no example has %q", w)
		}
	}
}

// The victim of a deadlock.
func TestEventDeadlock(t *testing.T) {
	spec := parse(t, "deadlock.yaml", `relplan: v1
system: deadlock
operations: {op: 1}
resources:
  db: {kind: sql, isolation: read_committed, tables: {t: {unique: [k]}}}
initially: {t: [{k: A, v: 0}, {k: B, v: 0}]}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - transaction: db
        on_error: go lost
        do:
          - {update: t, where: {k: A}, set: {v: 1}}
          - {update: t, where: {k: B}, set: {v: 1}}
      - stop: true
      - {at: lost, ask_human: o}
  b:
    on: {poll: true}
    steps:
      - transaction: db
        on_error: stop
        do:
          - {update: t, where: {k: B}, set: {v: 0}}
          - {update: t, where: {k: A}, set: {v: 0}}
promises:
  free: {check: "not handed(op)", always: true}
`)[0]
	got := events(check(t, spec).Answers()[0].History)
	if !strings.Contains(got, "a/0 update t on_error (deadlock)") {
		t.Errorf("no victim:\n%s", got)
	}
}
