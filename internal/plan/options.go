package plan

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/relplan/relplan/capacity"
	"github.com/relplan/relplan/capacity/storage"
	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/quantity"
	"github.com/relplan/relplan/internal/yamlx"
	"github.com/relplan/relplan/reports"
)

// Price is what a byte of an engine costs a month. Prices come only from the
// user's file.
type Price struct {
	Engine   string
	Pos      diag.Pos
	PerByte  float64 // a month
	Currency string
	Text     string
}

// OptionDoc is one way to keep the window that a store needs.
type OptionDoc struct {
	Store        string        `json:"store"`
	Name         string        `json:"name"`
	Bytes        int64         `json:"bytes"`        // one copy
	CopiesBytes  int64         `json:"copies_bytes"` // with the replicas of the store; archives once
	CostPerMonth *float64      `json:"cost_per_month"`
	Currency     string        `json:"currency"`
	Lookups      string        `json:"lookups"`
	Latency      string        `json:"latency"`
	Trusts       string        `json:"trusts"`
	Basis        reports.Basis `json:"basis"`

	tooLarge bool // the bytes do not fit and are not to be shown
}

// prices reads {postgres: 0.115 USD/GB/month}.
func (d *decoder) prices(f *File, n *yamlx.Node) {
	d.each(n, "prices", func(name string, pos diag.Pos, v *yamlx.Node) {
		var p Value[Price]
		parsed(d, &p, parsePrice)(v)
		known := false
		for _, e := range Engines {
			known = known || e == name
		}
		if !known {
			g := diag.Diagnostic{Code: codeKey, Pos: pos, Message: "no engine '" + name + "'"}
			if near, ok := diag.Closest(name, Engines); ok {
				g.Hint = "did you mean: " + near
			}
			d.l.Add(g)
			return
		}
		if p.Set {
			p.V.Engine, p.V.Pos = name, pos
			f.Prices = append(f.Prices, p.V)
		}
	})
}

// parsePrice reads an amount, a currency, a size and a month: "0.115 USD/GB/month".
func parsePrice(s string) (Price, error) {
	e := &quantity.SyntaxError{Text: s, Expected: "a price such as 0.115 USD/GB/month"}
	num, rest, ok := strings.Cut(strings.TrimSpace(s), " ")
	v, err := strconv.ParseFloat(num, 64)
	parts := strings.Split(rest, "/")
	if !ok || err != nil || v < 0 || v > 1e12 || v != v || len(parts) != 3 || parts[2] != "month" || parts[0] == "" || len(parts[0]) > 8 {
		return Price{}, e
	}
	unit, err := quantity.ParseBytes("1" + parts[1])
	if err != nil || unit < 1 {
		return Price{}, e
	}
	return Price{PerByte: v / float64(unit), Currency: parts[0], Text: s}, nil
}

// SetPrice sets the price of an engine from text such as "0.115 USD/GB/month".
func (f *File) SetPrice(engine, text string) error {
	p, err := parsePrice(text)
	if err != nil {
		return err
	}
	p.Engine = engine
	f.Prices = append(f.Prices, p)
	return nil
}

// price of an engine, nil if the user gives none.
func (f *File) price(engine string) *Price {
	for i := range f.Prices {
		if f.Prices[i].Engine == engine {
			return &f.Prices[i]
		}
	}
	return nil
}

// options compares the ways to keep the window of a dedupe store that is too
// short (or of every one, when all is explained). It needs the columns and the
// primary key of the store.
func (f *File) options(s *Store, w *Workload, win capacity.Window, doc *StoreDoc) ([]OptionDoc, error) {
	if (win.Covered && !f.Explain) || win.Unlimited || doc.TotalBytes == nil || doc.RequiredTotalBytes == nil || win.Required <= 0 {
		return nil, nil
	}
	in, ok, err := f.storageInput(s, doc.RequiredRows)
	if err != nil || !ok || in.Table == nil || in.Table.Primary() == nil {
		return nil, err
	}
	old, err := f.rows(w, s, max(0, win.Required-s.Retain.V))
	if err != nil {
		return nil, err
	}
	keyBytes, err := keyTable(in)
	if err != nil {
		return nil, err
	}
	archive := storage.Input{Engine: storage.Archive, Rows: old.Value.Int64(), Table: in.Table, Order: in.Order,
		Archive: &storage.ArchiveOptions{Format: "parquet", Codec: "zstd"}}
	cold, err := storage.Estimate(archive)
	if err != nil {
		cold = storage.Size{}
	}
	held, span := quantity.FormatDuration(s.Retain.V), quantity.FormatDuration(win.Required)
	colocated := int64(float64(doc.RequiredRows) * (primaryBytes(in) + 8))
	make := func(name string, online, archived int64, lookups, latency, trusts string) OptionDoc {
		return f.option(s, OptionDoc{Name: name, Lookups: lookups, Latency: latency, Trusts: trusts}, online, archived)
	}
	all := []OptionDoc{
		make("whole inbox kept for "+span, *doc.RequiredTotalBytes, 0, "one index probe", "milliseconds; a disk read when the page is cold", "nothing beyond the database"),
		make("inbox for "+held+", unique business key kept for "+span, *doc.TotalBytes+keyBytes, 0, "one index probe in each of two tables", "milliseconds; a disk read when the page is cold", "the business key names the operation, and both tables change in one transaction"),
		make("inbox for "+held+", older rows in an archive that is looked up", *doc.TotalBytes, cold.Total, "one index probe, then the archive for what is older", "milliseconds; seconds to minutes for the archive", "the time in the message tells which side to ask, and the archive is complete before rows are deleted"),
		make("co-located by aggregate: ids kept in the aggregate's own partition", colocated, 0, "none beyond the aggregate that is read anyway", "that of the aggregate", "every operation of an aggregate is routed to one place, for ever; the raw ids are counted, without their engine's overhead"),
		make("inbox for "+held+", archived by window, later operations refused", *doc.TotalBytes, cold.Total, "one index probe", "milliseconds", "a message older than "+held+" is refused by its own time stamp, which must not be forged or changed on replay"),
	}
	if slices.ContainsFunc(all, func(o OptionDoc) bool { return o.tooLarge }) {
		return nil, storage.ErrTooLarge
	}
	return all, nil
}

// option prices one design.
func (f *File) option(s *Store, o OptionDoc, online, archived int64) OptionDoc {
	o.Store = s.Name
	copies := new(big.Int).Mul(big.NewInt(online), big.NewInt(1+s.Replicas.V))
	o.Bytes = online + archived
	copies.Add(copies, big.NewInt(archived))
	o.CopiesBytes, o.tooLarge = copies.Int64(), !copies.IsInt64() || o.Bytes < 0
	hot, cold := f.price(s.Engine.V), f.price("archive")
	if hot != nil && (archived == 0 || (cold != nil && cold.Currency == hot.Currency)) {
		cost := float64(online) * float64(1+s.Replicas.V) * hot.PerByte
		if archived > 0 {
			cost += float64(archived) * cold.PerByte
		}
		cost = math.Round(cost*100) / 100
		o.CostPerMonth, o.Currency = &cost, hot.Currency
	}
	o.Basis = reports.Basis{Kind: "simulated", Engine: s.Engine.V, Source: "sizes of the designs by the formulas of each engine"}
	return o
}

// keyTable sizes a table of the primary key columns alone.
func keyTable(in storage.Input) (int64, error) {
	t := *in.Table
	pk := t.Primary()
	t.Columns = nil
	for _, c := range in.Table.Columns {
		for _, name := range pk.Columns {
			if c.Name == name {
				t.Columns = append(t.Columns, c)
			}
		}
	}
	t.Indexes = []storage.Index{*pk}
	in.Table = &t
	size, err := storage.Estimate(in)
	return size.Total, err
}

// primaryBytes is the mean length of the primary key.
func primaryBytes(in storage.Input) float64 {
	t := *in.Table
	pk := t.Primary()
	t.Columns = nil
	for _, c := range in.Table.Columns {
		for _, name := range pk.Columns {
			if c.Name == name {
				t.Columns = append(t.Columns, c)
			}
		}
	}
	return storage.FieldBytes(in.Engine, &t)
}

// partitionNote warns where a partition by time breaks a global unique key.
func partitionNote(s *Store) string {
	if !s.Delete.Partition.Set || !s.Dedupes.Set {
		return ""
	}
	if e := storage.Engine(s.Engine.V); e != storage.Postgres && e != storage.InnoDB {
		return ""
	}
	return "partitioned by time: the engine asks for the partition column in every unique key, so the same id in another partition of " +
		quantity.FormatDuration(s.Delete.Partition.V) + " is not refused; check the protocol with its unique key per partition, or route an id to a partition by the id"
}

// optionBlocks shows the comparison.
func (r *capacityResult) optionBlocks() []reports.Block {
	var out []reports.Block
	for _, s := range r.doc.Stores {
		t := reports.Table{Caption: "Ways to keep the window of " + s.Name, Columns: []reports.Column{{Name: "design"}, {Name: "one copy", Right: true},
			{Name: "all copies", Right: true}, {Name: "a month", Right: true}, {Name: "look-ups"}, {Name: "latency"}, {Name: "must be trusted"}}}
		for _, o := range r.doc.Options {
			if o.Store != s.Name {
				continue
			}
			cost := "no price"
			if o.CostPerMonth != nil {
				cost = money(*o.CostPerMonth, o.Currency)
			}
			t.Rows = append(t.Rows, []string{o.Name, r.units.text(o.Bytes), r.units.text(o.CopiesBytes), cost, o.Lookups, o.Latency, o.Trusts})
		}
		if len(t.Rows) > 0 {
			out = append(out, t)
		}
	}
	return out
}

// secondsDistinct sets the number of distinct values of columns that hold whole
// seconds or days, which at a high rate are shared by many rows.
func secondsDistinct(t *storage.Table, engine storage.Engine, rows int64, perSecond float64) {
	if perSecond <= 1 || rows < 2 {
		return
	}
	seconds := float64(rows) / perSecond
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.Distinct > 0 {
			continue
		}
		mysql := engine == storage.InnoDB && len(c.Args) == 0 && (c.Type == "timestamp" || c.Type == "datetime")
		pg := engine == storage.Postgres && len(c.Args) == 1 && c.Args[0] == 0 && strings.HasPrefix(c.Type, "timestamp")
		switch {
		case mysql || pg:
			c.Distinct = math.Max(1, math.Ceil(seconds))
		case c.Type == "date":
			c.Distinct = math.Max(1, math.Ceil(seconds/(24*time.Hour).Seconds()))
		}
	}
}
