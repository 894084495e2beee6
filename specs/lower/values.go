package lower

import (
	"fmt"
	"sort"
	"strings"

	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// A value of the language is a sum of alternatives and, for records, a tree.
// Here it is flattened to leaves, one ir expression each, under a path:
//
//	/b /i /s       a boolean, an integer, a symbol or text
//	/o:OP          an operation, /f:OP.key its constant, /p:P an instance
//	/t             a token: fresh(), my_run
//	/m:Q.o /m:Q.c  the id of one of several messages per operation
//	/n:RES         a position
//	/hN.i...       component i of a hash of N arguments
//	?              1 if a record, row, entry, receipt or message is there
//	.name...       what is below a field
//
// A leaf that the value does not have is None. Two values are equal iff all
// leaves are.
type value struct{ leaves []leaf }

type leaf struct {
	key string
	typ ir.Type
	e   ir.Expr
}

// part is the static form of a leaf: its path and type.
type part struct {
	key string
	typ ir.Type
}

func (v value) find(key string) (leaf, bool) {
	i := sort.Search(len(v.leaves), func(i int) bool { return v.leaves[i].key >= key })
	if i < len(v.leaves) && v.leaves[i].key == key {
		return v.leaves[i], true
	}
	return leaf{}, false
}

// at is the expression of a leaf, None without it.
func (v value) at(key string) ir.Expr {
	if l, ok := v.find(key); ok {
		return l.e
	}
	return none
}

func newValue(ls ...leaf) value {
	sort.Slice(ls, func(i, j int) bool { return ls[i].key < ls[j].key })
	return value{ls}
}

// with adds or replaces leaves.
func (v value) with(ls ...leaf) value {
	m := map[string]leaf{}
	for _, l := range v.leaves {
		m[l.key] = l
	}
	for _, l := range ls {
		m[l.key] = l
	}
	out := make([]leaf, 0, len(m))
	for _, l := range m {
		out = append(out, l)
	}
	return newValue(out...)
}

// below puts the value under a prefix.
func (v value) below(prefix string) []leaf {
	out := make([]leaf, len(v.leaves))
	for i, l := range v.leaves {
		out[i] = leaf{prefix + l.key, l.typ, l.e}
	}
	return out
}

// field is what is below .name.
func (v value) field(name string) value {
	return v.sub("." + name)
}

func (v value) sub(prefix string) value {
	var out []leaf
	for _, l := range v.leaves {
		if rest, ok := cut(l.key, prefix); ok {
			out = append(out, leaf{rest, l.typ, l.e})
		}
	}
	return newValue(out...)
}

// cut removes a prefix that ends at a path boundary.
func cut(key, prefix string) (string, bool) {
	rest, ok := strings.CutPrefix(key, prefix)
	if !ok || rest == "" || !strings.ContainsRune("./?", rune(rest[0])) {
		return "", false
	}
	return rest, true
}

// present is true unless the value is none.
func (v value) present() ir.Expr {
	if l, ok := v.find("?"); ok {
		others := no
		for _, o := range v.leaves {
			if strings.HasPrefix(o.key, "/") {
				others = or(others, differ(o.e, none))
			}
		}
		return or(differ(l.e, none), others)
	}
	out := no
	for _, l := range v.leaves {
		if known(l.e) || !mayBeNone(l) {
			return yes
		}
		out = or(out, differ(l.e, none))
	}
	return out
}

// mayBeNone says whether the leaf can be None; expressions are total, so only
// constants and required leaves are known.
func mayBeNone(l leaf) bool {
	return l.typ.Optional
}

// equal compares two values leaf by leaf.
func equal(a, b value) ir.Expr {
	if len(a.leaves) == 0 {
		return not(b.present())
	}
	if len(b.leaves) == 0 {
		return not(a.present())
	}
	out := yes
	i, j := 0, 0
	for i < len(a.leaves) || j < len(b.leaves) {
		switch {
		case j == len(b.leaves) || i < len(a.leaves) && a.leaves[i].key < b.leaves[j].key:
			out = and(out, absent(a.leaves[i]))
			i++
		case i == len(a.leaves) || b.leaves[j].key < a.leaves[i].key:
			out = and(out, absent(b.leaves[j]))
			j++
		default:
			out = and(out, same(a.leaves[i].e, b.leaves[j].e))
			i++
			j++
		}
	}
	return out
}

func absent(l leaf) ir.Expr {
	if !mayBeNone(l) && l.key != "" && l.key[0] == '/' {
		return no
	}
	return same(l.e, none)
}

// choice is a where c holds and b elsewhere.
func choice(c ir.Expr, a, b value) value {
	if v, ok := truth(c); ok {
		if v {
			return a
		}
		return b
	}
	var out []leaf
	for _, l := range a.leaves {
		m, ok := b.find(l.key)
		t := l.typ
		if !ok {
			t.Optional = true
			m.e = none
		} else {
			t = hull(l.typ, m.typ)
		}
		out = append(out, leaf{l.key, t, pick(c, l.e, m.e)})
	}
	for _, l := range b.leaves {
		if _, ok := a.find(l.key); !ok {
			t := l.typ
			t.Optional = true
			out = append(out, leaf{l.key, t, pick(c, none, l.e)})
		}
	}
	return newValue(out...)
}

func hull(a, b ir.Type) ir.Type {
	if a.Kind == ir.Range && b.Kind == ir.Range {
		a.Lo, a.Hi = min(a.Lo, b.Lo), max(a.Hi, b.Hi)
	}
	a.Optional = a.Optional || b.Optional
	return a
}

// shape is the static form of a type of the language.
func (lw *lowering) shape(t *ast.Type) []part {
	if t == nil {
		return nil
	}
	m := map[string]ir.Type{}
	lw.flatten(t, "", false, m, 0)
	out := make([]part, 0, len(m))
	for k, ty := range m {
		out = append(out, part{k, ty})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].key < out[j].key })
	return out
}

// flatten adds the leaves of t under prefix. Optional says that something above
// may be absent.
func (lw *lowering) flatten(t *ast.Type, prefix string, optional bool, out map[string]ir.Type, depth int) {
	if depth > 6 {
		return
	}
	alts := 0
	for i := range t.Alts {
		if t.Alts[i].Kind == ast.KindNone {
			optional = true
			continue
		}
		alts++
	}
	// Symbols and texts share a leaf, so do fresh values and runs.
	classes := map[string]bool{}
	for i := range t.Alts {
		if t.Alts[i].Kind != ast.KindNone {
			classes[leafClass(&t.Alts[i])] = true
		}
	}
	opt := optional || len(classes) > 1
	for i := range t.Alts {
		lw.flattenAlt(&t.Alts[i], prefix, opt, out, depth)
	}
}

func leafClass(a *ast.Alt) string {
	switch a.Kind {
	case ast.KindSymbol, ast.KindText:
		return "/s"
	case ast.KindFresh, ast.KindRun:
		return "/t"
	}
	return fmt.Sprintf("%d %s", a.Kind, a)
}

func (lw *lowering) flattenAlt(a *ast.Alt, prefix string, opt bool, out map[string]ir.Type, depth int) {
	put := func(key string, ty ir.Type) {
		ty.Optional = opt
		if old, ok := out[prefix+key]; ok {
			ty = hull(old, ty)
		}
		out[prefix+key] = ty
	}
	fields := func(key string, t *ast.Type) { lw.flatten(t, prefix+key, opt, out, depth+1) }
	switch a.Kind {
	case ast.KindBool:
		put("/b", ir.Type{Kind: ir.Bool})
	case ast.KindInt:
		put("/i", ir.Type{Kind: ir.Range, Lo: a.Lo, Hi: a.Hi})
	case ast.KindSymbol, ast.KindText:
		put("/s", lw.symbolType())
	case ast.KindOperation:
		put("/o:"+a.Operation.Name, refTo(lw.opSet(a.Operation)))
	case ast.KindOpField:
		key := "/f:" + a.Operation.Name + "." + a.OpField.Name
		if a.OpField.Kind == ast.FieldSame {
			put(key, ir.Type{Kind: ir.Range})
		} else {
			put(key, refTo(lw.opSet(a.Operation)))
		}
	case ast.KindInstance:
		put("/p:"+a.Process.Name, refTo(lw.instances(a.Process)))
	case ast.KindRun, ast.KindFresh:
		put("/t", ir.Type{Kind: ir.Token})
	case ast.KindMessageID:
		sw := a.Resource.Queue.StartsWith
		put("/m:"+a.Resource.Name+".o", refTo(lw.opSet(sw.Per)))
		put("/m:"+a.Resource.Name+".c", refTo(lw.copySet(a.Resource)))
	case ast.KindPosition:
		put("/n:"+a.Resource.Name, lw.positionType(a.Resource))
	case ast.KindHash:
		for i, e := range a.Elems {
			fields(fmt.Sprintf("/h%d.%d", len(a.Elems), i), e)
		}
	case ast.KindPresent:
		put("?", presence())
	case ast.KindRecord:
		put("?", presence())
		for _, f := range a.Fields {
			fields("."+f.Name, f.Type)
		}
	case ast.KindRow:
		put("?", presence())
		for _, c := range a.Table.Columns {
			fields("."+c.Name, c.Type)
		}
	case ast.KindEntry:
		put("?", presence())
		fields(".key", a.Resource.KV.Key)
		fields(".value", a.Resource.KV.Value)
	case ast.KindReceipt:
		put("?", presence())
		for _, m := range a.Resource.Provider.Methods {
			if m.Kind == ast.Execute {
				for _, f := range m.Args {
					fields("."+f.Name, f.Type)
				}
			}
		}
	case ast.KindMessage:
		put("?", presence())
		for _, f := range a.Resource.Queue.Fields {
			fields("."+f.Name, f.Type)
		}
		if n := lw.deliveriesCounted(a.Resource); n > 0 {
			put(".deliveries/i", ir.Type{Kind: ir.Range, Lo: 0, Hi: n})
		}
		if lw.mentions(a.Resource, "last") {
			put(lastKey, ir.Type{Kind: ir.Bool})
		}
		if a.Resource.Kind == ast.LogKind && lw.mentions(a.Resource, "offset") {
			put(offsetKey(a.Resource), lw.positionType(a.Resource))
		}
	}
}

func presence() ir.Type { return ir.Type{Kind: ir.Range, Lo: 1, Hi: 1} }

func refTo(s *ir.Set) ir.Type { return ir.Type{Kind: ir.Ref, Set: s} }

// here is the leaf "something is there".
func here(e ir.Expr) leaf { return leaf{"?", ir.Type{Kind: ir.Range, Lo: 1, Hi: 1, Optional: true}, e} }

func boolean(e ir.Expr) value { return newValue(leaf{"/b", ir.Type{Kind: ir.Bool}, e}) }

func integer(e ir.Expr, lo, hi int, opt bool) value {
	return newValue(leaf{"/i", ir.Type{Kind: ir.Range, Lo: lo, Hi: hi, Optional: opt}, e})
}

// operation is the value "this operation".
func (lw *lowering) operation(o *ast.Operation, e ir.Expr) value {
	return newValue(leaf{"/o:" + o.Name, refTo(lw.opSet(o)), e})
}
