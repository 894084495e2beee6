package plan

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/relplan/relplan/capacity"
	"github.com/relplan/relplan/capacity/storage"
	"github.com/relplan/relplan/capacity/uncertain"
	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/quantity"
	"github.com/relplan/relplan/reports"
)

// StoreSize is what a store really takes in its engine; null where columns or
// CREATE TABLE are missing.
type StoreSize struct {
	HeldRows           *int64      `json:"held_rows"` // at most, with those not deleted yet
	BytesPerRow        *float64    `json:"bytes_per_row"`
	TableBytes         *int64      `json:"table_bytes"`
	IndexBytes         *int64      `json:"index_bytes"`
	TotalBytes         *int64      `json:"total_bytes"` // of one copy, at the end of the window
	LowBytes           *int64      `json:"low_bytes"`
	HighBytes          *int64      `json:"high_bytes"`
	LoadedBytes        *int64      `json:"loaded_bytes"` // the same rows without what deletion leaves
	CopiesBytes        *int64      `json:"copies_bytes"` // total x (1 + replicas)
	RequiredTotalBytes *int64      `json:"required_total_bytes"`
	Growth             []GrowthDoc `json:"growth"`
	WALBytesPerDay     *int64      `json:"wal_bytes_per_day"`
	BinlogBytesPerDay  *int64      `json:"binlog_bytes_per_day"`
	DiskFullNS         *int64      `json:"disk_full_ns"`
	CostPerMonth       *float64    `json:"cost_per_month"` // all copies; null without a price
	Currency           string      `json:"currency"`
	Interval           []float64   `json:"interval"` // 5 %, 50 %, 95 % of total
	Drivers            []DriverDoc `json:"drivers"`
	Terms              []TermDoc   `json:"terms"`
	Notes              []string    `json:"notes"`
	StoreBases
}

// StoreBases are the bases of the numbers of a store that are no plain
// arithmetic on its rate; null where the number is null.
type StoreBases struct {
	PerRowBasis   *reports.Basis `json:"bytes_per_row_basis"`
	TableBasis    *reports.Basis `json:"table_bytes_basis"`
	IndexBasis    *reports.Basis `json:"index_bytes_basis"`
	SizeBasis     *reports.Basis `json:"total_bytes_basis"`
	LowBasis      *reports.Basis `json:"low_bytes_basis"`
	HighBasis     *reports.Basis `json:"high_bytes_basis"`
	LoadedBasis   *reports.Basis `json:"loaded_bytes_basis"`
	CopiesBasis   *reports.Basis `json:"copies_bytes_basis"`
	RequiredBasis *reports.Basis `json:"required_total_bytes_basis"`
	GrowthBasis   *reports.Basis `json:"growth_basis"`
	DiskBasis     *reports.Basis `json:"disk_full_ns_basis"`
	LogBasis      *reports.Basis `json:"wal_bytes_per_day_basis"`
	BinlogBasis   *reports.Basis `json:"binlog_bytes_per_day_basis"`
	CostBasis     *reports.Basis `json:"cost_per_month_basis"`
	IntervalBasis *reports.Basis `json:"interval_basis"`
	DriversBasis  *reports.Basis `json:"drivers_basis"`
}

// GrowthDoc is a point of a growth curve.
type GrowthDoc struct {
	TNS   int64 `json:"t_ns"`
	Bytes int64 `json:"bytes"`
}

// DriverDoc says how much of the width of an interval an input causes.
type DriverDoc struct {
	Input     string  `json:"input"`
	Share     float64 `json:"share"`
	LowBytes  float64 `json:"low_bytes"`
	HighBytes float64 `json:"high_bytes"`
}

// TermDoc is one number of a computation.
type TermDoc struct {
	Name   string  `json:"name"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	Source string  `json:"source"`
}

func noSize() StoreSize {
	return StoreSize{Growth: []GrowthDoc{}, Interval: []float64{}, Drivers: []DriverDoc{}, Terms: []TermDoc{}, Notes: []string{}}
}

// realBytes fills the size of a store in its engine.
func (f *File) realBytes(s *Store, w *Workload, doc *StoreDoc) error {
	in, ok, err := f.storageInput(s, doc.Rows)
	if err != nil {
		return err
	}
	if !ok {
		if !s.Rows.Set {
			w.rawInterval(doc)
		}
		if s.Engine.V != "" {
			doc.Notes = append(doc.Notes, "no columns and no ddl: raw bytes only")
		}
		return nil
	}
	life, policy := s.life(s.Retain.V)
	loaded, err := storage.Estimate(in)
	if err != nil {
		return f.sizeError(s, err)
	}
	addChurn(&loaded, life)
	size := loaded
	if policy {
		if size, err = storage.Plateau(in, life); err != nil {
			return f.sizeError(s, err)
		}
		addChurn(&size, life)
	} else if !s.Forever && !s.Rows.Set && in.Engine.Relational() {
		doc.Notes = append(doc.Notes, "no delete policy: the bytes of the rows alone, without what deletion leaves behind")
	}
	if n := partitionNote(s); n != "" {
		doc.Notes = append(doc.Notes, n)
	}
	if err := doc.setSize(size, loaded, s); err != nil {
		return f.sizeError(s, err)
	}
	if n := heldNote(s, size); n != "" {
		doc.Notes = append(doc.Notes, n)
	}
	f.cost(s, doc)
	if f.Explain {
		for _, t := range size.Terms {
			doc.Terms = append(doc.Terms, TermDoc(t))
		}
	}
	if err := f.requiredBytes(s, in, doc); err != nil {
		return err
	}
	if err := f.logFlow(s, w, in, life, doc); err != nil {
		return err
	}
	if err := f.growth(s, w, size, loaded, life, doc); err != nil {
		return err
	}
	return f.interval(s, w, in, size, doc)
}

// heldNote says how many rows are there before deletion takes the oldest.
func heldNote(s *Store, size storage.Size) string {
	if size.Held <= size.Rows {
		return ""
	}
	rows := quantity.FormatCount(big.NewInt(size.Held))
	if s.Delete.Partition.Set {
		span, _ := addSpans(s.Retain.V, s.Delete.Partition.V)
		return fmt.Sprintf("a partition goes when its youngest row is older than %s: up to %s of rows, %s, are there at once",
			quantity.FormatDuration(s.Retain.V), quantity.FormatDuration(span), rows)
	}
	return fmt.Sprintf("up to %s rows are there at once, with those that wait for the next sweep or VACUUM", rows)
}

// requiredBytes fills the size for the window that the store needs, with the same
// deletion.
func (f *File) requiredBytes(s *Store, in storage.Input, doc *StoreDoc) error {
	in.Rows = doc.RequiredRows
	need := doc.requiredWindow
	life, policy := s.life(need)
	size, err := storage.Estimate(in)
	if err == nil && policy && (need > 0 || s.Rows.Set) {
		size, err = storage.Plateau(in, life)
	}
	if err != nil {
		return f.sizeError(s, fmt.Errorf("for the window it needs: %w", err))
	}
	addChurn(&size, life)
	doc.RequiredTotalBytes, doc.RequiredBasis = int64p(size.Total), sizeBasis(size)
	return nil
}

// cost fills the price of all copies; the file gives prices, nobody else.
func (f *File) cost(s *Store, doc *StoreDoc) {
	p := f.price(s.Engine.V)
	if p == nil {
		return
	}
	cost := math.Round(float64(*doc.CopiesBytes)*p.PerByte*100) / 100
	doc.CostPerMonth, doc.Currency = &cost, p.Currency
	b := reports.Arithmetic("bytes of all copies x price of a byte and month")
	doc.CostBasis = &b
	doc.Notes = append(doc.Notes, fmt.Sprintf("all copies cost %s %s a month at %s", moneyText(cost), p.Currency, p.Text))
}

// recordBytes is the raw size of a record: as the workload says, else the sum of
// the values of the columns, rounded.
func (f *File) recordBytes(s *Store, w *Workload) int64 {
	if w.Record.Set {
		return w.Record.V
	}
	t, err := f.table(s)
	if err != nil || t == nil {
		return 0 // the error is reported where the size is computed
	}
	return int64(math.Round(storage.FieldBytes(storage.Engine(s.Engine.V), t)))
}

// addChurn adds dead versions of updated rows (PostgreSQL).
func addChurn(size *storage.Size, l storage.Life) {
	if l.Updates <= 0 || size.Engine != storage.Postgres {
		return
	}
	heap := storage.ChurnBytes(*size, l, float64(size.Rows))
	for _, p := range size.Parts {
		if p.Name == "heap" {
			grown := int64(heap) - p.Bytes
			size.Table, size.Total = size.Table+grown, size.Total+grown
			size.Low, size.High = size.Low+grown/2, size.High+2*grown
			size.Notes = append(size.Notes, "updates leave dead versions until the next VACUUM, counted as updates x the share of rows between two vacuums")
		}
	}
}

// sizeError puts an error of the size at the store, with a hint for what is
// missing.
func (f *File) sizeError(s *Store, err error) error {
	g := diag.Diagnostic{Code: codeValue, Pos: s.Pos, Message: fmt.Sprintf("store '%s': %v", s.Name, err)}
	if f.Path == "<flags>" { // there is only one store, and it has no line
		g.Message, g.Pos = err.Error(), diag.Pos{}
	}
	var m *storage.MissingMeanError
	if errors.As(err, &m) {
		g.Hint = fmt.Sprintf("give its mean length in bytes: columns: [{name: %s, mean: 36B}], or --mean %s=36B", m.Column, m.Column)
	}
	return &diag.Err{Diagnostics: []diag.Diagnostic{g}}
}

func int64p(v int64) *int64 { return &v }

func (d *StoreDoc) setSize(size, loaded storage.Size, s *Store) error {
	per := size.BytesPerRow()
	d.BytesPerRow = &per
	d.HeldRows = int64p(size.Held)
	d.TableBytes, d.IndexBytes, d.TotalBytes = int64p(size.Table), int64p(size.Index), int64p(size.Total)
	d.LowBytes, d.HighBytes, d.LoadedBytes = int64p(size.Low), int64p(size.High), int64p(loaded.Total)
	copies := new(big.Int).Mul(big.NewInt(size.Total), new(big.Int).Add(big.NewInt(s.Replicas.V), big.NewInt(1)))
	if !copies.IsInt64() {
		return fmt.Errorf("%d replicas of %s: %w", s.Replicas.V, quantity.FormatBytes(big.NewInt(size.Total)), storage.ErrTooLarge)
	}
	d.CopiesBytes = int64p(copies.Int64())
	d.Notes = append(d.Notes, size.Notes...)
	b := sizeBasis(size)
	d.PerRowBasis, d.TableBasis, d.IndexBasis, d.SizeBasis, d.LowBasis, d.HighBasis, d.CopiesBasis = b, b, b, b, b, b, b
	d.LoadedBasis = sizeBasis(loaded)
	return nil
}

func sizeBasis(size storage.Size) *reports.Basis {
	b := reports.Basis{Kind: string(size.Basis), Engine: string(size.Engine), Source: "sum of terms, see --explain"}
	if size.High > size.Low {
		b.Interval = []float64{float64(size.Low), float64(size.High)}
	}
	return &b
}

// logFlow fills the log volume a day.
func (f *File) logFlow(s *Store, w *Workload, in storage.Input, life storage.Life, doc *StoreDoc) error {
	if s.Rows.Set || !in.Engine.Relational() {
		return nil
	}
	flow, err := storage.LogFlow(in, life)
	if err != nil {
		return f.sizeError(s, err)
	}
	perDay, err := f.rows(w, s, 24*time.Hour)
	if err != nil {
		return err
	}
	n, _ := new(big.Float).SetInt(perDay.Value).Float64()
	if (flow.Total()+flow.Binlog)*n >= math.MaxInt64 {
		return f.sizeError(s, fmt.Errorf("log of a day: %w", storage.ErrTooLarge))
	}
	basis := reports.Basis{Kind: "measured", Engine: s.Engine.V, Source: "record formats with measured constants, see --explain"}
	doc.WALBytesPerDay, doc.LogBasis = int64p(int64(flow.Total()*n)), &basis
	if flow.Binlog > 0 {
		doc.BinlogBytesPerDay, doc.BinlogBasis = int64p(int64(flow.Binlog*n)), &basis
	}
	doc.Notes = append(doc.Notes, flow.Notes...)
	if f.Explain {
		for _, t := range flow.Terms {
			t.Name = "log: " + t.Name
			doc.Terms = append(doc.Terms, TermDoc(t))
		}
	}
	return nil
}

// rateDist fits the distribution of a rate given by quantiles or samples.
func (f *File) rateDist(w *Workload) error {
	var err error
	switch {
	case len(w.Rate.Quantiles) >= 2:
		q := map[float64]float64{}
		for k, v := range w.Rate.Quantiles {
			p, _ := Quantile(k)
			q[p] = v.V.PerSecond()
		}
		if w.Rate.dist, err = uncertain.Quantiles(q); err != nil {
			return diag.New(w.Rate.Pos, "rate of '%s': %v", w.Name, err)
		}
	case w.Rate.Samples.Set:
		return f.rateSamples(w)
	}
	return nil
}

// rateSamples reads rates from the first column of a file, one a line; the first
// line may be a heading.
func (f *File) rateSamples(w *Workload) error {
	path := w.Rate.Samples.V
	if !filepath.IsAbs(path) {
		path = filepath.Join(f.Dir, path)
	}
	src, err := os.ReadFile(path)
	if err != nil {
		return diag.New(w.Rate.Samples.Pos, "cannot read %s: %v", w.Rate.Samples.V, errors.Unwrap(err))
	}
	var xs []float64
	sc := bufio.NewScanner(bytes.NewReader(src))
	for line := 1; sc.Scan(); line++ {
		text, _, _ := strings.Cut(sc.Text(), ",")
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		r, err := quantity.ParseRate(text)
		if err != nil {
			if line == 1 {
				continue
			}
			return diag.New(diag.Pos{File: path, Line: line, Column: 1}, "%v", err)
		}
		xs = append(xs, r.PerSecond())
	}
	if w.Rate.dist, err = uncertain.Samples(xs); err != nil {
		return diag.New(w.Rate.Samples.Pos, "%s: %v", w.Rate.Samples.V, err)
	}
	return nil
}

// samplesN is the number of Monte Carlo samples of an interval.
const samplesN = 200_000

// interval carries the ranges of rate, lengths and the size itself through.
func (f *File) interval(s *Store, w *Workload, in storage.Input, size storage.Size, doc *StoreDoc) error {
	rate := uncertain.Point(w.rate().Float())
	if w.Rate.dist != nil && !s.Rows.Set {
		rate = w.Rate.dist
	}
	inputs := []uncertain.Input{{Name: "rate of " + w.Name, Dist: rate}}
	per := doc.TotalBytes
	base := float64(*per)
	effects := []func(float64) float64{}
	for _, c := range s.Columns {
		if !c.MeanHigh.Set {
			continue
		}
		d, err := uncertain.Range(float64(c.Mean.V), float64(c.MeanHigh.V))
		if err != nil {
			return diag.New(c.Pos, "column '%s': %v", c.Name, err)
		}
		effect, err := f.lengthEffect(s, in, c.Name, d)
		if err != nil {
			return f.sizeError(s, err)
		}
		inputs = append(inputs, uncertain.Input{Name: "length of " + c.Name, Dist: d})
		effects = append(effects, effect)
	}
	if len(effects) == 0 && rate.Fixed() || doc.Rows == 0 {
		return nil
	}
	model := uncertain.Point(1)
	if size.High > size.Low {
		if m, err := uncertain.Range(float64(size.Low)/float64(size.Total), float64(size.High)/float64(size.Total)); err == nil {
			model = m
		}
	}
	inputs = append(inputs, uncertain.Input{Name: "size model of " + s.Engine.V, Dist: model})
	point := math.Max(1e-300, w.rate().Float())
	r, err := uncertain.Run(inputs, func(x []float64) float64 {
		b := base
		for i, e := range effects {
			b += base * e(x[i+1])
		}
		return b * x[0] / point * x[len(x)-1]
	}, uncertain.Options{N: samplesN})
	if err != nil {
		return diag.New(s.Pos, "store '%s': %v", s.Name, err)
	}
	doc.Interval = []float64{math.Round(r.P5), math.Round(r.P50), math.Round(r.P95)}
	seed := r.Seed
	basis := reports.Basis{Kind: "sampled", N: int64(r.N), Seed: &seed, Level: 0.9, Source: "Monte Carlo over the distributions of rate, lengths and size model"}
	doc.IntervalBasis, doc.DriversBasis = &basis, &basis
	for _, d := range r.Drivers {
		doc.Drivers = append(doc.Drivers, DriverDoc{Input: d.Input, Share: math.Round(d.Share*1e4) / 1e4, LowBytes: math.Round(d.Low), HighBytes: math.Round(d.High)})
	}
	how := fmt.Sprintf("interval of %s samples", quantity.FormatInt(big.NewInt(int64(r.N))))
	if len(effects) > 0 {
		how += "; the size was computed at 5 %, 50 % and 95 % of each length and interpolated"
	}
	doc.Notes = append(doc.Notes, how)
	return nil
}

// lengthEffect is the relative change of bytes with the length of a column, from
// three sizes of the design.
func (f *File) lengthEffect(s *Store, in storage.Input, column string, d uncertain.Dist) (func(float64) float64, error) {
	t, err := f.table(s)
	if err != nil {
		return nil, err
	}
	xs := []float64{d.Quantile(0.05), d.Quantile(0.5), d.Quantile(0.95)}
	ys := make([]float64, len(xs))
	for i, x := range xs {
		t.Column(column).Mean = math.Round(x)
		changed := in
		if in.Table != nil {
			changed.Table = t
		}
		entryOptions(&changed, t, s)
		e, err := storage.Estimate(changed)
		if err != nil {
			return nil, err
		}
		ys[i] = float64(e.Total)
	}
	mid := ys[1]
	for i := range ys {
		ys[i] = ys[i]/mid - 1
	}
	return uncertain.Interpolate(xs, ys), nil
}

// rawInterval fills the interval of raw bytes, where the size in an engine is not
// known, from the distribution of the rate.
func (w *Workload) rawInterval(doc *StoreDoc) {
	mid := w.rate().Float()
	if w.Rate.dist == nil || w.Rate.dist.Fixed() || doc.RawBytes == 0 || !(mid > 0) {
		return
	}
	for _, p := range []float64{0.05, 0.5, 0.95} {
		doc.Interval = append(doc.Interval, math.Round(float64(doc.RawBytes)*w.Rate.dist.Quantile(p)/mid))
	}
	basis := reports.Arithmetic("quantiles of the rate x retention x record")
	doc.IntervalBasis = &basis
	doc.Notes = append(doc.Notes, "the interval is that of the raw bytes held, by the rate of "+w.Name)
}

// sizeCrash answers how many operations a crash catches.
func (f *File) sizeCrash(c *CrashWindow, res *capacityResult) error {
	w := f.workload(c.Of.V)
	if w == nil {
		return nil // already reported
	}
	e, err := capacity.EstimateCrash(capacity.CrashWindow{Name: c.Name, Rate: w.rate(), Window: c.Window.V, CrashesPerYear: c.Crashes.V})
	if err != nil {
		return err
	}
	res.doc.Exposure = append(res.doc.Exposure, ExposureDoc{Name: c.Name + " caught by a crash", CountMean: &e.PerCrash, PerYear: &e.PerYear,
		Text: e.Formula, Basis: reports.Arithmetic(e.Source)})
	return nil
}
