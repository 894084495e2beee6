package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"

	"github.com/spf13/cobra"

	"github.com/relplan/relplan/capacity/measure"
	"github.com/relplan/relplan/capacity/storage"
	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/internal/quantity"
	"github.com/relplan/relplan/reports"
)

type measureOptions struct {
	capacityOptions
	engines   []string
	tolerance string
	grid      bool
	saved     []string
}

const measureSchema = "relplan.dev/capacity-measure/v1"

// measureDocument is the document of `relplan capacity measure`.
type measureDocument struct {
	Schema  string        `json:"schema"`
	Engines []measuredRun `json:"engines"`
	// The first engine again, as the contract has it for one.
	Engine    string        `json:"engine"`
	Version   string        `json:"version"`
	Cases     []measuredDoc `json:"cases"`
	Tolerance float64       `json:"tolerance"`
	Within    bool          `json:"within"`
	Basis     reports.Basis `json:"basis"`
}

type measuredRun struct {
	Engine  string        `json:"engine"`
	Version string        `json:"version"`
	Cases   []measuredDoc `json:"cases"`
	NotRun  string        `json:"not_run"` // the reason, "" if it ran
	Basis   reports.Basis `json:"basis"`
}

// measuredDoc is one case; its basis is that of measured_bytes and error.
type measuredDoc struct {
	Name           string         `json:"name"`
	Rows           int64          `json:"rows"`
	Predicted      int64          `json:"predicted_bytes"`
	Low            int64          `json:"low_bytes"`
	High           int64          `json:"high_bytes"`
	PredictedBasis *reports.Basis `json:"predicted_bytes_basis"`
	Measured       int64          `json:"measured_bytes"`
	Error          float64        `json:"error"`
	Within         bool           `json:"within"`
	Basis          *reports.Basis `json:"basis"`
}

func newCapacityMeasure(f *factory) *cobra.Command {
	o := &measureOptions{}
	o.rows = countFlag{n: 200_000, set: true}
	c := &cobra.Command{
		Use:   "measure --engine DSN --ddl FILE",
		Short: "Load a sample of a table into a real engine: predicted against measured",
		Long: `Load rows of your table into a database that is created for it and dropped
afterwards, measure what they take and compare with the prediction. The values
have the lengths, NULLs, distinct values and arrival order you state.

--engine is an address (postgres://, mysql://, sqlite, redis://, nats://) or the
name of an engine (postgres, innodb, sqlite, redis, nats-stream), of which a
private server is started. With --grid a fixed set of schemas is measured, as
for docs/capacity-accuracy.md. Exit 1 when a case is outside --tolerance; a range
that contains the measurement counts as met.`,
		Example: `  relplan capacity measure --engine postgres --ddl inbox.sql --rows 200000 --key-order uuid7:100 \
      --mean consumer_name=13B --mean event_id=36B
  relplan capacity measure --engine sqlite --grid`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runMeasure(f, o, cmd) },
	}
	fl := c.Flags()
	fl.StringArrayVar(&o.engines, "engine", nil, "address or name of an engine; repeatable with --grid")
	fl.StringVar(&o.tolerance, "tolerance", "3%", "largest relative error that passes")
	fl.BoolVar(&o.grid, "grid", false, "measure the accuracy grid instead of a table")
	fl.StringArrayVar(&o.saved, "saved", nil, "report results saved with -o json instead of measuring; repeatable")
	fl.Var(&o.rows, "rows", "rows to load")
	fl.StringVar(&o.ddl, "ddl", "", "file with CREATE TABLE and CREATE INDEX")
	fl.StringVar(&o.table, "table", "", "table of the file, if it has several")
	fl.StringVar(&o.order, "key-order", "", "arrival order of primary keys")
	fl.StringArrayVar(&o.mean, "mean", nil, "mean length of a column, col=36B")
	fl.StringArrayVar(&o.null, "null", nil, "share of rows in which a column is NULL, col=20%")
	fl.StringArrayVar(&o.distinct, "distinct", nil, "number of distinct values of a column, col=1000")
	fl.StringArrayVar(&o.colOrder, "order", nil, "arrival order of the values of a column, col=uuid4")
	fl.StringVar(&o.key, "key", "", "bytes of a key (redis)")
	fl.StringVar(&o.value, "value", "", "bytes of a value (redis)")
	fl.StringVar(&o.subject, "subject", "", "bytes of a subject (nats-stream)")
	fl.StringVar(&o.payload, "payload", "", "bytes of a payload (nats-stream)")
	fl.StringVar(&o.msgID, "msg-id", "", "bytes of Nats-Msg-Id (nats-stream)")
	fl.StringArrayVar(&o.options, "option", nil, "engine option of the plan file, such as structure=hash")
	return lacks(c, "sarif")
}

func runMeasure(f *factory, o *measureOptions, cmd *cobra.Command) error {
	tol, err := quantity.ParseRatio(o.tolerance)
	if err != nil {
		return usageError{withHint(fmt.Errorf("--tolerance: %w", err))}
	}
	if len(o.saved) > 0 {
		return f.savedMeasurements(o, tol)
	}
	if len(o.engines) == 0 {
		return usagef("measure needs --engine, an address such as postgres://user@host/db or a name: postgres, innodb, sqlite, redis, nats-stream")
	}
	if len(o.engines) > 1 && !o.grid {
		return usagef("one --engine at a time without --grid")
	}
	if o.rows.n < 1 || o.rows.n > 1<<31 {
		return usagef("--rows %d is not between 1 and 2^31", o.rows.n)
	}
	ctx, cancel := f.limited(cmd)
	defer cancel()
	doc := measureDocument{Schema: measureSchema, Engines: []measuredRun{}, Cases: []measuredDoc{}, Tolerance: tol, Within: true}
	for _, target := range o.engines {
		run, err := f.measureEngine(ctx, o, target, tol)
		if err != nil {
			return err
		}
		doc.Engines = append(doc.Engines, run)
	}
	return f.emitMeasured(&doc)
}

// emitMeasured writes the report; the exit code says whether all was met.
func (f *factory) emitMeasured(doc *measureDocument) error {
	doc.Engine, doc.Version, doc.Cases = doc.Engines[0].Engine, doc.Engines[0].Version, doc.Engines[0].Cases
	doc.Basis = doc.Engines[0].Basis
	r, notRun := measureReport(doc)
	if err := f.Emit(r); err != nil {
		return err
	}
	switch {
	case !doc.Within:
		return exit(exitFinding)
	case notRun:
		return exit(exitInconclusive)
	}
	return nil
}

// savedMeasurements joins results of earlier runs into one report.
func (f *factory) savedMeasurements(o *measureOptions, tol float64) error {
	doc := measureDocument{Schema: measureSchema, Engines: []measuredRun{}, Cases: []measuredDoc{}, Tolerance: tol, Within: true}
	for _, path := range o.saved {
		name, src, err := f.ReadInput(path)
		if err != nil {
			return err
		}
		var one measureDocument
		if err := json.Unmarshal(src, &one); err != nil || one.Schema != measureSchema {
			return usagef("%s is no result of `relplan capacity measure -o json`", name)
		}
		for _, run := range one.Engines {
			for i := range run.Cases {
				c := &run.Cases[i]
				if c.Basis == nil { // saved by a version that did not tell it
					c.Basis = measuredBasis(run, c.Rows)
				}
				c.Within = measure.Result{Predicted: c.Predicted, Low: c.Low, High: c.High, Measured: c.Measured}.Within(tol)
			}
			doc.Engines = append(doc.Engines, run)
		}
	}
	if len(doc.Engines) == 0 {
		return usagef("no results in %v", o.saved)
	}
	return f.emitMeasured(&doc)
}

// measureTarget is the engine of an address or name.
func measureTarget(target string) (engine storage.Engine, kind engines.Kind, private bool, err error) {
	kinds := map[engines.Kind]storage.Engine{engines.Postgres: storage.Postgres, engines.MySQL: storage.InnoDB, engines.SQLite: storage.SQLite,
		engines.Redis: storage.Redis, engines.NATS: storage.NATSStream}
	names := map[string]engines.Kind{"postgres": engines.Postgres, "innodb": engines.MySQL, "mysql": engines.MySQL, "mariadb": engines.MySQL,
		"sqlite": engines.SQLite, "redis": engines.Redis, "nats-stream": engines.NATS, "nats-kv": engines.NATS, "nats": engines.NATS}
	if k, ok := names[target]; ok {
		e := kinds[k]
		if target == "nats-kv" {
			e = storage.NATSKV
		}
		return e, k, true, nil
	}
	if !strings.Contains(target, "://") {
		return "", "", false, usagef("--engine %q is neither an address nor one of postgres, innodb, sqlite, redis, nats-stream, nats-kv", target)
	}
	kind, err = engines.KindOf(target)
	if err != nil {
		return "", "", false, usageError{err}
	}
	return kinds[kind], kind, false, nil
}

// measureEngine measures all cases on one engine.
func (f *factory) measureEngine(ctx context.Context, o *measureOptions, target string, tol float64) (measuredRun, error) {
	engine, kind, private, err := measureTarget(target)
	if err != nil {
		return measuredRun{}, err
	}
	run := measuredRun{Engine: string(engine), Cases: []measuredDoc{}, Basis: reports.Basis{Kind: "measured", Engine: string(engine)}}
	cases, err := f.measureCases(o, engine)
	if err != nil {
		return run, err
	}
	dsn := target
	if private {
		s, err := engines.Start(ctx, kind, measureServer[kind]...)
		var missing *engines.Unavailable
		if errors.As(err, &missing) {
			run.NotRun = missing.Error()
			return run, nil
		}
		if err != nil {
			return run, err
		}
		defer s.Stop()
		dsn, run.Version = s.DSN, s.Version
	} else if kind == engines.Postgres || kind == engines.MySQL || kind == engines.SQLite {
		db, err := engines.OpenSQL(dsn)
		if err != nil {
			return run, usageError{err}
		}
		run.Version, err = db.Version(ctx)
		db.Close()
		if err != nil {
			return run, usageError{fmt.Errorf("cannot connect: %w", err)}
		}
	}
	for _, c := range cases {
		r, err := f.measureCase(ctx, kind, dsn, c)
		if ctx.Err() != nil {
			run.NotRun = "stopped: " + ctx.Err().Error()
			return run, nil
		}
		if err != nil {
			return run, usageError{fmt.Errorf("%s: %w", c.Name, err)}
		}
		run.Cases = append(run.Cases, measuredDoc{Name: r.Name, Rows: r.Rows, Predicted: r.Predicted, Low: r.Low, High: r.High, Measured: r.Measured,
			Error: math.Round(r.Error()*1e6) / 1e6, Within: r.Within(tol),
			PredictedBasis: &reports.Basis{Kind: string(r.Basis), Engine: run.Engine, Source: "relplan capacity --rows with the same description"},
			Basis:          measuredBasis(run, r.Rows)})
	}
	run.Basis.N = int64(len(run.Cases))
	return run, nil
}

func measuredBasis(run measuredRun, rows int64) *reports.Basis {
	return &reports.Basis{Kind: "measured", Engine: strings.TrimSpace(run.Engine + " " + run.Version), N: rows}
}

// measureServer are arguments that make a private server fast enough.
var measureServer = map[engines.Kind][]string{
	engines.Postgres: {"-c", "shared_buffers=512MB", "-c", "max_wal_size=8GB", "-c", "autovacuum=off"},
	engines.MySQL:    {"--innodb-buffer-pool-size=1G", "--innodb-log-file-size=1G"},
}

func (f *factory) measureCase(ctx context.Context, kind engines.Kind, dsn string, c measure.Case) (measure.Result, error) {
	progress := func(rows int64) {
		if f.showProgress() {
			fmt.Fprintf(f.Err, "\r%s: %s rows ", c.Name, quantity.FormatInt(big.NewInt(rows)))
		}
	}
	defer func() {
		if f.showProgress() {
			fmt.Fprint(f.Err, "\r\033[K")
		}
	}()
	switch kind {
	case engines.Redis:
		return measure.Redis(ctx, dsn, c, progress)
	case engines.NATS:
		return measure.NATS(ctx, dsn, c, progress)
	}
	return measure.SQL(ctx, dsn, c, progress)
}

// measureCases are the grid, or the table that the flags describe.
func (f *factory) measureCases(o *measureOptions, engine storage.Engine) ([]measure.Case, error) {
	if o.grid {
		return measure.Grid(engine, o.rows.n)
	}
	c := o.capacityOptions
	c.engine, c.state = string(engine), "loaded"
	p, err := c.plan()
	if err != nil {
		return nil, err
	}
	p.OnRead = func(path string, src []byte) { f.sources[path] = src }
	in, ddl, err := p.SampleInput(p.Stores[0], o.rows.n)
	if err != nil {
		return nil, err
	}
	one := measure.Case{Name: string(engine), Input: in, DDL: ddl}
	if in.Table != nil {
		one.Name = in.Table.Name + " " + in.Order.String()
	}
	return []measure.Case{one}, nil
}

// measureReport makes the report; notRun says that an engine was missing.
func measureReport(doc *measureDocument) (r *reports.Report, notRun bool) {
	r = &reports.Report{Command: "capacity measure", Title: "Predicted against measured"}
	for _, run := range doc.Engines {
		r.Add(reports.Heading{Level: 2, Text: strings.TrimSpace(run.Engine + " " + run.Version)})
		if run.NotRun != "" {
			notRun = true
			r.Add(reports.Paragraph{Text: "NOT_RUN: " + run.NotRun, Mark: reports.Unsure})
			r.Cases = append(r.Cases, reports.Case{Suite: run.Engine, Name: "engine", Status: reports.Skipped, Message: run.NotRun})
		}
		t := reports.Table{Columns: []reports.Column{{Name: "case"}, {Name: "rows", Right: true}, {Name: "predicted", Right: true}, {Name: "range", Right: true},
			{Name: "measured", Right: true}, {Name: "error", Right: true}, {Name: "verdict"}}}
		sum, worst := 0.0, 0.0
		for _, c := range run.Cases {
			verdict, status := "met", reports.Passed
			switch {
			case !c.Within:
				verdict, status, doc.Within = "MISSED", reports.Failed, false
			case math.Abs(c.Error) > doc.Tolerance:
				verdict = "within its range"
			}
			sum += math.Abs(c.Error)
			worst = math.Max(worst, math.Abs(c.Error))
			text := fmt.Sprintf("%+.2f %%", 100*c.Error)
			t.Rows = append(t.Rows, []string{c.Name, quantity.FormatInt(big.NewInt(c.Rows)), bytesOf(c.Predicted), bytesOf(c.Low) + " to " + bytesOf(c.High), bytesOf(c.Measured), text, verdict})
			r.Cases = append(r.Cases, reports.Case{Suite: run.Engine, Name: c.Name, Status: status, Message: text})
		}
		if len(run.Cases) > 0 {
			r.Add(t, reports.Paragraph{Text: fmt.Sprintf("mean error %.2f %%, largest %.2f %%", 100*sum/float64(len(run.Cases)), 100*worst)})
		}
	}
	r.Data = doc
	return r, notRun
}

func bytesOf(n int64) string { return quantity.FormatBytes(big.NewInt(n)) }
