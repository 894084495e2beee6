package retrytree

import (
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/relplan/relplan/deadline"
)

const ms = time.Millisecond

func TestTimings(t *testing.T) {
	s := time.Second
	type answer struct {
		Attempts, Fast, Slow string
		PerTry               time.Duration
		Worst, Horizon       time.Duration // -1: no bound
	}
	const none = time.Duration(-1)
	tests := []struct {
		reason string
		layers []Layer
		want   answer
	}{
		{"no policy", nil, answer{"1", "1", "1", 0, none, 0}},
		{"C11 as an edge", []Layer{{Attempts: 4, PerTry: s, Waits: deadline.GRPC(100*ms, s, 2)}}, answer{"4", "4", "4", s, 4840 * ms, 3840 * ms}},
		{"no per-try limit", []Layer{{Attempts: 3}}, answer{"3", "3", "1", 0, none, none}},
		{"two layers: 3 x 2 attempts of 1 s", []Layer{{Name: "client", Attempts: 3, Waits: deadline.Backoff{Base: 100 * ms}}, {Name: "mesh", Attempts: 2, PerTry: s}},
			answer{"6", "6", "6", s, 6200 * ms, 2*(2*s+100*ms) + s}},
		{"the outer per-try limit cuts the inner loop", []Layer{{Attempts: 2, PerTry: 1500 * ms}, {Attempts: 3, PerTry: s}},
			answer{"6", "6", "4", s, 3 * s, 1500*ms + 1500*ms}},
		{"the inner waits alone exceed the outer limit", []Layer{{Attempts: 2, PerTry: s}, {Attempts: 5, PerTry: 100 * ms, Waits: deadline.Backoff{Base: 400 * ms}}},
			answer{"10", "6", "4", 100 * ms, 2 * s, 2 * s}},
		{"an overall limit outside two layers", []Layer{{Attempts: 2, Overall: 2 * s}, {Attempts: 3, PerTry: s}},
			answer{"6", "6", "2", s, 2 * s, 2 * s}},
		{"an outer layer of one attempt without limits adds nothing", []Layer{{Attempts: 1}, {Attempts: 3, PerTry: s}}, answer{"3", "3", "3", s, 3 * s, 2 * s}},
		{"unbounded inside", []Layer{{Attempts: 2}, {Unbounded: true, PerTry: s}}, answer{"unbounded", "unbounded", "unbounded", s, none, none}},
		{"unbounded inside a limit", []Layer{{Attempts: 2, PerTry: 10 * s}, {Unbounded: true, PerTry: s, Waits: deadline.Backoff{Base: s}}},
			answer{"unbounded", "20", "10", s, 20 * s, 20 * s}},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			g := mustBuild(t, []Node{{Name: "a", Calls: []Call{{To: "b", Layers: tt.layers}}}})
			e := g.Timings()[0]
			got := answer{e.Attempts.String(), e.Fast.String(), e.Slow.String(), e.PerTry, e.Worst, e.Horizon}
			if !e.WorstKnown {
				got.Worst = none
			}
			if !e.HorizonKnown {
				got.Horizon = none
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if w, _ := g.WorstSlow().Find("b"); w.Attempts.String() != tt.want.Slow {
				t.Errorf("the slow worst case %v is not the slow count %s", w.Attempts, tt.want.Slow)
			}
			if w, _ := g.Worst().Find("b"); w.Attempts.String() != tt.want.Fast {
				t.Errorf("the worst case %v is not the fast count %s", w.Attempts, tt.want.Fast)
			}
		})
	}
}

func TestHorizons(t *testing.T) {
	s := time.Second
	timed := func(to string, n int64, perTry, wait time.Duration) Call {
		return Call{To: to, Layers: []Layer{{Attempts: n, PerTry: perTry, Waits: deadline.Backoff{Base: wait}}}}
	}
	fresh := timed("c", 3, s, 0)
	fresh.FreshKey = true
	tests := []struct {
		reason string
		nodes  []Node
		want   []Horizon
	}{
		{"C11", []Node{{Name: "a", Calls: []Call{{To: "b", Layers: []Layer{{Attempts: 4, PerTry: s, Waits: deadline.GRPC(100*ms, s, 2)}}}}}},
			[]Horizon{{Path: []string{"a", "b"}, Horizon: 3840 * ms, Known: true}}},
		{"(n1-1)(t1+b1) + H(child)", []Node{{Name: "a", Calls: []Call{timed("b", 2, 2*s, 100*ms)}}, {Name: "b", Calls: []Call{timed("c", 3, 500*ms, 50*ms)}}},
			[]Horizon{{Path: []string{"a", "b", "c"}, Horizon: 2*s + 100*ms + 2*(500*ms+50*ms), Known: true}}},
		{"no per-try limit: no bound, named", []Node{{Name: "a", Calls: []Call{timed("b", 2, s, 0)}}, {Name: "b", Calls: []Call{To("c", 3)}}},
			[]Horizon{{Path: []string{"a", "b", "c"}, Cause: "b->c"}}},
		{"one attempt needs no limit", []Node{{Name: "a", Calls: []Call{To("b", 1)}}}, []Horizon{{Path: []string{"a", "b"}, Known: true}}},
		{"fresh keys start again", []Node{{Name: "a", Calls: []Call{timed("b", 2, 2*s, 0)}}, {Name: "b", Calls: []Call{fresh}}, {Name: "c", Calls: []Call{timed("d", 2, s, 0)}}},
			[]Horizon{{Path: []string{"a", "b", "c", "d"}, Horizon: s, Known: true}}},
		{"fresh keys forgive an unbounded call above", []Node{{Name: "a", Calls: []Call{To("b", 9)}}, {Name: "b", Calls: []Call{fresh}}},
			[]Horizon{{Path: []string{"a", "b", "c"}, Known: true}}},
		{"every path of a diamond", []Node{{Name: "a", Calls: []Call{timed("b", 2, s, 0), timed("c", 3, s, 0)}}, {Name: "b", Calls: []Call{To("d", 1)}}, {Name: "c", Calls: []Call{To("d", 1)}}},
			[]Horizon{{Path: []string{"a", "b", "d"}, Horizon: s, Known: true}, {Path: []string{"a", "c", "d"}, Horizon: 2 * s, Known: true}}},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			if d := cmp.Diff(tt.want, mustBuild(t, tt.nodes).Horizons()); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestManyPaths: a ladder of diamonds has 2^20 paths; the longest of them is
// found without walking all.
func TestManyPaths(t *testing.T) {
	var nodes []Node
	for i := range 20 {
		at := fmt.Sprintf("n%d", i)
		next := fmt.Sprintf("n%d", i+1)
		l, r := at+"l", at+"r"
		one := func(to string, d time.Duration) Call { return Call{To: to, Layers: []Layer{{Attempts: 2, PerTry: d}}} }
		nodes = append(nodes, Node{Name: at, Calls: []Call{one(l, time.Second), one(r, 2*time.Second)}},
			Node{Name: l, Calls: []Call{To(next, 1)}}, Node{Name: r, Calls: []Call{To(next, 1)}})
	}
	g := mustBuild(t, nodes)
	hs := g.Horizons()
	if len(hs) != 1 || hs[0].Horizon != 40*time.Second || !hs[0].Known || len(hs[0].Path) != 41 {
		t.Fatalf("%+v", hs)
	}
	if w, _ := g.Worst().Find("n20"); w.Paths.String() != "1048576" || w.Attempts.Cmp(NewCount(1<<40)) != 0 {
		t.Errorf("%v paths, %v attempts", w.Paths, w.Attempts)
	}
}

// TestLongestHorizon compares the longest path with all paths.
func TestLongestHorizon(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := genGraph(7).Draw(t, "graph")
		for i := range nodes {
			for j := range nodes[i].Calls {
				c := &nodes[i].Calls[j]
				c.FreshKey = rapid.IntRange(0, 5).Draw(t, "fresh") == 0
				for k := range c.Layers {
					c.Layers[k].PerTry = time.Duration(rapid.IntRange(0, 3).Draw(t, "pertry")) * time.Second
				}
			}
		}
		g, err := Build(nodes)
		if err != nil {
			t.Fatal(err)
		}
		if g.leafPaths() > maxPaths {
			return
		}
		longest := map[string]Horizon{}
		for _, h := range g.Horizons() {
			leaf := h.Path[len(h.Path)-1]
			if old, ok := longest[leaf]; !ok || old.Known && (!h.Known || h.Horizon > old.Horizon) {
				longest[leaf] = h
			}
		}
		for _, h := range g.longestHorizons() {
			want := longest[h.Path[len(h.Path)-1]]
			if h.Known != want.Known || h.Horizon != want.Horizon {
				t.Fatalf("longest %+v, want %+v", h, want)
			}
		}
	})
}

func TestChoices(t *testing.T) {
	alt := func(to string, n int64) Call { return Call{To: to, Choice: "version", Layers: []Layer{{Attempts: n}}} }
	tests := []struct {
		reason string
		nodes  []Node
		want   map[string]string
		path   string
	}{
		{"alternatives take the maximum at what they share", []Node{{Name: "a", Calls: []Call{alt("v1", 2), alt("v2", 3)}}, {Name: "v1", Calls: []Call{To("db", 2)}}, {Name: "v2", Calls: []Call{To("db", 2)}}},
			map[string]string{"v1": "2", "v2": "3", "db": "6"}, "a v2 db"},
		{"without the choice they add up", []Node{{Name: "a", Calls: []Call{To("v1", 2), To("v2", 3)}}, {Name: "v1", Calls: []Call{To("db", 2)}}, {Name: "v2", Calls: []Call{To("db", 2)}}},
			map[string]string{"db": "10"}, "a v2 db"},
		{"a call beside the choice is added", []Node{{Name: "a", Calls: []Call{alt("v1", 2), To("db", 5), alt("v2", 3)}}, {Name: "v1", Calls: []Call{To("db", 2)}}, {Name: "v2", Calls: []Call{To("db", 2)}}},
			map[string]string{"db": "11"}, "a v2 db"},
		{"two choices at one service", []Node{{Name: "a", Calls: []Call{alt("x", 2), {To: "y", Choice: "other", Layers: []Layer{{Attempts: 4}}}, alt("y", 3), {To: "x", Choice: "other", Layers: []Layer{{Attempts: 5}}}}}},
			map[string]string{"x": "7", "y": "7"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			w := mustBuild(t, tt.nodes).Worst()
			for name, want := range tt.want {
				if n, _ := w.Find(name); n.Attempts.String() != want || n.UpperBound {
					t.Errorf("%s: %v (upper bound %v), want %s", name, n.Attempts, n.UpperBound, want)
				}
			}
			if got := strings.Join(w.Path(w.Top), " "); tt.path != "" && got != tt.path {
				t.Errorf("path %q, want %q", got, tt.path)
			}
		})
	}
}

// TestChoicesAgainstAssignments: the dumb way lets every service take the same
// alternative always, sums over all paths, and takes the best of all
// assignments.
func TestChoicesAgainstAssignments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := genGraph(7).Draw(t, "graph")
		type choice struct {
			node int
			name string
			alts []int
		}
		var choices []choice
		combos := 1
		for i := range nodes {
			byName := map[string]int{}
			for j := range nodes[i].Calls {
				name := rapid.SampledFrom([]string{"", "p", "q"}).Draw(t, "choice")
				nodes[i].Calls[j].Choice = name
				if name == "" {
					continue
				}
				at, ok := byName[name]
				if !ok {
					at = len(choices)
					byName[name] = at
					choices = append(choices, choice{node: i, name: name})
				}
				choices[at].alts = append(choices[at].alts, j)
			}
		}
		for _, c := range choices {
			if combos *= len(c.alts); combos > 500 {
				return
			}
		}
		g, err := Build(nodes)
		if err != nil {
			t.Fatal(err)
		}
		byName := map[string]int{}
		for i := range nodes {
			byName[nodes[i].Name] = i
		}
		best := map[string]*big.Int{}
		for combo := range combos {
			skip := map[[2]int]bool{}
			for _, c := range choices {
				take := c.alts[combo%len(c.alts)]
				combo /= len(c.alts)
				for _, j := range c.alts {
					if j != take {
						skip[[2]int{c.node, j}] = true
					}
				}
			}
			for _, root := range g.Roots() {
				sum := map[string]*big.Int{}
				var walk func(i int, product *big.Int)
				walk = func(i int, product *big.Int) {
					n := nodes[i]
					if sum[n.Name] == nil {
						sum[n.Name] = new(big.Int)
					}
					sum[n.Name].Add(sum[n.Name], product)
					for j, c := range n.Calls {
						if skip[[2]int{i, j}] {
							continue
						}
						p := new(big.Int).Mul(product, big.NewInt(max(1, c.FanOut)))
						for _, l := range c.Layers {
							p.Mul(p, big.NewInt(max(1, l.Attempts)))
						}
						walk(byName[c.To], p)
					}
				}
				walk(byName[root], big.NewInt(1))
				for name, v := range sum {
					if best[name] == nil || best[name].Cmp(v) < 0 {
						best[name] = v
					}
				}
			}
		}
		w := g.Worst()
		for i, n := range w.Nodes {
			if n.Attempts.Big().Cmp(best[n.Name]) != 0 || n.UpperBound {
				t.Fatalf("%s: %v (upper bound %v), want %v", n.Name, n.Attempts, n.UpperBound, best[n.Name])
			}
			if p := w.Path(i); p[0] != n.Root {
				t.Fatalf("%s: path %v does not start at %s", n.Name, p, n.Root)
			}
			if n.PathAttempts.Cmp(n.Attempts) > 0 {
				t.Fatalf("%s: %v over one path of %v in all", n.Name, n.PathAttempts, n.Attempts)
			}
		}
	})
}

func TestFleet(t *testing.T) {
	with := func(to string, n int64, b *Budget) Call {
		return Call{To: to, Layers: []Layer{{Attempts: n, Budget: b}}}
	}
	tenth, fifth := &Budget{Ratio: 0.1}, &Budget{Ratio: 0.2}
	for _, tt := range []struct {
		reason string
		b      *Budget
		want   float64
	}{{"B1: 1.1^3", tenth, 1.331}, {"B1: 1.2^3 and not 27", fifth, 1.728}, {"no budget: 27", nil, 27}} {
		g := mustBuild(t, []Node{{Name: "a", Calls: []Call{with("b", 3, tt.b)}}, {Name: "b", Calls: []Call{with("c", 3, tt.b)}}, {Name: "c", Calls: []Call{with("d", 3, tt.b)}}})
		near(t, tt.reason, g.Fleet()[3], tt.want, 1e-9)
		if g.HasBudgets() != (tt.b != nil) {
			t.Errorf("%s: HasBudgets", tt.reason)
		}
		if w, _ := g.Worst().Find("d"); w.Attempts.String() != "27" {
			t.Errorf("%s: one request still reaches 27, got %v", tt.reason, w.Attempts)
		}
	}
	g := mustBuild(t, []Node{{Name: "a", Calls: []Call{{To: "x", Choice: "c", Weight: 1, Layers: []Layer{{Attempts: 4}}}, {To: "y", Choice: "c", Weight: 3, Layers: []Layer{{Attempts: 2}}}}}})
	near(t, "alternatives share the load", g.Fleet()[1], 1, 1e-12)
	near(t, "alternatives share the load", g.Fleet()[2], 1.5, 1e-12)
}

// genLayer draws a layer with small numbers, so that limits are met.
func genLayer(t *rapid.T, name string) Layer {
	d := func(what string, max int64) time.Duration {
		return time.Duration(rapid.Int64Range(0, max).Draw(t, name+what))
	}
	return Layer{Attempts: rapid.Int64Range(1, 4).Draw(t, name+"attempts"), PerTry: 1 + d("pertry", 9), Overall: d("overall", 40),
		Waits: deadline.Backoff{Base: d("base", 5), Factor: 2, Jitter: rapid.SampledFrom([]deadline.Jitter{deadline.NoJitter, deadline.FullJitter}).Draw(t, name+"jitter")}}
}

// TestFitLayersOfOne: a layer of one attempt without limits around another
// changes nothing.
func TestFitLayersOfOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := genLayer(t, "")
		remaining := time.Duration(rapid.Int64Range(1, 80).Draw(t, "remaining"))
		one := Call{Layers: []Layer{l}}.timing().fit(remaining)
		two := Call{Layers: []Layer{{Attempts: 1}, l}}.timing().fit(remaining)
		if one.Starts.Cmp(two.Starts) != 0 || one.FitsLow.Cmp(two.FitsLow) != 0 || one.FitsHigh.Cmp(two.FitsHigh) != 0 {
			t.Fatalf("%+v in %v: alone %v/%v/%v, wrapped %v/%v/%v", l, remaining, one.Starts, one.FitsLow, one.FitsHigh, two.Starts, two.FitsLow, two.FitsHigh)
		}
	})
}

// TestFitLayersAgainstClock plays two nested loops of hanging attempts with a
// clock, the way a client would run them with its shortest waits.
func TestFitLayersAgainstClock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		out, in := genLayer(t, "outer "), genLayer(t, "inner ")
		remaining := time.Duration(rapid.Int64Range(1, 120).Draw(t, "remaining"))
		never := deadline.Max
		end := func(at, limit time.Duration) time.Duration {
			if limit == 0 {
				return never
			}
			return at + limit
		}
		var starts, fits int64
		now := time.Duration(0)
		overall := min(remaining, end(0, out.Overall))
		for k := int64(1); k <= out.Attempts; k++ {
			attemptEnd := end(now, out.PerTry)
			innerEnd := end(now, in.Overall)
			for i := int64(1); i <= in.Attempts; i++ {
				cut := min(attemptEnd, innerEnd)
				if now >= min(cut, overall) {
					break
				}
				starts++
				if now+in.PerTry <= min(cut, overall) {
					fits++
				}
				now = min(now+in.PerTry, cut)
				if low, _ := in.Waits.Wait(i); i < in.Attempts {
					now = min(now+low, cut)
				}
			}
			low, _ := out.Waits.Wait(k)
			now += low
			if now >= overall {
				break
			}
		}
		f := Call{Layers: []Layer{out, in}}.timing().fit(remaining)
		if f.Starts.Cmp(NewCount(starts)) != 0 || f.FitsLow.Cmp(NewCount(fits)) != 0 {
			t.Fatalf("outer %+v inner %+v in %v: starts %v, fits %v; the clock says %d, %d", out, in, remaining, f.Starts, f.FitsLow, starts, fits)
		}
	})
}
