package queue

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// The closed forms against octave-queueing (M. Marzolla), an independent
// implementation: the rows of section D and random systems. It needs octave, so
// it runs by `make oracle-queueing` only.
func TestOctaveOracle(t *testing.T) {
	if os.Getenv("RELPLAN_OCTAVE") == "" {
		t.Skip("NOT_RUN: needs octave-queueing; run `make oracle-queueing`")
	}
	type row struct {
		name, expr string
		want       float64
	}
	var rows []row
	add := func(name, expr string, want float64) { rows = append(rows, row{name, expr, want}) }
	mm1 := func(lam, mu float64) {
		r := mustOf(MMc(lam, mu, 1))
		add("M/M/1 U", fmt.Sprintf("nthargout(1, @qsmm1, %v, %v)", lam, mu), r.Utilization)
		add("M/M/1 R", fmt.Sprintf("nthargout(2, @qsmm1, %v, %v)", lam, mu), r.Response)
		add("M/M/1 N", fmt.Sprintf("nthargout(3, @qsmm1, %v, %v)", lam, mu), r.InSystem)
	}
	mmm := func(lam, mu float64, c int) {
		r := mustOf(MMc(lam, mu, c))
		add("M/M/c R", fmt.Sprintf("nthargout(2, @qsmmm, %v, %v, %d)", lam, mu, c), r.Response)
		add("M/M/c N", fmt.Sprintf("nthargout(3, @qsmmm, %v, %v, %d)", lam, mu, c), r.InSystem)
		add("Erlang C", fmt.Sprintf("erlangc(%v, %d)", lam/mu, c), ErlangC(lam/mu, c))
	}
	mm1k := func(lam, mu float64, k int) {
		r := mustOf(MMcK(lam, mu, 1, k))
		for i, want := range []float64{r.Utilization, r.Response, r.InSystem, r.Throughput} {
			add("M/M/1/K", fmt.Sprintf("nthargout(%d, @qsmm1k, %v, %v, %d)", i+1, lam, mu, k), want)
		}
		add("M/M/1/K pK", fmt.Sprintf("nthargout(6, @qsmm1k, %v, %v, %d)", lam, mu, k), r.Blocked)
	}
	mmmk := func(lam, mu float64, c, k int) {
		r := mustOf(MMcK(lam, mu, c, k))
		add("M/M/c/K R", fmt.Sprintf("nthargout(2, @qsmmmk, %v, %v, %d, %d)", lam, mu, c, k), r.Response)
		add("M/M/c/K X", fmt.Sprintf("nthargout(4, @qsmmmk, %v, %v, %d, %d)", lam, mu, c, k), r.Throughput)
		add("M/M/c/K pK", fmt.Sprintf("nthargout(6, @qsmmmk, %v, %v, %d, %d)", lam, mu, c, k), r.Blocked)
	}
	mg1 := func(lam, mu, scv float64) {
		r := mustOf(MG1(lam, mu, scv))
		add("M/G/1 R", fmt.Sprintf("nthargout(2, @qsmg1, %v, %v, %v)", lam, 1/mu, (1+scv)/(mu*mu)), r.Response)
	}
	mm1(8, 10)                                     // D1
	mm1(.5, 1)                                     // D1
	mm1(.99, 1)                                    // D1
	mmm(8, 1, 10)                                  // D2
	mmm(2.5, 1, 5)                                 // D3
	mmm(5, 1, 10)                                  // D3
	mm1k(.9, 1, 10)                                // D5
	mm1k(2, 1, 5)                                  // D6
	mg1(.8, 1, 0)                                  // D10
	mm1(.84, 1)                                    // D16
	for _, c := range []int{1, 2, 5, 10, 20, 50} { // D4
		mmm(.8*float64(c), 1, c)
	}
	for _, b := range [][2]float64{{10, 15}, {2, 3}, {100, 110}} { // D8, D9
		add("Erlang B", fmt.Sprintf("erlangb(%v, %v)", b[0], b[1]), ErlangB(b[0], int(b[1])))
		add("Erlang C", fmt.Sprintf("erlangc(%v, %v)", b[0], b[1]), ErlangC(b[0], int(b[1])))
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 25 {
		mu, rho := .1+20*rng.Float64(), .05+.9*rng.Float64()
		c, k := 1+rng.IntN(30), rng.IntN(40)
		mm1(rho*mu, mu)
		mmm(rho*mu*float64(c), mu, c)
		mm1k(2*rho*mu, mu, 1+k)
		// octave refuses generators whose rows do not sum to exactly 0: use
		// rates that are whole multiples of 1/64.
		mmmk(math.Round(128*rho*mu*float64(c))/64+1./64, math.Round(64*mu)/64+1./64, c, c+k)
		mg1(rho*mu, mu, 3*rng.Float64())
	}
	var script bytes.Buffer
	script.WriteString("pkg load queueing; warning('off', 'all');\n")
	for _, r := range rows {
		fmt.Fprintf(&script, "printf('%%.17g\\n', %s);\n", r.expr)
	}
	cmd := exec.Command("octave", "--no-gui", "--quiet", "--no-init-file")
	cmd.Stdin = &script
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil && len(out) == 0 {
		t.Fatalf("octave: %v\n%s", err, errs.String())
	}
	lines := strings.Fields(string(out))
	if len(lines) != len(rows) {
		t.Fatalf("octave answered %d of %d questions\n%s", len(lines), len(rows), errs.String())
	}
	worst := 0.0
	for i, r := range rows {
		got, err := strconv.ParseFloat(lines[i], 64)
		if err != nil {
			t.Fatalf("%s: %q", r.expr, lines[i])
		}
		d := math.Abs(got-r.want) / math.Max(math.Abs(got), 1e-12)
		worst = math.Max(worst, d)
		if d > 1e-9 {
			t.Errorf("%s: octave %s = %.15g, here %.15g", r.name, r.expr, got, r.want)
		}
	}
	t.Logf("%d answers of octave-queueing, largest relative difference %.2g", len(rows), worst)
}

func mustOf(r Result, err error) Result {
	if err != nil {
		panic(err)
	}
	return r
}
