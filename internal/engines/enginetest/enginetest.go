// Package enginetest gives tests a private server: started once a test
// process, stopped when it ends.
package enginetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/relplan/relplan/internal/engines"
)

var (
	mu      sync.Mutex
	running = map[engines.Kind]*engines.Server{}
)

// Main runs the tests of a package and stops every server they started.
func Main(m *testing.M) {
	code := m.Run()
	mu.Lock()
	defer mu.Unlock()
	for kind, s := range running {
		if err := s.Stop(); err != nil {
			fmt.Fprintf(os.Stderr, "stopping %s: %v\n", kind, err)
			code = 1
		}
	}
	os.Exit(code)
}

// Need gives the server of the kind, starting it at the first call; the
// package's TestMain must be Main. A missing engine fails the test, unless the
// user chose to go without (RELPLAN_ENGINES=embedded): then the test is skipped
// and prints NOT_RUN with the reason.
func Need(t testing.TB, kind engines.Kind) *engines.Server {
	t.Helper()
	mu.Lock()
	defer mu.Unlock()
	if s := running[kind]; s != nil {
		return s
	}
	s, err := engines.Start(context.Background(), kind)
	var u *engines.Unavailable
	switch {
	case err == nil:
		running[kind] = s
		return s
	case errors.As(err, &u) && os.Getenv("RELPLAN_ENGINES") == "embedded":
		t.Skipf("NOT_RUN: %v", err)
	default:
		t.Fatalf("%v; install it with `make engines`, or go without with `make test-embedded`", err)
	}
	return nil
}
