package ir

import (
	"errors"
	"fmt"
	"sync"

	"github.com/relplan/relplan/modelcheck"
)

// Options tune compilation. The zero value is what users want.
type Options struct {
	// NoSpecialise compiles each location once, with computed addresses, instead
	// of once per value of the variables that its steps index by. Slower; for
	// tests.
	NoSpecialise bool
	// NoElimination stores every variable, also those of a process instance
	// whose value follows from its program counter. For tests.
	NoElimination bool
}

// Model is a compiled program. It implements modelcheck.Model and is safe for
// concurrent use. Transitions are compiled on first use.
type Model struct {
	Program *Program

	l        *layout
	m        emitter
	shape    *modelcheck.Shape
	insts    []instance
	ids      [][]modelcheck.ActionID // by action and combination of parameters
	actions  []modelcheck.Action     // by id
	dispatch []dispatch
	initial  [][]uint64
	props    []modelcheck.Property
	origins  []Origin
	sets     map[*Set]int // position in shape.Sets
	pools    map[*Pool]int

	warm uint32     // uses of a key before its row is specialised
	mu   sync.Mutex // guards building rows and bodies
	cuts cutTable
	// tables holds every table of a specialised row once, by content.
	tables map[string][]write
}

// instance is an action with values for Self and every parameter.
type instance struct {
	action *Action
	number int // of the action in the program
	self   int // -1 for the environment
	params []int
}

// maxActions bounds the number of action instances.
const maxActions = 1 << 20

// Compile checks the program and turns it into a model. The program must not
// be changed afterwards.
func Compile(p *Program, o Options) (*Model, error) {
	if err := Validate(p); err != nil {
		return nil, err
	}
	h := findHot(p)
	m := &Model{Program: p, l: newLayout(p, h.layout, o), warm: 64}
	if o.NoSpecialise {
		m.warm = 1<<32 - 1
	}
	m.m = emitter{m.l.words}
	m.makeShape()
	if err := m.instantiate(); err != nil {
		return nil, err
	}
	m.makeDispatch(h)
	if err := errors.Join(m.checkLocals(), m.makeInitial()); err != nil {
		return nil, err
	}
	m.makeProperties()
	return m, nil
}

// Shape implements modelcheck.Model.
func (m *Model) Shape() *modelcheck.Shape { return m.shape }

// Initial implements modelcheck.Model.
func (m *Model) Initial(emit func([]uint64)) {
	for _, s := range m.initial {
		emit(append([]uint64(nil), s...))
	}
}

// Describe implements modelcheck.Model.
func (m *Model) Describe(a modelcheck.ActionID) modelcheck.Action { return m.actions[a] }

// Instance gives the source action of an id, the element that Self is (-1 for
// the environment) and the elements of its parameters.
func (m *Model) Instance(id modelcheck.ActionID) (a *Action, self int, params []int) {
	in := m.insts[id]
	return in.action, in.self, in.params
}

// CutReason explains a cut by the reason given to the engine.
func (m *Model) CutReason(reason string) (CutInfo, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, ok := m.cuts.index[reason]
	if !ok {
		return CutInfo{}, false
	}
	return *c, true
}

// resolverFor binds Self and the parameters of an instance.
func (m *Model) resolverFor(in instance) *resolver {
	r := newResolver(m.l)
	if in.action.Self != nil {
		r.scope[in.action.Self] = constant(in.self)
	}
	for i, p := range in.action.Params {
		r.scope[p.Local] = constant(in.params[i])
	}
	return r
}

// guard is the whole condition of an instance: budget (unless paid: tested
// already), slots in use, Guard.
func (in instance) guard(r *resolver, paid bool) *node {
	var kids []*node
	if b := in.action.Budget; b != nil && !paid {
		kids = append(kids, compareNode(nLt, constant(0), r.load(r.l.vars[b], nil)))
	}
	for i, p := range in.action.Params {
		kids = append(kids, r.used(p.Over, constant(in.params[i])))
	}
	for _, k := range kids {
		if k.isFalse() {
			return k
		}
	}
	if in.action.Guard != nil {
		kids = append(kids, r.expr(in.action.Guard))
	}
	return logic(nAnd, kids)
}

// compileBody reports false if the run-time locals do not fit.
func (m *Model) compileBody(in instance, known facts) ([]op, bool) {
	var unused []*varInfo
	var b *bodies
	var ops []op
	for range 2 {
		b = &bodies{r: m.resolverFor(in), m: m.m, cuts: &m.cuts, unused: unused}
		b.r.known = known
		ops = b.begin(in)
		if v := in.action.Budget; v != nil {
			ops = b.stmt(ops, Store(v, Plus(Get(v), -1)))
		}
		ops = b.finish(append(ops, b.list(in.action.Body)...))
		if unused = b.idle(); len(unused) == 0 {
			break
		}
	}
	if b.r.full {
		return []op{b.cut(m.cuts.reason(CutInfo{Reason: fmt.Sprintf("action %s %v", in.action.Name, errLocals), Misused: true}))}, false
	}
	return ops, true
}

// checkLocals compiles one instance of every action without facts, so that a
// body that needs too many locals is an error now and not a cut later.
func (m *Model) checkLocals() error {
	var errs []error
	for i, ids := range m.ids {
		if len(ids) == 0 {
			continue
		}
		in := m.insts[ids[0]]
		r := m.resolverFor(in)
		in.guard(r, false)
		if _, ok := m.compileBody(in, nil); !ok || r.full {
			errs = append(errs, fmt.Errorf("program %q: %s: %w", m.Program.Name, actionLabel(i, in.action), errLocals))
		}
	}
	return errors.Join(errs...)
}

func (m *Model) makeInitial() error {
	alternatives := m.Program.Initial
	if len(alternatives) == 0 {
		alternatives = [][]Stmt{nil}
	}
	base := make([]uint64, m.l.words)
	m.l.initial(base)
	for i, ss := range alternatives {
		s := append([]uint64(nil), base...)
		b := &bodies{r: newResolver(m.l), m: m.m, cuts: &m.cuts}
		ops := b.finish(b.list(ss))
		if b.r.full {
			return fmt.Errorf("program %q: initial state %d: %w", m.Program.Name, i+1, errLocals)
		}
		if _, cut := run(ops, s, 0); cut != nil {
			return &InitialError{Program: m.Program.Name, Number: i + 1, Cut: *cut}
		}
		m.initial = append(m.initial, s)
	}
	return nil
}

// InitialError says that an initial state cannot be represented.
type InitialError struct {
	Program string
	Number  int // of the alternative, from 1
	Cut     CutInfo
}

// Error implements error.
func (e *InitialError) Error() string {
	return fmt.Sprintf("program %q: initial state %d: %s", e.Program, e.Number, e.Cut.Reason)
}
