package replay_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/internal/engines/enginetest"
	"github.com/relplan/relplan/modelcheck/replay"
	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/library"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

// on lets every database run on one engine.
func on(kind engines.Kind) func(*ast.Resource) replay.Choice {
	return func(r *ast.Resource) replay.Choice {
		if r.Kind == ast.SQLKind {
			return replay.Choice{Kind: kind}
		}
		return replay.Choice{Kind: replay.DefaultKind(r)}
	}
}

func servers(t testing.TB) replay.Servers {
	return func(_ context.Context, kind engines.Kind) (string, error) { return enginetest.Need(t, kind).DSN, nil }
}

var sqlKinds = []engines.Kind{engines.SQLite, engines.Postgres, engines.MySQL}

func TestLibraryHistories(t *testing.T) {
	for _, name := range library.Names() {
		s, err := library.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range s.Variants() {
			for _, kind := range sqlKinds {
				t.Run(fmt.Sprintf("%s/%s/%s", name, v.Variant, kind), func(t *testing.T) {
					runs, err := replay.Replay(context.Background(), v, replay.Options{Choose: on(kind), Servers: servers(t)})
					if err != nil {
						t.Fatal(err)
					}
					for _, r := range runs {
						t.Logf("%s: %s %s", r.History, r.Answer, r.Reason)
						if r.Answer == replay.Weaker {
							for _, s := range r.Steps {
								t.Logf("%3d %-12s %-70s | %s", s.N, s.Actor, s.Text, s.Engine)
							}
							t.Errorf("WEAKER")
						}
					}
				})
			}
		}
	}
}
