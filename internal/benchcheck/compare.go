package main

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// target is one line of the summary: what was wanted and what was measured.
type target struct {
	text      string
	want, got float64
	atMost    bool
	unit      string
	remark    string
}

func (t target) met() bool {
	if t.atMost {
		return t.got <= t.want
	}
	return t.got >= t.want
}

// compare runs everything and prints tables in Markdown.
func compare(names []string, runs int) error {
	if err := need("spin", "rumur", "gcc"); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "benchcheck")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	fmt.Printf("Load average at the start: %s. Median CPU of %d runs.\n\n", loadAverage(), runs)
	fmt.Println("| model | tool | distinct states | CPU s | wall s | peak MiB | B/state | states per CPU s | against SPIN |")
	fmt.Println("|---|---|--:|--:|--:|--:|--:|--:|--:|")
	var targets []target
	for _, name := range names {
		s, err := sizeOf(name)
		if err != nil {
			return err
		}
		t, err := compareSize(dir, s, runs)
		if err != nil {
			return err
		}
		targets = append(targets, t...)
	}
	for _, part := range []func(int) ([]target, error){counterexamples, yamlTargets} {
		more, err := part(runs)
		if err != nil {
			return err
		}
		targets = append(targets, more...)
	}
	fmt.Printf("\nLoad average at the end: %s.\n\n", loadAverage())
	fmt.Println("| target | wanted | measured | |")
	fmt.Println("|---|--:|--:|---|")
	for _, t := range targets {
		sign, met := "at least", "met"
		if t.atMost {
			sign = "at most"
		}
		if !t.met() {
			met = "missed"
		}
		fmt.Printf("| %s | %s %s %s | %s %s | %s %s |\n", t.text, sign, short(t.want), t.unit, short(t.got), t.unit, met, t.remark)
	}
	return nil
}

func short(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func row(model, tool string, states uint64, m measurement, base time.Duration, perState bool) {
	mem := "-"
	if perState {
		mem = fmt.Sprintf("%.1f", float64(m.rss)/float64(states))
	}
	ratio := "-"
	if base > 0 {
		ratio = fmt.Sprintf("%.1f times less CPU", base.Seconds()/m.cpu.Seconds())
	}
	fmt.Printf("| %s | %s | %d | %.3f | %.3f | %.0f | %s | %.0f | %s |\n", model, tool, states, m.cpu.Seconds(), m.wall.Seconds(),
		float64(m.rss)/(1<<20), mem, float64(states)/m.cpu.Seconds(), ratio)
}

// compareSize runs one size in all tools.
func compareSize(dir string, s size, runs int) ([]target, error) {
	large := strings.HasSuffix(s.name, "/L")
	sp, err := spin(dir, s, runs)
	if err != nil {
		return nil, err
	}
	row(s.name, "SPIN, exact", sp.states, sp.measurement, 0, large)
	exact, err := own(runs, "-child", s.name)
	if err != nil {
		return nil, err
	}
	row(s.name, "relplan, 1 worker, no reduction", exact.child.States, exact, sp.cpu, large)
	if sp.states != exact.child.States || exact.child.States != s.states || exact.child.Transitions != s.transitions {
		return nil, fmt.Errorf("%s: SPIN %d states, relplan %d and %d transitions, published %d and %d", s.name,
			sp.states, exact.child.States, exact.child.Transitions, s.states, s.transitions)
	}
	two, err := own(runs, "-child", s.name, "-workers", "2")
	if err != nil {
		return nil, err
	}
	row(s.name, "relplan, 2 workers, no reduction", two.child.States, two, sp.cpu, large)
	one, err := own(runs, "-child", s.name, "-reduced")
	if err != nil {
		return nil, err
	}
	row(s.name, "relplan, 1 worker, symmetry", one.child.States, one, sp.cpu, false)
	user, err := own(runs, "-child", s.name, "-reduced", "-workers", "2")
	if err != nil {
		return nil, err
	}
	row(s.name, "relplan, 2 workers, symmetry", user.child.States, user, sp.cpu, false)
	var ts []target
	switch {
	case large:
		ts, err = largeTargets(s, sp, exact, two, one, runs)
	case strings.HasSuffix(s.name, "/M"):
		ts, err = mediumTargets(dir, s, one, user, runs)
	}
	return ts, err
}

func largeTargets(s size, sp peerRun, exact, two, one measurement, runs int) ([]target, error) {
	want := 100.0
	if s.name == "B3/L" {
		want = 30
	}
	ts := []target{
		{text: s.name + ": CPU of the search with symmetry against SPIN's", want: want, got: sp.cpu.Seconds() / one.child.CPU.Seconds(), unit: "times", remark: "(1 worker)"},
		{text: s.name + ": two workers against one", want: 1.7, got: exact.child.Search.Seconds() / two.child.Search.Seconds(), unit: "times", remark: "(load " + loadAverage() + ")"},
		{text: s.name + ": bytes a state in the state set and queue", want: 32, got: float64(exact.child.Bytes) / float64(s.states), unit: "B", atMost: true},
	}
	if s.name != "B1/L" {
		return ts, nil
	}
	ts = append(ts, target{text: "B1/L: states per CPU second against SPIN", want: 4, got: sp.cpu.Seconds() / exact.cpu.Seconds(), unit: "times"})
	lim, err := own(runs, "-limit", fmt.Sprint(s.transitions))
	if err != nil {
		return nil, err
	}
	row("B1/L", "random look-ups alone", 9_891_116, lim, 0, false)
	return append(ts, target{text: "B1/L: transitions per CPU second against random look-ups", want: 60,
		got: 100 * lim.child.CPU.Seconds() / exact.child.CPU.Seconds(), unit: "%",
		remark: fmt.Sprintf("(%.1f against %.1f million/s)", float64(s.transitions)/exact.child.CPU.Seconds()/1e6, float64(s.transitions)/lim.child.CPU.Seconds()/1e6)}), nil
}

func mediumTargets(dir string, s size, one, user measurement, runs int) ([]target, error) {
	ts := []target{{text: s.name + ": wall with symmetry, start-up included", want: 150, got: user.wall.Seconds() * 1e3, unit: "ms", atMost: true, remark: cpuRemark(user)}}
	off, err := rumur(dir, s, "off", runs)
	if err != nil {
		return nil, err
	}
	row(s.name, "rumur, no symmetry", off.states, off.measurement, 0, false)
	if off.states != s.states {
		return nil, fmt.Errorf("%s: rumur finds %d states, published %d", s.name, off.states, s.states)
	}
	if s.name[:2] == "B2" {
		return ts, nil // no model with scalarsets
	}
	ru, err := rumur(dir, s, "heuristic", runs)
	if err != nil {
		return nil, err
	}
	row(s.name, "rumur, heuristic symmetry", ru.states, ru.measurement, 0, false)
	return append(ts, target{text: s.name + ": CPU of the search with symmetry against rumur's", want: 3, got: ru.cpu.Seconds() / one.child.CPU.Seconds(), unit: "times", remark: "(1 worker)"}), nil
}

// counterexamples measures the wait for B2's lost message.
func counterexamples(runs int) ([]target, error) {
	var ts []target
	for _, c := range []struct {
		name  string
		steps int
		ms    float64
	}{{"B2/break4", 18, 50}, {"B2/break6", 26, 250}} {
		m, err := own(runs, "-child", c.name, "-reduced", "-break", "-workers", "2")
		if err != nil {
			return nil, err
		}
		if m.child.Verdict != "broken" || m.child.Steps != c.steps {
			return nil, fmt.Errorf("%s: %s after %d steps, want broken after %d", c.name, m.child.Verdict, m.child.Steps, c.steps)
		}
		ts = append(ts, target{text: fmt.Sprintf("%s: wall to the history of %d steps", c.name, c.steps), want: c.ms, got: m.wall.Seconds() * 1e3, unit: "ms", atMost: true, remark: cpuRemark(m)})
	}
	return ts, nil
}

// cpuRemark gives the CPU time beside a wall time, which a busy machine stretches.
func cpuRemark(m measurement) string {
	return fmt.Sprintf("(%.0f ms of CPU)", m.cpu.Seconds()*1e3)
}
