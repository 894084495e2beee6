package modelcheck

import (
	"math/bits"
	"testing"

	"github.com/relplan/relplan/internal/hugemem"
)

// BenchmarkTableLimit is the machine's own limit: random look-ups in a table of
// the size and fill that B1 L ends with, nothing else done.
func BenchmarkTableLimit(b *testing.B) {
	const n, keys = 1 << 24, 9_891_116
	t := hugemem.Alloc(n)
	defer hugemem.Free(t)
	x := uint64(1)
	for range keys {
		x += 0x9e3779b97f4a7c15
		h := mix(x)
		i, _ := bits.Mul64(h, n)
		for t[i] != 0 {
			i = (i + 1) % n
		}
		t[i] = h
	}
	for name, hit := range map[string]bool{"hits": true, "misses": false} {
		b.Run(name, func(b *testing.B) {
			found := 0
			y := uint64(12345)
			for b.Loop() {
				y = mix(y + 1)
				k, _ := bits.Mul64(y, keys)
				h := mix((k+1)*0x9e3779b97f4a7c15 + 1)
				if !hit {
					h++
				}
				i, _ := bits.Mul64(h, n)
				for t[i] != 0 {
					if t[i] == h {
						found++
						break
					}
					i = (i + 1) % n
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "lookups/s")
		})
	}
}
