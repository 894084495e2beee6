package expr

import "strconv"

// Limits that keep hostile input from taking long or the stack down.
const (
	MaxLength = 4000 // characters
	MaxDepth  = 60   // nested operators and parentheses
)

type parser struct {
	toks  []token
	at    int
	depth int
}

// Parse reads one expression. The error, if any, is an *Error.
func Parse(text string) (Node, error) {
	n, err := parse(text, false)
	if err != nil {
		return nil, err
	}
	return n, nil
}

// ParseOrRange reads one expression or `LO .. HI`.
func ParseOrRange(text string) (Node, error) {
	n, err := parse(text, true)
	if err != nil {
		return nil, err
	}
	return n, nil
}

func parse(text string, ranges bool) (n Node, err *Error) {
	if len(text) > MaxLength {
		return nil, &Error{Start: 0, End: 1, Message: "expression of more than " + strconv.Itoa(MaxLength) + " characters"}
	}
	toks, err := scan(text)
	if err != nil {
		return nil, err
	}
	p := &parser{toks: toks}
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(*Error)
			if !ok {
				panic(r)
			}
			n, err = nil, e
		}
	}()
	n = p.expr()
	if ranges && p.isOp("..") {
		n = p.rangeFrom(n)
	}
	if t := p.peek(); t.kind != tokEOF {
		p.unexpected("an operator or the end of the expression")
	}
	return n, nil
}

func (p *parser) peek() token { return p.toks[p.at] }

func (p *parser) next() token {
	t := p.toks[p.at]
	if t.kind != tokEOF {
		p.at++
	}
	return t
}

func (p *parser) isOp(s string) bool   { t := p.peek(); return t.kind == tokOp && t.text == s }
func (p *parser) isWord(s string) bool { t := p.peek(); return t.kind == tokWord && t.text == s }

func (p *parser) unexpected(expected string) {
	t := p.peek()
	e := &Error{Start: t.start, End: max(t.end, t.start+1), Found: t.describe(), Expected: expected}
	if t.kind == tokEOF {
		e.End = t.start + 1
	}
	panic(e)
}

func (p *parser) op(s, expected string) token {
	if !p.isOp(s) {
		p.unexpected(expected)
	}
	return p.next()
}

func (p *parser) enter() func() {
	p.depth++
	if p.depth > MaxDepth {
		t := p.peek()
		panic(&Error{Start: t.start, End: t.end + 1, Message: "expression nested more than " + strconv.Itoa(MaxDepth) + " levels deep"})
	}
	return func() { p.depth-- }
}

func startOf(n Node) int { s, _ := n.Span(); return s }
func endOf(n Node) int   { _, e := n.Span(); return e }
func over(a, b Node) span {
	return span{startOf(a), endOf(b)}
}

func (p *parser) expr() Node {
	defer p.enter()()
	x := p.implies()
	if !p.isWord("if") {
		return x
	}
	p.next()
	c := p.implies()
	if !p.isWord("else") {
		p.unexpected("'else'")
	}
	p.next()
	y := p.expr()
	return &Cond{span: over(x, y), If: c, X: x, Y: y}
}

func (p *parser) implies() Node {
	x := p.or()
	if !p.isWord("implies") {
		return x
	}
	t := p.next()
	defer p.enter()()
	y := p.implies()
	return &Binary{span: over(x, y), Op: "implies", X: x, Y: y, OpAt: t.start}
}

func (p *parser) or() Node {
	x := p.and()
	for p.isWord("or") {
		t := p.next()
		y := p.and()
		x = &Binary{span: over(x, y), Op: "or", X: x, Y: y, OpAt: t.start}
	}
	return x
}

func (p *parser) and() Node {
	x := p.not()
	for p.isWord("and") {
		t := p.next()
		y := p.not()
		x = &Binary{span: over(x, y), Op: "and", X: x, Y: y, OpAt: t.start}
	}
	return x
}

func (p *parser) not() Node {
	if !p.isWord("not") {
		return p.comparison()
	}
	defer p.enter()()
	t := p.next()
	x := p.not()
	return &Unary{span: span{t.start, endOf(x)}, Op: "not", X: x}
}

func (p *parser) comparison() Node {
	x := p.sum()
	if p.isWord("in") || p.isWord("not") && p.toks[p.at+1].kind == tokWord && p.toks[p.at+1].text == "in" {
		not := p.isWord("not")
		if not {
			p.next()
		}
		p.next()
		if !p.isOp("[") {
			p.unexpected("a list in [ ]")
		}
		l := p.list()
		return &In{span: over(x, l), X: x, Not: not, List: l}
	}
	if !p.isComparison() {
		return x
	}
	t := p.next()
	y := p.sum()
	if p.isComparison() {
		t := p.peek()
		panic(&Error{Start: t.start, End: t.end, Message: "comparisons do not chain", Found: t.describe(), Hint: "join two comparisons with 'and'"})
	}
	return &Binary{span: over(x, y), Op: t.text, X: x, Y: y, OpAt: t.start}
}

func (p *parser) isComparison() bool {
	t := p.peek()
	if t.kind != tokOp {
		return false
	}
	switch t.text {
	case "==", "!=", "<", "<=", ">", ">=":
		return true
	}
	return false
}

func (p *parser) sum() Node {
	x := p.unary()
	for p.isOp("+") || p.isOp("-") {
		t := p.next()
		y := p.unary()
		x = &Binary{span: over(x, y), Op: t.text, X: x, Y: y, OpAt: t.start}
	}
	return x
}

func (p *parser) unary() Node {
	if p.isOp("-") {
		defer p.enter()()
		t := p.next()
		x := p.unary()
		if n, ok := x.(*Int); ok {
			return &Int{span: span{t.start, n.end}, Value: -n.Value}
		}
		return &Unary{span: span{t.start, endOf(x)}, Op: "-", X: x}
	}
	x := p.primary()
	for p.isOp(".") {
		p.next()
		t := p.peek()
		if t.kind != tokWord {
			p.unexpected("a field name")
		}
		p.next()
		x = &Field{span: span{startOf(x), t.end}, X: x, Name: t.text, NameAt: t.start}
	}
	return x
}

// keywords cannot be names.
var keywords = map[string]bool{"and": true, "or": true, "not": true, "implies": true, "if": true, "else": true, "in": true, "where": true}

// IsKeyword says whether word has a meaning of its own in expressions.
func IsKeyword(word string) bool { return keywords[word] }

func (p *parser) primary() Node {
	t := p.peek()
	switch {
	case t.kind == tokInt:
		p.next()
		v, _ := strconv.Atoi(t.text)
		return &Int{span: span{t.start, t.end}, Value: v}
	case t.kind == tokText:
		p.next()
		return &Text{span: span{t.start, t.end}, Value: t.text}
	case p.isOp("["):
		return p.list()
	case p.isOp("("):
		p.next()
		x := p.expr()
		p.op(")", "')'")
		return x
	case t.kind == tokWord && !keywords[t.text]:
		p.next()
		return p.named(t)
	}
	p.unexpected("a value")
	return nil
}

func (p *parser) named(t token) Node {
	next := p.peek()
	switch {
	case p.isOp("("):
		return p.call(t)
	case t.text == "the" && next.kind == tokWord && !keywords[next.text]:
		p.next()
		if !p.isWord("where") {
			p.unexpected("'where'")
		}
		p.next()
		w := p.implies()
		return &The{span: span{t.start, endOf(w)}, Name: next.text, NameAt: next.start, Where: w}
	case t.text == "each" && next.kind == tokWord && !keywords[next.text]:
		p.next()
		return &Each{span: span{t.start, next.end}, Name: next.text, NameAt: next.start}
	}
	return &Word{span: span{t.start, t.end}, Name: t.text}
}

func (p *parser) call(f token) Node {
	defer p.enter()()
	p.next()
	c := &Call{Func: f.text}
	for !p.isOp(")") {
		c.Args = append(c.Args, p.expr())
		if len(c.Args) == 1 && p.isWord("where") {
			p.next()
			c.Where = p.expr()
			if p.isWord("ops") {
				p.next()
				c.Ops = true
			}
		}
		if !p.isOp(",") {
			break
		}
		p.next()
	}
	end := p.op(")", "')'")
	c.span = span{f.start, end.end}
	return c
}

func (p *parser) list() *List {
	defer p.enter()()
	open := p.op("[", "'['")
	l := &List{}
	for !p.isOp("]") {
		l.Items = append(l.Items, p.expr())
		if !p.isOp(",") {
			break
		}
		p.next()
	}
	end := p.op("]", "']'")
	l.span = span{open.start, end.end}
	return l
}

func (p *parser) rangeFrom(lo Node) Node {
	a, ok := lo.(*Int)
	if !ok {
		p.unexpected("an operator or the end of the expression")
	}
	p.next()
	if p.peek().kind != tokInt && !p.isOp("-") {
		p.unexpected("a whole number")
	}
	hi := p.unary()
	b, ok := hi.(*Int)
	if !ok || b.Value < a.Value {
		panic(&Error{Start: startOf(hi), End: endOf(hi), Message: "a range goes from a smaller to a larger whole number"})
	}
	return &Range{span: over(lo, hi), Lo: a.Value, Hi: b.Value}
}
