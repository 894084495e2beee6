package replay

import (
	"strings"
	"testing"

	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

const memorySpec = `
relplan: v1
system: memory
operations: {job: 2}
resources: {seen: {kind: memory, per: instance}}
initially: {seen: [{key: 'old', value: 1}]}
processes:
  worker:
    instances: 2
    on: {request: job, as: q}
    steps:
      - {at: claim, put_new: seen, key: q, value: me, if_exists: stop, effect: {claims: q}}
      - {at: look, get: seen, key: q, as: owner}
      - {at: old, get: seen, key: 'old', as: old}
      - {at: release, remove: seen, key: q, only_if_value: me, if_none: continue}
promises:
  once: effect claims happens at most once per job
`

func TestMemoryOfAProcessIsSharedByItsThreads(t *testing.T) {
	g := newRig(t, kindMemory, "seen", strings.Replace(memorySpec, "per: instance", "per: process", 1))
	a, b := g.worker("worker", 0), g.worker("worker", 1)
	a.operation(0)
	b.operation(0)
	a.done("claim")
	b.ends("claim", noFault, ast.IfExists)
	b.ends("release", noFault, ast.IfNone)
	if v := b.done("look"); v != "worker-1" {
		t.Errorf("the program remembers %v", v)
	}
	a.done("release")
	b.done("claim")
	b.ends("claim", refused, ast.OnError)
	if v := a.done("old"); v != int64(1) {
		t.Errorf("what is there at first is %v", v)
	}
	a.x.cut()
	if v := b.done("look"); v != nil {
		t.Errorf("after a crash of one thread the program remembers %v", v)
	}
	if v := b.done("old"); v != nil {
		t.Errorf("after a crash what was there at first is there again: %v", v)
	}
	if err := g.res.reset(g.ctx); err != nil {
		t.Fatal(err)
	}
	if v := b.done("old"); v != int64(1) {
		t.Errorf("after reset: %v", v)
	}
	g.counts("claims", nil)
}

func TestMemoryOfAnInstanceIsItsOwn(t *testing.T) {
	g := newRig(t, kindMemory, "seen", memorySpec)
	a, b := g.worker("worker", 0), g.worker("worker", 1)
	a.operation(0)
	b.operation(0)
	a.done("claim")
	b.done("claim")
	a.ends("claim", noFault, ast.IfExists)
	if v := b.done("look"); v != "worker-2" {
		t.Errorf("the second instance remembers %v", v)
	}
	a.x.cut()
	if v := a.done("look"); v != nil {
		t.Errorf("after a crash: %v", v)
	}
	if v := b.done("look"); v != "worker-2" {
		t.Errorf("the crash of another instance has taken the memory: %v", v)
	}
	g.counts("claims", map[string]int{"job-1": 2})
	g.happens(lower.Restart, lower.Subject{})
	if v := b.done("look"); v != nil {
		t.Errorf("after a restart: %v", v)
	}
	g.unsupported(lower.Failover)
	if n := len(g.res.(bounded).boundary()); n != 1 {
		t.Errorf("the boundary has %d lines, want who counts", n)
	}
}
