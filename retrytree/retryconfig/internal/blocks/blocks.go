// Package blocks parses configuration languages made of words and blocks: nginx
// (statements end with a semicolon) and Caddy (statements end with their line).
package blocks

import (
	"strings"
	"unicode/utf8"

	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

// Stmt is one directive with its words and, for a block, its statements.
type Stmt struct {
	Words []string
	Pos   tree.Pos
	Block bool
	Body  []*Stmt
}

// Name is the first word, or "".
func (s *Stmt) Name() string {
	if s == nil || len(s.Words) == 0 {
		return ""
	}
	return s.Words[0]
}

// Args are the words after the first.
func (s *Stmt) Args() []string {
	if s == nil || len(s.Words) < 2 {
		return nil
	}
	return s.Words[1:]
}

// Find gives the last statement with the name in a body, or nil.
func Find(body []*Stmt, name string) *Stmt {
	for i := len(body) - 1; i >= 0; i-- {
		if body[i].Name() == name {
			return body[i]
		}
	}
	return nil
}

const maxDepth, maxStmts = 100, 200_000

type parser struct {
	src       string
	i         int
	line, col int
	byLine    bool
	stmts     int
	err       *tree.Error
}

// ParseNginx parses statements that end with ; and blocks in braces.
func ParseNginx(src []byte) ([]*Stmt, error) { return parse(src, false) }

// ParseCaddy parses statements that end with their line and blocks in braces.
func ParseCaddy(src []byte) ([]*Stmt, error) { return parse(src, true) }

func parse(src []byte, byLine bool) ([]*Stmt, error) {
	p := &parser{src: strings.TrimPrefix(string(src), "\ufeff"), line: 1, col: 1, byLine: byLine}
	body := p.body(0, false)
	if p.err != nil {
		return nil, p.err
	}
	return body, nil
}

func (p *parser) fail(at tree.Pos, msg string) {
	if p.err == nil {
		p.err = &tree.Error{Pos: at, Message: msg}
	}
	p.i = len(p.src)
}

func (p *parser) at() tree.Pos { return tree.Pos{Line: p.line, Col: p.col} }

func (p *parser) next() {
	c := p.src[p.i]
	p.i++
	if c == '\n' {
		p.line, p.col = p.line+1, 1
	} else if utf8.RuneStart(c) {
		p.col++
	}
}

func (p *parser) body(depth int, inner bool) []*Stmt {
	var out []*Stmt
	open := p.at()
	if depth > maxDepth {
		p.fail(open, "blocks nested too deep")
		return nil
	}
	for {
		s, end := p.stmt(depth)
		if p.err != nil {
			return nil
		}
		if s != nil {
			out = append(out, s)
		}
		switch end {
		case '}':
			if !inner {
				p.fail(p.at(), "a closing brace without its opening one")
			}
			return out
		case 0:
			if inner {
				p.fail(open, "a block that is not closed")
			}
			return out
		}
	}
}

// stmt reads one statement; end is what ended it: ; newline { (a block, read) } or 0.
func (p *parser) stmt(depth int) (s *Stmt, end byte) {
	for p.i < len(p.src) {
		c := p.src[p.i]
		switch {
		case c == '#':
			for p.i < len(p.src) && p.src[p.i] != '\n' {
				p.next()
			}
			continue
		case c == '\n' && p.byLine:
			p.next()
			if s != nil {
				return s, '\n'
			}
			continue
		case c == '\\' && p.byLine && p.i+1 < len(p.src) && (p.src[p.i+1] == '\n' || p.src[p.i+1] == '\r'):
			p.next()
			for p.i < len(p.src) && (p.src[p.i] == '\r' || p.src[p.i] == '\n') {
				p.next()
			}
			continue
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			p.next()
			continue
		case c == ';' && !p.byLine:
			p.next()
			return s, ';'
		case c == '}':
			p.next()
			return s, '}'
		case c == '{' && p.opensBlock():
			p.next()
			if s == nil {
				s = &Stmt{Pos: p.at()}
			}
			s.Block = true
			s.Body = p.body(depth+1, true)
			return s, '{'
		}
		at := p.at()
		w := p.word()
		if s == nil {
			if p.stmts++; p.stmts > maxStmts {
				p.fail(at, "too many statements")
				return nil, 0
			}
			s = &Stmt{Pos: at}
		}
		s.Words = append(s.Words, w)
	}
	return s, 0
}

// opensBlock tells a block from a Caddy placeholder such as {host}: in Caddy a block
// opens at the end of its line.
func (p *parser) opensBlock() bool {
	if !p.byLine {
		return true
	}
	rest, _, _ := strings.Cut(p.src[p.i+1:], "\n")
	rest = strings.TrimSpace(rest)
	return rest == "" || rest[0] == '#'
}

func (p *parser) word() string {
	if q := p.src[p.i]; q == '"' || q == '\'' && !p.byLine || q == '`' && p.byLine {
		return p.quoted(q)
	}
	var b strings.Builder
	braces := 0
	for p.i < len(p.src) {
		c := p.src[p.i]
		if c == ' ' || c == '\t' || c == '\r' || c == '\n' || !p.byLine && (c == ';' || c == '{' && !strings.HasSuffix(b.String(), "$") && braces == 0) {
			break
		}
		if c == '{' {
			braces++
		}
		if c == '}' {
			if braces == 0 {
				break
			}
			braces--
		}
		b.WriteByte(c)
		p.next()
	}
	if b.Len() == 0 { // a byte that no rule takes: never loop
		b.WriteByte(p.src[p.i])
		p.next()
	}
	return b.String()
}

func (p *parser) quoted(q byte) string {
	at := p.at()
	p.next()
	var b strings.Builder
	for p.i < len(p.src) {
		c := p.src[p.i]
		p.next()
		if c == q {
			return b.String()
		}
		if c == '\\' && p.i < len(p.src) && q != '`' {
			c = p.src[p.i]
			p.next()
		}
		b.WriteByte(c)
	}
	p.fail(at, "a quoted word that is not closed")
	return ""
}
