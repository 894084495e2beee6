package ir_test

import (
	"context"
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

// BenchmarkSearch compares transitions per second of whole searches.
func BenchmarkSearch(b *testing.B) {
	for _, p := range protocols {
		m := compile(b, p.ir())
		b.Run(p.name+"/ir", func(b *testing.B) { benchSearch(b, m) })
		b.Run(p.name+"/go", func(b *testing.B) { benchSearch(b, p.hand) })
	}
}

func benchSearch(b *testing.B, m modelcheck.Model) {
	n := uint64(0)
	for range b.N {
		r, err := modelcheck.Check(context.Background(), m, nil, modelcheck.Options{Workers: 1, NoReduction: true, NoHistories: true})
		if err != nil {
			b.Fatal(err)
		}
		n += r.Transitions
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds()/1e6, "Mtransitions/s")
}
