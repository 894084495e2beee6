package ddl

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/relplan/relplan/internal/diag"
)

// kind of a token.
type kind uint8

const (
	eof    kind = iota
	word        // unquoted identifier or keyword
	quoted      // quoted identifier
	number
	text // string literal
	punct
)

// token is one lexical unit; low is the text in lower case for words.
type token struct {
	kind kind
	text string
	low  string
	pos  diag.Pos
	off  int // byte offset in the source
}

// String is how an error message shows the token.
func (t token) String() string {
	if t.kind == eof {
		return "the end of the file"
	}
	return "\"" + t.text + "\""
}

// scanner splits SQL into tokens with positions.
type scanner struct {
	file    string
	src     string
	at      int
	line    int
	col     int
	dialect Dialect
	diags   *diag.List
}

func scan(file, src string, d Dialect, l *diag.List) []token {
	s := &scanner{file: file, src: strings.TrimPrefix(src, "\ufeff"), line: 1, col: 1, dialect: d, diags: l}
	var out []token
	for {
		t := s.next()
		out = append(out, t)
		if t.kind == eof {
			return out
		}
	}
}

func (s *scanner) peek() rune {
	if s.at >= len(s.src) {
		return -1
	}
	r, _ := utf8.DecodeRuneInString(s.src[s.at:])
	return r
}

func (s *scanner) step() rune {
	if s.at >= len(s.src) {
		return -1
	}
	r, n := utf8.DecodeRuneInString(s.src[s.at:])
	s.at += n
	if r == '\n' {
		s.line++
		s.col = 1
	} else {
		s.col++
	}
	return r
}

func (s *scanner) has(prefix string) bool { return strings.HasPrefix(s.src[s.at:], prefix) }

func (s *scanner) pos() diag.Pos { return diag.Pos{File: s.file, Line: s.line, Column: s.col} }

// blank skips white space and comments.
func (s *scanner) blank() {
	for s.at < len(s.src) {
		switch {
		case unicode.IsSpace(s.peek()):
			s.step()
		case s.has("--"), s.has("#") && s.dialect == MySQL:
			for s.at < len(s.src) && s.peek() != '\n' {
				s.step()
			}
		case s.has("/*"):
			p := s.pos()
			end := strings.Index(s.src[s.at+2:], "*/")
			if end < 0 {
				s.diags.Add(diag.Diagnostic{Code: code, Pos: p, Message: "comment is never closed", Expected: "*/"})
			}
			for stop := s.at + 2 + end + 2; s.at < len(s.src) && (end < 0 || s.at < stop); {
				s.step()
			}
		default:
			return
		}
	}
}

func (s *scanner) next() token {
	s.blank()
	t := token{pos: s.pos(), off: s.at}
	start := s.at
	r := s.peek()
	switch {
	case r < 0:
		return t
	case r == '\'' || (r == '"' && s.dialect == MySQL):
		t.kind = text
		t.text = s.quotedText(r)
	case r == '"' || r == '`':
		t.kind = quoted
		t.text = s.quotedText(r)
	case r == '[' && s.dialect == SQLite:
		t.kind = quoted
		t.text = s.quotedText(']')
	case r == '$' && s.dialect == PostgreSQL:
		t.kind, t.text = s.dollar()
	case unicode.IsDigit(r):
		t.kind = number
		for p := s.peek(); unicode.IsDigit(p) || p == '.' || unicode.IsLetter(p); p = s.peek() {
			s.step()
		}
		t.text = s.src[start:s.at]
	case unicode.IsLetter(r) || r == '_':
		t.kind = word
		for p := s.peek(); unicode.IsLetter(p) || unicode.IsDigit(p) || p == '_' || p == '$'; p = s.peek() {
			s.step()
		}
		t.text = s.src[start:s.at]
	default:
		t.kind = punct
		s.step()
		t.text = s.src[start:s.at]
	}
	t.low = strings.ToLower(t.text)
	t.pos.EndColumn = t.pos.Column + 1
	if s.line == t.pos.Line {
		t.pos.EndColumn = s.col
	}
	return t
}

// quotedText reads to the closing quote; a doubled quote stands for itself.
func (s *scanner) quotedText(end rune) string {
	p := s.pos()
	s.step()
	var b strings.Builder
	for {
		r := s.step()
		switch {
		case r < 0:
			s.diags.Add(diag.Diagnostic{Code: code, Pos: p, Message: "quoted text is never closed", Expected: string(end)})
			return b.String()
		case r == end && s.peek() == end && end != ']':
			s.step()
			b.WriteRune(end)
		case r == end:
			return b.String()
		case r == '\\' && s.dialect == MySQL && end != '`' && s.peek() >= 0:
			b.WriteRune(s.step())
		default:
			b.WriteRune(r)
		}
	}
}

// dollar reads $tag$ ... $tag$, or a lone dollar sign.
func (s *scanner) dollar() (kind, string) {
	p := s.pos()
	close := strings.IndexByte(s.src[s.at+1:], '$')
	if close < 0 || strings.ContainsFunc(s.src[s.at+1:s.at+1+close], func(r rune) bool { return !unicode.IsLetter(r) && r != '_' }) {
		s.step()
		return punct, "$"
	}
	tag := s.src[s.at : s.at+close+2]
	body := s.src[s.at+len(tag):]
	end := strings.Index(body, tag)
	if end < 0 {
		s.diags.Add(diag.Diagnostic{Code: code, Pos: p, Message: "quoted text is never closed", Expected: tag})
		for s.at < len(s.src) {
			s.step()
		}
		return text, body
	}
	for stop := s.at + len(tag) + end + len(tag); s.at < stop; {
		s.step()
	}
	return text, body[:end]
}
