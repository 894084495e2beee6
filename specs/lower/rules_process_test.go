package lower_test

import "testing"

func TestRulesProcess(t *testing.T) {
	runRules(t, []rule{
		{"request_without_reply", "R20: in a process without reply the end of the run answers ok", `
operations: {op: 1}
resources: {k: {kind: kv}}
processes:
  a:
    on: {request: op, as: o}
    steps:
      - {put: k, key: o, effect: {e: o}}
promises:
  answered: every op is eventually answered ok
  once: effect e happens at most once per op
`, "holds holds"},
		{"request_with_reply", "R20: in a process with a reply, ending without one is no answer: the client repeats", `
operations: {op: 1}
resources: {k: {kind: kv}}
processes:
  a:
    on: {request: op, as: o}
    steps:
      - {put: k, key: o, if_absent: true, if_exists: go again, effect: {e: o}}
      - stop: true
      - {at: again, reply: ok}
promises:
  answered: every op is eventually answered ok
  first: no op is answered ok before effect e
`, "holds holds"},
		{"try_later", "R21: try_later does not close the request", `
operations: {op: 1}
resources: {k: {kind: kv}}
processes:
  a:
    on: {request: op, as: o}
    steps:
      - {put: k, key: o, if_absent: true, if_exists: go again}
      - {reply: try_later}
      - stop: true
      - {at: again, reply: ok}
promises:
  answered: every op is eventually answered ok
`, "holds"},
		{"tries", "R20: a client that gives up may never be answered", `
operations: {op: 1}
resources: {k: {kind: kv}}
processes:
  a:
    on: {request: op, as: o, tries: 1}
    steps:
      - {put: k, key: o, if_absent: true, if_exists: go again}
      - {reply: try_later}
      - stop: true
      - {at: again, reply: ok}
promises:
  answered: every op is eventually answered ok
`, "3"},
		{"one_attempt_at_a_time", "R20: copies is 1 by default: a client does not race with itself", `
operations: {op: 1}
resources: {k: {kind: kv}, l: {kind: kv}}
processes:
  a:
    instances: 2
    on: {request: op, as: o}
    steps:
      - {get: k, key: o, as: r}
      - {go: done, when: r != none}
      - {put: l, key: o, effect: {e: o}}
      - {put: k, key: o}
      - {at: done, reply: ok}
promises:
  once: effect e happens at most once per op
`, "holds"},
		{"two_attempts", "with copies: 2 it does", `
operations: {op: 1}
resources: {k: {kind: kv}, l: {kind: kv}}
processes:
  a:
    instances: 2
    on: {request: op, as: o, copies: 2}
    steps:
      - {get: k, key: o, as: r}
      - {go: done, when: r != none}
      - {put: l, key: o, effect: {e: o}}
      - {put: k, key: o}
      - {at: done, reply: ok}
promises:
  once: effect e happens at most once per op
`, "6"},
		{"start_not_durable", "S, R30: a start that crashed is not started again, and still owes", `
operations: {op: 1}
resources: {k: {kind: kv}}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - {put: k, key: o, effect: {e: o}}
faults: {crash: 1}
promises:
  done: every op eventually has effect e
`, "2"},
		{"start_durable", "S: a durable one is", `
operations: {op: 1}
resources: {k: {kind: kv}}
processes:
  a:
    on: {start: op, as: o, durable: true}
    steps:
      - {put: k, key: o, effect: {e: o}}
faults: {crash: 1}
promises:
  done: every op eventually has effect e
`, "holds"},
		{"custom_fault", "S: a run that the environment starts, once per unit", `
operations: {op: 1}
resources: {k: {kind: kv}}
initially: {k: [{key: 'up', value: 1}]}
processes:
  chaos:
    on: {fault: cut}
    steps:
      - {remove: k, key: 'up'}
  a:
    on: {start: op, as: o}
    steps:
      - {get: k, key: 'up', as: u}
      - {go: end, when: u == none}
      - {ask_human: o}
faults: {cut: 1}
promises:
  handed: {check: "handed(op)", eventually: true}
`, "broken"},
		{"counted_retry", "R25: retry N runs the step at most N more times", `
operations: {op: 1}
resources: {bank: {kind: provider, pay: {effect: e, dedup_by: none}}}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - {call: bank.pay, with: {op: o}, on_unknown: retry 1}
faults: {request_lost: 2}
promises:
  done: every op eventually has effect e
`, "3"},
		{"retry_suffices", "R25: and with as many attempts as faults it succeeds", `
operations: {op: 1}
resources: {bank: {kind: provider, pay: {effect: e, dedup_by: none}}}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - {call: bank.pay, with: {op: o}, on_unknown: retry 2}
faults: {request_lost: 2}
promises:
  done: every op eventually has effect e
`, "holds"},
		{"ask_human_branch", "R25: ask_human as a branch hands over the trigger's operation, then stops", `
operations: {op: 1}
resources: {bank: {kind: provider, pay: {effect: e, dedup_by: none}}}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - {call: bank.pay, with: {op: o}, on_unknown: ask_human}
faults: {request_lost: 1}
promises:
  done: every op eventually has effect e or is handed to a human
  alone: every op eventually has effect e
`, "holds 2"},
		{"local_steps_are_fused", "R6: go, let and the end are no steps: no crash between them", `
operations: {op: 1}
resources: {k: {kind: kv}}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - {let: {n: 0 .. 2}}
      - {at: again, put: k, key: o}
      - {let: {n: n + 1}}
      - {go: again, when: n < 2}
      - {ask_human: o}
promises:
  calm: {check: "not handed(op)", always: true}
`, "4"},
		{"range_left", "N, R33: leaving a named range is unknown, never wrapped", `
operations: {op: 1}
resources: {k: {kind: kv}}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - {let: {n: 0 .. 2}}
      - {at: again, put: k, key: o}
      - {let: {n: n + 1}}
      - {go: again}
promises:
  done: {check: "handed(op)", eventually: true}
`, "unknown"},
		{"choose_is_not_fair", "A: choose may always take one side", `
operations: {op: 1}
resources: {k: {kind: kv}}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - {at: again, put: k, key: o}
      - {choose: [again, hand]}
      - {at: hand, ask_human: o}
promises:
  handed: {check: "handed(op)", eventually: true}
`, "broken"},
		{"choose_fair", "A: unless fair: true", `
operations: {op: 1}
resources: {k: {kind: kv}}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - {at: again, put: k, key: o}
      - {choose: [again, hand], fair: true}
      - {at: hand, ask_human: o}
promises:
  handed: {check: "handed(op)", eventually: true}
`, "holds"},
		{"row_trigger_is_a_copy", "R29: two instances may take one row, and the copy gets old", `
operations: {op: 1}
resources: {db: {kind: sql, isolation: read_committed, tables: {t: {unique: [op]}}}}
initially: {t: [{op: each op, s: NEW}]}
processes:
  a:
    instances: 2
    on: {row: t, where: {s: NEW}, as: r}
    steps:
      - {update: t, where: {op: r.op}, set: {s: DONE}, effect: {e: r.op}}
promises:
  once: effect e happens at most once per op
`, "4"},
		{"row_trigger_fair_per_row", "R28: row triggers without order are fair per row", `
operations: {op: 2}
resources: {db: {kind: sql, isolation: read_committed, tables: {t: {unique: [op]}}}, k: {kind: kv}}
initially: {t: [{op: each op, s: NEW}]}
processes:
  a:
    on: {row: t, where: {s: NEW}, as: r}
    steps:
      - {put: k, key: r.op, effect: {e: r.op}}
promises:
  done: every op eventually has effect e
`, "holds"},
		{"row_trigger_ordered_starves", "R28: with order_by only the first row is offered", `
operations: {op: {count: 2, n: [1, 2]}}
resources: {db: {kind: sql, isolation: read_committed, tables: {t: {unique: [op]}}}, k: {kind: kv}}
initially: {t: [{op: each op, n: op.n, s: NEW}]}
processes:
  a:
    on: {row: t, where: {s: NEW}, order_by: n, as: r}
    steps:
      - {put: k, key: r.op, effect: {e: r.op}}
promises:
  done: every op eventually has effect e
`, "broken"},
		{"my_run", "G: my_run differs from run to run of one instance", `
operations: {op: 1}
resources: {k: {kind: kv}, q: {kind: queue, delivery: at_least_once, starts_with: two per op}}
processes:
  a:
    on: {message: q, as: m}
    steps:
      - {get: k, key: 'run', as: r}
      - {go: same, when: r == my_run}
      - {put: k, key: 'run', value: my_run}
      - {ack: m}
      - stop: true
      - {at: same, ask_human: m.op}
promises:
  calm: {check: "not handed(op)", always: true}
`, "holds"},
		{"spent", "B: spent(crash) counts the units used", `
operations: {op: 1}
resources: {k: {kind: kv}, q: {kind: queue, delivery: at_least_once, starts_with: one per op}}
processes:
  a:
    on: {message: q, as: m}
    steps:
      - {put: k, key: m.op, effect: {e: m.op}}
      - {ack: m}
faults: {crash: 2}
promises:
  bound: effect e happens at most 1 times per op plus one per crash
  once: effect e happens at most once per op
`, "holds 5"},
		{"any_field", "O: any is one initial state per choice", `
operations:
  op:
    count: 1
    amount: any [1, 2]
resources: {k: {kind: kv}}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - {put: k, key: o}
      - {go: end, when: o.amount == 1}
      - {ask_human: o}
promises:
  one: {check: "not handed(op)", always: true}
  two: {check: "handed(op)", eventually: true}
`, "3 2"},
		{"error_fault", "E: a definite failure does nothing and the caller knows", `
operations: {op: 1}
resources: {k: {kind: kv}}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - {put: k, key: o, on_error: go failed, effect: {e: o}}
      - stop: true
      - {at: failed, ask_human: o}
faults: {error: {of: [k], max: 1}}
promises:
  nothing: {check: "handed(op) implies count(e, op) == 0", always: true}
  done: every op eventually has effect e
`, "holds 3"},
		{"waiting_is_no_step", "R3: a crash can hit a waiting worker", `
operations: {op: 1}
resources: {db: {kind: sql, isolation: read_committed, tables: {t: {unique: [k]}}}}
initially: {t: [{k: A, v: 0}]}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - transaction: db
        do:
          - {update: t, where: {k: A}, set: {v: 1}, effect: {e: o}}
  b:
    on: {poll: true}
    steps:
      - transaction: db
        do:
          - {update: t, where: {k: A}, set: {v: 2}}
promises:
  done: every op eventually has effect e
`, "holds"},
	})
}
