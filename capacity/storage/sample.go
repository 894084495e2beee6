package storage

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// lengths draws value lengths and NULLs of a row, the same for the same row.
type lengths struct{ cols []Column }

// fixed says that all rows have the same lengths and NULLs.
func (l lengths) fixed() bool {
	for _, c := range l.cols {
		if c.SD > 0 || c.Mean != math.Trunc(c.Mean) || (c.Null > 0 && c.Null < 1) {
			return false
		}
	}
	return true
}

// unit returns a number in [0,1) for a row and column.
func unit(row uint64, col int, salt uint64) float64 {
	return float64(splitmix64(row*64+uint64(col)^salt)>>11) / (1 << 53)
}

// null says whether column i of a row is NULL.
func (l lengths) null(row uint64, i int) bool {
	p := l.cols[i].Null
	return p > 0 && (p >= 1 || unit(row, i, 0x6e756c6c) < p)
}

// length returns the whole length of a variable-length value with the column's
// mean and standard deviation.
func (l lengths) length(row uint64, i int) int {
	c := l.cols[i]
	x := c.Mean
	if c.SD > 0 {
		u := unit(row, i, 0x6c656e)
		x += c.SD * distuv.UnitNormal.Quantile(math.Min(math.Max(u, 1e-9), 1-1e-9))
	}
	f := math.Floor(x)
	if x-f > unit(row, i, 0x666c72) {
		f++
	}
	return int(math.Max(0, f))
}
