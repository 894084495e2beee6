package ir

import "slices"

// maxNesting bounds the depth of expressions and statements.
const maxNesting = 500

// size is the number of elements or slots.
func (ix Index) size() int {
	if ix.Pool != nil {
		return ix.Pool.Cap
	}
	return ix.Set.Size
}

func (ix Index) name() string {
	if ix.Pool != nil {
		return ix.Pool.Name
	}
	return ix.Set.Name
}

func (k *checker) enter() bool {
	k.depth++
	if k.depth > maxNesting {
		k.errorf("nested deeper than %d", maxNesting)
		return false
	}
	return true
}

// want checks that e fits class c.
func (k *checker) want(e Expr, c class) {
	got := k.expr(e)
	if _, ok := unify(got, c); !ok {
		k.errorf("found %s, expected %s", got, c)
	}
}

// unify merges two classes; constants take the class of the other side.
func unify(a, b class) (class, bool) {
	if a.of == cBad || b.of == cBad {
		return class{of: cBad}, true
	}
	if a.of == cConst && b.of == cConst {
		if a.value == None {
			return b, true
		}
		return a, true
	}
	if b.of == cConst {
		a, b = b, a
	}
	if a.of == cConst {
		return b, fits(a.value, b)
	}
	if a.of != b.of {
		return a, false
	}
	switch a.of {
	case cRef:
		return a, a.set == b.set
	case cSlot:
		return a, a.pool == b.pool
	case cEnum:
		return a, slices.Equal(a.names, b.names)
	case cRank:
		return a, a.sort == b.sort
	}
	return a, true
}

func fits(v int, c class) bool {
	if v == None {
		return c.of != cSlot
	}
	switch c.of {
	case cBool:
		return v == 0 || v == 1
	case cEnum:
		return v >= 0 && v < len(c.names)
	case cInt:
		return v >= -maxValues && v <= maxValues
	}
	return false // elements, slots, tokens and ranks are never named
}

func (k *checker) expr(e Expr) class {
	defer func() { k.depth-- }()
	if !k.enter() {
		return class{}
	}
	switch e := e.(type) {
	case Const:
		return class{of: cConst, value: e.Value}
	case Load:
		return k.cell(e.Var, e.At)
	case Use:
		c, ok := k.scope[e.Local]
		if !ok {
			name := "?"
			if e.Local != nil {
				name = e.Local.Name
			}
			k.errorf("local %q is used outside its binder", name)
		}
		return c
	case Binary:
		return k.binary(e)
	case Not:
		k.want(e.A, class{of: cBool})
		return class{of: cBool}
	case Cond:
		k.want(e.If, class{of: cBool})
		return k.both("branches", e.A, e.B)
	case Exists:
		k.quantifier(e.Local, e.Over, e.Where)
		return class{of: cBool}
	case Count:
		k.quantifier(e.Local, e.Over, e.Where)
		return class{of: cInt}
	case Best:
		return k.best(e)
	case nil:
		k.errorf("an expression is missing")
	default:
		k.errorf("unknown expression %T", e)
	}
	return class{}
}

func (k *checker) quantifier(l *Local, over Index, where Expr) {
	if k.index(over) {
		k.bind(l, classOfIndex(over), func() { k.want(where, class{of: cBool}) })
	}
}

func (k *checker) best(e Best) class {
	if !k.index(e.Over) {
		return class{}
	}
	var c class
	k.bind(e.Local, classOfIndex(e.Over), func() {
		if e.Where != nil {
			k.want(e.Where, class{of: cBool})
		}
		c = k.expr(e.Of)
	})
	switch c.of {
	case cInt, cRank, cBad:
	case cConst:
		c = class{of: cInt}
	default:
		k.errorf("the least of %s is not defined", c)
	}
	return c
}

func (k *checker) both(what string, a, b Expr) class {
	x, y := k.expr(a), k.expr(b)
	c, ok := unify(x, y)
	if !ok {
		k.errorf("%s differ in type: %s and %s", what, x, y)
		return class{}
	}
	return c
}

func (k *checker) binary(e Binary) class {
	switch e.Op {
	case And, Or:
		k.want(e.A, class{of: cBool})
		k.want(e.B, class{of: cBool})
		return class{of: cBool}
	case Eq, Ne:
		k.both("compared values", e.A, e.B)
		return class{of: cBool}
	case Lt, Le:
		c := k.both("compared values", e.A, e.B)
		if c.of != cInt && c.of != cConst && c.of != cRank && c.of != cBad {
			k.errorf("%s cannot be compared by order", c)
		}
		return class{of: cBool}
	case Add, Sub:
		k.want(e.A, class{of: cInt})
		k.want(e.B, class{of: cInt})
		return class{of: cInt}
	}
	k.errorf("unknown operator %d", e.Op)
	return class{}
}

// cell checks an access and gives the class of its value.
func (k *checker) cell(v *Var, at []Expr) class {
	if v == nil || !k.vars[v] {
		name := "?"
		if v != nil {
			name = v.Name
		}
		k.errorf("variable %q is not declared", name)
		return class{}
	}
	if len(at) != len(v.Index) {
		k.errorf("variable %q takes %d indices, found %d", v.Name, len(v.Index), len(at))
		return class{}
	}
	for i, e := range at {
		got, want := k.expr(e), classOfIndex(v.Index[i])
		if _, ok := unify(got, want); !ok {
			k.errorf("index %d of %q: found %s, expected %s", i+1, v.Name, got, want)
		}
	}
	return classOf(v.Type)
}

func (k *checker) stmts(ss []Stmt) {
	defer func() { k.depth-- }()
	if !k.enter() {
		return
	}
	var lets []*Local
	for _, s := range ss {
		if l, ok := s.(Let); ok {
			c := k.expr(l.Value)
			if l.Local == nil {
				k.errorf("a binder has no local")
				continue
			}
			if _, again := k.scope[l.Local]; again {
				k.errorf("local %q is bound again inside its own scope", l.Local.Name)
				continue
			}
			k.scope[l.Local] = c
			lets = append(lets, l.Local)
			continue
		}
		k.stmt(s)
	}
	for _, l := range lets {
		delete(k.scope, l)
	}
}

func (k *checker) stmt(s Stmt) {
	switch s := s.(type) {
	case Assign:
		c := k.cell(s.Var, s.At)
		k.want(s.Value, c)
		if c.of != cBad && k.isUsed(s.Var) {
			k.errorf("%q is changed by Put and Drop only", s.Var.Name)
		}
	case If:
		k.want(s.Cond, class{of: cBool})
		k.stmts(s.Then)
		k.stmts(s.Else)
	case ForEach:
		if k.index(s.Over) {
			if s.Over.Pool != nil && puts(s.Body, s.Over.Pool) {
				k.errorf("a loop over pool %q puts into it", s.Over.Pool.Name)
			}
			k.bind(s.Local, classOfIndex(s.Over), func() { k.stmts(s.Body) })
		}
	case Put:
		if k.index(Index{Pool: s.Pool}) {
			k.bind(s.Slot, class{of: cSlot, pool: s.Pool}, func() { k.stmts(s.Body) })
		}
	case Drop:
		if k.index(Index{Pool: s.Pool}) {
			k.want(s.Slot, class{of: cSlot, pool: s.Pool})
		}
	case Fresh:
		if c := k.cell(s.Var, s.At); c.of != cToken && c.of != cBad {
			k.errorf("variable %q takes no fresh token: it is a %s", s.Var.Name, c)
		}
	case Next:
		if c := k.cell(s.Var, s.At); c.of != cRank && c.of != cBad {
			k.errorf("variable %q takes no next rank: it is a %s", s.Var.Name, c)
		}
	case Cut:
	case nil:
		k.errorf("a statement is missing")
	default:
		k.errorf("unknown statement %T", s)
	}
}

func (k *checker) isUsed(v *Var) bool {
	return slices.ContainsFunc(k.p.Pools, func(p *Pool) bool { return p.Used == v })
}

// puts reports whether the statements put into the pool.
func puts(ss []Stmt, p *Pool) bool {
	for _, s := range ss {
		switch s := s.(type) {
		case Put:
			if s.Pool == p || puts(s.Body, p) {
				return true
			}
		case If:
			if puts(s.Then, p) || puts(s.Else, p) {
				return true
			}
		case ForEach:
			if puts(s.Body, p) {
				return true
			}
		}
	}
	return false
}
