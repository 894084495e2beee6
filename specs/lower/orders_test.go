package lower_test

import (
	"strings"
	"testing"
)

// What a verdict rests on is said: the order of durations, and each assumption.
func TestRestsOn(t *testing.T) {
	tests := []struct{ name, spec, want string }{
		{"broken, and what would help", replace(replayed, "KEEP", "7d"), "holds iff keep > horizon (here 7d and 14d)"},
		{"holds, and why", replace(replayed, "KEEP", "15d"), "holds iff keep > horizon (here 15d and 14d)"},
		{"assumption used", `
operations: {op: 1}
resources:
  q: {kind: queue, delivery: at_least_once, starts_with: one per op}
  k: {kind: kv}
processes:
  w:
    instances: 2
    on: {message: q, as: m}
    steps:
      - {put: k, key: m.op, effect: {e: m.op}}
      - {ack: m}
faults: {stall: 1}
assume: [visibility of q outlives its holder]
promises:
  once: effect e happens at most once per op
`, `assumption "visibility of q outlives its holder": used`},
		{"assumption not needed", `
operations: {op: 1}
resources:
  q: {kind: queue, delivery: at_least_once, starts_with: one per op}
  k: {kind: kv}
processes:
  w:
    instances: 2
    on: {message: q, as: m}
    steps:
      - {put: k, key: m.op, effect: {e: m.op}}
      - {ack: m}
assume: [visibility of q outlives its holder]
promises:
  once: effect e happens at most once per op
`, `assumption "visibility of q outlives its holder": not needed`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := check(t, parse(t, "x.yaml", "relplan: v1\nsystem: x\n"+tt.spec)[0])
			if notes := strings.Join(o.Notes, "\n"); !strings.Contains(notes, tt.want) {
				t.Errorf("notes %q, want %q", notes, tt.want)
			}
		})
	}
}

// What grows is named: a column that leaves its range, a queue that fills up.
func TestUnbounded(t *testing.T) {
	tests := []struct{ name, spec, want string }{
		{"column", `
operations: {op: 1}
resources: {db: {kind: sql, isolation: read_committed, tables: {outbox: {unique: [op]}}}}
initially: {outbox: [{op: each op, token: 0}]}
processes:
  relay:
    on: {row: outbox, as: r}
    steps:
      - {update: outbox, where: {op: r.op}, set: {token: r.token + 1}}
promises:
  calm: {check: "exists(outbox where token >= 0)", always: true}
`, "outbox.token grows without bound: name it (it left 0 .. 7)"},
		{"queue", `
operations: {op: 1}
resources: {q: {kind: queue, delivery: at_least_once}}
processes:
  a:
    on: {request: op, as: o}
    steps:
      - {send: q, message: {op: o}}
      - {reply: try_later}
promises:
  few: at most 40 messages of q are waiting at once
`, "q grows without bound: name it (more than 24 at once)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := check(t, parse(t, "x.yaml", "relplan: v1\nsystem: x\n"+tt.spec)[0])
			if u := strings.Join(o.Unbounded, "\n"); u != tt.want {
				t.Errorf("%q, want %q", u, tt.want)
			}
			if a := o.Answers()[0]; a.Verdict.String() != "unknown" {
				t.Errorf("verdict %v", a.Verdict)
			}
		})
	}
}
