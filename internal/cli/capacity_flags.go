package cli

import (
	"strings"
	"time"

	"github.com/relplan/relplan/capacity/storage"
	"github.com/relplan/relplan/internal/plan"
	"github.com/relplan/relplan/internal/quantity"
)

// plan makes a plan of one workload and one store out of the flags. Errors: all
// that is wrong with them.
func (o *capacityOptions) plan() (*plan.File, error) {
	w := &plan.Workload{Name: "records"}
	s := &plan.Store{Name: "store", Holds: plan.Given("records"), Engine: plan.Given(o.engine)}
	p := &plan.File{Path: "<flags>", Dir: ".", Name: "one store", Workloads: []*plan.Workload{w}, Stores: []*plan.Store{s}}
	e := &flagErrors{}
	o.together(e)
	o.flow(e, w, s)
	o.engineOf(e, s)
	o.columns(e, s)
	o.leaving(e, s)
	if o.price != "" {
		e.parsed("price", o.price, p.SetPrice(o.engine, o.price))
	}
	if err := e.Err(); err != nil {
		return nil, err
	}
	return p, nil
}

// needEngine are the flags in use that mean nothing without an engine.
func (o *capacityOptions) needEngine() []string {
	var out []string
	for _, f := range []struct {
		name string
		used bool
	}{
		{"ddl", o.ddl != ""}, {"table", o.table != ""}, {"key-order", o.order != ""}, {"mean", len(o.mean) > 0}, {"null", len(o.null) > 0},
		{"distinct", len(o.distinct) > 0}, {"order", len(o.colOrder) > 0}, {"key", o.key != ""}, {"value", o.value != ""},
		{"subject", o.subject != ""}, {"payload", o.payload != ""}, {"msg-id", o.msgID != ""}, {"option", len(o.options) > 0},
		{"delete", o.deletion != ""}, {"replicas", o.replicas.set}, {"disk", o.disk != ""}, {"headroom", o.headroom != ""}, {"price", o.price != ""},
	} {
		if f.used {
			out = append(out, "--"+f.name)
		}
	}
	return out
}

// together refuses flags that contradict or lack each other.
func (o *capacityOptions) together(e *flagErrors) {
	if need := o.needEngine(); o.engine == "" && len(need) > 0 {
		e.conflict("such as --engine postgres", "without --engine there are only raw bytes, and nothing reads %s", strings.Join(need, ", "))
	}
	if o.headroom != "" && o.disk == "" {
		e.conflict("such as --disk 2TB", "--headroom needs --disk, the size of the disk")
	}
	switch {
	case o.rows.set && o.rate != "":
		e.conflict("", "--rows and --rate exclude each other")
	case o.rows.set && (o.growth != "" || o.disk != ""):
		e.conflict("give --rate and --retain instead of --rows", "--growth and --disk need --rate: a fixed number of rows does not grow")
	case !o.rows.set && o.rate == "":
		e.conflict("such as --rate 100k/s --retain 90d, or --rows 1M", "capacity needs --rate with --retain, or --rows")
	case o.rate != "" && o.retain <= 0:
		e.conflict("a time above 0, such as --retain 90d", "--rate needs --retain above 0, how long the store keeps a record")
	}
	if o.rate != "" && o.state != "loaded" {
		e.conflict("with --rate the store is sized under its deletion, see --delete", "--state needs --rows")
	}
}

// flow reads rate, retention, record and rows.
func (o *capacityOptions) flow(e *flagErrors, w *plan.Workload, s *plan.Store) {
	if o.rows.set {
		s.Rows = plan.Given(o.rows.n)
		s.Forever = o.retain == 0 && o.deletion == ""
	}
	s.Retain = plan.Given(time.Duration(o.retain))
	o.rateOf(e, w)
	if o.record != "" {
		n, err := quantity.ParseBytes(o.record)
		if e.parsed("record", o.record, err) {
			w.Record = plan.Given(n)
		}
	}
	if o.growth != "" {
		g, err := plan.ParseGrowth(o.growth)
		if e.parsed("growth", o.growth, err) {
			w.Growth = plan.Given(g)
		}
	}
}

// rateOf reads 100k/s or 60k/s..100k/s.
func (o *capacityOptions) rateOf(e *flagErrors, w *plan.Workload) {
	low, high, isRange := strings.Cut(o.rate, "..")
	switch {
	case o.rate == "":
	case !isRange:
		r, err := quantity.ParseRate(o.rate)
		if e.parsed("rate", o.rate, err) {
			w.Rate.Peak = plan.Given(r)
		}
	default:
		a, err1 := quantity.ParseRate(low)
		b, err2 := quantity.ParseRate(high)
		if err1 != nil || err2 != nil || a.IsZero() || a.Exact().Cmp(b.Exact()) >= 0 {
			e.bad("rate", o.rate, "the 5 % quantile of the rate, above 0, and a larger 95 % quantile, such as 60k/s..100k/s", "")
			return
		}
		w.Rate.Quantiles = map[string]plan.Value[quantity.Rate]{"p5": plan.Given(a), "p95": plan.Given(b)}
	}
}

// engineOf checks the engine and what belongs to it.
func (o *capacityOptions) engineOf(e *flagErrors, s *plan.Store) {
	if o.engine == "" {
		if o.record == "" {
			e.conflict("such as --record 100B", "capacity needs --record for raw bytes, or --engine with columns")
		}
		return
	}
	if err := oneOf("engine", o.engine, plan.Engines...); err != nil {
		e.conflict("", "%v", err)
		return
	}
	if err := oneOf("state", o.state, "loaded", "vacuumed", "rebuilt"); err != nil {
		e.conflict("", "%v", err)
	}
	s.State = map[string]storage.State{"loaded": storage.Loaded, "vacuumed": storage.Vacuumed, "rebuilt": storage.Rebuilt}[o.state]
	if o.ddl != "" {
		s.DDL = plan.Given(o.ddl)
	}
	if o.table != "" {
		s.Options.Table = plan.Given(o.table)
	}
	if o.order != "" {
		_, err := storage.ParseOrder(o.order)
		e.parsed("key-order", o.order, err)
		s.KeyOrder = plan.Given(o.order)
	}
	for _, opt := range o.options {
		name, _, _ := strings.Cut(opt, "=")
		if why := plan.OptionFor(name, o.engine); why != "" {
			e.conflict("", "--option %s: %s", opt, why)
			continue
		}
		e.parsed("option", opt, s.Options.SetOption(opt))
	}
	engine := storage.Engine(o.engine)
	if o.state != "loaded" && !engine.Relational() {
		e.conflict("", "--state %s: engine %s has one state, it belongs to postgres, innodb, sqlite", o.state, engine)
	}
	switch {
	case engine.Relational() && o.ddl == "":
		e.conflict("", "--engine %s needs --ddl FILE with its CREATE TABLE", engine)
	case engine == storage.Archive && o.ddl == "":
		e.conflict("", "--engine archive needs --ddl FILE with the columns of the rows")
	case engine == storage.NATSStream && (o.subject == "" || o.payload == "") && len(o.mean) == 0:
		e.conflict("such as --subject 20B --payload 200B", "--engine nats-stream needs --subject and --payload")
	case !engine.Relational() && engine != storage.Archive && engine != storage.NATSStream && o.key == "" && o.value == "" && len(o.mean) == 0:
		e.conflict("such as --key 36B --value 32B", "--engine %s needs --key and --value", engine)
	}
}

// columns reads what is said about columns.
func (o *capacityOptions) columns(e *flagErrors, s *plan.Store) {
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
	for _, c := range []struct{ flag, name, length string }{{"key", "key", o.key}, {"value", "value", o.value}, {"subject", "subject", o.subject},
		{"payload", "payload", o.payload}, {"msg-id", "msg_id", o.msgID}} {
		if c.length != "" {
			e.parsed(c.flag, c.length, setMean(col(c.name), c.length))
		}
	}
	read := func(flag string, texts []string, set func(c *plan.Column, v string) error) {
		for _, t := range texts {
			name, v, ok := strings.Cut(t, "=")
			if !ok || name == "" {
				e.bad(flag, t, "column=value", "")
				continue
			}
			e.parsed(flag+" "+name, v, set(col(name), v))
		}
	}
	read("mean", o.mean, setMean)
	read("null", o.null, func(c *plan.Column, v string) error {
		r, err := plan.ParseNullShare(v)
		c.Null = plan.Given(r)
		return err
	})
	read("distinct", o.distinct, func(c *plan.Column, v string) error {
		n, err := quantity.ParseCount(v)
		if err == nil && n < 1 {
			err = &quantity.SyntaxError{Text: v, Expected: "a whole number of at least 1"}
		}
		c.Distinct = plan.Given(n)
		return err
	})
	read("order", o.colOrder, func(c *plan.Column, v string) error {
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
	if !isRange {
		return nil
	}
	m, err := quantity.ParseBytes(high)
	if err != nil {
		return err
	}
	if n <= 0 || m <= n {
		return &quantity.SyntaxError{Text: text, Expected: "the 5 % quantile of the length, above 0B, and a larger 95 % quantile, such as 30B..200B"}
	}
	c.MeanHigh = plan.Given(m)
	return nil
}

// leaving reads deletion, replicas and disk.
func (o *capacityOptions) leaving(e *flagErrors, s *plan.Store) {
	s.Replicas = plan.Given(o.replicas.n)
	kind, arg, _ := strings.Cut(o.deletion, ":")
	switch {
	case o.deletion == "":
	case o.deletion == "never":
		s.Delete.Never = true
	case kind == "partition":
		d, err := plan.ParseSpan(arg)
		if e.parsed("delete", o.deletion, err) {
			s.Delete.Partition = plan.Given(d)
		}
		if o.rows.set && o.retain <= 0 {
			e.conflict("such as --retain 90d, in which the rows arrive", "--delete partition with --rows needs --retain")
		}
	case kind == "sweep":
		r, err := plan.ParseVacuumShare(arg)
		if e.parsed("delete", o.deletion, err) {
			s.Delete.VacuumEvery = plan.Given(r)
		}
	default:
		e.bad("delete", o.deletion, "partition:1d, sweep:10% (rows between two vacuums) or never", "")
	}
	if o.disk != "" {
		n, err := quantity.ParseBytes(o.disk)
		if err == nil && n <= 0 {
			err = &quantity.SyntaxError{Text: o.disk, Expected: "the size of a disk above 0B, such as 2TB"}
		}
		if e.parsed("disk", o.disk, err) {
			s.Options.Disk = plan.Given(n)
		}
	}
	if o.headroom != "" {
		r, err := plan.ParseHeadroom(o.headroom)
		if e.parsed("headroom", o.headroom, err) {
			s.Options.Headroom = plan.Given(r)
		}
	}
}
