package replay

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/internal/engines/enginetest"
	"github.com/relplan/relplan/specs"
	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

// rig is a resource of a spec on a real engine, with one process whose steps
// are carried out one by one, by their labels.
type rig struct {
	t    *testing.T
	ctx  context.Context
	spec *ast.Spec
	r    *ast.Resource
	res  resource
	b    binding
}

func newRig(t *testing.T, kind engines.Kind, resourceName, text string) *rig {
	t.Helper()
	b := binding{Resource: resourceName, Kind: kind, Prefix: "relplan_test_"}
	if kind != kindStub && kind != kindMemory {
		b.DSN = enginetest.Need(t, kind).DSN
	}
	g := &rig{t: t, spec: loadSpec(t, text), b: b}
	var cancel func()
	g.ctx, cancel = context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	g.r = g.resource(resourceName)
	g.reopen()
	t.Cleanup(func() {
		if err := g.res.close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := g.res.reset(g.ctx); err != nil {
		t.Fatal(err)
	}
	return g
}

// reopen opens the resource, at first and after a test has closed it.
func (g *rig) reopen() {
	g.t.Helper()
	var err error
	if g.res, err = openStore(g.ctx, g.spec, g.r, g.b); err != nil {
		g.t.Fatal(err)
	}
}

func loadSpec(t *testing.T, text string) *ast.Spec {
	t.Helper()
	s, ds := specs.Load("rig.yaml", []byte(text))
	if s == nil {
		t.Fatal(ds)
	}
	return s.Variants()[0]
}

func (g *rig) resource(name string) *ast.Resource {
	for _, r := range g.spec.Resources {
		if r.Name == name {
			return r
		}
	}
	g.t.Fatalf("no resource %s", name)
	return nil
}

func (g *rig) step(label string) *ast.Step {
	g.t.Helper()
	for _, p := range g.spec.Processes {
		for _, s := range p.All {
			if s.Label == label {
				return s
			}
		}
	}
	g.t.Fatalf("no step %s", label)
	return nil
}

// worker is a session with its names.
type rigWorker struct {
	g     *rig
	x     session
	names *scope
	p     *ast.Process
	n     int
}

func (g *rig) worker(process string, instance int) *rigWorker {
	g.t.Helper()
	x, err := g.res.connect(g.ctx)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(x.cut)
	for _, p := range g.spec.Processes {
		if p.Name == process {
			names := newScope(&world{})
			names.me = instanceName(p, instance)
			return &rigWorker{g, x, names, p, instance}
		}
	}
	g.t.Fatalf("no process %s", process)
	return nil
}

// crash cuts the connection, and tells the resource if it wants to know.
func (w *rigWorker) crash() {
	w.g.t.Helper()
	w.x.cut()
	if res, ok := w.g.res.(rejoined); ok {
		if err := res.crashed(w.g.ctx, w.p, w.n); err != nil {
			w.g.t.Fatal(err)
		}
	}
}

// operation binds the operation that the trigger is about.
func (w *rigWorker) operation(i int) {
	w.names.vars[w.p.Trigger.As] = opName(w.p.Trigger.Operation, i)
}

func (w *rigWorker) do(label string, f fault) ending {
	w.g.t.Helper()
	e := w.x.do(w.g.ctx, &call{step: w.g.step(label), names: w.names, fault: f})
	for v, x := range e.binds {
		w.names.vars[v] = x
	}
	if s := w.g.step(label); s.As != nil && e.done {
		w.names.vars[s.As] = e.value
	}
	return e
}

// done carries out a step that must succeed, and gives what it read.
func (w *rigWorker) done(label string) Value {
	w.g.t.Helper()
	e := w.do(label, noFault)
	if !e.done {
		w.g.t.Fatalf("%s: %s %v", label, e.branch, e.err)
	}
	return e.value
}

// ends checks how a step ends.
func (w *rigWorker) ends(label string, f fault, want ast.Outcome) {
	w.g.t.Helper()
	if e := w.do(label, f); e.done || e.branch != want {
		w.g.t.Errorf("%s: done %v, branch %s, error %v; want %s", label, e.done, e.branch, e.err, want)
	}
}

// take starts a run with the message, row or entry of the process's trigger.
func (w *rigWorker) take(of lower.Record) Value {
	w.g.t.Helper()
	v, err := w.x.take(w.g.ctx, w.p.Trigger, w.names, &lower.Event{Start: true, Process: w.p, Of: lower.Subject{Fields: of, Partition: -1, Number: -1, Instance: -1}})
	if err != nil {
		w.g.t.Fatal(err)
	}
	w.names.vars[w.p.Trigger.As] = v
	return v
}

// awaited takes until something is there.
func (w *rigWorker) awaited(of lower.Record) Value {
	w.g.t.Helper()
	var v Value
	err := eventually(w.g.ctx, 3*time.Second, func() (bool, error) {
		v = w.take(of)
		return v != nil, nil
	})
	if err != nil {
		w.g.t.Fatalf("nothing to take like %v: %v", of, err)
	}
	return v
}

func (g *rig) happens(what lower.What, of lower.Subject) {
	g.t.Helper()
	of.Resource = g.r
	if err := g.res.happen(g.ctx, &lower.Event{What: what, Of: of, Instance: -1}); err != nil {
		g.t.Fatalf("%s: %v", what, err)
	}
}

func (g *rig) unsupported(what lower.What) {
	g.t.Helper()
	if err := g.res.happen(g.ctx, &lower.Event{What: what, Of: lower.Subject{Resource: g.r}, Instance: -1}); !errors.Is(err, errUnsupported) {
		g.t.Errorf("%s: %v, want not supported", what, err)
	}
}

func (g *rig) counts(effect string, want map[string]int) {
	g.t.Helper()
	for _, e := range g.spec.Effects {
		if e.Name != effect {
			continue
		}
		got, err := g.res.effects(g.ctx, e)
		if err != nil {
			g.t.Fatal(err)
		}
		for op := range got {
			if want[op] == 0 && got[op] != 0 {
				g.t.Errorf("%s of %s: %d, want none", effect, op, got[op])
			}
		}
		for op, n := range want {
			if got[op] != n {
				g.t.Errorf("%s of %s: %d, want %d", effect, op, got[op], n)
			}
		}
		return
	}
	g.t.Fatalf("no effect %s", effect)
}
