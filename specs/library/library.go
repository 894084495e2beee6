// Package library holds the verified patterns and anti-patterns of the protocol
// language. Each file is one pattern with its broken relatives as variants; the
// expectation of every variant is tested.
package library

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/specs"
)

//go:embed *.yaml
var files embed.FS

// Names lists the patterns by name.
func Names() []string {
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		panic(err) // the files are part of the program
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	slices.Sort(names)
	return names
}

// Source is the spec of a pattern. The error names the pattern that was meant.
func Source(name string) ([]byte, error) {
	src, err := files.ReadFile(name + ".yaml")
	if err == nil {
		return src, nil
	}
	hint := "see `relplan patterns`"
	if near, ok := diag.Closest(name, Names()); ok {
		hint = "did you mean " + near + "?"
	}
	return nil, fmt.Errorf("no pattern %q in the library, %s", name, hint)
}

// File is the name under which a pattern's spec is reported.
func File(name string) string { return "library/" + name + ".yaml" }

// Load reads a pattern; a pattern that does not load is a defect, and the error
// says where.
func Load(name string) (*specs.Spec, error) {
	src, err := Source(name)
	if err != nil {
		return nil, err
	}
	s, ds := specs.Load(File(name), src)
	if s == nil {
		return nil, &diag.Err{Diagnostics: ds}
	}
	return s, nil
}
