package replay

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/specs/ast"
)

// Choice says which engine plays a resource.
type Choice struct {
	Kind engines.Kind
	// DSN of a server; "" where the engine is embedded, or is to be started
	// here.
	DSN string
	// InPlace uses the database that the DSN names instead of making one. It is
	// refused if anything is in it.
	InPlace bool
	// Replica of a kv on Redis, to which a failover moves it: an address, or
	// "redis" for one that is started here; "": none.
	Replica string
}

// Servers gives the address of a private server of the kind, started at the
// first call.
type Servers func(ctx context.Context, kind engines.Kind) (dsn string, err error)

// stage is everything a spec needs, set up on engines: a database, prefix or
// ledger of its own per resource.
type stage struct {
	prefix string // of everything made on servers, one for all resources
	spec   *ast.Spec
	company
	bindings  []binding
	processes *Processes
	undo      []func(context.Context) error
}

// DefaultKind is the engine of a resource that nobody has chosen one for.
func DefaultKind(r *ast.Resource) engines.Kind {
	switch r.Kind {
	case ast.SQLKind:
		return engines.SQLite
	case ast.KVKind:
		return engines.Redis
	case ast.QueueKind, ast.LogKind:
		return engines.NATS
	case ast.ProviderKind:
		return kindStub
	}
	return kindMemory
}

// setUp prepares every resource; the error is an *engines.Unavailable where an
// engine is missing. The stage must be closed also after an error.
func setUp(ctx context.Context, spec *ast.Spec, choose func(*ast.Resource) Choice, servers Servers) (*stage, error) {
	st := &stage{spec: spec, prefix: engines.NewName() + "_", company: company{resources: map[*ast.Resource]resource{}, spare: map[*ast.Resource][]session{}}}
	for _, r := range spec.Resources {
		if r.Kind == ast.ClockKind {
			continue
		}
		choice := choose(r)
		b, err := st.bind(ctx, r, choice, servers)
		if err != nil {
			return st, outOfReach(ctx, b.Kind, err)
		}
		res, err := open(ctx, spec, r, b)
		if err != nil {
			return st, outOfReach(ctx, b.Kind, fmt.Errorf("%s: %w", r.Name, err))
		}
		st.resources[r] = res
		st.undo = append(st.undo, res.close)
		if err := replicate(ctx, res, choice.Replica); err != nil {
			return st, outOfReach(ctx, b.Kind, fmt.Errorf("replica of %s: %w", r.Name, err))
		}
		if here, ok := res.(served); ok {
			b.DSN = here.address()
		}
		st.bindings = append(st.bindings, b)
	}
	return st, nil
}

// outOfReach: an engine that cannot be reached, or refuses, is one that is not
// there.
func outOfReach(ctx context.Context, kind engines.Kind, err error) error {
	var missing *engines.Unavailable
	var notEmpty *NotEmptyError
	if ctx.Err() != nil || errors.As(err, &missing) || errors.As(err, &notEmpty) || errors.Is(err, errUnsupported) {
		return err
	}
	return &engines.Unavailable{Kind: kind, Reason: strings.Join(strings.Fields(err.Error()), " ")}
}

// bind reaches the engine and makes the run's own database where it has them.
func (st *stage) bind(ctx context.Context, r *ast.Resource, c Choice, servers Servers) (binding, error) {
	b := binding{Resource: r.Name, Kind: c.Kind, DSN: c.DSN, Prefix: st.prefix}
	if c.Kind == kindMemory || c.Kind == kindStub {
		return b, nil
	}
	if b.DSN == "" {
		dsn, err := servers(ctx, c.Kind)
		if err != nil {
			return b, err
		}
		b.DSN = dsn
	}
	if r.Kind != ast.SQLKind {
		return b, nil
	}
	if c.InPlace {
		return b, st.inPlace(ctx, b.DSN)
	}
	own, err := engines.CreateOwn(ctx, b.DSN)
	if err != nil {
		return b, err
	}
	b.DSN = own.DSN
	st.undo = append(st.undo, own.Drop)
	return b, nil
}

// close removes everything that the stage has made, in the opposite order.
func (st *stage) close() error {
	ctx := context.Background() // also after Ctrl-C
	var errs []error
	for _, list := range st.spare {
		for _, s := range list {
			s.cut()
		}
	}
	for i := len(st.undo) - 1; i >= 0; i-- {
		errs = append(errs, st.undo[i](ctx))
	}
	return errors.Join(errs...)
}

// engines names what plays each resource.
func (st *stage) engines() map[string]string {
	out := map[string]string{}
	for r, res := range st.resources {
		out[r.Name] = res.engine()
	}
	return out
}

// open reaches a resource on its engine.
func open(ctx context.Context, spec *ast.Spec, r *ast.Resource, b binding) (resource, error) {
	if r.Kind == ast.SQLKind {
		return openSQL(ctx, spec, r, b)
	}
	return openStore(ctx, spec, r, b)
}
