package modeltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/relplan/relplan/modelcheck"
)

// store keeps failing histories as files. Steps are kept by actor and text, so
// that a history survives changes elsewhere in the model.
type store struct {
	spec *Spec
	dir  string
}

// savedHistory is the content of a file.
type savedHistory struct {
	Schema  string      `json:"schema"`
	Spec    string      `json:"spec"`
	Promise string      `json:"promise"`
	Start   int         `json:"start"` // which initial state
	Steps   []savedStep `json:"steps"`
}

type savedStep struct {
	Actor string `json:"actor,omitempty"`
	Text  string `json:"text"`
	Nth   int    `json:"nth,omitempty"` // which of the successors with this actor and text
}

const schema = "relplan.dev/test-history/v1"

func newStore(s *Spec) *store {
	st := &store{spec: s, dir: s.Dir}
	if st.dir == "" {
		st.dir = filepath.Join("testdata", "relplan")
	}
	return st
}

var unsafeName = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

func (st *store) prefix() string { return unsafeName.ReplaceAllString(st.spec.Name, "-") }

// save writes a history and gives its path. Equal histories get equal names.
func (st *store) save(f *failure) (string, error) {
	h := savedHistory{Schema: schema, Spec: st.spec.Name, Promise: st.spec.Properties[f.prop].Name, Start: f.start}
	prev := f.history.Initial
	x := modelcheck.NewSink(len(prev))
	for _, s := range f.history.Steps {
		h.Steps = append(h.Steps, savedStep{Actor: s.Action.Actor, Text: s.Action.Text, Nth: nth(st.spec.Model, x, prev, s)})
		prev = s.State
	}
	b, err := json.MarshalIndent(h, "", "  ")
	if err != nil {
		return "", err
	}
	sum := fnv.New64a()
	_, _ = sum.Write(b)
	if err := os.MkdirAll(st.dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(st.dir, fmt.Sprintf("%s-%016x.json", st.prefix(), sum.Sum64()))
	return path, os.WriteFile(path, append(b, '\n'), 0o644)
}

// nth counts the successors with the actor and text of a step before the one
// that it took.
func nth(m modelcheck.Model, x *modelcheck.Sink, from []uint64, s modelcheck.HistoryStep) int {
	x.Reset()
	m.Expand(from, x)
	n := 0
	for i := range x.Len() {
		st, a := x.At(i)
		d := m.Describe(a)
		if d.Actor != s.Action.Actor || d.Text != s.Action.Text {
			continue
		}
		if a == s.ID && slices.Equal(st, s.State) {
			return n
		}
		n++
	}
	return 0
}

// replay runs the saved histories of the spec and tells what the first one that
// still breaks its promise shows; "" when none does. A history that the model no
// longer has is passed over.
func (st *store) replay(w *modelcheck.Walker) string {
	files, err := os.ReadDir(st.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if err != nil {
		return err.Error()
	}
	for _, f := range files {
		if !strings.HasPrefix(f.Name(), st.prefix()+"-") || !strings.HasSuffix(f.Name(), ".json") {
			continue
		}
		path := filepath.Join(st.dir, f.Name())
		b, err := os.ReadFile(path)
		if err != nil {
			return err.Error()
		}
		var h savedHistory
		if err := json.Unmarshal(b, &h); err != nil || h.Schema != schema {
			return fmt.Sprintf("%s: not a saved history (schema %q, want %q): %v", path, h.Schema, schema, err)
		}
		if h.Spec != st.spec.Name {
			continue
		}
		if msg := st.run(w, &h); msg != "" {
			return fmt.Sprintf("saved history %s: %s", path, msg)
		}
	}
	return ""
}

func (st *store) run(w *modelcheck.Walker, h *savedHistory) string {
	m := st.spec.Model
	var state []uint64
	k := 0
	m.Initial(func(s []uint64) {
		if k == h.Start {
			state = slices.Clone(s)
		}
		k++
	})
	if state == nil {
		return ""
	}
	var steps []modelcheck.WalkStep
	x := modelcheck.NewSink(len(state))
	for _, s := range h.Steps {
		x.Reset()
		m.Expand(state, x)
		step, ok := s.find(m, x)
		if !ok {
			return ""
		}
		steps = append(steps, step.WalkStep)
		copy(state, step.to)
	}
	run, decides := w.Replay(h.Start, steps)
	if run == nil {
		return ""
	}
	for i, p := range st.spec.Properties {
		if p.Name == h.Promise && decides[i] && p.Kind != modelcheck.Reach {
			return (&failure{prop: i, history: run}).text(st.spec)
		}
	}
	return ""
}

// foundStep is a saved step as the model has it now.
type foundStep struct {
	modelcheck.WalkStep
	to []uint64
}

// find looks for a saved step among the successors in x.
func (s savedStep) find(m modelcheck.Model, x *modelcheck.Sink) (foundStep, bool) {
	same := map[modelcheck.ActionID]int{}
	n := 0
	for i := range x.Len() {
		st, a := x.At(i)
		if d := m.Describe(a); d.Actor == s.Actor && d.Text == s.Text {
			if n == s.Nth {
				return foundStep{modelcheck.WalkStep{Action: a, Nth: same[a]}, st}, true
			}
			n++
		}
		same[a]++
	}
	return foundStep{}, false
}
