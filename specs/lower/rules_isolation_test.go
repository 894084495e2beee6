package lower_test

import "testing"

// What was seen on engines and what a simpler model would get wrong; the same
// questions are played on the engines themselves by modelcheck/replay/anomaly.
func TestRulesIsolation(t *testing.T) {
	newer := `
operations: {op: 1}
resources:
  db: {kind: sql, isolation: repeatable_read, engine: ENGINE, tables: {t: {unique: [k]}, u: {}}}
  flag: {kind: kv}
initially: {t: [{k: A, v: 0}]}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - transaction: db
        on_error: go refused
        do:
          - {select: t, where: {k: A}, as: x}
          - {get: flag, key: F, as: f}
          - {go: over, when: f == none or x.v != 0}
          - {update: t, where: {k: A, v: 1}, set: {v: 2}, if_none: go missed, effect: {found: o}}
          - {go: over}
          - {at: missed, insert: u, row: {op: o}, effect: {missed: o}}
          - {at: over, let: {z: true}}
      - stop: true
      - {at: refused, ask_human: o}
  b:
    on: {poll: true}
    steps:
      - {update: t, where: {k: A, v: 0}, set: {v: 1}}
      - {put: flag, key: F, value: 1}
promises:
  not_refused: {check: "not handed(op)", always: true}
  not_found: {check: "count(found) == 0", always: true}
  not_missed: {check: "count(missed) == 0", always: true}
`
	first := `
operations: {op: 2}
resources:
  db: {kind: sql, isolation: repeatable_read, engine: ENGINE, tables: {t: {unique: [k]}}}
initially: {t: [{k: A, v: 0}]}
processes:
  a:
    instances: 2
    on: {start: op, as: o}
    steps:
      - transaction: db
        on_error: go refused
        do:
          - {STATEMENT}
      - stop: true
      - {at: refused, ask_human: o}
promises:
  not_refused: {check: "not handed(op)", always: true}
`
	add := replace(first, "STATEMENT", "update: t, where: {k: A}, set: {v: v + 1}")
	key := replace(first, "STATEMENT", "insert: t, row: {k: B}, if_exists: stop")
	locked := replace(first, "{STATEMENT}", `{lock: db, key: K, scope: transaction}
          - {select: t, where: {k: B}, as: r}
          - {go: over, when: r != none}
          - {insert: t, row: {k: B}, if_exists: go refused}
          - {at: over, let: {z: true}}`)
	readOnly := `
operations: {op: 1}
resources:
  db: {kind: sql, isolation: serializable, engine: ENGINE, tables: {t: {unique: [k]}}}
  flag: {kind: kv}
initially: {t: [{k: A, v: 0}, {k: B, v: 0}]}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - transaction: db
        on_error: stop
        do:
          - {select: t, where: {k: A}, as: x}
          - {get: flag, key: F, as: f}
          - {select: t, where: {k: B}, as: y}
      - {go: torn, when: x.v != y.v}
      - {go: end, when: f == none or x.v != 0}
      - {ask_human: o}
      - stop: true
      - {at: torn, insert: t, row: {k: C, v: 0}}
  b:
    on: {poll: true}
    steps:
      - transaction: db
        on_error: stop
        do:
          - {update: t, where: {k: A}, set: {v: 1}}
          - {update: t, where: {k: B}, set: {v: 1}}
      - {put: flag, key: F, value: 1}
promises:
  newest: {check: "not handed(op)", always: true}
must_be_possible:
  - step torn of a is taken
`
	ownRow := `
operations: {op: 1}
resources: {db: {kind: sql, isolation: serializable, tables: {t: {unique: [k]}}}}
initially: {t: [{k: A, v: 0}, {k: B, v: 0}]}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - transaction: db
        on_error: stop
        do:
          - {update: t, where: {k: A}, set: {v: 1}, effect: {e: o}}
          - {select: t, where: {k: A}, as: x}
          - {delete: t, where: {k: B}}
          - {select: t, where: {k: B}, as: y}
          - {go: end, when: x.v != 1 or y != none}
promises:
  done: every op eventually has effect e
`
	ownCount := `
operations: {op: 2}
resources: {db: {kind: sql, isolation: serializable, tables: {t: {unique: [op]}}}}
processes:
  a:
    instances: 2
    on: {start: op, as: o}
    steps:
      - transaction: db
        on_error: retry
        do:
          - {insert: t, row: {op: o}, if_exists: stop}
          - {select: t, count: true, as: n}
          - {go: end, when: n > 1}
promises:
  one: {check: "count(t) <= 1", always: true}
  some: {check: "count(t) == 1", eventually: true}
`
	of := func(spec, engine string) string { return replace(spec, "ENGINE", engine) }
	runRules(t, []rule{
		{"newer_row_postgres", "R4: a statement looks for rows in its snapshot: a row that only matches since is not found, and is no error", of(newer, "postgres"), "holds holds broken"},
		{"newer_row_mysql", "R4: InnoDB finds the newest row", of(newer, "mysql"), "holds broken holds"},
		{"own_row_is_not_newer", "R4: what the transaction has inserted itself was not changed since its snapshot", `
operations: {op: 1}
resources:
  db: {kind: sql, isolation: repeatable_read, tables: {t: {unique: [s], columns: {op: op, s: [NEW, OLD]}}}}
processes:
  w:
    on: {start: op, as: o}
    steps:
      - transaction: db
        on_error: go failed
        do:
          - {insert: t, row: {op: o, s: OLD}, if_exists: stop}
          - {update: t, where: {op: o}, set: {s: NEW}}
          - {delete: t, where: {op: o}}
      - stop: true
      - {at: failed, ask_human: o}
promises:
  calm: {check: "not handed(op)", always: true}
`, "holds"},
		{"first_statement_waits_postgres", "R1: a first statement that waits has its snapshot from before the wait", of(add, "postgres"), "broken"},
		{"first_statement_waits_mysql", "InnoDB acts on the newest row", of(add, "mysql"), "holds"},
		{"mariadb_is_innodb", "engine: mariadb is the profile of InnoDB", of(add, "mariadb"), "holds"},
		{"first_insert_waits", "a key is no row of the snapshot: the second insert is a duplicate", of(key, "postgres"), "holds"},
		{"lock_before_look_postgres", "R1: an advisory lock as the first statement: the snapshot is from before its wait", of(locked, "postgres"), "broken"},
		{"lock_before_look_mysql", "InnoDB takes its snapshot at the first plain read", of(locked, "mysql"), "holds"},
		{"serializable_reader_postgres", "a transaction that only reads sees one moment, and commits though it has passed", of(readOnly, "postgres"), "broken unseen"},
		{"serializable_reader_sqlite", "the same in SQLite", of(readOnly, "sqlite"), "broken unseen"},
		{"serializable_own_row", "what a transaction has written itself does not spoil its reads", ownRow, "holds"},
		{"serializable_own_count", "a count with an own row is spoiled by the row of another transaction, not by the own one", ownCount, "holds holds"},
		{"serializable_reader_mysql", "in InnoDB its reads lock", of(readOnly, "mysql"), "holds unseen"},
	})
}
