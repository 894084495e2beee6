package modeltest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/relplan/relplan/modelcheck"
)

// FuzzSavedHistory: whatever stands in a saved file, reading it neither panics nor
// hangs, and the model decides what it means.
func FuzzSavedHistory(f *testing.F) {
	f.Add([]byte(`{"schema": "relplan.dev/test-history/v1", "spec": "setnx", "promise": "NoLost", "start": 0, "steps": [{"actor": "worker 1", "text": "receive message 1"}]}`))
	f.Add([]byte(`{"schema": "relplan.dev/test-history/v1", "spec": "setnx", "start": -1, "steps": [{"nth": -7}]}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := setnx("setnx")
		s.Dir = t.TempDir()
		if err := os.WriteFile(filepath.Join(s.Dir, "setnx-x.json"), b, 0o600); err != nil {
			t.Fatal(err)
		}
		w, err := modelcheck.NewWalker(s.Model, s.Properties)
		if err != nil {
			t.Fatal(err)
		}
		newStore(s).replay(w)
	})
}
