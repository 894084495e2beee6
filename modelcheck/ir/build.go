package ir

// The constructors below keep programs written in Go short; they add nothing
// that the literals cannot say.

// Num is a constant: a number, the position of an enum's name, or None.
func Num(v int) Expr { return Const{v} }

// Flag is the constant 1 for true and 0 for false.
func Flag(b bool) Expr {
	if b {
		return Const{1}
	}
	return Const{0}
}

// Get reads a variable cell.
func Get(v *Var, at ...Expr) Expr { return Load{v, at} }

// Of reads a local.
func Of(l *Local) Expr { return Use{l} }

// Same is a == b.
func Same(a, b Expr) Expr { return Binary{Eq, a, b} }

// Is is a == v for a constant v.
func Is(a Expr, v int) Expr { return Binary{Eq, a, Const{v}} }

// Differ is a != b.
func Differ(a, b Expr) Expr { return Binary{Ne, a, b} }

// Less is a < b.
func Less(a, b Expr) Expr { return Binary{Lt, a, b} }

// AtMost is a <= b.
func AtMost(a, b Expr) Expr { return Binary{Le, a, b} }

// Plus is a + n for a constant n, which may be negative.
func Plus(a Expr, n int) Expr { return Binary{Add, a, Const{n}} }

// All is the conjunction, 1 when empty.
func All(es ...Expr) Expr { return chain(And, es, 1) }

// Any is the disjunction, 0 when empty.
func Any(es ...Expr) Expr { return chain(Or, es, 0) }

func chain(op BinOp, es []Expr, empty int) Expr {
	if len(es) == 0 {
		return Const{empty}
	}
	e := es[0]
	for _, f := range es[1:] {
		e = Binary{op, e, f}
	}
	return e
}

// Every is 1 if where holds for all elements of over.
func Every(l *Local, over Index, where Expr) Expr {
	return Not{Exists{l, over, Not{where}}}
}

// Store assigns value to a variable cell.
func Store(v *Var, value Expr, at ...Expr) Stmt { return Assign{v, at, value} }

// In is the index over a set, Slots the index over a pool.
func In(s *Set) Index     { return Index{Set: s} }
func Slots(p *Pool) Index { return Index{Pool: p} }

// Several is the index list of a variable: one Index per set.
func Several(sets ...*Set) []Index {
	ix := make([]Index, len(sets))
	for i, s := range sets {
		ix[i].Set = s
	}
	return ix
}

// Pick is an action parameter or property binder.
func Pick(l *Local, over Index) Param { return Param{Local: l, Over: over} }
