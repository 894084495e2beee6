package ir

import (
	"fmt"
	"strings"
)

// String prints the program for people who debug a lowering. The text is not
// read back.
func (p *Program) String() string {
	w := &printer{}
	w.line("program %s", p.Name)
	for _, s := range p.Sets {
		kind := "set"
		if s.Ordered {
			kind = "ordered set"
		}
		w.line("%s %s %d", kind, s.Name, s.Size)
	}
	for _, q := range p.Pools {
		w.line("pool %s %d", q.Name, q.Cap)
	}
	for _, v := range p.Vars {
		w.line("var %s%s: %s = %s", v.Name, indices(v.Index), v.Type, v.Type.Format(v.Initial))
	}
	for i, ss := range p.Initial {
		w.line("initial %d", i+1)
		w.block(ss)
	}
	for _, a := range p.Actions {
		w.action(a)
	}
	for _, q := range p.Props {
		w.property(q)
	}
	return w.b.String()
}

type printer struct {
	b     strings.Builder
	depth int
}

func (w *printer) line(format string, args ...any) {
	w.b.WriteString(strings.Repeat("  ", w.depth))
	fmt.Fprintf(&w.b, format, args...)
	w.b.WriteByte('\n')
}

func indices(ix []Index) string {
	s := ""
	for _, x := range ix {
		s += "[" + x.name() + "]"
	}
	return s
}

func binders(ps []Param) string {
	s := ""
	for _, p := range ps {
		s += " " + p.Local.Name + " in " + p.Over.name()
	}
	return s
}

func (w *printer) action(a *Action) {
	head := [...]string{"step", "delivery", "expiry", "fault"}[a.Kind&3] + " " + a.Name
	if a.Proc != nil && a.At < len(a.Proc.Locations) {
		head += " of " + a.Proc.Name + " at " + a.Proc.Locations[a.At]
	}
	if a.Self != nil {
		head += " self " + a.Self.Name
	}
	head += binders(a.Params)
	if a.Budget != nil {
		head += " costs " + a.Budget.Name
	}
	if a.Fault != "" {
		head += " fault " + a.Fault
	}
	if a.Unfair {
		head += " unfair"
	}
	if a.Choice != 0 {
		head += fmt.Sprintf(" choice %d", a.Choice)
	}
	w.line("%s", head)
	if a.Guard != nil {
		w.line("  when %s", text(a.Guard))
	}
	w.block(a.Body)
}

func (w *printer) property(q *Property) {
	kind := [...]string{"always", "reachable", "eventually", "leads to", "finally", "can always"}[q.Kind]
	from, latched := "", ""
	if q.From != nil {
		from = text(q.From) + " -> "
	}
	if q.Latched {
		latched = " (latched)"
	}
	w.line("property %s%s: %s%s %s%s", q.Name, binders(q.ForEach), kind, latched, from, text(q.Goal))
}

func (w *printer) block(ss []Stmt) {
	w.depth++
	for _, s := range ss {
		w.stmt(s)
	}
	w.depth--
}

func (w *printer) stmt(s Stmt) {
	switch s := s.(type) {
	case Assign:
		w.line("%s := %s", text(Load{s.Var, s.At}), text(s.Value))
	case If:
		w.line("if %s", text(s.Cond))
		w.block(s.Then)
		if len(s.Else) > 0 {
			w.line("else")
			w.block(s.Else)
		}
	case ForEach:
		w.line("for %s in %s", s.Local.Name, s.Over.name())
		w.block(s.Body)
	case Let:
		w.line("let %s = %s", s.Local.Name, text(s.Value))
	case Put:
		w.line("put %s as %s", s.Pool.Name, s.Slot.Name)
		w.block(s.Body)
	case Drop:
		w.line("drop %s of %s", text(s.Slot), s.Pool.Name)
	case Fresh:
		w.line("%s := fresh", text(Load{s.Var, s.At}))
	case Next:
		w.line("%s := next", text(Load{s.Var, s.At}))
	case Cut:
		w.line("cut %q", s.Reason)
	}
}

var symbols = [...]string{Add: "+", Sub: "-", Eq: "==", Ne: "!=", Lt: "<", Le: "<=", And: "and", Or: "or"}

// text prints an expression.
func text(e Expr) string {
	switch e := e.(type) {
	case Const:
		return number(e.Value)
	case Load:
		s := e.Var.Name
		for _, x := range e.At {
			s += "[" + text(x) + "]"
		}
		return s
	case Use:
		return e.Local.Name
	case Binary:
		return "(" + text(e.A) + " " + symbols[e.Op] + " " + text(e.B) + ")"
	case Not:
		return "not " + text(e.A)
	case Cond:
		return "(" + text(e.A) + " if " + text(e.If) + " else " + text(e.B) + ")"
	case Exists:
		return "(exists " + e.Local.Name + " in " + e.Over.name() + ": " + text(e.Where) + ")"
	case Count:
		return "(count " + e.Local.Name + " in " + e.Over.name() + ": " + text(e.Where) + ")"
	case Best:
		word := "least "
		if e.Max {
			word = "most "
		}
		where := ""
		if e.Where != nil {
			where = " where " + text(e.Where)
		}
		return "(" + word + text(e.Of) + " for " + e.Local.Name + " in " + e.Over.name() + where + ")"
	}
	return "?"
}
