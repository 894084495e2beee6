package plan

import (
	"strconv"
	"strings"
	"time"

	"github.com/relplan/relplan/capacity/storage"
	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/quantity"
	"github.com/relplan/relplan/internal/yamlx"
)

// Engines lists the storage engines of a store.
var Engines = []string{"postgres", "innodb", "sqlite", "redis", "nats-stream", "nats-kv", "lsm", "kafka", "archive"}

func (d *decoder) workloads(f *File, n *yamlx.Node) {
	d.each(n, "workloads", func(name string, pos diag.Pos, v *yamlx.Node) {
		w := &Workload{Name: name, Pos: pos}
		f.Workloads = append(f.Workloads, w)
		d.mapping(v, "a workload",
			required("rate", d.rateSpec(&w.Rate)),
			optional("record", d.bytes(&w.Record)),
			optional("duplicates", d.ratio(&w.Duplicates)),
			optional("growth", d.growth(&w.Growth)),
		)
	})
}

// growth reads "20%/year".
func (d *decoder) growth(out *Value[float64]) func(*yamlx.Node) {
	return parsed(d, out, ParseGrowth)
}

// ParseGrowth reads "20%/year" as 0.2: above -100 %, at most 1,000,000 % a year.
func ParseGrowth(text string) (float64, error) {
	share, ok := strings.CutSuffix(text, "/year")
	e := &quantity.SyntaxError{Text: text, Expected: "growth such as 20%/year"}
	if !ok {
		return 0, e
	}
	num, ok := strings.CutSuffix(strings.TrimSpace(share), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(num), 64)
	if !ok || err != nil || v <= -100 || v > 1e6 || v != v {
		return 0, e
	}
	return v / 100, nil
}

func (d *decoder) rateSpec(out *RateSpec) func(*yamlx.Node) {
	return func(n *yamlx.Node) {
		out.Pos = n.Pos()
		if n.Kind() != yamlx.Mapping {
			d.rate(&out.Peak)(n)
			if d.sketch == nil {
				return
			}
		}
		fields := []field{optional("peak", d.rate(&out.Peak)), optional("mean", d.rate(&out.Mean)), optional("samples", d.text(&out.Samples))}
		for _, e := range n.Entries() {
			key := e.Key.Value()
			if _, isQuantile := Quantile(key); !isQuantile {
				continue
			}
			fields = append(fields, optional(key, func(v *yamlx.Node) {
				var q Value[quantity.Rate]
				d.rate(&q)(v)
				if out.Quantiles == nil {
					out.Quantiles = map[string]Value[quantity.Rate]{}
				}
				out.Quantiles[key] = q
			}))
		}
		d.mapping(n, "a rate", fields...)
		if !out.Peak.Set && !out.Mean.Set && !out.Samples.Set && len(out.Quantiles) < 2 {
			d.l.Add(diag.Diagnostic{Code: codeValue, Pos: n.Pos(), Message: "a rate needs peak or mean, two quantiles such as p50 and p95, or samples",
				Hint: "rate: 100k/s, rate: {peak: 100k/s, mean: 60k/s}, rate: {p50: 40k/s, p95: 100k/s} or rate: {samples: file.csv}"})
		}
	}
}

// Quantile reads "p95" as 0.95.
func Quantile(key string) (float64, bool) {
	num, ok := strings.CutPrefix(key, "p")
	v, err := strconv.ParseFloat(num, 64)
	return v / 100, ok && err == nil && v > 0 && v < 100
}

func (d *decoder) stores(f *File, n *yamlx.Node) {
	d.each(n, "stores", func(name string, pos diag.Pos, v *yamlx.Node) {
		s := &Store{Name: name, Pos: pos}
		f.Stores = append(f.Stores, s)
		d.mapping(v, "a store",
			required("engine", d.oneOf(&s.Engine, Engines...)),
			required("holds", d.text(&s.Holds)),
			optional("dedupes", d.text(&s.Dedupes)),
			optional("rows_per_record", d.count(&s.RowsPerRecord, 1)),
			optional("ddl", d.text(&s.DDL)),
			optional("columns", func(v *yamlx.Node) { d.columns(s, v) }),
			optional("keys", func(v *yamlx.Node) { d.keys(s, v) }),
			optional("key_order", d.keyOrder(&s.KeyOrder)),
			required("retain", func(v *yamlx.Node) { d.forever(&s.Forever, &s.Retain, v) }),
			optional("delete", func(v *yamlx.Node) { d.deletion(&s.Delete, v) }),
			optional("replicas", d.count(&s.Replicas, 0)),
			optional("residence", d.duration(&s.Residence)),
			optional("delay", d.duration(&s.Delay)),
			optional("skew", d.duration(&s.Skew)),
			optional("rows", d.count(&s.Rows, 0)),
			optional("options", d.optionsOf(s)),
		)
		d.columnTypes(s)
		d.checkStore(s)
	})
}

// forever reads a duration or the word forever.
func (d *decoder) forever(forever *bool, out *Value[time.Duration], n *yamlx.Node) {
	d.describe(&shape{words: []string{"forever"}})
	if n.Value() == "forever" {
		*forever = true
		*out = Value[time.Duration]{Pos: n.Pos()}
		return
	}
	d.duration(out)(n)
}

func (d *decoder) columns(s *Store, n *yamlx.Node) {
	s.Columns = []Column{}
	d.items(n, "a list of columns such as {name: id, type: uuid}", func(item *yamlx.Node) {
		c := Column{Pos: item.Pos()}
		var name, typ Value[string]
		d.mapping(item, "a column", required("name", d.text(&name)), optional("type", d.text(&typ)),
			optional("mean", d.meanBytes(&c)), optional("sd", d.bytes(&c.SD)), optional("null", parsed(d, &c.Null, ParseNullShare)),
			optional("distinct", d.count(&c.Distinct, 1)), optional("order", parsed(d, &c.Order, parseOrder)))
		c.Name, c.Type = name.V, typ.V
		s.Columns = append(s.Columns, c)
	})
}

func (d *decoder) keys(s *Store, n *yamlx.Node) {
	names := func(n *yamlx.Node) []string {
		var vs []Value[string]
		d.texts(&vs)(n)
		out := make([]string, len(vs))
		for i, v := range vs {
			out[i] = v.V
		}
		return out
	}
	d.mapping(n, "keys",
		optional("primary", func(v *yamlx.Node) { s.Primary = names(v) }),
		optional("indexes", func(v *yamlx.Node) {
			d.items(v, "a list of lists of column names", func(item *yamlx.Node) { s.Indexes = append(s.Indexes, names(item)) })
		}),
	)
}

// keyOrder reads increasing, uuid4, uuid7:J, streams:K or two of them.
func (d *decoder) keyOrder(out *Value[string]) func(*yamlx.Node) { return parsed(d, out, parseOrder) }

// meanBytes reads a length, or its 5 % and 95 % quantiles as [30B, 200B].
func (d *decoder) meanBytes(c *Column) func(*yamlx.Node) {
	return func(n *yamlx.Node) {
		items := n.Items()
		d.describe(&shape{text: "a list of two lengths, the 5 % and 95 % quantiles"})
		if n.Kind() != yamlx.Sequence {
			d.bytes(&c.Mean)(n)
			return
		}
		if len(items) != 2 {
			d.want(n, "a length such as 36B, or its 5 % and 95 % quantiles such as [30B, 200B]")
			return
		}
		d.bytes(&c.Mean)(items[0])
		d.bytes(&c.MeanHigh)(items[1])
		if c.MeanHigh.Set && c.Mean.Set && c.MeanHigh.V <= c.Mean.V {
			d.want(n, "two lengths, the smaller one first")
		}
	}
}

// columnTypes reports columns without a type where no DDL gives it.
func (d *decoder) columnTypes(s *Store) {
	if s.DDL.Set || !storage.Engine(s.Engine.V).Relational() {
		return
	}
	for _, c := range s.Columns {
		if c.Type == "" {
			d.l.Add(diag.Diagnostic{Code: codeKey, Pos: c.Pos, Message: "column '" + c.Name + "' needs the key 'type'", Expected: "type",
				Hint: "or name the CREATE TABLE file of the store with ddl"})
		}
	}
}

// crashes reads the unsafe stretches.
func (d *decoder) crashes(f *File, n *yamlx.Node) {
	d.each(n, "crash windows", func(name string, pos diag.Pos, v *yamlx.Node) {
		c := &CrashWindow{Name: name, Pos: pos}
		f.Crashes = append(f.Crashes, c)
		d.mapping(v, "a crash window",
			required("of", d.text(&c.Of)),
			required("window", d.duration(&c.Window)),
			required("crashes_per_year", d.number(&c.Crashes, 0)),
		)
	})
}

func (d *decoder) deletion(out *Delete, n *yamlx.Node) {
	out.Pos = n.Pos()
	d.describe(&shape{words: []string{"never"}})
	if n.Kind() == yamlx.Scalar && n.Value() == "never" {
		out.Never = true
		return
	}
	d.mapping(n, "delete",
		optional("partition", parsed(d, &out.Partition, ParseSpan)),
		optional("sweep", parsed(d, &out.Sweep, ParseSpan)),
		optional("vacuum_every", parsed(d, &out.VacuumEvery, ParseVacuumShare)),
	)
	if out.Partition.Set && out.Sweep.Set {
		d.l.Errorf(n.Pos(), codeValue, "expected partition or sweep, found both")
	}
}

func (d *decoder) sources(f *File, n *yamlx.Node) {
	d.each(n, "replay sources", func(name string, pos diag.Pos, v *yamlx.Node) {
		s := &Source{Name: name, Pos: pos}
		f.Sources = append(f.Sources, s)
		d.mapping(v, "a replay source",
			required("of", d.text(&s.Of)),
			required("keeps", func(v *yamlx.Node) { d.forever(&s.Unlimited, &s.Keeps, v) }),
			optional("retried_for", d.duration(&s.RetriedFor)),
			optional("kind", d.oneOf(&s.Kind, "replay", "retry", "provider", "restore")),
			optional("per_year", d.number(&s.PerYear, 0)),
		)
		if s.RetriedFor.Set && s.Kind.V != "provider" {
			d.l.Add(diag.Diagnostic{Code: codeValue, Pos: s.RetriedFor.Pos, Message: "retried_for belongs to a source of kind provider", Hint: "add kind: provider"})
		}
	})
}

func (d *decoder) deadlines(f *File, n *yamlx.Node) {
	d.each(n, "deadlines", func(name string, pos diag.Pos, v *yamlx.Node) {
		x := &Deadline{Name: name, Pos: pos}
		f.Deadlines = append(f.Deadlines, x)
		d.mapping(v, "a deadline",
			optional("path", d.texts(&x.Path)),
			required("budget", d.duration(&x.Budget)),
			optional("spent", d.duration(&x.Spent)),
			optional("backoff", d.duration(&x.Backoff)),
			optional("attempt", d.duration(&x.Attempt)),
			optional("margin", d.duration(&x.Margin)),
		)
	})
}

func (d *decoder) protocols(f *File, n *yamlx.Node) {
	d.each(n, "protocols", func(name string, pos diag.Pos, v *yamlx.Node) {
		p := &Protocol{Name: name, Pos: pos}
		f.Protocols = append(f.Protocols, p)
		d.mapping(v, "a protocol",
			optional("spec", d.text(&p.Spec)),
			optional("pattern", d.text(&p.Pattern)),
			optional("variant", d.text(&p.Variant)),
			optional("with", func(v *yamlx.Node) {
				d.each(v, "parameters", func(key string, _ diag.Pos, v *yamlx.Node) {
					var val Value[string]
					d.text(&val)(v)
					if p.With == nil {
						p.With = map[string]Value[string]{}
					}
					p.With[key] = val
				})
			}),
		)
		if p.Spec.Set == p.Pattern.Set {
			d.l.Errorf(pos, codeKey, "protocol '%s' needs spec (a file) or pattern (of the library), one of them", name)
		}
	})
}

func (d *decoder) unknown(f *File, n *yamlx.Node) {
	d.each(n, "exposures", func(name string, pos diag.Pos, v *yamlx.Node) {
		u := &UnknownExposure{Workload: Value[string]{V: name, Set: true, Pos: pos}, Pos: pos}
		f.Unknown = append(f.Unknown, u)
		d.mapping(v, "an exposure",
			required("probability", d.ratio(&u.Probability)),
			optional("amount", func(v *yamlx.Node) { d.amount(u, v) }),
			required("reconcile_every", d.duration(&u.Reconcile)),
		)
	})
}

// amount reads "40 EUR".
func (d *decoder) amount(u *UnknownExposure, n *yamlx.Node) {
	num, currency, _ := strings.Cut(n.Value(), " ")
	v, err := strconv.ParseFloat(num, 64)
	currency = strings.TrimSpace(currency)
	if err != nil || v < 0 || v != v || v > 1e18 || len(currency) > 8 {
		d.want(n, "an amount such as 40 EUR")
		return
	}
	u.Amount = Value[float64]{V: v, Set: true, Pos: n.Pos()}
	u.Currency = currency
}

func (d *decoder) policies(f *File, n *yamlx.Node) {
	p := &f.Policies
	d.mapping(n, "policies",
		optional("max_attempts", d.count(&p.MaxAttempts, 1)),
		optional("windows", d.oneOf(&p.Windows, "covered", "report")),
		optional("deadlines", d.oneOf(&p.Deadlines, "admitted", "report")),
		optional("protocols", d.oneOf(&p.Protocols, "as_expected", "report")),
		optional("storm", d.oneOf(&p.Storm, "survives", "report")),
		optional("max_total_bytes", d.bytes(&p.MaxTotalBytes)),
		optional("max_unknown", func(v *yamlx.Node) {
			var c Value[int64]
			d.count(&c, 0)(v)
			p.MaxUnknown = Value[float64]{V: float64(c.V), Set: c.Set, Pos: c.Pos}
		}),
	)
}
