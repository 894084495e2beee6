package specs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/relplan/relplan/internal/diag"
)

func corpus(t testing.TB) []string {
	t.Helper()
	var out []string
	for _, glob := range []string{"testdata/*.yaml", "incidents/*.yaml", "testdata/errors/*.yaml"} {
		files, _ := filepath.Glob(glob)
		for _, f := range files {
			src, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, string(src))
		}
	}
	if len(out) < 70 {
		t.Fatalf("found %d specs", len(out))
	}
	return out
}

// accept loads src and checks what holds for every input: either a spec or an
// error, and positions inside the file.
func accept(t interface{ Fatalf(string, ...any) }, src string) {
	s, ds := Load("f.yaml", []byte(src))
	failed := false
	breaks := strings.NewReplacer("\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")
	lines := strings.Count(breaks.Replace(src), "\n") + 1
	for _, d := range ds {
		failed = failed || d.Severity == diag.Error
		if d.Pos.Line > lines+1 || d.Pos.Line < 0 || d.Pos.Column < 0 {
			t.Fatalf("%s is outside a file of %d lines", d, lines)
		}
		if _, ok := LookupCode(d.Code); !ok {
			t.Fatalf("%s has no help", d)
		}
	}
	if (s == nil) != failed {
		t.Fatalf("spec %v, errors %v", s != nil, failed)
	}
}

func FuzzLoad(f *testing.F) {
	for _, src := range corpus(f) {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) { accept(t, src) })
}

// TestBrokenSpecs loads good specs with lines dropped, doubled or swapped and
// words exchanged between places: no panic, and every answer is well formed.
func TestBrokenSpecs(t *testing.T) {
	specs := corpus(t)
	rapid.Check(t, func(t *rapid.T) {
		src := rapid.SampledFrom(specs).Draw(t, "spec")
		for range rapid.IntRange(1, 4).Draw(t, "edits") {
			src = edit(t, src)
		}
		accept(t, src)
	})
}

func edit(t *rapid.T, src string) string {
	lines := strings.Split(src, "\n")
	i := rapid.IntRange(0, len(lines)-1).Draw(t, "line")
	j := rapid.IntRange(0, len(lines)-1).Draw(t, "other")
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 0:
		lines = append(lines[:i:i], lines[i+1:]...)
	case 1:
		lines = append(lines[:i:i], append([]string{lines[i]}, lines[i:]...)...)
	case 2:
		lines[i], lines[j] = lines[j], lines[i]
	case 3:
		a, b := strings.Fields(lines[i]), strings.Fields(lines[j])
		if len(a) > 0 && len(b) > 0 {
			lines[i] = strings.Replace(lines[i], a[rapid.IntRange(0, len(a)-1).Draw(t, "word")], b[rapid.IntRange(0, len(b)-1).Draw(t, "by")], 1)
		}
	default:
		if n := len(lines[i]); n > 0 {
			k := rapid.IntRange(0, n-1).Draw(t, "char")
			lines[i] = lines[i][:k] + lines[i][k+1:]
		}
	}
	return strings.Join(lines, "\n")
}
