package modeltest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relplan/relplan/modelcheck"
	"github.com/relplan/relplan/modelcheck/models"
)

func inbox(name string) *Spec {
	m := models.NewInbox(2, 2, 1, 1)
	return &Spec{Name: name, Model: m, Properties: []modelcheck.Property{m.NoDup(), m.NoLost(), m.Delivered()}}
}

func setnx(name string) *Spec {
	m := models.NewSetnx(2, 2, 1, 1)
	return &Spec{Name: name, Model: m, Properties: []modelcheck.Property{m.NoDup(), m.NoLost(), m.Delivered()}}
}

func TestHolds(t *testing.T) { Holds(t, inbox("inbox")) }

func TestBreaks(t *testing.T) {
	h := Breaks(t, setnx("setnx"), "NoLost")
	if len(h.Steps) != 10 || h.Faults["crash"] != 1 {
		t.Errorf("%d steps, faults %v", len(h.Steps), h.Faults)
	}
}

func TestExplore(t *testing.T) { Explore(t, inbox("inbox")) }

// TestMisuseFails runs this test binary again on specs whose tests must fail, and
// reads what they say.
func TestMisuseFails(t *testing.T) {
	dir := t.TempDir()
	cases := []struct {
		name, reason string
		want         []string
	}{
		{"holds", "Holds on a broken spec", []string{"setnx: NoLost is broken", "crash (fault)"}},
		{"breaks", "Breaks on a promise that holds", []string{"NoDup is holds, want broken"}},
		{"unknown", "Breaks on a promise that does not exist", []string{`no promise "x"; there are ["NoDup"`}},
		{"vacuous", "a step that is never taken", []string{`step "redeliver" is never taken`}},
		{"limit", "a search that did not end", []string{"is unknown: limit of 100 states"}},
		{"explore", "random histories find the loss", []string{"setnx: ", " is broken:\n", "history saved in " + dir}},
		{"again", "and the saved history runs first", []string{"saved history " + dir, "is broken"}},
	}
	for _, c := range cases {
		cmd := exec.Command(os.Args[0], "-test.run=^TestFailing$", "-test.v", "-rapid.nofailfile")
		cmd.Env = append(os.Environ(), "MODELTEST_CASE="+c.name, "MODELTEST_DIR="+dir)
		out, err := cmd.CombinedOutput()
		if err == nil {
			t.Errorf("%s: the test passes:\n%s", c.reason, out)
		}
		for _, w := range c.want {
			if !strings.Contains(string(out), w) {
				t.Errorf("%s: output lacks %q:\n%s", c.reason, w, out)
			}
		}
	}
	files, _ := filepath.Glob(filepath.Join(dir, "setnx-*.json"))
	if len(files) == 0 {
		t.Errorf("no history in %s", dir)
	}
}

// TestFailing is run by TestMisuseFails.
func TestFailing(t *testing.T) {
	s := setnx("setnx")
	s.Dir = os.Getenv("MODELTEST_DIR")
	switch os.Getenv("MODELTEST_CASE") {
	case "":
		t.Skip("run by TestMisuseFails")
	case "holds":
		Holds(t, s)
	case "breaks":
		Breaks(t, s, "NoDup")
	case "unknown":
		Breaks(t, s, "x")
	case "vacuous":
		m := models.NewInbox(2, 2, 1, 0)
		Holds(t, &Spec{Name: "inbox", Model: m, Properties: []modelcheck.Property{m.NoDup()}})
	case "limit":
		s.Options = modelcheck.Options{NoReduction: true, MaxStates: 100}
		Holds(t, s)
	case "explore":
		Explore(t, s)
	case "again":
		Explore(t, s)
	}
}

// TestStaleHistoriesArePassedOver: a repaired model is not failed by old files.
func TestStaleHistoriesArePassedOver(t *testing.T) {
	dir := t.TempDir()
	old := `{"schema": "relplan.dev/test-history/v1", "spec": "inbox", "promise": "NoDup", "start": 0,
		"steps": [{"actor": "worker 1", "text": "a step of the past"}]}`
	if err := os.WriteFile(filepath.Join(dir, "inbox-1.json"), []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	s := inbox("inbox")
	s.Dir = dir
	Explore(t, s)
}
