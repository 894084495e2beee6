package plan

import (
	"fmt"
	"math"
	"math/big"
	"time"

	"github.com/relplan/relplan/capacity"
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
		r := new(big.Rat)
		r.SetFloat64(math.Round(w.Rate.dist.Quantile(0.5)))
		return capacity.Rate{PerSecond: r}
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
	res.doc.Records, res.doc.RecordsText = wireInt(sum(res.doc.Stores, func(s StoreDoc) int64 { return max(s.Rows, s.RequiredRows) }))
	res.doc.RawBytes, res.doc.RawText = wireInt(sum(res.doc.Stores, func(s StoreDoc) int64 { return max(s.RawBytes, s.RequiredRawByte) }))
	return res, l.Err()
}

func sum(stores []StoreDoc, of func(StoreDoc) int64) *big.Int {
	t := new(big.Int)
	for _, s := range stores {
		t.Add(t, big.NewInt(of(s)))
	}
	return t
}

// wireInt gives a count for JSON: an integer, and its decimal text where a
// double would round it.
func wireInt(n *big.Int) (int64, string) {
	v := clampInt(n)
	if n.BitLen() > 53 {
		return v, n.String()
	}
	return v, ""
}

func clampInt(n *big.Int) int64 {
	if !n.IsInt64() {
		return 1<<63 - 1
	}
	return n.Int64()
}

func (f *File) sizeStore(s *Store, extra []capacity.Source, res *capacityResult) error {
	w := f.workload(s.Holds.V)
	doc := StoreDoc{Name: s.Name, Engine: s.Engine.V, Replicas: s.Replicas.V, StoreSize: noSize()}
	need := s.Retain.V
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
	held, err := f.rows(w, s, s.Retain.V)
	if err != nil {
		return err
	}
	required, err := f.rows(w, s, need)
	if err != nil {
		return err
	}
	record := big.NewInt(f.recordBytes(s, w))
	doc.Rows, doc.RawBytes = clampInt(held.Value), clampInt(new(big.Int).Mul(held.Value, record))
	doc.RequiredRows, doc.RequiredRawByte = clampInt(required.Value), clampInt(new(big.Int).Mul(required.Value, record))
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

// rows is the exact number of rows of the store that a window holds.
func (f *File) rows(w *Workload, s *Store, window time.Duration) (capacity.Amount, error) {
	if s.Rows.Set {
		n := big.NewInt(s.Rows.V)
		return capacity.Amount{Value: n, Formula: quantity.FormatInt(n) + " rows given", Source: "rows"}, nil
	}
	return capacity.Records(w.rate().Scale(new(big.Rat).SetInt64(s.RowsPerRecord.Or(1))), window)
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
	}
	res.doc.Exposure = append(res.doc.Exposure, d)
	return nil
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
