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

// on lets every database run on one engine, in place in databases that are kept
// for all tests: making one takes PostgreSQL half a second.
func on(t testing.TB, kind engines.Kind) func(*ast.Resource) replay.Choice {
	mine := map[*ast.Resource]string{}
	return func(r *ast.Resource) replay.Choice {
		if r.Kind != ast.SQLKind {
			return replay.Choice{Kind: replay.DefaultKind(r)}
		}
		if kind == engines.SQLite {
			return replay.Choice{Kind: kind}
		}
		if mine[r] == "" {
			mine[r] = database(t, kind, len(mine))
		}
		return replay.Choice{Kind: kind, DSN: mine[r], InPlace: true}
	}
}

var databases = map[engines.Kind][]string{}

// database gives the nth empty database of the engine's private server.
func database(t testing.TB, kind engines.Kind, n int) string {
	for len(databases[kind]) <= n {
		own, err := engines.CreateOwn(context.Background(), enginetest.Need(t, kind).DSN)
		if err != nil {
			t.Fatal(err)
		}
		databases[kind] = append(databases[kind], own.DSN)
	}
	return databases[kind][n]
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
					runs, err := replay.Replay(context.Background(), v, replay.Options{Choose: on(t, kind), Servers: servers(t)})
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

func TestRandomSchedulesOfTheLibrary(t *testing.T) {
	for _, name := range library.Names() {
		s, err := library.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range s.Variants() {
			for _, kind := range sqlKinds {
				t.Run(fmt.Sprintf("%s/%s/%s", name, v.Variant, kind), func(t *testing.T) {
					runs, err := replay.Replay(context.Background(), v, replay.Options{Choose: on(t, kind), Servers: servers(t), Random: 20, Seed: 1})
					if err != nil {
						t.Fatal(err)
					}
					answers := map[replay.Answer]int{}
					reasons := map[string]int{}
					for _, r := range runs {
						answers[r.Answer]++
						if r.Answer != replay.Confirmed {
							reasons[r.Reason]++
						}
						if r.Answer == replay.Weaker {
							t.Logf("%s: %s %s", r.History, r.Answer, r.Reason)
							for _, s := range r.Steps {
								t.Logf("%3d %-12s %-70s | %s", s.N, s.Actor, s.Text, s.Engine)
							}
							t.Errorf("WEAKER")
						}
					}
					t.Log(answers, reasons)
				})
			}
		}
	}
}
