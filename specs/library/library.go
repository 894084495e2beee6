// Package library holds the verified patterns and anti-patterns of the protocol
// language. Each file is one pattern with its broken relatives as variants; the
// expectation of every variant is tested.
package library

import (
	"embed"

	"github.com/relplan/relplan/internal/specset"
	"github.com/relplan/relplan/specs"
)

//go:embed *.yaml
var files embed.FS

var set = specset.Set{Files: files, Name: "library", What: "pattern", List: "relplan patterns"}

// Names lists the patterns by name.
func Names() []string { return set.Names() }

// Source is the spec of a pattern. The error names the pattern that was meant.
func Source(name string) ([]byte, error) { return set.Source(name) }

// File is the name under which a pattern's spec is reported.
func File(name string) string { return set.File(name) }

// Load reads a pattern; a pattern that does not load is a defect, and the error
// says where.
func Load(name string) (*specs.Spec, error) { return set.Load(name) }
