package modelcheck

import (
	"fmt"
	"slices"
)

// maxElements is the number of elements of all sets together that symmetry
// handles; sets beyond it are taken as ordered.
const maxElements = 64

// checkShape refuses shapes that contradict themselves.
func checkShape(sh *Shape) error {
	if sh.Words < 1 || sh.Words > 255 {
		return fmt.Errorf("%w: %d words, want 1 to 255", errModel, sh.Words)
	}
	used := make([]uint64, sh.Words)
	for i := range sh.Fields {
		f := &sh.Fields[i]
		if f.Word < 0 || f.Word >= sh.Words || f.Bits < 1 || f.Shift < 0 || f.Shift+f.Bits > 64 {
			return fmt.Errorf("%w: field %q lies outside the state", errModel, f.Name)
		}
		if m := f.mask() << f.Shift; used[f.Word]&m != 0 {
			return fmt.Errorf("%w: field %q overlaps another field", errModel, f.Name)
		} else {
			used[f.Word] |= m
		}
		for _, e := range f.Index {
			if e.Set < 0 || e.Set >= len(sh.Sets) || e.Index < 0 || e.Index >= sh.Sets[e.Set].Size {
				return fmt.Errorf("%w: field %q is indexed by an element that does not exist", errModel, f.Name)
			}
		}
		if f.RefTo != nil && (*f.RefTo < 0 || *f.RefTo >= len(sh.Sets)) {
			return fmt.Errorf("%w: field %q refers to a set that does not exist", errModel, f.Name)
		}
	}
	return checkGroups(sh)
}

// checkGroups refuses arrays with missing, double or unequal entries.
func checkGroups(sh *Shape) error {
	first := map[int]*Field{}
	entries := map[int]map[string]bool{}
	for i := range sh.Fields {
		f := &sh.Fields[i]
		g := first[f.Group]
		if g == nil {
			g = f
			first[f.Group] = f
			entries[f.Group] = map[string]bool{}
		}
		same := f.Bits == g.Bits && (f.RefTo == nil) == (g.RefTo == nil) && (f.RefTo == nil || *f.RefTo == *g.RefTo) &&
			slices.EqualFunc(f.Index, g.Index, func(a, b Element) bool { return a.Set == b.Set })
		at := fmt.Sprint(f.Index)
		if !same || entries[f.Group][at] {
			return fmt.Errorf("%w: fields %q and %q of group %d do not form an array", errModel, g.Name, f.Name, f.Group)
		}
		entries[f.Group][at] = true
	}
	for id, f := range first {
		want := 1
		for _, e := range f.Index {
			want *= sh.Sets[e.Set].Size
		}
		if len(entries[id]) != want {
			return fmt.Errorf("%w: array of field %q has %d entries, want %d", errModel, f.Name, len(entries[id]), want)
		}
	}
	return nil
}

// mask covers the bits of the field's value.
func (f *Field) mask() uint64 { return 1<<uint(f.Bits) - 1 }

// Get reads the field of a state.
func (f *Field) Get(state []uint64) uint64 { return state[f.Word] >> f.Shift & f.mask() }

// Set writes the field of a state.
func (f *Field) Set(state []uint64, v uint64) {
	state[f.Word] = state[f.Word]&^(f.mask()<<f.Shift) | (v&f.mask())<<f.Shift
}
