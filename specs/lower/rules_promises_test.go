package lower_test

import "testing"

func TestRulesPromises(t *testing.T) {
	runRules(t, []rule{
		{"same_answer", "a repeated request gets the same answer", `
operations: {op: 1}
resources: {k: {kind: kv}}
processes:
  a:
    on: {request: op, as: o}
    steps:
      - {put: k, key: o, if_absent: true, if_exists: reply refused}
      - {reply: ok}
faults: {response_lost: 1}
promises:
  same: a repeated request gets the same answer
`, "broken"},
		{"same_answer_saved", "and does with a saved result", `
operations: {op: 1}
resources: {k: {kind: kv}}
processes:
  a:
    on: {request: op, as: o}
    steps:
      - {put: k, key: o, value: DONE, if_absent: true, if_exists: continue}
      - {get: k, key: o, as: r}
      - {reply: ok, body: r}
faults: {response_lost: 1}
promises:
  same: a repeated request gets the same answer
`, "holds"},
		{"rows_eventually_sent", "every row is eventually sent: a send before the mark", `
operations: {op: 1}
resources:
  db: {kind: sql, isolation: read_committed, tables: {outbox: {unique: [op]}}}
  q: {kind: queue, delivery: at_least_once}
initially: {outbox: [{op: each op, s: NEW}]}
processes:
  relay:
    on: {row: outbox, where: {s: NEW}, as: r}
    steps:
      - {update: outbox, where: {op: r.op, s: NEW}, set: {s: SENT}, if_none: stop}
      - {send: q, message: {op: r.op}}
faults: {crash: 1}
promises:
  sent: every row of outbox is eventually sent to q
`, "3"},
		{"ghost_message", "no message without a row", `
operations: {op: 1}
resources:
  db: {kind: sql, isolation: read_committed, tables: {t: {unique: [op]}}}
  q: {kind: queue, delivery: at_least_once}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - {send: q, message: {op: o}}
      - {insert: t, row: {op: o}, if_exists: stop}
promises:
  ghost: no message of q without a row in t
`, "2"},
		{"ghost_effect", "no effect without a row", `
operations: {op: 1}
resources:
  db: {kind: sql, isolation: read_committed, tables: {t: {unique: [op]}}}
  k: {kind: kv}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - {put: k, key: o, effect: {e: o}}
      - {insert: t, row: {op: o}, if_exists: stop}
promises:
  ghost: no effect e without a row in t
`, "2"},
		{"decided", "S leads to not S: a state left behind by a crash", `
operations: {op: 1}
resources: {db: {kind: sql, isolation: read_committed, tables: {t: {unique: [op]}}}}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - {insert: t, row: {op: o, state: UNKNOWN}, if_exists: stop}
      - {update: t, where: {op: o}, set: {state: DONE}}
faults: {crash: 1}
promises:
  decided: every row of t in state UNKNOWN is eventually decided or handed to a human
`, "3"},
		{"newest_token", "fencing: an old holder writes after a new one has claimed", `
operations: {op: 1}
resources: {db: {kind: sql, isolation: read_committed, tables: {t: {unique: [op], token: v}}}}
initially: {t: [{op: each op, v: 0, x: none}]}
processes:
  a:
    instances: 2
    on: {row: t, as: r}
    steps:
      - {update: t, where: {op: r.op, v: r.v}, set: {v: r.v + 1}, if_none: stop}
      - {update: t, where: {op: r.op}, set: {x: me}}
      - {ask_human: r.op}
promises:
  fence: only the holder of the newest token writes t
`, "broken"},
		{"exposure", "at most N operations in a state at once", `
operations: {op: 2}
resources: {db: {kind: sql, isolation: read_committed, tables: {t: {unique: [op]}}}}
processes:
  a:
    instances: 2
    on: {start: op, as: o}
    steps:
      - {insert: t, row: {op: o, state: UNKNOWN}, if_exists: stop}
      - {update: t, where: {op: o}, set: {state: DONE}}
promises:
  one: at most 1 op are UNKNOWN at once
  two: at most 2 op are UNKNOWN at once
`, "4 holds"},
		{"can_complete", "AG EF: a state from which nothing can be completed", `
operations: {op: 1}
resources: {k: {kind: kv}}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - {put: k, key: o, if_absent: true, if_exists: stop, effect: {e: o}}
faults: {crash: 1}
promises:
  can: from every state op can still be completed
`, "2"},
		{"finally", "M7: at rest", `
operations: {op: 1}
resources: {k: {kind: kv}}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - {put: k, key: 'x', value: 1}
      - {put: k, key: 'x', value: 2}
promises:
  rest: at rest, exists(k where value == 2)
  wrong: at rest, exists(k where value == 1)
`, "holds 3"},
		{"leads_to", "leads_to: from a state on", `
operations: {op: 1}
resources: {k: {kind: kv}}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - {put: k, key: 'x', value: 1}
      - {put: k, key: 'x', value: 2}
faults: {crash: 1}
promises:
  leads: {check: "exists(k where value == 1)", leads_to: "exists(k where value == 2)"}
`, "3"},
		{"between", "M6: workers between two steps, per group", `
operations: {op: 2}
resources: {k: {kind: kv}, l: {kind: kv}}
processes:
  a:
    instances: 2
    on: {start: op, as: o}
    steps:
      - {at: from, put: k, key: o}
      - {at: to, put: l, key: o}
promises:
  one: at most 1 a is between from and to at once
  per: at most 1 a is between from and to per o at once
`, "4 holds"},
		{"never_decreases", "M10: a committed value goes down", `
operations: {op: 1}
resources: {db: {kind: sql, isolation: read_committed, tables: {t: {unique: [k]}}}}
initially: {t: [{k: A, v: 2}]}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - {update: t, where: {k: A}, set: {v: 3}}
      - {update: t, where: {k: A}, set: {v: 1}}
promises:
  up: t.v never decreases
`, "3"},
		{"nothing_stays", "M11: a lock that stays once its operation is over", `
operations: {op: 1}
resources: {db: {kind: sql, isolation: read_committed, tables: {t: {unique: [op]}}}}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - {insert: t, row: {op: o, state: HELD}, if_exists: stop}
promises:
  free: nothing of t stays in state HELD once op is over
`, "broken"},
		{"read_your_writes", "M9: a replica that lags", `
operations: {op: 1}
resources: {db: {kind: sql, isolation: read_committed, replica: {lag: 1}, tables: {t: {unique: [op]}}}}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - {insert: t, row: {op: o, v: 1}, if_exists: stop}
      - {select: t, from: replica, where: {op: o}, as: r}
promises:
  own: a reads its own writes of t
`, "3"},
		{"at_least", "Y: at_least waits until the replica has applied the position", `
operations: {op: 1}
resources: {db: {kind: sql, isolation: read_committed, replica: {lag: 1}, tables: {t: {unique: [op]}}}}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - {insert: t, row: {op: o, v: 1}, if_exists: stop, position: p}
      - {select: t, from: replica, at_least: p, where: {op: o}, as: r}
promises:
  own: a reads its own writes of t
`, "holds"},
		{"waiting", "M6: a message waits until a run receives it", `
operations: {op: 2}
resources:
  q: {kind: queue, starts_with: one per op}
  later: {kind: queue}
processes:
  w:
    on: {message: q, as: m}
    steps:
      - {send: later, message: {op: m.op}}
      - {ack: m}
  v:
    on: {message: later, as: n}
    steps:
      - {ask_human: n.op}
      - {nack: n}
promises:
  two: at most 2 messages of q are waiting at once
  one: at most 1 messages of q are waiting at once
  later: at most 1 messages of later are waiting at once
`, "holds 0 5"},
		{"undone_twice", "Z: an effect taken back more often than it happened breaks its promise", `
operations: {op: 1}
resources: {k: {kind: kv}}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - {put: k, key: o, effect: {e: o}}
      - {put: k, key: o, undo: {e: o}}
      - {put: k, key: o, undo: {e: o}}
promises:
  once: effect e happens at most once per op
`, "4"},
		{"effects_in_order", "effects out of the order of a column", `
operations: {op: {count: 2, n: [1, 2]}}
resources: {db: {kind: sql, isolation: read_committed, tables: {t: {unique: [op]}}}}
processes:
  a:
    instances: 2
    on: {start: op, as: o}
    steps:
      - {insert: t, row: {op: o, n: o.n}, if_exists: stop, effect: {e: o}}
promises:
  order: effects of t happen in order of n
`, "4"},
		{"waiting_per", "M6: waiting messages per field", `
operations: {op: {count: 2, k: same}}
resources: {q: {kind: queue, delivery: at_least_once}}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - {send: q, message: {op: o, k: o.k}}
promises:
  one: at most 1 message of q is waiting per k
`, "4"},
		{"exactly_once", "at most once and eventually", `
operations: {op: 1}
resources: {k: {kind: kv}, q: {kind: queue, delivery: at_least_once, starts_with: one per op}}
processes:
  a:
    on: {message: q, as: m}
    steps:
      - {put: k, key: m.op, if_absent: true, if_exists: go ack, effect: {e: m.op}}
      - {at: ack, ack: m}
faults: {crash: 1, redelivery: 1}
promises:
  exact: effect e happens exactly once per op
`, "holds"},
		{"possible", "must_be_possible: what cannot be reached is vacuous", `
operations: {op: 1}
resources: {k: {kind: kv}, q: {kind: queue, delivery: at_least_once, starts_with: one per op}}
processes:
  a:
    on: {message: q, as: m}
    steps:
      - {put: k, key: m.op, if_absent: true, if_exists: go ack, effect: {e: m.op}}
      - {at: ack, ack: m}
promises:
  once: effect e happens at most once per op
must_be_possible:
  - a message of q is delivered twice
  - effect e happens for every op
  - step ack of a is taken
`, "holds unseen seen seen"},
	})
}
