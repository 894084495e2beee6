package relplan

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/relplan/relplan/"

// bans states what a package must never depend on, directly or through others.
var bans = []struct {
	pkg    string // of this module; "dir/..." means all below too
	not    []string
	reason string
}{
	{"capacity", []string{"internal/...", "retrytree/...", "deadline", "modelcheck/...", "specs/...", "reports", "gopkg.in/yaml.v3", "github.com/spf13/cobra"},
		"capacity is arithmetic on plain values: usable as a library without files or commands"},
	{"retrytree", []string{"internal/...", "capacity/...", "modelcheck/...", "specs/...", "reports", "gopkg.in/yaml.v3", "github.com/spf13/cobra"},
		"retrytree is arithmetic on a graph; only deadline may be below it"},
	{"deadline", []string{"internal/...", "capacity/...", "retrytree/...", "modelcheck/...", "specs/...", "reports", "gopkg.in/yaml.v3", "github.com/spf13/cobra"},
		"deadline is embedded in services: the standard library and numerics only"},
	{"modelcheck", []string{"internal/yamlx", "internal/diag", "internal/expr", "internal/plan", "internal/cli", "internal/engines", "capacity/...", "retrytree/...", "deadline", "specs/...", "reports", "gopkg.in/yaml.v3", "github.com/spf13/cobra"},
		"the engine knows no YAML and no protocol"},
	{"modelcheck/ir", []string{"internal/yamlx", "internal/diag", "internal/expr", "internal/plan", "internal/cli", "internal/engines", "specs/...", "reports", "gopkg.in/yaml.v3"},
		"the intermediate form knows no YAML and no store by name"},
	{"reports", []string{"internal/...", "capacity/...", "retrytree/...", "deadline", "modelcheck/...", "specs/...", "gopkg.in/yaml.v3", "github.com/spf13/cobra"},
		"a report is filled by others"},
	{"specs/...", []string{"internal/cli", "internal/plan", "capacity/...", "retrytree/...", "deadline", "github.com/spf13/cobra", "internal/engines"},
		"a spec can be checked without engines, calculators or commands"},
	{"internal/plan", []string{"internal/cli", "github.com/spf13/cobra", "internal/engines"},
		"a plan runs without the command line and without servers"},
}

// onlyImporters states who alone may import a package directly.
var onlyImporters = []struct {
	pkg    string
	by     []string
	reason string
}{
	{"gopkg.in/yaml.v3", []string{"internal/yamlx"}, "one place to guard against alias bombs and to change the library"},
	{"github.com/spf13/cobra", []string{"internal/cli"}, "commands live in one package"},
	{"pgregory.net/rapid", []string{"modelcheck/modeltest", "modelcheck/ir/irtest"}, "it needs testing and global flags: only in packages for tests"},
	{"modernc.org/sqlite", []string{"internal/engines"}, "database drivers live in one package"},
	{"github.com/jackc/pgx/v5", []string{"internal/engines"}, "database drivers live in one package"},
	{"github.com/go-sql-driver/mysql", []string{"internal/engines"}, "database drivers live in one package"},
	{"github.com/redis/go-redis/v9", []string{"internal/engines"}, "database drivers live in one package"},
	{"github.com/nats-io/nats-server/v2/server", []string{"internal/engines"}, "database drivers live in one package"},
}

type listed struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func listPackages(t *testing.T) []listed {
	t.Helper()
	out, err := exec.Command("go", "list", "-deps", "-json=ImportPath,Imports,Deps", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// matches tells whether path is pattern, or below it where it ends in /... .
// A pattern without a dot in its first element is a folder of this module.
func matches(path, pattern string) bool {
	if first, _, _ := strings.Cut(pattern, "/"); !strings.Contains(first, ".") {
		pattern = module + pattern
	}
	if dir, ok := strings.CutSuffix(pattern, "/..."); ok {
		return path == dir || strings.HasPrefix(path, dir+"/")
	}
	return path == pattern
}

func TestImportDirection(t *testing.T) {
	pkgs := listPackages(t)
	for _, b := range bans {
		seen := false
		for _, p := range pkgs {
			if !strings.HasPrefix(p.ImportPath, module) || !matches(p.ImportPath, b.pkg) {
				continue
			}
			seen = true
			for _, d := range p.Deps {
				for _, no := range b.not {
					if matches(d, no) && !matches(d, b.pkg) {
						t.Errorf("%s depends on %s: %s", strings.TrimPrefix(p.ImportPath, module), d, b.reason)
					}
				}
			}
		}
		if !seen {
			t.Errorf("no package %s: the ban checks nothing", b.pkg)
		}
	}
}

func TestOneImporter(t *testing.T) {
	for _, p := range listPackages(t) {
		own, isOurs := strings.CutPrefix(p.ImportPath, module)
		if !isOurs {
			continue
		}
		for _, o := range onlyImporters {
			for _, i := range p.Imports {
				if i == o.pkg && !slices.ContainsFunc(o.by, func(by string) bool { return matches(p.ImportPath, by+"/...") }) {
					t.Errorf("%s imports %s, only %s may: %s", own, o.pkg, strings.Join(o.by, ", "), o.reason)
				}
			}
		}
	}
}
