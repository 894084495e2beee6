package replay

import (
	"strings"
	"testing"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/internal/engines/enginetest"
	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

const keyValueSpec = `
relplan: v1
system: keys
operations: {job: 2}
resources: {seen: {kind: kv}}
initially: {seen: [{key: 'old', value: {v: 1, s: NEW}}]}
processes:
  worker:
    instances: 2
    on: {request: job, as: q}
    steps:
      - {at: claim, put_new: seen, key: q, value: me, ttl: 30s, if_exists: stop, effect: {claims: q}}
      - {at: look, get: seen, key: q, as: owner}
      - {at: old, get: seen, key: 'old', as: old}
      - {at: extend, expire: seen, key: q, ttl: 60s, if_none: stop}
      - {at: keep, put: seen, key: q, value: me, keep_ttl: true}
      - {at: overwrite, put: seen, key: 'old', value: 2}
      - {at: release, remove: seen, key: q, only_if_value: me, if_none: continue}
      - {at: drop, remove: seen, key: q}
promises:
  once: effect claims happens at most once per job
`

func TestKeyValueVerbsOnRedis(t *testing.T) {
	g := newRig(t, engines.Redis, "seen", keyValueSpec)
	testKeyValueVerbs(t, g)
	if !strings.HasPrefix(g.res.engine(), "redis ") {
		t.Errorf("engine %q", g.res.engine())
	}
}

// testKeyValueVerbs holds on every kv.
func testKeyValueVerbs(t *testing.T, g *rig) {
	t.Helper()
	a, b := g.worker("worker", 0), g.worker("worker", 1)
	a.operation(0)
	b.operation(0)
	if v, _ := a.done("old").(Record); v["v"] != int64(1) || v["s"] != "NEW" {
		t.Errorf("the entry that exists at first is %v", v)
	}
	if v := a.done("look"); v != nil {
		t.Errorf("a free key has the value %v", v)
	}
	a.done("claim")
	b.ends("claim", noFault, ast.IfExists)
	if v := b.done("look"); v != "worker-1" {
		t.Errorf("the owner is %v, want worker-1", v)
	}
	b.ends("release", noFault, ast.IfNone)
	a.done("extend")
	a.done("release")
	a.ends("extend", noFault, ast.IfNone)
	a.ends("drop", noFault, ast.IfNone)
	a.done("overwrite")
	if v := b.done("old"); v != int64(2) {
		t.Errorf("overwritten with 2, found %v", v)
	}
	g.counts("claims", map[string]int{"job-1": 1})
	a.ends("claim", refused, ast.OnError)
	if v := b.done("look"); v != nil {
		t.Errorf("a refused put has stored %v", v)
	}
}

func TestLostAnswersOnRedis(t *testing.T) {
	testLostAnswers(t, newRig(t, engines.Redis, "seen", keyValueSpec))
}

// testLostAnswers holds on every kv: the request is carried out or not, and the
// worker's next command works.
func testLostAnswers(t *testing.T, g *rig) {
	t.Helper()
	a, b := g.worker("worker", 0), g.worker("worker", 1)
	a.operation(1)
	b.operation(1)
	a.ends("claim", requestLost, ast.OnUnknown)
	if v := b.done("look"); v != nil {
		t.Errorf("a request that was lost has stored %v", v)
	}
	a.ends("claim", answerLost, ast.OnUnknown)
	if v := b.done("look"); v != "worker-1" {
		t.Errorf("a put whose answer was lost has stored %v", v)
	}
	a.ends("look", answerLost, ast.OnUnknown)
	a.ends("claim", noFault, ast.IfExists)
	g.counts("claims", map[string]int{"job-2": 1})
	a.x.cut()
	b.ends("release", noFault, ast.IfNone) // of another owner
	if v := b.done("look"); v != "worker-1" {
		t.Errorf("after the crash of its owner the key has %v", v)
	}
}

func TestTTLEndsOnRedis(t *testing.T) {
	g := newRig(t, engines.Redis, "seen", keyValueSpec)
	testTTLEnds(t, g)
	a := g.worker("worker", 0)
	a.operation(1)
	a.done("claim")
	a.done("keep")
	g.happens(lower.TTLEnds, lower.Subject{Fields: lower.Record{"key": lower.OperationID{Of: g.spec.Operations[0], Index: 1}, "value": nil}})
	if v := a.done("look"); v != nil {
		t.Errorf("keep_ttl has not kept the ttl: %v", v)
	}
	g.unsupported(lower.Restart)
	g.unsupported(lower.Failover)
}

func testTTLEnds(t *testing.T, g *rig) {
	t.Helper()
	a, b := g.worker("worker", 0), g.worker("worker", 1)
	a.operation(0)
	b.operation(0)
	a.done("claim")
	g.happens(lower.TTLEnds, lower.Subject{Fields: lower.Record{"key": lower.OperationID{Of: g.spec.Operations[0], Index: 0},
		"value": lower.InstanceID{Of: g.spec.Processes[0], Index: 0}}})
	b.done("claim")
	a.ends("release", noFault, ast.IfNone)
	if v := a.done("look"); v != "worker-2" {
		t.Errorf("the key of the new owner has %v", v)
	}
	if err := g.res.happen(g.ctx, &lower.Event{What: lower.TTLEnds, Of: lower.Subject{Fields: lower.Record{"key": "old"}}}); err == nil {
		t.Error("a key without a ttl has expired")
	}
}

// TestRedisLeavesNothingAndTouchesNothingElse looks at the whole server.
func TestRedisLeavesNothingAndTouchesNothingElse(t *testing.T) {
	c, err := engines.OpenRedis(enginetest.Need(t, engines.Redis).DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	foreign := []string{"relplan_test_seen", "relplan_test_", "relplan_testXseen:sa", "other", "relplan_test_seen2:b"}
	g := newRig(t, engines.Redis, "seen", keyValueSpec)
	for _, k := range foreign {
		if err := c.Set(g.ctx, k, "theirs", 0).Err(); err != nil {
			t.Fatal(err)
		}
		defer c.Del(g.ctx, k)
	}
	a := g.worker("worker", 0)
	a.operation(0)
	a.done("claim")
	if err := g.res.reset(g.ctx); err != nil {
		t.Fatal(err)
	}
	if v := a.done("look"); v != nil {
		t.Errorf("after reset the key has %v", v)
	}
	if v := a.done("old"); v == nil {
		t.Error("reset has not put back the entry that exists at first")
	}
	g.counts("claims", nil)
	a.done("claim")
	// a worker's process opens the resource too, and must not remove its keys
	second, err := openStore(g.ctx, g.spec, g.r, g.b)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.close(g.ctx); err != nil {
		t.Fatal(err)
	}
	if v := a.done("look"); v == nil {
		t.Error("closing in another process has removed the keys")
	}
	if err := g.res.close(g.ctx); err != nil {
		t.Fatal(err)
	}
	left, err := c.Keys(g.ctx, "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	if len(left) != len(foreign) {
		t.Errorf("left on the server: %q, want %q", left, foreign)
	}
	g.reopen()
}

const scriptSpec = `
relplan: v1
system: scripts
operations: {job: {count: 2, n: [1, 2]}}
resources: {cache: {kind: kv}, floor: {kind: kv, same_server_as: cache}}
initially: {cache: [{key: 'x', value: {v: 1}}], floor: [{key: 'x', value: 3}]}
processes:
  filler:
    on: {request: job, as: q}
    steps:
      - at: fill
        script: cache
        on_error: go failed
        do:
          - {get: floor, key: 'x', as: f}
          - {go: end, when: f > q.n + 1}
          - {put: cache, key: 'x', value: {v: f + 1, o: q}, effect: {fills: q}}
          - {go: behind, when: f == 3 or not f != none}
          - {put: floor, key: 'x', value: f + 1}
      - {at: behind, get: cache, key: 'x', as: c}
      - at: halfway
        script: cache
        on_error: go failed
        do:
          - {get: cache, key: 'x', as: c}
          - {let: {n: 0 .. 3}}
          - {at: again, let: {n: n + 1}}
          - {put: floor, key: 'x', value: c.v, effect: {fills: q}}
          - {go: again, when: n < 2}
          - {fail: true, when: c.v != none}
          - {put: floor, key: 'x', value: 0}
      - at: branches
        script: cache
        do:
          - {put_new: cache, key: 'x', value: 9, if_exists: continue}
          - {get: cache, key: 'x', as: c}
          - {let: {k: "c.o.n if c.o != none else 7"}}
          - {put_new: floor, key: 'y', value: k, if_exists: go failed}
          - {remove: floor, key: 'x', only_if_value: 5, if_none: go end}
          - {put: floor, key: 'z', value: 1}
      - {at: failed, get: floor, key: 'x', as: f}
      - {at: y, get: floor, key: 'y', as: f}
promises:
  once: effect fills happens at most once per job
`

func TestScriptOnRedis(t *testing.T) {
	g := newRig(t, engines.Redis, "cache", scriptSpec)
	floor, err := openStore(g.ctx, g.spec, g.resource("floor"), g.b)
	if err != nil {
		t.Fatal(err)
	}
	defer floor.close(g.ctx)
	if err := floor.reset(g.ctx); err != nil {
		t.Fatal(err)
	}
	w := g.worker("filler", 0)
	x, err := floor.connect(g.ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.cut)
	w2 := &rigWorker{g: g, x: x, names: w.names, p: w.p}

	w.operation(0) // n = 1: the floor is above
	if e := w.do("fill", noFault); e.done || e.left == nil || e.left.Verb != ast.VerbGo || e.binds[w.p.Var("f")] != int64(3) {
		t.Errorf("fill below the floor: %+v", e)
	}
	w.operation(1)
	if e := w.do("fill", noFault); e.left == nil || e.left.Index != 3 {
		t.Errorf("fill at the floor jumps out: %+v", e)
	}
	if c, _ := w.done("behind").(Record); c["v"] != int64(4) || c["o"] != "job-2" {
		t.Errorf("filled with %v", c)
	}
	g.counts("fills", map[string]int{"job-2": 1})

	e := w.do("halfway", noFault)
	if e.done || e.branch != ast.OnError || e.left == nil || e.left.Verb != ast.VerbFail || e.err == nil {
		t.Errorf("a script that fails half-way: %+v", e)
	}
	if n := e.binds[w.p.Var("n")]; n != int64(2) {
		t.Errorf("the loop was left with n = %v", n)
	}
	if v := w2.done("failed"); v != int64(4) {
		t.Errorf("what the failed script wrote before is %v, want 4", v)
	}

	if e := w.do("branches", noFault); e.done || e.left == nil || e.left.Verb != ast.VerbRemove || e.branch != ast.IfNone {
		t.Errorf("branches: %+v", e)
	}
	if v := w2.done("y"); v != int64(2) {
		t.Errorf("a field of an operation in a script is %v, want 2", v)
	}
	if e := w.do("branches", noFault); e.left == nil || e.left.Verb != ast.VerbPutNew || e.branch != ast.IfExists {
		t.Errorf("branches again: %+v", e)
	}
	w.ends("fill", requestLost, ast.OnUnknown)
	w.ends("fill", answerLost, ast.OnUnknown)
	w.ends("fill", refused, ast.OnError)
}
