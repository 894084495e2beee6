package replay_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/modelcheck/replay"
	"github.com/relplan/relplan/specs/library"
)

// TestWorkersAsProcesses crashes workers with SIGKILL: transactions roll back,
// messages and late requests come back, as with workers in this process.
func TestWorkersAsProcesses(t *testing.T) {
	program := filepath.Join(t.TempDir(), "relplan")
	if out, err := exec.Command("go", "build", "-o", program, "../../cmd/relplan").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, kind := range sqlKinds {
		t.Run(string(kind), func(t *testing.T) {
			s := newStand(t, kind)
			crashed := false
			for _, name := range []string{"inbox-same-transaction", "lost-commit-answer", "setnx-before-write", "external-payment"} {
				crashed = processesOn(t, s, program, name) || crashed
			}
			if !crashed {
				t.Error("no worker was killed")
			}
		})
	}
}

func processesOn(t *testing.T, s *stand, program, name string) (crashed bool) {
	src, err := library.Source(name)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := library.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	how := &replay.Processes{Command: func() *exec.Cmd { return exec.Command(program, "replay-worker") }, File: library.File(name), Source: src}
	for _, v := range spec.Variants() {
		runs, err := replay.Replay(context.Background(), v, replay.Options{Choose: s.choose(v), Servers: s.servers, Processes: how})
		if err != nil {
			t.Fatalf("%s %s: %v", name, v.Variant, err)
		}
		for _, r := range runs {
			if r.Answer != replay.Confirmed && !(s.kind == engines.SQLite && r.Answer == replay.Stricter) {
				t.Errorf("%s %s, %s: %s: %s%s", name, v.Variant, r.History, r.Answer, r.Reason, told(r))
			}
			for _, step := range r.Steps {
				crashed = crashed || step.Engine == "SIGKILL"
			}
		}
	}
	return crashed
}
