package modelcheck_test

import (
	"context"
	"strings"
	"testing"

	"github.com/relplan/relplan/modelcheck"
)

// TestBadShapesAreRefused: a shape that contradicts itself would make a reduction
// wrong, so it is an error with the field's name.
func TestBadShapesAreRefused(t *testing.T) {
	two := 2
	pc := func(w, shift int) modelcheck.Field {
		return modelcheck.Field{Name: "pc", Shift: shift, Bits: 2, Group: 1, Index: []modelcheck.Element{{Set: 0, Index: w}}}
	}
	cases := []struct {
		reason string
		shape  modelcheck.Shape
		want   string
	}{
		{"no words", modelcheck.Shape{}, "0 words"},
		{"overlap", modelcheck.Shape{Words: 1, Fields: []modelcheck.Field{{Name: "a", Bits: 3}, {Name: "b", Shift: 2, Bits: 1, Group: 1}}}, `field "b" overlaps`},
		{"outside", modelcheck.Shape{Words: 1, Fields: []modelcheck.Field{{Name: "a", Shift: 60, Bits: 5}}}, `field "a" lies outside`},
		{"no such word", modelcheck.Shape{Words: 1, Fields: []modelcheck.Field{{Name: "a", Word: 1, Bits: 5}}}, `field "a" lies outside`},
		{"no bits", modelcheck.Shape{Words: 1, Fields: []modelcheck.Field{{Name: "a"}}}, `field "a" lies outside`},
		{"no such set", modelcheck.Shape{Words: 1, Fields: []modelcheck.Field{{Name: "a", Bits: 1, RefTo: &two}}}, "set that does not exist"},
		{"no such element", modelcheck.Shape{Words: 1, Sets: []modelcheck.Set{{Size: 2}}, Fields: []modelcheck.Field{pc(2, 0)}}, "element that does not exist"},
		{"missing entry", modelcheck.Shape{Words: 1, Sets: []modelcheck.Set{{Size: 2}}, Fields: []modelcheck.Field{pc(0, 0)}}, "has 1 entries, want 2"},
		{"double entry", modelcheck.Shape{Words: 1, Sets: []modelcheck.Set{{Size: 2}}, Fields: []modelcheck.Field{pc(0, 0), pc(0, 2)}}, "do not form an array"},
		{"unequal entries", modelcheck.Shape{Words: 1, Sets: []modelcheck.Set{{Size: 2}},
			Fields: []modelcheck.Field{pc(0, 0), {Name: "x", Shift: 2, Bits: 3, Group: 1, Index: []modelcheck.Element{{Set: 0, Index: 1}}}}}, "do not form an array"},
		{"no initial state", modelcheck.Shape{Words: 1}, "no initial state"},
	}
	for _, c := range cases {
		m := &tableModel{shape: c.shape}
		_, err := modelcheck.Check(context.Background(), m, nil, modelcheck.Options{Workers: 1})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.reason, err, c.want)
		}
		if _, err := modelcheck.Explore(context.Background(), m, nil, modelcheck.RandomOptions{Runs: 1}); err == nil {
			t.Errorf("%s: random exploration accepts it", c.reason)
		}
	}
}

// TestBrokenSymmetryIsSwitchedOff: a property that names an element is judged
// right when it says so.
func TestBrokenSymmetryIsSwitchedOff(t *testing.T) {
	first := modelcheck.Property{Name: "worker 1 does not end first", Goal: func(s []uint64) bool {
		return s[0]>>2&3 != 2 || s[0]>>6&3 == 2
	}}
	first.Breaks = []int{0}
	r := check(t, lostUpdate{}, []modelcheck.Property{first}, modelcheck.Options{})
	if r.Verdict != modelcheck.Broken || len(r.Reductions) != 0 {
		t.Errorf("verdict %v, reductions %v", r.Verdict, r.Reductions)
	}
	if h := r.Properties[0].History; h == nil || len(h.Steps) != 2 || h.Steps[1].Action.Actor != "worker 1" {
		t.Errorf("history %v", h)
	}
	first.Breaks = nil
	if r := check(t, lostUpdate{}, nil, modelcheck.Options{}); len(r.Reductions) != 1 || !strings.Contains(r.Reductions[0], "2 worker") {
		t.Errorf("reductions %q", r.Reductions)
	}
}
