package ast

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// Kind of an alternative of a Type.
type Kind uint8

// The kinds of values, in the order in which the alternatives of a Type stand.
const (
	KindNone      Kind = iota // `none`
	KindBool                  // true, false
	KindInt                   // Lo..Hi
	KindSymbol                // ALL_CAPS and parameter words, in Symbols
	KindText                  // 'texts', in Symbols
	KindOperation             // an operation of Operation (OpField nil), interchangeable unless a field breaks it
	KindOpField               // a `same` (one value) or `distinct` (one per operation) constant: Operation, OpField
	KindInstance              // `me`: an instance of Process
	KindRun                   // `my_run`: a run of Process, equal to no earlier run
	KindFresh                 // fresh(): compared by == only
	KindMessageID             // id of a message of Resource that starts_with put there with Count > 1
	KindPosition              // commit position (replica) or offset (log) of Resource
	KindHash                  // hash(a, b): equal iff all Elems are equal
	KindPresent               // the value of a `put` without `value:`; differs from none
	KindRecord                // {a: x, b: y}, in Fields
	KindRow                   // a copy of a row of Table
	KindEntry                 // a copy of an entry of the kv Resource: fields key and value
	KindReceipt               // a record in the ledger of provider Resource: the answer of a call
	KindMessage               // a message of the queue or log Resource
)

// Alt is one alternative of a sum type.
type Alt struct {
	Kind      Kind
	Lo, Hi    int        // KindInt
	Named     bool       // KindInt: the author named the range (else analysed, or 0..7)
	Symbols   []string   // KindSymbol, KindText: sorted
	Operation *Operation // KindOperation, KindOpField
	OpField   *OpField   // KindOpField
	Process   *Process   // KindInstance, KindRun
	Resource  *Resource  // KindMessageID, KindPosition, KindEntry, KindReceipt, KindMessage
	Table     *Table     // KindRow
	Elems     []*Type    // KindHash
	Fields    []*Field   // KindRecord: sorted by name; a missing field reads as none
}

// Type is a finite type: a sum of alternatives, at most one per kind and
// subject (operation, process, resource, table, arity of a hash). All record
// alternatives of a type are merged into one. The empty type has no values: the
// slot is never written.
type Type struct{ Alts []Alt }

// Has says whether some alternative is of kind k.
func (t *Type) Has(k Kind) bool { return t.Find(k) != nil }

// Find gives the first alternative of kind k, or nil.
func (t *Type) Find(k Kind) *Alt {
	if t == nil {
		return nil
	}
	for i := range t.Alts {
		if t.Alts[i].Kind == k {
			return &t.Alts[i]
		}
	}
	return nil
}

// Optional says whether the type contains none.
func (t *Type) Optional() bool { return t.Has(KindNone) }

// Only says whether every alternative but none is of kind k (and there is one).
func (t *Type) Only(k Kind) bool {
	if t == nil {
		return false
	}
	found := false
	for i := range t.Alts {
		switch t.Alts[i].Kind {
		case k:
			found = true
		case KindNone:
		default:
			return false
		}
	}
	return found
}

// String prints the type the way messages name it: `none | 0 .. 7 | NEW | SENT`.
func (t *Type) String() string {
	if t == nil || len(t.Alts) == 0 {
		return "nothing"
	}
	var parts []string
	for i := range t.Alts {
		parts = append(parts, t.Alts[i].String())
	}
	return strings.Join(parts, " | ")
}

// String prints one alternative.
func (a *Alt) String() string {
	switch a.Kind {
	case KindNone:
		return "none"
	case KindBool:
		return "true or false"
	case KindInt:
		if a.Lo == a.Hi {
			return strconv.Itoa(a.Lo)
		}
		return strconv.Itoa(a.Lo) + " .. " + strconv.Itoa(a.Hi)
	case KindSymbol:
		return strings.Join(a.Symbols, " | ")
	case KindText:
		q := make([]string, len(a.Symbols))
		for i, s := range a.Symbols {
			q[i] = "'" + s + "'"
		}
		return strings.Join(q, " | ")
	case KindOperation:
		return "a " + a.Operation.Name
	case KindOpField:
		return a.OpField.Name + " of a " + a.Operation.Name
	case KindInstance:
		return "an instance of " + a.Process.Name
	case KindRun:
		return "a run of " + a.Process.Name
	case KindFresh:
		return "a fresh value"
	case KindMessageID:
		return "an id of " + a.Resource.Name
	case KindPosition:
		return "a position of " + a.Resource.Name
	case KindHash:
		e := make([]string, len(a.Elems))
		for i, t := range a.Elems {
			e[i] = t.String()
		}
		return "hash(" + strings.Join(e, ", ") + ")"
	case KindPresent:
		return "present"
	case KindRecord:
		f := make([]string, len(a.Fields))
		for i, x := range a.Fields {
			f[i] = x.Name + ": " + x.Type.String()
		}
		return "{" + strings.Join(f, ", ") + "}"
	case KindRow:
		return "a row of " + a.Table.Name
	case KindEntry:
		return "an entry of " + a.Resource.Name
	case KindReceipt:
		return "a receipt of " + a.Resource.Name
	case KindMessage:
		return "a message of " + a.Resource.Name
	}
	return fmt.Sprintf("kind %d", a.Kind)
}

// ValueKind of a constant.
type ValueKind uint8

// Kinds of constants.
const (
	NoneValue ValueKind = iota
	BoolValue
	IntValue
	SymbolValue // ALL_CAPS or a word of a parameter
	TextValue   // 'text'
)

// Value is a constant.
type Value struct {
	Kind ValueKind
	Bool bool
	Int  int
	Text string // SymbolValue, TextValue
}

// String prints the constant as it is written in a spec.
func (v Value) String() string {
	switch v.Kind {
	case BoolValue:
		return strconv.FormatBool(v.Bool)
	case IntValue:
		return strconv.Itoa(v.Int)
	case SymbolValue:
		return v.Text
	case TextValue:
		return "'" + v.Text + "'"
	}
	return "none"
}

// SortedSymbols returns the union of two sorted symbol lists, sorted.
func SortedSymbols(a, b []string) []string {
	seen := make(map[string]bool, len(a)+len(b))
	var out []string
	for _, l := range [][]string{a, b} {
		for _, s := range l {
			if !seen[s] {
				seen[s] = true
				out = append(out, s)
			}
		}
	}
	sort.Strings(out)
	return out
}
