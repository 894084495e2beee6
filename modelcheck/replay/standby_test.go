package replay_test

import (
	"context"
	"net/url"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/internal/engines/enginetest"
	"github.com/relplan/relplan/modelcheck/replay"
	"github.com/relplan/relplan/specs"
	"github.com/relplan/relplan/specs/ast"
)

// What a failover may meet: scripts that write several keys, keys with a ttl,
// conditional puts and removes, lost answers and crashes.
const failoverSpec = `
relplan: v1
system: everything-fails-over
operations: {payment: 2}
resources:
  seen: {kind: kv}
  locks: {kind: kv}
processes:
  worker:
    instances: 2
    on: {start: payment, as: p}
    steps:
      - script: seen
        do:
          - {get: seen, key: "'a'", as: a}
          - {go: other, when: a == p}
          - {put: seen, key: "'a'", value: p, ttl: 30s}
          - {put: seen, key: p, value: p}
          - {at: other, put: seen, key: "'b'", value: p}
      - {put: locks, key: "'l'", value: me, if_absent: true, ttl: 1m, if_exists: go on}
      - {remove: seen, key: "'b'"}
      - {at: on, get: seen, key: p, as: x}
      - {expire: seen, key: "'a'", ttl: 30s, if_none: go last}
      - {put: seen, key: "'a'", value: p, keep_ttl: true}
      - {at: last, remove: seen, key: p, effect: {ends: p}}
      - {remove: locks, key: "'l'", only_if_value: me, if_none: stop}
faults: {failover: [{of: seen, loses_last: 2, max: 1}, {of: locks, max: 1}], crash: 1, response_lost: {of: [seen], max: 1}}
promises:
  few: {check: "count(seen) <= 4", always: true}
`

func failover(t *testing.T, o replay.Options, replica string) []*replay.Run {
	t.Helper()
	s, ds := specs.Load("failover.yaml", []byte(failoverSpec))
	if s == nil {
		t.Fatal(ds)
	}
	o.Choose = func(r *ast.Resource) replay.Choice {
		return replay.Choice{Kind: engines.Redis, DSN: enginetest.Need(t, engines.Redis).DSN, Replica: replica}
	}
	runs, err := replay.Replay(context.Background(), s.Variants()[0], o)
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

func TestFailoversLoseWhatTheModelLoses(t *testing.T) {
	enginetest.Need(t, engines.Redis)
	seed := today()
	n := map[bool]int{false: 100, true: 1000}[long()]
	t.Logf("seed %d", seed)
	failovers := 0
	for _, r := range failover(t, replay.Options{Random: n, Seed: seed}, "redis") {
		if r.Answer != replay.Confirmed {
			t.Errorf("%s: %s: %s%s", r.History, r.Answer, r.Reason, told(r))
		}
		for _, s := range r.Steps {
			if strings.Contains(s.Text, "fails over") {
				failovers++
			}
		}
	}
	if failovers < n/10 {
		t.Errorf("%d failovers in %d schedules", failovers, n)
	}
}

// secondRedis is a server that takes the password of the first, as a user's
// replica does.
func secondRedis(t *testing.T) (dsn string, c *engines.RedisClient) {
	t.Helper()
	first := enginetest.Need(t, engines.Redis)
	second, err := engines.Start(t.Context(), engines.Redis)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = second.Stop() })
	a, err1 := url.Parse(first.DSN)
	b, err2 := url.Parse(second.DSN)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if c, err = engines.OpenRedis(second.DSN); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	password, _ := a.User.Password()
	if err := c.ConfigSet(t.Context(), "requirepass", password).Err(); err != nil {
		t.Fatal(err)
	}
	b.User = a.User
	return b.String(), c
}

func TestReplicaIsGivenBackAsItWas(t *testing.T) {
	dsn, c := secondRedis(t)
	if err := c.ConfigSet(t.Context(), "masterauth", "own").Err(); err != nil {
		t.Fatal(err)
	}
	asItWas := func() {
		t.Helper()
		users, err := c.Do(t.Context(), "acl", "users").StringSlice()
		if err != nil || strings.Join(users, " ") != "default" {
			t.Errorf("users %q, %v", users, err)
		}
		if n, err := c.DBSize(t.Context()).Result(); n != 0 || err != nil {
			t.Errorf("%d keys, %v", n, err)
		}
		if info, err := c.Info(t.Context(), "replication").Result(); !strings.Contains(info, "role:master") {
			t.Errorf("%s, %v", info, err)
		}
	}
	for _, r := range failover(t, replay.Options{Random: 5, Seed: 1}, "")[:1] {
		if r.Answer == replay.NotRun && !strings.Contains(r.Reason, "needs a replica") {
			t.Error(r.Reason)
		}
	}
	// Both stores of the spec want the server: the second is refused, the first
	// gives it back.
	if r := failover(t, replay.Options{Random: 5, Seed: 1}, dsn)[0]; r.Answer != replay.NotRun || !strings.Contains(r.Reason, "another run uses") {
		t.Errorf("%s: %s", r.Answer, r.Reason)
	}
	asItWas()
	if v, err := c.ConfigGet(t.Context(), "masterauth").Result(); v["masterauth"] != "own" {
		t.Errorf("masterauth %q, %v", v, err)
	}
}

// lockSpec has one store, so that a replica that is given serves it.
const lockSpec = `
relplan: v1
system: lock
operations: {payment: 1}
resources: {locks: {kind: kv}}
processes:
  worker:
    instances: 2
    on: {start: payment, as: p}
    steps:
      - {put: locks, key: p, value: me, if_absent: true, if_exists: stop, effect: {holds: p}}
      - {get: locks, key: p, as: x}
faults: {failover: {of: locks, max: 1}, crash: 1}
promises: {kept: {check: "count(locks) == 1", finally: true}}
`

func lockOn(t *testing.T, replica string) []*replay.Run {
	t.Helper()
	s, ds := specs.Load("lock.yaml", []byte(lockSpec))
	if s == nil {
		t.Fatal(ds)
	}
	runs, err := replay.Replay(t.Context(), s.Variants()[0], replay.Options{Choose: func(*ast.Resource) replay.Choice {
		return replay.Choice{Kind: engines.Redis, DSN: enginetest.Need(t, engines.Redis).DSN, Replica: replica}
	}})
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

func TestReplicaOfTheUser(t *testing.T) {
	dsn, c := secondRedis(t)
	confirmed := func() {
		t.Helper()
		runs := lockOn(t, dsn)
		if len(runs) != 2 {
			t.Fatalf("%d runs", len(runs))
		}
		for _, r := range runs {
			if r.Answer != replay.Confirmed {
				t.Errorf("%s: %s: %s%s", r.History, r.Answer, r.Reason, told(r))
			}
		}
	}
	confirmed()

	// What a run that was killed has left is known by its mark.
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	mark := "relplan_" + strconv.Itoa(gone.Process.Pid) + "_00000000_replica"
	for _, words := range [][]any{{"acl", "setuser", mark, "off"}, {"set", "left", "1"}} {
		if err := c.Do(t.Context(), words...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	confirmed()
	if n, err := c.DBSize(t.Context()).Result(); n != 0 || err != nil {
		t.Errorf("%d keys, %v", n, err)
	}

	refused := func(replica, why string) {
		t.Helper()
		if r := lockOn(t, replica)[0]; r.Answer != replay.NotRun || !strings.Contains(r.Reason, why) {
			t.Errorf("%s: %s, want %s", r.Answer, r.Reason, why)
		}
	}
	if err := c.Set(t.Context(), "mine", "1", 0).Err(); err != nil {
		t.Fatal(err)
	}
	refused(dsn, "holds keys")
	if v, err := c.Get(t.Context(), "mine").Result(); v != "1" {
		t.Errorf("the user's key is %q, %v", v, err)
	}
	refused(enginetest.Need(t, engines.Redis).DSN, "is the store's own server")
	refused("redis://:other@127.0.0.1:1", "must take the same")
	refused("redis://127.0.0.1:1", "refused")
}
