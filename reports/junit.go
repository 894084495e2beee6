package reports

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

type (
	junitSuites struct {
		XMLName  xml.Name      `xml:"testsuites"`
		Name     string        `xml:"name,attr"`
		Tests    int           `xml:"tests,attr"`
		Failures int           `xml:"failures,attr"`
		Errors   int           `xml:"errors,attr"`
		Skipped  int           `xml:"skipped,attr"`
		Suites   []*junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Classname string       `xml:"classname,attr"`
		Name      string       `xml:"name,attr"`
		Failure   *junitDetail `xml:"failure,omitempty"`
		Error     *junitDetail `xml:"error,omitempty"`
		Skipped   *junitDetail `xml:"skipped,omitempty"`
	}
	junitDetail struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// writeJUnit writes the cases; where a report has none, each finding is a case of
// its file that failed (errors and warnings) or passed (information). A report
// with neither is one case that passed: it ran.
func writeJUnit(w io.Writer, r *Report) error {
	all := junitSuites{Name: strings.TrimSpace("relplan " + r.Command)}
	for _, c := range r.Cases {
		all.add(c)
	}
	if len(r.Cases) == 0 {
		for _, f := range r.Findings {
			all.add(findingCase(f))
		}
	}
	if all.Tests == 0 {
		all.add(Case{Suite: all.Name, Name: "ran", Status: Passed})
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func findingCase(f Finding) Case {
	c := Case{
		Suite:   cmp.Or(f.File, "findings"),
		Name:    fmt.Sprintf("%s at line %d", f.Rule, f.Line),
		Status:  Failed,
		Message: plain(f.Message),
		Details: fmt.Sprintf("%s:%d:%d: %s: %s", f.File, f.Line, f.Column, f.Severity, plain(f.Message)),
	}
	switch {
	case f.Suppressed != "":
		c.Status, c.Message = Skipped, "suppressed: "+f.Suppressed
	case f.Severity == "info":
		c.Status = Passed
	}
	return c
}

func (a *junitSuites) add(c Case) {
	var s *junitSuite
	for _, have := range a.Suites {
		if have.Name == c.Suite {
			s = have
		}
	}
	if s == nil {
		s = &junitSuite{Name: c.Suite}
		a.Suites = append(a.Suites, s)
	}
	jc := junitCase{Classname: c.Suite, Name: c.Name}
	d := &junitDetail{Message: c.Message, Text: c.Details}
	a.Tests, s.Tests = a.Tests+1, s.Tests+1
	switch c.Status {
	case Failed:
		jc.Failure = d
		a.Failures, s.Failures = a.Failures+1, s.Failures+1
	case Errored:
		jc.Error = d
		a.Errors, s.Errors = a.Errors+1, s.Errors+1
	case Skipped:
		d.Text = ""
		jc.Skipped = d
		a.Skipped, s.Skipped = a.Skipped+1, s.Skipped+1
	}
	s.Cases = append(s.Cases, jc)
}
