package lower_test

import (
	"fmt"
	"path/filepath"
	"testing"
)

// The program of every spec gives the same verdicts when it is walked by a dumb
// interpreter of the intermediate form, without symmetry, packing or compiled
// code, and judged by the definitions of the properties.
func TestInterpreterAgrees(t *testing.T) {
	files, _ := filepath.Glob("../testdata/*.yaml")
	reports, _ := filepath.Glob("../incidents/*.yaml")
	limit := 150
	if testing.Short() {
		limit = 60
	}
	compared := 0
	for _, file := range append(files, reports...) {
		for _, v := range load(t, file) {
			o := check(t, v)
			if compare(t, o, limit, func(format string, args ...any) {
				t.Errorf("%s %s: %s", filepath.Base(file), v.Variant, fmt.Sprintf(format, args...))
			}) {
				compared++
			}
		}
	}
	if compared < 60 {
		t.Errorf("only %d specs were small enough to compare", compared)
	}
}
