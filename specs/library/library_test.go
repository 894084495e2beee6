package library_test

import (
	"context"
	"testing"
	"time"

	"github.com/relplan/relplan/specs"
	"github.com/relplan/relplan/specs/library"
)

// TestEveryPatternIsAsExpected checks each variant of each pattern by its
// expect, within the time a reader is willing to wait.
func TestEveryPatternIsAsExpected(t *testing.T) {
	for _, name := range library.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := library.Load(name)
			if err != nil {
				t.Fatal(err)
			}
			if s.About == "" {
				t.Error("no about: the list of patterns has nothing to say")
			}
			v, err := s.Check(context.Background(), specs.CheckOptions{TimeLimit: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range v.Variants {
				if x.States > 200_000 {
					t.Errorf("variant %q has %d states: too many to wait for, a few seconds are what a reader has", x.Name(), x.States)
				}
				if x.AsExpected == nil {
					t.Errorf("variant %q expects nothing", x.Name())
				} else if !*x.AsExpected {
					t.Errorf("variant %q is %s: %s, expected %s", x.Name(), x.Verdict, x.Summary(), *x.Expect)
				}
			}
		})
	}
}

// TestGroups: every pattern answers one question of a reader.
func TestGroups(t *testing.T) {
	seen := map[string]string{}
	for _, g := range library.Groups {
		for _, name := range g.Patterns {
			if seen[name] != "" {
				t.Errorf("%s stands under %q and %q", name, seen[name], g.Question)
			}
			seen[name] = g.Question
			if _, err := library.Source(name); err != nil {
				t.Errorf("%q: %v", g.Question, err)
			}
		}
	}
	for _, name := range library.Names() {
		if seen[name] == "" {
			t.Errorf("%s stands under no question", name)
		}
	}
}
