package retryconfig

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadingFiles reads files of all kinds beyond the corpus and compares the hops, one
// a line, with testdata/readings/expected.txt, whose lines were reviewed when they were
// added. UPDATE_GOLDEN=1 rewrites it.
func TestReadingFiles(t *testing.T) {
	const dir, golden = "testdata/readings", "testdata/readings/expected.txt"
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		if e.Name() == "expected.txt" {
			continue
		}
		src, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		f := Parse(e.Name(), src)
		checkFile(t, f)
		fmt.Fprintf(&b, "%s: %v", e.Name(), f.Status)
		if f.Status != Read {
			fmt.Fprintf(&b, " %s", f.Reason)
		}
		b.WriteString("\n")
		for _, h := range f.Hops {
			fmt.Fprintf(&b, "  %d %s %q attempts %s slow %s one %s call %s worst %s..%s..%s\n", h.Line, h.Kind, h.Name, h.AttemptsText(), textOr(h.Slow), textOr(h.PerTry), textOr(h.Overall),
				textOr(h.WorstLow), textOr(h.Worst), textOr(h.WorstHigh))
			if h.Refused != "" {
				fmt.Fprintf(&b, "    refused: %s\n", h.Refused)
			}
		}
		for _, x := range f.Facts {
			fmt.Fprintf(&b, "  %d:%d %s: %s\n", x.Line, x.Column, x.Rule, x.Message)
		}
	}
	want, _ := os.ReadFile(golden)
	if string(want) == b.String() {
		return
	}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, old := strings.Split(b.String(), "\n"), strings.Split(string(want), "\n")
	for i := range got {
		if i >= len(old) || got[i] != old[i] {
			t.Fatalf("line %d: got %q, want %q", i+1, got[i], append(old, "")[min(i, len(old))])
		}
	}
	t.Fatal("fewer readings than expected")
}
