package ir

import (
	"fmt"
	"strings"
)

// bounds are the least and largest value of the type, None aside.
func (t Type) bounds() (lo, hi int) {
	switch t.Kind {
	case Bool:
		return 0, 1
	case Enum:
		return 0, len(t.Names) - 1
	case Ref:
		return 0, t.Set.Size - 1
	}
	return t.Lo, t.Hi
}

// holds reports whether v is a value of the type.
func (t Type) holds(v int) bool {
	if v == None {
		return t.Optional
	}
	lo, hi := t.bounds()
	return lo <= v && v <= hi
}

// String prints the type as cut reasons and errors name it.
func (t Type) String() string {
	s := ""
	switch t.Kind {
	case Bool:
		s = "bool"
	case Enum:
		s = "{" + strings.Join(t.Names, ", ") + "}"
	case Range:
		s = fmt.Sprintf("%d .. %d", t.Lo, t.Hi)
	case Ref:
		s = t.Set.Name
	case Token:
		s = fmt.Sprintf("token 0 .. %d", t.Hi)
	case Rank:
		s = fmt.Sprintf("rank 0 .. %d of %s", t.Hi, t.Sort)
	}
	if t.Optional {
		s += " or none"
	}
	return s
}

// Format prints a value of the type: the name of an enum or element, the
// number otherwise.
func (t Type) Format(v int) string {
	switch {
	case v == None:
		return "none"
	case t.Kind == Bool:
		return fmt.Sprint(v != 0)
	case t.Kind == Enum && v >= 0 && v < len(t.Names):
		return t.Names[v]
	case t.Kind == Ref:
		return t.Set.element(v)
	}
	return fmt.Sprint(v)
}

// element is the printed name of element i.
func (s *Set) element(i int) string {
	if i >= 0 && i < len(s.Elements) {
		return s.Elements[i]
	}
	return fmt.Sprintf("%s %d", s.Name, i+1)
}
