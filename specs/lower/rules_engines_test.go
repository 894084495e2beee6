package lower_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/internal/engines/enginetest"
	"github.com/relplan/relplan/modelcheck/replay"
	"github.com/relplan/relplan/specs"
	"github.com/relplan/relplan/specs/ast"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

var sqlKinds = []engines.Kind{engines.SQLite, engines.Postgres, engines.MySQL}

func long() bool { return os.Getenv("RELPLAN_LONG") != "" }

// onEngines acts out what a rule's spec says, on every engine that can play it
// (RELPLAN_LONG=1): the rule is about them, after all.
func onEngines(t *testing.T, spec *ast.Spec) {
	if !long() {
		return
	}
	kinds := sqlKinds[:1]
	if slices.ContainsFunc(spec.Resources, func(r *ast.Resource) bool { return r.Kind == ast.SQLKind }) {
		kinds = sqlKinds
	}
	for _, kind := range kinds {
		onEngine(t, spec, kind)
	}
}

// onEngine acts out a good run, every broken promise and random schedules with
// the sql stores on one engine.
func onEngine(t *testing.T, spec *ast.Spec, kind engines.Kind) {
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
		t.Errorf("%s: %v", kind, err)
	}
	o.Random, o.Seed = 20, uint64(time.Now().Unix()/86400)
	random, err := replay.Replay(t.Context(), spec, o)
	if err != nil {
		t.Errorf("%s: %v", kind, err)
	}
	for _, r := range append(histories, random...) {
		if r.Answer == replay.Weaker || r.Answer == replay.Flaky {
			t.Errorf("%s, %s: %s: %s", kind, r.History, r.Answer, r.Reason)
		}
	}
}

// TestRandomSpecsOnEngines acts out random specs (RELPLAN_LONG=1).
func TestRandomSpecsOnEngines(t *testing.T) {
	if !long() {
		t.Skip("RELPLAN_LONG=1 acts out dozens of random specs on every engine")
	}
	for _, kind := range sqlKinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			enginetest.Need(t, kind)
			for seed := range uint64(150) {
				src := randomSpec(rand.New(rand.NewPCG(seed, 2)))
				if src == "" {
					continue
				}
				s, ds := specs.Load(fmt.Sprintf("random%d.yaml", seed), []byte(src))
				if s == nil {
					t.Fatalf("seed %d: %v\n%s", seed, ds, src)
				}
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					onEngine(t, s.Variants()[0], kind)
					if t.Failed() {
						t.Log(src)
					}
				})
			}
		})
	}
}
