// Benchcheck runs the benchmark protocols of the checking engine here and in
// SPIN and rumur, in one go on one machine, and prints distinct states (which
// must be equal), CPU, wall and memory, with ratios. `make bench-check` runs it.
//
// Every run is a process of its own, so that CPU time and peak memory are those
// of the operating system.
package main

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"flag"
	"fmt"
	"math/bits"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/relplan/relplan/internal/hugemem"
	"github.com/relplan/relplan/modelcheck"
	"github.com/relplan/relplan/modelcheck/models"
)

//go:embed testdata
var testdata embed.FS

func main() {
	child := flag.String("child", "", "run one model in this process: B1/M")
	reduced := flag.Bool("reduced", false, "with -child: with reductions")
	break2 := flag.Bool("break", false, "with -child: look for the history that breaks NoLost")
	workers := flag.Int("workers", 1, "with -child")
	yaml := flag.String("yaml", "", "run a protocol in YAML in this process: b1")
	twin := flag.String("twin", "", "run the Go model of a YAML file in this process: b1")
	limit := flag.Int("limit", 0, "measure this many random look-ups in a table of the size of B1 L")
	runs := flag.Int("runs", 3, "runs of each measurement; the median counts")
	only := flag.String("models", "B1/S,B1/M,B2/M,B3/M,B1/L,B2/L,B3/L", "models to run")
	flag.Parse()
	var err error
	switch {
	case *limit > 0:
		lookups(*limit)
	case *yaml != "":
		err = runYAML(*yaml, *reduced, *workers)
	case *twin != "":
		err = runTwin(*twin, *reduced, *workers)
	case *child != "":
		err = runChild(*child, *reduced, *break2, *workers)
	default:
		err = compare(strings.Split(*only, ","), *runs)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchcheck:", err)
		os.Exit(1)
	}
}

// size is a row of the reference table.
type size struct {
	name        string
	p           [4]int // M, W, C, and R or L
	states      uint64
	transitions uint64
}

var sizes = []size{
	{"B1/S", [4]int{3, 2, 2, 2}, 15_186, 54_702},
	{"B1/M", [4]int{4, 3, 3, 2}, 1_001_261, 5_674_860},
	{"B2/M", [4]int{4, 3, 2, 2}, 1_579_897, 7_383_168},
	{"B3/M", [4]int{3, 2, 1, 2}, 1_153_783, 4_157_403},
	{"B1/L", [4]int{5, 3, 3, 3}, 9_891_116, 58_259_570},
	{"B2/L", [4]int{5, 3, 2, 2}, 9_375_470, 43_698_540},
	{"B3/L", [4]int{3, 2, 2, 2}, 8_149_654, 32_215_425},
	{"B2/break4", [4]int{4, 3, 2, 2}, 0, 0},
	{"B2/break6", [4]int{6, 3, 2, 2}, 0, 0},
}

func sizeOf(name string) (size, error) {
	for _, s := range sizes {
		if s.name == name {
			return s, nil
		}
	}
	return size{}, fmt.Errorf("no model %q", name)
}

// model makes the Go model and the properties of a size.
func (s *size) model() (modelcheck.Model, []modelcheck.Property) {
	p := s.p
	switch s.name[:2] {
	case "B1":
		m := models.NewInbox(p[0], p[1], p[2], p[3])
		return m, []modelcheck.Property{m.NoDup(), m.NoLost()}
	case "B2":
		m := models.NewSetnx(p[0], p[1], p[2], p[3])
		if strings.Contains(s.name, "break") {
			return m, []modelcheck.Property{m.NoLost()}
		}
		return m, []modelcheck.Property{m.NoDup()}
	}
	m := models.NewOutbox(p[0], p[1], p[2], p[3])
	return m, []modelcheck.Property{m.NoDup(), m.SentDelivered(), m.NoLost()}
}

// childResult is what a child prints.
type childResult struct {
	States, Transitions uint64
	Verdict             string
	Search, CPU         time.Duration // of the search alone
	Bytes               int64
	Steps               int
}

func runChild(name string, reduced, break2 bool, workers int) error {
	s, err := sizeOf(name)
	if err != nil {
		return err
	}
	m, props := s.model()
	opt := modelcheck.Options{NoReduction: !reduced, Workers: workers, StopEarly: break2}
	before := cpuTime()
	r, err := modelcheck.Check(context.Background(), m, props, opt)
	if err != nil {
		return err
	}
	out := childResult{States: r.States, Transitions: r.Transitions, Verdict: r.Verdict.String(), Search: r.Elapsed, CPU: cpuTime() - before, Bytes: r.Bytes}
	if break2 && r.Properties[0].History != nil {
		out.Steps = len(r.Properties[0].History.Steps)
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

// lookups measures the machine's own limit: random look-ups, five of six of them
// hits, in a table of 2^24 words that is as full as after B1 L.
func lookups(n int) {
	const size, keys = 1 << 24, 9_891_116
	t := hugemem.Alloc(size)
	key := func(i uint64) uint64 {
		x := (i + 1) * 0x9e3779b97f4a7c15
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		return x ^ x>>31
	}
	for k := range uint64(keys) {
		h := key(k)
		i := h >> 40
		for t[i] != 0 {
			i = (i + 1) % size
		}
		t[i] = h
	}
	began, before := time.Now(), cpuTime()
	found := 0
	for k := range uint64(n) {
		// five of six look-ups hit, as in B1 L
		c, _ := bits.Mul64(key(k^0x5555), keys/5*6)
		h := key(c)
		i := h >> 40
		for t[i] != 0 {
			if t[i] == h {
				found++
				break
			}
			i = (i + 1) % size
		}
	}
	_ = json.NewEncoder(os.Stdout).Encode(childResult{States: uint64(found), Transitions: uint64(n), Search: time.Since(began), CPU: cpuTime() - before})
}

// cpuTime is the CPU time of this process so far.
func cpuTime() time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// measurement is one process.
type measurement struct {
	wall, cpu time.Duration
	rss       int64 // bytes
	out       []byte
	child     childResult
}

// measure runs a command several times and gives the run with the median CPU.
func measure(runs int, dir, name string, args ...string) (measurement, error) {
	var all []measurement
	for range runs {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		began := time.Now()
		if err := cmd.Run(); err != nil {
			return measurement{}, fmt.Errorf("%s %v: %w: %s%s", name, args, err, out.String(), errs.String())
		}
		m := measurement{wall: time.Since(began), out: out.Bytes()}
		st := cmd.ProcessState
		m.cpu = st.UserTime() + st.SystemTime()
		if ru, ok := st.SysUsage().(*syscall.Rusage); ok {
			m.rss = ru.Maxrss * 1024
		}
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b measurement) int { return int(a.cpu - b.cpu) })
	return all[len(all)/2], nil
}

// own runs this program as a child.
func own(runs int, args ...string) (measurement, error) {
	exe, err := os.Executable()
	if err != nil {
		return measurement{}, err
	}
	m, err := measure(runs, "", exe, args...)
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(m.out, &m.child)
}

func loadAverage() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	f := strings.Fields(string(b))
	return fmt.Sprintf("%s %s %s on %d cores", f[0], f[1], f[2], runtime.NumCPU())
}
