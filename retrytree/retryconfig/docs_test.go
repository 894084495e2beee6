package retryconfig

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestReadingsTable holds the table of docs/retries.md to the readers. UPDATE_GOLDEN=1
// writes it.
func TestReadingsTable(t *testing.T) {
	const file, begin, end = "../../docs/retries.md", "<!-- readings: made by the test of the readers, do not edit -->\n", "<!-- end of readings -->"
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok1 := strings.Cut(string(raw), begin)
	old, tail, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatal("the marks of the table are missing")
	}
	var b strings.Builder
	b.WriteString("\n| product | setting | counts | 3 | absent | 0 | -1 |\n| --- | --- | --- | ---: | ---: | ---: | ---: |\n")
	for _, r := range Readings() {
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s | %s | %s | %s |\n", r.Reader, r.Setting, r.Counts, r.Three, r.Absent, r.Zero, r.Minus)
	}
	fmt.Fprintf(&b, "\nKinds of statements: %s.\n\n", strings.Join(StatementKinds(), ", "))
	if old == b.String() {
		return
	}
	if os.Getenv("UPDATE_GOLDEN") == "" {
		t.Fatal("the table of docs/retries.md is not what the readers give: run with UPDATE_GOLDEN=1")
	}
	if err := os.WriteFile(file, []byte(head+begin+b.String()+end+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}
