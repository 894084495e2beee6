package lab_test

import (
	"context"
	"testing"
	"time"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/internal/engines/enginetest"
	"github.com/relplan/relplan/modelcheck/replay"
	"github.com/relplan/relplan/modelcheck/replay/lab"
	"github.com/relplan/relplan/specs"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

func servers(t testing.TB) replay.Servers {
	return func(_ context.Context, kind engines.Kind) (string, error) { return enginetest.Need(t, kind).DSN, nil }
}

// Every spec of the labs is checked in full: what a lab shows in one history,
// the model says of all.
func TestSpecsAsExpected(t *testing.T) {
	for _, name := range lab.Names() {
		s, err := lab.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Check(context.Background(), specs.CheckOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Exit() != 0 {
			t.Errorf("%s: exit %d", name, r.Exit())
		}
	}
}

func TestInbox(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cases, boundary, err := lab.Inbox(ctx, "all", servers(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		if !c.Pass {
			t.Errorf("%s %s: %s", c.Case, c.Label, c.Reason)
		}
	}
	if len(boundary.Ran) != 2 || len(boundary.NotRun) != 0 {
		t.Errorf("boundary %+v", boundary)
	}
	if len(cases) != 7 {
		t.Errorf("%d cases", len(cases))
	}
}
