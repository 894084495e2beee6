package storage

import (
	"math"
	"slices"
	"sort"
	"testing"

	"pgregory.net/rapid"
)

func constSize(n int) func(uint64) int { return func(uint64) int { return n } }

// The recursion of expected leaf counts against replayed splits: same splits,
// two implementations. One replay deviates by the phase of its early splits.
func TestPopulationAgainstSimulator(t *testing.T) {
	for _, item := range []int{28, 68, 140} {
		sh := pgIndexShape{size: constSize(item), columns: 1, fill: pgLeafFill}
		const n, seeds = 100_000, 6
		mean := 0.0
		for seed := range uint64(seeds) {
			g := newKeyStream(Order{Kind: Random}, seed+100)
			sh.stream = g.stream
			sim := newPGLeafSim(sh)
			for i := range uint64(n) {
				sim.insert(g.key(i), uint32(i))
			}
			mean += float64(sim.leafCount()) / seeds
		}
		want := population(n, pgRandomSplit(sh))
		if math.Abs(mean/want-1) > 0.025 {
			t.Errorf("item %d: simulated %.0f leaves, expected %.0f", item, mean, want)
		}
	}
}

// Far out the expected fill settles near ln 2 of what splits leave.
func TestPopulationSettles(t *testing.T) {
	r := splitRule{full: 118, left: 59, right: 60, lastFull: 119, lastLeft: 107, lastRight: 13}
	a, b := population(1e9, r), population(2e9, r)
	if math.Abs(b/a-2) > 0.01 {
		t.Errorf("not proportional: %v, %v", a, b)
	}
	if fill := 1e9 / a / 118; math.Abs(fill-math.Ln2) > 0.012 {
		t.Errorf("fill %.3f, want about ln 2", fill)
	}
}

// Every key stays in the tree, in order, in the leaf its fence says, and no leaf
// holds more than a page.
func TestSimulatorsKeepKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3000).Draw(t, "n")
		o := Order{Kind: OrderKind(rapid.IntRange(0, 2).Draw(t, "kind")), J: rapid.IntRange(1, 500).Draw(t, "j"), Streams: rapid.IntRange(1, 20).Draw(t, "k")}
		dup := rapid.SampledFrom([]float64{1, 1, 7, 400}).Draw(t, "dup")
		base := rapid.IntRange(20, 300).Draw(t, "size")
		size := func(k uint64) int { return align8(base+int(splitmix64(k)%40)) + 4 }
		g := newKeyGen(keyPlan{order: o, dup: dup}, uint64(n), 7)
		pg := newPGLeafSim(pgIndexShape{size: size, columns: 2, lead: true, stream: g.ks.stream, dedup: dup > 1, leadSize: 28})
		inno := newInnoLeafSim(innoPage, true, size)
		lite := newLiteTree(4096, false, false)
		var keys []uint64
		for i := range uint64(n) {
			k := g.key(i)
			keys = append(keys, k)
			pg.insert(k, uint32(i))
			inno.insert(k)
			lite.insert(k, size(k))
		}
		slices.Sort(keys)
		checkPG(t, pg, keys)
		checkInno(t, inno, keys)
		checkLite(t, lite, keys)
	})
}

func checkPG(t *rapid.T, s *pgLeafSim, want []uint64) {
	var got []uint64
	for i, l := range s.leaves {
		if l.used > pgLeafUsable || l.used != l.high+sum(l.items) || len(l.items) == 0 {
			t.Fatalf("postgres leaf %d: %d bytes, %d items", i, l.used, len(l.items))
		}
		for _, it := range l.items {
			for range it.n {
				got = append(got, it.key)
			}
			if i > 0 && it.key < s.fences[i] {
				t.Fatalf("postgres leaf %d: key %d before its fence %d", i, it.key, s.fences[i])
			}
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("postgres keys differ: %d, want %d", len(got), len(want))
	}
}

func checkInno(t *rapid.T, s *innoLeafSim, want []uint64) {
	var got []uint64
	for i, l := range s.leaves {
		data := 0
		for _, r := range l.recs {
			got = append(got, r.key)
			data += int(r.size)
		}
		if data != l.data || l.heapTop < l.data || l.heapTop+slots(l.heapRecs) > s.empty() || l.heapRecs != len(l.recs)+len(l.free) && len(l.free) > 0 {
			t.Fatalf("innodb leaf %d: data %d (%d), heap %d, %d+%d of %d records", i, l.data, data, l.heapTop, len(l.recs), len(l.free), l.heapRecs)
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("innodb keys differ: %d, want %d", len(got), len(want))
	}
}

func checkLite(t *rapid.T, tree *liteTree, want []uint64) {
	var got []uint64
	var walk func(n *liteNode)
	walk = func(n *liteNode) {
		if tree.bytes(n) > tree.usable(n) {
			t.Fatalf("sqlite page with %d bytes", tree.bytes(n))
		}
		for i, c := range n.cells {
			if n.kids != nil {
				walk(n.kids[i])
			}
			got = append(got, c.key)
		}
		if n.kids != nil {
			if len(n.kids) != len(n.cells)+1 {
				t.Fatalf("sqlite node with %d cells and %d children", len(n.cells), len(n.kids))
			}
			walk(n.kids[len(n.cells)])
		}
	}
	walk(tree.root)
	if !sort.SliceIsSorted(got, func(i, j int) bool { return got[i] < got[j] }) || !slices.Equal(got, want) {
		t.Fatalf("sqlite keys differ: %d, want %d", len(got), len(want))
	}
}

func TestOrderRoundTrip(t *testing.T) {
	for _, s := range []string{"increasing", "uuid4", "uuid7:100", "streams:8", "streams:8,uuid4", "streams:17,uuid7:50"} {
		o, err := ParseOrder(s)
		if err != nil || o.String() != s {
			t.Errorf("%q: %q, %v", s, o, err)
		}
	}
	for _, s := range []string{"", "uuid7", "uuid7:0", "uuid7:x", "streams", "streams:-1", "uuid4:3", "increasing,uuid4", "uuid7:9999999999"} {
		if o, err := ParseOrder(s); err == nil {
			t.Errorf("%q accepted as %v", s, o)
		}
	}
	if o, _ := ParseOrder("uuid7:1"); !o.sorted() {
		t.Error("one id in flight is increasing")
	}
}

func TestJemallocSizes(t *testing.T) {
	// the class tables of the jemalloc manual
	q16 := []int{8, 16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640, 768, 896, 1024, 1280, 1536, 1792, 2048, 2560, 3072, 3584, 4096, 5120, 6144, 7168, 8192}
	q8 := append([]int{8, 16, 24, 32, 40, 48, 56, 64}, q16[5:]...)
	for q, table := range map[int][]int{8: q8, 16: q16} {
		for n := 1; n <= 8192; n++ {
			want := table[sort.SearchInts(table, n)]
			if got := JemallocSize(n, q); got != want {
				t.Fatalf("quantum %d: %d B -> %d, want %d", q, n, got, want)
			}
		}
	}
}

func BenchmarkPGLeafSim(b *testing.B) {
	for _, o := range []Order{{}, {Kind: TimeOrdered, J: 100}, {Kind: Random}, {Streams: 100}} {
		b.Run(o.String(), func(b *testing.B) {
			g := newKeyStream(o, 1)
			for range b.N {
				sim := newPGLeafSim(pgIndexShape{size: constSize(68), columns: 2, lead: true, stream: g.stream})
				for i := range uint64(1_000_000) {
					sim.insert(g.key(i), uint32(i))
				}
			}
			b.ReportMetric(float64(b.N)*1e6/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
