package retryconfig

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// WalkOptions bound a walk.
type WalkOptions struct {
	Workers int       // parallel readers; 0: the processors
	In      io.Reader // read for the path "-"
}

// ReadPaths reads files and folders. Folders are walked: hidden folders (but .github and
// the like), dependencies and build results are left out, as are the files that
// .gitignore and .relplanignore name, and links are not followed. Files come in the
// order of their paths, each argument after the other, no file twice. A file that paths
// names itself, and standard input, is read as ParseNamed does.
func ReadPaths(ctx context.Context, paths []string, o WalkOptions) ([]*File, error) {
	var names []string
	seen, given := map[string]bool{}, map[string]bool{}
	for _, p := range paths {
		if p == "-" {
			names = append(names, p)
			continue
		}
		info, err := os.Stat(p)
		if err != nil {
			return nil, err
		}
		list := []string{p}
		if info.IsDir() {
			if list, err = walkFolder(ctx, p); err != nil {
				return nil, err
			}
		} else {
			given[filepath.Clean(p)] = true
		}
		for _, n := range list {
			if key := filepath.Clean(n); !seen[key] {
				seen[key] = true
				names = append(names, n)
			}
		}
	}
	files, err := readAll(ctx, names, given, o)
	if err != nil {
		return nil, err
	}
	more, err := readAll(ctx, namedByPlans(files, seen), nil, o)
	files = append(files, more...)
	if err == nil {
		link(files)
	}
	return files, err
}

// namedByPlans lists the files that plans take numbers from and that were not read. One
// that is not there is left to the plan's own checks.
func namedByPlans(files []*File, seen map[string]bool) []string {
	var out []string
	for _, f := range files {
		for _, c := range f.Calls {
			p := filepath.Join(filepath.Dir(f.Path), filepath.FromSlash(c.File))
			if c.File == "" || f.Path == "<stdin>" || seen[p] {
				continue
			}
			seen[p] = true
			if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() {
				out = append(out, p)
			}
		}
	}
	return out
}

func readAll(ctx context.Context, names []string, given map[string]bool, o WalkOptions) ([]*File, error) {
	out, errs := make([]*File, len(names)), make([]error, len(names))
	workers := o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(workers, max(len(names), 1)) {
		wg.Go(func() {
			for i := range next {
				out[i], errs[i] = readOne(names[i], given[filepath.Clean(names[i])], o.In)
			}
		})
	}
feed:
	for i := range names {
		select {
		case next <- i:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func readOne(name string, given bool, in io.Reader) (*File, error) {
	if name == "-" {
		src, err := io.ReadAll(io.LimitReader(in, MaxBytes+1))
		if err != nil {
			return nil, fmt.Errorf("standard input: %w", err)
		}
		r := ParseNamed("<stdin>", src)
		r.istio, r.settings = nil, nil // standard input has no folder
		return r, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return nil, err
	}
	parse := Parse
	if given {
		parse = ParseNamed
	}
	r := parse(name, src)
	if len(r.Hops) == 0 && len(r.Facts) == 0 && r.settings == nil {
		r.Source = nil // nothing of it is shown: do not hold ten thousand files in memory
	}
	return r, nil
}

// skipDirs are folders that hold no configuration of one's own.
var skipDirs = map[string]bool{"node_modules": true, "vendor": true, "target": true, "dist": true, "__pycache__": true, "venv": true, "bower_components": true, "third_party": true}

// hiddenDirs are the hidden folders that are looked into.
var hiddenDirs = map[string]bool{".github": true, ".gitlab": true, ".aws": true, ".circleci": true, ".tekton": true, ".argo": true, ".config": true, ".helm": true}

// skipExt are files that hold no text.
var skipExt = map[string]bool{".png": true, ".jpg": true, ".jpeg": true, ".gif": true, ".ico": true, ".webp": true, ".svg": true, ".pdf": true, ".zip": true, ".gz": true, ".tgz": true,
	".tar": true, ".jar": true, ".class": true, ".exe": true, ".dll": true, ".so": true, ".dylib": true, ".o": true, ".a": true, ".woff": true, ".woff2": true, ".ttf": true, ".mp4": true,
	".mp3": true, ".wasm": true, ".pyc": true, ".db": true, ".sqlite": true, ".parquet": true, ".lock": true, ".sum": true, ".min.js": true, ".map": true}

func walkFolder(ctx context.Context, root string) ([]string, error) {
	var out []string
	rules := map[string][]ignoreRule{}
	err := filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			if e != nil && e.IsDir() {
				return fs.SkipDir // a folder that may not be read
			}
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		rel, _ := filepath.Rel(root, p)
		rel = filepath.ToSlash(rel)
		name := e.Name()
		if e.IsDir() {
			if rel != "." && (skipDirs[name] || strings.HasPrefix(name, ".") && !hiddenDirs[name] || ignored(rules, rel, true)) {
				return fs.SkipDir
			}
			if own := readIgnore(p); own != nil {
				rules[rel] = own
			}
			return nil
		}
		if e.Type().IsRegular() && !skipExt[strings.ToLower(filepath.Ext(name))] && !ignored(rules, rel, false) {
			out = append(out, p)
		}
		return nil
	})
	slices.Sort(out)
	return out, err
}

// ignoreRule is one pattern of an ignore file.
type ignoreRule struct {
	re      *regexp.Regexp
	negate  bool
	dirOnly bool
}

// readIgnore reads the ignore files of a folder.
func readIgnore(dir string) []ignoreRule {
	var out []ignoreRule
	for _, name := range []string{".gitignore", ".relplanignore"} {
		src, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || len(src) > 1<<20 {
			continue
		}
		for _, l := range strings.Split(string(src), "\n") {
			if r, ok := ignorePattern(strings.TrimRight(l, " \r")); ok {
				out = append(out, r)
			}
		}
	}
	return out
}

// ignorePattern translates one line in the way of gitignore.
func ignorePattern(l string) (ignoreRule, bool) {
	var r ignoreRule
	if l == "" || l[0] == '#' {
		return r, false
	}
	if l[0] == '!' {
		r.negate, l = true, l[1:]
	}
	if strings.HasSuffix(l, "/") {
		r.dirOnly, l = true, strings.TrimSuffix(l, "/")
	}
	anchored := strings.Contains(l, "/")
	l = strings.TrimPrefix(l, "/")
	var b strings.Builder
	b.WriteString("^")
	if !anchored {
		b.WriteString("(.*/)?")
	}
	for i := 0; i < len(l); i++ {
		switch {
		case strings.HasPrefix(l[i:], "**/"):
			b.WriteString("(.*/)?")
			i += 2
		case strings.HasPrefix(l[i:], "**"):
			b.WriteString(".*")
			i++
		case l[i] == '*':
			b.WriteString("[^/]*")
		case l[i] == '?':
			b.WriteString("[^/]")
		default:
			b.WriteString(regexp.QuoteMeta(l[i : i+1]))
		}
	}
	re, err := regexp.Compile(b.String() + "$")
	r.re = re
	return r, err == nil && l != ""
}

// ignored applies the rules of every folder above, the last match wins.
func ignored(rules map[string][]ignoreRule, rel string, dir bool) bool {
	result := false
	apply := func(base string) {
		name := rel
		if base != "." {
			name = strings.TrimPrefix(rel, base+"/")
		}
		for _, r := range rules[base] {
			if (!r.dirOnly || dir) && r.re.MatchString(name) {
				result = !r.negate
			}
		}
	}
	if len(rules) == 0 {
		return false
	}
	apply(".")
	for i, c := range rel {
		if c == '/' {
			apply(path.Clean(rel[:i]))
		}
	}
	return result
}
