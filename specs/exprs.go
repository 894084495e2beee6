package specs

import (
	"errors"
	"fmt"
	"strings"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/expr"
	"github.com/relplan/relplan/internal/yamlx"
	"github.com/relplan/relplan/specs/ast"
)

// scope is what the names of an expression may mean.
type scope struct {
	d    *decoder
	proc *ast.Process // bound names of this process; nil in promises and initially

	table   *ast.Table    // candidate row, or
	store   *ast.Resource // candidate entry of a kv
	columns bool          // a bare name is a column of it first
	bare    bool          // a bare name can only be a column (partial unique keys)

	sql     *ast.Resource // a where: may read other tables of this resource (R36)
	promise bool          // counts, at(), answered(), operations and processes by name
	check   *checkScope   // what a promise speaks of
	bound   *ast.OpVar    // inside count(OP where ..) and the OP where ..
	static  bool          // initially: constants and each
	each    *ast.OpConst  // the operation of `each OP` in this row
	words   bool          // a bare word is a constant (beside a parameter)

	src *yamlx.Node // for positions
}

// checkScope collects the operation or process a check is stated for.
type checkScope struct {
	bound *ast.OpVar
	proc  *ast.Process
}

func (s scope) pos(n expr.Node) diag.Pos {
	a, b := n.Span()
	return span(s.src, a, b)
}

// span gives the position of characters a to b of a scalar.
func span(n *yamlx.Node, a, b int) diag.Pos {
	p, q := n.At(a), n.At(b)
	if q.Line == p.Line && q.Column > p.Column {
		p.EndColumn = q.Column
	}
	return p
}

// expr reads the expression in the scalar n into *into and registers it for
// typing. Nothing is stored after an error.
func (d *decoder) expr(into *ast.Expr, n *yamlx.Node, at diag.Pos, sc scope) {
	n = d.sub(n)
	switch n.Kind() {
	case yamlx.Mapping:
		cells := d.cells(n, at, cellRecord{}, sc)
		if cells == nil {
			return
		}
		*into = &ast.Record{Base: ast.Base{At: n.Pos()}, Cells: cells}
		d.inf.slot(into, sc)
		return
	case yamlx.Scalar:
	default:
		d.wanted(n, at, "RP020", "an expression", "")
		return
	}
	if n.Quoted() && plainText(n.Value()) {
		*into = &ast.Lit{Base: ast.Base{At: n.Pos()}, Value: ast.Value{Kind: ast.TextValue, Text: n.Value()}}
		d.inf.slot(into, sc)
		return
	}
	d.exprText(into, n, sc)
}

// plainText says whether quoted text is a text and not a quoted expression:
// one word, without a call, an operator or a field.
func plainText(s string) bool {
	for _, r := range s {
		if r != '-' && r != '/' && r != ':' && r != '_' && !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			return false
		}
	}
	return s != "" && s != "none"
}

// exprText reads the text of n as an expression, whatever its quotes.
func (d *decoder) exprText(into *ast.Expr, n *yamlx.Node, sc scope) {
	if e := d.parseExpr(n, 0, n.Value(), sc); e != nil {
		*into = e
		d.inf.slot(into, sc)
	}
}

// parseExpr reads text, which starts at character offset of the scalar n.
func (d *decoder) parseExpr(n *yamlx.Node, offset int, text string, sc scope) ast.Expr {
	tree, err := expr.Parse(strings.Repeat(" ", offset) + text)
	if err != nil {
		d.syntax(n, err)
		return nil
	}
	sc.src = n
	return sc.resolve(tree)
}

func (d *decoder) syntax(n *yamlx.Node, err error) {
	var e *expr.Error
	if !errors.As(err, &e) {
		d.errorf(n.Pos(), "RP020", "%s", err)
		return
	}
	d.l.Add(diag.Diagnostic{Code: "RP020", Pos: span(n, e.Start, e.End), Message: e.Error(), Found: e.Found, Expected: e.Expected, Hint: e.Hint})
}

// resolve gives the typed tree of n; nil after an error.
func (s scope) resolve(n expr.Node) ast.Expr {
	base := ast.Base{At: s.pos(n)}
	switch x := n.(type) {
	case *expr.Word:
		return s.word(x)
	case *expr.Int:
		return &ast.Lit{Base: base, Value: ast.Value{Kind: ast.IntValue, Int: x.Value}}
	case *expr.Text:
		return &ast.Lit{Base: base, Value: ast.Value{Kind: ast.TextValue, Text: x.Value}}
	case *expr.Field:
		return s.field(x, base)
	case *expr.Unary:
		v := s.resolve(x.X)
		if v == nil {
			return nil
		}
		if x.Op == "not" {
			return fold(&ast.Unary{Base: base, Op: ast.OpNot, X: v})
		}
		return &ast.Unary{Base: base, Op: ast.OpNeg, X: v}
	case *expr.Binary:
		return s.binary(x, base)
	case *expr.In:
		return s.in(x, base)
	case *expr.Cond:
		c, a, b := s.resolve(x.If), s.resolve(x.X), s.resolve(x.Y)
		if c == nil || a == nil || b == nil {
			return nil
		}
		return fold(&ast.Cond{Base: base, If: c, X: a, Y: b})
	case *expr.Call:
		return s.call(x, base)
	case *expr.The:
		return s.the(x, base)
	case *expr.Each:
		return s.eachOp(x, base)
	case *expr.List:
		s.d.l.Add(diag.Diagnostic{Code: "RP021", Pos: base.At, Message: "a list is not a value", Hint: "lists stand behind 'in', and in only: beside a parameter"})
		return nil
	}
	s.d.errorf(base.At, "RP020", "not an expression")
	return nil
}

var binaryOps = map[string]ast.Op{"==": ast.OpEq, "!=": ast.OpNe, "<": ast.OpLt, "<=": ast.OpLe, ">": ast.OpGt, ">=": ast.OpGe,
	"and": ast.OpAnd, "or": ast.OpOr, "implies": ast.OpImplies, "+": ast.OpAdd, "-": ast.OpSub}

func (s scope) binary(x *expr.Binary, base ast.Base) ast.Expr {
	if c, ok := x.X.(*expr.Call); ok && c.Func == "age" && s.ageOperator(x.Op) {
		return s.age(c, x, base)
	}
	sx, sy := s, s
	if x.Op == "==" || x.Op == "!=" { // `fix == dedupe_table`: a bare word beside a parameter
		sx.words, sy.words = s.isParam(x.Y), s.isParam(x.X)
	}
	a, b := sx.resolve(x.X), sy.resolve(x.Y)
	if a == nil || b == nil {
		return nil
	}
	return fold(&ast.Binary{Base: base, Op: binaryOps[x.Op], X: a, Y: b})
}

func (s scope) ageOperator(op string) bool { return op == ">" || op == ">=" || op == "<" || op == "<=" }

func (s scope) isParam(n expr.Node) bool {
	w, ok := n.(*expr.Word)
	if !ok {
		return false
	}
	_, is := s.d.params[strings.TrimPrefix(w.Name, "$")]
	return is && (s.proc == nil || s.proc.Var(w.Name) == nil)
}

func (s scope) in(x *expr.In, base ast.Base) ast.Expr {
	var out ast.Expr
	for _, item := range x.List.Items {
		a, b := s.resolve(x.X), s.resolve(item)
		if a == nil || b == nil {
			return nil
		}
		var eq ast.Expr = fold(&ast.Binary{Base: base, Op: ast.OpEq, X: a, Y: b})
		if out == nil {
			out = eq
		} else {
			out = fold(&ast.Binary{Base: base, Op: ast.OpOr, X: out, Y: eq})
		}
	}
	if out == nil {
		out = boolLit(base, false)
	}
	if x.Not {
		return fold(&ast.Unary{Base: base, Op: ast.OpNot, X: out})
	}
	return out
}

func boolLit(base ast.Base, v bool) *ast.Lit {
	return &ast.Lit{Base: base, Value: ast.Value{Kind: ast.BoolValue, Bool: v}}
}

// fold computes what is constant, which is what parameters leave behind.
func fold(e ast.Expr) ast.Expr {
	truth := func(x ast.Expr) (bool, bool) {
		l, ok := x.(*ast.Lit)
		if !ok || l.Value.Kind != ast.BoolValue {
			return false, false
		}
		return l.Value.Bool, true
	}
	switch x := e.(type) {
	case *ast.Unary:
		if v, ok := truth(x.X); ok && x.Op == ast.OpNot {
			return boolLit(x.Base, !v)
		}
	case *ast.Cond:
		if v, ok := truth(x.If); ok {
			if v {
				return x.X
			}
			return x.Y
		}
	case *ast.Binary:
		l, lok := x.X.(*ast.Lit)
		r, rok := x.Y.(*ast.Lit)
		if lok && rok && (x.Op == ast.OpEq || x.Op == ast.OpNe) {
			return boolLit(x.Base, (l.Value == r.Value) == (x.Op == ast.OpEq))
		}
		lv, lok := truth(x.X)
		rv, rok := truth(x.Y)
		switch {
		case x.Op == ast.OpAnd && lok:
			return pick(lv, x.Y, x.X)
		case x.Op == ast.OpAnd && rok:
			return pick(rv, x.X, x.Y)
		case x.Op == ast.OpOr && lok:
			return pick(lv, x.X, x.Y)
		case x.Op == ast.OpOr && rok:
			return pick(rv, x.Y, x.X)
		}
	}
	return e
}

func pick(c bool, a, b ast.Expr) ast.Expr {
	if c {
		return a
	}
	return b
}

// word resolves a bare name.
func (s scope) word(w *expr.Word) ast.Expr {
	base := ast.Base{At: s.pos(w)}
	name := w.Name
	switch name {
	case "none":
		return &ast.Lit{Base: base}
	case "true", "false":
		return boolLit(base, name == "true")
	case "me", "my_run":
		if s.proc == nil {
			s.d.errorf(base.At, "RP012", "'%s' has no meaning here: it names the instance that runs a step", name)
			return nil
		}
		if name == "me" {
			return &ast.Me{Base: base, Process: s.proc}
		}
		return &ast.MyRun{Base: base, Process: s.proc}
	}
	var v *ast.Var
	if s.proc != nil {
		v = s.proc.Var(name)
	}
	var col ast.Expr
	if s.columns {
		col = s.columnNamed(name, base)
	}
	switch {
	case v != nil && col != nil && !s.bare:
		s.d.l.Add(diag.Diagnostic{Code: "RP024", Pos: base.At, Message: fmt.Sprintf("'%s' is a bound name and a column of %s", name, s.candidate()),
			Hint: fmt.Sprintf("write row.%s for the column, or bind another name with as:", name)})
		return nil
	case col != nil:
		return col
	case v != nil && !s.bare:
		return &ast.VarRef{Base: base, Var: v}
	}
	return s.otherWord(name, base)
}

func (s scope) otherWord(name string, base ast.Base) ast.Expr {
	if p, ok := s.d.params[strings.TrimPrefix(name, "$")]; ok {
		return s.paramValue(p, base)
	}
	if symbolForm.MatchString(name) {
		s.d.symbol(name, base.At)
		return &ast.Lit{Base: base, Value: ast.Value{Kind: ast.SymbolValue, Text: name}}
	}
	if s.words && s.d.paramWord(name) {
		return &ast.Lit{Base: base, Value: ast.Value{Kind: ast.SymbolValue, Text: name}}
	}
	if op, ok := s.d.ops[name]; ok {
		if s.bound != nil && s.bound.Operation == op {
			return s.bound
		}
		if s.promise {
			return s.outer(op, base)
		}
		if s.each != nil && s.each.Operation == op {
			return &ast.OpConst{Base: base, Operation: op, Index: s.each.Index}
		}
	}
	s.unknownWord(name, base.At)
	return nil
}

// unknownWord reports a name that means nothing, unless the trigger that may
// bind it is wrong already.
func (s scope) unknownWord(name string, pos diag.Pos) {
	if s.proc != nil && s.d.loose[s.proc] {
		return
	}
	s.d.l.Add(s.unknownName(name, pos))
}

// symbol remembers an ALL_CAPS word.
func (d *decoder) symbol(name string, pos diag.Pos) {
	if _, ok := d.syms[name]; !ok {
		d.syms[name] = pos
	}
}

// paramWord says whether some parameter has this word among its values.
func (d *decoder) paramWord(name string) bool {
	for _, p := range d.order {
		if p.value.Value() == name {
			return true
		}
		for _, a := range p.allowed {
			if a.Value() == name {
				return true
			}
		}
	}
	return false
}

func (s scope) paramValue(p *param, base ast.Base) ast.Expr {
	v, ok := constant(p.value.Value(), p.value.Quoted())
	if p.value.Kind() != yamlx.Scalar {
		s.d.errorf(base.At, "RP021", "the parameter '%s' is %s, not a value", p.name, p.value.Kind())
		return nil
	}
	if !ok {
		v = ast.Value{Kind: ast.SymbolValue, Text: p.value.Value()}
	}
	return &ast.Lit{Base: base, Value: v}
}

// outer is the operation that a check is stated for.
func (s scope) outer(op *ast.Operation, base ast.Base) ast.Expr {
	if s.check == nil {
		s.d.errorf(base.At, "RP012", "'%s' names every %s, no single one", op.Name, op.Name)
		return nil
	}
	if s.check.bound == nil {
		s.check.bound = &ast.OpVar{Base: base, Operation: op, Outer: true}
	}
	if s.check.bound.Operation != op {
		s.d.errorf(base.At, "RP021", "a check speaks of one kind of operation: '%s' or '%s'", s.check.bound.Operation.Name, op.Name)
		return nil
	}
	return s.check.bound
}

func (s scope) candidate() string {
	if s.table != nil {
		return s.table.Name
	}
	return s.store.Name
}

// columnNamed gives the column of the candidate row, nil if there is none.
func (s scope) columnNamed(name string, base ast.Base) ast.Expr {
	switch {
	case s.table != nil:
		if c := s.table.Column(name); c != nil {
			return &ast.ColumnRef{Base: base, Table: s.table, Column: c, Name: name}
		}
	case s.store != nil && s.store.KV != nil:
		if name == "key" || name == "value" || contains(s.d.kvFields[s.store], name) {
			return &ast.ColumnRef{Base: base, Store: s.store, Name: name}
		}
	case s.store != nil && s.store.Queue != nil:
		if s.store.Queue.Field(name) != nil {
			return &ast.ColumnRef{Base: base, Store: s.store, Name: name}
		}
	}
	return nil
}

func (s scope) columnNames() []string {
	var out []string
	switch {
	case s.table != nil:
		for _, c := range s.table.Columns {
			out = append(out, c.Name)
		}
	case s.store != nil && s.store.KV != nil:
		out = append(out, "key", "value")
		out = append(out, s.d.kvFields[s.store]...)
	case s.store != nil && s.store.Queue != nil:
		for _, f := range s.store.Queue.Fields {
			out = append(out, f.Name)
		}
	}
	return out
}

// bindable are the triggers that have something to bind.
var bindable = map[ast.TriggerKind]bool{ast.OnMessage: true, ast.OnRow: true, ast.OnRequest: true, ast.OnStart: true}

func (s scope) unknownName(name string, pos diag.Pos) diag.Diagnostic {
	var known []string
	if s.columns {
		known = append(known, s.columnNames()...)
	}
	var bound []string
	if s.proc != nil {
		for _, v := range s.proc.Vars {
			known = append(known, v.Name)
			bound = append(bound, v.Name)
		}
	}
	if s.promise || s.static {
		known = append(known, sortedKeys(s.d.ops)...)
	}
	known = append(known, s.d.paramNames("")...)
	dg := diag.Diagnostic{Code: "RP012", Pos: pos, Message: "unknown name '" + name + "'", Found: "'" + name + "'"}
	upper := strings.ToUpper(name)
	_, isSymbol := s.d.syms[upper]
	c, near := suggest(name, known)
	switch {
	case near:
		dg.Hint = "did you mean: " + c
		if upper == strings.ToUpper(c) || isSymbol {
			dg.Hint = fmt.Sprintf("did you mean the name %s, or the constant %s?", c, upper)
		}
	case isSymbol:
		dg.Hint = "did you mean the constant " + upper + "?"
	case len(bound) == 0 && s.proc != nil && s.proc.Trigger != nil && s.proc.Trigger.As == nil && bindable[s.proc.Trigger.Kind]:
		dg.Hint = fmt.Sprintf("the trigger binds no name: add as: %s to on: (line %d)", name, s.proc.Trigger.Pos.Line)
	case len(bound) > 0:
		dg.Hint = "bound names here: " + strings.Join(bound, ", ") + "; constants are written in capitals: " + upper
	default:
		dg.Hint = "constants are written in capitals: " + upper
	}
	return dg
}

// field resolves X.name.
func (s scope) field(x *expr.Field, base ast.Base) ast.Expr {
	namePos := span(s.src, x.NameAt, x.NameAt+len([]rune(x.Name)))
	if w, ok := x.X.(*expr.Word); ok {
		if w.Name == "row" && (s.table != nil || s.store != nil) && (s.proc == nil || s.proc.Var("row") == nil) {
			if c := s.columnNamed(x.Name, base); c != nil {
				return c
			}
			s.d.unknown(namePos, "RP013", "column of "+s.candidate(), x.Name, s.columnNames())
			return nil
		}
		if p, ok := s.d.procs[w.Name]; ok && s.promise {
			return s.instanceVar(p, x, namePos, base)
		}
		if s.promise && s.d.ops[w.Name] == nil && s.d.declared[w.Name] {
			return nil
		}
	}
	v := s.resolve(x.X)
	if v == nil {
		return nil
	}
	if c, ok := v.(*ast.OpConst); ok {
		return s.constField(c, x, namePos, base)
	}
	at := base
	at.At = namePos
	f := &ast.FieldOf{Base: base, X: v, Name: x.Name}
	s.d.inf.fieldAt[f] = namePos
	return f
}

func (s scope) constField(c *ast.OpConst, x *expr.Field, namePos diag.Pos, base ast.Base) ast.Expr {
	if x.Name == "op" || x.Name == "id" {
		return c
	}
	f := c.Operation.Field(x.Name)
	if f == nil {
		s.d.unknownField(namePos, c.Operation, x.Name)
		return nil
	}
	if f.Kind == ast.FieldList && c.Index < len(f.Values) {
		return &ast.Lit{Base: base, Value: f.Values[c.Index]}
	}
	return &ast.FieldOf{Base: base, X: c, Name: x.Name}
}

func (d *decoder) unknownField(pos diag.Pos, op *ast.Operation, name string) {
	var known []string
	for _, f := range op.Fields {
		known = append(known, f.Name)
	}
	if len(known) == 0 {
		d.l.Add(diag.Diagnostic{Code: "RP013", Pos: pos, Message: fmt.Sprintf("the operation '%s' has no field '%s'", op.Name, name),
			Hint: fmt.Sprintf("declare it: operations: {%s: {count: %d, %s: distinct}}", op.Name, op.Count, name)})
		return
	}
	d.unknown(pos, "RP013", "field of "+op.Name, name, known)
}

func (s scope) instanceVar(p *ast.Process, x *expr.Field, namePos diag.Pos, base ast.Base) ast.Expr {
	v := p.Var(x.Name)
	if v == nil {
		var known []string
		for _, v := range p.Vars {
			known = append(known, v.Name)
		}
		s.d.unknown(namePos, "RP012", "bound name of "+p.Name, x.Name, known)
		return nil
	}
	if !s.speakOf(p, base.At) {
		return nil
	}
	return &ast.InstanceVar{Base: base, Process: p, Var: v}
}

// speakOf notes that a check is stated for every instance of p.
func (s scope) speakOf(p *ast.Process, pos diag.Pos) bool {
	if s.check == nil {
		return true
	}
	if s.check.proc != nil && s.check.proc != p {
		s.d.errorf(pos, "RP021", "a check speaks of one process: '%s' or '%s'", s.check.proc.Name, p.Name)
		return false
	}
	s.check.proc = p
	return true
}

func (s scope) the(x *expr.The, base ast.Base) ast.Expr {
	op := s.d.operation(x.Name, span(s.src, x.NameAt, x.NameAt+len([]rune(x.Name))))
	if op == nil {
		return nil
	}
	inner := s
	inner.bound = &ast.OpVar{Base: base, Operation: op}
	w := inner.opCondition(x.Where, op)
	if w == nil {
		return nil
	}
	return &ast.OpWhere{Base: base, Bound: inner.bound, Where: w}
}

// opCondition resolves a condition over an operation: its fields are bare names.
func (s scope) opCondition(n expr.Node, op *ast.Operation) ast.Expr {
	return s.resolve(rewriteFields(n, op))
}

// rewriteFields turns the bare names that are fields of op into OP.field.
func rewriteFields(n expr.Node, op *ast.Operation) expr.Node {
	return expr.Map(n, func(w *expr.Word) expr.Node {
		if op.Field(w.Name) == nil {
			return w
		}
		return expr.FieldOf(w, op.Name)
	})
}

func (s scope) eachOp(x *expr.Each, base ast.Base) ast.Expr {
	pos := span(s.src, x.NameAt, x.NameAt+len([]rune(x.Name)))
	op := s.d.operation(x.Name, pos)
	switch {
	case op == nil:
	case s.each == nil:
		s.d.errorf(base.At, "RP020", "'each %s' stands under initially: only", x.Name)
	case s.each.Operation != op:
		s.d.errorf(pos, "RP020", "one row is made for each %s: it cannot be for each %s too", s.each.Operation.Name, op.Name)
	default:
		return &ast.OpConst{Base: base, Operation: op, Index: s.each.Index}
	}
	return nil
}
