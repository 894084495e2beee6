package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/modelcheck/replay"
	"github.com/relplan/relplan/specs/ast"
)

// Observation is what one observation of the recovery lab has shown on one
// engine.
type Observation struct {
	Name    string `json:"name"`
	Engine  string `json:"engine"`
	Version string `json:"version"`
	// Pass is nil where it was not run.
	Pass   *bool          `json:"pass"`
	Values map[string]any `json:"values"`
	Reason string         `json:"reason"` // why it was not run, or what differs
}

// Where says on which engines the recovery lab runs.
type Where struct {
	SQL     []replay.Choice // each is one column of the lab
	Redis   replay.Choice
	Servers replay.Servers
	// Progress is told what begins; nil: nobody listens.
	Progress func(text string)
}

// observer makes one observation on a bench of its own.
type observer struct {
	name          string
	spec, variant string
	watch         func(ctx context.Context, b *replay.Bench, t *trial) error
	// notOnSQLite says why SQLite cannot show it, "" if it can.
	notOnSQLite string
}

// trial is an observation that is being made.
type trial struct {
	findings
	boundary replay.Boundary
}

// ran takes over what a schedule has shown.
func (t *trial) ran(run *replay.Run) {
	t.confirmed(run)
	join(&t.boundary, boundaryOf(run))
}

// sqlObservers are made on every SQL engine.
var sqlObservers = []observer{
	{name: "duplicateIdempotency", spec: "orders", variant: "all", watch: duplicateIdempotency},
	{name: "commitResponseLost", spec: "orders", variant: "all", watch: commitResponseLost,
		notOnSQLite: "there is no network between SQLite and its client, so there is no connection to lose"},
	{name: "midFailureRollback", spec: "orders", variant: "all", watch: midFailureRollback},
	{name: "outboxFencing", spec: "events", variant: "fencing", watch: outboxFencing,
		notOnSQLite: "SQLite locks the whole file and has no FOR UPDATE SKIP LOCKED: a second relay cannot claim another row meanwhile"},
	{name: "consumerInbox", spec: "events", variant: "consumer", watch: consumerInbox},
	{name: "atLeastOnceRecovery", spec: "events", variant: "recovery", watch: atLeastOnceRecovery},
}

// lab is a run of the recovery lab.
type lab struct {
	Where
	out      []Observation
	boundary replay.Boundary
	started  map[engines.Kind]string // addresses of private servers
}

// need is a private server, which cleanup asks in the end.
func (l *lab) need(ctx context.Context, kind engines.Kind) (string, error) {
	dsn, err := l.Servers(ctx, kind)
	if err == nil {
		l.started[kind] = dsn
	}
	return dsn, err
}

// Recovery makes all observations. Where an engine is missing, or the context is
// cancelled, they are NOT_RUN with the reason.
func Recovery(ctx context.Context, w Where) ([]Observation, replay.Boundary, error) {
	l := &lab{Where: w, out: []Observation{}, boundary: emptyBoundary(), started: map[engines.Kind]string{}}
	for _, c := range w.SQL {
		for _, o := range sqlObservers {
			if err := l.observe(ctx, o, c); err != nil {
				return l.out, l.boundary, err
			}
		}
	}
	l.retryBudget(ctx)
	if err := l.observe(ctx, observer{name: "cacheWatermark", spec: "cache", watch: cacheWatermark}, w.Redis); err != nil {
		return l.out, l.boundary, err
	}
	for _, c := range append(slices.Clone(w.SQL), w.Redis) {
		if err := l.cleanup(c); err != nil {
			return l.out, l.boundary, err
		}
	}
	l.boundary.Modelled = append(l.boundary.Modelled,
		"the order of the steps, except in duplicateIdempotency: one worker at a time, as the schedule says",
		"all other histories: what the specs of the lab promise was decided by the model")
	l.boundary.NotRun = append(l.boundary.NotRun, "loss of power, replication and failover of the engines")
	return l.out, l.boundary, nil
}

// observe makes one observation on one engine.
func (l *lab) observe(ctx context.Context, o observer, c replay.Choice) error {
	engine := string(c.Kind)
	switch {
	case ctx.Err() != nil:
		l.notRun(o.name, engine, "", "stopped before it began")
		return nil
	case c.Kind == engines.SQLite && o.notOnSQLite != "":
		l.notRun(o.name, engine, "", o.notOnSQLite)
		return nil
	}
	l.progress(o.name + " on " + engine)
	t := &trial{boundary: emptyBoundary()}
	version, err := l.onBench(ctx, o, c, t)
	var missing *engines.Unavailable
	switch {
	case errors.As(err, &missing):
		l.notRun(o.name, engine, "", missing.Error())
		return nil
	case err != nil && ctx.Err() != nil:
		l.notRun(o.name, engine, version, "stopped")
		return nil
	case err != nil:
		return fmt.Errorf("%s on %s: %w", o.name, engine, err)
	}
	join(&l.boundary, t.boundary)
	l.add(o.name, engine, version, &t.findings)
	return nil
}

// onBench sets the spec up on the engine and lets the observer watch.
func (l *lab) onBench(ctx context.Context, o observer, c replay.Choice, t *trial) (version string, err error) {
	if c.DSN != "" {
		if err := engines.Reach(ctx, c.DSN); err != nil {
			return "", err
		}
	}
	spec, err := variant(o.spec, o.variant)
	if err != nil {
		return "", err
	}
	choose := func(r *ast.Resource) replay.Choice {
		if slices.Contains(c.Plays(), r.Kind) {
			return c
		}
		return replay.Choice{Kind: replay.DefaultKind(r)}
	}
	b, err := replay.OpenBench(ctx, spec, choose, l.need)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	_, version, _ = strings.Cut(b.Engine(spec.Resources[0].Name), " ")
	return version, o.watch(ctx, b, t)
}

func (l *lab) add(name, engine, version string, f *findings) {
	pass := len(f.wrong) == 0
	l.out = append(l.out, Observation{Name: name, Engine: engine, Version: version, Pass: &pass, Values: f.values, Reason: strings.Join(f.wrong, "; ")})
}

func (l *lab) notRun(name, engine, version, reason string) {
	l.out = append(l.out, Observation{Name: name, Engine: engine, Version: version, Values: map[string]any{}, Reason: reason})
	l.boundary.NotRun = append(l.boundary.NotRun, fmt.Sprintf("%s on %s: %s", name, engine, reason))
}

func (l *lab) progress(text string) {
	if l.Progress != nil {
		l.Progress(text)
	}
}

// cleanup asks the engine what this process has left there. It is done also
// after an interrupt.
func (l *lab) cleanup(c replay.Choice) error {
	ctx := context.Background()
	version, dsn := l.versionOf(c.Kind), c.DSN
	if dsn == "" {
		dsn = l.started[c.Kind]
	}
	if dsn == "" {
		l.notRun("cleanup", string(c.Kind), "", "nothing was made: no server was started")
		return nil
	}
	n, err := replay.Remaining(ctx, c.Kind, dsn)
	switch {
	case err != nil && version == "":
		l.notRun("cleanup", string(c.Kind), "", err.Error())
		return nil
	case err != nil:
		return err
	}
	f := &findings{}
	f.is("ownDbRemaining", n, 0)
	l.add("cleanup", string(c.Kind), version, f)
	return nil
}

// versionOf is the version that an earlier observation has met.
func (l *lab) versionOf(kind engines.Kind) string {
	for _, o := range l.out {
		if o.Engine == string(kind) && o.Version != "" {
			return o.Version
		}
	}
	return ""
}
