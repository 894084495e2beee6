package plan

import (
	"fmt"
	"math"
	"time"

	"github.com/relplan/relplan/deadline"
	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/quantity"
	"github.com/relplan/relplan/reports"
)

// AdmitDoc is a deadline admit object.
type AdmitDoc struct {
	Name        string        `json:"name,omitempty"`
	Admit       bool          `json:"admit"`
	RemainingNS int64         `json:"remaining_ns"`
	NeededNS    int64         `json:"needed_ns"`
	ShortByNS   int64         `json:"short_by_ns"`
	Saturated   bool          `json:"saturated"` // needed_ns or short_by_ns has more than 292 years and is a lower bound
	Path        []string      `json:"path,omitempty"`
	Text        string        `json:"text,omitempty"`
	Basis       reports.Basis `json:"basis"`
}

// Admission is the document of one admission with its sentence.
func Admission(r deadline.Request) (AdmitDoc, error) {
	a, err := deadline.Admit(r)
	if err != nil {
		return AdmitDoc{}, err
	}
	d := SpanText
	doc := AdmitDoc{
		Admit: a.Admit, RemainingNS: int64(a.Remaining), NeededNS: int64(a.Needed), ShortByNS: int64(a.ShortBy), Saturated: a.Saturated,
		Basis: reports.Arithmetic("admit iff spent + backoff + attempt <= budget"),
		Text:  fmt.Sprintf("admitted: the attempt needs %s, %s left, margin %s", d(a.Needed), d(a.Remaining), d(a.Margin)),
	}
	if !a.Admit {
		doc.Text = fmt.Sprintf("refused: the attempt needs %s, %s left, short by %s", d(a.Needed), d(a.Remaining), d(a.ShortBy))
	}
	return doc, nil
}

// SpanText prints a duration; the longest one is where sums stop, so it is told as
// a bound.
func SpanText(d time.Duration) string {
	switch {
	case d == deadline.Max:
		return "292 years or more"
	case d == math.MinInt64:
		return "-292 years or less"
	}
	return quantity.FormatDuration(d)
}

func (f *File) admissions() ([]AdmitDoc, error) {
	docs := []AdmitDoc{}
	var l diag.List
	for _, x := range f.Deadlines {
		doc, err := Admission(deadline.Request{Budget: x.Budget.V, Spent: x.Spent.V, Backoff: x.Backoff.V, Attempt: x.Attempt.V})
		if err != nil {
			l.Errorf(x.Pos, codeValue, "%v", err)
			continue
		}
		doc.Name, doc.Path = x.Name, []string{}
		for _, p := range x.Path {
			doc.Path = append(doc.Path, p.V)
		}
		docs = append(docs, doc)
	}
	return docs, l.Err()
}

func admissionBlocks(docs []AdmitDoc) []reports.Block {
	t := reports.Table{Columns: []reports.Column{{Name: "deadline"}, {Name: "left", Right: true}, {Name: "needed", Right: true}, {Name: "short by", Right: true}, {Name: "verdict"}}}
	for _, a := range docs {
		verdict, short := "admitted", "-"
		if !a.Admit {
			verdict, short = "REFUSED", SpanText(time.Duration(a.ShortByNS))
		}
		t.Rows = append(t.Rows, []string{a.Name, SpanText(time.Duration(a.RemainingNS)), SpanText(time.Duration(a.NeededNS)), short, verdict})
	}
	return []reports.Block{reports.Heading{Level: 2, Text: "Deadlines"}, t}
}
