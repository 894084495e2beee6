package modelcheck_test

import (
	"context"
	"testing"

	"github.com/relplan/relplan/modelcheck"
)

// BenchmarkCheck explores the benchmark protocols: with one worker and no
// reduction, and as a user runs them. Large ones only with RELPLAN_LONG set.
func BenchmarkCheck(b *testing.B) {
	for _, c := range table() {
		if c.transitions == 0 || c.large && !long() {
			continue
		}
		for _, mode := range []struct {
			name string
			opt  modelcheck.Options
		}{
			{"exact-1", modelcheck.Options{NoReduction: true, Workers: 1}},
			{"exact-2", modelcheck.Options{NoReduction: true, Workers: 2}},
			{"reduced-1", modelcheck.Options{Workers: 1}},
			{"reduced", modelcheck.Options{}},
		} {
			b.Run(c.name+"/"+mode.name, func(b *testing.B) {
				var r *modelcheck.Result
				for b.Loop() {
					var err error
					if r, err = modelcheck.Check(context.Background(), c.model, c.props, mode.opt); err != nil {
						b.Fatal(err)
					}
				}
				n := float64(b.N)
				b.ReportMetric(float64(r.States)*n/b.Elapsed().Seconds(), "states/s")
				b.ReportMetric(float64(r.Transitions)*n/b.Elapsed().Seconds(), "transitions/s")
				b.ReportMetric(float64(r.Bytes)/float64(r.States), "B/state")
			})
		}
	}
}
