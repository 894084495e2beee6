package replay

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/internal/engines/enginetest"
	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

func TestKeyValueVerbsOnNATS(t *testing.T) {
	testKeyValueVerbs(t, newRig(t, engines.NATS, "seen", keyValueSpec))
	testLostAnswers(t, newRig(t, engines.NATS, "seen", keyValueSpec))
	g := newRig(t, engines.NATS, "seen", keyValueSpec)
	testTTLEnds(t, g)
	g.unsupported(lower.Restart)
	g.unsupported(lower.Failover)
}

// TestOneKeyIsChangedByOneOnly lets several workers put a key that is not there.
func TestOneKeyIsChangedByOneOnly(t *testing.T) {
	g := newRig(t, engines.NATS, "seen", keyValueSpec)
	var workers []*rigWorker
	for i := range 4 {
		w := g.worker("worker", i)
		w.operation(0)
		workers = append(workers, w)
	}
	won := make([]bool, len(workers))
	var wg sync.WaitGroup
	for i, w := range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			won[i] = w.x.do(g.ctx, &call{step: g.step("claim"), names: w.names}).done
		}()
	}
	wg.Wait()
	winner := -1
	for i, w := range won {
		if w {
			if winner >= 0 {
				t.Errorf("%d and %d have both won", winner, i)
			}
			winner = i
		}
	}
	if winner < 0 {
		t.Fatal("nobody has won")
	}
	if v := workers[0].done("look"); v != workers[winner].names.me {
		t.Errorf("the key belongs to %v, and %v has won", v, workers[winner].names.me)
	}
	g.counts("claims", map[string]int{"job-1": 1})
}

func TestScriptOverOneKeyOnNATS(t *testing.T) {
	g := newRig(t, engines.NATS, "db", `
relplan: v1
system: node
operations: {job: 2}
resources: {db: {kind: kv}, other: {kind: kv, same_server_as: db}}
processes:
  node:
    on: {request: job, as: q}
    steps:
      - at: claim
        script: db
        do:
          - {get: db, key: 'k', as: old}
          - {go: taken, when: old != none and old != q}
          - {put: db, key: 'k', value: q, effect: {starts: q}}
      - {stop: true}
      - at: taken
        script: db
        do:
          - {put: db, key: 'k', value: q}
          - {fail: true}
      - {at: look, get: db, key: 'k', as: v}
      - at: both
        script: db
        do:
          - {put: db, key: 'k', value: q}
          - {put: other, key: 'k', value: q}
promises:
  once: effect starts happens at most once per job
`)
	w := g.worker("node", 0)
	w.operation(0)
	w.done("claim")
	w.operation(1)
	if e := w.do("claim", noFault); e.done || e.left == nil || e.left.Verb != ast.VerbGo || e.binds[w.p.Var("old")] != "job-1" {
		t.Errorf("claim of a taken key: %+v", e)
	}
	if e := w.do("taken", noFault); e.done || e.branch != ast.OnError || e.left == nil || e.left.Verb != ast.VerbFail {
		t.Errorf("a script that fails: %+v", e)
	}
	if v := w.done("look"); v != "job-2" {
		t.Errorf("what the failed script wrote is %v", v)
	}
	if e := w.do("both", noFault); !errors.Is(e.err, errUnsupported) || !strings.Contains(e.err.Error(), "atomic scripts") {
		t.Errorf("a script over two keys: %+v", e)
	}
	w.ends("claim", answerLost, ast.OnUnknown)
	g.counts("starts", map[string]int{"job-1": 1, "job-2": 1})
}

func TestNATSKVLeavesNothing(t *testing.T) {
	g := newRig(t, engines.NATS, "seen", keyValueSpec)
	nc, err := engines.OpenNATS(enginetest.Need(t, engines.NATS).DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc.Conn)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateKeyValue(g.ctx, jetstream.KeyValueConfig{Bucket: "theirs"}); err != nil {
		t.Fatal(err)
	}
	defer js.DeleteKeyValue(g.ctx, "theirs")
	w := g.worker("worker", 0)
	w.operation(0)
	w.done("claim")
	if err := g.res.reset(g.ctx); err != nil {
		t.Fatal(err)
	}
	if v := w.done("look"); v != nil {
		t.Errorf("after reset: %v", v)
	}
	g.counts("claims", nil)
	if err := g.res.close(g.ctx); err != nil {
		t.Fatal(err)
	}
	var names []string
	for n := range js.KeyValueStoreNames(g.ctx).Name() {
		names = append(names, n)
	}
	if len(names) != 1 || names[0] != "theirs" {
		t.Errorf("left on the server: %q", names)
	}
	g.reopen()
}

const triggerSpec = `
relplan: v1
system: reaper
operations: {job: 2}
resources: {locks: {kind: kv}}
initially: {locks: [{key: 'a', value: {v: 2, s: OLD}}, {key: 'b', value: {v: 1, s: OLD}}, {key: 'c', value: {v: 0, s: NEW}}]}
processes:
  reaper:
    on: {row: locks, where: {s: OLD}, as: l}
    steps:
      - {at: drop, remove: locks, key: l.key}
      - {at: first, select: locks, where: "v > 0", order_by: v, as: r}
      - {at: count, select: locks, where: {s: OLD}, count: true, as: n}
      - {at: gone, select: locks, where: {s: GONE}, as: g}
  client:
    on: {start: job, as: j}
    steps:
      - {at: over, ask_human: j}
promises:
  rest: {check: "count(locks) <= 9", always: true}
`

func TestEntriesAreSelectedAndTaken(t *testing.T) {
	for _, kind := range []engines.Kind{engines.Redis, engines.NATS, kindMemory} {
		t.Run(string(kind), func(t *testing.T) {
			text := triggerSpec
			if kind == kindMemory {
				text = strings.Replace(text, "{kind: kv}", "{kind: memory, per: process}", 1)
			}
			g := newRig(t, kind, "locks", text)
			w := g.worker("reaper", 0)
			if v, _ := w.take(lower.Record{"key": "b"}).(Record); v["key"] != "b" || field(v["value"], "v") != int64(1) {
				t.Errorf("took %v", v)
			}
			if v := w.take(lower.Record{"key": "c"}); v != nil {
				t.Errorf("took an entry that does not match: %v", v)
			}
			w.take(lower.Record{"key": "b"})
			if v, _ := w.done("first").(Record); v["key"] != "b" {
				t.Errorf("the first is %v", v)
			}
			w.done("drop")
			if v := w.done("count"); v != int64(1) {
				t.Errorf("counted %v", v)
			}
			if v := w.done("gone"); v != nil {
				t.Errorf("found %v", v)
			}
			if kind != kindMemory {
				w.ends("first", answerLost, ast.OnUnknown)
				w.ends("first", requestLost, ast.OnUnknown)
				w.done("first")
			}
		})
	}
}
