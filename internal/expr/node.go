// Package expr scans and parses the expressions of the protocol language into
// a tree. It resolves no names and knows no types: package specs does.
//
// Offsets count characters (runes) from the start of the text, so that the
// caller can turn them into a line and column of the file.
package expr

// Node is an expression.
type Node interface {
	// Span is the range of characters the node was read from, end exclusive.
	Span() (start, end int)
}

type span struct{ start, end int }

// Span of the node.
func (s span) Span() (int, int) { return s.start, s.end }

type (
	// Word is a name: a bound name, a column, a symbol, true, false, none, me.
	Word struct {
		span
		Name string
	}
	// Int is an integer of at most nine digits.
	Int struct {
		span
		Value int
	}
	// Text is 'text'.
	Text struct {
		span
		Value string
	}
	// Field is X.Name; NameAt is the offset of Name.
	Field struct {
		span
		X      Node
		Name   string
		NameAt int
	}
	// Unary is `not X` or `- X`.
	Unary struct {
		span
		Op string
		X  Node
	}
	// Binary applies Op: == != < <= > >= and or implies + -; OpAt is its offset.
	Binary struct {
		span
		Op   string
		X, Y Node
		OpAt int
	}
	// In is `X in [A, B]`, or `X not in [A, B]`.
	In struct {
		span
		X    Node
		Not  bool
		List *List
	}
	// Cond is `X if If else Y`.
	Cond struct {
		span
		If, X, Y Node
	}
	// Call is f(args), or f(NAME where EXPR): then Args holds the Word alone.
	// Ops is set by a word `ops` behind the condition.
	Call struct {
		span
		Func  string
		Args  []Node
		Where Node
		Ops   bool
	}
	// The is `the NAME where EXPR`.
	The struct {
		span
		Name   string
		NameAt int
		Where  Node
	}
	// Each is `each NAME`.
	Each struct {
		span
		Name   string
		NameAt int
	}
	// List is [a, b].
	List struct {
		span
		Items []Node
	}
	// Range is `LO .. HI`, only at the top.
	Range struct {
		span
		Lo, Hi int
	}
)

// Error is what stops the parser; Start and End give the wrong characters.
type Error struct {
	Start, End int
	Found      string
	Expected   string
	Message    string
	Hint       string
}

// Error gives the message.
func (e *Error) Error() string {
	if e.Message != "" {
		return e.Message
	}
	return "expected " + e.Expected + ", found " + e.Found
}

// Words of an expression, in order of appearance, duplicates kept.
func Words(n Node) []*Word {
	var out []*Word
	Walk(n, func(x Node) {
		if w, ok := x.(*Word); ok {
			out = append(out, w)
		}
	})
	return out
}

// Walk calls f for n and everything below it, outer nodes first.
func Walk(n Node, f func(Node)) {
	if n == nil {
		return
	}
	f(n)
	switch x := n.(type) {
	case *Field:
		Walk(x.X, f)
	case *Unary:
		Walk(x.X, f)
	case *Binary:
		Walk(x.X, f)
		Walk(x.Y, f)
	case *In:
		Walk(x.X, f)
		Walk(x.List, f)
	case *Cond:
		Walk(x.X, f)
		Walk(x.If, f)
		Walk(x.Y, f)
	case *Call:
		for _, a := range x.Args {
			Walk(a, f)
		}
		Walk(x.Where, f)
	case *The:
		Walk(x.Where, f)
	case *List:
		for _, a := range x.Items {
			Walk(a, f)
		}
	}
}

// Map rebuilds n with every Word replaced by what f gives for it.
func Map(n Node, f func(*Word) Node) Node {
	switch x := n.(type) {
	case *Word:
		return f(x)
	case *Field:
		c := *x
		c.X = Map(x.X, f)
		return &c
	case *Unary:
		c := *x
		c.X = Map(x.X, f)
		return &c
	case *Binary:
		c := *x
		c.X, c.Y = Map(x.X, f), Map(x.Y, f)
		return &c
	case *In:
		c := *x
		c.X, c.List = Map(x.X, f), Map(x.List, f).(*List)
		return &c
	case *Cond:
		c := *x
		c.X, c.If, c.Y = Map(x.X, f), Map(x.If, f), Map(x.Y, f)
		return &c
	case *List:
		c := *x
		c.Items = make([]Node, len(x.Items))
		for i, y := range x.Items {
			c.Items[i] = Map(y, f)
		}
		return &c
	}
	return n
}

// FieldOf is `NAME.w` with the span of w.
func FieldOf(w *Word, name string) *Field {
	return &Field{span: w.span, X: &Word{span: w.span, Name: name}, Name: w.Name, NameAt: w.start}
}

// MapN replaces the word n by the call count(effect, op), for the short form
// `count(effect where n > 1 ops)`.
func MapN(tree Node, n, effect, op string) Node {
	return Map(tree, func(w *Word) Node {
		if w.Name != n {
			return w
		}
		return &Call{span: w.span, Func: "count", Args: []Node{&Word{span: w.span, Name: effect}, &Word{span: w.span, Name: op}}}
	})
}
