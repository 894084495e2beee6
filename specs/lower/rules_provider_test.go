package lower_test

import "testing"

const charge = `
operations: {op: 1}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - {at: again, call: bank.charge, with: {key: o, op: o}, on_unknown: go again, on_refused: go refused}
      - stop: true
      - {at: refused, ask_human: o}
promises:
  once: effect e happens at most once per op
  done: every op eventually has effect e
`

func TestRulesProvider(t *testing.T) {
	runRules(t, []rule{
		{"no_dedup", "a repeated call without a key happens twice", `
resources: {bank: {kind: provider, charge: {effect: e, dedup_by: none}}}
faults: {response_lost: 1}
` + charge, "3 holds"},
		{"dedup", "with a key it happens once", `
resources: {bank: {kind: provider, charge: {effect: e, dedup_by: key}}}
faults: {response_lost: 1}
` + charge, "holds holds"},
		{"key_forgotten", "P: keys are kept for a time", `
durations: {day: 24h}
resources: {bank: {kind: provider, charge: {effect: e, dedup_by: key, keeps: day}}}
faults: {response_lost: 1}
` + charge, "4 holds"},
		{"key_not_reused", "R19: unless the spec assumes that no key is used again", `
durations: {day: 24h}
resources: {bank: {kind: provider, charge: {effect: e, dedup_by: key, keeps: day}}}
faults: {response_lost: 1}
assume: [key of bank.charge is never reused]
` + charge, "holds holds"},
		{"request_lost", "R23: a lost request was not done", `
resources: {bank: {kind: provider, charge: {effect: e, dedup_by: none}}}
faults: {request_lost: 1}
` + charge, "holds holds"},
		{"late_request", "R24: a request can be executed after its caller has given up on it", `
resources: {bank: {kind: provider, charge: {effect: e, dedup_by: none}, can_arrive_late: true}}
faults: {late_request: 1}
` + charge, "3 holds"},
		{"hidden_retry", "R: the layer below sends the same request again", `
resources: {bank: {kind: provider, charge: {effect: e, dedup_by: none}, hidden_retry: 1}}
operations: {op: 1}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - {call: bank.charge, with: {key: o, op: o}, on_unknown: ask_human}
faults: {response_lost: 1}
promises:
  once: effect e happens at most once per op
  calm: {check: "not handed(op)", always: true}
`, "3 holds"},
		{"not_atomic", "P: atomic: false looks the key up and executes in two steps", `
resources:
  bank: {kind: provider, charge: {effect: e, dedup_by: key, atomic: false}}
  q: {kind: queue, delivery: at_least_once, starts_with: two per op}
operations: {op: 1}
processes:
  a:
    instances: 2
    on: {message: q, as: m}
    steps:
      - {call: bank.charge, with: {key: m.op, op: m.op}}
      - {ack: m}
promises:
  once: effect e happens at most once per op
`, "6"},
		{"atomic", "and atomically in one", `
resources:
  bank: {kind: provider, charge: {effect: e, dedup_by: key}}
  q: {kind: queue, delivery: at_least_once, starts_with: two per op}
operations: {op: 1}
processes:
  a:
    instances: 2
    on: {message: q, as: m}
    steps:
      - {call: bank.charge, with: {key: m.op, op: m.op}}
      - {ack: m}
promises:
  once: effect e happens at most once per op
`, "holds"},
		{"compares", "P: the same key with another amount is refused", `
resources: {bank: {kind: provider, charge: {effect: e, dedup_by: key, compares: [amount]}}}
operations: {op: {count: 2, k: same, amount: [1, 2]}}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - {call: bank.charge, with: {key: o.k, amount: o.amount, op: o}, on_refused: go refused}
      - stop: true
      - {at: refused, ask_human: o}
promises:
  one: {check: "count(e) <= 1", always: true}
  told: {check: "count(e, op) == 0 implies handed(op)", finally: true}
`, "holds holds"},
		{"find_lag", "P: a find may answer none until the record is visible", `
resources: {bank: {kind: provider, charge: {effect: e, dedup_by: none}, find: {by: key, lag: true}}}
operations: {op: 1}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - {call: bank.charge, with: {key: o, op: o}}
      - {call: bank.find, with: {key: o}, as: r}
      - {go: end, when: r != none}
      - {ask_human: o}
promises:
  calm: {check: "not handed(op)", always: true}
`, "4"},
		{"find_sees", "and without lag it sees it at once", `
resources: {bank: {kind: provider, charge: {effect: e, dedup_by: none}, find: {by: key}}}
operations: {op: 1}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - {call: bank.charge, with: {key: o, op: o}}
      - {call: bank.find, with: {key: o}, as: r}
      - {go: end, when: r != none}
      - {ask_human: o}
promises:
  calm: {check: "not handed(op)", always: true}
`, "holds"},
		{"refund", "Z: a cancellation takes the effect back once", `
resources: {bank: {kind: provider, charge: {effect: e, dedup_by: none}, refund: {undo: e}}}
operations: {op: 1}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - {call: bank.charge, with: {op: o}}
      - {call: bank.refund, with: {op: o}}
promises:
  nothing: {check: "count(e) == 0", finally: true}
  once: effect e happens at most once per op
`, "holds holds"},
		{"call_in_block", "R40: a call inside a transaction is not undone by the rollback", `
resources:
  bank: {kind: provider, charge: {effect: e, dedup_by: none}}
  db: {kind: sql, isolation: read_committed, tables: {t: {unique: [op]}}}
operations: {op: 1}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - transaction: db
        do:
          - {insert: t, row: {op: o}, if_exists: stop}
          - {call: bank.charge, with: {op: o}}
          - stop: true
promises:
  ghost: no effect e without a row in t
`, "3"},
		{"receipt", "a find by receipt asks with what the call has answered", `
resources: {bank: {kind: provider, charge: {effect: e, dedup_by: none}, find: {by: receipt_id}}}
operations: {op: 1}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - {call: bank.charge, with: {op: o}, as: r, on_unknown: continue}
      - {call: bank.find, with: {receipt_id: r}, as: f}
      - {go: end, when: f != none}
      - {ask_human: o}
faults: {response_lost: 1}
promises:
  calm: {check: "not handed(op)", always: true}
`, "4"},
	})
}
