package replay

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

// agrees compares a value of the model with one of the engine. Fresh symbols,
// hashes of them and positions have other names on an engine, and the model
// keeps no value that nothing reads: they agree with anything but none, and whether two of them are equal shows in the branches
// taken and in the counts.
func agrees(model lower.Value, engine Value) bool {
	want, exact := concrete(model)
	if !exact {
		return engine != nil
	}
	m, isRecord := model.(lower.Record)
	if !isRecord {
		return equal(want, engine)
	}
	for name, v := range m {
		if !agrees(v, field(engine, name)) {
			return false
		}
	}
	return true
}

// concrete gives a value of the model the form that it has on an engine; exact
// is false for values that have none.
func concrete(v lower.Value) (out Value, exact bool) {
	switch v := v.(type) {
	case nil:
		return nil, true
	case bool:
		return v, true
	case int:
		return int64(v), true
	case string:
		return v, true
	case lower.Symbol:
		return string(v), true
	case lower.OperationID:
		return opName(v.Of, v.Index), true
	case lower.FieldID:
		return opField(v.Of.Operation, v.Index, v.Of.Name), true
	case lower.InstanceID:
		return instanceName(v.Of, v.Index), true
	case lower.MessageID:
		return fmt.Sprintf("%s-%d-%d", v.Of.Name, v.Operation+1, v.Number+1), true
	case lower.Hash:
		args := make([]Value, len(v))
		for i, a := range v {
			if args[i], exact = concrete(a); !exact {
				return nil, false
			}
		}
		return hash(args), true
	case lower.Record:
		rec := Record{}
		for name, x := range v {
			if c, ok := concrete(x); ok {
				rec[name] = c
			}
		}
		return rec, true
	}
	return nil, false // FreshID, Position, Unread
}

// instanceName is an instance as engines store it: "relay-2".
func instanceName(p *ast.Process, i int) string { return fmt.Sprintf("%s-%d", p.Name, i+1) }

// printed is a value of the model or of an engine in words.
func printed(v any) string {
	switch v := v.(type) {
	case nil:
		return "none"
	case lower.Unread:
		return "a value"
	case string:
		return v
	case *Message:
		return printed(v.ID)
	case Record:
		return printedFields(v)
	case lower.Record:
		return printedFields(v)
	case []Record:
		return printedList(v)
	case []lower.Record:
		return printedList(v)
	}
	if c, exact := concrete(v); exact {
		return fmt.Sprint(c)
	}
	return fmt.Sprint(v)
}

func printedFields[V any, R ~map[string]V](r R) string {
	parts := make([]string, 0, len(r))
	for _, name := range slices.Sorted(maps.Keys(r)) {
		parts = append(parts, name+": "+printed(r[name]))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func printedList[R any](list []R) string {
	parts := make([]string, len(list))
	for i, r := range list {
		parts[i] = printed(r)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
