package lower_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/relplan/relplan/modelcheck"
	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/modelcheck/ir/irtest"
	"github.com/relplan/relplan/specs"
	"github.com/relplan/relplan/specs/lower"
)

// randomSpec writes a small protocol: one consumer with a few random steps on
// every kind of store, random branches, faults and promises.
func randomSpec(r *rand.Rand) string {
	pick := func(xs ...string) string { return xs[r.IntN(len(xs))] }
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p("relplan: v1\nsystem: random\noperations: {op: 1}\nresources:")
	p("  db: {kind: sql, isolation: %s, tables: {t: {unique: [%s], columns: {op: op, s: [NEW, OLD, DONE]}}, u: {}}}", pick("read_committed", "read_committed", "repeatable_read", "serializable"), pick("op", "op", "s"))
	p("  k: {kind: kv}")
	p("  out: {kind: queue, delivery: at_least_once}")
	p("  bank: {kind: provider, pay: {effect: pays, dedup_by: %s}%s}", pick("none", "key"), pick("", ", can_arrive_late: true"))
	p("  q: {kind: queue, delivery: at_least_once, starts_with: %s per op}", pick("one", "two"))
	p("processes:\n  w:\n    instances: %d\n    on: {message: q, as: m}\n    steps:", 1+r.IntN(2))
	steps := 1 + r.IntN(3)
	block := r.IntN(3) == 0
	indent := "      "
	if block {
		p("      - transaction: db\n        do:")
		indent = "          "
	}
	branch := func(key string) string {
		switch r.IntN(4) {
		case 0:
			return ", " + key + ": go ack"
		case 1:
			return ", " + key + ": stop"
		case 2:
			return ", " + key + ": continue"
		}
		return ""
	}
	for i := 0; i < steps; i++ {
		mark := pick("", ", effect: {e: m.op}")
		n := 8
		if block {
			n = 5
		}
		switch r.IntN(n) {
		case 0:
			p("%s- {insert: t, row: {op: m.op, s: %s}, if_exists: %s%s}", indent, pick("NEW", "OLD"), pick("go ack", "stop", "continue"), mark)
		case 1:
			p("%s- {update: t, where: {op: m.op%s}, set: {s: DONE}%s%s}", indent, pick("", ", s: NEW"), branch("if_none"), mark)
		case 2:
			p("%s- {select: t, where: {op: m.op}, as: r%d}", indent, i)
			p("%s- {go: ack, when: r%d %s none}", indent, i, pick("==", "!="))
		case 3:
			p("%s- {insert: u, row: {op: m.op}%s}", indent, mark)
		case 4:
			p("%s- {delete: t, where: {op: m.op}%s}", indent, branch("if_none"))
		case 5:
			p("%s- {put: k, key: m.op, value: me, if_absent: true, if_exists: %s%s%s}", indent, pick("go ack", "stop", "continue"), pick("", ", ttl: 30s"), mark)
		case 6:
			p("%s- {remove: k, key: m.op%s}", indent, pick("", ", only_if_value: me"))
		case 7:
			p("%s- {call: bank.pay, with: {key: m.op, op: m.op}%s}", indent, branch("on_unknown"))
		}
	}
	p("      - {at: ack, ack: m}")
	if r.IntN(3) == 0 {
		p("  v:\n    on: {row: t, where: {s: NEW}, as: r}\n    steps:\n      - {update: t, where: {op: r.op, s: NEW}, set: {s: DONE}, if_none: stop}")
	}
	p("faults: {%s: 1, %s: 1}", pick("crash", "response_lost"), pick("redelivery", "stall", "request_lost", "lock_timeout"))
	p("promises:\n  once: effect e happens at most once per op\n  done: every op eventually has effect e\n  acked: no message of q is acked before effect e")
	p("  pays: effect pays happens at most once per op\n  rest: {check: \"count(t) <= 1\", finally: true}")
	if !strings.Contains(b.String(), "effect: {e:") {
		return ""
	}
	return b.String()
}

// Random protocols: the compiled program, explored with all reductions, gives
// the verdicts of the dumb interpreter, and every history it prints is one of
// the interpreter's (ir tests replay them). RELPLAN_RANDOM sets how many.
func TestRandomSpecs(t *testing.T) {
	n := 80
	if s := os.Getenv("RELPLAN_RANDOM"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	compared := 0
	for seed := 0; seed < n; seed++ {
		src := randomSpec(rand.New(rand.NewPCG(uint64(seed), 1)))
		if src == "" {
			continue
		}
		s, ds := specs.Load("random.yaml", []byte(src))
		if s == nil {
			t.Fatalf("seed %d: %v\n%s", seed, ds, src)
		}
		o, err := lower.Check(context.Background(), s.Variants()[0], modelcheck.Options{Workers: 1, MaxStates: 100000})
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, src)
		}
		for _, u := range o.Unbounded {
			t.Errorf("seed %d: %s\n%s", seed, u, src)
		}
		if compare(t, o, 300, func(format string, args ...any) {
			t.Errorf("seed %d: %s\n%s", seed, fmt.Sprintf(format, args...), src)
		}) {
			compared++
		}
		for _, a := range o.Answers() {
			if a.Verdict == modelcheck.Broken && (a.History == nil || len(a.History.Steps) == 0) {
				t.Errorf("seed %d: %s is broken without a history\n%s", seed, a.Promise.Name, src)
			}
		}
	}
	if compared < n/4 {
		t.Errorf("only %d of %d were small enough to compare", compared, n)
	}
}

// compare judges the program with the interpreter; false if it is too large.
func compare(t *testing.T, o *lower.Outcome, limit int, report func(format string, args ...any)) bool {
	t.Helper()
	if o.Result.States > uint64(limit) || !o.Result.Complete {
		return false
	}
	g := irtest.Explore(o.Program, 4*limit)
	if g == nil {
		return false
	}
	got := map[*ir.Property]modelcheck.Verdict{}
	for k, r := range o.Result.Properties {
		p := o.Model.Origin(k).Property
		if old, ok := got[p]; ok {
			got[p] = irtest.Worse(old, r.Verdict)
		} else {
			got[p] = r.Verdict
		}
	}
	// The interpreter takes every choice for fair; the checker's own oracle judges those.
	chooses := slices.ContainsFunc(o.Program.Actions, func(a *ir.Action) bool { return a.Choice != 0 })
	for i, want := range g.Verdicts() {
		if p := o.Program.Props[i]; got[p] != want && (p.Kind == ir.Always || !chooses) {
			report("%q: checker %v, interpreter %v", p.Name, got[p], want)
		}
	}
	return true
}
