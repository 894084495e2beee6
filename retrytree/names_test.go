package retrytree

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

func TestNamesAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := newNames(rapid.IntRange(0, 20).Draw(t, "size"))
		m := map[string]int32{}
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			name := fmt.Sprint(rapid.IntRange(0, 100).Draw(t, "name"))
			i, fresh := n.add(name)
			old, known := m[name]
			if fresh == known || known && i != old {
				t.Fatalf("add(%q) = %d, %v; the map has %d, %v", name, i, fresh, old, known)
			}
			m[name] = i
		}
		for i := range 101 {
			got, ok := n.find(fmt.Sprint(i))
			want, known := m[fmt.Sprint(i)]
			if ok != known || ok && got != want {
				t.Fatalf("find(%d) = %d, %v; want %d, %v", i, got, ok, want, known)
			}
		}
	})
}
