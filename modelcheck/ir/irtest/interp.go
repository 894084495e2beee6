// Package irtest holds the second reading of the intermediate form: an
// interpreter that walks the tree over a map, naive verdicts over the whole
// graph, and a generator of random programs. It is slow on purpose and shares
// no code with the compiler.
package irtest

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/relplan/relplan/modelcheck/ir"
)

// State maps cell names to values.
type State map[string]int

// Key is the name of a cell in a State.
func Key(v *ir.Var, at ...int) string { return fmt.Sprint(v.Name, at) }

// Interp interprets one program.
type Interp struct {
	P     *ir.Program
	cells []cellRef
	hi    map[*ir.Var]int // effective bound of tokens and ranks
}

type cellRef struct {
	v   *ir.Var
	at  []int
	key string
}

// Edge is a transition of the interpreter.
type Edge struct {
	Action *ir.Action
	Self   int
	Params []int
	To     State  // nil if cut
	Cut    string // reason
}

// New prepares a program that ir.Validate accepts.
func New(p *ir.Program) *Interp {
	t := &Interp{P: p, hi: map[*ir.Var]int{}}
	tokens, token := 0, 0
	ranks, rank := map[string]int{}, map[string]int{}
	for _, v := range p.Vars {
		for _, at := range combos(v.Index) {
			t.cells = append(t.cells, cellRef{v, at, Key(v, at...)})
			switch v.Type.Kind {
			case ir.Token:
				tokens++
				token = max(token, v.Type.Hi, v.Initial)
			case ir.Rank:
				ranks[v.Type.Sort]++
				rank[v.Type.Sort] = max(rank[v.Type.Sort], v.Type.Hi, v.Initial)
			}
		}
	}
	for _, v := range p.Vars {
		switch v.Type.Kind {
		case ir.Token:
			t.hi[v] = token
			if token == 0 {
				t.hi[v] = tokens
			}
		case ir.Rank:
			t.hi[v] = rank[v.Type.Sort]
			if t.hi[v] == 0 {
				t.hi[v] = ranks[v.Type.Sort]
			}
		}
	}
	return t
}

func size(ix ir.Index) int {
	if ix.Pool != nil {
		return ix.Pool.Cap
	}
	return ix.Set.Size
}

// combos lists all index combinations.
func combos(ixs []ir.Index) [][]int {
	out := [][]int{{}}
	for _, ix := range ixs {
		var next [][]int
		for _, at := range out {
			for i := range size(ix) {
				next = append(next, append(slices.Clone(at), i))
			}
		}
		out = next
	}
	return out
}

// run is one execution: the state read and written, and the locals in scope.
type run struct {
	t     *Interp
	s     State
	scope map[*ir.Local]int
}

func (r run) with(l *ir.Local, v int) run {
	next := map[*ir.Local]int{l: v}
	for k, x := range r.scope {
		if k != l {
			next[k] = x
		}
	}
	r.scope = next
	return r
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// elements lists what a binder ranges over now.
func (r run) elements(ix ir.Index) []int {
	var out []int
	for i := range size(ix) {
		if ix.Pool == nil || r.s[Key(ix.Pool.Used, i)] == 1 {
			out = append(out, i)
		}
	}
	return out
}

// cell gives the key, or false at no element.
func (r run) cell(v *ir.Var, at []ir.Expr) (string, bool) {
	is := []int{}
	for i, e := range at {
		x := r.eval(e)
		if x < 0 || x >= size(v.Index[i]) {
			return "", false
		}
		is = append(is, x)
	}
	return Key(v, is...), true
}

func (r run) eval(e ir.Expr) int {
	switch e := e.(type) {
	case ir.Const:
		return e.Value
	case ir.Use:
		return r.scope[e.Local]
	case ir.Load:
		if k, ok := r.cell(e.Var, e.At); ok {
			return r.s[k]
		}
		if e.Var.Type.Kind == ir.Bool && !e.Var.Type.Optional {
			return 0
		}
		return ir.None
	case ir.Binary:
		return r.binary(e)
	case ir.Not:
		return truth(r.eval(e.A) <= 0)
	case ir.Cond:
		if r.eval(e.If) > 0 {
			return r.eval(e.A)
		}
		return r.eval(e.B)
	case ir.Exists:
		return truth(r.matches(e.Local, e.Over, e.Where) > 0)
	case ir.Count:
		return r.matches(e.Local, e.Over, e.Where)
	case ir.Best:
		best := ir.None
		for _, i := range r.elements(e.Over) {
			q := r.with(e.Local, i)
			if e.Where != nil && q.eval(e.Where) <= 0 {
				continue
			}
			v := q.eval(e.Of)
			if v != ir.None && (best == ir.None || (v > best) == e.Max && v != best) {
				best = v
			}
		}
		return best
	}
	panic(fmt.Sprintf("unknown expression %T", e))
}

func (r run) matches(l *ir.Local, over ir.Index, where ir.Expr) int {
	n := 0
	for _, i := range r.elements(over) {
		n += truth(r.with(l, i).eval(where) > 0)
	}
	return n
}

func (r run) binary(e ir.Binary) int {
	a, b := r.eval(e.A), r.eval(e.B)
	none := a == ir.None || b == ir.None
	switch e.Op {
	case ir.And:
		return truth(a > 0 && b > 0)
	case ir.Or:
		return truth(a > 0 || b > 0)
	case ir.Eq:
		return truth(a == b)
	case ir.Ne:
		return truth(a != b)
	case ir.Lt:
		return truth(!none && a < b)
	case ir.Le:
		return truth(!none && a <= b)
	}
	if none {
		return ir.None
	}
	if e.Op == ir.Sub {
		return a - b
	}
	return a + b
}

// target is the cell of an assignment: a slot that is not in use is no element.
func (r run) target(v *ir.Var, at []ir.Expr) (string, bool) {
	for i, ix := range v.Index {
		if ix.Pool != nil && r.s[Key(ix.Pool.Used, r.eval(at[i]))] == 0 {
			return "", false
		}
	}
	return r.cell(v, at)
}

// bounds of a variable's values.
func (t *Interp) bounds(v *ir.Var) (lo, hi int) {
	switch v.Type.Kind {
	case ir.Bool:
		return 0, 1
	case ir.Enum:
		return 0, len(v.Type.Names) - 1
	case ir.Ref:
		return 0, v.Type.Set.Size - 1
	case ir.Range:
		return v.Type.Lo, v.Type.Hi
	}
	return 0, t.hi[v]
}

// exec runs statements and gives the reason of a cut, "" if none.
func (r run) exec(ss []ir.Stmt) string {
	for _, s := range ss {
		if l, ok := s.(ir.Let); ok {
			r = r.with(l.Local, r.eval(l.Value))
			continue
		}
		if cut := r.stmt(s); cut != "" {
			return cut
		}
	}
	return ""
}

func (r run) stmt(s ir.Stmt) string {
	switch s := s.(type) {
	case ir.Assign:
		k, ok := r.target(s.Var, s.At)
		if !ok {
			return s.Var.Name + " assigned at no element"
		}
		v := r.eval(s.Value)
		if lo, hi := r.t.bounds(s.Var); v == ir.None && !s.Var.Type.Optional || v != ir.None && (v < lo || v > hi) {
			return fmt.Sprintf("%s left %s", s.Var.Name, s.Var.Type)
		}
		r.s[k] = v
	case ir.If:
		if r.eval(s.Cond) > 0 {
			return r.exec(s.Then)
		}
		return r.exec(s.Else)
	case ir.ForEach:
		for _, i := range r.elements(s.Over) {
			if s.Over.Pool != nil && r.s[Key(s.Over.Pool.Used, i)] == 0 {
				continue
			}
			if cut := r.with(s.Local, i).exec(s.Body); cut != "" {
				return cut
			}
		}
	case ir.Put:
		for i := range s.Pool.Cap {
			if r.s[Key(s.Pool.Used, i)] == 0 {
				r.s[Key(s.Pool.Used, i)] = 1
				return r.with(s.Slot, i).exec(s.Body)
			}
		}
		return s.Pool.Name + " is full"
	case ir.Drop:
		slot := r.eval(s.Slot)
		for _, c := range r.t.cells {
			for d, ix := range c.v.Index {
				if ix.Pool == s.Pool && c.at[d] == slot {
					r.s[c.key] = c.v.Initial
				}
			}
		}
	case ir.Fresh, ir.Next:
		return r.symbol(s)
	case ir.Cut:
		return s.Reason
	}
	return ""
}

func (r run) symbol(s ir.Stmt) string {
	var v *ir.Var
	var at []ir.Expr
	next := false
	switch s := s.(type) {
	case ir.Fresh:
		v, at = s.Var, s.At
	case ir.Next:
		v, at, next = s.Var, s.At, true
	}
	k, ok := r.target(v, at)
	if !ok {
		return v.Name + " assigned at no element"
	}
	held := map[int]bool{}
	top := -1
	for _, c := range r.t.cells {
		if x := r.s[c.key]; c.v.Type.Kind == v.Type.Kind && c.v.Type.Sort == v.Type.Sort && x != ir.None {
			held[x] = true
			top = max(top, x)
		}
	}
	x := top + 1
	if !next {
		for x = 0; held[x]; x++ {
		}
	}
	if x > r.t.hi[v] {
		return v.Name + ": no fresh symbol left"
	}
	r.s[k] = x
	return ""
}

// settle renumbers ranks by order.
func (t *Interp) settle(s State) {
	values := map[string][]int{}
	for _, c := range t.cells {
		if x := s[c.key]; c.v.Type.Kind == ir.Rank && x != ir.None && !slices.Contains(values[c.v.Type.Sort], x) {
			values[c.v.Type.Sort] = append(values[c.v.Type.Sort], x)
		}
	}
	for _, vs := range values {
		sort.Ints(vs)
	}
	for _, c := range t.cells {
		if x := s[c.key]; c.v.Type.Kind == ir.Rank && x != ir.None {
			s[c.key] = slices.Index(values[c.v.Type.Sort], x)
		}
	}
}

func clone(s State) State {
	c := make(State, len(s))
	for k, v := range s {
		c[k] = v
	}
	return c
}

// Initial lists the initial states; reasons of those that are cut come second.
func (t *Interp) Initial() (states []State, cuts []string) {
	base := State{}
	for _, c := range t.cells {
		base[c.key] = c.v.Initial
	}
	bodies := t.P.Initial
	if len(bodies) == 0 {
		bodies = [][]ir.Stmt{nil}
	}
	for _, b := range bodies {
		s := clone(base)
		if cut := (run{t, s, nil}).exec(b); cut != "" {
			cuts = append(cuts, cut)
			continue
		}
		t.settle(s)
		states = append(states, s)
	}
	return states, cuts
}

// Successors lists the transitions of a state in order of the program.
func (t *Interp) Successors(s State) []Edge {
	var out []Edge
	for _, a := range t.P.Actions {
		if a.Proc == nil {
			out = t.expand(out, s, a, -1)
			continue
		}
		for i := range a.Proc.Instances.Size {
			if s[Key(a.Proc.PC, i)] == a.At {
				out = t.expand(out, s, a, i)
			}
		}
	}
	return out
}

func (t *Interp) expand(out []Edge, s State, a *ir.Action, self int) []Edge {
	if a.Budget != nil && s[Key(a.Budget)] <= 0 {
		return out
	}
	var over []ir.Index
	for _, p := range a.Params {
		over = append(over, p.Over)
	}
	for _, ps := range combos(over) {
		r := run{t: t, s: s}
		if a.Self != nil {
			r = r.with(a.Self, self)
		}
		ok := true
		for i, p := range a.Params {
			ok = ok && (p.Over.Pool == nil || s[Key(p.Over.Pool.Used, ps[i])] == 1)
			r = r.with(p.Local, ps[i])
		}
		if !ok || a.Guard != nil && r.eval(a.Guard) <= 0 {
			continue
		}
		r.s = clone(s)
		if a.Budget != nil {
			r.s[Key(a.Budget)]--
		}
		e := Edge{Action: a, Self: self, Params: ps}
		if e.Cut = r.exec(a.Body); e.Cut == "" {
			t.settle(r.s)
			e.To = r.s
		}
		out = append(out, e)
	}
	return out
}

// Holds evaluates a condition of a property for binder elements.
func (t *Interp) Holds(s State, e ir.Expr, q *ir.Property, at []int) bool {
	r := run{t: t, s: s}
	for i, p := range q.ForEach {
		r = r.with(p.Local, at[i])
	}
	return r.eval(e) > 0
}

// String prints the state exactly, in order of declaration.
func (t *Interp) String(s State) string {
	var b strings.Builder
	for _, c := range t.cells {
		fmt.Fprintf(&b, "%s=%d ", c.key, s[c.key])
	}
	return b.String()
}
