package tree

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// ParseJSON reads one JSON value with what configuration files add to JSON: comments
// (// and /* */) and a comma after the last element. Keys that are given twice stay
// twice; [Node.Get] takes the last one, as common parsers do.
func ParseJSON(src []byte) (*Node, error) {
	p := &jsonParser{src: strings.TrimPrefix(string(src), "\ufeff"), line: 1, col: 1}
	p.space()
	n := p.value(0)
	if p.err == nil {
		if p.space(); p.err == nil && p.i < len(p.src) {
			p.fail("text after the end of the value")
		}
	}
	if p.err != nil {
		return nil, p.err
	}
	return n, nil
}

type jsonParser struct {
	src       string
	i         int
	line, col int
	nodes     int
	err       *Error
}

func (p *jsonParser) fail(msg string) {
	if p.err == nil {
		p.err = &Error{Pos{p.line, p.col}, msg}
	}
	p.i = len(p.src)
}

// next moves over one byte; columns count characters.
func (p *jsonParser) next() {
	c := p.src[p.i]
	p.i++
	switch {
	case c == '\n':
		p.line++
		p.col = 1
	case utf8.RuneStart(c):
		p.col++
	}
}

func (p *jsonParser) peek() byte {
	if p.i >= len(p.src) {
		return 0
	}
	return p.src[p.i]
}

func (p *jsonParser) space() {
	for p.i < len(p.src) {
		switch c := p.src[p.i]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			p.next()
		case strings.HasPrefix(p.src[p.i:], "//"):
			for p.i < len(p.src) && p.src[p.i] != '\n' {
				p.next()
			}
		case strings.HasPrefix(p.src[p.i:], "/*"):
			end := strings.Index(p.src[p.i+2:], "*/")
			if end < 0 {
				p.fail("a comment that does not end")
				return
			}
			for stop := p.i + end + 4; p.i < stop; {
				p.next()
			}
		default:
			return
		}
	}
}

func (p *jsonParser) value(depth int) *Node {
	if p.err != nil {
		return nil
	}
	if p.nodes++; p.nodes > MaxNodes {
		p.fail("too many values")
		return nil
	}
	if depth > MaxDepth {
		p.fail("nested deeper than " + strconv.Itoa(MaxDepth) + " levels")
		return nil
	}
	n := &Node{Pos: Pos{p.line, p.col}}
	switch c := p.peek(); {
	case c == '{':
		p.object(n, depth)
	case c == '[':
		p.array(n, depth)
	case c == '"':
		n.Kind, n.Quoted = Scalar, true
		n.Text = p.str()
	default:
		p.word(n)
	}
	return n
}

func (p *jsonParser) object(n *Node, depth int) {
	n.Kind = Map
	p.next()
	for {
		p.space()
		if p.peek() == '}' {
			p.next()
			return
		}
		if p.peek() != '"' {
			p.fail("expected a key in double quotes or }")
			return
		}
		e := Entry{KeyPos: Pos{p.line, p.col}}
		e.Key = p.str()
		p.space()
		if p.peek() != ':' {
			p.fail("expected : after the key")
			return
		}
		p.next()
		p.space()
		e.Value = p.value(depth + 1)
		if p.err != nil {
			return
		}
		n.Entries = append(n.Entries, e)
		if !p.comma('}') {
			return
		}
	}
}

func (p *jsonParser) array(n *Node, depth int) {
	n.Kind = Seq
	p.next()
	for {
		p.space()
		if p.peek() == ']' {
			p.next()
			return
		}
		v := p.value(depth + 1)
		if p.err != nil {
			return
		}
		n.Items = append(n.Items, v)
		if !p.comma(']') {
			return
		}
	}
}

// comma reads a comma, or sees the closing byte, and reports false after an error.
func (p *jsonParser) comma(end byte) bool {
	p.space()
	switch p.peek() {
	case ',':
		p.next()
	case end:
	default:
		p.fail("expected , or " + string(end))
	}
	return p.err == nil
}

func (p *jsonParser) word(n *Node) {
	start := p.i
	for p.i < len(p.src) && !strings.ContainsRune(" \t\r\n,:]}[{\"/", rune(p.src[p.i])) {
		p.next()
	}
	w := p.src[start:p.i]
	switch {
	case w == "null":
	case w == "true" || w == "false" || isJSONNumber(w):
		n.Kind, n.Text = Scalar, w
	default:
		p.line, p.col = n.Pos.Line, n.Pos.Col
		p.fail("expected a value")
	}
}

func isJSONNumber(w string) bool {
	if w == "" || strings.ContainsAny(w, "xXpP_iInN") {
		return false
	}
	_, err := strconv.ParseFloat(w, 64)
	return err == nil || strings.Contains(err.Error(), "range")
}

func (p *jsonParser) str() string {
	p.next()
	var b strings.Builder
	for p.i < len(p.src) {
		switch c := p.src[p.i]; c {
		case '"':
			p.next()
			return b.String()
		case '\n':
			p.fail("a string that does not end on its line")
			return ""
		case '\\':
			p.next()
			p.escape(&b)
		default:
			b.WriteByte(c)
			p.next()
		}
	}
	p.fail("a string that does not end")
	return ""
}

func (p *jsonParser) escape(b *strings.Builder) {
	c := p.peek()
	if i := strings.IndexByte(`"\/bfnrt`, c); c != 0 && i >= 0 {
		b.WriteByte("\"\\/\b\f\n\r\t"[i])
		p.next()
		return
	}
	if c != 'u' {
		p.fail("an unknown escape")
		return
	}
	p.next()
	r := p.hex4()
	if utf16.IsSurrogate(r) && strings.HasPrefix(p.src[p.i:], `\u`) {
		p.next()
		p.next()
		r = utf16.DecodeRune(r, p.hex4())
	}
	b.WriteRune(r)
}

func (p *jsonParser) hex4() rune {
	if p.i+4 > len(p.src) {
		p.fail("four hexadecimal digits expected")
		return 0
	}
	v, err := strconv.ParseUint(p.src[p.i:p.i+4], 16, 32)
	if err != nil {
		p.fail("four hexadecimal digits expected")
		return 0
	}
	for range 4 {
		p.next()
	}
	return rune(v)
}
