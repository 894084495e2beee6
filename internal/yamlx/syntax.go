package yamlx

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"

	"github.com/relplan/relplan/internal/diag"
)

// Syntax errors. The library names a line near the error, often the one before,
// and no column. The place told here is where the text stops being the beginning
// of a readable file: the construct that is wrong begins there.

// words says a message of the library to somebody who does not know its parser.
type words struct {
	library  string // part of the library's message
	message  string
	expected string
	hint     string
	// found: what stands at the place is named.
	found bool
}

var syntaxWords = []words{
	{"mapping values are not allowed", "a ':' stands where no key can be", "a value, or a key on a line of its own",
		"a value that contains ': ' must be quoted, and keys of one mapping start in one column", false},
	{"block sequence entries are not allowed", "a list begins where it cannot", "a value", "begin the list on a line of its own below its key", true},
	{"mapping keys are not allowed", "a key begins where it cannot", "a value", "begin the mapping on a line of its own below its key", true},
	{"did not find expected ',' or ']'", "the list that begins here is not finished", "',' or ']'", "close it with ']'; quote a text that contains a bracket or a comma", false},
	{"did not find expected ',' or '}'", "the mapping that begins here is not finished", "',' or '}'", "close it with '}'; quote a text that contains a brace or a comma", false},
	{"did not find expected '-' indicator", "no further entry of the list begins here", "'- ' in the column of the other entries", "the entries of one list start in one column", true},
	{"did not find expected key", "no further key of the mapping begins here", "a key in the column of the others", "the keys of one mapping start in one column; a list below a key starts with '- '; quote the whole of a text", true},
	{"could not find expected ':'", "a key without its colon", "':' and a space after the key", "write `key: value`; a text of several lines follows a | or >", true},
	{"found character that cannot start any token", "a value cannot begin with this character", "a text in quotes", "quote it", true},
	{"found unexpected end of stream", "the quoted text that begins here does not end", "the closing quote", "close the quote; inside single quotes '' is one", false},
	{"found unknown escape character", "an unknown escape in a text in double quotes", `an escape such as \n, or \\ for a backslash`, "use single quotes: nothing is escaped there", true},
	{"hexdecimal", `\x, \u and \U take 2, 4 and 8 hexadecimal digits`, "a hexadecimal digit", "use single quotes: nothing is escaped there", true},
	{"alphabetic or numeric character", "& and * are followed by the name of an anchor", "a name", "quote a value that begins with & or *", true},
	{"comment or line break", "| and > stand at the end of their line", "the end of the line", "quote a value that begins with | or >", true},
	{"tag", "a value that begins with ! is a tag that is not known here", "a value", "quote it", true},
	{"control characters are not allowed", "a control character", "text", "remove it, or write it as an escape in double quotes", true},
	{"did not find expected node content", "a value is missing here", "a value", "", true},
	{"document start", "the document has ended", "the end of the file, or --- before another document", "", true},
	{"excessive aliasing", "the aliases multiply to too many values", "", "", false},
}

var (
	lineOf   = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)
	noAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
)

// syntaxError gives the library's message a position and says the cause.
func (b *builder) syntaxError(err error) diag.Diagnostic {
	text, line := err.Error(), 0
	if m := lineOf.FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = m[2]
	}
	if d, ok := b.tabIndent(text, line); ok {
		return d
	}
	if m := noAnchor.FindStringSubmatch(text); m != nil {
		return diag.Diagnostic{Code: Code, Pos: b.find("*" + m[1]), Message: "no anchor &" + m[1] + " stands before its alias *" + m[1],
			Hint: "quote a value that begins with *"}
	}
	pos := b.breaks(line)
	for _, w := range syntaxWords {
		if !strings.Contains(text, w.library) {
			continue
		}
		d := diag.Diagnostic{Code: Code, Pos: pos, Message: w.message, Expected: w.expected, Hint: w.hint}
		if w.found {
			d.Found = b.foundAt(pos)
		}
		return d
	}
	return diag.Diagnostic{Code: Code, Pos: pos, Message: "not readable as YAML: " + text}
}

// tabIndent recognises a tab in the indentation near the line, or anywhere if the
// library says so.
func (b *builder) tabIndent(text string, line int) (diag.Diagnostic, bool) {
	anywhere := strings.Contains(text, "cannot start any token") || strings.Contains(text, "tab character")
	for i, l := range b.doc.lines {
		lead := l[:len(l)-len(strings.TrimLeft(l, " \t"))]
		at := strings.IndexByte(lead, '\t')
		near := line == 0 || i+1 >= line-1 && i+1 <= line+1
		if at >= 0 && strings.TrimSpace(l) != "" && (anywhere || near) {
			return diag.Diagnostic{Code: Code, Pos: diag.Pos{File: b.doc.file, Line: i + 1, Column: at + 1}, Message: "a tab is used to indent",
				Expected: "spaces", Hint: "YAML indents with spaces only: replace the tab"}, true
		}
	}
	return diag.Diagnostic{}, false
}

// find is the first place of a text.
func (b *builder) find(text string) diag.Pos {
	for i, l := range b.doc.lines {
		if at := strings.Index(l, text); at >= 0 {
			return diag.Pos{File: b.doc.file, Line: i + 1, Column: 1 + len([]rune(l[:at]))}
		}
	}
	return diag.Pos{File: b.doc.file, Line: 1}
}

// foundAt names the character at a place.
func (b *builder) foundAt(p diag.Pos) string {
	l := b.doc.line(p.Line)
	if p.Column < 1 || p.Column > len(l) {
		if p.Line >= len(b.doc.lines) {
			return "the end of the file"
		}
		return "the end of the line"
	}
	if r := l[p.Column-1]; !unicode.IsPrint(r) {
		return fmt.Sprintf("character 0x%02x", r)
	}
	word := string(l[p.Column-1:])
	if i := strings.IndexAny(word, " \t"); i > 0 {
		word = word[:i]
	}
	if r := []rune(word); len(r) > 20 {
		word = string(r[:20]) + ".."
	}
	return "'" + word + "'"
}

// maxReread bounds the bytes that are read again to find the place of an error.
const maxReread = 4 << 20

// breaks is the place at which the text stops being the beginning of a readable
// file, searched around the line that the library names.
func (b *builder) breaks(near int) diag.Pos {
	lines := b.doc.lines
	pos := diag.Pos{File: b.doc.file, Line: min(max(near, 1), len(lines))}
	again := 0
	reads := func(text string) bool {
		again += len(text) + 1
		return again <= maxReread && readable(text)
	}
	before := func(n int) string { return strings.Join(lines[:n], "\n") + "\n" }
	last := min(max(near, 1)+2, len(lines))
	for last < len(lines) && reads(before(last)) {
		last++
	}
	for last > 1 && !reads(before(last-1)) {
		last--
	}
	if again > maxReread {
		return pos
	}
	pos.Line = last
	head, line := "", []rune(strings.TrimRight(lines[last-1], "\r"))
	if last > 1 {
		head = before(last - 1)
	}
	indent := len(line) - len([]rune(strings.TrimLeft(string(line), " ")))
	pos.Column = indent + 1
	for c := len(line) - 1; c > indent; c-- {
		if reads(head + string(line[:c])) {
			pos.Column = c + 1
			return pos
		}
	}
	return pos
}

// readable says whether the text is YAML.
func readable(text string) (ok bool) {
	defer func() {
		if recover() != nil { // a defect of the library
			ok = false
		}
	}()
	dec := yaml.NewDecoder(strings.NewReader(text))
	for {
		var y yaml.Node
		if err := dec.Decode(&y); err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}
