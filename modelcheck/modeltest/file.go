package modeltest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relplan/relplan/modelcheck"
	"github.com/relplan/relplan/specs"
	"github.com/relplan/relplan/specs/lower"
)

// File loads a variant of a protocol spec ("" for the only or first one). Its
// promises are named as in the file: by their key, or p1, p2 in a list. The test
// stops at errors in the file.
func File(t testing.TB, path, variant string) *Spec {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	loaded, diags := specs.Load(path, src)
	if loaded == nil {
		t.Fatalf("%s: %v", path, diags)
	}
	tree := loaded.Variants()[0]
	if variant != "" {
		if tree = loaded.Variant(variant); tree == nil {
			t.Fatalf("%s: no variant %q", path, variant)
		}
	}
	out, err := lower.Check(context.Background(), tree, modelcheck.Options{NoHistories: true})
	if err != nil {
		t.Fatal(err)
	}
	s := &Spec{Name: strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), loaded: loaded, variant: tree.Variant}
	if tree.Variant != "" {
		s.Name += "-" + tree.Variant
	}
	s.Model, s.Properties = out.Model, out.Model.Properties()
	for i := range s.Properties {
		s.Properties[i].Name = ""
	}
	for k, props := range out.Promises {
		for i := range s.Properties {
			for _, id := range props {
				if out.Program.Props[id] == out.Model.Origin(i).Property {
					s.Properties[i].Name = tree.Promises[k].Name
				}
			}
		}
	}
	return s
}

// holdsFile judges a spec from a file the way `relplan check` does.
func holdsFile(t testing.TB, s *Spec) {
	t.Helper()
	v, err := s.loaded.Check(context.Background(), specs.CheckOptions{Variants: []string{s.variant}, Workers: s.Options.Workers,
		MemoryLimit: s.Options.MemoryLimit, TimeLimit: s.Options.TimeLimit, NoReduction: s.Options.NoReduction, AllowVacuous: s.AllowVacuous})
	if err != nil {
		t.Fatalf("%s: %v", s.Name, err)
	}
	r := v.Variants[0]
	for _, p := range r.Promises {
		if p.Verdict == "holds" {
			continue
		}
		var b strings.Builder
		for _, st := range p.History {
			fmt.Fprintf(&b, "\n%d %s: %s", st.N, st.Actor, st.Text)
		}
		reason := ""
		if p.Reason != nil {
			reason = ": " + *p.Reason
		}
		t.Errorf("%s: %s (%s) is %s%s%s", s.Name, p.Name, p.Text, p.Verdict, reason, b.String())
	}
	for _, p := range r.Possible {
		if !p.Seen {
			t.Errorf("%s: not possible: %s", s.Name, p.Text)
		}
	}
	if r.Verdict != "holds" {
		t.Errorf("%s: %s; never taken %q, limits %q", s.Name, r.Verdict, r.NeverTaken, r.Limits)
	}
}
