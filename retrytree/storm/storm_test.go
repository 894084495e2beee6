package storm

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/relplan/relplan/retrytree/storm/budget"
	"github.com/relplan/relplan/retrytree/storm/des"
)

// bronson is the system of HotOS'21 2.1: 300 rps, one more attempt after 1 s.
func bronson(lam float64) *System {
	return &System{
		Nodes:   []Node{{Name: "db", Servers: 1, Service: des.Dist{Kind: des.Exponential, Mean: time.Second / 300}}},
		Edges:   []Edge{{Name: "web->db", From: -1, To: 0, Attempts: 2, Timeout: time.Second}},
		Sources: []Source{{Edge: 0, Rate: lam}},
	}
}

func TestBronsonInWords(t *testing.T) {
	s := bronson(280)
	r, err := Analyse(context.Background(), s, Options{Simulate: true, Sim: SimOptions{Seed: 1, Runs: 20, Tail: 100 * time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	e := r.Edges[0]
	if e.State != Vulnerable || math.Abs(e.Stable-150) > 1e-3 || math.Abs(e.Fold-293.3187) > 1e-3 || math.Abs(e.Spare-20) > 1e-3 {
		t.Fatalf("state %v stable %g fold %g spare %g", e.State, e.Stable, e.Fold, e.Spare)
	}
	tr := e.Triggers[0]
	if math.Abs(tr.TipsAt-1.005) > .003 || !tr.Tips {
		t.Errorf("tips at %g", tr.TipsAt)
	}
	text := strings.Join(e.Sentences(), "\n")
	for _, want := range []string{"at 280 rps one 1 s outage", "below 150 rps", "below 20/s", "10 % does not save it, 7 % does"} {
		if !strings.Contains(strings.ReplaceAll(text, "1.01 s", "1 s"), want) {
			t.Errorf("missing %q in:\n%s", want, text)
		}
	}
	t.Log(text, e.Answers)
}

func ExampleAnalyse() {
	s := &System{
		Nodes:   []Node{{Name: "db", Servers: 1, Service: des.Dist{Kind: des.Exponential, Mean: time.Second / 300}}},
		Edges:   []Edge{{Name: "web->db", From: -1, To: 0, Attempts: 2, Timeout: time.Second, Budget: budget.Policy{Kind: budget.FirstTry, Ratio: .07}}},
		Sources: []Source{{Edge: 0, Rate: 280}},
	}
	r, err := Analyse(context.Background(), s, Options{})
	if err != nil {
		panic(err)
	}
	e := r.Edges[0]
	fmt.Printf("%s: %v, stable up to %.0f rps, fold at %.0f rps\n", e.Edge, e.State, e.Stable, e.Fold)
	// Output: web->db: stable, stable up to 280 rps, fold at 293 rps
}

// Every change that is called survivable survives fresh seeds, and there is
// one among the client settings.
func TestOptimise(t *testing.T) {
	s := bronson(280)
	tr := Trigger{Kind: des.Outage, For: 10 * time.Second}
	cs, err := Optimise(context.Background(), s, 0, tr, SimOptions{Seed: 1, Runs: 10})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cs {
		t.Logf("%v | %v | %v | tipped %d of %d, undecided %d, recovery %.1f s, goodput %.4f", c.Text, c.Effort, c.Survives, c.Verdict.Tipped, c.Verdict.Runs, c.Verdict.Undecided, c.Verdict.Recovery, c.Goodput)
		v, err := c.System.Simulate(context.Background(), tr, SimOptions{Seed: 100, Runs: 10})
		if err != nil {
			t.Fatal(err)
		}
		if c.Survives && v.Tipped > 0 {
			t.Errorf("%s: called survivable, but %d of 10 other seeds tip", c.Text, v.Tipped)
		}
	}
	if !cs[0].Survives || cs[0].Effort > ServerConfig {
		t.Errorf("first proposal %q survives %v, effort %v", cs[0].Text, cs[0].Survives, cs[0].Effort)
	}
	kinds := map[string]bool{}
	for _, c := range cs {
		for _, w := range []string{"budget", "attempts", "timeout", "waiting", "LIFO", "refuse", "cancel", "servers"} {
			if c.Survives && strings.Contains(c.Text, w) {
				kinds[w] = true
			}
		}
	}
	for _, w := range []string{"attempts", "waiting", "LIFO", "refuse", "servers"} {
		if !kinds[w] {
			t.Errorf("no surviving proposal with %q", w)
		}
	}
}

func TestNumber(t *testing.T) {
	for _, row := range []struct {
		x    float64
		want string
	}{{150, "150"}, {293.3187, "293.3"}, {10416.7, "10,420"}, {1e5, "100,000"}, {121553, "121,600"}, {1234567, "1,235,000"}, {-54321, "-54,320"}, {0, "0"}, {math.Inf(1), "+Inf"}} {
		if got := Number(row.x); got != row.want {
			t.Errorf("%g: %q, want %q", row.x, got, row.want)
		}
	}
}
