package ir

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Limits of a program: they keep compilation and the packed state bounded.
const (
	maxElements = 1 << 12 // elements of a set, slots of a pool
	maxCells    = 1 << 16 // cells of one variable
	maxValues   = 1 << 30 // values of one cell
)

// Validate reports everything that is wrong with the program, joined: unknown
// variables, ill-typed expressions, elements of unordered sets that are named
// or ordered, locals used outside their binder. Compile calls it.
func Validate(p *Program) error {
	k := &checker{p: p, vars: map[*Var]bool{}, sets: map[*Set]bool{}, pools: map[*Pool]bool{}, scope: map[*Local]class{}}
	k.declarations()
	for i, ss := range p.Initial {
		k.within(fmt.Sprintf("initial state %d", i+1), func() { k.stmts(ss) })
	}
	for i, a := range p.Actions {
		k.within(actionLabel(i, a), func() { k.action(a) })
	}
	for i, q := range p.Props {
		k.within(fmt.Sprintf("property %d %q", i+1, q.Name), func() { k.property(q) })
	}
	return errors.Join(k.errs...)
}

func actionLabel(i int, a *Action) string {
	if a == nil {
		return fmt.Sprintf("action %d", i+1)
	}
	if a.Proc != nil && a.At >= 0 && a.At < len(a.Proc.Locations) {
		return fmt.Sprintf("action %d %q of %s at %s", i+1, a.Name, a.Proc.Name, a.Proc.Locations[a.At])
	}
	return fmt.Sprintf("action %d %q", i+1, a.Name)
}

// class is the static type of an expression. Constants fit several classes.
type class struct {
	of    classKind
	set   *Set
	pool  *Pool
	names []string
	sort  string
	value int // cConst
}

type classKind uint8

const (
	cBad classKind = iota // already reported
	cConst
	cInt
	cBool
	cEnum
	cRef // element of an unordered set
	cSlot
	cToken
	cRank
)

func (c class) String() string {
	switch c.of {
	case cConst:
		if c.value == None {
			return "none"
		}
		return fmt.Sprintf("constant %d", c.value)
	case cInt:
		return "number"
	case cBool:
		return "bool"
	case cEnum:
		return "enum(" + strings.Join(c.names, ",") + ")"
	case cRef:
		return "element of " + c.set.Name
	case cSlot:
		return "slot of " + c.pool.Name
	case cToken:
		return "token"
	case cRank:
		return "rank of " + c.sort
	}
	return "unknown"
}

func classOf(t Type) class {
	switch t.Kind {
	case Bool:
		return class{of: cBool}
	case Enum:
		return class{of: cEnum, names: t.Names}
	case Ref:
		if t.Set != nil && !t.Set.Ordered {
			return class{of: cRef, set: t.Set}
		}
	case Token:
		return class{of: cToken}
	case Rank:
		return class{of: cRank, sort: t.Sort}
	}
	return class{of: cInt}
}

func classOfIndex(ix Index) class {
	switch {
	case ix.Pool != nil:
		return class{of: cSlot, pool: ix.Pool}
	case ix.Set != nil && !ix.Set.Ordered:
		return class{of: cRef, set: ix.Set}
	}
	return class{of: cInt}
}

// checker walks a program and collects errors with the path of where it is.
type checker struct {
	p     *Program
	vars  map[*Var]bool
	sets  map[*Set]bool
	pools map[*Pool]bool
	scope map[*Local]class
	path  []string
	errs  []error
	depth int
}

func (k *checker) errorf(format string, args ...any) {
	if len(k.errs) >= 50 {
		return
	}
	where := strings.Join(k.path, ": ")
	if where != "" {
		where += ": "
	}
	k.errs = append(k.errs, fmt.Errorf("program %q: %s%s", k.p.Name, where, fmt.Sprintf(format, args...)))
}

func (k *checker) within(label string, f func()) {
	k.path = append(k.path, label)
	f()
	k.path = k.path[:len(k.path)-1]
}

func (k *checker) declarations() {
	for _, s := range k.p.Sets {
		k.sets[s] = true
		if s.Size < 0 || s.Size > maxElements {
			k.errorf("set %q has size %d, expected 0 to %d", s.Name, s.Size, maxElements)
		}
		if s.Elements != nil && len(s.Elements) != s.Size {
			k.errorf("set %q has size %d but %d element names", s.Name, s.Size, len(s.Elements))
		}
	}
	for _, p := range k.p.Pools {
		k.pools[p] = true
	}
	names := map[string]bool{}
	for _, v := range k.p.Vars {
		if v == nil {
			k.errorf("a variable is nil")
			continue
		}
		if k.vars[v] || names[v.Name] {
			k.errorf("variable %q is declared twice", v.Name)
		}
		k.vars[v], names[v.Name] = true, true
		k.within(fmt.Sprintf("variable %q", v.Name), func() { k.variable(v) })
	}
	for _, p := range k.p.Pools {
		k.within(fmt.Sprintf("pool %q", p.Name), func() { k.poolDecl(p) })
	}
	for _, q := range k.p.Procs {
		k.within(fmt.Sprintf("process %q", q.Name), func() { k.procDecl(q) })
	}
}

func (k *checker) poolDecl(p *Pool) {
	if p.Cap < 1 || p.Cap > maxElements {
		k.errorf("capacity %d, expected 1 to %d", p.Cap, maxElements)
	}
	u := p.Used
	if u == nil || !k.vars[u] || u.Type.Kind != Bool || u.Type.Optional || u.Initial != 0 || len(u.Index) != 1 || u.Index[0].Pool != p {
		k.errorf("Used must be a declared bool per slot, initially 0")
	}
}

func (k *checker) procDecl(q *Proc) {
	pc := q.PC
	if q.Instances == nil || !k.sets[q.Instances] {
		k.errorf("its set of instances is not declared")
		return
	}
	if pc == nil || !k.vars[pc] || pc.Type.Kind != Enum || pc.Type.Optional || len(pc.Index) != 1 || pc.Index[0].Set != q.Instances {
		k.errorf("PC must be a declared enum indexed by %s", q.Instances.Name)
		return
	}
	if len(pc.Type.Names) != len(q.Locations) {
		k.errorf("PC has %d names but the process has %d locations", len(pc.Type.Names), len(q.Locations))
	}
}

func (k *checker) variable(v *Var) {
	cells := 1
	for _, ix := range v.Index {
		if !k.index(ix) {
			return
		}
		cells *= ix.size()
		if cells > maxCells {
			k.errorf("more than %d cells", maxCells)
			return
		}
	}
	t := v.Type
	switch t.Kind {
	case Bool:
	case Enum:
		if len(t.Names) == 0 {
			k.errorf("an enum needs names")
			return
		}
	case Range:
		if t.Lo > t.Hi || t.Hi-t.Lo >= maxValues || t.Lo < -maxValues || t.Hi > maxValues {
			k.errorf("range %d..%d is empty or too large", t.Lo, t.Hi)
			return
		}
	case Ref:
		if t.Set == nil || !k.sets[t.Set] {
			k.errorf("it refers to a set that is not declared")
			return
		}
		if t.Set.Size == 0 && !t.Optional {
			k.errorf("it refers to the empty set %s and is not optional", t.Set.Name)
			return
		}
	case Token, Rank:
		if t.Lo != 0 || t.Hi < 0 || t.Hi > maxElements {
			k.errorf("%d..%d is not 0..n with n at most %d", t.Lo, t.Hi, maxElements)
			return
		}
	default:
		k.errorf("unknown kind %d", t.Kind)
		return
	}
	k.initialValue(v)
}

func (k *checker) initialValue(v *Var) {
	t := v.Type
	if !t.holds(v.Initial) {
		k.errorf("initial value %s is outside %s", number(v.Initial), t)
	}
	if t.Kind == Token && v.Initial != None && slices.ContainsFunc(v.Index, func(ix Index) bool { return ix.Pool != nil }) {
		k.errorf("initial value %d names a symbol, which Drop would bring back later; make it optional and initially none", v.Initial)
	}
	if t.Kind == Ref && !t.Set.Ordered && v.Initial != None {
		k.errorf("initial value %d names an element of the unordered set %s; make it optional, or set it in Initial with ForEach", v.Initial, t.Set.Name)
	}
}

func number(v int) string {
	if v == None {
		return "none"
	}
	return fmt.Sprint(v)
}

// index reports whether exactly one declared set or pool is named.
func (k *checker) index(ix Index) bool {
	switch {
	case (ix.Set == nil) == (ix.Pool == nil):
		k.errorf("an index must name either a set or a pool")
	case ix.Set != nil && !k.sets[ix.Set]:
		k.errorf("set %q is not declared", ix.Set.Name)
	case ix.Pool != nil && !k.pools[ix.Pool]:
		k.errorf("pool %q is not declared", ix.Pool.Name)
	default:
		return true
	}
	return false
}

func (k *checker) bind(l *Local, c class, f func()) {
	if l == nil {
		k.errorf("a binder has no local")
		return
	}
	if _, again := k.scope[l]; again {
		k.errorf("local %q is bound again inside its own scope", l.Name)
		return
	}
	k.scope[l] = c
	f()
	delete(k.scope, l)
}

func (k *checker) params(ps []Param, f func()) {
	if len(ps) == 0 {
		f()
		return
	}
	if !k.index(ps[0].Over) {
		return
	}
	k.bind(ps[0].Local, classOfIndex(ps[0].Over), func() { k.params(ps[1:], f) })
}

func (k *checker) action(a *Action) {
	if a == nil {
		k.errorf("is nil")
		return
	}
	body := func() {
		k.params(a.Params, func() {
			if a.Guard != nil {
				k.within("guard", func() { k.want(a.Guard, class{of: cBool}) })
			}
			k.within("body", func() { k.stmts(a.Body) })
		})
	}
	if b := a.Budget; b != nil && (!k.vars[b] || b.Type.Kind != Range || b.Type.Optional || b.Type.Lo != 0 || len(b.Index) != 0) {
		k.errorf("its budget must be a declared, unindexed range from 0")
	}
	if a.Proc == nil {
		if a.Self != nil {
			k.errorf("an action of the environment has no Self")
		}
		body()
		return
	}
	if !slices.Contains(k.p.Procs, a.Proc) {
		k.errorf("its process is not declared")
		return
	}
	if a.At < 0 || a.At >= len(a.Proc.Locations) {
		k.errorf("location %d, expected 0 to %d", a.At, len(a.Proc.Locations)-1)
	}
	if a.Self == nil {
		body()
		return
	}
	k.bind(a.Self, classOfIndex(Index{Set: a.Proc.Instances}), body)
}

func (k *checker) property(q *Property) {
	if q == nil || q.Goal == nil {
		k.errorf("has no goal")
		return
	}
	if q.Kind > CanAlways {
		k.errorf("unknown kind %d", q.Kind)
	}
	for _, p := range q.ForEach {
		if p.Over.Pool != nil {
			k.errorf("a property cannot be judged per slot of %q: slots have no identity over time", p.Over.Pool.Name)
			return
		}
	}
	k.params(q.ForEach, func() {
		k.want(q.Goal, class{of: cBool})
		switch {
		case q.Kind == LeadsTo && q.From == nil:
			k.errorf("leads-to needs From")
		case q.Kind != LeadsTo && q.From != nil:
			k.errorf("From is for leads-to only")
		case q.From != nil:
			k.want(q.From, class{of: cBool})
		}
	})
}
