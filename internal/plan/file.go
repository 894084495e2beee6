// Package plan reads a plan file, runs every calculator on it and puts the
// answers into one report. It is the only package that knows all the others.
package plan

import (
	"time"

	"github.com/relplan/relplan/capacity/storage"
	"github.com/relplan/relplan/capacity/uncertain"
	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/quantity"
	"github.com/relplan/relplan/specs"
)

// File is a decoded plan. Sections keep the order of the file.
type File struct {
	Path      string // as given, for messages
	Dir       string // relative names in the plan start here
	Name      string
	Workloads []*Workload
	Stores    []*Store
	Sources   []*Source
	Nodes     []*Node
	Domains   []*FailureDomain
	Deadlines []*Deadline
	Protocols []*Protocol
	Unknown   []*UnknownExposure
	Crashes   []*CrashWindow
	Prices    []Price
	Explain   bool // list every term of a size
	Units     Units
	// OnRead is told what other files were read, to show lines of them in errors.
	OnRead func(path string, src []byte)
	// Render and MemoryLimit (bytes of one search, 0: none) are for the protocols.
	Render      specs.RenderOptions
	MemoryLimit int64
	Policies    Policies
	Storm       StormOptions
	Warnings    []diag.Diagnostic

	files    func(path string) ([]byte, error) // see UseFiles
	resolved bool                              // the files that calls name were read
}

// Value is a scalar with its place; Set tells whether the file gives it.
type Value[T any] struct {
	V   T
	Set bool
	Pos diag.Pos
}

// Or is the value, or what stands for it when the file does not give it.
func (v Value[T]) Or(fallback T) T {
	if v.Set {
		return v.V
	}
	return fallback
}

// Given is a value that the caller gives instead of a file.
func Given[T any](v T) Value[T] { return Value[T]{V: v, Set: true} }

// Workload is a stream of records.
type Workload struct {
	Name       string
	Pos        diag.Pos
	Rate       RateSpec
	Record     Value[int64]   // bytes of one record, raw
	Duplicates Value[float64] // share of records that come again
	Growth     Value[float64] // per year
}

// RateSpec is a rate as a point, as peak and mean, as quantiles or as samples.
type RateSpec struct {
	Pos       diag.Pos
	Peak      Value[quantity.Rate] // a point is a peak
	Mean      Value[quantity.Rate]
	Quantiles map[string]Value[quantity.Rate] // "p50" and the like
	Samples   Value[string]                   // file
	dist      uncertain.Dist                  // of quantiles or samples; nil: a point
}

// Store is a store of records.
type Store struct {
	Name          string
	Pos           diag.Pos
	Engine        Value[string]
	Holds         Value[string] // workload
	Dedupes       Value[string] // workload whose dedupe window this is
	RowsPerRecord Value[int64]
	DDL           Value[string] // file
	Columns       []Column
	Primary       []string
	Indexes       [][]string
	KeyOrder      Value[string]
	Retain        Value[time.Duration]
	Forever       bool
	Delete        Delete
	Replicas      Value[int64]
	Residence     Value[time.Duration]
	Delay         Value[time.Duration]
	Skew          Value[time.Duration]
	Rows          Value[int64]  // instead of rate x retention
	State         storage.State // of Rows
	Options       StoreOptions
}

// Column of a store: all of it without DDL, facts about it with DDL.
type Column struct {
	Name     string
	Type     string
	Mean     Value[int64]   // bytes
	MeanHigh Value[int64]   // Mean is then the 5 % and this the 95 % quantile
	SD       Value[int64]   // bytes, of the length
	Null     Value[float64] // share of rows
	Distinct Value[int64]   // values; not set: as many as rows
	Order    Value[string]  // of arrival, as key_order
	Pos      diag.Pos
}

// Delete is how rows go away.
type Delete struct {
	Pos         diag.Pos
	Never       bool
	Partition   Value[time.Duration]
	Sweep       Value[time.Duration]
	VacuumEvery Value[float64]
}

// Source is something that can deliver an operation again.
type Source struct {
	Name       string
	Pos        diag.Pos
	Of         Value[string] // workload
	Keeps      Value[time.Duration]
	Unlimited  bool
	RetriedFor Value[time.Duration]
	Kind       Value[string]  // replay (default), retry, provider, restore
	PerYear    Value[float64] // full replays a year
}

// Deadline is one admission question along a path.
type Deadline struct {
	Name    string
	Pos     diag.Pos
	Path    []Value[string]
	Budget  Value[time.Duration]
	Spent   Value[time.Duration]
	Backoff Value[time.Duration]
	Attempt Value[time.Duration]
	Margin  Value[time.Duration]
}

// Protocol is a spec file or a library pattern to check.
type Protocol struct {
	Name    string
	Pos     diag.Pos
	Spec    Value[string] // file
	Pattern Value[string]
	With    map[string]Value[string]
	Variant Value[string]
}

// UnknownExposure is the question how much stands open at a workload.
type UnknownExposure struct {
	Workload    Value[string]
	Probability Value[float64]
	Amount      Value[float64]
	Currency    string
	Reconcile   Value[time.Duration]
	Pos         diag.Pos
}

// CrashWindow is the question how many operations a crash catches in an unsafe
// stretch of a protocol.
type CrashWindow struct {
	Name    string
	Pos     diag.Pos
	Of      Value[string] // workload
	Window  Value[time.Duration]
	Crashes Value[float64] // a year
}

// Policies are the limits the plan must keep; what is not set is not judged,
// except windows, deadlines and protocols, which count unless set to report.
type Policies struct {
	MaxAttempts   Value[int64]
	Windows       Value[string] // covered (default) or report
	Deadlines     Value[string] // admitted (default) or report
	Protocols     Value[string] // as_expected (default) or report
	Storm         Value[string] // survives: no load may be vulnerable or tip; report (default)
	MaxTotalBytes Value[int64]
	MaxUnknown    Value[float64]
}
