package expr

import (
	"strings"
	"unicode"
)

type kind uint8

const (
	tokEOF kind = iota
	tokWord
	tokInt
	tokText
	tokOp // operators and punctuation
)

type token struct {
	kind       kind
	text       string // of words and operators; the content of texts
	start, end int
}

func (t token) describe() string {
	switch t.kind {
	case tokEOF:
		return "the end of the expression"
	case tokText:
		return "the text '" + t.text + "'"
	default:
		return "'" + t.text + "'"
	}
}

var operators = []string{"==", "!=", "<=", ">=", "..", "<", ">", "+", "-", "(", ")", "[", "]", "{", "}", ",", ".", ":"}

// foreign are operators of other languages with what is written here instead.
var foreign = map[string]string{
	"&&": "write: and", "||": "write: or", "!": "write: not", "=": "to compare, write: ==", "&": "write: and", "|": "write: or",
	"<>": "write: !=", "===": "write: ==", "!==": "write: !=", "*": "only + and - are known", "/": "only + and - are known", "%": "only + and - are known",
}

// scan splits text into tokens; the last one is tokEOF.
func scan(text string) ([]token, *Error) {
	r := []rune(text)
	var out []token
	for i := 0; i < len(r); {
		c := r[i]
		switch {
		case unicode.IsSpace(c):
			i++
		case isLetter(c):
			j := i
			for j < len(r) && (isLetter(r[j]) || isDigit(r[j])) {
				j++
			}
			out = append(out, token{tokWord, string(r[i:j]), i, j})
			i = j
		case isDigit(c):
			j := i
			for j < len(r) && (isLetter(r[j]) || isDigit(r[j])) {
				j++
			}
			t := token{tokInt, string(r[i:j]), i, j}
			if strings.IndexFunc(t.text, func(c rune) bool { return !isDigit(c) }) >= 0 {
				return nil, &Error{Start: i, End: j, Found: "'" + t.text + "'", Expected: "a whole number or a name",
					Hint: "lengths of time are named under durations: or stand alone, not in expressions"}
			}
			if len(t.text) > 9 {
				return nil, &Error{Start: i, End: j, Found: t.text, Expected: "a whole number of at most nine digits"}
			}
			out = append(out, t)
			i = j
		case c == '\'' || c == '"':
			j := i + 1
			for j < len(r) && r[j] != c {
				j++
			}
			if j == len(r) {
				return nil, &Error{Start: i, End: len(r), Message: "text without a closing " + string(c), Found: string(r[i:])}
			}
			out = append(out, token{tokText, string(r[i+1 : j]), i, j + 1})
			i = j + 1
		default:
			t, err := operator(r, i)
			if err != nil {
				return nil, err
			}
			out = append(out, t)
			i = t.end
		}
	}
	return append(out, token{tokEOF, "", len(r), len(r)}), nil
}

func operator(r []rune, i int) (token, *Error) {
	rest := string(r[i:min(i+3, len(r))])
	for _, n := range []int{3, 2, 1} {
		if n > len(r)-i {
			continue
		}
		s := string(r[i : i+n])
		if hint, bad := foreign[s]; bad {
			return token{}, &Error{Start: i, End: i + n, Found: "'" + s + "'", Expected: "a value or an operator", Hint: hint}
		}
		for _, op := range operators {
			if op == s {
				return token{tokOp, op, i, i + n}, nil
			}
		}
	}
	first := string([]rune(rest)[:1])
	return token{}, &Error{Start: i, End: i + 1, Found: "'" + first + "'", Expected: "a value or an operator"}
}

func isLetter(c rune) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '$' || c > 127 && unicode.IsLetter(c)
}
func isDigit(c rune) bool { return c >= '0' && c <= '9' }
