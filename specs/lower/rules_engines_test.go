package lower_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/internal/engines/enginetest"
	"github.com/relplan/relplan/modelcheck/replay"
	"github.com/relplan/relplan/specs/ast"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

// onEngines acts out what a rule's spec says, on every engine that can play it
// (RELPLAN_LONG=1): the rule is about them, after all.
func onEngines(t *testing.T, spec *ast.Spec) {
	if os.Getenv("RELPLAN_LONG") == "" {
		return
	}
	kinds := []engines.Kind{engines.SQLite}
	for _, r := range spec.Resources {
		if r.Kind == ast.SQLKind {
			kinds = []engines.Kind{engines.SQLite, engines.Postgres, engines.MySQL}
		}
	}
	for _, kind := range kinds {
		o := replay.Options{
			Servers: func(_ context.Context, k engines.Kind) (string, error) { return enginetest.Need(t, k).DSN, nil },
			Choose: func(r *ast.Resource) replay.Choice {
				switch r.Kind {
				case ast.SQLKind:
					return replay.Choice{Kind: kind}
				case ast.KVKind:
					return replay.Choice{Kind: engines.Redis, Replica: "redis"}
				}
				return replay.Choice{Kind: replay.DefaultKind(r)}
			},
		}
		histories, err := replay.Replay(t.Context(), spec, o)
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		o.Random, o.Seed = 20, uint64(time.Now().Unix()/86400)
		random, err := replay.Replay(t.Context(), spec, o)
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		for _, r := range append(histories, random...) {
			if r.Answer == replay.Weaker || r.Answer == replay.Flaky {
				t.Errorf("%s, %s: %s: %s", kind, r.History, r.Answer, r.Reason)
			}
		}
	}
}
