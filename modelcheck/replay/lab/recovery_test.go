package lab_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/internal/engines/enginetest"
	"github.com/relplan/relplan/modelcheck/replay"
	"github.com/relplan/relplan/modelcheck/replay/lab"
)

// names are the observations of one SQL engine, and those that need none.
var names = []string{"duplicateIdempotency", "commitResponseLost", "midFailureRollback", "outboxFencing", "consumerInbox", "atLeastOnceRecovery",
	"retryBudget", "cacheWatermark", "cleanup"}

func recovery(t *testing.T, kind engines.Kind, redis replay.Choice) map[string]lab.Observation {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	list, boundary, err := lab.Recovery(ctx, lab.Where{SQL: []replay.Choice{{Kind: kind}}, Redis: redis, Servers: servers(t)})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]lab.Observation{}
	for _, o := range list {
		if o.Pass != nil && !*o.Pass {
			t.Errorf("%s on %s: %s", o.Name, o.Engine, o.Reason)
		}
		if o.Engine != "redis" || o.Name == "cacheWatermark" {
			got[o.Name] = o
		}
	}
	for _, n := range names {
		if _, ok := got[n]; !ok {
			t.Errorf("no observation %s", n)
		}
	}
	if len(boundary.Ran) == 0 || len(boundary.Injected) == 0 || len(boundary.NotRun) == 0 {
		t.Errorf("boundary %+v", boundary)
	}
	for _, list := range [][]string{boundary.Ran, boundary.Injected, boundary.Modelled, boundary.NotRun} {
		if slices.Contains(list, "") {
			t.Errorf("boundary %q", list)
		}
	}
	if !slices.ContainsFunc(boundary.Ran, func(s string) bool { return strings.HasPrefix(s, string(kind)+" ") }) {
		t.Errorf("the boundary does not say that it ran on %s: %q", kind, boundary.Ran)
	}
	return got
}

func TestRecoveryOnServers(t *testing.T) {
	for _, kind := range []engines.Kind{engines.Postgres, engines.MySQL} {
		t.Run(string(kind), func(t *testing.T) {
			enginetest.Need(t, kind)
			enginetest.Need(t, engines.Redis)
			for name, o := range recovery(t, kind, replay.Choice{Kind: engines.Redis}) {
				if o.Pass == nil {
					t.Errorf("%s: NOT_RUN: %s", name, o.Reason)
				}
			}
		})
	}
}

// Without servers, SQLite shows what it can and says why it cannot show the
// rest.
func TestRecoveryOnSQLite(t *testing.T) {
	none := replay.Choice{Kind: engines.Redis, DSN: "redis://127.0.0.1:1/0"} // nobody listens
	got := recovery(t, engines.SQLite, none)
	for _, n := range names {
		cannot := map[string]bool{"commitResponseLost": true, "outboxFencing": true, "cacheWatermark": true}[n]
		if o := got[n]; (o.Pass == nil) != cannot || cannot && o.Reason == "" {
			t.Errorf("%s: %+v", n, o)
		}
	}
}

// A server that does not answer makes everything NOT_RUN, and the reason names it
// without its password.
func TestRecoveryWithoutAnswer(t *testing.T) {
	gone := []replay.Choice{{Kind: engines.Postgres, DSN: "postgres://me:secret@127.0.0.1:1/"}, {Kind: engines.MySQL, DSN: "mysql://me:secret@127.0.0.1:1/"}}
	list, _, err := lab.Recovery(context.Background(), lab.Where{SQL: gone, Redis: replay.Choice{Kind: engines.Redis, DSN: "redis://:secret@127.0.0.1:1/0"}, Servers: servers(t)})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range list {
		if o.Name != "retryBudget" && (o.Pass != nil || !strings.Contains(o.Reason, "127.0.0.1:1") || strings.Contains(o.Reason, "secret")) {
			t.Errorf("%s on %s: %v %q", o.Name, o.Engine, o.Pass, o.Reason)
		}
	}
	if lab.RecoveryExit(list) != 4 {
		t.Errorf("exit %d, want 4", lab.RecoveryExit(list))
	}
}

func TestRecoveryStopsWhenTold(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	list, _, err := lab.Recovery(ctx, lab.Where{
		SQL: []replay.Choice{{Kind: engines.SQLite}}, Redis: replay.Choice{Kind: engines.Redis}, Servers: servers(t),
		Progress: func(text string) {
			if text == "midFailureRollback on sqlite" {
				cancel()
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if lab.RecoveryExit(list) != 4 {
		t.Errorf("exit %d, want 4", lab.RecoveryExit(list))
	}
	for _, o := range list {
		switch {
		case o.Name == "cleanup" && o.Engine == "sqlite":
			if o.Pass == nil || !*o.Pass {
				t.Errorf("after the interrupt: %+v", o)
			}
		case o.Name != "duplicateIdempotency" && o.Pass != nil:
			t.Errorf("%s was made after the interrupt", o.Name)
		}
	}
}
