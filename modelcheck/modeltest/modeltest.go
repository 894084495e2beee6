// Package modeltest checks models and specs inside go test: exhaustively with
// Holds and Breaks, at random with Explore. A history that fails is saved under
// testdata/relplan and is the first thing to run next time.
package modeltest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/relplan/relplan/modelcheck"
	"github.com/relplan/relplan/specs"
	"pgregory.net/rapid"
)

// Spec is what is tested.
type Spec struct {
	Name       string // of the files with failing histories
	Model      modelcheck.Model
	Properties []modelcheck.Property
	// Options of Holds and Breaks; the zero value is exhaustive and exact.
	Options modelcheck.Options
	// MaxSteps of one random history; 0 = 200.
	MaxSteps int
	// AllowVacuous accepts steps that no history takes and goals that none reaches.
	AllowVacuous bool
	// Dir holds failing histories; "" = testdata/relplan.
	Dir string

	loaded  *specs.Spec // from File
	variant string
}

// Holds fails the test unless every property holds for every history, and every
// step of the model is taken by one. A spec from a file is judged as
// `relplan check` does, must_be_possible included.
func Holds(t testing.TB, s *Spec) {
	t.Helper()
	if s.loaded != nil {
		holdsFile(t, s)
		return
	}
	r := check(t, s)
	for _, p := range r.Properties {
		switch p.Verdict {
		case modelcheck.Holds:
		case modelcheck.Vacuous:
			if !s.AllowVacuous {
				t.Errorf("%s: %s is vacuous: it never had anything to say", s.Name, p.Name)
			}
		case modelcheck.Broken:
			t.Errorf("%s: %s is broken:\n%s", s.Name, p.Name, p.History)
		default:
			t.Errorf("%s: %s is unknown: %s", s.Name, p.Name, p.Reason)
		}
	}
	if len(r.Properties) == 0 && !r.Complete {
		t.Errorf("%s: not explored completely: %v", s.Name, r.Limits)
	}
	if !s.AllowVacuous {
		for _, i := range r.NeverTaken {
			t.Errorf("%s: step %q is never taken", s.Name, s.Model.Shape().Steps[i])
		}
	}
}

// Breaks fails the test unless the named property is broken, and gives the
// history that breaks it.
func Breaks(t testing.TB, s *Spec, promise string) *modelcheck.History {
	t.Helper()
	r := check(t, s)
	var names []string
	verdict := modelcheck.Unknown
	for _, p := range r.Properties {
		names = append(names, p.Name)
		if p.Name != promise {
			continue
		}
		if verdict = p.Verdict; verdict == modelcheck.Broken {
			return p.History
		}
	}
	if !slices.Contains(names, promise) {
		t.Fatalf("%s: no promise %q; there are %q", s.Name, promise, names)
	}
	t.Fatalf("%s: %s is %v, want broken", s.Name, promise, verdict)
	return nil
}

func check(t testing.TB, s *Spec) *modelcheck.Result {
	t.Helper()
	r, err := modelcheck.Check(context.Background(), s.Model, s.Properties, s.Options)
	if err != nil {
		t.Fatalf("%s: %v", s.Name, err)
	}
	return r
}

// Explore draws random histories with rapid (its flags apply: -rapid.checks,
// -rapid.seed) and fails the test with a shortened history when one breaks a
// property. Saved histories run first.
func Explore(t *testing.T, s *Spec) {
	t.Helper()
	w, err := modelcheck.NewWalker(s.Model, s.Properties)
	if err != nil {
		t.Fatalf("%s: %v", s.Name, err)
	}
	store := newStore(s)
	if msg := store.replay(w); msg != "" {
		t.Fatal(msg)
	}
	steps := s.MaxSteps
	if steps == 0 {
		steps = 200
	}
	var last *failure
	t.Cleanup(func() {
		if last == nil {
			return
		}
		path, err := store.save(last)
		if err != nil {
			t.Errorf("%s: cannot save the history: %v", s.Name, err)
			return
		}
		t.Logf("%s: history saved in %s; it runs first next time", s.Name, path)
	})
	rapid.Check(t, func(rt *rapid.T) {
		k := w.Walk(steps, func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "choice") })
		for i, d := range k.Decides {
			if d < 0 || s.Properties[i].Kind == modelcheck.Reach {
				continue
			}
			last = &failure{prop: i, start: k.Start, history: w.Shrink(i, k)}
			rt.Fatalf("%s", last.text(s))
		}
	})
}

// failure is a history that breaks a property.
type failure struct {
	prop    int
	start   int
	history *modelcheck.History
}

func (f *failure) text(s *Spec) string {
	return fmt.Sprintf("%s: %s is broken:\n%s", s.Name, s.Properties[f.prop].Name, f.history)
}
