package lower_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/relplan/relplan/specs/lower"
)

// ringOf is a spec with n processes, of which each locks a row and then that of
// the next; open leaves the last one out of the ring.
func ringOf(n int, open bool) string {
	var rows, procs []string
	for i := 1; i <= n; i++ {
		rows = append(rows, fmt.Sprintf("{k: K%d, v: 0}", i))
		next := i%n + 1
		if open && i == n {
			next = i
		}
		procs = append(procs, fmt.Sprintf(`  p%d:
    on: {start: op%d, as: o}
    steps:
      - transaction: db
        on_error: go lost
        do:
          - {update: t, where: {k: K%d}, set: {v: 1}}
          - {update: t, where: {k: K%d}, set: {v: 2}}
      - {go: end}
      - {at: lost, ask_human: o}
`, i, i, i, next))
	}
	var ops []string
	for i := 1; i <= n; i++ {
		ops = append(ops, fmt.Sprintf("op%d: 1", i))
	}
	return "operations: {" + strings.Join(ops, ", ") + "}\nresources:\n  db: {kind: sql, isolation: read_committed, tables: {t: {unique: [k]}}}\ninitially: {t: [" +
		strings.Join(rows, ", ") + "]}\nprocesses:\n" + strings.Join(procs, "") + "promises:\n  free: {check: \"not handed(op1)\", always: true}\n"
}

const ringOfInstances = `
operations: {op: {count: 4, n: [1, 2, 3, 4], next: [2, 3, 4, 1]}}
resources:
  db: {kind: sql, isolation: read_committed, tables: {t: {unique: [k], columns: {k: 1 .. 4}}}}
initially: {t: [{k: 1, v: 0}, {k: 2, v: 0}, {k: 3, v: 0}, {k: 4, v: 0}]}
processes:
  p:
    instances: 4
    on: {start: op, as: o}
    steps:
      - transaction: db
        on_error: go lost
        do:
          - {update: t, where: {k: o.n}, set: {v: 1}}
          - {update: t, where: {k: o.next}, set: {v: 2}}
      - {go: end}
      - {at: lost, ask_human: o}
promises:
  free: {check: "not handed(op)", always: true}
`

// A cycle of waits is found whatever its length: without it all of them would
// wait for ever. Each start and first update is a step, then the victim, then
// the hand-over.
func TestDeadlockRings(t *testing.T) {
	runRules(t, []rule{
		{"two", "R5: a cycle of two", ringOf(2, false), "6"},
		{"three", "R5: a cycle of three", ringOf(3, false), "8"},
		{"four", "R5: a cycle of four", ringOf(4, false), "10"},
		{"five", "R5: a cycle of five", ringOf(5, false), "12"},
		{"four_open", "R5: a chain of four is no cycle", ringOf(4, true), "holds"},
		{"four_instances", "R5: a cycle of four instances of one process", ringOfInstances, "10"},
		{"three_of_the_four", "R5: and one of three among them", replace(ringOfInstances, "[2, 3, 4, 1]", "[2, 3, 1, 4]"), "8"},
	})
}

// Where the chains are too many, the check says how far it looks.
func TestDeadlockLimit(t *testing.T) {
	lo, err := lower.Lower(parse(t, "many.yaml", "relplan: v1\nsystem: many\n"+ringOf(8, false))[0], lower.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(lo.Notes, "\n"); strings.Count(got, "deadlocks of more than") != 1 {
		t.Errorf("notes: %s", got)
	}
}
