package lower

import (
	"fmt"

	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// process is a process being lowered: its steps as a graph of nodes, the slots
// of its bound names, and the variables every instance has.
type process struct {
	lw     *lowering
	ast    *ast.Process
	number int
	set    *ir.Set   // instances
	self   *ir.Local // the acting instance, in every action of the process
	pc     *ir.Var
	ir     *ir.Proc

	nodes    []*node
	first    int
	at       map[*ast.Step]int // first node of a step
	blockEnd map[*ast.Step]int // commit or script end

	slots   []*slot
	read    bits // slots that something reads
	byVar   map[*ast.Var][]*slot
	trigger trigger

	run       *ir.Var // token of the run, if somebody reads my_run
	stalled   *ir.Var // stall bit
	retries   map[*node]*ir.Var
	pending   []*pendingMark    // effects of the open transaction
	extra     []*ir.Var         // further variables to clear when a run ends
	driver    map[*node]*ir.Var // repeats of a hidden retry layer
	lookups   map[*node]*ir.Var // calls whose key was looked up, but not executed
	ages      []*ageTimer
	cutOff    map[*ast.Resource]*ir.Var // its connection is gone
	ownRows   []ownRow
	snapOpen  *ir.Var // the open transaction has its snapshot
	readMarks []*readMark
}

// end is the node "the end of the run".
const end = -1

type nodeKind uint8

const (
	localNode     nodeKind = iota // go, let, choose, stop: part of the step before
	remoteNode                    // a round trip: a location of its own
	beginNode                     // the start of a transaction, local
	commitNode                    // a round trip
	inlineNode                    // a verb inside a script, or of private memory
	scriptEndNode                 // local
	pauseNode                     // a local step that a promise looks at: a location without a round trip
)

// node is a step, or the begin or commit of a block.
type node struct {
	id    int
	kind  nodeKind
	step  *ast.Step
	block *node // begin node of the enclosing transaction
	next  int
	loc   int // location of remote, commit and pause nodes

	uses, live bits // slots read here, slots live on entry
	binds      bits // slots bound when done
	held       bool // the run may hold its message here
}

// located says whether a run can stand before the node.
func (n *node) located() bool {
	return n.kind == remoteNode || n.kind == commitNode || n.kind == pauseNode
}

// slot is one leaf of a bound name, stored if it is live at some location.
type slot struct {
	id  int
	v   *ast.Var
	key string
	typ ir.Type
	ir  *ir.Var // nil: never live at a location
}

func (lw *lowering) newProcess(a *ast.Process, number int) *process {
	p := &process{lw: lw, ast: a, number: number, self: &ir.Local{Name: a.Name}, at: map[*ast.Step]int{}, blockEnd: map[*ast.Step]int{},
		byVar: map[*ast.Var][]*slot{}, retries: map[*node]*ir.Var{}}
	nameTrigger(a)
	p.set = lw.instances(a)
	for _, v := range a.Vars {
		for _, pt := range lw.shape(v.Type) {
			t := pt.typ
			if !v.Declared {
				t.Optional = true
			} else {
				t.Lo, t.Hi = v.Lo, v.Hi
			}
			s := &slot{id: len(p.slots), v: v, key: pt.key, typ: t}
			p.slots = append(p.slots, s)
			p.byVar[v] = append(p.byVar[v], s)
		}
	}
	p.first = p.list(a.Steps, end, nil, nil)
	return p
}

// nameTrigger gives what a run was started for a name, if the author has not:
// the end of the run needs it.
func nameTrigger(a *ast.Process) {
	tr := a.Trigger
	if tr.As != nil {
		return
	}
	var alt ast.Alt
	switch tr.Kind {
	case ast.OnMessage:
		alt = ast.Alt{Kind: ast.KindMessage, Resource: tr.Queue}
	case ast.OnRequest, ast.OnStart:
		alt = ast.Alt{Kind: ast.KindOperation, Operation: tr.Operation}
	default:
		return
	}
	tr.As = &ast.Var{Pos: tr.Pos, Name: "(unnamed)", Process: a, Type: &ast.Type{Alts: []ast.Alt{alt}}}
	a.Vars = append([]*ast.Var{tr.As}, a.Vars...)
}

// list makes the nodes of a list of steps that continues at next; it returns
// the first one.
func (p *process) list(steps []*ast.Step, next int, block *node, script *ast.Step) int {
	for i := len(steps) - 1; i >= 0; i-- {
		next = p.step(steps[i], next, block, script)
	}
	return next
}

func (p *process) add(n *node) *node {
	n.id = len(p.nodes)
	n.loc = -1
	p.nodes = append(p.nodes, n)
	return n
}

func (p *process) step(s *ast.Step, next int, block *node, script *ast.Step) int {
	switch {
	case s.Verb == ast.VerbTransaction:
		begin := p.add(&node{kind: beginNode, step: s})
		commit := p.add(&node{kind: commitNode, step: s, block: begin, next: next})
		p.at[s], p.blockEnd[s] = begin.id, commit.id
		begin.next = p.list(s.Do, commit.id, begin, nil)
		return begin.id
	case s.Verb == ast.VerbScript:
		n := p.add(&node{kind: remoteNode, step: s, block: block})
		if s.Local() {
			n.kind = inlineNode
		}
		e := p.add(&node{kind: scriptEndNode, step: s, block: block, next: next})
		p.at[s], p.blockEnd[s] = n.id, e.id
		n.next = p.list(s.Do, e.id, block, s)
		return n.id
	}
	n := p.add(&node{kind: remoteNode, step: s, block: block, next: next})
	switch {
	case s.Verb.Local():
		n.kind = localNode
		if p.lw.observed[s] {
			n.kind = pauseNode
		}
	case script != nil || s.Local():
		n.kind = inlineNode
	}
	p.at[s] = n.id
	return n.id
}

// target is the node of a jump.
func (p *process) target(t *ast.Target, from *node) int {
	if t == nil {
		return end
	}
	switch t.Kind {
	case ast.ToStep:
		return p.at[t.Step]
	case ast.ToBlockEnd:
		if b := from.step.Block; b != nil {
			return p.blockEnd[b]
		}
	}
	return end
}

// locate numbers the locations and finds where names are live.
func (p *process) locate() {
	names := []string{"idle"}
	order := p.inFileOrder()
	for _, n := range order {
		if n.located() {
			n.loc = len(names)
			names = append(names, p.locationName(n))
		}
	}
	p.pc = p.lw.variable(&ir.Var{Name: p.ast.Name + ".at", Index: ir.Several(p.set), Type: ir.Type{Kind: ir.Enum, Names: names}})
	p.ir = &ir.Proc{Name: p.ast.Name, Instances: p.set, PC: p.pc, Locations: names}
	p.lw.program.Procs = append(p.lw.program.Procs, p.ir)
	p.liveness()
}

func (p *process) locationName(n *node) string {
	s := n.step
	name := fmt.Sprintf("%s %s", s.Verb, s.Subject)
	if n.kind == commitNode {
		name = "commit " + s.Subject
	}
	if s.Label != "" {
		name = s.Label + ": " + name
	}
	return fmt.Sprintf("%s (line %d)", name, s.Pos.Line)
}

// inFileOrder lists the nodes as the file does: blocks around their contents.
func (p *process) inFileOrder() []*node {
	var out []*node
	var walk func(steps []*ast.Step)
	walk = func(steps []*ast.Step) {
		for _, s := range steps {
			out = append(out, p.nodes[p.at[s]])
			walk(s.Do)
			if e, ok := p.blockEnd[s]; ok {
				out = append(out, p.nodes[e])
			}
		}
	}
	walk(p.ast.Steps)
	return out
}

// locationOf is where a run stands that is about to take the step.
func (p *process) locationOf(s *ast.Step) (int, bool) {
	id, ok := p.at[s]
	for ok && id != end {
		n := p.nodes[id]
		if n.located() {
			return n.loc, true
		}
		if n.kind != beginNode {
			return 0, false
		}
		id = n.next
	}
	return 0, false
}

// stored is what a bound name of an instance holds at its location.
func (p *process) stored(v *ast.Var, me ir.Expr) value {
	var ls []leaf
	for _, s := range p.byVar[v] {
		if s.ir != nil {
			ls = append(ls, leaf{s.key, s.typ, load(s.ir, me)})
		}
	}
	return newValue(ls...)
}

// pc test helpers.

// running is true while the instance has a run in progress.
func (p *process) running(me ir.Expr) ir.Expr { return differ(load(p.pc, me), num(0)) }

// perInstance makes a variable of every instance that is cleared when a run ends.
func (p *process) perInstance(name string, t ir.Type) *ir.Var {
	v := &ir.Var{Name: p.ast.Name + "." + name, Index: ir.Several(p.set), Type: t, Initial: cleared(t)}
	p.lw.variable(v)
	p.extra = append(p.extra, v)
	return v
}

// cleared is the value of a variable that holds nothing.
func cleared(t ir.Type) int {
	switch {
	case t.Optional:
		return ir.None
	case t.Kind == ir.Range:
		return t.Lo
	}
	return 0
}
