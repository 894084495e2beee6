package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// docs/capacity-accuracy.md is what the program makes of the saved measurements;
// UPDATE_GOLDEN=1 rewrites it.
func TestAccuracyPageIsGenerated(t *testing.T) {
	args := []string{"capacity", "measure", "-o", "markdown"}
	for _, engine := range []string{"postgres", "innodb", "sqlite", "redis", "nats-stream"} {
		path := filepath.Join("..", "..", "capacity", "measure", "testdata", "accuracy", engine+".json")
		if _, err := os.Stat(path); err == nil {
			args = append(args, "--saved", path)
		}
	}
	if len(args) < 4+2*4 {
		t.Fatalf("measurements are missing: %v", args)
	}
	var out, errs bytes.Buffer
	s := Standard()
	s.Out, s.Err, s.OutTerminal, s.ErrTerminal = &out, &errs, false, false
	if code := Main(args, s); code != 0 {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	page := filepath.Join("..", "..", "docs", "capacity-accuracy.md")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(page, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(page)
	if err != nil || !bytes.Equal(want, out.Bytes()) {
		t.Errorf("docs/capacity-accuracy.md is not what `relplan capacity measure --saved` gives (%v)", err)
	}
}
