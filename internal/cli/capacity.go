package cli

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/relplan/relplan/capacity/storage"
	"github.com/relplan/relplan/internal/plan"
	"github.com/relplan/relplan/internal/quantity"
)

type capacityOptions struct {
	rate, record, engine, ddl, table, order, state, units string
	key, value, subject, payload, msgID                   string
	deletion, disk, headroom, growth, price               string
	rows, replicas                                        int64
	retain                                                durationFlag
	mean, null, distinct, colOrder, options               []string
	explain                                               bool
}

func newCapacity(f *factory) *cobra.Command {
	o := &capacityOptions{}
	c := &cobra.Command{
		Use:   "capacity [FILE]",
		Short: "Compute records, real bytes, growth, windows and exposure",
		Long: `Compute how many records a store holds for its retention and what they really
take in its engine: rows and index tuples by the storage format, leaf fill by
the arrival order of keys, deletion plateaus, log volume, growth, the window that
is needed and what is exposed when it is shorter.

Without FILE the flags describe one store. Exit 1 when a window is not covered or
a policy on sizes is exceeded.`,
		Example: `  relplan capacity relplan.yaml
  relplan capacity --rate 100k/s --retain 90d --record 100B
  relplan capacity --engine postgres --ddl inbox.sql --rate 100k/s --retain 90d --key-order uuid4 \
      --mean consumer_name=13B --mean event_id=36B --delete sweep:10% --explain
  relplan capacity --engine redis --rows 1000000 --key 36B --value 32B`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runCapacity(f, o, cmd, args) },
	}
	capacityFlags(c, o)
	c.AddCommand(newCapacityMeasure(f))
	return c
}

func capacityFlags(c *cobra.Command, o *capacityOptions) {
	fl := c.Flags()
	fl.StringVar(&o.rate, "rate", "", "records arriving, such as 100k/s, or its 5 % and 95 % quantiles: 60k/s..100k/s")
	fl.Var(&o.retain, "retain", "how long the store keeps a record, such as 90d")
	fl.StringVar(&o.record, "record", "", "raw bytes of a record, such as 100B")
	fl.Int64Var(&o.rows, "rows", 0, "rows in the store, instead of rate and retention")
	fl.StringVar(&o.engine, "engine", "", "storage engine: "+strings.Join(plan.Engines, ", "))
	fl.StringVar(&o.ddl, "ddl", "", "file with CREATE TABLE and CREATE INDEX of the engine's dialect")
	fl.StringVar(&o.table, "table", "", "table of the file, if it has several")
	fl.StringVar(&o.order, "key-order", "", "arrival order of primary keys: increasing, uuid4, uuid7:J, streams:K, or streams:K,uuid4")
	fl.StringArrayVar(&o.mean, "mean", nil, "mean length of a column, col=36B, or its 5 % and 95 % quantiles: col=30B..200B")
	fl.StringArrayVar(&o.null, "null", nil, "share of rows in which a column is NULL, col=20%")
	fl.StringArrayVar(&o.distinct, "distinct", nil, "number of distinct values of a column, col=1000")
	fl.StringArrayVar(&o.colOrder, "order", nil, "arrival order of the values of a column, col=uuid4")
	fl.StringVar(&o.state, "state", "loaded", "with --rows: loaded, vacuumed or rebuilt (VACUUM, OPTIMIZE TABLE, REINDEX)")
	fl.StringVar(&o.key, "key", "", "bytes of a key (redis, nats-kv, lsm, kafka)")
	fl.StringVar(&o.value, "value", "", "bytes of a value (redis, nats-kv, lsm, kafka)")
	fl.StringVar(&o.subject, "subject", "", "bytes of a subject (nats-stream)")
	fl.StringVar(&o.payload, "payload", "", "bytes of a payload (nats-stream)")
	fl.StringVar(&o.msgID, "msg-id", "", "bytes of Nats-Msg-Id (nats-stream)")
	fl.StringArrayVar(&o.options, "option", nil, "engine option of the plan file, such as structure=hash or allocator=system")
	fl.StringVar(&o.deletion, "delete", "", "how rows leave: partition:1d, sweep:10% (rows between two vacuums) or never")
	fl.Int64Var(&o.replicas, "replicas", 0, "further copies")
	fl.StringVar(&o.growth, "growth", "", "growth of the rate, such as 20%/year")
	fl.StringVar(&o.disk, "disk", "", "size of the disk, to say when it is full")
	fl.StringVar(&o.headroom, "headroom", "", "share of the disk that stays free, such as 20%")
	fl.StringVar(&o.price, "price", "", "price of the engine's storage, such as \"0.115 USD/GB/month\"")
	fl.StringVar(&o.units, "units", "decimal", "decimal (GB = 10^9), binary (GiB = 2^30) or both")
	fl.BoolVar(&o.explain, "explain", false, "list every term and constant with its source")
}

func runCapacity(f *factory, o *capacityOptions, cmd *cobra.Command, args []string) error {
	if err := oneOf("units", o.units, "decimal", "binary", "both"); err != nil {
		return err
	}
	p, err := capacityPlan(f, o, cmd, args)
	if err != nil {
		return err
	}
	p.Explain, p.Units = o.explain, plan.Units(o.units)
	p.OnRead = func(path string, src []byte) { f.sources[path] = src }
	r, ok, err := p.CapacityReport()
	if err != nil {
		return err
	}
	f.Warn(p.Warnings)
	if err := f.Emit(r); err != nil {
		return err
	}
	if !ok {
		return exit(exitFinding)
	}
	return nil
}

// capacityPlan is the plan of FILE, or one made of the flags.
func capacityPlan(f *factory, o *capacityOptions, cmd *cobra.Command, args []string) (*plan.File, error) {
	described := o.rate != "" || o.engine != "" || cmd.Flags().Changed("rows") || o.record != ""
	if described && len(args) > 0 {
		return nil, usagef("a plan file and flags that describe a store exclude each other")
	}
	if described {
		return o.plan(cmd.Flags().Changed("rows"))
	}
	path := "relplan.yaml"
	if len(args) > 0 {
		path = args[0]
	} else if _, err := os.Stat(path); err != nil {
		return nil, usagef("capacity needs a plan file, or flags: --rate, --retain and --record, or --engine with --rows")
	}
	name, src, err := f.ReadInput(path)
	if err != nil {
		return nil, err
	}
	return plan.Load(name, src)
}

// plan makes a plan of one workload and one store out of the flags.
func (o *capacityOptions) plan(hasRows bool) (*plan.File, error) {
	w := &plan.Workload{Name: "records"}
	s := &plan.Store{Name: "store", Holds: plan.Given("records"), Engine: plan.Given(o.engine)}
	p := &plan.File{Path: "<flags>", Dir: ".", Name: "one store", Workloads: []*plan.Workload{w}, Stores: []*plan.Store{s}}
	steps := []func() error{
		func() error { return o.flow(w, s, hasRows) },
		func() error { return o.engineOf(s) },
		func() error { return o.columns(s) },
		func() error { return o.leaving(s) },
		func() error {
			if o.price == "" {
				return nil
			}
			return p.SetPrice(o.engine, o.price)
		},
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, usageError{withHint(err)}
		}
	}
	return p, nil
}

// flow reads rate, retention, record and rows.
func (o *capacityOptions) flow(w *plan.Workload, s *plan.Store, hasRows bool) error {
	var err error
	switch {
	case hasRows && o.rate != "":
		return usagef("--rows and --rate exclude each other")
	case hasRows && o.rows < 0:
		return usagef("--rows %d is below zero", o.rows)
	case hasRows:
		s.Rows = plan.Given(o.rows)
		s.Forever = o.retain == 0
	case o.rate == "":
		return usagef("capacity needs --rate with --retain, or --rows")
	case o.retain <= 0:
		return usagef("--rate needs --retain, such as --retain 90d")
	}
	s.Retain = plan.Given(time.Duration(o.retain))
	if low, high, ok := strings.Cut(o.rate, ".."); ok {
		a, err1 := quantity.ParseRate(low)
		b, err2 := quantity.ParseRate(high)
		if err1 != nil || err2 != nil {
			return fmt.Errorf("--rate: expected two rates such as 60k/s..100k/s, found %q", o.rate)
		}
		w.Rate.Quantiles = map[string]plan.Value[quantity.Rate]{"p5": plan.Given(a), "p95": plan.Given(b)}
	} else if o.rate != "" {
		r, err := quantity.ParseRate(o.rate)
		if err != nil {
			return fmt.Errorf("--rate: %w", err)
		}
		w.Rate.Peak = plan.Given(r)
	}
	if o.record != "" {
		var n int64
		if n, err = quantity.ParseBytes(o.record); err != nil {
			return fmt.Errorf("--record: %w", err)
		}
		w.Record = plan.Given(n)
	}
	if o.growth != "" {
		share, ok := strings.CutSuffix(o.growth, "/year")
		g, err := quantity.ParseRatio(share)
		if !ok || err != nil {
			return fmt.Errorf("--growth: expected growth such as 20%%/year, found %q", o.growth)
		}
		w.Growth = plan.Given(g)
	}
	return nil
}

// engineOf checks the engine and what belongs to it.
func (o *capacityOptions) engineOf(s *plan.Store) error {
	if o.engine == "" {
		if o.ddl != "" || o.order != "" || len(o.mean) > 0 {
			return usagef("--ddl, --mean and --key-order need --engine")
		}
		if o.record == "" {
			return usagef("capacity needs --record for raw bytes, or --engine with columns")
		}
		return nil
	}
	if err := oneOf("engine", o.engine, plan.Engines...); err != nil {
		return err
	}
	if err := oneOf("state", o.state, "loaded", "vacuumed", "rebuilt"); err != nil {
		return err
	}
	s.State = map[string]storage.State{"loaded": storage.Loaded, "vacuumed": storage.Vacuumed, "rebuilt": storage.Rebuilt}[o.state]
	if o.ddl != "" {
		s.DDL = plan.Given(o.ddl)
	}
	if o.table != "" {
		s.Options.Table = plan.Given(o.table)
	}
	if o.order != "" {
		if _, err := storage.ParseOrder(o.order); err != nil {
			return fmt.Errorf("--key-order: %w", err)
		}
		s.KeyOrder = plan.Given(o.order)
	}
	for _, opt := range o.options {
		if err := s.Options.SetOption(opt); err != nil {
			return fmt.Errorf("--option: %w", err)
		}
	}
	relational := storage.Engine(o.engine).Relational()
	if relational && o.ddl == "" {
		return usagef("--engine %s needs --ddl FILE with its CREATE TABLE", o.engine)
	}
	return nil
}

// columns reads what is said about columns.
func (o *capacityOptions) columns(s *plan.Store) error {
	at := map[string]int{}
	col := func(name string) *plan.Column {
		i, ok := at[name]
		if !ok {
			i = len(s.Columns)
			at[name] = i
			s.Columns = append(s.Columns, plan.Column{Name: name})
		}
		return &s.Columns[i]
	}
	for _, e := range []struct{ name, length string }{{"key", o.key}, {"value", o.value}, {"subject", o.subject}, {"payload", o.payload}, {"msg_id", o.msgID}} {
		if e.length != "" {
			if err := setMean(col(e.name), e.length); err != nil {
				return fmt.Errorf("--%s: %w", strings.ReplaceAll(e.name, "_", "-"), err)
			}
		}
	}
	read := func(flag string, texts []string, set func(c *plan.Column, v string) error) error {
		for _, t := range texts {
			name, v, ok := strings.Cut(t, "=")
			if !ok || name == "" {
				return fmt.Errorf("--%s: expected column=value, found %q", flag, t)
			}
			if err := set(col(name), v); err != nil {
				return fmt.Errorf("--%s %s: %w", flag, name, err)
			}
		}
		return nil
	}
	if err := read("mean", o.mean, setMean); err != nil {
		return err
	}
	if err := read("null", o.null, func(c *plan.Column, v string) error {
		r, err := quantity.ParseRatio(v)
		c.Null = plan.Given(r)
		return err
	}); err != nil {
		return err
	}
	if err := read("distinct", o.distinct, func(c *plan.Column, v string) error {
		n, err := quantity.ParseCount(v)
		if err == nil && n < 1 {
			err = fmt.Errorf("expected at least 1, found %q", v)
		}
		c.Distinct = plan.Given(n)
		return err
	}); err != nil {
		return err
	}
	if e := storage.Engine(o.engine); o.engine != "" && o.ddl == "" && len(s.Columns) == 0 {
		switch {
		case e == storage.Archive:
			return usagef("--engine archive needs --ddl FILE with the columns of the rows")
		case e == storage.NATSStream:
			return usagef("--engine nats-stream needs --subject and --payload")
		case !e.Relational():
			return usagef("--engine %s needs --key and --value", e)
		}
	}
	return read("order", o.colOrder, func(c *plan.Column, v string) error {
		_, err := storage.ParseOrder(v)
		c.Order = plan.Given(v)
		return err
	})
}

// setMean reads 36B or 30B..200B.
func setMean(c *plan.Column, text string) error {
	low, high, isRange := strings.Cut(text, "..")
	n, err := quantity.ParseBytes(low)
	if err != nil {
		return err
	}
	c.Mean = plan.Given(n)
	if isRange {
		m, err := quantity.ParseBytes(high)
		if err != nil {
			return err
		}
		if m <= n {
			return fmt.Errorf("expected the smaller length first, found %q", text)
		}
		c.MeanHigh = plan.Given(m)
	}
	return nil
}

// leaving reads deletion, replicas and disk.
func (o *capacityOptions) leaving(s *plan.Store) error {
	if o.replicas < 0 {
		return usagef("--replicas %d is below zero", o.replicas)
	}
	s.Replicas = plan.Given(o.replicas)
	kind, arg, _ := strings.Cut(o.deletion, ":")
	switch {
	case o.deletion == "":
	case o.deletion == "never":
		s.Delete.Never = true
	case kind == "partition":
		d, err := quantity.ParseDuration(arg)
		if err != nil {
			return fmt.Errorf("--delete: %w", err)
		}
		s.Delete.Partition = plan.Given(d)
	case kind == "sweep":
		r, err := quantity.ParseRatio(arg)
		if err != nil {
			return fmt.Errorf("--delete: %w", err)
		}
		s.Delete.VacuumEvery = plan.Given(r)
	default:
		return usagef("--delete %q: expected partition:1d, sweep:10%% or never", o.deletion)
	}
	if o.disk != "" {
		n, err := quantity.ParseBytes(o.disk)
		if err != nil {
			return fmt.Errorf("--disk: %w", err)
		}
		s.Options.Disk = plan.Given(n)
	}
	if o.headroom != "" {
		r, err := quantity.ParseRatio(o.headroom)
		if err != nil {
			return fmt.Errorf("--headroom: %w", err)
		}
		s.Options.Headroom = plan.Given(r)
	}
	return nil
}
