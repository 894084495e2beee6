package lint

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPages holds docs/lint to the rules: one page a rule and a list. UPDATE_GOLDEN=1
// writes them.
func TestPages(t *testing.T) {
	const dir = "../../docs/lint"
	pages := map[string]string{}
	var b strings.Builder
	b.WriteString("# Rules of `relplan retry lint`\n\nMade from the rules, do not edit. `relplan help RULE` shows a page.\n\n| rule | severity | what it finds |\n| --- | --- | --- |\n")
	for _, r := range Rules {
		pages[r.Code+".md"] = r.Page()
		fmt.Fprintf(&b, "| [%s](%s.md) | %s | %s |\n", r.Code, r.Code, r.Severity, r.Title)
	}
	pages["README.md"] = b.String()
	update := os.Getenv("UPDATE_GOLDEN") != ""
	for name, want := range pages {
		p := filepath.Join(dir, name)
		got, err := os.ReadFile(p)
		if err == nil && string(got) == want {
			continue
		}
		if !update {
			t.Errorf("%s is not what the rule gives: run with UPDATE_GOLDEN=1", p)
		} else if err := os.WriteFile(p, []byte(want), 0o644); err != nil {
			t.Error(err)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if _, ok := pages[f.Name()]; !ok {
			t.Errorf("%s belongs to no rule", f.Name())
		}
	}
}
