// Package lower turns one specialised protocol (ast.Spec) into a finite
// transition system (ir.Program) and the histories of the checker back into
// words.
//
// How the pieces fit:
//
//   - values.go, eval.go: a value of the language is a handful of leaves, one ir
//     expression each; expressions are evaluated to them.
//   - process.go, liveness.go, emit.go: the steps of a process become nodes of a
//     graph; a round trip is a location, everything local is executed in the
//     transition of the step before it; only names that are read later are kept.
//   - One file per kind of thing: sql.go and sql_tx.go, kv.go, queue.go, log.go,
//     provider.go, memory.go, timers.go. Each gives a plan (plan.go) for its
//     verbs: when the step waits, and its outcomes.
//   - triggers.go starts and ends runs, faults.go adds what may go wrong,
//     promises.go and monitors.go turn sentences into properties.
//   - history.go prints.
package lower

import (
	"fmt"
	"slices"
	"sort"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// Options tune a lowering. The zero value is ready.
type Options struct {
	// Capacity is the number of slots of a pool (rows of a table, entries of a
	// kv, messages of a queue) by its name, where the derived one was too small.
	Capacity map[string]int
	// longer and shorter order two durations, whatever their lengths.
	longer, shorter *ast.Duration

	window *window // only this event can go wrong
}

// Lowered is a program with what is needed to print its results.
type Lowered struct {
	Program *ir.Program
	// Promises has, for every promise of the spec in order, the properties
	// (positions in Program.Props) that it stands for: broken if one is broken.
	Promises [][]int
	// Possible says the same for must_be_possible; an entry with a Label instead
	// is judged by the steps that were taken.
	Possible []Possible
	// Warnings are found while lowering.
	Warnings []diag.Diagnostic
	// Notes say what the program does not distinguish, for --stats.
	Notes []string

	lw *lowering
}

// Possible is one line of must_be_possible.
type Possible struct {
	Prop  int    // position in Program.Props, -1 if judged by Label
	Label string // Action.Label that must have been taken
}

// lowering is the work in progress.
type lowering struct {
	spec    *ast.Spec
	opts    Options
	program *ir.Program

	opSets   map[*ast.Operation]*ir.Set
	instSets map[*ast.Process]*ir.Set
	copies   map[*ast.Resource]*ir.Set

	symbols     map[string]int
	symbolNames []string
	symbolType_ []string // placeholder, replaced when all symbols are known

	procs    map[string]*process
	order    []*process
	tables   map[*ast.Table]*table
	kvs      map[*ast.Resource]*table
	queues   map[*ast.Resource]*queue
	provs    map[*ast.Resource]*provider
	locks    map[*ast.Resource]*lockTable
	logs     map[*ast.Resource]*logStore
	replicas map[*ast.Resource]*replica
	classes  []*timerClass
	clock    *clock
	waits    []waiting
	budgets  map[string]*budget
	effects  map[*ast.Effect]map[*ast.Operation]*ir.Var
	human    map[*ast.Operation]*ir.Var
	opState  opStates

	columnRead map[*ast.Column]bool
	keyRead    map[*ast.Resource]bool            // kv whose key is read as a column
	entryRead  map[*ast.Resource]map[string]bool // parts of entries and messages that are read
	watched    map[*ast.Var]bool                 // names that a promise looks at
	observed   map[*ast.Step]bool                // local steps that a promise looks at
	timers     []*timer
	initially  []ir.Stmt // after the initial rows
	fresh      []*ir.Var // scratch for fresh()
	anyFields  map[*ast.OpField]*column
	monitors   monitors

	out  *Lowered
	errs diag.List
}

// Lower builds the program of a spec. The error lists what the language allows
// to write but cannot give a meaning.
func Lower(spec *ast.Spec, opts Options) (*Lowered, error) {
	lw := &lowering{
		spec: spec, opts: opts, program: &ir.Program{Name: spec.System},
		opSets: map[*ast.Operation]*ir.Set{}, instSets: map[*ast.Process]*ir.Set{}, copies: map[*ast.Resource]*ir.Set{},
		symbols: map[string]int{}, symbolType_: []string{"symbol"},
		procs: map[string]*process{}, tables: map[*ast.Table]*table{}, kvs: map[*ast.Resource]*table{},
		queues: map[*ast.Resource]*queue{}, provs: map[*ast.Resource]*provider{}, locks: map[*ast.Resource]*lockTable{},
		logs: map[*ast.Resource]*logStore{}, replicas: map[*ast.Resource]*replica{}, budgets: map[string]*budget{},
		effects: map[*ast.Effect]map[*ast.Operation]*ir.Var{}, human: map[*ast.Operation]*ir.Var{},
		columnRead: map[*ast.Column]bool{}, keyRead: map[*ast.Resource]bool{}, entryRead: map[*ast.Resource]map[string]bool{},
		watched: map[*ast.Var]bool{}, observed: map[*ast.Step]bool{}, anyFields: map[*ast.OpField]*column{},
	}
	lw.out = &Lowered{Program: lw.program, lw: lw}
	lw.build()
	if err := lw.errs.Err(); err != nil {
		return nil, err
	}
	for _, d := range lw.errs.Sorted() {
		lw.out.Warnings = append(lw.out.Warnings, d)
	}
	return lw.out, nil
}

// build runs the passes in order: what is read, then stores, then processes,
// then actions, then properties.
func (lw *lowering) build() {
	lw.findReads()
	lw.makeBudgets()
	for i, a := range lw.spec.Processes {
		p := lw.newProcess(a, i)
		lw.procs[a.Name] = p
		lw.order = append(lw.order, p)
	}
	lw.makeEffects()
	lw.makeLatches()
	lw.makeStores()
	lw.makeLeases()
	for _, p := range lw.order {
		p.trigger = lw.newTrigger(p)
		p.locate()
	}
	lw.orderTimers()
	lw.makeMonitors()
	for _, p := range lw.order {
		p.actions()
	}
	lw.environment()
	lw.promises()
	lw.initial()
	lw.finish()
}

// finish puts the symbol names in place and orders the actions.
func (lw *lowering) finish() {
	names := lw.symbolNames
	if len(names) == 0 {
		names = []string{"none"}
	}
	for _, v := range lw.program.Vars {
		if len(v.Type.Names) > 0 && &v.Type.Names[0] == &lw.symbolType_[0] {
			v.Type.Names = names
		}
	}
	sort.SliceStable(lw.program.Actions, func(i, j int) bool {
		return lw.program.Actions[i].Order < lw.program.Actions[j].Order
	})
	for i, a := range lw.program.Actions {
		a.Order = i
	}
}

func (lw *lowering) variable(v *ir.Var) *ir.Var {
	lw.program.Vars = append(lw.program.Vars, v)
	return v
}

// opSet is the set of the operations of a kind.
func (lw *lowering) opSet(o *ast.Operation) *ir.Set {
	if s, ok := lw.opSets[o]; ok {
		return s
	}
	s := &ir.Set{Name: o.Name, Size: o.Count}
	for _, f := range o.Fields {
		if !f.Symmetric() {
			s.Ordered = true
		}
	}
	lw.opSets[o] = s
	lw.program.Sets = append(lw.program.Sets, s)
	return s
}

// instances is the set of the instances of a process.
func (lw *lowering) instances(a *ast.Process) *ir.Set {
	if s, ok := lw.instSets[a]; ok {
		return s
	}
	n := a.Instances
	if w := a.Trigger.Workers; w > 1 {
		n *= w
	}
	s := &ir.Set{Name: a.Name, Size: n}
	lw.instSets[a] = s
	lw.program.Sets = append(lw.program.Sets, s)
	return s
}

// copySet numbers the messages that start in a queue for one operation.
func (lw *lowering) copySet(q *ast.Resource) *ir.Set {
	if s, ok := lw.copies[q]; ok {
		return s
	}
	s := &ir.Set{Name: q.Name + " message", Size: q.Queue.StartsWith.Count}
	lw.copies[q] = s
	lw.program.Sets = append(lw.program.Sets, s)
	return s
}

func (lw *lowering) symbolType() ir.Type { return ir.Type{Kind: ir.Enum, Names: lw.symbolType_} }

// symbol numbers a symbol or text.
func (lw *lowering) symbol(v ast.Value) int {
	name := v.String()
	if n, ok := lw.symbols[name]; ok {
		return n
	}
	n := len(lw.symbolNames)
	lw.symbols[name] = n
	lw.symbolNames = append(lw.symbolNames, name)
	return n
}

func (lw *lowering) process(a *ast.Process) *process { return lw.procs[a.Name] }

// capacity is the number of slots of a pool: the derived one, or what an
// earlier run found too small, grown.
func (lw *lowering) capacity(name string, derived int) int {
	if n, ok := lw.opts.Capacity[name]; ok {
		return n
	}
	return max(derived, 1)
}

// problem reports what has no meaning.
func (lw *lowering) problem(p diag.Pos, format string, args ...any) {
	lw.errs.Errorf(p, "RP090", format, args...)
}

// noteOnce is note for what is found in several places.
func (lw *lowering) noteOnce(format string, args ...any) {
	n := fmt.Sprintf(format, args...)
	if !slices.Contains(lw.out.Notes, n) {
		lw.out.Notes = append(lw.out.Notes, n)
	}
}

func (lw *lowering) note(format string, args ...any) {
	lw.out.Notes = append(lw.out.Notes, fmt.Sprintf(format, args...))
}
