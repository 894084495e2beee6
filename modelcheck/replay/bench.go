package replay

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/modelcheck"
	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

// Bench is a spec set up on engines, for schedules that are written by hand and
// for observations by queries. One Bench at a time uses a spec.
type Bench struct {
	st      *stage
	model   *lower.Outcome
	restore func()
}

// OpenBench sets a spec up; nil choose means DefaultKind. The error is an
// *engines.Unavailable where an engine is missing.
func OpenBench(ctx context.Context, spec *ast.Spec, choose func(*ast.Resource) Choice, servers Servers) (*Bench, error) {
	if choose == nil {
		choose = func(r *ast.Resource) Choice { return Choice{Kind: DefaultKind(r)} }
	}
	b := &Bench{restore: profile(spec, choose)}
	var err error
	if b.st, err = setUp(ctx, spec, choose, servers); err == nil {
		b.model, err = lower.Check(ctx, spec, modelcheck.Options{NoHistories: true})
	}
	if err == nil {
		err = b.Reset(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// Close drops everything that was made.
func (b *Bench) Close() error {
	b.restore()
	return b.st.close()
}

// Engine names what plays a resource, with its version: "postgres 15.18".
func (b *Bench) Engine(resource string) string {
	if r := b.resource(resource); r != nil {
		return r.engine()
	}
	return ""
}

func (b *Bench) resource(name string) resource {
	for r, res := range b.st.resources {
		if r.Name == name {
			return res
		}
	}
	return nil
}

// Schedule reads a schedule and finds its history in the model; see
// lower.ParseMoves. Where the model goes another way, the error says at which
// move.
func (b *Bench) Schedule(name, moves string) (*Schedule, error) {
	parsed, err := lower.ParseMoves(moves)
	if err != nil {
		return nil, fmt.Errorf("schedule %s: %w", name, err)
	}
	h, err := b.model.Follow(parsed)
	if err != nil {
		return nil, fmt.Errorf("schedule %s of %s: %w", name, describe(b.st.spec), err)
	}
	return &Schedule{Name: name, History: h, End: b.model.End(h)}, nil
}

// Act resets the stores and acts a schedule out. After every step, after is
// called with its number; nil: nobody looks.
func (b *Bench) Act(ctx context.Context, s *Schedule, after func(ctx context.Context, n int) error) (*Run, error) {
	r := &runner{spec: b.st.spec, company: &b.st.company, after: after}
	v, err := r.play(ctx, s.History, s.End)
	if err != nil {
		return nil, fmt.Errorf("%s, %s: %w", describe(b.st.spec), s.Name, err)
	}
	return &Run{Spec: b.st.spec, History: s.Name, Engines: b.st.engines(), Verdict: v, Boundary: b.st.boundary(*s, v), Told: s.History}, nil
}

// Reset empties the stores and puts in what the spec says exists at first.
func (b *Bench) Reset(ctx context.Context) error {
	for _, res := range b.st.resources {
		if err := res.reset(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Rush lets n workers treat the request of one operation (from 0) at once, each
// on connections of its own and without any schedule. It gives their attempts.
func (b *Bench) Rush(ctx context.Context, process string, operation, n int) ([]*Attempt, error) {
	p := b.process(process)
	if p == nil || p.Trigger.Operation == nil {
		return nil, fmt.Errorf("internal: no process %s that is asked for an operation", process)
	}
	workers := make([]*worker, n)
	defer func() {
		for _, w := range workers {
			if w != nil {
				w.crash()
			}
		}
	}()
	for i := range workers {
		workers[i] = newWorker(p, i, &b.st.company)
		for r := range b.st.resources { // all are connected before the first one starts
			if _, err := workers[i].session(ctx, r); err != nil {
				return nil, err
			}
		}
	}
	of := lower.OperationID{Of: p.Trigger.Operation, Index: operation}
	errs := make([]error, n)
	begin := make(chan struct{})
	var all sync.WaitGroup
	for i, w := range workers {
		all.Go(func() {
			<-begin
			errs[i] = w.runFreely(ctx, of)
		})
	}
	close(begin)
	all.Wait()
	attempts := make([]*Attempt, n)
	for i, w := range workers {
		attempts[i] = w.attempt
	}
	return attempts, errors.Join(errs...)
}

func (b *Bench) process(name string) *ast.Process {
	for _, p := range b.st.spec.Processes {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// runFreely treats the request of an operation from beginning to end as a
// program does, with nobody to hand it the turn.
func (w *worker) runFreely(ctx context.Context, of lower.OperationID) error {
	if _, err := w.start(ctx, &lower.Event{Process: w.process, Instance: w.instance, Start: true, Of: lower.Subject{Operation: &of}}); err != nil {
		return err
	}
	for patient := time.Now().Add(lockPatience); w.control != nil; {
		out, err := w.step(ctx, &lower.Event{Process: w.process, Instance: w.instance, Step: w.at.step, Commit: w.at.commit}, noFault)
		switch {
		case err != nil:
			return err
		case errors.Is(out.err, errUnsupported):
			return out.err
		case errors.Is(out.err, errBusy) && time.Now().After(patient):
			return fmt.Errorf("%s: %s is busy for %s", w, w.at, lockPatience)
		case errors.Is(out.err, errBusy): // it can be sent again
			if err := sleep(ctx, pollEvery); err != nil {
				return err
			}
		}
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// Disconnect closes every connection to the databases of the spec; what is seen
// afterwards is what is durable. No schedule can be acted out any more.
func (b *Bench) Disconnect(ctx context.Context) error {
	var errs []error
	for r, list := range b.st.spare {
		for _, s := range list {
			s.cut()
		}
		delete(b.st.spare, r)
	}
	for r, res := range b.st.resources {
		if r.Kind == ast.SQLKind {
			errs = append(errs, res.close(ctx))
		}
	}
	return errors.Join(errs...)
}

// Direct opens a connection of its own to a database of the spec, or to the
// ledger of a provider: past every proxy and worker. The caller closes it.
func (b *Bench) Direct(resource string) (*engines.DB, error) {
	switch res := b.resource(resource).(type) {
	case *sqlResource:
		return engines.OpenSQL(res.dsn)
	case *stubResource:
		return engines.OpenSQL(res.ledger.own.DSN)
	}
	return nil, fmt.Errorf("internal: %s has no tables", resource)
}

// Entries reads what a kv store holds, by its keys as text.
func (b *Bench) Entries(ctx context.Context, resource string) (map[string]Value, error) {
	res, ok := b.resource(resource).(*redisResource)
	if !ok {
		return nil, fmt.Errorf("internal: %s is no store of keys on redis", resource)
	}
	list, err := res.entries(ctx, res.admin)
	if err != nil {
		return nil, err
	}
	out := map[string]Value{}
	for _, e := range list {
		out[printed(e.key)] = e.value
	}
	return out, nil
}

// Field reads a field of a record value, nil without.
func Field(v Value, name string) Value { return field(v, name) }

// Remaining counts what runs of this process have left on a server: databases,
// or keys.
func Remaining(ctx context.Context, kind engines.Kind, dsn string) (int, error) {
	if kind != engines.Redis {
		names, err := engines.Remaining(ctx, dsn)
		return len(names), err
	}
	c, err := engines.OpenRedis(dsn)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	keys, err := keysWith(ctx, c, engines.ProcessPrefix())
	return len(keys), err
}
