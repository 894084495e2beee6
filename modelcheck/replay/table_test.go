package replay_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/modelcheck/replay"
)

const enginesPage = "../../docs/engines.md"

// marks on the page, around what is generated.
type marks struct{ begin, end []byte }

func marksOf(name string) marks {
	return marks{[]byte("<!-- " + name + " begin -->\n"), []byte("<!-- " + name + " end -->")}
}

// find gives the page in three parts: what stands between the marks is the
// second.
func (m marks) find(t *testing.T, page []byte) [3][]byte {
	begin, end := bytes.Index(page, m.begin), bytes.Index(page, m.end)
	if begin < 0 || end < begin {
		t.Fatalf("%s has no place %s", enginesPage, m.begin)
	}
	begin += len(m.begin)
	return [3][]byte{page[:begin], page[begin:end], page[end:]}
}

func readPage(t *testing.T) []byte {
	page, err := os.ReadFile(enginesPage)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

func writePage(t *testing.T, parts [3][]byte) {
	if err := os.WriteFile(enginesPage, slices.Concat(parts[0], parts[1], parts[2]), 0o644); err != nil {
		t.Fatal(err)
	}
}

// compareTable holds the answers against the page. `UPDATE_GOLDEN=1` writes it.
// Engines that are not there leave their column out of the comparison.
func compareTable(t *testing.T, answers map[cell]map[engines.Kind]*replay.Run) {
	parts := marksOf("replay table").find(t, readPage(t))
	confirmedTwice(t, answers)
	if os.Getenv("RELPLAN_ENGINES") == "embedded" {
		t.Log("NOT_RUN: the page is compared only where every engine has run")
		return
	}
	got := []byte(table(answers))
	if bytes.Equal(parts[1], got) {
		return
	}
	if os.Getenv("UPDATE_GOLDEN") == "" {
		t.Errorf("the answers are not those of %s; `UPDATE_GOLDEN=1 go test` writes them. Now:\n%s", enginesPage, got)
		return
	}
	parts[1] = got
	writePage(t, parts)
}

// confirmedTwice: every history of an anti-pattern is confirmed on PostgreSQL
// and on MariaDB, and on Redis and JetStream if it has a kv, or the page says
// which step is refused.
func confirmedTwice(t *testing.T, answers map[cell]map[engines.Kind]*replay.Run) {
	for c, by := range answers {
		for kind, r := range by {
			if kind != engines.SQLite && c.history != "good run" && r.Answer != replay.Confirmed && r.Answer != replay.Stricter && !noForm(r) {
				t.Errorf("%s %s, %s on %s: %s: %s", c.pattern, c.variant, c.history, kind, r.Answer, r.Reason)
			}
		}
	}
}

// noForm: what only PostgreSQL, or only Redis, has.
func noForm(r *replay.Run) bool {
	return strings.Contains(r.Reason, "settled(") || strings.Contains(r.Reason, "script")
}

// table is the page's text: one line for each history, a column for each
// engine, and what is not CONFIRMED with its reason below.
func table(answers map[cell]map[engines.Kind]*replay.Run) string {
	var b strings.Builder
	b.WriteString("Every history of the library and a good run of every variant, acted out by `relplan replay` with the sql stores on the engine of the column, kv on\n" +
		"Redis, queues and logs on JetStream and providers on the stub; in the last column kv on JetStream and sql on SQLite. What the answers mean stands in [replay.md](replay.md); a number leads to the step below.\n\n")
	b.WriteString("| pattern | variant | history | SQLite | PostgreSQL | MariaDB | JetStream kv |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	var notes []string
	cells := slices.SortedFunc(maps.Keys(answers), func(a, b cell) int {
		return strings.Compare(a.pattern+"\x00"+a.variant+"\x00"+a.history, b.pattern+"\x00"+b.variant+"\x00"+b.history)
	})
	for _, c := range cells {
		fmt.Fprintf(&b, "| %s | %s | %s |", c.pattern, c.variant, c.history)
		for _, kind := range columns {
			r := answers[c][kind]
			if r == nil {
				b.WriteString(" |")
				continue
			}
			fmt.Fprintf(&b, " %s", r.Answer)
			if r.Answer != replay.Confirmed {
				n := slices.Index(notes, r.Reason) + 1
				if n == 0 {
					notes = append(notes, r.Reason)
					n = len(notes)
				}
				fmt.Fprintf(&b, " (%d)", n)
			}
			b.WriteString(" |")
		}
		b.WriteString("\n")
	}
	for i, n := range notes {
		fmt.Fprintf(&b, "\n%d. %s", i+1, n)
	}
	b.WriteString("\n")
	return b.String()
}
