package yamlx

import (
	"strings"

	"gopkg.in/yaml.v3"
)

// document is one file's name and lines, for positions inside scalars.
type document struct {
	file  string
	lines []string
}

func (d *document) line(n int) []rune {
	if n < 1 || n > len(d.lines) {
		return nil
	}
	return []rune(strings.TrimSuffix(d.lines[n-1], "\r"))
}

// indent is the number of spaces that the first line from n on that is not
// blank starts with.
func (d *document) indent(n int) int {
	for ; n <= len(d.lines); n++ {
		if l := d.line(n); strings.TrimSpace(string(l)) != "" {
			return len(l) - len([]rune(strings.TrimLeft(string(l), " ")))
		}
	}
	return 0
}

// onOneLine tells whether the characters of the scalar stand in the file as
// they are in its value, on one line.
func (d *document) onOneLine(y *yaml.Node) bool {
	from := y.Column - 1
	if y.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
		from++
	}
	l := d.line(y.Line)
	return from >= 0 && from <= len(l) && strings.HasPrefix(string(l[from:]), y.Value)
}

// scalarEnd is the column behind the scalar where it stands on one line, else 0.
func (d *document) scalarEnd(y *yaml.Node) int {
	if y.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 || !d.onOneLine(y) {
		return 0
	}
	end := y.Column + len([]rune(y.Value))
	if y.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
		end += 2
	}
	return end
}

// splitLines splits where YAML does: at \r, \r\n and the Unicode line breaks too.
func splitLines(src string) []string {
	r := strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")
	return strings.Split(r.Replace(src), "\n")
}
