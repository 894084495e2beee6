package lower_test

import (
	"path/filepath"
	"testing"

	"github.com/relplan/relplan/modelcheck"
	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/modelcheck/ir/irtest"
)

// The program of every spec gives the same verdicts when it is walked by a dumb
// interpreter of the intermediate form, without symmetry, packing or compiled
// code, and judged by the definitions of the properties.
func TestInterpreterAgrees(t *testing.T) {
	files, _ := filepath.Glob("../testdata/*.yaml")
	reports, _ := filepath.Glob("../testdata/reports/*.yaml")
	limit := 150
	if testing.Short() {
		limit = 60
	}
	compared := 0
	for _, file := range append(files, reports...) {
		for _, v := range load(t, file) {
			o := check(t, v)
			if o.Result.States > uint64(limit) {
				continue
			}
			g := irtest.Explore(o.Program, 4*limit)
			if g == nil {
				continue
			}
			compared++
			got := map[*ir.Property]modelcheck.Verdict{}
			for k, r := range o.Result.Properties {
				p := o.Model.Origin(k).Property
				if old, ok := got[p]; ok {
					got[p] = irtest.Worse(old, r.Verdict)
				} else {
					got[p] = r.Verdict
				}
			}
			for i, want := range g.Verdicts() {
				if p := o.Program.Props[i]; got[p] != want {
					t.Errorf("%s %s: %q: checker %v, interpreter %v", filepath.Base(file), v.Variant, p.Name, got[p], want)
				}
			}
		}
	}
	if compared < 60 {
		t.Errorf("only %d specs were small enough to compare", compared)
	}
}
