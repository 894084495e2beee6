package reports

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func sample() *Report {
	r := &Report{Command: "retry lint", Title: "Two findings", Data: map[string]string{"schema": "x/v1"}}
	r.Add(
		Heading{Level: 2, Text: "Windows", Mark: Bad},
		Paragraph{Text: "the store `inbox` keeps 7d, <needs> 90d_"},
		List{Items: []string{"first", "second"}, Numbered: true},
		Table{Caption: "Stores", Columns: []Column{{Name: "store"}, {Name: "bytes", Right: true}}, Rows: [][]string{{"inbox", "77.76 TB"}, {"a|b", "1 B"}}},
		Code{Lang: "mermaid", Text: "sequenceDiagram\n  a->>b: x\n"},
		Figure{Name: "fold", Caption: "Fold", SVG: []byte("<svg></svg>")},
	)
	r.Findings = []Finding{
		{Rule: "unbounded-time", Title: "No limit", Severity: "error", File: "a.yaml", Line: 3, Column: 5, Message: "no overall limit", Fingerprint: "abc"},
		{Rule: "no-retry-budget", Severity: "info", File: "a.yaml", Line: 1, Message: "no budget"},
		{Rule: "unbounded-time", Severity: "warning", File: "b.yaml", Line: 9, Message: "m", Suppressed: "accepted until May"},
	}
	r.Cases = []Case{{Suite: "replay", Name: "redis", Message: "no server"}, {Suite: "replay", Name: "sqlite", Status: Passed}}
	return r
}

// TestGolden compares every format with its file; UPDATE_GOLDEN=1 rewrites them.
func TestGolden(t *testing.T) {
	for _, format := range Formats {
		var b strings.Builder
		if err := Write(&b, format, sample(), Options{Version: "1.2.3"}); err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		path := filepath.Join("testdata", "sample."+format)
		if os.Getenv("UPDATE_GOLDEN") != "" {
			if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if b.String() != string(want) {
			t.Errorf("%s differs from %s:\n%s", format, path, b.String())
		}
	}
}

func TestColoursOnlyWhenAsked(t *testing.T) {
	var plainText, coloured strings.Builder
	_ = Write(&plainText, "text", sample(), Options{})
	_ = Write(&coloured, "text", sample(), Options{Color: true})
	if strings.Contains(plainText.String(), "\x1b") || !strings.Contains(coloured.String(), "\x1b[1;31mWindows") {
		t.Errorf("plain %q\ncoloured %q", plainText.String(), coloured.String())
	}
}

func TestJUnitCountsAndSARIFParses(t *testing.T) {
	var b strings.Builder
	if err := Write(&b, "junit", sample(), Options{}); err != nil {
		t.Fatal(err)
	}
	var s junitSuites
	if err := xml.Unmarshal([]byte(b.String()), &s); err != nil {
		t.Fatal(err)
	}
	if s.Tests != 2 || s.Failures != 0 || s.Skipped != 1 {
		t.Errorf("tests %d, failures %d, skipped %d; want 2, 0, 1: a case that did not run is never passed", s.Tests, s.Failures, s.Skipped)
	}
	findings := sample()
	findings.Cases = nil
	b.Reset()
	if err := Write(&b, "junit", findings, Options{}); err != nil {
		t.Fatal(err)
	}
	s = junitSuites{}
	if err := xml.Unmarshal([]byte(b.String()), &s); err != nil || s.Tests != 3 || s.Failures != 1 || s.Skipped != 1 {
		t.Errorf("findings alone: %v, tests %d, failures %d, skipped %d; want 3, 1, 1", err, s.Tests, s.Failures, s.Skipped)
	}
	b.Reset()
	if err := Write(&b, "junit", &Report{Command: "version"}, Options{}); err != nil || !strings.Contains(b.String(), `tests="1" failures="0"`) {
		t.Errorf("an empty report: %v\n%s", err, b.String())
	}
	b.Reset()
	if err := Write(&b, "sarif", sample(), Options{}); err != nil {
		t.Fatal(err)
	}
	var log sarifLog
	if err := json.Unmarshal([]byte(b.String()), &log); err != nil {
		t.Fatal(err)
	}
	for _, res := range log.Runs[0].Results {
		if log.Runs[0].Tool.Driver.Rules[res.RuleIndex].ID != res.RuleID {
			t.Errorf("rule index of %s points elsewhere", res.RuleID)
		}
	}
}

func TestUnknownFormatAndCSVWithoutTable(t *testing.T) {
	if err := Write(&strings.Builder{}, "pdf", sample(), Options{}); err == nil {
		t.Error("pdf is accepted")
	}
	if err := Write(&strings.Builder{}, "csv", &Report{}, Options{}); err == nil {
		t.Error("CSV without a table is accepted")
	}
}

func TestWrapKeepsEveryWord(t *testing.T) {
	text := strings.Repeat("word another ", 20)
	for _, line := range strings.Split(wrap(text, "  ", 50), "\n") {
		if len(line) > 50 {
			t.Errorf("line of %d columns: %q", len(line), line)
		}
	}
	if got := strings.Fields(wrap(text, "  ", 50)); len(got) != 40 {
		t.Errorf("%d words, want 40", len(got))
	}
}
