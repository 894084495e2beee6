package yamlx

import (
	"strings"
	"testing"
	"time"
)

// Every kind of syntax error names its place, what was found and expected.
func TestSyntaxErrors(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"a: b: c\n", "f.yaml:1:5: a ':' stands where no key can be, expected a value"},
		{"x: 1\n  y: 2\n", "f.yaml:2:4: a ':' stands where no key can be"},
		{"foo\nbar: 1\n", "f.yaml:2:4: a ':' stands where no key can be"},
		{"a: [1, 2\nb: 3\n", "f.yaml:1:4: the list that begins here is not finished, expected ',' or ']'"},
		{"b: 3\na: [1,\n  2\nc: 1\n", "f.yaml:2:4: the list that begins here"},
		{"a: {b: 1\nc: 2\n", "f.yaml:1:4: the mapping that begins here is not finished, expected ',' or '}'"},
		{"s:\n  - {a: b, row: {a: 1}\n  - c: m\n", "f.yaml:2:5: the mapping that begins here"},
		{"b: 1\nx: \"abc\nc: 2\n", "f.yaml:2:4: the quoted text that begins here does not end, expected the closing quote"},
		{"a: - b\n", "f.yaml:1:4: a list begins where it cannot, expected a value, found '-'"},
		{"a: ? b\n", "f.yaml:1:4: a key begins where it cannot, expected a value, found '?'"},
		{"a:\n  - b\n c: 1\n", "f.yaml:3:2: no further key of the mapping begins here, expected a key in the column of the others, found 'c:'"},
		{"a:\n  - b: 1\n   c: 1\n", "f.yaml:3:4: no further entry of the list begins here, expected '- ' in the column of the other entries, found 'c:'"},
		{"a: 1\nb\nc: 2\n", "f.yaml:2:1: a key without its colon, expected ':' and a space after the key, found 'b'"},
		{"a: @x\n", "f.yaml:1:4: a value cannot begin with this character, expected a text in quotes, found '@x'"},
		{"a: \"x\\qy\"\n", "f.yaml:1:4: an unknown escape in a text in double quotes"},
		{"a: \"\\x4g\"\n", `f.yaml:1:4: \\x, \\u and \\U take 2, 4 and 8 hexadecimal digits`},
		{"a: &  x\n", "f.yaml:1:4: & and * are followed by the name of an anchor, expected a name, found '&'"},
		{"a: | x\n  y\n", "f.yaml:1:6: | and > stand at the end of their line"},
		{"a: !foo!bar x\n", "f.yaml:1:8: a value that begins with ! is a tag that is not known here"},
		{"a: b\nc: *nope\n", "f.yaml:2:4: no anchor &nope stands before its alias *nope"},
		{"a: b\n...\nc: d\n", "f.yaml:3:1: the document has ended"},
		{"a: \x01\n", "f.yaml:1:4: a control character, expected text, found character 0x01"},
		{"a:\n \tb: 1\n", "f.yaml:2:2: a tab is used to indent, expected spaces"},
	} {
		_, l := parseOne(t, c.src)
		err := l.Err()
		if err == nil || !strings.Contains(err.Error(), strings.ReplaceAll(c.want, `\\`, `\`)) {
			t.Errorf("%q: got %v, want %q", c.src, err, c.want)
			continue
		}
		if strings.Contains(err.Error(), "yaml:") && !strings.Contains(err.Error(), "f.yaml:") || strings.Contains(err.Error(), "did not find") {
			t.Errorf("%q: the library speaks: %v", c.src, err)
		}
	}
}

// The place of an error in a large file is given up, not searched for ever.
func TestSyntaxErrorInLargeFile(t *testing.T) {
	src := strings.Repeat("- {a: 1, b: [1, 2, 3], c: 'text'}\n", 15000) + "- x: y: z\n"
	start := time.Now()
	_, l := parseOne(t, src)
	err := l.Err()
	if err == nil || !strings.Contains(err.Error(), "a ':' stands where no key can be") {
		t.Errorf("got %v", err)
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("took %v", took)
	}
}
