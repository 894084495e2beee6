package lower_test

import (
	"context"
	"strings"
	"testing"

	"github.com/relplan/relplan/modelcheck"
	"github.com/relplan/relplan/specs/lower"
)

func TestRulesBatch(t *testing.T) {
	runRules(t, []rule{
		{"taken_at_once", "the messages of a batch are taken in one step: the second is delivered although its steps never run", takenAtOnce, "broken"},
		{"one_by_one", "and without batch: it is not", replace(takenAtOnce, "batch: 2, ", ""), "holds"},
		{"ack_per_message", "an ack is for its own message: after a crash behind the first ack only the second comes back", `
operations: {op: 2}
resources:
  q: {kind: queue, delivery: at_least_once, starts_with: one per op}
processes:
  w:
    on: {message: q, batch: 2, as: m}
    steps:
      - {ack: m, effect: {e: m.op}}
faults: {crash: 1}
promises:
  once: effect e happens at most once per op
  done: every op eventually has effect e
`, "holds holds"},
		{"crash_gives_back", "a crash gives back every message that is not acked", `
operations: {op: 2}
resources:
  q: {kind: queue, delivery: at_least_once, starts_with: one per op}
  k: {kind: kv}
processes:
  w:
    on: {message: q, batch: 2, as: m}
    steps:
      - {put: k, key: m.op, effect: {e: m.op}}
      - {ack: m}
faults: {crash: 1}
promises:
  once: effect e happens at most once per op
  done: every op eventually has effect e
  acked: no message of q is acked before effect e
`, "5 holds holds"},
		{"crash_gives_back_sent", "the same for messages that were sent", `
operations: {op: 2}
resources:
  q: {kind: queue, delivery: at_least_once}
  k: {kind: kv}
processes:
  s:
    on: {start: op, as: o, durable: true}
    steps:
      - {send: q, message: {op: o}}
  w:
    on: {message: q, batch: 2, as: m}
    steps:
      - {put_new: k, key: m.op, if_exists: continue, effect: {e: m.op}}
      - {ack: m}
faults: {crash: 1}
promises:
  once: effect e happens at most once per op
  done: every op eventually has effect e
`, "holds holds"},
		{"stop_gives_back_the_rest", "stop ends the run: the rest of its batch is available again", `
operations: {op: 2}
resources:
  q: {kind: queue, delivery: at_least_once, starts_with: one per op}
  k: {kind: kv}
processes:
  w:
    on: {message: q, batch: 2, as: m}
    steps:
      - {put_new: k, key: m.op, if_exists: go second}
      - stop: true
      - {at: second, ack: m, effect: {e: m.op}}
promises:
  done: every op eventually has effect e
`, "holds"},
		{"held_to_the_end_of_the_run", "a message whose steps end without an ack stays with the run", heldToTheEnd, "holds"},
		{"nack_gives_back_at_once", "a nack does not", replace(heldToTheEnd, "      - {go: end, when: b == none}", "      - {nack: m}\n      - {go: end, when: b == none}"), "broken"},
		{"up_to", "a batch can be smaller than batch: allows: two workers have one message each", `
operations: {op: 2}
resources:
  q: {kind: queue, delivery: at_least_once, starts_with: one per op}
  k: {kind: kv}
processes:
  w:
    instances: 2
    on: {message: q, batch: 2, as: m}
    steps:
      - {at: one, put: k, key: m.op}
      - {at: two, ack: m}
promises:
  alone: at most 1 w are between one and two at once
`, "broken"},
		{"order_of_the_queue", "an ordered queue hands a batch over in its order", inOrder, "holds"},
		{"order_is_the_queues_choice", "any other in any order", replace(inOrder, ", order: line", ""), "broken"},
		{"visibility_of_the_rest", "visibility runs for a message that has not had its turn", `
operations: {op: {count: 2, n: [1, 2]}}
resources:
  q: {kind: queue, delivery: at_least_once, visibility: {lasts: 1h}, starts_with: one per op}
  k: {kind: kv}
processes:
  w:
    instances: 2
    on: {message: q, batch: 2, as: m}
    steps:
      - {go: fast, when: m.op.n == 2}
      - {put: k, key: 'a', slow: true}
      - {ack: m}
      - {go: end}
      - {at: fast, put: k, key: m.op, effect: {e: m.op}}
      - {ack: m}
promises:
  once: effect e happens at most once per op
  done: {check: "op.n == 1 or count(e, op) >= 1", eventually: true}
`, "broken holds"},
		{"redelivery_of_a_batch", "the fault redelivery reaches the messages of a batch", `
operations: {op: 2}
resources:
  q: {kind: queue, delivery: at_least_once}
  k: {kind: kv}
processes:
  s:
    on: {start: op, as: o}
    steps:
      - {send: q, message: {op: o}}
  w:
    instances: 2
    on: {message: q, batch: 2, as: m}
    steps:
      - {go: end, when: not m.last}
      - {put: k, key: m.op, effect: {e: m.op}}
      - {ack: m}
faults: {redelivery: 1}
promises:
  once: effect e happens at most once per op
`, "broken"},
		{"last", "m.last is true for the last message of the batch, and for the only one", `
operations: {op: 2}
resources:
  q: {kind: queue, delivery: at_least_once, starts_with: one per op}
processes:
  w:
    on: {message: q, batch: 2, as: m}
    steps:
      - {go: last, when: m.last}
      - {ack: m, effect: {early: m.op}}
      - {go: end}
      - {at: last, ack: m, effect: {e: m.op}}
promises:
  one: {check: "count(early) <= 1", always: true}
  some: {check: "count(e) >= 1", eventually: true}
must_be_possible:
  - {reach: count(early) == 1}
  - {reach: count(e) == 2}
`, "holds holds seen seen"},
		{"last_of_a_log", "m.last of a log", `
operations: {op: 2}
resources:
  l: {kind: log, partitions: 1, starts_with: one per op}
  k: {kind: kv}
processes:
  w:
    on: {message: l, batch: 2, as: m}
    steps:
      - {put: k, key: m.op, effect: {e: m.op}}
      - {go: end, when: not m.last}
      - {at: commit, commit_offset: l}
must_be_possible:
  - step commit of w is taken
promises:
  done: every op eventually has effect e
`, "holds seen"},
		{"offset_of_a_log", "m.offset is the position of the message: to commit it leaves the message to be fetched again", `
operations: {op: 1}
resources:
  l: {kind: log, partitions: 1, starts_with: one per op}
  k: {kind: kv}
processes:
  w:
    on: {message: l, as: m}
    steps:
      - {put: k, key: m.op, effect: {e: m.op}}
      - {commit_offset: l, up_to: m.offset}
faults: {crash: 1}
promises:
  once: effect e happens at most once per op
`, "5"},
		{"contiguous_in_a_batch", "up_to: contiguous does not run ahead of the run's own batch", `
operations: {op: 2}
resources:
  l: {kind: log, partitions: 1, starts_with: one per op}
  k: {kind: kv}
processes:
  w:
    on: {message: l, batch: 2, as: m}
    steps:
      - {put: k, key: m.op, effect: {e: m.op}}
      - {commit_offset: l, up_to: contiguous}
faults: {crash: 1}
promises:
  done: every op eventually has effect e
`, "holds"},
	})
}

const takenAtOnce = `
operations: {op: 2}
resources:
  q: {kind: queue, delivery: at_least_once, max_deliveries: 1, dead_letter: dead, starts_with: one per op}
  dead: {kind: queue, delivery: at_least_once}
  k: {kind: kv}
processes:
  w:
    on: {message: q, batch: 2, as: m}
    steps:
      - {put: k, key: m.op, effect: {worked: m.op}}
      - stop: true
  d:
    on: {message: dead, as: m}
    steps:
      - {ack: m, effect: {buried: m.op}}
promises:
  worked: {check: "count(buried, op) == 0 or count(worked, op) >= 1", always: true}
`

const heldToTheEnd = `
operations: {op: {count: 2, n: [1, 2]}}
resources:
  q: {kind: queue, delivery: at_least_once, order: line}
  busy: {kind: kv}
  k: {kind: kv}
processes:
  s:
    on: {start: op, as: o, in_order: n}
    steps:
      - {send: q, message: {op: o, line: ONE}}
  w:
    instances: 2
    on: {message: q, batch: 2, as: m}
    steps:
      - {go: two, when: m.op.n == 2}
      - {get: busy, key: 'x', as: b}
      - {go: end, when: b == none}
      - {put: k, key: m.op, effect: {clash: m.op}}
      - {go: end}
      - {at: two, put: busy, key: 'x'}
      - {remove: busy, key: 'x'}
promises:
  calm: {check: "count(clash, op) == 0", always: true}
`

const inOrder = `
operations: {op: {count: 2, n: [1, 2]}}
resources:
  q: {kind: queue, delivery: at_least_once, order: line}
  db: {kind: sql, tables: {t: {columns: {n: 0 .. 3}}}}
processes:
  s:
    on: {start: op, as: o, in_order: n}
    steps:
      - {send: q, message: {op: o, line: ONE}}
  w:
    on: {message: q, batch: 2, as: m}
    steps:
      - {insert: t, row: {op: m.op, n: m.op.n}, effect: {e: m.op}}
      - {ack: m}
promises:
  order: effects of t happen in order of n
`

// The engine and the interpreter agree on batches.
func TestBatchInterpreterAgrees(t *testing.T) {
	for _, spec := range []string{takenAtOnce, heldToTheEnd, inOrder} {
		v := parse(t, "batch.yaml", "relplan: v1\nsystem: batch\n"+spec)[0]
		if !compare(t, check(t, v), 3000, t.Errorf) {
			t.Error("too large to compare")
		}
	}
}

// What cannot be explored is refused with its place.
func TestBatchTooLarge(t *testing.T) {
	v := parse(t, "big.yaml", `relplan: v1
system: big
operations: {op: 8}
resources:
  q: {kind: queue, delivery: at_least_once, starts_with: one per op}
processes:
  w:
    on: {message: q, batch: 8, as: m}
    steps:
      - {ack: m, effect: {e: m.op}}
promises:
  once: effect e happens at most once per op
`)[0]
	_, err := lower.Check(context.Background(), v, modelcheck.Options{Workers: 1})
	if err == nil || !strings.Contains(err.Error(), "big.yaml:8:10") || !strings.Contains(err.Error(), "up to 8 of 8 messages of q can be taken in 109600 ways") {
		t.Errorf("got %v", err)
	}
}

// The words of a batch: what was received, and with what the run goes on.
func TestBatchHistory(t *testing.T) {
	v := parse(t, "taken.yaml", "relplan: v1\nsystem: taken\n"+takenAtOnce)[0]
	h := check(t, v).Answers()[0].History
	if got := h.Steps[0].Text; got != "receives 2 messages of q (op 1), (op 2)" && got != "receives 2 messages of q (op 2), (op 1)" {
		t.Errorf("step 1: %s", got)
	}
	if e := h.Steps[0].Event; len(e.Of.Rest) != 1 || e.Of.Rest[0]["op"] == e.Of.Fields["op"] {
		t.Errorf("step 1: %v and %v", e.Of.Fields, e.Of.Rest)
	}
}
