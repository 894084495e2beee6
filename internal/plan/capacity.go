package plan

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/relplan/relplan/capacity"
	"github.com/relplan/relplan/capacity/storage"
	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/quantity"
	"github.com/relplan/relplan/reports"
)

// CapacityDoc is the capacity object of the JSON contract.
type CapacityDoc struct {
	Records     int64         `json:"records"`
	RawBytes    int64         `json:"raw_bytes"`
	RecordsText string        `json:"records_exact,omitempty"` // beyond 2^53
	RawText     string        `json:"raw_bytes_exact,omitempty"`
	Stores      []StoreDoc    `json:"stores"`
	Windows     []WindowDoc   `json:"windows"`
	Exposure    []ExposureDoc `json:"exposure"`
	Options     []OptionDoc   `json:"options"` // ways to keep a window
	Basis       reports.Basis `json:"basis"`
}

// StoreDoc is one store: what it holds for its retention.
type StoreDoc struct {
	Name            string `json:"name"`
	Engine          string `json:"engine"`
	Rows            int64  `json:"rows"`
	RawBytes        int64  `json:"raw_bytes"`
	RequiredRows    int64  `json:"required_rows"`      // for the window it needs
	RequiredRawByte int64  `json:"required_raw_bytes"` // the same in bytes
	Replicas        int64  `json:"replicas"`
	StoreSize
	Basis reports.Basis `json:"basis"`

	requiredWindow time.Duration
}

// WindowDoc compares what a dedupe store holds with what it needs.
type WindowDoc struct {
	Store      string        `json:"store"`
	RetainNS   *int64        `json:"retain_ns"`   // null: for ever
	RequiredNS *int64        `json:"required_ns"` // null: no finite window is safe
	Longest    string        `json:"longest"`
	Covered    bool          `json:"covered"`
	GapNS      *int64        `json:"gap_ns"` // null: no end
	Text       string        `json:"text"`
	Basis      reports.Basis `json:"basis"`
}

// ExposureDoc is what may happen a second time, or stand undecided.
type ExposureDoc struct {
	Name       string        `json:"name"`
	CountMean  *float64      `json:"count_mean"`
	CountP99   *float64      `json:"count_p99"`
	AmountMean *float64      `json:"amount_mean"`
	AmountP99  *float64      `json:"amount_p99"`
	Currency   string        `json:"currency,omitempty"`
	PerYear    *float64      `json:"per_year"`
	Text       string        `json:"text"`
	Basis      reports.Basis `json:"basis"`
}

// capacityResult is the document with the exact windows behind it.
type capacityResult struct {
	doc     CapacityDoc
	windows []capacity.Window
	stores  []*Store // of windows, same order
	unknown map[string]capacity.UnknownExposure
	units   Units
}

// rate is the workload's rate for sizing: the peak, so that the answer is an
// upper bound; the mean where no peak is given; the median of a distribution.
func (w *Workload) rate() capacity.Rate {
	switch {
	case w.Rate.Peak.Set:
		return exactRate(w.Rate.Peak.V)
	case w.Rate.Mean.Set:
		return exactRate(w.Rate.Mean.V)
	case w.Rate.dist != nil:
		r, _ := new(big.Rat).SetString(strconv.FormatFloat(w.Rate.dist.Quantile(0.5), 'e', 5, 64))
		return capacity.Rate{PerSecond: r} // nil, and so no events, where the median is no number
	}
	return capacity.Rate{}
}

func exactRate(r quantity.Rate) capacity.Rate {
	return capacity.Rate{PerSecond: r.Exact()}
}

func (f *File) workload(name string) *Workload {
	for _, w := range f.Workloads {
		if w.Name == name {
			return w
		}
	}
	return nil
}

// capacity sizes every store and compares every dedupe window with the sources
// of the file and the extra ones (retry horizons of the call graph).
func (f *File) capacity(extra []capacity.Source) (*capacityResult, error) {
	res := &capacityResult{unknown: map[string]capacity.UnknownExposure{}, units: f.Units}
	res.doc = CapacityDoc{Stores: []StoreDoc{}, Windows: []WindowDoc{}, Exposure: []ExposureDoc{}, Options: []OptionDoc{}, Basis: reports.Arithmetic("records = rate x window; raw bytes = records x record")}
	var l diag.List
	for _, w := range f.Workloads {
		l.AddErr(w.Pos, codeValue, f.rateDist(w))
	}
	if l.HasErrors() {
		return res, l.Err()
	}
	for _, s := range f.Stores {
		l.AddErr(s.Pos, codeValue, f.sizeStore(s, extra, res))
	}
	for _, c := range f.Crashes {
		l.AddErr(c.Pos, codeValue, f.sizeCrash(c, res))
	}
	for _, u := range f.Unknown {
		l.AddErr(u.Pos, codeValue, f.sizeUnknown(u, res))
	}
	if l.HasErrors() {
		return res, l.Err()
	}
	records := sum(res.doc.Stores, func(s StoreDoc) int64 { return max(s.Rows, s.RequiredRows) })
	raw := sum(res.doc.Stores, func(s StoreDoc) int64 { return max(s.RawBytes, s.RequiredRawByte) })
	if !records.IsInt64() || !raw.IsInt64() {
		return res, diag.New(diag.Pos{File: f.Path, Line: 1, Column: 1}, "all stores together hold %s records of %s: %v",
			quantity.FormatCount(records), quantity.FormatBytes(raw), storage.ErrTooLarge)
	}
	res.doc.Records, res.doc.RecordsText = records.Int64(), exactText(records)
	res.doc.RawBytes, res.doc.RawText = raw.Int64(), exactText(raw)
	return res, nil
}

func sum(stores []StoreDoc, of func(StoreDoc) int64) *big.Int {
	t := new(big.Int)
	for _, s := range stores {
		t.Add(t, big.NewInt(of(s)))
	}
	return t
}

// exactText is the decimal text of a count that a double would round, for
// readers of JSON; "" for all others.
func exactText(n *big.Int) string {
	if n.BitLen() > 53 {
		return n.String()
	}
	return ""
}

func (f *File) sizeStore(s *Store, extra []capacity.Source, res *capacityResult) error {
	w := f.workload(s.Holds.V)
	doc := StoreDoc{Name: s.Name, Engine: s.Engine.V, Replicas: s.Replicas.V, StoreSize: noSize()}
	hold := s.Retain.V
	if s.Forever && !s.Rows.Set {
		hold = capacity.Year
		doc.Notes = append(doc.Notes, "kept for ever: rows and bytes are those after one year, see the growth")
	}
	need := hold
	if s.Dedupes.Set {
		win, err := capacity.CheckWindow(capacity.Store{
			Name: s.Name, Retain: s.Retain.V, Forever: s.Forever,
			Slack: capacity.Slack{Residence: s.Residence.V, Delay: s.Delay.V, Skew: s.Skew.V},
		}, f.windowSources(s.Dedupes.V, extra))
		if err != nil {
			return err
		}
		need = win.Required
		res.windows, res.stores = append(res.windows, win), append(res.stores, s)
		res.doc.Windows = append(res.doc.Windows, windowDoc(win))
		if err := f.windowExposure(w, win, res); err != nil {
			return err
		}
	}
	held, err := f.rows(w, s, hold)
	if err != nil {
		return err
	}
	required, err := f.rows(w, s, need)
	if err != nil {
		return err
	}
	if err := f.rawBytes(s, w, held.Value, required.Value, &doc); err != nil {
		return err
	}
	doc.requiredWindow = need
	doc.Basis = reports.Arithmetic(held.Formula)
	if err := f.realBytes(s, w, &doc); err != nil {
		return err
	}
	if s.Dedupes.Set {
		opts, err := f.options(s, w, res.windows[len(res.windows)-1], &doc)
		if err != nil {
			return f.sizeError(s, err)
		}
		res.doc.Options = append(res.doc.Options, opts...)
	}
	res.doc.Stores = append(res.doc.Stores, doc)
	return nil
}

// rawBytes fills rows and raw bytes, held and required.
func (f *File) rawBytes(s *Store, w *Workload, held, required *big.Int, doc *StoreDoc) error {
	record := big.NewInt(f.recordBytes(s, w))
	for _, x := range []struct {
		rows       *big.Int
		count, raw *int64
	}{{held, &doc.Rows, &doc.RawBytes}, {required, &doc.RequiredRows, &doc.RequiredRawByte}} {
		raw := new(big.Int).Mul(x.rows, record)
		if !x.rows.IsInt64() || !raw.IsInt64() {
			return f.sizeError(s, fmt.Errorf("%s rows of %s: %w", quantity.FormatInt(x.rows), quantity.FormatBytes(record), storage.ErrTooLarge))
		}
		*x.count, *x.raw = x.rows.Int64(), raw.Int64()
	}
	return nil
}

// rowRate is the rows a second that a store takes up.
func (s *Store) rowRate(w *Workload) capacity.Rate {
	return w.rate().Scale(new(big.Rat).SetInt64(s.RowsPerRecord.Or(1)))
}

// rows is the exact number of rows of the store that a window holds. Rows that the
// plan gives are those of the retention.
func (f *File) rows(w *Workload, s *Store, window time.Duration) (capacity.Amount, error) {
	if s.Rows.Set {
		n := big.NewInt(s.Rows.V)
		if keep := s.Retain.V; keep > 0 && window != keep {
			n.Mul(n, big.NewInt(int64(window)))
			n.Add(n, big.NewInt(int64(keep)-1)).Quo(n, big.NewInt(int64(keep)))
			return capacity.Amount{Value: n, Formula: fmt.Sprintf("%s rows in %s, scaled to %s", quantity.FormatInt(big.NewInt(s.Rows.V)),
				quantity.FormatDuration(keep), quantity.FormatDuration(window)), Source: "rows x window / retention"}, nil
		}
		return capacity.Amount{Value: n, Formula: quantity.FormatInt(n) + " rows given", Source: "rows"}, nil
	}
	return capacity.Records(s.rowRate(w), window)
}

// windowSources are what can bring a record of the workload back.
func (f *File) windowSources(workload string, extra []capacity.Source) []capacity.Source {
	var all []capacity.Source
	for _, s := range f.Sources {
		if s.Of.V == workload {
			all = append(all, s.capacitySource())
		}
	}
	return append(all, extra...)
}

func (s *Source) capacitySource() capacity.Source {
	kinds := map[string]capacity.SourceKind{"retry": capacity.Retry, "provider": capacity.Provider, "restore": capacity.RestorePoint}
	return capacity.Source{Name: s.Name, Kind: kinds[s.Kind.V], Keeps: s.Keeps.V, Unlimited: s.Unlimited, RetriedFor: s.RetriedFor.V}
}

func windowDoc(w capacity.Window) WindowDoc {
	d := WindowDoc{Store: w.Store, Longest: w.Longest, Covered: w.Covered, Text: w.Formula, Basis: reports.Arithmetic(w.Source)}
	if !w.Forever {
		d.RetainNS = ns(w.Retain)
	}
	if !w.Unlimited {
		d.RequiredNS, d.GapNS = ns(w.Required), ns(w.Gap)
	}
	return d
}

func ns(d time.Duration) *int64 {
	v := int64(d)
	return &v
}

func (f *File) windowExposure(wl *Workload, w capacity.Window, res *capacityResult) error {
	if w.Covered {
		return nil
	}
	var replays *big.Rat
	for _, s := range f.Sources {
		if s.Name == w.Longest && s.PerYear.Set {
			replays = new(big.Rat)
			replays.SetFloat64(s.PerYear.V)
		}
	}
	e, err := capacity.WindowExposure(wl.rate(), w, replays)
	if err != nil {
		return err
	}
	d := ExposureDoc{Name: w.Store + " replayed beyond its window", Text: e.Formula, Basis: reports.Arithmetic(e.Source)}
	if e.AtOnce != nil {
		v, _ := new(big.Float).SetInt(e.AtOnce).Float64()
		d.CountMean = &v
	}
	if e.PerYear != nil && replays != nil {
		v, _ := new(big.Float).SetInt(e.PerYear).Float64()
		d.PerYear = &v
	}
	res.doc.Exposure = append(res.doc.Exposure, d)
	return nil
}

func (f *File) sizeUnknown(u *UnknownExposure, res *capacityResult) error {
	w := f.workload(u.Workload.V)
	if w == nil {
		return nil // already reported
	}
	e, err := capacity.EstimateUnknown(capacity.Unknown{
		Name: u.Workload.V, Rate: w.rate(), Probability: u.Probability.V, Reconcile: u.Reconcile.V, AmountMean: u.Amount.V,
	})
	if err != nil {
		return err
	}
	res.unknown[u.Workload.V] = e
	d := ExposureDoc{Name: u.Workload.V + " UNKNOWN", CountMean: &e.CountMean, CountP99: &e.CountHigh, PerYear: &e.PerYear, Text: e.Formula, Basis: reports.Arithmetic(e.Source)}
	if u.Amount.Set {
		d.AmountMean, d.AmountP99, d.Currency = &e.AmountMean, &e.AmountHigh, u.Currency
		d.Text += fmt.Sprintf("; %s on average, %s at most", money(e.AmountMean, u.Currency), money(e.AmountHigh, u.Currency))
	}
	res.doc.Exposure = append(res.doc.Exposure, d)
	return nil
}

// moneyText prints an amount with two decimals where it has cents, grouped.
func moneyText(v float64) string {
	if v = math.Round(v*100) / 100; math.Abs(v) >= 1e6 || v == math.Trunc(v) {
		n, _ := big.NewFloat(math.Round(v)).Int(nil)
		return quantity.FormatInt(n)
	}
	whole, cents := math.Modf(v)
	return fmt.Sprintf("%s.%02.0f", quantity.FormatInt(big.NewInt(int64(whole))), math.Abs(cents*100))
}

func money(v float64, currency string) string {
	return strings.TrimSpace(moneyText(v) + " " + currency)
}

// blocks is the readable form.
func (r *capacityResult) blocks() []reports.Block {
	stores := reports.Table{Columns: []reports.Column{{Name: "store"}, {Name: "engine"}, {Name: "rows held", Right: true}, {Name: "raw bytes", Right: true}, {Name: "rows needed", Right: true}, {Name: "raw bytes needed", Right: true}}}
	for _, s := range r.doc.Stores {
		stores.Rows = append(stores.Rows, []string{s.Name, s.Engine,
			quantity.FormatCount(big.NewInt(s.Rows)), r.units.text(s.RawBytes),
			quantity.FormatCount(big.NewInt(s.RequiredRows)), r.units.text(s.RequiredRawByte)})
	}
	windows := reports.Table{Columns: []reports.Column{{Name: "store"}, {Name: "held", Right: true}, {Name: "needed", Right: true}, {Name: "because of"}, {Name: "gap", Right: true}, {Name: "verdict"}}}
	for _, w := range r.windows {
		windows.Rows = append(windows.Rows, windowRow(w))
	}
	out := []reports.Block{reports.Heading{Level: 2, Text: "Capacity"}, stores}
	out = append(out, r.sizeBlocks()...)
	if len(windows.Rows) > 0 {
		out = append(out, windows)
	}
	out = append(out, r.optionBlocks()...)
	var items []string
	for _, e := range r.doc.Exposure {
		items = append(items, fmt.Sprintf("%s: %s", e.Name, e.Text))
	}
	if len(items) > 0 {
		out = append(out, reports.List{Items: items})
	}
	return out
}

func windowRow(w capacity.Window) []string {
	held, needed, gap, verdict := quantity.FormatDuration(w.Retain), quantity.FormatDuration(w.Required), quantity.FormatDuration(w.Gap), "NOT COVERED"
	if w.Forever {
		held = "for ever"
	}
	if w.Unlimited {
		needed, gap = "no finite window", "no end"
	}
	if w.Covered {
		gap, verdict = "-", "covered"
	}
	return []string{w.Store, held, needed, w.Longest, gap, verdict}
}
