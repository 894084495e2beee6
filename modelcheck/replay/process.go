package replay

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"

	"github.com/relplan/relplan/specs"
	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

// Processes lets every worker be an operating system process: a crash is then
// SIGKILL. The command must call WorkerMain.
type Processes struct {
	Command func() *exec.Cmd
	File    string // of the spec
	Source  []byte
}

// processWorker is a worker in a process of its own.
type processWorker struct {
	process  *ast.Process
	instance int
	spec     *ast.Spec
	how      *Processes
	bindings []binding

	cmd  *exec.Cmd // nil until the first order
	in   io.WriteCloser
	out  *json.Decoder
	last report
}

// String names the worker as engines store it.
func (w *processWorker) String() string { return instanceName(w.process, w.instance) }

func (w *processWorker) standing() (place, bool) {
	return w.last.At.in(w.process), w.cmd == nil || w.last.Idle
}

func (w *processWorker) connection(r *ast.Resource) int64 { return w.last.Connections[r.Name] }

func (w *processWorker) age(d *ast.Duration) { _, _ = w.ask(order{Verb: "age", Age: d.Name}) }

// release does nothing: a process does not outlive its schedule.
func (w *processWorker) release(context.Context) {}

func (w *processWorker) sever() { w.kill() }

// crash kills the process.
func (w *processWorker) crash() map[*ast.Resource]int64 {
	had := map[*ast.Resource]int64{}
	for _, r := range w.spec.Resources {
		if id := w.last.Connections[r.Name]; id != 0 {
			had[r] = id
		}
	}
	w.kill()
	if w.cmd != nil {
		_ = w.cmd.Wait() // killed
	}
	w.cmd, w.last = nil, report{}
	return had
}

func (w *processWorker) kill() {
	if w.cmd != nil && w.cmd.Process != nil {
		_ = w.cmd.Process.Kill()
	}
}

func (w *processWorker) leaveUnderWay(context.Context) error {
	a, err := w.ask(order{Verb: "leave"})
	if err == nil && a.Broken != "" {
		err = unwireError(a.Kind, a.Broken)
	}
	return err
}

func (w *processWorker) start(ctx context.Context, e *lower.Event) (*outcome, error) {
	if err := w.spawn(); err != nil {
		return nil, err
	}
	return w.told(order{Verb: "start", Event: toWire(e)}, e)
}

func (w *processWorker) step(ctx context.Context, e *lower.Event, f fault) (*outcome, error) {
	return w.told(order{Verb: "step", Event: toWire(e), Fault: f}, e)
}

// told gives an order and reads the outcome.
func (w *processWorker) told(o order, e *lower.Event) (*outcome, error) {
	a, err := w.ask(o)
	if err != nil {
		return nil, err
	}
	failure := unwireError(a.Kind, a.Text)
	if a.Broken != "" {
		return nil, unwireError(a.Kind, a.Broken)
	}
	out := &outcome{ending: ending{done: a.Done, branch: a.Branch, failure: a.Failure, err: failure}, at: a.At.in(w.process)}
	if a.Left {
		out.left = e.Step
	}
	var errs []error
	out.value, err = decode(a.Value)
	errs = append(errs, err)
	out.taken, err = decode(a.Taken)
	return out, errors.Join(append(errs, err)...)
}

func (w *processWorker) ask(o order) (*report, error) {
	if err := json.NewEncoder(w.in).Encode(o); err != nil {
		return nil, fmt.Errorf("the process of %s does not listen: %w", w, err)
	}
	var a report
	if err := w.out.Decode(&a); err != nil {
		return nil, fmt.Errorf("the process of %s does not answer: %w", w, err)
	}
	w.last = a
	return &a, nil
}

// spawn starts the process.
func (w *processWorker) spawn() error {
	if w.cmd != nil {
		return nil
	}
	cmd := w.how.Command()
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("cannot start a process for %s: %w", w, err)
	}
	w.cmd, w.in, w.out = cmd, in, json.NewDecoder(bufio.NewReader(out))
	return json.NewEncoder(in).Encode(hello{File: w.how.File, Source: w.how.Source, Variant: w.spec.Variant, Process: w.process.Name, Instance: w.instance, Bindings: w.bindings})
}

// WorkerMain is the main function of a worker's process: it reads orders until
// its input ends.
func WorkerMain(ctx context.Context, in io.Reader, out io.Writer) error {
	orders := json.NewDecoder(in)
	var h hello
	if err := orders.Decode(&h); err != nil {
		return err
	}
	w, spec, err := employ(ctx, h)
	if err != nil {
		return err
	}
	answers := json.NewEncoder(out)
	for {
		var o order
		if err := orders.Decode(&o); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if err := answers.Encode(w.obey(ctx, o, spec)); err != nil {
			return err
		}
	}
}

// employ makes the worker that the runner wants, with its own copy of the spec.
func employ(ctx context.Context, h hello) (*worker, *ast.Spec, error) {
	s, ds := specs.Load(h.File, h.Source)
	if s == nil {
		return nil, nil, fmt.Errorf("the spec does not load in a worker's process: %v", ds)
	}
	spec := s.Variant(h.Variant)
	if spec == nil {
		return nil, nil, fmt.Errorf("no variant %q in a worker's process", h.Variant)
	}
	c := &company{resources: map[*ast.Resource]resource{}, spare: map[*ast.Resource][]session{}}
	for _, b := range h.Bindings {
		for _, r := range spec.Resources {
			if r.Name != b.Resource {
				continue
			}
			res, err := open(ctx, spec, r, b)
			if err != nil {
				return nil, nil, err
			}
			c.resources[r] = res
		}
	}
	for _, p := range spec.Processes {
		if p.Name == h.Process {
			return newWorker(p, h.Instance, c), spec, nil
		}
	}
	return nil, nil, fmt.Errorf("no process %q in a worker's process", h.Process)
}

// obey carries out an order.
func (w *worker) obey(ctx context.Context, o order, spec *ast.Spec) report {
	a := report{Value: encode(nil), Taken: encode(nil), Connections: map[string]int64{}}
	out, err := w.carryOut(ctx, o, spec)
	switch {
	case err != nil:
		a.Kind, a.Broken = wireError(err)
	case out != nil:
		a.Done, a.Branch, a.Failure, a.Left = out.done, out.branch, out.failure, out.left != nil
		a.Kind, a.Text = wireError(out.err)
		a.Value, a.Taken = encode(plainTaken(out.value)), encode(plainTaken(out.taken))
	}
	at, idle := w.standing()
	a.At, a.Idle = at.wire(), idle
	for r := range w.sessions {
		if id := w.connection(r); id != 0 {
			a.Connections[r.Name] = id
		}
	}
	return a
}

func (w *worker) carryOut(ctx context.Context, o order, spec *ast.Spec) (*outcome, error) {
	if o.Verb == "age" || o.Verb == "leave" {
		o.Event.Step, o.Event.Next.Step = -1, -1
		o.Event.Read, o.Event.Fields = encode(nil), encode(nil)
	}
	e, err := fromWire(o.Event, w.process, spec)
	if err != nil {
		return nil, err
	}
	switch o.Verb {
	case "start":
		return w.start(ctx, e)
	case "step":
		return w.step(ctx, e, o.Fault)
	case "leave":
		return nil, w.leaveUnderWay(ctx)
	case "age":
		for _, d := range spec.Durations {
			if d.Name == o.Age {
				w.age(d)
			}
		}
		return nil, nil
	}
	return nil, fmt.Errorf("a worker knows no order %q", o.Verb)
}
