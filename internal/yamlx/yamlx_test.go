package yamlx

import (
	"strings"
	"testing"

	"github.com/relplan/relplan/internal/diag"
)

func parseOne(t *testing.T, src string) (*Node, *diag.List) {
	t.Helper()
	var l diag.List
	docs := Parse("f.yaml", []byte(src), Limits{}, &l)
	if len(docs) == 0 {
		return nil, &l
	}
	return docs[0], &l
}

func TestRefusals(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'k'; c++ {
		p := string(c - 1)
		bomb += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+p+",", 9) + "*" + p + "]\n"
	}
	for _, c := range []struct{ name, src, want string }{
		{"duplicate key", "a: 1\nb: 2\na: 3\n", `f.yaml:3:1: key "a" stands twice`},
		{"duplicate key in flow", "x: {k: 1, k: 2}\n", `f.yaml:1:11: key "k" stands twice`},
		{"tab", "a:\n\tb: 1\n", "f.yaml:2:1: a tab is used to indent"},
		{"alias bomb", bomb, "more than 200000 values once aliases are followed"},
		{"alias in itself", "a: &a [1, *a]\n", "inside its own anchor"},
		{"depth", strings.Repeat("[", 200) + strings.Repeat("]", 200), "nested more than 100 levels"},
		{"not text", "a: \xff\n", "f.yaml:1:4: byte 0xff is not UTF-8 text"},
		{"mapping as key", "{a: 1}: 2\n", "a key must be a single value"},
		{"merge of a scalar", "a: {<<: 5}\n", "<< takes a mapping"},
	} {
		_, l := parseOne(t, c.src)
		err := l.Err()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

func TestReads(t *testing.T) {
	n, l := parseOne(t, "\ufeffbase: &b {x: 1, y: no}\r\nm:\r\n  <<: *b\r\n  x: 2\r\nlist: [on, 'true', true, ~]\r\n")
	if err := l.Err(); err != nil {
		t.Fatal(err)
	}
	m := n.Get("m")
	if x, _ := m.Get("x").Int(); x != 2 {
		t.Errorf("own key does not win over the merged one: %v", m.Get("x").Value())
	}
	if y := m.Get("y"); y.Value() != "no" || y.Tag() != "!!str" {
		t.Errorf("y = %q %s, want text no", y.Value(), y.Tag())
	}
	items := n.Get("list").Items()
	for i, wantOK := range []bool{false, false, true, false} {
		if _, ok := items[i].Bool(); ok != wantOK {
			t.Errorf("item %d: is a boolean = %v, want %v", i, ok, wantOK)
		}
	}
	if items[3].Kind() != Null {
		t.Errorf("~ is %s, want null", items[3].Kind())
	}
}

func TestKeysAreText(t *testing.T) {
	n, _ := parseOne(t, "{null: 1, 5: 2, true: 3, ~: 4}\n")
	var keys []string
	for _, e := range n.Entries() {
		keys = append(keys, e.Key.Value())
	}
	if got := strings.Join(keys, " "); got != "null 5 true ~" {
		t.Errorf("keys %q", got)
	}
}

func TestDocuments(t *testing.T) {
	var l diag.List
	docs := Parse("f", []byte("a: 1\n---\n# only a comment\n---\nb: 2\n"), Limits{}, &l)
	if len(docs) != 2 || l.Err() != nil {
		t.Fatalf("%d documents, %v; want 2", len(docs), l.Err())
	}
	if p := docs[1].Entries()[0].Key.Pos(); p.Line != 5 || p.Column != 1 || p.EndColumn != 2 {
		t.Errorf("position %+v, want line 5, columns 1 to 2", p)
	}
}

func TestPositionInsideScalars(t *testing.T) {
	n, l := parseOne(t, "plain: abc def\nquoted: 'abc'\nblock: |\n  ab\n  cd\nwide: \"é x\"\n")
	if err := l.Err(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		key       string
		off       int
		line, col int
	}{{"plain", 4, 1, 12}, {"quoted", 1, 2, 11}, {"block", 4, 5, 4}, {"wide", 2, 6, 10}} {
		if p := n.Get(c.key).At(c.off); p.Line != c.line || p.Column != c.col {
			t.Errorf("%s offset %d: %d:%d, want %d:%d", c.key, c.off, p.Line, p.Column, c.line, c.col)
		}
	}
}

func TestUnknownKeys(t *testing.T) {
	n, l := parseOne(t, "promisses: 1\nfaults: 2\nzzz: 3\n")
	UnknownKeys(n, l, "X1", "promises", "faults")
	ds := l.Sorted()
	if len(ds) != 2 || ds[0].Hint != "did you mean: promises" || ds[1].Hint != "known keys: promises, faults" {
		t.Errorf("got %v", ds)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"a: 1\n", "- [x, {y: *z}]", "a: &a\n  <<: *a\n", "\t", "|\n a\n", "? [a]\n: b\n", "%YAML 1.1\n---\n!!set {a}\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		var l diag.List
		var walk func(n *Node)
		walk = func(n *Node) {
			n.Pos()
			n.At(len([]rune(n.Value())))
			for _, e := range n.Entries() {
				walk(e.Key)
				walk(e.Value)
			}
			for _, k := range n.Items() {
				walk(k)
			}
		}
		for _, d := range Parse("f", src, Limits{MaxBytes: 1 << 16, MaxNodes: 10_000}, &l) {
			walk(d)
		}
	})
}
