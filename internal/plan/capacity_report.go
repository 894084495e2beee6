package plan

import (
	"fmt"
	"math/big"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/reports"
)

// capacityDocument is the document of `relplan capacity`.
type capacityDocument struct {
	Schema string `json:"schema"`
	CapacityDoc
	Policies []PolicyDoc `json:"policies"`
}

// CapacityReport answers `relplan capacity` for the plan: ok is false when a
// window is not covered or a policy on sizes is exceeded.
func (f *File) CapacityReport() (r *reports.Report, ok bool, err error) {
	res, err := f.capacity(nil)
	if err != nil {
		return nil, false, err
	}
	doc := capacityDocument{Schema: "relplan.dev/capacity/v1", CapacityDoc: res.doc, Policies: []PolicyDoc{}}
	r = &reports.Report{Command: "capacity", Title: "Capacity of " + f.Name}
	ok = true
	blocks := res.blocks()
	if len(f.Stores) == 0 {
		return nil, false, &diag.Err{Diagnostics: []diag.Diagnostic{{Code: codeKey, Pos: diag.Pos{File: f.Path, Line: 1, Column: 1}, Message: "the plan has no stores",
			Hint: "stores: {inbox: {engine: postgres, holds: payments, retain: 7d, columns: [..]}}"}}}
	}
	r.Add(blocks[1:]...) // without the heading of the section
	for _, w := range res.doc.Windows {
		c := reports.Case{Suite: "windows", Name: w.Store, Status: reports.Passed, Message: w.Text}
		if !w.Covered {
			c.Status = reports.Failed
			ok = ok && f.Policies.Windows.V == "report"
		}
		r.Cases = append(r.Cases, c)
	}
	doc.Policies = f.sizePolicies(res)
	for _, p := range doc.Policies {
		mark, word := reports.Good, "kept"
		c := reports.Case{Suite: "policies", Name: p.Policy, Status: reports.Passed}
		if !p.Pass {
			ok, mark, word, c.Status = false, reports.Bad, "exceeded", reports.Failed
		}
		c.Message = fmt.Sprintf("policy %s %s: %s", p.Policy, word, p.Text)
		r.Cases = append(r.Cases, c)
		r.Add(reports.Paragraph{Text: c.Message, Mark: mark})
	}
	r.Data = doc
	return r, ok, nil
}

// totalBytes is what all stores take with all copies; raw bytes where the engine
// size is not known.
func (r *capacityResult) totalBytes() *big.Int {
	t := new(big.Int)
	for _, s := range r.doc.Stores {
		one := s.RawBytes
		if s.TotalBytes != nil {
			one = *s.TotalBytes
		}
		t.Add(t, new(big.Int).Mul(big.NewInt(one), big.NewInt(1+s.Replicas)))
	}
	return t
}
