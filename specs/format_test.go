package specs

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/filekind"
	"github.com/relplan/relplan/internal/yamlx"
)

func format(t interface{ Fatalf(string, ...any) }, src string, o FormatOptions) string {
	out, ds := Format("x.yaml", []byte(src), o)
	if ds != nil {
		t.Fatalf("%v", ds)
	}
	return string(out)
}

var commentForm = regexp.MustCompile(`(^|\s)#.*$`)

func comments(src string) []string {
	var out []string
	for _, l := range strings.Split(src, "\n") {
		if c := commentForm.FindString(strings.TrimRight(l, " \t\r")); c != "" {
			out = append(out, strings.TrimSpace(c))
		}
	}
	return out
}

func tree(t interface{ Fatalf(string, ...any) }, src string) string {
	l := &diag.List{}
	docs := yamlx.Parse("x", []byte(src), yamlx.Limits{}, l)
	if len(docs) != 1 {
		t.Fatalf("%v", l.Sorted())
	}
	return strings.ReplaceAll(treeText(docs[0]), `"late_requests"`, `"can_arrive_late"`)
}

// same checks what formatting keeps and that it is done at once.
func same(t interface{ Fatalf(string, ...any) }, src string) string {
	out := format(t, src, FormatOptions{})
	if again := format(t, out, FormatOptions{}); again != out {
		t.Fatalf("a second time it changes again:\n%s\n---\n%s", out, again)
	}
	if tree(t, src) != tree(t, out) {
		t.Fatalf("it says something else:\n%s", out)
	}
	if a, b := comments(src), comments(out); !slices.Equal(a, b) {
		t.Fatalf("comments %q became %q", a, b)
	}
	return out
}

// TestFormatKeeps: for every spec, meaning and comments stay, and the given
// ones are in the standard layout but for the old name of a flag.
func TestFormatKeeps(t *testing.T) {
	for _, src := range corpus(t) {
		out := same(t, src)
		if want := strings.ReplaceAll(src, "late_requests: true", "can_arrive_late: true"); out != want && strings.Count(out, "\n") != strings.Count(want, "\n") {
			t.Errorf("lines were lost or added:\n%s", out)
		}
	}
}

// TestFormatRepairs: a spec whose layout is disturbed comes back.
func TestFormatRepairs(t *testing.T) {
	src := format(t, corpus(t)[0], FormatOptions{})
	for name, disturbed := range map[string]string{
		"CRLF and BOM":    "\ufeff" + strings.ReplaceAll(src, "\n", "\r\n"),
		"trailing spaces": strings.ReplaceAll(src, "\n", "  \n"),
		"blank lines":     strings.ReplaceAll(src, "\n\n", "\n\n\n\n"),
		"no last newline": strings.TrimRight(src, "\n"),
		"four spaces":     deeper(src),
		"wide dashes":     strings.ReplaceAll(src, "          - insert: ledger\n            row: {op: m.op}\n            effect:", "          -   insert: ledger\n              row: {op: m.op}\n              effect:"),
		"flat lists":      strings.ReplaceAll(src, "\n  - ", "\n- "),
	} {
		if got := same(t, disturbed); got != src {
			t.Errorf("%s:\n%s", name, got)
		}
	}
}

// deeper doubles every indentation, with dashes as wide as that takes.
func deeper(src string) string {
	var out []string
	for _, l := range strings.Split(src, "\n") {
		n := spaces(l)
		rest := l[n:]
		if strings.HasPrefix(rest, "- ") {
			rest = "-   " + rest[2:]
		}
		out = append(out, strings.Repeat(" ", 2*n)+rest)
	}
	return strings.Join(out, "\n")
}

// TestFormatAnyIndent: with the lines of a spec moved, the layout comes back or
// the file is refused; it never says something else.
func TestFormatAnyIndent(t *testing.T) {
	specs := corpus(t)
	rapid.Check(t, func(t *rapid.T) {
		src := rapid.SampledFrom(specs).Draw(t, "spec")
		for range rapid.IntRange(1, 3).Draw(t, "edits") {
			src = edit(t, src)
		}
		l := &diag.List{}
		if docs := yamlx.Parse("x", []byte(src), yamlx.Limits{}, l); l.HasErrors() || len(docs) != 1 || filekind.Of(docs[0]) != filekind.Spec {
			return
		}
		same(t, src)
	})
}

// TestPromiseStyles: every sentence of every spec becomes a map form and comes
// back as it was, and both load to the same promises.
func TestPromiseStyles(t *testing.T) {
	converted := 0
	for _, src := range corpus(t) {
		before, ds := Load("x.yaml", []byte(src))
		if before == nil {
			continue
		}
		maps := format(t, src, FormatOptions{Promises: AsMaps})
		after, ds2 := Load("x.yaml", []byte(maps))
		if after == nil {
			t.Errorf("%s: %v\n%s", before.System, ds2, maps)
			continue
		}
		_ = ds
		for i, v := range before.Variants() {
			for j, p := range v.Promises {
				q := after.Variants()[i].Promises[j]
				if canonical(p.Text) != canonical(q.Text) || reflect.TypeOf(p.Body) != reflect.TypeOf(q.Body) || p.Name != q.Name {
					t.Errorf("%s: %q became %q", before.System, p.Text, q.Text)
				}
				converted++
			}
		}
		if back := format(t, maps, FormatOptions{Promises: AsSentences}); canonical(back) != canonical(format(t, src, FormatOptions{})) {
			t.Errorf("%s does not come back:\n%s", before.System, back)
		}
		if !strings.Contains(maps, ": {") {
			t.Errorf("%s: nothing became a map", before.System)
		}
	}
	if converted < 150 {
		t.Errorf("%d promises only", converted)
	}
}

// canonical drops the words of a sentence that may be left out.
func canonical(s string) string {
	return strings.ReplaceAll(s, "per m.op at once", "per m.op")
}

// TestBlockMaps: the map form over several lines becomes a sentence too.
func TestBlockMaps(t *testing.T) {
	src := strings.Replace(corpus(t)[0], "  - effect moves_money happens at most once per transfer\n", "  - at_most_once:\n      effect: moves_money\n      per: transfer\n", 1)
	if got := format(t, src, FormatOptions{Promises: AsSentences}); got != corpus(t)[0] {
		t.Errorf("got\n%s", got)
	}
}
