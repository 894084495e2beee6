package lint

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/relplan/relplan/retrytree/retryconfig"
)

// BenchmarkTenThousandFiles reads and judges a folder of 10,000 files, made of the small
// files of the corpus: every kind, good and broken ones. Reported are files per second.
func BenchmarkTenThousandFiles(b *testing.B) {
	const n = 10_000
	var sources [][]byte
	var names []string
	err := filepath.WalkDir("../retryconfig/testdata/corpus", func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == "EXPECTED.json" {
			return err
		}
		src, err := os.ReadFile(p)
		if len(src) < 9000 {
			sources, names = append(sources, src), append(names, e.Name())
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	root := b.TempDir()
	for i := range n {
		dir := filepath.Join(root, strconv.Itoa(i/100))
		if i%100 == 0 {
			if err := os.Mkdir(dir, 0o755); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(i)+"-"+names[i%len(names)]), sources[i%len(sources)], 0o644); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		files, err := retryconfig.ReadPaths(context.Background(), []string{root}, retryconfig.WalkOptions{})
		if err != nil || len(files) != n {
			b.Fatal(len(files), err)
		}
		if len(Run(files, Options{})) < n {
			b.Fatal("too few findings")
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "files/s")
}
