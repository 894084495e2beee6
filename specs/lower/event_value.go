package lower

import (
	"fmt"
	"strings"

	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// Value is a value of the language as plain data: nil (none), bool, int, string
// (a 'text'), Symbol, OperationID, FieldID, InstanceID, MessageID, FreshID,
// Position, Hash, Record or Unread.
type Value any

// Unread is a value that is there and that the model does not keep, because
// nothing reads it.
type Unread struct{}

// Symbol is an ALL_CAPS word.
type Symbol string

// OperationID is an operation: number Index, from 0, of its kind.
type OperationID struct {
	Of    *ast.Operation
	Index int
}

// String prints it as histories do: `order 1`.
func (o OperationID) String() string { return fmt.Sprintf("%s %d", o.Of.Name, o.Index+1) }

// FieldID is a `same` or `distinct` constant of operations: equal iff both
// parts are equal. Index is the operation's for `distinct`, 0 for `same`.
type FieldID struct {
	Of    *ast.OpField
	Index int
}

// InstanceID is an instance of a process, from 0.
type InstanceID struct {
	Of    *ast.Process
	Index int
}

// MessageID is the id of one of several messages that a queue starts with for
// one operation: message Number, from 0, of operation Operation.
type MessageID struct {
	Of        *ast.Resource
	Operation int
	Number    int
}

// FreshID is a value of fresh() or my_run. Only within one event do equal
// numbers mean the same value: each state numbers those that it holds anew.
type FreshID int

// Position is an offset of a log or a commit position of a database.
type Position struct {
	Of *ast.Resource
	N  int
}

// Hash is hash(a, b): equal iff all parts are equal.
type Hash []Value

// Record has the fields of a record, the columns of a row, or the key and value
// of an entry. A `put` without a value stores the empty record.
type Record map[string]Value

// record is a row or entry as everybody sees it, by column.
func (g *glance) record(t *table, at ir.Expr) Record {
	out := Record{}
	if t.pool == nil && t.key != "" {
		if t.keys != nil {
			out["key"] = g.plain(g.keyOf(t, at))
		} else {
			out[t.key] = g.plain(t.get(t.key, at, reader{}))
		}
	}
	for _, c := range t.columns {
		out[c.name] = g.plain(t.get(c.name, at, reader{}))
	}
	return out
}

// plain is the value as data. A value has at most one plain leaf, but for the
// two of a MessageID.
func (g *glance) plain(v value) Value {
	fields := map[string][]leaf{}
	hash := map[int][]leaf{}
	var out Value
	there := false
	for _, l := range v.leaves {
		n := g.eval(l.e)
		switch {
		case l.key == "?":
			there = n != ir.None
		case l.key[0] == '.':
			name, rest := splitField(l.key)
			fields[name] = append(fields[name], leaf{rest, l.typ, num(n)})
		case strings.HasPrefix(l.key, "/h"):
			i, rest := hashPart(l.key)
			hash[i] = append(hash[i], leaf{rest, l.typ, num(n)})
		case n != ir.None:
			out = g.plainLeaf(l, n, out)
		}
	}
	switch {
	case out != nil:
		return out
	case len(hash) > 0:
		if h := g.plainHash(hash); h != nil {
			return h
		}
	}
	if !there {
		return nil
	}
	r := Record{}
	for name, ls := range fields {
		r[name] = g.plain(newValue(ls...))
	}
	return r
}

// hashPart splits `/h2.1/i` into the number of the argument and what is below.
func hashPart(key string) (i int, rest string) {
	var arity int
	fmt.Sscanf(key, "/h%d.%d", &arity, &i)
	return i, key[len(fmt.Sprintf("/h%d.%d", arity, i)):]
}

func (g *glance) plainHash(parts map[int][]leaf) Value {
	out := make(Hash, len(parts))
	empty := true
	for i := range out {
		out[i] = g.plain(newValue(parts[i]...))
		empty = empty && out[i] == nil
	}
	if empty {
		return nil
	}
	return out
}

func (g *glance) plainLeaf(l leaf, n int, before Value) Value {
	kind, name := l.key[:min(3, len(l.key))], l.key[min(3, len(l.key)):]
	switch kind {
	case "/b":
		return n == 1
	case "/i":
		return n
	case "/s":
		return g.symbol(n)
	case "/t":
		return FreshID(n)
	case "/o:":
		return OperationID{g.lw.operationNamed(name), n}
	case "/p:":
		return InstanceID{g.lw.procs[name].ast, n}
	case "/n:":
		return Position{g.lw.resourceNamed(name), n}
	case "/f:":
		op, field, _ := strings.Cut(name, ".")
		return FieldID{g.lw.operationNamed(op).Field(field), n}
	case "/m:":
		id, _ := before.(MessageID)
		queue := strings.TrimSuffix(strings.TrimSuffix(name, ".o"), ".c")
		id.Of = g.lw.resourceNamed(queue)
		if strings.HasSuffix(name, ".o") {
			id.Operation = n
		} else {
			id.Number = n
		}
		return id
	}
	return n
}

// symbol is a symbol or text by its number; texts are kept in quotes.
func (g *glance) symbol(n int) Value {
	s := g.lw.symbolNames[n]
	if text, ok := strings.CutPrefix(s, "'"); ok {
		return strings.TrimSuffix(text, "'")
	}
	return Symbol(s)
}

func (lw *lowering) operationNamed(name string) *ast.Operation {
	for _, o := range lw.spec.Operations {
		if o.Name == name {
			return o
		}
	}
	return nil
}

func (lw *lowering) resourceNamed(name string) *ast.Resource {
	for _, r := range lw.spec.Resources {
		if r.Name == name {
			return r
		}
	}
	return nil
}
