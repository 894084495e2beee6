package lower

import (
	"strings"

	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// bits is a set of slot numbers.
type bits map[int]bool

func (b bits) addAll(c bits) bool {
	grown := false
	for k := range c {
		if !b[k] {
			b[k] = true
			grown = true
		}
	}
	return grown
}

// onlyPresence as a prefix asks whether a name is there, nothing more.
const onlyPresence = "?!"

// edge is a way from a node to another. done: the step was done and the run
// knows. A step binds its names at every outcome: to none if it was not done.
type edge struct {
	to   int
	done bool
}

func (p *process) edges(n *node) []edge {
	s := n.step
	var out []edge
	add := func(to int, done bool) { out = append(out, edge{to, done}) }
	switch {
	case n.kind == localNode || n.kind == pauseNode:
		return p.localEdges(n)
	case n.kind == beginNode || n.kind == scriptEndNode:
		add(n.next, true)
		return out
	}
	add(n.next, true)
	for _, b := range s.Branches {
		p.branchEdges(n, b, add)
	}
	if n.kind == commitNode || s.Block == nil {
		return out
	}
	if s.Block.Verb == ast.VerbTransaction {
		for _, b := range s.Block.Branches {
			p.branchEdges(p.nodes[p.blockEnd[s.Block]], b, add)
		}
	}
	return out
}

func (p *process) branchEdges(n *node, b *ast.Branch, add func(int, bool)) {
	for ; b != nil; b = b.Then {
		switch b.Kind {
		case ast.BranchGo, ast.BranchCommit:
			add(p.target(b.Target, n), false)
		case ast.BranchContinue:
			add(n.next, false)
		case ast.BranchRetry:
			if n.kind == commitNode {
				add(p.at[n.step], false)
			} else {
				add(n.id, false)
			}
		}
	}
}

func (p *process) localEdges(n *node) []edge {
	s := n.step
	switch s.Verb {
	case ast.VerbGo:
		out := []edge{{p.target(s.Target, n), true}}
		if s.When != nil {
			out = append(out, edge{n.next, true})
		}
		return out
	case ast.VerbStop:
		if s.When != nil {
			return []edge{{n.next, true}}
		}
		return nil
	case ast.VerbChoose:
		var out []edge
		for i := range s.Choose {
			out = append(out, edge{p.target(&s.Choose[i], n), true})
		}
		return out
	}
	return []edge{{n.next, true}}
}

// liveness marks, for every node, the slots that are read later, and gives a
// variable to every slot that is live at some location.
func (p *process) liveness() {
	p.heldFlow()
	p.read = bits{}
	for _, n := range p.nodes {
		n.uses, n.live, n.binds = bits{}, bits{}, bits{}
		p.stepUses(n)
		for _, v := range bound(n) {
			for _, s := range p.byVar[v] {
				n.binds[s.id] = true
			}
		}
		p.trigger.uses(n)
		for v := range p.lw.watched {
			if v.Process == p.ast {
				p.use(n, v, "")
			}
		}
	}
	for _, n := range p.nodes {
		p.readUses(n)
	}
	for changed := true; changed; {
		changed = false
		for i := len(p.nodes) - 1; i >= 0; i-- {
			n := p.nodes[i]
			if n.live.addAll(n.uses) {
				changed = true
			}
			for _, e := range p.edges(n) {
				if e.to == end {
					continue
				}
				for k := range p.nodes[e.to].live {
					if !n.live[k] && !n.binds[k] {
						n.live[k] = true
						changed = true
					}
				}
			}
		}
	}
	for _, n := range p.nodes {
		if !n.located() {
			continue
		}
		for k := range n.live {
			p.slots[k].needed(p)
		}
	}
	// In declaration order, so that programs are the same every time.
	for _, s := range p.slots {
		if s.ir != nil {
			p.lw.variable(s.ir)
		}
	}
}

func (s *slot) needed(p *process) {
	if s.ir == nil {
		s.ir = &ir.Var{Name: p.ast.Name + "." + s.v.Name + s.key, Index: ir.Several(p.set), Type: s.typ, Initial: cleared(s.typ)}
	}
}

// bound lists the names a node binds when done.
func bound(n *node) []*ast.Var {
	if n.kind == beginNode || n.kind == scriptEndNode {
		return nil
	}
	s := n.step
	var out []*ast.Var
	if s.As != nil && (s.Verb != ast.VerbTransaction && s.Verb != ast.VerbScript) {
		out = append(out, s.As)
	}
	if s.PositionAs != nil && (s.Verb != ast.VerbTransaction || n.kind == commitNode) {
		out = append(out, s.PositionAs)
	}
	for _, l := range s.Lets {
		out = append(out, l.Var)
	}
	return out
}

func (p *process) stepUses(n *node) {
	if n.kind == beginNode || n.kind == scriptEndNode || n.kind == commitNode {
		return
	}
	if n.step.Verb == ast.VerbScript {
		return
	}
	for _, e := range p.lw.evaluated(n.step) {
		p.exprUses(n, e, "")
	}
}

// evaluated lists the expressions of a step whose value matters: what is
// written to a column that nobody reads does not.
func (lw *lowering) evaluated(s *ast.Step) []ast.Expr {
	if s.Table == nil || len(s.Row) == 0 {
		return expressions(s)
	}
	kept := *s
	kept.Row = nil
	for _, c := range s.Row {
		if lw.columnRead[c.Column] {
			kept.Row = append(kept.Row, c)
		}
	}
	return expressions(&kept)
}

// expressions lists every expression a step evaluates.
func expressions(s *ast.Step) []ast.Expr {
	var out []ast.Expr
	add := func(e ast.Expr) {
		if e != nil {
			out = append(out, e)
		}
	}
	for _, c := range s.Row {
		add(c.Value)
	}
	add(s.Where)
	add(s.AtLeast)
	add(s.Key)
	add(s.Value)
	add(s.OnlyIfValue)
	add(s.MessageID)
	add(s.Epoch)
	add(s.UpToExpr)
	add(s.Body)
	add(s.Human)
	add(s.When)
	for _, l := range s.Lets {
		add(l.Value)
	}
	for _, m := range s.Effects {
		add(m.Operation)
	}
	for _, m := range s.Undoes {
		add(m.Operation)
	}
	return out
}

// use marks the slots of a name under a prefix as read at the node.
func (p *process) use(n *node, v *ast.Var, prefix string) {
	for _, s := range p.matching(v, prefix) {
		p.read[s.id] = true
		if v == p.ast.Trigger.As && p.onlyTrigger(v) {
			s = p.slotOf(v, p.trigger.alias(s.key))
		}
		p.read[s.id] = true
		n.uses[s.id] = true
	}
}

func (p *process) slotOf(v *ast.Var, key string) *slot {
	for _, s := range p.byVar[v] {
		if s.key == key {
			return s
		}
	}
	return nil
}

func (p *process) matching(v *ast.Var, prefix string) []*slot {
	all := p.byVar[v]
	if i := strings.Index(prefix, onlyPresence); i >= 0 {
		base := prefix[:i]
		for _, s := range all {
			if s.key == base+"?" {
				out := []*slot{s}
				for _, o := range all { // other alternatives of a sum
					if strings.HasPrefix(o.key, base+"/") {
						out = append(out, o)
					}
				}
				return out
			}
		}
		prefix = base
	}
	var out []*slot
	for _, s := range all {
		if under(s.key, prefix) {
			out = append(out, s)
		}
	}
	return out
}

func under(key, prefix string) bool {
	if prefix == "" || key == prefix {
		return true
	}
	_, ok := cut(key, prefix)
	return ok
}

func (p *process) exprUses(n *node, e ast.Expr, prefix string) {
	walkUses(e, prefix, func(v *ast.Var, pre string) {
		if v.Process == p.ast {
			p.use(n, v, pre)
		}
	})
}

// walkUses calls f for every bound name that e reads, with the part of it that
// is needed when only what is under prefix of e is needed.
func walkUses(e ast.Expr, prefix string, f func(v *ast.Var, prefix string)) {
	switch x := e.(type) {
	case nil:
	case *ast.VarRef:
		f(x.Var, prefix)
	case *ast.InstanceVar:
		f(x.Var, prefix)
	case *ast.FieldOf:
		if o := operationOf(x.X.Type()); o != nil && o.Field(x.Name) != nil {
			walkUses(x.X, "/o:"+o.Name, f)
			return
		}
		walkUses(x.X, "."+x.Name+prefix, f)
	case *ast.Binary:
		if x.Op == ast.OpEq || x.Op == ast.OpNe {
			if isNone(x.Y) {
				walkUses(x.X, onlyPresence, f)
				return
			}
			if isNone(x.X) {
				walkUses(x.Y, onlyPresence, f)
				return
			}
		}
		walkUses(x.X, "", f)
		walkUses(x.Y, "", f)
	default:
		ast.Walk(e, func(c ast.Expr) bool {
			if c == e {
				return true
			}
			walkUses(c, "", f)
			return false
		})
	}
}

func isNone(e ast.Expr) bool {
	l, ok := e.(*ast.Lit)
	return ok && l.Value.Kind == ast.NoneValue
}

// heldFlow finds the nodes at which a run may still hold its message.
func (p *process) heldFlow() {
	if p.ast.Trigger.Kind != ast.OnMessage || p.first == end {
		return
	}
	todo := []int{p.first}
	p.nodes[p.first].held = true
	for len(todo) > 0 {
		n := p.nodes[todo[len(todo)-1]]
		todo = todo[:len(todo)-1]
		acked := (n.step.Verb == ast.VerbAck || n.step.Verb == ast.VerbNack) && n.step.Message == p.ast.Trigger.As
		for _, e := range p.edges(n) {
			if e.to == end || acked && e.done {
				continue
			}
			if m := p.nodes[e.to]; !m.held {
				m.held = true
				todo = append(todo, e.to)
			}
		}
	}
}
