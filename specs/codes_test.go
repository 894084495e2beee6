package specs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEveryCodeIsExplained: each code that the sources mention has a help text,
// and each help text belongs to a code that can occur.
func TestEveryCodeIsExplained(t *testing.T) {
	used := map[string]bool{}
	files, _ := filepath.Glob("*.go")
	lower, _ := filepath.Glob("lower/*.go")
	for _, f := range append(files, lower...) {
		if f == "codes.go" || regexp.MustCompile(`_test\.go$`).MatchString(f) {
			continue
		}
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range regexp.MustCompile(`"RP\d{3}"`).FindAllString(string(src), -1) {
			used[c[1:len(c)-1]] = true
		}
	}
	if len(used) < 30 {
		t.Fatalf("found %d codes only", len(used))
	}
	for c := range used {
		e, ok := LookupCode(c)
		if !ok {
			t.Errorf("%s has no help text", c)
		} else if e.Title == "" || e.Text == "" {
			t.Errorf("%s: title or text is empty", c)
		}
	}
	for _, c := range Codes() {
		if strings.HasPrefix(c.Code, "RPV") {
			continue // rules of findings, see Findings
		}
		if c.Code != "YAML" && c.Code != "RP090" && !used[c.Code] {
			t.Errorf("%s is explained but never reported", c.Code)
		}
	}
}
