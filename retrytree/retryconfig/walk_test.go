package retryconfig

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadPaths(t *testing.T) {
	root := t.TempDir()
	vs := "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: a}\nspec: {http: [{retries: {attempts: 3}, timeout: 1s}]}\n"
	for name, text := range map[string]string{
		"a.yaml": vs, "sub/b.yaml": vs, "sub/skip.yaml": vs, "sub/keep.yaml": vs, "gen/c.yaml": vs, "node_modules/d.yaml": vs, ".git/e.yaml": vs, ".github/f.yaml": vs,
		"picture.png": "retries: 3", "sub/deep/x.tmp": vs, "anchored/y.yaml": vs, "sub/anchored/z.yaml": vs,
		".gitignore": "# comment\n/gen/\n*.tmp\n/anchored\n", "sub/.relplanignore": "*.yaml\n!keep.yaml\n!b.yaml\n!anchored/*.yaml\n",
	} {
		p := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, err := ReadPaths(context.Background(), []string{root, filepath.Join(root, "a.yaml"), "-"}, WalkOptions{In: strings.NewReader(vs)})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		if len(f.Hops) > 0 {
			rel, _ := filepath.Rel(root, f.Path)
			if f.Path == "<stdin>" {
				rel = f.Path
			}
			got = append(got, filepath.ToSlash(rel))
		}
	}
	want := []string{".github/f.yaml", "a.yaml", "sub/anchored/z.yaml", "sub/b.yaml", "sub/keep.yaml", "<stdin>"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if _, err := ReadPaths(context.Background(), []string{filepath.Join(root, "absent.yaml")}, WalkOptions{}); err == nil {
		t.Error("a file that is not there is no error")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := ReadPaths(ctx, []string{root}, WalkOptions{}); err == nil {
		t.Error("a cancelled walk gives a result")
	}
}

func TestGrouped(t *testing.T) {
	src, err := os.ReadFile("testdata/corpus/tricky/huge-virtualservice.yaml")
	if err != nil {
		t.Fatal(err)
	}
	f := Parse("huge.yaml", src)
	g := f.Grouped()
	if len(f.Hops) != 4000 || len(g) != 2 || g[0].Name != "big/monolith#*" || g[0].Count != 3999 || g[1].Name != "big/monolith#route-3987" {
		t.Errorf("%d hops, groups %+v", len(f.Hops), g)
	}
}
