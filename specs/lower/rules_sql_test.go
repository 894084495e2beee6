package lower_test

import "testing"

func TestRulesSQL(t *testing.T) {
	runRules(t, []rule{
		{"deleted_and_inserted", "a row that a transaction deletes and inserts again is there, with its new values", `
operations: {op: 1}
resources:
  db: {kind: sql, isolation: read_committed, tables: {t: {unique: [k], columns: {k: [A], s: [NEW, OLD, DONE]}}}}
initially: {t: [{k: A, s: OLD}]}
processes:
  w:
    on: {start: op, as: o}
    steps:
      - transaction: db
        do:
          - {delete: t, where: {k: A}}
          - {insert: t, row: {k: A, s: NEW}, if_exists: stop}
          - {update: t, where: {s: NEW}, set: {s: DONE}, if_none: stop}
      - {ask_human: o}
faults: {crash: 1}
promises:
  there: {check: "count(t) == 1", always: true}
  done: {check: "handed(op) implies exists(t where s == DONE)", always: true}
  kept: {check: "exists(t where s == DONE) or exists(t where s == OLD)", always: true}
`, "holds holds holds"},
		{"waiting_insert", "R3, R4: the second insert of a key waits for the first transaction and takes if_exists after its commit", `
operations: {op: 1}
resources:
  db: {kind: sql, isolation: read_committed, tables: {t: {unique: [op]}}}
  q: {kind: queue, delivery: at_least_once, starts_with: two per op}
processes:
  w:
    instances: 2
    on: {message: q, as: m}
    steps:
      - transaction: db
        do:
          - {insert: t, row: {op: m.op}, if_exists: go dup, effect: {e: m.op}}
          - {select: t, where: {op: m.op}, as: r}
      - {ack: m}
      - stop: true
      - {at: dup, ack: m}
promises:
  once: effect e happens at most once per op
  done: every op eventually has effect e
must_be_possible:
  - step dup of w is taken
`, "holds holds seen"},
		{"rollback_frees_key", "R4: a waiting insert inserts if the other transaction rolled back", `
operations: {op: 1}
resources:
  db: {kind: sql, isolation: read_committed, tables: {t: {unique: [op]}}}
  q: {kind: queue, delivery: at_least_once, starts_with: one per op}
processes:
  w:
    instances: 1
    on: {message: q, as: m}
    steps:
      - transaction: db
        do:
          - {insert: t, row: {op: m.op}, if_exists: go ack, effect: {e: m.op}}
      - {at: ack, ack: m}
faults: {crash: 1}
promises:
  done: every op eventually has effect e
  acked: no message of q is acked before effect e
`, "holds holds"},
		{"uncommitted_is_invisible", "read committed: a plain select never sees an uncommitted row, and never waits", `
operations: {op: 1}
resources:
  db: {kind: sql, isolation: read_committed, tables: {t: {}}}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - transaction: db
        do:
          - {insert: t, row: {op: o}}
          - {choose: [undo, keep]}
          - {at: undo, stop: true}
          - {at: keep, let: {k: true}}
  b:
    on: {poll: true}
    steps:
      - {select: t, as: r}
      - {go: end, when: r == none}
      - {ask_human: r.op}
promises:
  seen: {check: "handed(op) implies exists(t)", always: true}
`, "holds"},
		{"own_write_is_visible", "a transaction reads what it has written", `
operations: {op: 1}
resources:
  db: {kind: sql, isolation: read_committed, tables: {t: {unique: [op]}}}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - transaction: db
        do:
          - {insert: t, row: {op: o, s: NEW}, if_exists: stop}
          - {update: t, where: {op: o}, set: {s: OLD}}
          - {select: t, where: {op: o}, as: r}
          - {go: end, when: r.s == NEW}
          - {insert: t, row: {op: none, s: X}, if_exists: continue, effect: {e: o}}
promises:
  done: every op eventually has effect e
`, "holds"},
		{"jump_out_rolls_back", "R7: a jump out of the block undoes it, effects included", `
operations: {op: 1}
resources:
  db: {kind: sql, isolation: read_committed, tables: {t: {unique: [op]}}}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - transaction: db
        do:
          - {insert: t, row: {op: o}, if_exists: stop, effect: {e: o}}
          - {go: out}
      - {at: out, stop: true}
promises:
  never: {check: "count(e) == 0", always: true}
  norow: {check: "not exists(t)", always: true}
`, "holds holds"},
		{"commit_branch", "X: commit LABEL commits here, then jumps", `
operations: {op: 1}
resources:
  db: {kind: sql, isolation: read_committed, tables: {t: {unique: [op]}}}
initially: {t: [{op: each op}]}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - transaction: db
        do:
          - {insert: t, row: {op: none}}
          - {insert: t, row: {op: o}, if_exists: commit out}
      - {at: out, stop: true}
promises:
  kept: {check: "count(t) >= 2", eventually: true}
`, "holds"},
		{"two_keys", "R8: unique: [a, b] is two constraints, {columns: [a, b]} one", `
operations: {op: {count: 2, k: same, n: [1, 2]}}
resources:
  db: {kind: sql, isolation: read_committed, tables: {one: {unique: [{columns: [k, n]}]}, two: {unique: [k, n]}}}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - {insert: one, row: {k: o.k, n: o.n}, if_exists: stop, effect: {e: o}}
      - {insert: two, row: {k: o.k, n: o.n}, if_exists: stop, effect: {f: o}}
promises:
  one: every op eventually has effect e
  two: every op eventually has effect f
`, "holds broken"},
		{"none_never_conflicts", "R8: none does not conflict with none", `
operations: {op: 2}
resources:
  db: {kind: sql, isolation: read_committed, tables: {t: {unique: [k]}}}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - {insert: t, row: {k: none, op: o}, if_exists: stop, effect: {e: o}}
promises:
  both: every op eventually has effect e
`, "holds"},
		{"deadlock_victim", "R5: two transactions that lock in opposite order: one is rolled back and the other goes on", `
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
`, "6"},
		{"no_deadlock_same_order", "R5: the same order of locks never deadlocks", `
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
          - {update: t, where: {k: A}, set: {v: 0}}
          - {update: t, where: {k: B}, set: {v: 0}}
promises:
  free: {check: "not handed(op)", always: true}
`, "holds"},
		{"lock_timeout", "R5: lock_timeout lets a waiting step take on_error", `
operations: {op: 1}
resources:
  db: {kind: sql, isolation: read_committed, tables: {t: {unique: [k]}}}
initially: {t: [{k: A, v: 0}]}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - {update: t, where: {k: A}, set: {v: 1}, on_error: go late}
      - stop: true
      - {at: late, ask_human: o}
  b:
    on: {poll: true}
    steps:
      - transaction: db
        do:
          - {update: t, where: {k: A}, set: {v: 0}}
faults: {lock_timeout: 1}
promises:
  free: {check: "not handed(op)", always: true}
`, "5"},
		{"skip_locked", "R5: skip_locked takes the next row instead of waiting", `
operations: {job: {count: 2, n: [1, 2]}}
resources:
  db: {kind: sql, isolation: read_committed, tables: {t: {unique: [op]}}}
initially: {t: [{op: each job, n: job.n, s: NEW}]}
processes:
  w:
    instances: 2
    on: {poll: true}
    steps:
      - transaction: db
        do:
          - {select: t, where: {s: NEW}, order_by: n, lock: true, skip_locked: true, as: r}
          - {go: end, when: r == none}
          - {update: t, where: {op: r.op}, set: {s: DONE}, effect: {e: r.op}}
promises:
  first: {check: "count(e, the job where n == 2) == 0 or count(e, the job where n == 1) > 0", always: true}
  once: effect e happens at most once per job
  every: every job eventually has effect e
`, "6 holds holds"},
		{"repeatable_read_stale", "R4: under repeatable read the second plain select gives what the first gave", `
operations: {op: 1}
resources:
  db: {kind: sql, isolation: repeatable_read, tables: {t: {unique: [k]}}}
initially: {t: [{k: A, v: 0}]}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - transaction: db
        do:
          - {select: t, where: {k: A}, as: x}
          - {select: t, where: {k: A}, as: y}
          - {go: differs, when: x.v != y.v}
      - stop: true
      - {at: differs, ask_human: o}
  b:
    on: {poll: true}
    steps:
      - {update: t, where: {k: A}, set: {v: 1}}
promises:
  stable: {check: "not handed(op)", always: true}
`, "holds"},
		{"read_committed_moves", "and under read committed it does not", `
operations: {op: 1}
resources:
  db: {kind: sql, isolation: read_committed, tables: {t: {unique: [k]}}}
initially: {t: [{k: A, v: 0}]}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - transaction: db
        do:
          - {select: t, where: {k: A}, as: x}
          - {select: t, where: {k: A}, as: y}
          - {go: differs, when: x.v != y.v}
      - stop: true
      - {at: differs, ask_human: o}
  b:
    on: {poll: true}
    steps:
      - {update: t, where: {k: A}, set: {v: 1}}
promises:
  stable: {check: "not handed(op)", always: true}
`, "6"},
		{"lost_update_postgres", "R4: a row changed since the snapshot is a serialization error in postgres", `
operations: {op: 2}
resources:
  db: {kind: sql, isolation: repeatable_read, engine: postgres, tables: {t: {unique: [k]}}}
initially: {t: [{k: A, v: 0}]}
processes:
  a:
    instances: 2
    on: {start: op, as: o}
    steps:
      - transaction: db
        on_error: retry
        do:
          - {select: t, where: {k: A}, as: x}
          - {update: t, where: {k: A}, set: {v: x.v + 1}}
promises:
  sum: {check: "exists(t where v == 2)", finally: true}
`, "holds"},
		{"lost_update_mysql", "R4: the mysql profile writes on the newest version: the update is lost", `
operations: {op: 2}
resources:
  db: {kind: sql, isolation: repeatable_read, engine: mysql, tables: {t: {unique: [k]}}}
initially: {t: [{k: A, v: 0}]}
processes:
  a:
    instances: 2
    on: {start: op, as: o}
    steps:
      - transaction: db
        on_error: retry
        do:
          - {select: t, where: {k: A}, as: x}
          - {update: t, where: {k: A}, set: {v: x.v + 1}}
promises:
  sum: {check: "exists(t where v == 2)", finally: true}
`, "8"},
		{"write_skew", "serializable: a commit fails unless every read gives the same rows now", `
operations: {op: 2}
resources:
  db: {kind: sql, isolation: serializable, tables: {t: {}}}
processes:
  a:
    instances: 2
    on: {start: op, as: o}
    steps:
      - transaction: db
        on_error: retry
        do:
          - {select: t, count: true, as: n}
          - {go: end, when: n > 0}
          - {insert: t, row: {op: o}}
promises:
  one: {check: "count(t) <= 1", always: true}
`, "holds"},
		{"write_skew_rc", "read committed lets both insert", `
operations: {op: 2}
resources:
  db: {kind: sql, isolation: read_committed, tables: {t: {}}}
processes:
  a:
    instances: 2
    on: {start: op, as: o}
    steps:
      - transaction: db
        on_error: retry
        do:
          - {select: t, count: true, as: n}
          - {go: end, when: n > 0}
          - {insert: t, row: {op: o}}
promises:
  one: {check: "count(t) <= 1", always: true}
`, "8"},
		{"lost_commit_both_worlds", "R23: a lost commit is committed in one world and not in the other", `
operations: {op: 1}
resources:
  db: {kind: sql, isolation: read_committed, tables: {t: {unique: [op]}}}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - transaction: db
        on_unknown: go lost
        do:
          - {insert: t, row: {op: o}, if_exists: stop}
      - stop: true
      - {at: lost, ask_human: o}
faults: {response_lost: 1}
promises:
  always_there: {check: "handed(op) implies exists(t)", always: true}
  never_there: {check: "not (handed(op) and exists(t))", always: true}
`, "4 4"},
		{"statement_in_block_is_not_lost", "R23: statements inside a block lose no answer of their own", `
operations: {op: 1}
resources:
  db: {kind: sql, isolation: read_committed, tables: {t: {unique: [op]}, u: {unique: [op]}}}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - transaction: db
        on_unknown: continue
        do:
          - {insert: t, row: {op: o}, if_exists: stop}
          - {insert: u, row: {op: o}, if_exists: stop}
faults: {response_lost: 1}
promises:
  both: {check: "exists(t) implies exists(u)", always: true}
`, "holds"},
		{"lease_of_dead_holder", "R16: the lease of a run that has ended expires for free", `
operations: {job: 1}
resources:
  db:
    kind: sql
    isolation: read_committed
    tables: {t: {unique: [op], lease: {while: {s: HELD}, holder: h, lasts: 30s, then: {s: FREE}}}}
initially: {t: [{op: each job, s: FREE, h: none}]}
processes:
  w:
    on: {row: t, where: {s: FREE}, as: r}
    steps:
      - {update: t, where: {op: r.op, s: FREE}, set: {s: HELD, h: me}, if_none: stop}
      - {update: t, where: {op: r.op, s: HELD}, set: {s: DONE}, if_none: stop, effect: {e: r.op}}
faults: {crash: 1}
promises:
  done: every job eventually has effect e
  once: effect e happens at most once per job
`, "holds holds"},
		{"lease_of_live_holder", "R15: the lease of a live holder ends only by a stall", `
operations: {job: 1}
resources:
  db:
    kind: sql
    isolation: read_committed
    tables: {t: {unique: [op], lease: {while: {s: HELD}, holder: h, lasts: 30s, then: {s: FREE}}}, log: {}}
initially: {t: [{op: each job, s: FREE, h: none}]}
processes:
  w:
    instances: 2
    on: {row: t, where: {s: FREE}, as: r}
    steps:
      - {update: t, where: {op: r.op, s: FREE}, set: {s: HELD, h: me}, if_none: stop}
      - {insert: log, row: {op: r.op}, effect: {e: r.op}}
      - {update: t, where: {op: r.op, s: HELD}, set: {s: DONE}, if_none: stop}
promises:
  once: effect e happens at most once per job
`, "holds"},
		{"assumed_lease", "R19: an assumption removes the early expiry", `
operations: {job: 1}
resources:
  db:
    kind: sql
    isolation: read_committed
    tables: {t: {unique: [op], lease: {while: {s: HELD}, holder: h, lasts: 30s, then: {s: FREE}}}, log: {}}
initially: {t: [{op: each job, s: FREE, h: none}]}
processes:
  w:
    instances: 2
    on: {row: t, where: {s: FREE}, as: r}
    steps:
      - {update: t, where: {op: r.op, s: FREE}, set: {s: HELD, h: me}, if_none: stop}
      - {insert: log, row: {op: r.op}, effect: {e: r.op}}
      - {update: t, where: {op: r.op, s: HELD}, set: {s: DONE}, if_none: stop}
faults: {stall: 1}
assume: [lease of t outlives its holder]
promises:
  once: effect e happens at most once per job
`, "holds"},
		{"clock_jump", "R41: a clock that jumps ends a lease though its holder works", `
operations: {job: 1}
resources:
  db:
    kind: sql
    isolation: read_committed
    tables: {t: {unique: [op], lease: {while: {s: HELD}, holder: h, lasts: 30s, then: {s: FREE}}}, log: {}}
initially: {t: [{op: each job, s: FREE, h: none}]}
processes:
  w:
    instances: 2
    on: {row: t, where: {s: FREE}, as: r}
    steps:
      - {update: t, where: {op: r.op, s: FREE}, set: {s: HELD, h: me}, if_none: stop}
      - {insert: log, row: {op: r.op}, effect: {e: r.op}}
      - {update: t, where: {op: r.op, s: HELD}, set: {s: DONE}, if_none: stop}
faults: {clock_jump: {of: [w], by: 60s, max: 1}}
promises:
  once: effect e happens at most once per job
`, "7"},
		{"retention_expires", "R41: the fault removes one committed row", `
operations: {op: 1}
resources:
  db: {kind: sql, isolation: read_committed, tables: {inbox: {unique: [id]}}}
  q: {kind: queue, delivery: at_least_once, starts_with: one per op}
processes:
  w:
    on: {message: q, as: m}
    steps:
      - {insert: inbox, row: {id: m.id}, if_exists: go ack, effect: {e: m.op}}
      - {at: ack, ack: m}
faults: {retention_expires: {of: inbox, max: 1}, redelivery: 1}
promises:
  once: effect e happens at most once per op
`, "7"},
		{"sql_restart", "R41: a restart rolls the open transaction back; the client gets an error at its next step", `
operations: {op: 1}
resources:
  db: {kind: sql, isolation: read_committed, tables: {t: {unique: [op]}, u: {unique: [op]}}}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - transaction: db
        on_error: go lost
        do:
          - {insert: t, row: {op: o}, if_exists: stop}
          - {insert: u, row: {op: o}, if_exists: stop}
      - stop: true
      - {at: lost, ask_human: o}
faults: {restart: {of: db, max: 1}}
promises:
  both: {check: "exists(t) == exists(u)", always: true}
  calm: {check: "not handed(op)", always: true}
`, "holds 4"},
		{"key_holds_in_its_partition", "a unique key only holds inside its partition", `
operations: {op: 1}
resources:
  db: {kind: sql, isolation: read_committed, tables: {t: {unique: [op], partition_by: day}}}
  q: {kind: queue, delivery: at_least_once, starts_with: two per op}
processes:
  w:
    on: {message: q, as: m}
    steps:
      - {select: t, count: true, as: n}
      - {insert: t, row: {op: m.op, day: n}, if_exists: go ack, effect: {e: m.op}}
      - {at: ack, ack: m}
promises:
  once: effect e happens at most once per op
`, "7"},
		{"nowait", "R5: nowait takes on_error instead of waiting", `
operations: {op: 1}
resources: {db: {kind: sql, isolation: read_committed, tables: {t: {unique: [k]}}}}
initially: {t: [{k: A, v: 0}]}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - transaction: db
        on_error: go busy
        do:
          - {select: t, where: {k: A}, lock: true, nowait: true, as: r}
      - stop: true
      - {at: busy, ask_human: o}
  b:
    on: {poll: true}
    steps:
      - transaction: db
        do:
          - {update: t, where: {k: A}, set: {v: 1}}
promises:
  calm: {check: "not handed(op)", always: true}
`, "5"},
		{"upsert", "upsert overwrites the row that has the key", `
operations: {op: 1}
resources: {db: {kind: sql, isolation: read_committed, tables: {t: {unique: [op]}}}}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - {upsert: t, row: {op: o, v: 1}}
      - {upsert: t, row: {op: o, v: 2}}
promises:
  one: {check: "count(t) <= 1", always: true}
  newest: {check: "exists(t where v == 2)", finally: true}
`, "holds holds"},
	})
}
