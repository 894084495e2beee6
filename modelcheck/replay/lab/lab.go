// Package lab holds the two reference labs: protocol specs, schedules of their
// steps, and observations by queries on real engines.
//
// A schedule is found in the model of its spec, acted out step by step by the
// replay (real statements, real rollbacks, really lost answers), and compared
// with the model on the way; what is reported was read from the engines.
package lab

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/modelcheck/replay"
	"github.com/relplan/relplan/specs"
	"github.com/relplan/relplan/specs/ast"
)

//go:embed specs/*.yaml
var files embed.FS

// Names lists the specs of the labs.
func Names() []string {
	entries, err := files.ReadDir("specs")
	if err != nil {
		panic(err) // the files are part of the program
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return names
}

// Load reads a spec of the labs; one that does not load is a defect.
func Load(name string) (*specs.Spec, error) {
	src, err := files.ReadFile("specs/" + name + ".yaml")
	if err != nil {
		return nil, err
	}
	s, ds := specs.Load("lab/"+name+".yaml", src)
	if s == nil {
		return nil, &diag.Err{Diagnostics: ds}
	}
	return s, nil
}

// variant is one variant of a spec of the labs, "" for a spec without.
func variant(spec, name string) (*ast.Spec, error) {
	s, err := Load(spec)
	if err != nil {
		return nil, err
	}
	for _, v := range s.Variants() {
		if v.Variant == name {
			return v, nil
		}
	}
	return nil, fmt.Errorf("internal: lab spec %s has no variant %q", spec, name)
}

// schedule is a script of the moves of a spec; a line "? NAME" between two moves
// is a place where the lab looks.
type schedule struct {
	name  string
	moves string
}

// parts separates the moves from the places to look at: the number of the move
// behind which each stands.
func (s schedule) parts() (moves string, looks map[int]string) {
	looks = map[int]string{}
	var lines []string
	for _, l := range strings.Split(strings.TrimSpace(s.moves), "\n") {
		if name, ok := strings.CutPrefix(strings.TrimSpace(l), "? "); ok {
			looks[len(lines)] = name
		} else {
			lines = append(lines, l)
		}
	}
	return strings.Join(lines, "\n"), looks
}

// act acts a schedule out and calls look at its places.
func act(ctx context.Context, b *replay.Bench, s schedule, look func(ctx context.Context, name string) error) (*replay.Run, error) {
	moves, places := s.parts()
	found, err := b.Schedule(s.name, moves)
	if err != nil {
		return nil, err
	}
	return b.Act(ctx, found, func(ctx context.Context, n int) error {
		if name, ok := places[n]; ok && look != nil {
			return look(ctx, name)
		}
		return nil
	})
}

// number asks for one integer.
func number(ctx context.Context, db *engines.DB, query string) (int, error) {
	var n int
	if err := db.QueryRowContext(ctx, query).Scan(&n); err != nil {
		return 0, fmt.Errorf("%s: %w", query, err)
	}
	return n, nil
}

// ask opens a direct connection to a store, asks for one integer and closes it.
func ask(ctx context.Context, b *replay.Bench, store, query string) (int, error) {
	db, err := b.Direct(store)
	if err != nil {
		return 0, err
	}
	n, err := number(ctx, db, query)
	return n, errors.Join(err, db.Close())
}

// Statuses of attempts that ended without saying one.
const (
	crashed = "CRASHED"
	silent  = "NO_ANSWER"
)

// status is what an attempt has answered: the body of its reply, its field
// status, or the name status that a consumer without a caller has bound.
func status(a *replay.Attempt) string {
	if a.Crashed {
		return crashed
	}
	for _, v := range []replay.Value{a.Body, replay.Field(a.Body, "status"), a.Names["status"]} {
		if text, ok := v.(string); ok {
			return text
		}
	}
	return silent
}

// statuses are those of the attempts of one process.
func statuses(run *replay.Run, process string) []string {
	out := []string{}
	for _, a := range of(run, process) {
		out = append(out, status(a))
	}
	return out
}

// of are the attempts of one process; its workers are called PROCESS-N.
func of(run *replay.Run, process string) []*replay.Attempt {
	var out []*replay.Attempt
	for _, a := range run.Attempts {
		if strings.HasPrefix(a.Worker, process+"-") {
			out = append(out, a)
		}
	}
	return out
}

// findings are values that were observed, and what of them is not as it must be.
type findings struct {
	values map[string]any
	wrong  []string
}

// is notes a value that must be as wanted.
func (f *findings) is(name string, got, want any) {
	if f.values == nil {
		f.values = map[string]any{}
	}
	f.values[name] = got
	if !reflect.DeepEqual(got, want) {
		f.wrong = append(f.wrong, fmt.Sprintf("%s is %v, it must be %v", name, got, want))
	}
}

// confirmed notes that the engines have followed the model.
func (f *findings) confirmed(run *replay.Run) {
	if run.Answer != replay.Confirmed {
		f.wrong = append(f.wrong, fmt.Sprintf("%s: %s: %s (step %d)", run.History, run.Answer, run.Reason, run.Step))
	}
}

// boundaryOf is that of a run. Of what ran, the engine counts, not the store that
// it played.
func boundaryOf(run *replay.Run) replay.Boundary {
	b := run.Boundary
	b.Ran = nil
	for _, s := range run.Boundary.Ran {
		_, engine, _ := strings.Cut(s, ": ")
		b.Ran = append(b.Ran, engine)
	}
	return b
}

// join adds what is not there yet.
func join(to *replay.Boundary, from replay.Boundary) {
	for _, p := range []struct {
		to   *[]string
		from []string
	}{{&to.Ran, from.Ran}, {&to.Injected, from.Injected}, {&to.Modelled, from.Modelled}, {&to.NotRun, from.NotRun}} {
		for _, s := range p.from {
			if !slices.Contains(*p.to, s) {
				*p.to = append(*p.to, s)
			}
		}
	}
}

// emptyBoundary has lists, so that a document has no null.
func emptyBoundary() replay.Boundary {
	return replay.Boundary{Ran: []string{}, Injected: []string{}, Modelled: []string{}, NotRun: []string{}}
}
