package lower_test

import "testing"

const replayed = `
operations: {op: 1}
durations: {keep: KEEP, horizon: 14d}
resources:
  db: {kind: sql, isolation: read_committed, tables: {inbox: {unique: [op], keeps: keep}}}
  q: {kind: queue, delivery: at_least_once, max_deliveries: 1, dead_letter: dead, starts_with: one per op}
  dead: {kind: queue, delivery: at_least_once, replay: {to: q, within: horizon}}
processes:
  w:
    on: {message: q, as: m}
    steps:
      - {insert: inbox, row: {op: m.op}, if_exists: stop, effect: {e: m.op}}
      - stop: true
faults: {operator_replay: {of: dead, max: 1}}
promises:
  once: effect e happens at most once per op
`

func TestRulesTime(t *testing.T) {
	runRules(t, []rule{
		{"retention_too_short", "R18: a shorter retention ends before the replay", replace(replayed, "KEEP", "7d"), "6"},
		{"retention_long_enough", "R18: a longer one that started no earlier does not", replace(replayed, "KEEP", "15d"), "holds"},
		{"assumed_order", "R19: or by assumption", replace(replayed, "KEEP", "7d") + "assume: [horizon < keep]\n", "holds"},
		{"age", "T: age(x) > D once a timer of that length has fired", `
operations: {op: 1}
durations: {day: 24h}
resources: {k: {kind: kv}}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - {let: {key: fresh()}}
      - {put: k, key: key}
      - {go: late, when: age(key) > day}
      - stop: true
      - {at: late, ask_human: o}
promises:
  calm: {check: "not handed(op)", always: true}
`, "3"},
		{"slow_step", "D: timers may fire while a run stands before a slow step", `
operations: {op: 1}
resources:
  q: {kind: queue, delivery: at_least_once, visibility: {lasts: 1h, renewed: false}, starts_with: one per op}
  k: {kind: kv}
processes:
  w:
    instances: 2
    on: {message: q, as: m}
    steps:
      - {put: k, key: m.op, slow: true, effect: {e: m.op}}
      - {ack: m}
promises:
  once: effect e happens at most once per op
`, "5"},
		{"slow_renewed", "D: not if the holder renews", `
operations: {op: 1}
resources:
  q: {kind: queue, delivery: at_least_once, visibility: {lasts: 1h, renewed: true}, starts_with: one per op}
  k: {kind: kv}
processes:
  w:
    instances: 2
    on: {message: q, as: m}
    steps:
      - {put: k, key: m.op, slow: true, effect: {e: m.op}}
      - {ack: m}
promises:
  once: effect e happens at most once per op
`, "holds"},
		{"clock_sum", "kind: clock judges sums: a key kept for 24 h forgets before the attempt after three days", `
operations: {op: 1}
durations: {keep: 24h, pause: 3d}
resources:
  time: {kind: clock, at: [24h, 3d]}
  bank: {kind: provider, charge: {effect: e, dedup_by: key, keeps: keep}}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - {let: {key: fresh()}}
      - {call: bank.charge, with: {key: key, op: o}, on_unknown: go wait}
      - stop: true
      - {at: wait, call: bank.charge, with: {key: key, op: o}, on_unknown: stop}
faults: {response_lost: 1}
promises:
  once: effect e happens at most once per op
`, "5"},
		{"clock_long_enough", "and one kept for longer than the clock runs does not", `
operations: {op: 1}
durations: {keep: 7d}
resources:
  time: {kind: clock, at: [24h, 3d]}
  bank: {kind: provider, charge: {effect: e, dedup_by: key, keeps: keep}}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - {let: {key: fresh()}}
      - {call: bank.charge, with: {key: key, op: o}, on_unknown: go wait}
      - stop: true
      - {at: wait, call: bank.charge, with: {key: key, op: o}, on_unknown: stop}
faults: {response_lost: 1}
promises:
  once: effect e happens at most once per op
`, "holds"},
		{"log_batch", "batch: an offset committed for the first message of a batch is behind it, not behind the batch", `
operations: {op: 2}
resources:
  l: {kind: log, partitions: 1, starts_with: one per op}
  k: {kind: kv}
processes:
  w:
    on: {message: l, batch: 2, as: m}
    steps:
      - {put: k, key: m.op, effect: {e: m.op}}
      - {commit_offset: l}
faults: {crash: 1}
promises:
  once: effect e happens at most once per op
  done: every op eventually has effect e
`, "broken holds"},
		{"log_batch_last", "m.last is true for the last message of a batch, however many it has", `
operations: {op: 3}
resources:
  l: {kind: log, partitions: 1, starts_with: one per op}
  k: {kind: kv}
processes:
  w:
    on: {message: l, batch: 2, as: m}
    steps:
      - {put: k, key: m.op, value: m.last}
      - {go: end, when: not m.last}
      - {commit_offset: l, up_to: m}
promises:
  two: {check: "count(k where value == true) == 2", finally: true}
  three: {check: "count(k where value == true) == 3", finally: true}
must_be_possible:
  - {reach: "count(k where value == false) == 1"}
`, "holds broken seen"},
		{"log_message_last", "and for every message that comes alone, of a log or a queue", `
operations: {op: 2}
resources:
  l: {kind: log, partitions: 1, starts_with: one per op}
  k: {kind: kv}
  q: {kind: queue}
processes:
  w:
    on: {message: l, as: m}
    steps:
      - {put: k, key: m.op, value: m.last}
      - {send: q, message: {op: m.op}}
      - {commit_offset: l, up_to: m}
  v:
    on: {message: q, as: n}
    steps:
      - {put: k, key: hash(n.op), value: n.last}
      - {ack: n}
promises:
  never: {check: "count(k where value == false) == 0", always: true}
  each: {check: "count(k where value == true) == 4", finally: true}
`, "holds holds"},
		{"log_offset", "m.offset is the place of the message in its partition", `
operations: {op: {count: 3, n: [1, 2, 3]}}
resources:
  l: {kind: log, partitions: 1, starts_with: one per op}
  k: {kind: kv}
processes:
  w:
    on: {message: l, as: m}
    steps:
      - {put: k, key: m.offset, value: m.op}
      - {commit_offset: l, up_to: m}
promises:
  each: {check: "count(k) == 3", finally: true}
`, "holds"},
	})
}
