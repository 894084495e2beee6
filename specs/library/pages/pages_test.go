package pages_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/relplan/relplan/specs/library/pages"
)

// TestPages holds docs/patterns to the library: one page a pattern, an index, and
// nothing else. UPDATE_GOLDEN=1 writes them.
func TestPages(t *testing.T) {
	const dir = "../../../docs/patterns"
	want, err := pages.Make(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	update := os.Getenv("UPDATE_GOLDEN") != ""
	if update {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range want {
		path := filepath.Join(dir, name)
		got, err := os.ReadFile(path)
		switch {
		case err == nil && string(got) == text:
		case !update:
			t.Errorf("%s is not what the spec gives: run with UPDATE_GOLDEN=1", path)
		default:
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Error(err)
			}
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if _, ok := want[f.Name()]; ok {
			continue
		}
		if !update {
			t.Errorf("%s belongs to no pattern", f.Name())
		} else if err := os.Remove(filepath.Join(dir, f.Name())); err != nil {
			t.Error(err)
		}
	}
}
