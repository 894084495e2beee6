package ir_test

import (
	"context"
	"syscall"
	"testing"

	"github.com/relplan/relplan/modelcheck"
	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/modelcheck/ir/irtest"
	"github.com/relplan/relplan/modelcheck/models"
)

// protocols are the benchmark protocols in the intermediate form and in Go.
var protocols = []struct {
	name string
	ir   func() *ir.Program
	hand modelcheck.Model
}{
	{"B1", func() *ir.Program { return irtest.B1(4, 3, 2, 2) }, models.NewInbox(4, 3, 2, 2)},
	{"B2", func() *ir.Program { return irtest.B2(4, 3, 1, 1) }, models.NewSetnx(4, 3, 1, 1)},
	{"B3", func() *ir.Program { return irtest.B3(3, 2, 1, 1) }, models.NewOutbox(3, 2, 1, 1)},
}

// BenchmarkExpand compares successors per second, search aside.
func BenchmarkExpand(b *testing.B) {
	for _, p := range protocols {
		m := compile(b, p.ir())
		b.Run(p.name+"/ir", func(b *testing.B) { benchExpand(b, m) })
		b.Run(p.name+"/go", func(b *testing.B) { benchExpand(b, p.hand) })
	}
}

func benchExpand(b *testing.B, m modelcheck.Model) {
	sample := reach(m, 5000)
	x := modelcheck.NewSink(m.Shape().Words)
	n := 0
	b.ResetTimer()
	b.ReportAllocs()
	for i := range b.N {
		x.Reset()
		m.Expand(sample[i%len(sample)], x)
		n += x.Len()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/transition")
}

// reach collects the first states of a breadth-first search.
func reach(m modelcheck.Model, limit int) [][]uint64 {
	x := modelcheck.NewSink(m.Shape().Words)
	seen := map[string]bool{}
	var queue [][]uint64
	add := func(s []uint64) {
		if k := key(s); !seen[k] && len(seen) < limit {
			seen[k] = true
			queue = append(queue, append([]uint64(nil), s...))
		}
	}
	m.Initial(add)
	for i := 0; i < len(queue); i++ {
		x.Reset()
		m.Expand(queue[i], x)
		for j := range x.Len() {
			s, _ := x.At(j)
			add(s)
		}
	}
	return queue
}

// BenchmarkSearch compares transitions per CPU second of whole searches without
// reductions, both kinds of model in turn so that a loaded machine hits both.
func BenchmarkSearch(b *testing.B) {
	for _, p := range protocols {
		m := compile(b, p.ir())
		b.Run(p.name, func(b *testing.B) {
			var ir, hand float64
			for range b.N {
				ir += searchTime(b, m)
				hand += searchTime(b, p.hand)
			}
			b.ReportMetric(ir/float64(b.N)*1e9, "ir-cpu-ns/transition")
			b.ReportMetric(hand/float64(b.N)*1e9, "go-cpu-ns/transition")
			b.ReportMetric(hand/ir, "ir/go")
		})
	}
}

// searchTime is the CPU seconds that a transition takes.
func searchTime(b *testing.B, m modelcheck.Model) float64 {
	start := cpu(b)
	r, err := modelcheck.Check(context.Background(), m, nil, modelcheck.Options{Workers: 1, NoReduction: true, NoHistories: true})
	if err != nil {
		b.Fatal(err)
	}
	return (cpu(b) - start) / float64(r.Transitions)
}

// cpu is the CPU seconds of this process.
func cpu(b *testing.B) float64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
}

// BenchmarkCompile is the time from a program to a model, and BenchmarkVerdict
// from a program to all its verdicts with all reductions.
func BenchmarkCompile(b *testing.B) {
	for _, p := range protocols {
		b.Run(p.name, func(b *testing.B) {
			for range b.N {
				compile(b, p.ir())
			}
		})
	}
}

func BenchmarkVerdict(b *testing.B) {
	for _, p := range protocols {
		b.Run(p.name, func(b *testing.B) {
			for range b.N {
				m := compile(b, p.ir())
				if _, err := modelcheck.Check(context.Background(), m, m.Properties(), modelcheck.Options{NoHistories: true}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
