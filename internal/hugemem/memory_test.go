package hugemem

import "testing"

func TestTablesAreZeroedAndGivenBack(t *testing.T) {
	for _, n := range []int{1, hugeFrom/8 - 1, hugeFrom / 8, 3*hugeFrom/8 + 5} {
		m := Alloc(n)
		if len(m) != n {
			t.Fatalf("%d words, want %d", len(m), n)
		}
		for i, v := range m {
			if v != 0 {
				t.Fatalf("word %d of %d is %d", i, n, v)
			}
			m[i] = 1
		}
		Drop(m[:n/2])
		if m[n-1] != 1 {
			t.Fatal("a part that was not dropped is gone")
		}
		Free(m)
	}
}
