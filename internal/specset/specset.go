// Package specset gives access to specs that are part of the program: a folder
// of embedded files, one spec each.
package specset

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/specs"
)

// Set is a folder of specs.
type Set struct {
	Files fs.FS  // NAME.yaml at its top level
	Name  string // of the folder, as reported: "library"
	What  string // one spec of it, for messages: "pattern"
	List  string // the command that lists them
}

// Names lists the specs by name.
func (s Set) Names() []string {
	entries, err := fs.Glob(s.Files, "*.yaml")
	if err != nil {
		panic(err) // the pattern is well formed
	}
	for i, e := range entries {
		entries[i] = strings.TrimSuffix(e, ".yaml")
	}
	slices.Sort(entries)
	return entries
}

// Source is the text of a spec. The error names the spec that was meant.
func (s Set) Source(name string) ([]byte, error) {
	src, err := fs.ReadFile(s.Files, name+".yaml")
	if err == nil {
		return src, nil
	}
	hint := "see `" + s.List + "`"
	if near, ok := diag.Closest(name, s.Names()); ok {
		hint = "did you mean " + near + "?"
	}
	return nil, fmt.Errorf("no %s %q in the %s, %s", s.What, name, s.Name, hint)
}

// File is the name under which a spec is reported.
func (s Set) File(name string) string { return s.Name + "/" + name + ".yaml" }

// Load reads a spec; one that does not load is a defect, and the error says
// where.
func (s Set) Load(name string) (*specs.Spec, error) {
	src, err := s.Source(name)
	if err != nil {
		return nil, err
	}
	spec, ds := specs.Load(s.File(name), src)
	if spec == nil {
		return nil, &diag.Err{Diagnostics: ds}
	}
	return spec, nil
}
