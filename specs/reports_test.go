package specs

import (
	"context"
	"path/filepath"
	"testing"
)

// TestReports: the fifty public reports break, or hold, as their files expect.
func TestReports(t *testing.T) {
	files, _ := filepath.Glob("testdata/reports/*.yaml")
	if len(files) != 50 {
		t.Fatalf("%d files", len(files))
	}
	for _, f := range files {
		s, ds := load(t, f)
		if s == nil {
			t.Error(ds)
			continue
		}
		v, err := s.Check(context.Background(), CheckOptions{})
		if err != nil {
			t.Error(err)
			continue
		}
		if v.Exit() != 0 {
			t.Errorf("%s: %s", filepath.Base(f), v.Summary())
		}
		for _, x := range v.Variants {
			if x.AsExpected == nil {
				t.Errorf("%s: variant %s expects nothing", f, x.Name())
			}
		}
	}
}
