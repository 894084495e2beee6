package irtest

import (
	"fmt"
	"strings"

	"github.com/relplan/relplan/modelcheck/ir"
)

// Canon names the class of states that differ only in the order of pool slots
// and in the names of tokens; with sets also in the names of the elements of
// unordered sets. It tries all permutations.
func (t *Interp) Canon(s State, sets bool) string {
	best := ""
	t.permutations(sets, func(p perm) {
		if c := t.rename(s, p); best == "" || c < best {
			best = c
		}
	})
	return best
}

// perm maps elements of sets and slots of pools: new position -> old one.
type perm map[any][]int

func (t *Interp) permutations(sets bool, f func(perm)) {
	type domain struct {
		key any
		n   int
	}
	var ds []domain
	for _, p := range t.P.Pools {
		ds = append(ds, domain{p, p.Cap})
	}
	if sets {
		for _, s := range t.P.Sets {
			if !s.Ordered {
				ds = append(ds, domain{s, s.Size})
			}
		}
	}
	p := perm{}
	var pick func(i int)
	pick = func(i int) {
		if i == len(ds) {
			f(p)
			return
		}
		permute(ds[i].n, func(q []int) {
			p[ds[i].key] = q
			pick(i + 1)
		})
	}
	pick(0)
}

// permute calls f with every permutation of 0..n-1; f must not keep it.
func permute(n int, f func([]int)) {
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	var rec func(k int)
	rec = func(k int) {
		if k == n {
			f(p)
			return
		}
		for i := k; i < n; i++ {
			p[k], p[i] = p[i], p[k]
			rec(k + 1)
			p[k], p[i] = p[i], p[k]
		}
	}
	rec(0)
}

// rename prints the state under p with tokens numbered by first occurrence.
func (t *Interp) rename(s State, p perm) string {
	tokens := map[int]int{}
	var b strings.Builder
	for _, c := range t.cells {
		from := make([]int, len(c.at))
		for d, ix := range c.v.Index {
			from[d] = c.at[d]
			var key any = ix.Set
			if ix.Pool != nil {
				key = ix.Pool
			}
			if q, ok := p[key]; ok {
				from[d] = q[c.at[d]]
			}
		}
		v := s[Key(c.v, from...)]
		if v != ir.None {
			switch c.v.Type.Kind {
			case ir.Token:
				if _, ok := tokens[v]; !ok {
					tokens[v] = len(tokens)
				}
				v = tokens[v]
			case ir.Ref:
				v = p.image(c.v.Type.Set, v)
			}
		}
		fmt.Fprintf(&b, "%d ", v)
	}
	return b.String()
}

// image is the new position of the old element v.
func (p perm) image(s *ir.Set, v int) int {
	q, ok := p[s]
	if !ok {
		return v
	}
	for i, x := range q {
		if x == v {
			return i
		}
	}
	panic("not a permutation")
}
