// Package incidents holds public reports of protocols that went wrong, one spec
// each: the protocol as it was reported, the accepted fix and what else was
// proposed as variants. The expectation of every variant is tested, and so is
// the history that breaks it.
package incidents

import (
	"embed"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/relplan/relplan/internal/specset"
	"github.com/relplan/relplan/specs"
)

//go:embed *.yaml
var files embed.FS

var set = specset.Set{Files: files, Name: "incidents", What: "spec", List: "relplan patterns --incidents"}

// Incident is what a file says about its report, beside the spec.
type Incident struct {
	Name     string
	Number   int      // of the report; there are holes
	System   string   // the product
	Outcomes []string // duplicate, lost, stuck, stale, disorder, conflict-ignored
	Refs     []string // public addresses, the report itself first
	What     string   // what happened
	Fix      string   // what repairs it, or that nothing was accepted
	Spec     *specs.Spec
}

// Names lists the incidents by name, in the order of their numbers.
func Names() []string { return set.Names() }

// Source is the spec of an incident. The error names the one that was meant.
func Source(name string) ([]byte, error) { return set.Source(name) }

// File is the name under which an incident's spec is reported.
func File(name string) string { return set.File(name) }

// A file begins with the report's number, the product and the outcomes, then one
// address a line.
var title = regexp.MustCompile(`^# Report (\d+): (.+) \(([a-z, -]+)\)$`)

// Load reads an incident; one that does not load is a defect, and the error says
// where.
func Load(name string) (*Incident, error) {
	spec, err := set.Load(name)
	if err != nil {
		return nil, err
	}
	src, err := set.Source(name)
	if err != nil {
		return nil, err
	}
	head, _, _ := strings.Cut(string(src), "\nrelplan:")
	lines := strings.Split(head, "\n")
	m := title.FindStringSubmatch(lines[0])
	what, fix, ok := strings.Cut(spec.About, " Fix: ")
	if m == nil || !ok || len(lines) < 2 {
		return nil, fmt.Errorf("%s: expected \"# Report N: PRODUCT (OUTCOMES)\", addresses, and \"Fix: ..\" in about", File(name))
	}
	in := &Incident{Name: name, System: m[2], Outcomes: strings.Split(m[3], ", "), What: what, Fix: fix, Spec: spec}
	if in.Number, err = strconv.Atoi(m[1]); err != nil {
		return nil, fmt.Errorf("%s: %w", File(name), err)
	}
	for _, l := range lines[1:] {
		in.Refs = append(in.Refs, strings.TrimPrefix(l, "# "))
	}
	return in, nil
}
