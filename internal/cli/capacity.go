package cli

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/relplan/relplan/internal/plan"
)

type capacityOptions struct {
	rate, record, engine, ddl, table, order, state, units string
	key, value, subject, payload, msgID                   string
	deletion, disk, headroom, growth, price               string
	rows, replicas                                        countFlag
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
	fl.Var(&o.rows, "rows", "rows in the store, instead of rate and retention")
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
	fl.Var(&o.replicas, "replicas", "further copies")
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
	described := o.rate != "" || o.engine != "" || o.rows.set || o.record != "" || len(o.needEngine()) > 0
	if described && len(args) > 0 {
		return nil, usagef("a plan file and flags that describe a store exclude each other")
	}
	if described {
		return o.plan()
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
