package ir

import "slices"

// Bits of the state that select a row.
const maxKeyBits = 10

// family is the actions that are looked up together: those of a process, by
// instance, or those of the environment with the same first parameter and the
// same budget, by element.
type family struct {
	proc   *Proc
	over   Index // environment: of the first parameter, empty without parameters
	budget *Var
}

func familyOf(a *Action) family {
	switch {
	case a.Proc != nil:
		return family{proc: a.Proc}
	case len(a.Params) > 0:
		return family{over: a.Params[0].Over, budget: a.Budget}
	}
	return family{budget: a.Budget}
}

// subject is the local that stands for the family's element in an action.
func subject(a *Action) *Local {
	switch {
	case a.Proc != nil:
		return a.Self
	case len(a.Params) > 0:
		return a.Params[0].Local
	}
	return nil
}

// element is the family element that an instance belongs to, 0 if there is
// only one.
func (in instance) element() int {
	switch {
	case in.action.Proc != nil:
		return in.self
	case len(in.params) > 0:
		return in.params[0]
	}
	return 0
}

// hotVars scores the variables of each family: those that, once known, fix
// addresses and decide guards.
type hotVars struct {
	families []family // in order of first action
	score    map[family]map[*Var]int
	total    map[*Var]int
}

func findHot(p *Program) hotVars {
	h := hotVars{score: map[family]map[*Var]int{}, total: map[*Var]int{}}
	for _, a := range p.Actions {
		f := familyOf(a)
		if h.score[f] == nil {
			h.score[f] = map[*Var]int{}
			h.families = append(h.families, f)
		}
		if l := subject(a); l != nil {
			w := uses{subject: l, score: h.score[f]}
			w.expr(a.Guard, 2)
			w.stmts(a.Body)
		}
	}
	for _, s := range h.score {
		for v, n := range s {
			h.total[v] += n
		}
	}
	for _, q := range p.Procs {
		h.total[q.PC] = 1 << 30
	}
	for _, q := range p.Pools {
		h.total[q.Used] = 1 << 29
	}
	return h
}

// layout orders variables within the block of an element.
func (h hotVars) layout(v *Var) int { return h.total[v] }

// Scores of a read of the subject's variable.
const (
	asIndex   = 4 // inside an index: it fixes an address
	asBranch  = 1 // in a condition of the body
	asOperand = 0
)

// uses counts the variables read at the subject.
type uses struct {
	subject *Local
	score   map[*Var]int
}

func (w *uses) at(es []Expr) {
	for _, e := range es {
		w.expr(e, asIndex)
	}
}

func (w *uses) expr(e Expr, weight int) {
	switch e := e.(type) {
	case Load:
		if len(e.At) == 1 {
			if u, ok := e.At[0].(Use); ok && u.Local == w.subject && weight > 0 {
				w.score[e.Var] += weight
			}
		}
		w.at(e.At)
	case Binary:
		w.expr(e.A, weight)
		w.expr(e.B, weight)
	case Not:
		w.expr(e.A, weight)
	case Cond:
		w.expr(e.If, max(weight, asBranch))
		w.expr(e.A, weight)
		w.expr(e.B, weight)
	case Exists:
		w.expr(e.Where, weight)
	case Count:
		w.expr(e.Where, weight)
	case Best:
		w.expr(e.Where, weight)
		w.expr(e.Of, weight)
	}
}

func (w *uses) stmts(ss []Stmt) {
	for _, s := range ss {
		switch s := s.(type) {
		case Assign:
			w.at(s.At)
			w.expr(s.Value, asOperand)
		case If:
			w.expr(s.Cond, asBranch)
			w.stmts(s.Then)
			w.stmts(s.Else)
		case ForEach:
			w.stmts(s.Body)
		case Let:
			w.expr(s.Value, asIndex) // what is bound is often an index later
		case Put:
			w.stmts(s.Body)
		case Drop:
			w.expr(s.Slot, asIndex)
		case Fresh:
			w.at(s.At)
		case Next:
			w.at(s.At)
		}
	}
}

// window picks the key bits of an element: the program counter or Used first,
// then as many hot cells as fit, by score. The cells inside are the keys.
func (h hotVars) window(l *layout, f family, element int) (w window, keys []*cell) {
	var first *Var
	switch {
	case f.proc != nil:
		first = f.proc.PC
	case f.over.Pool != nil:
		first = f.over.Pool.Used
	}
	var vs []*Var
	for v := range h.score[f] {
		if v != first && len(v.Index) == 1 && (v.Index[0] == f.over || f.proc != nil && v.Index[0].Set == f.proc.Instances) {
			vs = append(vs, v)
		}
	}
	score := h.score[f]
	slices.SortFunc(vs, func(a, b *Var) int {
		if d := score[b] - score[a]; d != 0 {
			return d
		}
		return l.vars[a].cells[0].id - l.vars[b].cells[0].id
	})
	if first != nil {
		vs = slices.Insert(vs, 0, first)
	}
	w.word = -1
	for _, v := range vs {
		w.extend(l.vars[v].cells[element])
	}
	if w.word < 0 {
		return window{}, nil
	}
	for _, c := range l.cells {
		if c.width > 0 && c.word == w.word && c.shift >= w.shift && c.shift+c.width <= w.shift+w.width {
			keys = append(keys, c)
		}
	}
	return w, keys
}

// extend grows the window over the cell if it stays small enough.
func (w *window) extend(c *cell) {
	if c.width == 0 || w.word >= 0 && w.word != c.word {
		return
	}
	lo, hi := c.shift, c.shift+c.width
	if w.word >= 0 {
		lo, hi = min(lo, w.shift), max(hi, w.shift+w.width)
	}
	if hi-lo <= maxKeyBits {
		*w = window{c.word, lo, hi - lo}
	}
}
