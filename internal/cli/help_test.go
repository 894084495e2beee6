package cli

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// codesInSources finds every code that a diagnostic of the module can carry: the
// Code of a diag.Diagnostic, and the code argument of the functions that make
// one.
func codesInSources(t *testing.T) map[string]string {
	t.Helper()
	consts := map[string]map[string]string{} // by folder and name
	var files []*ast.File
	folder := map[*ast.File]string{}
	fset := token.NewFileSet()
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testdata") {
			return err
		}
		f, err := parser.ParseFile(fset, path, nil, 0)
		if err != nil {
			return err
		}
		files, folder[f] = append(files, f), filepath.Dir(path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if consts[folder[f]] == nil {
			consts[folder[f]] = map[string]string{}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok {
				for i, name := range v.Names {
					if i < len(v.Values) {
						if s, ok := literal(v.Values[i]); ok {
							consts[folder[f]][name.Name] = s
						}
					}
				}
			}
			return true
		})
	}
	out := map[string]string{}
	isCode := regexp.MustCompile(`^[A-Z][A-Z-]*\d*$`)
	for _, f := range files {
		add := func(e ast.Expr) {
			s, ok := literal(e)
			if id, is := e.(*ast.Ident); is {
				s, ok = consts[folder[f]][id.Name], true
			}
			if ok && isCode.MatchString(s) {
				out[s] = fset.Position(e.Pos()).String()
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.CompositeLit:
				if x.Type != nil && typeName(x.Type) != "Diagnostic" { // nil: an element of a list
					return true
				}
				for _, el := range x.Elts {
					if kv, ok := el.(*ast.KeyValueExpr); ok {
						if k, ok := kv.Key.(*ast.Ident); ok && k.Name == "Code" {
							add(kv.Value)
						}
					}
				}
			case *ast.CallExpr:
				if len(x.Args) >= 2 && makesDiagnostic[typeName(x.Fun)] {
					add(x.Args[1])
				}
			}
			return true
		})
	}
	return out
}

var makesDiagnostic = map[string]bool{"Errorf": true, "Warnf": true, "AddErr": true, "errorf": true, "warnf": true}

func literal(e ast.Expr) (string, bool) {
	b, ok := e.(*ast.BasicLit)
	if !ok || b.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(b.Value)
	return s, err == nil
}

func typeName(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	}
	return ""
}

// Every code that an error document can carry has a page.
func TestEveryCodeHasAPage(t *testing.T) {
	codes := codesInSources(t)
	for _, c := range []string{"FILE", "USAGE", "YAML", "DDL", "PLAN-KEY", "PLAN-VALUE", "PLAN-REF", "PLAN-CYCLE", "RP001", "RP090"} {
		if codes[c] == "" {
			t.Errorf("%s was not found in the sources: the search is broken", c)
		}
	}
	for c, at := range codes {
		page, ok := lookupHelp(c)
		if !ok {
			t.Errorf("%s: no page explains %s", at, c)
		} else if page.Title == "" || page.Text == "" {
			t.Errorf("%s: the page of %s is empty", at, c)
		}
	}
	for _, p := range inputPages {
		if codes[p.Code] == "" {
			t.Errorf("%s is explained but never reported", p.Code)
		}
	}
}

// The examples of a page do what it says: the first gives its code, the second
// does not.
func TestInputPagesAreTrue(t *testing.T) {
	for _, p := range inputPages {
		if p.Before == "" {
			continue
		}
		if got := codesOf(t, p, p.Before); !strings.Contains(got, `"code": "`+p.Code+`"`) {
			t.Errorf("%s: its example gives\n%s", p.Code, got)
		}
		if got := codesOf(t, p, p.After); strings.Contains(got, `"code": "`+p.Code+`"`) {
			t.Errorf("%s: what is right gives\n%s", p.Code, got)
		}
	}
}

func codesOf(t *testing.T, p helpText, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	args := []string{"plan", path, "-o", "json"}
	switch {
	case p.Code == "DDL":
		args = []string{"capacity", "--engine", "postgres", "--ddl", path, "--rows", "1000", "-o", "json"}
	case strings.HasPrefix(p.Code, "PLAN-"):
		text = "relplan: v1\nplan: example\n" + text
	}
	if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	Main(args, Streams{In: strings.NewReader(""), Out: &out, Err: &errs, Now: time.Now, Env: func(string) string { return "" }})
	return out.String() + errs.String()
}

// Every command that the help lists shows how it is used.
func TestEveryCommandHasAnExample(t *testing.T) {
	f := &factory{Streams: Streams{Env: func(string) string { return "" }}, sources: map[string][]byte{}}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Hidden {
			return
		}
		if strings.TrimSpace(c.Example) == "" {
			t.Errorf("%s has no example", c.CommandPath())
		}
		for line := range strings.SplitSeq(strings.TrimRight(c.Example, "\n"), "\n") {
			if !strings.HasPrefix(line, "  ") {
				t.Errorf("%s: the example %q is not indented", c.CommandPath(), line)
			}
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(f))
}
