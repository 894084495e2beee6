package replay_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/internal/engines/enginetest"
	"github.com/relplan/relplan/modelcheck/replay"
	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/library"
)

var sqlKinds = []engines.Kind{engines.SQLite, engines.Postgres, engines.MySQL}

// columns of the table: the engine of the sql stores, with kv on Redis, and at
// last JetStream for kv, with sql on SQLite.
var columns = append(slices.Clone(sqlKinds), engines.NATS)

// What `make test-long` does more of.
func schedules() int   { return map[bool]int{false: 50, true: 1000}[long()] }
func repetitions() int { return map[bool]int{false: 1, true: 20}[long()] }
func long() bool       { return os.Getenv("RELPLAN_LONG") != "" }

// stand gives every database of a test the same engine, in place in databases
// that are kept for all its specs: making one takes PostgreSQL half a second.
type stand struct {
	t         testing.TB
	kind      engines.Kind
	kv        engines.Kind // "": the default
	databases []string
}

func newStand(t testing.TB, kind engines.Kind) *stand {
	s := &stand{t: t, kind: kind}
	if kind == engines.NATS {
		s.kind, s.kv = engines.SQLite, kind
	} else if kind != engines.SQLite {
		enginetest.Need(t, kind)
	}
	return s
}

func (s *stand) choose(spec *ast.Spec) func(*ast.Resource) replay.Choice {
	n := 0
	mine := map[*ast.Resource]int{}
	for _, r := range spec.Resources {
		if r.Kind == ast.SQLKind {
			mine[r] = n
			n++
		}
	}
	return func(r *ast.Resource) replay.Choice {
		if r.Kind == ast.KVKind && s.kv != "" {
			return replay.Choice{Kind: s.kv}
		}
		if r.Kind != ast.SQLKind {
			return replay.Choice{Kind: replay.DefaultKind(r)}
		}
		if s.kind == engines.SQLite {
			return replay.Choice{Kind: s.kind}
		}
		return replay.Choice{Kind: s.kind, DSN: s.database(mine[r]), InPlace: true}
	}
}

// database is the nth empty database on the private server.
func (s *stand) database(n int) string {
	for len(s.databases) <= n {
		own, err := engines.CreateOwn(context.Background(), enginetest.Need(s.t, s.kind).DSN)
		if err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(func() { _ = own.Drop(context.Background()) })
		s.databases = append(s.databases, own.DSN)
	}
	return s.databases[n]
}

func (s *stand) servers(_ context.Context, kind engines.Kind) (string, error) {
	return enginetest.Need(s.t, kind).DSN, nil
}

// variants of the whole library, by pattern.
func variants(t *testing.T) map[string][]*ast.Spec {
	out := map[string][]*ast.Spec{}
	for _, name := range library.Names() {
		s, err := library.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = s.Variants()
	}
	return out
}

// cell is the answer of one history on one engine.
type cell struct{ pattern, variant, history string }

// TestLibraryHistories acts out every history of the library, and a good run of
// every variant, on every SQL engine, and those with a kv on both engines for it.
// The answers are those of docs/engines.md, and every anti-pattern is confirmed on
// two engines of its kind.
func TestLibraryHistories(t *testing.T) {
	var mu sync.Mutex
	answers := map[cell]map[engines.Kind]*replay.Run{}
	t.Run("engines", func(t *testing.T) {
		for _, kind := range columns {
			t.Run(string(kind), func(t *testing.T) {
				t.Parallel()
				s := newStand(t, kind)
				for name, all := range variants(t) {
					for _, v := range all {
						if kind == engines.NATS && !hasKV(v) {
							continue
						}
						for _, r := range historiesOn(t, s, v, repetitions()) {
							mu.Lock()
							c := cell{name, v.Variant, r.History}
							if answers[c] == nil {
								answers[c] = map[engines.Kind]*replay.Run{}
							}
							answers[c][kind] = r
							mu.Unlock()
						}
					}
				}
			})
		}
	})
	compareTable(t, answers)
}

func hasKV(s *ast.Spec) bool {
	return slices.ContainsFunc(s.Resources, func(r *ast.Resource) bool { return r.Kind == ast.KVKind })
}

func historiesOn(t *testing.T, s *stand, v *ast.Spec, repeat int) []*replay.Run {
	runs, err := replay.Replay(context.Background(), v, replay.Options{Choose: s.choose(v), Servers: s.servers, Repeat: repeat})
	if err != nil {
		t.Errorf("%s %s: %v", v.System, v.Variant, err)
	}
	reportBad(t, v, runs)
	return runs
}

func reportBad(t *testing.T, v *ast.Spec, runs []*replay.Run) {
	for _, r := range runs {
		if r.Answer == replay.Weaker || r.Answer == replay.Flaky {
			t.Errorf("%s %s, %s: %s: %s%s", v.System, v.Variant, r.History, r.Answer, r.Reason, told(r))
		}
	}
}

func told(r *replay.Run) string {
	var b strings.Builder
	for _, s := range r.Steps {
		fmt.Fprintf(&b, "\n%3d %-12s %-90s | %s", s.N, s.Actor, s.Text, s.Engine)
	}
	return b.String()
}

// lanes are the tests that share the patterns of an engine: most of their time
// is waiting.
const lanes = 2

// driveRandom drives random schedules of every safe variant on every engine.
func driveRandom(t *testing.T, tallies *randomTally) {
	t.Run("engines", func(t *testing.T) {
		for _, kind := range sqlKinds {
			for lane := range lanes {
				t.Run(fmt.Sprintf("%s %d", kind, lane+1), func(t *testing.T) {
					t.Parallel()
					driveLane(t, newStand(t, kind), lane, tallies)
				})
			}
		}
	})
}

func driveLane(t *testing.T, s *stand, lane int, tallies *randomTally) {
	all := variants(t)
	for i, name := range slices.Sorted(maps.Keys(all)) {
		if i%lanes != lane {
			continue
		}
		safe := slices.DeleteFunc(all[name], func(v *ast.Spec) bool { return v.Expect == nil || v.Expect.Text != ast.Holds })
		for _, v := range safe {
			runs := randomOn(t, s, v, (schedules()+len(safe)-1)/len(safe), tallies.seed)
			tallies.add(name, v.Variant, s.kind, runs)
		}
	}
}

func randomOn(t *testing.T, s *stand, v *ast.Spec, n int, seed uint64) []*replay.Run {
	runs, err := replay.Replay(context.Background(), v, replay.Options{Choose: s.choose(v), Servers: s.servers, Random: n, Seed: seed})
	if err != nil {
		t.Errorf("%s %s: %v", v.System, v.Variant, err)
	}
	reportBad(t, v, runs)
	return runs
}
