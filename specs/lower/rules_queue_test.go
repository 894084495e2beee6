package lower_test

import "testing"

func TestRulesQueueAndLog(t *testing.T) {
	runRules(t, []rule{
		{"free_redelivery", "R9: a run that stops gives its message back at once", `
operations: {op: 1}
resources:
  q: {kind: queue, delivery: at_least_once, starts_with: one per op}
  k: {kind: kv}
processes:
  w:
    on: {message: q, as: m}
    steps:
      - {put: k, key: m.op, if_absent: true, if_exists: go second}
      - stop: true
      - {at: second, ack: m, effect: {e: m.op}}
promises:
  done: every op eventually has effect e
`, "holds"},
		{"held_does_not_come_back", "R10: while it is held a message does not come back by itself", `
operations: {op: 1}
resources:
  q: {kind: queue, delivery: at_least_once, starts_with: one per op}
  log: {kind: kv}
processes:
  w:
    instances: 2
    on: {message: q, as: m}
    steps:
      - {put: log, key: m.op, effect: {e: m.op}}
      - {ack: m}
promises:
  once: effect e happens at most once per op
`, "holds"},
		{"redelivery_of_acked", "R11: the fault redelivery covers an acked message", `
operations: {op: 1}
resources:
  q: {kind: queue, delivery: at_least_once, starts_with: one per op}
processes:
  w:
    on: {message: q, as: m}
    steps:
      - {ack: m, effect: {e: m.op}}
faults: {redelivery: 1}
promises:
  once: effect e happens at most once per op
`, "5"},
		{"ack_removes_copies", "R12: an ack removes the waiting copies of the message too", `
operations: {op: 1}
resources:
  q: {kind: queue, delivery: at_least_once, starts_with: one per op, copies: 2}
processes:
  w:
    on: {message: q, as: m}
    steps:
      - {ack: m, effect: {e: m.op}}
promises:
  once: effect e happens at most once per op
`, "holds"},
		{"two_messages", "two per OP are two messages: the ack of one leaves the other", `
operations: {op: 1}
resources:
  q: {kind: queue, delivery: at_least_once, starts_with: two per op}
processes:
  w:
    on: {message: q, as: m}
    steps:
      - {ack: m, effect: {e: m.op}}
promises:
  once: effect e happens at most once per op
`, "4"},
		{"two_messages_two_ids", "and their ids differ", `
operations: {op: 1}
resources:
  q: {kind: queue, delivery: at_least_once, starts_with: two per op}
  seen: {kind: kv}
processes:
  w:
    on: {message: q, as: m}
    steps:
      - {put: seen, key: m.id, if_absent: true, if_exists: go ack, effect: {e: m.op}}
      - {at: ack, ack: m}
promises:
  once: effect e happens at most once per op
`, "5"},
		{"stale_ack", "stale_ack: refused makes the second ack take on_error", `
operations: {op: 1}
resources:
  q: {kind: queue, delivery: at_least_once, stale_ack: refused, starts_with: one per op}
processes:
  w:
    instances: 2
    on: {message: q, as: m}
    steps:
      - {ack: m, on_error: go late}
      - stop: true
      - {at: late, ask_human: m.op}
faults: {redelivery: 1}
promises:
  calm: {check: "not handed(op)", always: true}
`, "6"},
		{"nack", "nack gives the message back at that step", `
operations: {op: 1}
resources:
  q: {kind: queue, delivery: at_least_once, starts_with: one per op}
processes:
  w:
    instances: 2
    on: {message: q, as: m}
    steps:
      - {nack: m}
      - {ask_human: m.op}
must_be_possible:
  - a message of q is delivered twice
promises:
  handed: {check: "handed(op)", eventually: true}
`, "holds seen"},
		{"max_deliveries", "R9: at max_deliveries a message moves to the dead letter queue", `
operations: {op: 1}
resources:
  q: {kind: queue, delivery: at_least_once, max_deliveries: 2, dead_letter: dead, starts_with: one per op}
  dead: {kind: queue, delivery: at_least_once}
processes:
  w:
    on: {message: q, as: m}
    steps:
      - stop: true
  d:
    on: {message: dead, as: m}
    steps:
      - {ack: m, effect: {buried: m.op}}
promises:
  buried: every op eventually has effect buried
  once: effect buried happens at most once per op
`, "holds holds"},
		{"dedup_window", "R13: a send whose id was accepted within the window stores nothing", `
operations: {op: 1}
resources:
  q: {kind: queue, delivery: at_least_once, dedup: {by: id, window: 2m}}
processes:
  a:
    on: {request: op, as: o}
    steps:
      - {send: q, message: {id: o, op: o}}
      - {reply: ok}
  w:
    on: {message: q, as: m}
    steps:
      - {ack: m, effect: {e: m.op}}
faults: {response_lost: 1}
promises:
  once: effect e happens at most once per op
`, "broken"},
		{"dedup_forever", "R16: without an end of the window the same spec holds", `
operations: {op: 1}
resources:
  q: {kind: queue, delivery: at_least_once, dedup: {by: id, window: none}}
processes:
  a:
    on: {request: op, as: o}
    steps:
      - {send: q, message: {id: o, op: o}}
      - {reply: ok}
  w:
    on: {message: q, as: m}
    steps:
      - {ack: m, effect: {e: m.op}}
faults: {response_lost: 1}
promises:
  once: effect e happens at most once per op
`, "holds"},
		{"unordered_queue", "without order any waiting message can be taken", `
operations: {op: {count: 2, n: [1, 2]}}
resources:
  q: {kind: queue, delivery: at_least_once}
processes:
  a:
    on: {start: op, as: o, in_order: n}
    steps:
      - {send: q, message: {op: o, n: o.n}}
  w:
    on: {message: q, as: m}
    steps:
      - {ack: m, effect: {e: m.op}}
promises:
  order: {check: "count(e, the op where n == 2) == 0 or count(e, the op where n == 1) > 0", always: true}
`, "6"},
		{"ordered_queue", "order: queue is first in, first out", `
operations: {op: {count: 2, n: [1, 2]}}
resources:
  q: {kind: queue, delivery: at_least_once, order: queue}
processes:
  a:
    on: {start: op, as: o, in_order: n}
    steps:
      - {send: q, message: {op: o, n: o.n}}
  w:
    instances: 2
    on: {message: q, as: m}
    steps:
      - {ack: m, effect: {e: m.op}}
promises:
  order: {check: "count(e, the op where n == 2) == 0 or count(e, the op where n == 1) > 0", always: true}
  both: every op eventually has effect e
`, "holds holds"},
		{"stall_ends_visibility", "R15: a stalled holder loses its message", `
operations: {op: 1}
resources:
  q: {kind: queue, delivery: at_least_once, starts_with: one per op}
  log: {kind: kv}
processes:
  w:
    instances: 2
    on: {message: q, as: m}
    steps:
      - {put: log, key: m.op, effect: {e: m.op}}
      - {ack: m}
faults: {stall: 1}
promises:
  once: effect e happens at most once per op
`, "5"},
		{"assumed_visibility", "R19: and keeps it by assumption", `
operations: {op: 1}
resources:
  q: {kind: queue, delivery: at_least_once, starts_with: one per op}
  log: {kind: kv}
processes:
  w:
    instances: 2
    on: {message: q, as: m}
    steps:
      - {put: log, key: m.op, effect: {e: m.op}}
      - {ack: m}
faults: {stall: 1}
assume: [visibility of q outlives its holder]
promises:
  once: effect e happens at most once per op
`, "holds"},
		{"queue_restart", "R41: a restart of a queue makes held messages available", `
operations: {op: 1}
resources:
  q: {kind: queue, delivery: at_least_once, starts_with: one per op}
  log: {kind: kv}
processes:
  w:
    instances: 2
    on: {message: q, as: m}
    steps:
      - {put: log, key: m.op, effect: {e: m.op}}
      - {ack: m}
faults: {restart: {of: q, max: 1}}
promises:
  once: effect e happens at most once per op
  done: every op eventually has effect e
`, "5 holds"},
		{"queue_restart_loses", "with loses: memory its messages are gone", `
operations: {op: 1}
resources:
  q: {kind: queue, delivery: at_least_once, starts_with: one per op}
processes:
  w:
    on: {message: q, as: m}
    steps:
      - {ack: m, effect: {e: m.op}}
faults: {restart: {of: q, loses: memory, max: 1}}
promises:
  done: every op eventually has effect e
`, "1"},
		{"log_offset_after", "a log consumer that commits after the effect repeats it after a crash", `
operations: {op: 1}
resources:
  l: {kind: log, partitions: 1, starts_with: one per op}
  k: {kind: kv}
processes:
  w:
    on: {message: l, as: m}
    steps:
      - {put: k, key: m.op, effect: {e: m.op}}
      - {commit_offset: l}
faults: {crash: 1}
promises:
  once: effect e happens at most once per op
  done: every op eventually has effect e
`, "5 holds"},
		{"log_offset_before", "one that commits before loses it", `
operations: {op: 1}
resources:
  l: {kind: log, partitions: 1, starts_with: one per op}
  k: {kind: kv}
processes:
  w:
    on: {message: l, as: m}
    steps:
      - {commit_offset: l}
      - {put: k, key: m.op, effect: {e: m.op}}
faults: {crash: 1}
promises:
  once: effect e happens at most once per op
  done: every op eventually has effect e
  acked: no message of l is acked before effect e
`, "holds 3 2"},
		{"log_zombie", "R41: after a rebalance the old owner goes on and commits", `
operations: {op: 1}
resources:
  l: {kind: log, partitions: 1, starts_with: one per op}
  k: {kind: kv}
processes:
  w:
    instances: 2
    on: {message: l, as: m}
    steps:
      - {put: k, key: m.op, effect: {e: m.op}}
      - {commit_offset: l, on_error: go fenced}
      - stop: true
      - {at: fenced, ask_human: m.op}
faults: {rebalance: 1}
promises:
  once: effect e happens at most once per op
  calm: {check: "not handed(op)", always: true}
`, "5 holds"},
		{"log_fenced", "fenced: true refuses the commit of the old owner", `
operations: {op: 1}
resources:
  l: {kind: log, partitions: 1, fenced: true, starts_with: one per op}
  k: {kind: kv}
processes:
  w:
    instances: 2
    on: {message: l, as: m}
    steps:
      - {put: k, key: m.op}
      - {commit_offset: l, on_error: go fenced}
      - stop: true
      - {at: fenced, ask_human: m.op}
faults: {rebalance: 1}
promises:
  calm: {check: "not handed(op)", always: true}
`, "5"},
		{"offset_reset", "offset_reset: earliest delivers again what was committed", `
operations: {op: 1}
resources:
  l: {kind: log, partitions: 1, starts_with: one per op}
processes:
  w:
    on: {message: l, as: m}
    steps:
      - {commit_offset: l, effect: {e: m.op}}
faults: {offset_reset: {of: l, max: 1}}
promises:
  once: effect e happens at most once per op
`, "5"},
		{"messages_in_order", "M5: a smaller value after a larger one breaks it", `
operations: {op: {count: 2, n: [1, 2]}}
resources:
  l: {kind: log, partitions: 1}
processes:
  a:
    instances: 2
    on: {start: op, as: o}
    steps:
      - {send: l, message: {op: o, n: o.n}}
promises:
  order: messages of l are in order of n
`, "4"},
		{"log_retention", "a log that keeps messages for a time can lose one before it is read", `
operations: {op: 1}
resources:
  l: {kind: log, partitions: 1, keeps: 7d, starts_with: one per op}
processes:
  w:
    on: {message: l, as: m}
    steps:
      - {commit_offset: l, effect: {e: m.op}}
promises:
  done: every op eventually has effect e
`, "1"},
		{"producer_epoch", "a fenced log refuses the send of an old epoch", `
operations: {op: {count: 2, n: [1, 2]}}
resources:
  l: {kind: log, partitions: 1, fenced: true}
processes:
  a:
    instances: 2
    on: {start: op, as: o}
    steps:
      - {send: l, message: {op: o}, epoch: o.n, on_error: go fenced}
      - stop: true
      - {at: fenced, ask_human: o}
promises:
  old: {check: "handed(op) implies op.n == 1", always: true}
  calm: {check: "not handed(op)", always: true}
`, "holds 5"},
		{"partitions_keep_a_key", "a key stays in its partition, so its messages stay in order", `
operations: {op: {count: 2, k: same, n: [1, 2]}}
resources:
  l: {kind: log, partitions: 2, partition_by: k}
processes:
  a:
    on: {start: op, as: o, in_order: n}
    steps:
      - {send: l, message: {op: o, k: o.k, n: o.n}}
  w:
    on: {message: l, as: m}
    steps:
      - {commit_offset: l, effect: {e: m.op}}
promises:
  order: {check: "count(e, the op where n == 2) == 0 or count(e, the op where n == 1) > 0", always: true}
`, "holds"},
		{"log_delivered_twice", "deliveries of a log are counted too", `
operations: {op: 1}
resources:
  l: {kind: log, partitions: 1, starts_with: one per op}
processes:
  w:
    on: {message: l, as: m}
    steps:
      - {commit_offset: l, effect: {e: m.op}}
faults: {crash: 1}
promises:
  done: every op eventually has effect e
must_be_possible:
  - a message of l is delivered twice
`, "holds seen"},
	})
}
