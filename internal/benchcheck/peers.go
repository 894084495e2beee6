package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// need installs Debian packages that are missing; the target is run by
// developers, not by the test suite.
func need(tools ...string) error {
	var missing []string
	for _, t := range tools {
		if _, err := exec.LookPath(t); err != nil {
			missing = append(missing, t)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	cmd := exec.Command("apt-get", append([]string{"install", "-y"}, missing...)...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("missing %s; apt-get install %s: %w", strings.Join(missing, ", "), strings.Join(missing, " "), err)
	}
	return nil
}

// peerRun is a measured run of another checker.
type peerRun struct {
	measurement
	states uint64
}

// spin generates, compiles and runs the Promela model of a size: depth-first
// search, exact, without reduction, the flags that were fastest.
func spin(dir string, s size, runs int) (peerRun, error) {
	model := strings.ToLower(s.name[:2])
	src, err := testdata.ReadFile("testdata/spin/" + model + ".pml")
	if err != nil {
		return peerRun{}, err
	}
	dir, err = os.MkdirTemp(dir, "spin")
	if err != nil {
		return peerRun{}, err
	}
	if err := os.WriteFile(filepath.Join(dir, "m.pml"), src, 0o600); err != nil {
		return peerRun{}, err
	}
	last := "-DR="
	if model == "b3" {
		last = "-DL="
	}
	args := []string{fmt.Sprintf("-DM=%d", s.p[0]), fmt.Sprintf("-DW=%d", s.p[1]), fmt.Sprintf("-DC=%d", s.p[2]), last + strconv.Itoa(s.p[3])}
	if model == "b2" {
		args = append(args, "-DCHECK=0")
	}
	if err := call(dir, "spin", append(args, "-a", "m.pml")...); err != nil {
		return peerRun{}, err
	}
	if err := call(dir, "gcc", "-O3", "-march=native", "-w", "-DSAFETY", "-DNOREDUCE", "-DMEMLIM=12000", "-o", "pan", "pan.c"); err != nil {
		return peerRun{}, err
	}
	m, err := measure(runs, dir, filepath.Join(dir, "pan"), "-m100000", "-w24")
	if err != nil {
		return peerRun{}, err
	}
	n, err := number(m.out, `(\d+) states, stored`)
	return peerRun{m, n}, err
}

// rumur compiles and runs the Murphi model; with symmetry it uses the model with
// scalarsets.
func rumur(dir string, s size, symmetry string, runs int) (peerRun, error) {
	model := strings.ToLower(s.name[:2])
	if symmetry != "off" {
		model += "_sym"
	}
	src, err := testdata.ReadFile("testdata/murphi/" + model + ".m")
	if err != nil {
		return peerRun{}, err
	}
	dir, err = os.MkdirTemp(dir, "rumur")
	if err != nil {
		return peerRun{}, err
	}
	values := map[string]int{"M": s.p[0], "W": s.p[1], "C": s.p[2], "R": s.p[3], "L": s.p[3], "V": 1 + s.p[2] + s.p[3], "CHECK": 0}
	head, rest, _ := strings.Cut(string(src), "\ntype")
	head = regexp.MustCompile(`\b([A-Z]+): \d+;`).ReplaceAllStringFunc(head, func(c string) string {
		name, _, _ := strings.Cut(c, ":")
		return fmt.Sprintf("%s: %d;", name, values[name])
	})
	text := head + "\ntype" + rest
	if err := os.WriteFile(filepath.Join(dir, "m.m"), []byte(text), 0o600); err != nil {
		return peerRun{}, err
	}
	if err := call(dir, "rumur", "--deadlock-detection", "off", "--symmetry-reduction", symmetry, "--threads", "1", "--output", "m.c", "m.m"); err != nil {
		return peerRun{}, err
	}
	if err := call(dir, "gcc", "-std=c11", "-O3", "-march=native", "-w", "-mcx16", "-o", "m", "m.c", "-lpthread", "-latomic"); err != nil {
		return peerRun{}, err
	}
	m, err := measure(runs, dir, filepath.Join(dir, "m"))
	if err != nil {
		return peerRun{}, err
	}
	n, err := number(m.out, `(\d+) states, \d+ rules fired`)
	return peerRun{m, n}, err
}

func call(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}

func number(out []byte, pattern string) (uint64, error) {
	m := regexp.MustCompile(pattern).FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("no match for %q in: %s", pattern, out)
	}
	return strconv.ParseUint(string(m[1]), 10, 64)
}
