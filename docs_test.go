package relplan

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// block is a fenced console block of a page: commands that start with "$ ",
// each followed by what it prints. A line "..." stands for any number of lines.
type block struct {
	file       string
	start, end int // lines of the page between the fences
	lines      []string
}

// consoleBlocks finds the blocks of a page that run relplan.
func consoleBlocks(file string, page []string) []block {
	var out []block
	for i := 0; i < len(page); i++ {
		if page[i] != "```console" {
			continue
		}
		end := i + 1
		for end < len(page) && page[end] != "```" {
			end++
		}
		lines := page[i+1 : end]
		if len(lines) > 0 && strings.HasPrefix(lines[0], "$ ") && strings.Contains(lines[0], "relplan") {
			out = append(out, block{file, i + 1, end, lines})
		}
		i = end
	}
	return out
}

// TestDocs runs every example of README.md and docs/ and compares what it
// prints; UPDATE_GOLDEN=1 rewrites the pages (blocks without "..." only).
func TestDocs(t *testing.T) {
	bin := buildBinary(t)
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	more, _ := filepath.Glob("docs/*/*.md")
	ran := 0
	for _, file := range append(append(pages, more...), "README.md") {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		page := strings.Split(string(src), "\n")
		blocks := consoleBlocks(file, page)
		ran += len(blocks)
		for i := len(blocks) - 1; i >= 0; i-- { // from the end, so that line numbers stay true
			b := blocks[i]
			got := runBlock(t, bin, b)
			if matchLines(b.lines, got) {
				continue
			}
			if os.Getenv("UPDATE_GOLDEN") == "" || strings.Contains("\n"+strings.Join(b.lines, "\n")+"\n", "\n...\n") {
				t.Errorf("%s:%d: the example prints\n%s", b.file, b.start+1, strings.Join(got, "\n"))
				continue
			}
			page = append(page[:b.start:b.start], append(got, page[b.end:]...)...)
		}
		if out := strings.Join(page, "\n"); out != string(src) {
			if err := os.WriteFile(file, []byte(out), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if ran == 0 {
		t.Error("no page has an example")
	}
}

func buildBinary(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", filepath.Join(dir, "relplan"), "./cmd/relplan").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// runBlock runs the commands of a block in the root of the repository and gives
// the block as it should stand.
func runBlock(t *testing.T, bin string, b block) []string {
	t.Helper()
	var out []string
	for _, line := range b.lines {
		text, isCommand := strings.CutPrefix(line, "$ ")
		if !isCommand {
			continue
		}
		out = append(out, line)
		cmd := exec.Command("sh", "-c", text)
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "NO_COLOR=1")
		var both bytes.Buffer
		cmd.Stdout, cmd.Stderr = &both, &both
		_ = cmd.Run() // exit codes are part of what the page says, see `echo $?`
		if s := strings.TrimRight(both.String(), "\n"); s != "" {
			out = append(out, strings.Split(s, "\n")...)
		}
	}
	return out
}

// matchLines compares what stands with what was printed.
func matchLines(want, got []string) bool {
	for len(want) > 0 {
		if want[0] == "..." {
			for skip := 0; skip <= len(got); skip++ {
				if matchLines(want[1:], got[skip:]) {
					return true
				}
			}
			return false
		}
		if len(got) == 0 || strings.TrimRight(want[0], " ") != strings.TrimRight(got[0], " ") {
			return false
		}
		want, got = want[1:], got[1:]
	}
	return len(got) == 0
}

func TestMatchLines(t *testing.T) {
	for _, c := range []struct {
		want, got string
		ok        bool
	}{
		{"a\nb", "a\nb", true}, {"a", "a\nb", false}, {"a\n...", "a\nb\nc", true}, {"...\nc", "a\nb\nc", true}, {"a\n...\nd", "a\nb\nc", false}, {"a\n...\nb", "a\nb", true},
	} {
		if matchLines(strings.Split(c.want, "\n"), strings.Split(c.got, "\n")) != c.ok {
			t.Errorf("%q against %q: want %v", c.want, c.got, c.ok)
		}
	}
}
