package retrytree

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/relplan/relplan/deadline"
)

func TestPlanDeadlines(t *testing.T) {
	s := time.Second
	timed := func(to string, n int64, perTry, wait time.Duration) Call {
		return Call{To: to, Layers: []Layer{{Attempts: n, PerTry: perTry, Waits: deadline.Backoff{Base: wait}}}}
	}
	type row struct {
		Edge      string
		Remaining time.Duration
		Limit     string
		Before    time.Duration
		Known     bool
		Fits      string // starts / smallest jitter / largest
		Margin    time.Duration
	}
	chain := []Node{{Name: "edge", Calls: []Call{timed("checkout", 3, 2*s, 0)}}, {Name: "checkout", Calls: []Call{timed("payment", 2, s, 200*ms)}},
		{Name: "payment", Calls: []Call{{To: "cards", Layers: []Layer{{Attempts: 2, Overall: 900 * ms, Waits: deadline.GRPC(50*ms, 500*ms, 2)}}}}}}
	chain[0].Calls[0].Layers[0].Overall = 8 * s
	tests := []struct {
		reason  string
		nodes   []Node
		entries []Entry
		want    []row
	}{
		{"checkout-3x2x2: the edge's per-try limit must cover 2.2 s, short by 0.2 s", chain, nil, []row{
			{"edge->checkout", deadline.Max, "overall limit", 0, true, "3/3/3", 2 * s},
			{"checkout->payment", 2 * s, "per-try limit of edge->checkout", 0, true, "2/1/1", -200 * ms},
			{"payment->cards", s, "overall limit", 0, true, "1/1/1", 0},
		}},
		{"C1 in a tree: 300 ms, 150 spent before the last call", []Node{{Name: "gateway", Calls: []Call{timed("orders", 1, 300*ms, 0)}}, {Name: "orders", Calls: []Call{timed("pay", 2, 150*ms, 80*ms)}}},
			[]Entry{{Name: "checkout", Path: []string{"gateway", "orders", "pay"}, Budget: 300 * ms, Spent: 150 * ms}}, []row{
				{"gateway->orders", 300 * ms, "deadline checkout", 0, true, "1/1/1", 0},
				{"orders->pay", 150 * ms, "deadline checkout", 0, true, "1/1/1", -230 * ms},
			}},
		{"C1 as in the order chain: the last service asks for its second attempt", []Node{{Name: "gateway", Calls: []Call{timed("pay", 1, 2*s, 0)}}, {Name: "pay", Calls: []Call{timed("bank", 2, 150*ms, 80*ms)}}},
			[]Entry{{Name: "checkout", Path: []string{"gateway", "pay"}, Budget: 300 * ms, Spent: 150 * ms}}, []row{
				{"gateway->pay", 300 * ms, "deadline checkout", 0, true, "1/0/0", 300*ms - 2*s},
				{"pay->bank", 150 * ms, "deadline checkout", 0, true, "1/1/1", -230 * ms},
			}},
		{"a path of one service", []Node{{Name: "pay", Calls: []Call{timed("bank", 1, 150*ms, 0)}}},
			[]Entry{{Name: "x", Path: []string{"pay"}, Budget: 300 * ms, Spent: 200 * ms}}, []row{{"pay->bank", 100 * ms, "deadline x", 0, true, "1/0/0", -50 * ms}}},
		{"margins come off on the way", []Node{{Name: "a", Calls: []Call{timed("b", 1, 10*s, 0)}}, {Name: "b", Calls: []Call{timed("c", 1, 10*s, 0)}}, {Name: "c", Calls: []Call{timed("d", 1, s, 0)}}},
			[]Entry{{Name: "x", Path: []string{"a", "b", "c"}, Budget: 10 * s, Margin: s}}, []row{
				{"a->b", 10 * s, "deadline x", 0, true, "1/1/1", 0},
				{"b->c", 9 * s, "per-try limit of a->b", 0, true, "1/0/0", -s},
				{"c->d", 8 * s, "per-try limit of a->b", 0, true, "1/1/1", 7 * s},
			}},
		{"serial calls wait for those before, and for their own copies", []Node{{Name: "a", Calls: []Call{timed("b", 2, s, 0), {To: "c", FanOut: 3, Layers: []Layer{{PerTry: s}}}}}},
			[]Entry{{Name: "x", Path: []string{"a"}, Budget: 5 * s}}, []row{
				{"a->b", 5 * s, "deadline x", 0, true, "2/2/2", 3 * s},
				{"a->c", s, "deadline x", 4 * s, true, "1/1/1", 0},
			}},
		{"parallel calls do not", []Node{{Name: "a", Parallel: true, Calls: []Call{timed("b", 2, s, 0), timed("c", 1, s, 0)}}},
			[]Entry{{Name: "x", Path: []string{"a"}, Budget: 2 * s}}, []row{
				{"a->b", 2 * s, "deadline x", 0, true, "2/2/2", 0},
				{"a->c", 2 * s, "deadline x", 0, true, "1/1/1", s},
			}},
		{"alternatives wait for each other's place, not for each other", []Node{{Name: "a", Calls: []Call{
			{To: "b", Choice: "v", Layers: []Layer{{PerTry: s}}}, {To: "c", Choice: "v", Layers: []Layer{{PerTry: 2 * s}}}, timed("d", 1, s, 0)}}},
			[]Entry{{Name: "x", Path: []string{"a"}, Budget: 3 * s}}, []row{
				{"a->b", 3 * s, "deadline x", 0, true, "1/1/1", 2 * s},
				{"a->c", 3 * s, "deadline x", 0, true, "1/1/1", s},
				{"a->d", s, "deadline x", 2 * s, true, "1/1/1", 0},
			}},
		{"a call without a limit before it", []Node{{Name: "a", Calls: []Call{To("b", 2), timed("c", 1, s, 0)}}},
			[]Entry{{Name: "x", Path: []string{"a"}, Budget: 3 * s}}, []row{
				{"a->b", 3 * s, "deadline x", 0, true, "1/1/1", 0},
				{"a->c", 3 * s, "deadline x", 0, false, "1/1/1", 2 * s},
			}},
		{"the tightest caller counts", []Node{{Name: "a", Calls: []Call{timed("b", 1, 5*s, 0), timed("c", 1, s, 0)}}, {Name: "b", Calls: []Call{timed("c", 1, 4*s, 0)}}, {Name: "c", Calls: []Call{timed("d", 2, s, 0)}}}, nil, []row{
			{"a->b", deadline.Max, "", 0, true, "1/1/1", 0},
			{"a->c", deadline.Max, "", 5 * s, true, "1/1/1", 0},
			{"b->c", 5 * s, "per-try limit of a->b", 0, true, "1/1/1", s},
			{"c->d", s, "per-try limit of a->c", 0, true, "1/1/1", -s},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			got, err := mustBuild(t, tt.nodes).PlanDeadlines(tt.entries)
			if err != nil {
				t.Fatal(err)
			}
			var rows []row
			for _, c := range got {
				rows = append(rows, row{c.From + "->" + c.To, c.Remaining, c.Limit, c.Before, c.BeforeKnown,
					c.Fit.Starts.String() + "/" + c.Fit.FitsLow.String() + "/" + c.Fit.FitsHigh.String(), c.Fit.Margin})
			}
			if d := cmp.Diff(tt.want, rows); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
	g := mustBuild(t, chain)
	for _, bad := range []Entry{{Path: []string{"nobody"}}, {Path: []string{"edge", "cards"}}, {Budget: -1}} {
		if _, err := g.PlanDeadlines([]Entry{bad}); err == nil {
			t.Errorf("%+v: no error", bad)
		}
	}
}

// TestPlanDeadlinesAgainstPaths walks every path from every service that starts
// with a deadline or without any, and takes the tightest.
func TestPlanDeadlinesAgainstPaths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := genGraph(6).Draw(t, "graph")
		for i := range nodes {
			for j := range nodes[i].Calls {
				c := &nodes[i].Calls[j]
				c.Layers = []Layer{{Attempts: rapid.Int64Range(1, 3).Draw(t, "attempts"), PerTry: time.Duration(rapid.Int64Range(0, 5).Draw(t, "pertry")),
					Overall: time.Duration(rapid.Int64Range(0, 12).Draw(t, "overall"))}}
			}
		}
		g, err := Build(nodes)
		if err != nil {
			t.Fatal(err)
		}
		budgets := map[string]time.Duration{}
		var entries []Entry
		for _, n := range nodes {
			if rapid.IntRange(0, 2).Draw(t, "entry") == 0 {
				budgets[n.Name] = time.Duration(rapid.Int64Range(0, 30).Draw(t, "budget"))
				entries = append(entries, Entry{Name: n.Name, Path: []string{n.Name}, Budget: budgets[n.Name]})
			}
		}
		byName := map[string]*Node{}
		for i := range nodes {
			byName[nodes[i].Name] = &nodes[i]
		}
		tightest := map[[2]any]time.Duration{}
		var walk func(name string, has time.Duration)
		walk = func(name string, has time.Duration) {
			if b, ok := budgets[name]; ok {
				has = min(has, b)
			}
			n := byName[name]
			var before time.Duration
			for j, c := range n.Calls {
				worst, bounded := c.Layers[0].Policy().Worst()
				own := before
				if !n.Parallel && bounded {
					own += worst * time.Duration(c.copies()-1)
				}
				left := has
				if has != deadline.Max {
					left -= own
				}
				key := [2]any{name, j}
				if old, ok := tightest[key]; !ok || left < old {
					tightest[key] = left
				}
				next := left
				if o := c.Layers[0].Overall; o > 0 {
					next = min(next, o)
				}
				if p := c.Layers[0].PerTry; p > 0 {
					next = min(next, p)
				}
				walk(c.To, next)
				if !n.Parallel && bounded {
					before += worst * time.Duration(c.copies())
				}
			}
		}
		for _, n := range nodes {
			walk(n.Name, deadline.Max)
		}
		got, err := g.PlanDeadlines(entries)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range got {
			if want := tightest[[2]any{c.From, c.Call}]; c.Remaining != want {
				t.Fatalf("%s->%s (call %d): %v remain, want %v", c.From, c.To, c.Call, c.Remaining, want)
			}
		}
	})
}
