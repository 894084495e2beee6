package modelcheck_test

import (
	"testing"

	"github.com/relplan/relplan/modelcheck"
	"pgregory.net/rapid"
)

// TestRepresentativesAreOfOrbits: all images of a state have one representative,
// which is one of them; the fast form agrees with the general one.
func TestRepresentativesAreOfOrbits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProgram(t)
		o := explore(p, 400)
		if o == nil {
			return
		}
		for _, s := range o.words {
			c := modelcheck.Canonical(&p.shape, s)
			own := false
			p.permuted(s, func(q []uint64) {
				d := modelcheck.Canonical(&p.shape, q)
				if key(c) != key(d) {
					t.Fatalf("%x and its image %x have the representatives %x and %x", s, q, c, d)
				}
				own = own || key(q) == key(c)
			})
			if !own {
				t.Fatalf("the representative %x of %x is no image of it", c, s)
			}
			if len(s) == 1 {
				if f, ok := modelcheck.CanonicalWord(&p.shape, s[0]); ok && f != c[0] {
					t.Fatalf("representatives %x and, by the fast form, %x", c[0], f)
				}
			}
		}
	})
}
