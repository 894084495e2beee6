package storage

import "math"

// splitRule says how full leaves split.
type splitRule struct {
	// full items fill a leaf; one more splits it into left and right.
	full, left, right int
	// The rightmost leaf has no high key and its own split point.
	lastFull, lastLeft, lastRight int
}

// population returns the expected number of leaves of a B-tree after rows
// uniformly random insertions.
//
// With N_k leaves of k items among n rows, a new key falls into a leaf of k items
// with probability k/n (one gap an item), so in x = ln n
//
//	dN_k/dx = (k-1) N_(k-1) - k N_k,
//
// plus what the splits of full leaves add. The rightmost leaf is a population of
// its own, since it splits elsewhere. The expectation is exact but for the one
// gap at the left edge. It shows what a constant fill of ln 2 misses: leaves of a
// young tree split in near-synchrony, so the fill swings around 0.69 with a
// period of x2 in rows, damped over the generations. Source: Yao 1978, "On random
// 2-3 trees" (the recursion); TestPopulationAgainstSimulator compares it with
// replayed splits.
func population(rows float64, r splitRule) float64 {
	if rows <= float64(r.lastFull) {
		return 1
	}
	size := max(r.full, r.lastFull) + 2
	n, m := make([]float64, size), make([]float64, size)
	n[r.lastLeft]++
	m[r.lastRight]++
	x, end := math.Log(float64(r.lastFull+1)), math.Log(rows)
	steps := math.Ceil((end-x)*2*float64(size)) + 1
	h := (end - x) / steps
	dn, dm := make([]float64, size), make([]float64, size)
	n2, m2 := make([]float64, size), make([]float64, size)
	deriv := func(n, m []float64) {
		flow(n, dn, r.full)
		flow(m, dm, r.lastFull)
		f := float64(r.full) * n[r.full]
		dn[r.left] += f
		dn[r.right] += f
		f = float64(r.lastFull) * m[r.lastFull]
		dn[r.lastLeft] += f
		dm[r.lastRight] += f
	}
	for range int(steps) { // midpoint rule, h x size <= 1/2: stable
		deriv(n, m)
		for k := range n {
			n2[k], m2[k] = n[k]+h/2*dn[k], m[k]+h/2*dm[k]
		}
		deriv(n2, m2)
		for k := range n {
			n[k] += h * dn[k]
			m[k] += h * dm[k]
		}
	}
	total := 0.0
	for k := range n {
		total += n[k] + m[k]
	}
	return total
}

// flow is the growth of leaves of up to full items.
func flow(v, out []float64, full int) {
	clear(out)
	for k := 1; k <= full; k++ {
		out[k] = float64(k-1)*v[k-1] - float64(k)*v[k]
	}
}
