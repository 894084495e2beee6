package lower_test

import "testing"

func TestRulesKVAndMemory(t *testing.T) {
	runRules(t, []rule{
		{"ttl_of_dead_holder", "R16: a key whose run has ended expires for free", `
operations: {op: 1}
resources:
  k: {kind: kv}
  q: {kind: queue, delivery: at_least_once, starts_with: one per op}
processes:
  w:
    on: {message: q, as: m}
    steps:
      - {put: k, key: m.op, ttl: 30s, if_absent: true, if_exists: stop}
      - {ack: m, effect: {e: m.op}}
faults: {crash: 1}
promises:
  done: every op eventually has effect e
`, "holds"},
		{"no_ttl_stays", "without a ttl the key of a dead run stays for ever", `
operations: {op: 1}
resources:
  k: {kind: kv}
  q: {kind: queue, delivery: at_least_once, starts_with: one per op}
processes:
  w:
    on: {message: q, as: m}
    steps:
      - {put: k, key: m.op, if_absent: true, if_exists: stop}
      - {ack: m, effect: {e: m.op}}
faults: {crash: 1}
promises:
  done: every op eventually has effect e
`, "broken"},
		{"ttl_none", "ttl: none never fires", `
operations: {op: 1}
resources:
  k: {kind: kv}
  q: {kind: queue, delivery: at_least_once, starts_with: one per op}
processes:
  w:
    on: {message: q, as: m}
    steps:
      - {put: k, key: m.op, ttl: none, if_absent: true, if_exists: stop}
      - {ack: m, effect: {e: m.op}}
faults: {crash: 1}
promises:
  done: every op eventually has effect e
`, "broken"},
		{"second_put_drops_ttl", "R37: a second put without ttl makes the key stay", `
operations: {op: 1}
resources:
  k: {kind: kv}
processes:
  w:
    on: {start: op, as: o}
    steps:
      - {put: k, key: 'x', value: 1, ttl: 30s}
      - {put: k, key: 'x', value: 2}
promises:
  stays: {check: "exists(k where value == 2)", finally: true}
`, "holds"},
		{"keep_ttl", "R37: with keep_ttl it still goes", `
operations: {op: 1}
resources:
  k: {kind: kv}
processes:
  w:
    on: {start: op, as: o}
    steps:
      - {put: k, key: 'x', value: 1, ttl: 30s}
      - {put: k, key: 'x', value: 2, keep_ttl: true}
promises:
  stays: {check: "exists(k where value == 2)", finally: true}
`, "broken"},
		{"expire", "expire: sets the ttl of a key that is there", `
operations: {op: 1}
resources:
  k: {kind: kv}
processes:
  w:
    on: {start: op, as: o}
    steps:
      - {put: k, key: 'x', value: 1}
      - {expire: k, key: 'x', ttl: 30s}
promises:
  stays: {check: "exists(k where value == 1)", finally: true}
`, "broken"},
		{"compare_and_delete_own", "only_if_value removes the key that has the value, although nobody else reads the value", `
operations: {op: 1}
resources: {k: {kind: kv}}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - {put: k, key: 'x', value: o.op}
      - {remove: k, key: 'x', only_if_value: o.op}
promises:
  gone: {check: "not exists(k where key == 'x')", finally: true}
`, "holds"},
		{"compare_and_delete", "only_if_value leaves a key with another value", `
operations: {op: 1}
resources:
  k: {kind: kv}
processes:
  w:
    on: {start: op, as: o}
    steps:
      - {put: k, key: 'x', value: OTHER}
      - {remove: k, key: 'x', only_if_value: MINE}
promises:
  stays: {check: "exists(k where value == OTHER)", finally: true}
`, "holds"},
		{"compare_and_delete_own", "and removes a key with that value, also where nothing else reads it", `
operations: {op: 1}
resources:
  k: {kind: kv}
processes:
  w:
    on: {start: op, as: o}
    steps:
      - {put: k, key: 'x', value: me}
      - {put: k, key: 'y', value: my_run}
      - {remove: k, key: 'x', only_if_value: me}
      - {remove: k, key: 'y', only_if_value: my_run}
promises:
  gone: {check: "count(k) == 0", finally: true}
`, "holds"},
		{"script_is_atomic", "R38: a script is one step", `
operations: {op: 1}
resources:
  k: {kind: kv}
processes:
  w:
    on: {start: op, as: o}
    steps:
      - script: k
        do:
          - {put: k, key: 'a', value: 1}
          - {put: k, key: 'b', value: 1}
faults: {crash: 1}
promises:
  both: {check: "count(k) != 1", always: true}
`, "holds"},
		{"script_keeps_on_failure", "R26: a failing verb inside a script keeps the writes before it", `
operations: {op: 1}
resources:
  k: {kind: kv}
processes:
  w:
    on: {start: op, as: o}
    steps:
      - script: k
        on_error: stop
        do:
          - {put: k, key: 'a', value: 1}
          - {fail: true}
          - {put: k, key: 'b', value: 1}
promises:
  nothing: {check: "count(k) == 0", always: true}
  one: {check: "count(k) <= 1", always: true}
`, "2 holds"},
		{"script_lost", "R23: a script whose answer is lost was done", `
operations: {op: 1}
resources:
  k: {kind: kv}
processes:
  w:
    on: {start: op, as: o}
    steps:
      - script: k
        on_unknown: go lost
        do:
          - {put: k, key: 'a', value: 1}
      - stop: true
      - {at: lost, ask_human: o}
faults: {response_lost: 1}
promises:
  done: {check: "handed(op) implies exists(k where value == 1)", always: true}
  calm: {check: "not handed(op)", always: true}
`, "holds 3"},
		{"kv_restart", "R41: a restart that loses memory removes every key", `
operations: {op: 1}
resources:
  k: {kind: kv}
  q: {kind: queue, delivery: at_least_once, starts_with: two per op}
processes:
  w:
    on: {message: q, as: m}
    steps:
      - {put: k, key: m.op, if_absent: true, if_exists: go ack, effect: {e: m.op}}
      - {at: ack, ack: m}
faults: {restart: {of: k, loses: memory, max: 1}}
promises:
  once: effect e happens at most once per op
`, "6"},
		{"failover", "R37: a failover drops the latest acknowledged write, whichever key", `
operations: {op: 1}
resources:
  k: {kind: kv}
processes:
  w:
    on: {start: op, as: o}
    steps:
      - {put: k, key: 'a', value: 1}
      - {put: k, key: 'b', value: 1}
      - {ask_human: o}
faults: {failover: {of: k, loses_last: 1, max: 1}}
promises:
  both: {check: "handed(op) implies count(k) == 2", always: true}
  first: {check: "handed(op) implies count(k) >= 1", always: true}
`, "5 holds"},
		{"failover_restores", "and puts back what was under the key before", `
operations: {op: 1}
resources:
  k: {kind: kv}
processes:
  w:
    on: {start: op, as: o}
    steps:
      - {put: k, key: 'a', value: 1}
      - {put: k, key: 'a', value: 2}
      - {ask_human: o}
faults: {failover: {of: k, loses_last: 1, max: 1}}
promises:
  there: {check: "handed(op) implies count(k) == 1", always: true}
  newest: {check: "handed(op) implies exists(k where value == 2)", always: true}
`, "holds 5"},
		{"failover_of_a_script", "a script is one write, whatever it writes", `
operations: {op: 1}
resources:
  k: {kind: kv}
processes:
  w:
    on: {start: op, as: o}
    steps:
      - script: k
        do:
          - {put: k, key: 'a', value: 1}
          - {put: k, key: 'b', value: 1}
      - {ask_human: o}
faults: {failover: {of: k, loses_last: 1, max: 1}}
promises:
  whole: {check: "count(k) != 1", always: true}
  both: {check: "handed(op) implies count(k) == 2", always: true}
`, "holds 4"},
		{"failover_of_two_writes", "loses_last counts writes, a script for one", `
operations: {op: 1}
resources:
  k: {kind: kv}
processes:
  w:
    on: {start: op, as: o}
    steps:
      - {put: k, key: 'z', value: 1}
      - script: k
        do:
          - {put: k, key: 'a', value: 1}
          - {put: k, key: 'b', value: 1}
      - {put: k, key: 'c', value: 1}
      - {ask_human: o}
faults: {failover: {of: k, loses_last: 2, max: 1}}
promises:
  some: {check: "handed(op) implies count(k) >= 1", always: true}
  more: {check: "handed(op) implies count(k) >= 2", always: true}
`, "holds 6"},
		{"failover_after_nothing", "removing what is not there is no write", `
operations: {op: 1}
resources:
  k: {kind: kv}
processes:
  w:
    on: {start: op, as: o}
    steps:
      - {put: k, key: 'a', value: 1}
      - {remove: k, key: 'b'}
      - {ask_human: o}
faults: {failover: {of: k, loses_last: 1, max: 1}}
promises:
  there: {check: "handed(op) implies count(k) == 1", always: true}
`, "5"},
		{"failover_brings_the_ttl_back", "what a remove took away has its ttl again", `
operations: {op: 1}
resources:
  k: {kind: kv}
processes:
  w:
    on: {start: op, as: o}
    steps:
      - {put: k, key: 'a', value: 1, ttl: 30s}
      - {remove: k, key: 'a'}
faults: {failover: {of: k, loses_last: 1, max: 1}}
promises:
  gone: {check: "count(k) == 0", finally: true}
`, "holds"},
		{"private_memory", "L: memory per instance is not seen by another instance", `
operations: {op: 1}
resources:
  c: {kind: memory, per: instance}
  q: {kind: queue, delivery: at_least_once, starts_with: two per op}
  k: {kind: kv}
processes:
  w:
    instances: 2
    on: {message: q, as: m}
    steps:
      - {get: c, key: m.op, as: hit}
      - {go: ack, when: hit != none}
      - {put: k, key: m.op, effect: {e: m.op}}
      - {put: c, key: m.op, value: 1}
      - {at: ack, ack: m}
promises:
  once: effect e happens at most once per op
`, "4"},
		{"one_instance_memory", "but by the same instance it is", `
operations: {op: 1}
resources:
  c: {kind: memory, per: instance}
  q: {kind: queue, delivery: at_least_once, starts_with: two per op}
  k: {kind: kv}
processes:
  w:
    on: {message: q, as: m}
    steps:
      - {get: c, key: m.op, as: hit}
      - {go: ack, when: hit != none}
      - {put: k, key: m.op, effect: {e: m.op}}
      - {put: c, key: m.op, value: 1}
      - {at: ack, ack: m}
promises:
  once: effect e happens at most once per op
`, "holds"},
		{"memory_lost", "L, R26: memory is lost at a crash, of an idle instance too", `
operations: {op: 1}
resources:
  c: {kind: memory, per: instance}
  q: {kind: queue, delivery: at_least_once, starts_with: two per op}
  k: {kind: kv}
processes:
  w:
    on: {message: q, as: m}
    steps:
      - {get: c, key: m.op, as: hit}
      - {go: ack, when: hit != none}
      - {put: k, key: m.op, effect: {e: m.op}}
      - {put: c, key: m.op, value: 1}
      - {at: ack, ack: m}
faults: {crash: 1}
promises:
  once: effect e happens at most once per op
`, "broken"},
		{"watermark", "a get that gives an older version than the watermark", `
operations: {op: 1}
resources:
  c: {kind: kv}
  w: {kind: kv}
initially: {c: [{key: 'x', value: {v: 1}}], w: [{key: 'x', value: 2}]}
processes:
  a:
    on: {start: op, as: o}
    steps:
      - {get: c, key: 'x', as: r}
      - {ask_human: o}
promises:
  fresh: reads of c.v are never older than w
`, "2"},
		{"watermark_in_script", "in a script only what the run still reads afterwards was answered", `
operations: {op: 2}
resources:
  c: {kind: kv}
  w: {kind: kv, same_server_as: c}
initially: {c: [{key: 'x', value: 1}], w: [{key: 'x', value: 2}]}
processes:
  guarded:
    on: {start: op, as: o}
    steps:
      - script: c
        do:
          - {get: w, key: 'x', as: f}
          - {get: c, key: 'x', as: r}
          - {go: miss, when: r < f}
      - {put: c, key: o, value: r}
      - {at: miss, ask_human: o}
promises:
  fresh: reads of c are never older than w
`, "holds"},
		{"watermark_dropped", "nor is what a run looks at and drops before its next round trip", `
operations: {op: 1}
resources:
  c: {kind: kv}
  w: {kind: kv}
initially: {c: [{key: 'x', value: 1}], w: [{key: 'x', value: 2}]}
processes:
  careful:
    on: {start: op, as: o}
    steps:
      - {get: w, key: 'x', as: f}
      - {get: c, key: 'x', as: r}
      - {go: miss, when: r < f}
      - {put: c, key: o, value: r}
      - {at: miss, ask_human: o}
promises:
  fresh: reads of c are never older than w
`, "holds"},
		{"watermark_ends", "a run that ends with what it found has answered", `
operations: {op: 1}
resources:
  c: {kind: kv}
  w: {kind: kv}
initially: {c: [{key: 'x', value: 1}], w: [{key: 'x', value: 2}]}
processes:
  hit:
    on: {start: op, as: o}
    steps:
      - {get: c, key: 'x', as: r}
      - {go: end, when: r != none}
      - {ask_human: o}
promises:
  fresh: reads of c are never older than w
`, "2"},
		{"watermark_out_of_script", "and what the script found and handed out counts", `
operations: {op: 1}
resources:
  c: {kind: kv}
  w: {kind: kv, same_server_as: c}
initially: {c: [{key: 'x', value: 1}], w: [{key: 'x', value: 2}]}
processes:
  hasty:
    on: {start: op, as: o}
    steps:
      - script: c
        do:
          - {get: c, key: 'x', as: r}
      - {put: c, key: o, value: r}
promises:
  fresh: reads of c are never older than w
`, "2"},
	})
}
