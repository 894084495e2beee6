package anomaly

import (
	"errors"
	"strings"
	"testing"

	"github.com/relplan/relplan/internal/engines"
)

func TestJudge(t *testing.T) {
	errs := []string{"serialization at commit"}
	for _, c := range []struct {
		name  string
		cell  Cell
		model *ModelAnswer
		want  Verdict
	}{
		{"both no", Cell{}, &ModelAnswer{}, Match},
		{"both yes", Cell{Happened: true}, &ModelAnswer{Possible: true}, Match},
		{"both refuse", Cell{Refused: true}, &ModelAnswer{Errors: errs}, Match},
		{"the model can refuse", Cell{}, &ModelAnswer{Errors: errs}, Match},
		{"only the engine has it", Cell{Happened: true}, &ModelAnswer{Errors: errs}, Weaker},
		{"only the model has it", Cell{Waits: true}, &ModelAnswer{Possible: true}, Stricter},
		{"only the engine refuses", Cell{Refused: true}, &ModelAnswer{}, Stricter},
		{"it happens, and the engine refuses", Cell{Happened: true, Refused: true}, &ModelAnswer{Possible: true}, Stricter},
		{"no level", Cell{Happened: true}, nil, NoModel},
		{"no statement", Cell{Without: "no clause"}, &ModelAnswer{Possible: true}, NotAsked},
	} {
		if got := Judge(c.cell, c.model); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestCellOf(t *testing.T) {
	refused := errors.New("refused")
	for _, c := range []struct {
		name    string
		results []Result
		short   string
		said    string
	}{
		{"nothing", []Result{{Session: "A", Line: 1}}, "no", "no"},
		{"in the order of the schedule", []Result{
			{Session: "A", Line: 4, Text: "commit", Err: refused, Code: "40001", Failure: engines.Serialization},
			{Session: "B", Line: 3, Text: "update", Waited: true},
		}, "waits, 40001", "no: B waits at `update`, then A gets 40001 at `commit`"},
		{"a wait that ends in a refusal", []Result{
			{Session: "B", Line: 3, Text: "insert", Waited: true, Err: refused, Code: "1062", Failure: engines.Duplicate},
		}, "waits, 1062", "no: B waits at `insert`, then gets 1062"},
		{"the victim is not told", []Result{
			{Session: "B", Line: 4, Text: "update", Err: refused, Code: "40P01", Failure: engines.Deadlock},
			{Session: "A", Line: 3, Text: "update", Waited: true},
		}, "waits, 40P01", "no: a deadlock, 40P01 for one of the two"},
	} {
		cell := cellOf(&Observation{Results: c.results})
		if cell.Short() != c.short || cell.sentence() != c.said {
			t.Errorf("%s: got %s; %s, want %s; %s", c.name, cell.Short(), cell.sentence(), c.short, c.said)
		}
	}
	if cellOf(&Observation{Results: []Result{{Err: refused, Failure: engines.Duplicate}}}).Refused {
		t.Error("a duplicate key counts as a refusal")
	}
}

func TestPageKeepsWhatOthersWrite(t *testing.T) {
	tab, err := Recorded()
	if err != nil {
		t.Fatal(err)
	}
	theirs := replayBegin + "\n| a | b |\n" + replayEnd
	text, err := tab.Markdown("old text\n" + theirs + "\nmore")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text, theirs) || strings.Contains(text, "old text") {
		t.Error("the part of the other generator is not kept, or more than it")
	}
	empty, err := tab.Markdown("")
	if err != nil || !strings.Contains(empty, replayBegin+"\n"+replayEnd) {
		t.Errorf("a new page lacks the marks: %v", err)
	}
	newer := *tab
	newer.Engines = map[engines.Kind]Engine{engines.SQLite: {Version: "9.9"}}
	other, err := newer.Markdown("")
	if err != nil {
		t.Fatal(err)
	}
	if other == empty || Comparable(other) != Comparable(empty) {
		t.Error("versions must be on the page, and must not be compared")
	}
}
